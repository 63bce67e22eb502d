"""Samplers that were built already, so that a second use of a parameter is cheap.

What is kept follows from public parameters alone; it holds no random bits.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock

from discreet.noise.blocks import Blocks

KEPT = 32
_samplers: OrderedDict[Hashable, Blocks] = OrderedDict()
_lock = Lock()


def known(key: Hashable) -> Blocks | None:
    """The sampler for this law and parameter, if there is one."""
    with _lock:
        found = _samplers.get(key)
        if found is not None:
            _samplers.move_to_end(key)
        return found


def sampler(key: Hashable, build: Callable[[], Blocks]) -> Blocks:
    """The sampler for this law and parameter, built if need be."""
    found = known(key)
    if found is None:
        found = build()
        with _lock:
            _samplers[key] = found
            while len(_samplers) > KEPT:
                _samplers.popitem(last=False)
    return found
