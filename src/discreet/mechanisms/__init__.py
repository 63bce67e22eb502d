"""Exact value + receipt + bits -> answer."""
