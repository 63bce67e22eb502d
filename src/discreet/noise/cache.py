"""Samplers that were built already, so that a second use of a parameter is cheap.

What is kept follows from public parameters alone; it holds no random bits.
"""

from __future__ import annotations

from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction
from threading import Lock

from discreet.noise.blocks import Blocks

Key = tuple[str, int | float | str | Fraction | Decimal]
"""The law and its parameter, as it was written."""

KEPT = 32
_PLAIN = {int, float, str, Fraction}
_samplers: OrderedDict[Key, Blocks] = OrderedDict()
_lock = Lock()


def known(key: Key) -> Blocks | None:
    """The sampler for this law and parameter, if it was kept. Only plain numbers are looked up: True is not 1."""
    found = _samplers.get(key) if type(key[1]) in _PLAIN else None
    if found is not None:
        with _lock:
            if key in _samplers:
                _samplers.move_to_end(key)
    return found


def keep(key: Key, sampler: Blocks) -> None:
    """Keep a sampler, and let go of the one that was not used for longest. Only plain numbers are kept: they alone are
    looked up, and no caller's own type may pass for one of them.
    """
    if type(key[1]) not in _PLAIN:
        return
    with _lock:
        _samplers[key] = sampler
        while len(_samplers) > KEPT:
            _samplers.popitem(last=False)
