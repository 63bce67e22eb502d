"""What samples of a source say about its bias γ, with a stated confidence. Proof: estimate.md.

No test can certify a source that an adversary controls: a generator with a known seed passes every test, and so does
one that behaves until the day it matters. The lower side below holds for every Santha-Vazirani source; the upper side
only for a source whose next bit depends on the last ``memory`` bits and on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.biased.sources import SanthaVazirani
from discreet.errors import BadParameter
from discreet.exact import Number, integer, log_up, number, sqrt_up

LONGEST_MEMORY = 16


@dataclass(frozen=True, slots=True)
class GammaEstimate:
    """With this confidence: γ >= lower for any Santha-Vazirani source, γ <= upper if its memory is that short."""

    lower: Fraction
    upper: Fraction
    confidence: Fraction
    memory: int
    samples: int
    """How many bits were looked at."""

    @property
    def model(self) -> SanthaVazirani:
        """The source model to make mechanisms for, if its memory is believed."""
        if self.upper >= 1:
            raise BadParameter(
                "samples", self.samples, "must be more: some pattern of earlier bits is too rare to say anything"
            )
        return SanthaVazirani(self.upper)


def estimate_gamma(
    samples: bytes | Iterable[int], *, memory: int = 8, confidence: Number = "0.999999"
) -> GammaEstimate:
    """Bounds of γ from bytes of the source, first bit first.

    >>> from discreet.randomness.source import SystemBits
    >>> found = estimate_gamma(bytes(1000))
    >>> found.lower > 0.9, found.upper
    (True, Fraction(1, 1))
    >>> estimate_gamma(SystemBits().bytes(1 << 17)).lower
    Fraction(0, 1)
    """
    memory = integer(memory, "memory", at_least=0)
    if memory > LONGEST_MEMORY:
        raise BadParameter("memory", memory, f"must be at most {LONGEST_MEMORY} bits")
    level = number(confidence, "confidence")
    if not 0 < level < 1:
        raise BadParameter("confidence", confidence, "must be above 0 and below 1")
    bits = np.unpackbits(np.frombuffer(_bytes(samples), dtype=np.uint8))
    n = len(bits) - memory
    if n < 1:
        raise BadParameter("samples", len(bits), f"must be more than {memory} bits")
    seen, ones = _counts(bits, memory)
    log = log_up(2 * (1 << memory) * n / (1 - level))
    lower, upper = Fraction(0), Fraction(0)
    for times, heads in zip(seen.tolist(), ones.tolist(), strict=True):
        if not times:
            upper = Fraction(1)
            continue
        off = abs(Fraction(2 * heads, times) - 1)
        margin = 2 * sqrt_up(log / (2 * times))
        lower, upper = max(lower, off - margin), max(upper, off + margin)
    return GammaEstimate(lower, min(upper, Fraction(1)), level, memory, n)


def _bytes(samples: object) -> bytes:
    """The samples as bytes; a number is refused, which Python would take for that many zero bytes."""
    try:
        if isinstance(samples, Iterable):
            return bytes(samples)
    except (TypeError, ValueError):
        pass
    raise BadParameter("samples", samples, "must be bytes, or integers from 0 to 255")


def _counts(bits: NDArray[np.uint8], memory: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """How often each pattern of ``memory`` bits was followed by a bit, and by a 1."""
    n = len(bits) - memory
    context = np.zeros(n, dtype=np.int64)
    for back in range(memory):
        context = context << 1 | bits[back : back + n]
    following = bits[memory:]
    size = 1 << memory
    return np.bincount(context, minlength=size), np.bincount(context[following == 1], minlength=size)
