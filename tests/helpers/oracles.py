"""Frequency oracles against their exact laws."""

from fractions import Fraction

from discreet.local.oracle import Oracle


def worst_ratio(oracle: Oracle) -> Fraction:
    """The largest ratio of probabilities of one report under two values."""
    laws = [oracle.law(v) for v in range(oracle.k)]
    return max(a[r] / b[r] for a in laws for b in laws for r in a)
