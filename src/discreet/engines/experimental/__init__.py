"""Databases reached through any Python driver (PEP 249): experimental, checked by a trial run."""
