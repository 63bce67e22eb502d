"""Choosing privately: by score, by threshold, by key; and randomized response."""
