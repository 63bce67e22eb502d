"""Weak randomness: sources whose bits are biased, what survives them, and at what price."""

from discreet.biased.certify import certify_laplace
from discreet.biased.laplace import BiasedLaplace, biased_laplace
from discreet.biased.sources import BlockSource, SanthaVazirani, WeakSource

__all__ = ["BiasedLaplace", "BlockSource", "SanthaVazirani", "WeakSource", "biased_laplace", "certify_laplace"]
