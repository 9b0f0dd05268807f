"""Where profiles come from, and what is kept of them here."""
