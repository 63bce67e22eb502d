"""Where bits come from."""
