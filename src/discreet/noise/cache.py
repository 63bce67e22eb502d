"""Samplers that were built already, so that a second use of a parameter is cheap.

What is kept follows from public parameters alone; it holds no random bits. There is no lock, which a fork could leave
held: single operations on a dict are atomic, and losing a race only builds a table twice.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from discreet.noise.blocks import Blocks

Key = tuple[str, int | float | str | Fraction | Decimal]
"""The law and its parameter, as it was written."""

KEPT = 32
_PLAIN = {int, float, str, Fraction}
_samplers: dict[Key, Blocks] = {}


def cached_sampler(key: Key) -> Blocks | None:
    """The sampler for this law and parameter, if it was kept. Only plain numbers are looked up: True is not 1."""
    return _samplers.get(_by_meaning(key)) if type(key[1]) in _PLAIN else None


def keep(key: Key, sampler: Blocks) -> None:
    """Keep a sampler, and let go of the oldest."""
    if type(key[1]) not in _PLAIN:
        return
    _samplers[_by_meaning(key)] = sampler
    for oldest in list(_samplers)[:-KEPT]:
        _samplers.pop(oldest, None)


def _by_meaning(key: Key) -> Key:
    """A float means what it prints, and Fraction(0.1) its binary value: the two are equal, and must not be mixed."""
    return (key[0], repr(key[1])) if type(key[1]) is float else key
