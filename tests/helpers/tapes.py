"""Sources of chosen bits, for words that chance would not show in a lifetime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.randomness.replay import TapeEnded


class Prefix:
    """These bits first, then one bit for ever; draws from either end of what a prefix leaves open."""

    def __init__(self, value: int, length: int, then: int) -> None:
        self._value = value
        self._left = length
        self._then = then
        self.asked = 0
        """Bits that were asked for behind the prefix."""

    def bits(self, count: int) -> int:
        out = 0
        taken = min(count, self._left)
        if taken:
            self._left -= taken
            out = (self._value >> self._left) & ((1 << taken) - 1)
        more = count - taken
        self.asked += more
        return out << more | ((1 << more) - 1) * self._then

    def bytes(self, count: int) -> bytes:
        return self.bits(8 * count).to_bytes(count, "big")

    def below(self, n: int) -> int:
        raise AssertionError("not asked for here")


class Tape:
    """These bytes first, then one byte for ever (or the end, if ``then`` is None)."""

    def __init__(self, *parts: NDArray[Any] | bytes, then: int | None = None) -> None:
        self._data = b"".join(part if isinstance(part, bytes) else part.tobytes() for part in parts)
        self._at = 0
        self._then = then

    @property
    def left(self) -> int:
        return max(0, len(self._data) - self._at)

    def bytes(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        self._at += count
        if len(found) < count:
            if self._then is None:
                raise TapeEnded(8 * (count - len(found)))
            found += bytes([self._then]) * (count - len(found))
        return found

    def bits(self, count: int) -> int:
        return int.from_bytes(self.bytes(-(-count // 8)), "big") >> (-count % 8)

    def below(self, n: int) -> int:
        return 0


class NoBits:
    """Whoever draws from it fails the test."""

    def bits(self, count: int) -> int:
        raise AssertionError("a bit was drawn")

    def bytes(self, count: int) -> bytes:
        raise AssertionError("a byte was drawn")

    def below(self, n: int) -> int:
        raise AssertionError("a number was drawn")


def counted(function: Callable[..., Any]) -> Any:
    """The function, with a count of its calls in ``calls``."""

    def wrapper(*args: Any, **named: Any) -> Any:
        wrapper.calls += 1  # type: ignore[attr-defined]
        return function(*args, **named)

    wrapper.calls = 0  # type: ignore[attr-defined]
    return wrapper


def near_words(floors: list[int], n: int, powers: range) -> NDArray[np.uint64]:
    """Words at each threshold's floor, beside it, and 2^j away on both sides."""
    top = (1 << n) - 1
    offsets = [0, 1, -1, 2, -2, *(1 << j for j in powers), *(-(1 << j) for j in powers)]
    words = {f + d for f in floors for d in offsets} | {0, 1, top - 1, top}
    return np.array(sorted(w for w in words if 0 <= w <= top), dtype=np.uint64)
