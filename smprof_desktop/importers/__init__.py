"""Foreign traces in, profiles out."""
