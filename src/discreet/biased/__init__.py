"""Weak randomness: sources whose bits are biased, what survives them, and at what price."""
