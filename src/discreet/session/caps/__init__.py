"""Caps and bounds that nobody declared, chosen from what was paid for."""
