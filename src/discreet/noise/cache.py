"""Samplers that were built already, so that a second use of a parameter is cheap.

What is kept follows from public parameters alone; it holds no random bits.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

from discreet.noise.blocks import Blocks

KEPT = 32
_samplers: OrderedDict[Hashable, Blocks] = OrderedDict()
_lock = Lock()


def known(key: Hashable) -> Blocks | None:
    """The sampler for this law and parameter, if it was kept."""
    found = _samplers.get(key)
    if found is not None:
        with _lock:
            if key in _samplers:
                _samplers.move_to_end(key)
    return found


def keep(key: Hashable, sampler: Blocks) -> None:
    """Keep a sampler, and let go of the one that was not used for longest."""
    with _lock:
        _samplers[key] = sampler
        while len(_samplers) > KEPT:
            _samplers.popitem(last=False)
