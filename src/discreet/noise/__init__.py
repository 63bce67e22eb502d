"""Bits in, exact samples out; knows nothing of privacy."""
