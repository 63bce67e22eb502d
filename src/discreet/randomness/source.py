"""Uniform bits from the operating system.

Promise: every bit handed out is fresh: no two calls, threads, forks or machines share one.
Believes: ``os.urandom`` gives independent uniform bits, and AES-256 in counter mode under a fresh random key
cannot be told from such bits.

Fresh by construction: a source has no state at all. A small call reads the operating system; a large call makes
a key from the operating system, stretches it, and forgets it. There is nothing to fork, to share between threads,
to pickle or to seed.
"""

from __future__ import annotations

import os
from typing import Protocol, TypeVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from discreet.errors import BadParameter, UnsafeRandomness

_SMALL = 1024  # bytes: below this the operating system is faster than setting up a key
_ZEROS = memoryview(bytes(1 << 19))  # what is encrypted; making zeros anew takes longer than encrypting them


class Bits(Protocol):
    """A source of independent uniform bits."""

    def bytes(self, count: int) -> bytes:
        """``count`` uniform bytes."""
        ...

    def bits(self, count: int) -> int:
        """An integer of ``count`` uniform bits."""
        ...

    def below(self, n: int) -> int:
        """A uniform integer in [0, n)."""
        ...


class SystemBits:
    """The operating system's randomness; the only source that may make a release.

    >>> 0 <= SystemBits().below(6) < 6
    True
    """

    __slots__ = ()

    def bytes(self, count: int) -> bytes:
        """``count`` uniform bytes."""
        if count <= _SMALL:
            return os.urandom(count)
        seed = os.urandom(48)
        stream = Cipher(algorithms.AES(seed[:32]), modes.CTR(seed[32:])).encryptor()
        return stream.update(_ZEROS[:count] if count <= len(_ZEROS) else bytes(count))

    def bits(self, count: int) -> int:
        """An integer of ``count`` uniform bits."""
        return int.from_bytes(os.urandom((count + 7) >> 3), "little") >> (-count & 7)

    def below(self, n: int) -> int:
        """A uniform integer in [0, n), by drawing again while the draw is n or more."""
        return uniform_below(self, n)


def uniform_below(source: Bits, n: int) -> int:
    """A uniform integer in [0, n) from any source.

    Each try is uniform on [0, 2^k) with 2^(k-1) < n <= 2^k, so it succeeds with probability above 1/2, and given
    success it is uniform on [0, n).
    """
    if n < 1:
        raise BadParameter("n", n, "must be at least 1")
    k = (n - 1).bit_length()
    while True:
        draw = source.bits(k)
        if draw < n:
            return draw


Word = TypeVar("Word", np.uint8, np.uint16, np.uint32, np.uint64)


def words(source: Bits, count: int, kind: type[Word]) -> NDArray[Word]:
    """``count`` uniform machine words, read-only.

    >>> words(SystemBits(), 3, np.uint64).shape
    (3,)
    """
    return np.frombuffer(source.bytes(count * np.dtype(kind).itemsize), dtype=kind)


def for_release(source: Bits) -> Bits:
    """The source itself if a release may use it; refuses every other source, replays above all.

    >>> for_release(SystemBits()) is not None
    True
    """
    if type(source) is not SystemBits:
        raise UnsafeRandomness(
            f"{type(source).__name__} can be replayed, so it may not make a release; "
            "leave the source out and the operating system's is used"
        )
    return source
