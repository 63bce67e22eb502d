"""Bins that nobody declared, chosen from released counts."""
