"""Distributions over a domain, fitted to released numbers: whatever is done here costs nothing."""
