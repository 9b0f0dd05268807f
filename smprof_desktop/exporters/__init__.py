"""Profiles on their way out: a part of one as a small profile, any as Chrome JSON, without what is private."""
