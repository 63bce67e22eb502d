"""Which texts are common among people who trust nobody: prefixes are found first, then made longer.

Guarantee: each person sends one report, ε-private: it belongs to a group that is drawn without looking at the text, and
is local hashing of a prefix of the text whose length the group says. What the server does is post-processing.

Prefix extension (Bassily, Nissim, Stemmer and Thakurta 2017; Wang, Li and Jha 2019). A prefix is turned into a number
below 2^30 by a fixed public digest; two of them meet with a chance of 2^-30.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.answer import CONFIDENCE, confidence_level
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, integer
from discreet.local.hashing import Hashing, local_hashing
from discreet.local.oracle import Reports
from discreet.noise.uniform import uniforms
from discreet.privacy.promises import events
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import SystemBits

_DOMAIN = 1 << 30
_END = b"\x00"


@dataclass(frozen=True, slots=True)
class Common:
    """A text that stands out, and its estimated share with an error bar that holds for all that are named."""

    text: bytes
    share: float
    error: float


@dataclass(frozen=True, slots=True)
class HeavyHitters:
    """Made by ``heavy_hitters(...)``: texts of up to ``length`` bytes, found ``step`` bytes at a time."""

    name: ClassVar[str] = "heavy_hitters"
    neighbours: ClassVar[Neighbours] = Neighbours.CHANGE_ONE

    oracle: Hashing
    length: int
    step: int
    alphabet: bytes
    keep: int
    """How many prefixes are kept at each length."""

    @property
    def groups(self) -> int:
        """One for each length of prefixes."""
        return -(-self.length // self.step)

    @property
    def event(self) -> events.Event:
        """What one report writes into the ledger of its sender."""
        return self.oracle.event

    @property
    def width(self) -> int:
        """How many bytes a report has: its group, and a hashed prefix."""
        return 1 + self.oracle.width

    @property
    def check(self) -> bytes:
        """Four bytes that client and server must agree on: a digest of all parameters but ``keep``."""
        shared = (self.oracle.check, self.length, self.step, self.alphabet)
        return hashlib.sha256(repr(shared).encode()).digest()[:4]

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports could have been sent at all."""
        return np.asarray((reports[:, 0] < self.groups) & self.oracle.valid(reports[:, 1:]))

    def padded(self, text: bytes) -> bytes:
        """The text with zeros behind it, cut at the length. One with bytes outside the alphabet is never found."""
        if not isinstance(text, bytes):
            raise BadData("texts must be bytes")
        return text[: self.length].ljust(self.length, _END)

    def client(self, text: bytes) -> bytes:
        """One report of one person's text."""
        return bytes(self.simulate([text])[0].tobytes())

    def simulate(self, texts: Sequence[bytes]) -> Reports:
        """Reports of many people at once."""
        bits = SystemBits()
        groups = uniforms(self.groups, len(texts), bits)
        fingerprints: dict[bytes, int] = {}
        numbers = np.empty(len(texts), dtype=np.int64)
        for i, (text, group) in enumerate(zip(texts, groups.tolist(), strict=True)):
            prefix = self.padded(text)[: (group + 1) * self.step]
            if prefix not in fingerprints:
                fingerprints[prefix] = fingerprint(prefix)
            numbers[i] = fingerprints[prefix]
        return np.concatenate([groups.astype(np.uint8)[:, None], self.oracle.randomize(numbers, bits)], axis=1)

    def find(self, reports: Reports, confidence: Number = CONFIDENCE) -> list[Common]:
        """The texts that stand out from the noise, the most common first.

        A text is named when its estimate is above the error bar of all candidates of its length together.
        """
        level = confidence_level(confidence)
        sound = reports[self.valid(reports)]
        prefixes: list[bytes] = [b""]
        common: list[Common] = []
        for group in range(self.groups):
            here = sound[sound[:, 0] == group, 1:]
            candidates = self._longer(prefixes, group)
            if not len(here) or not candidates:
                return []
            shares, error = self._shares(here, candidates, 1 - (1 - level) / self.groups)
            order = np.argsort(shares)[::-1][: self.keep]
            clear = [i for i in order.tolist() if shares[i] > error]
            prefixes = [candidates[i] for i in clear]
            common = [Common(candidates[i].rstrip(_END), float(shares[i]), error) for i in clear]
        return common

    def _longer(self, prefixes: Iterable[bytes], group: int) -> list[bytes]:
        size = min(self.step, self.length - group * self.step)
        longer = list(prefixes)
        for _ in range(size):
            longer = [p + bytes([c]) for p in longer for c in ((0,) if p.endswith(_END) else (0, *self.alphabet))]
        return longer

    def _shares(self, reports: Reports, candidates: list[bytes], level: Number) -> tuple[NDArray[np.float64], float]:
        numbers = np.array([fingerprint(c) for c in candidates], dtype=np.int64)
        counts = np.zeros(len(numbers), dtype=np.int64)
        for start in range(0, len(reports), 1 << 12):
            counts += self.oracle.supports_of(reports[start : start + (1 << 12)], numbers)
        p, q = float(self.oracle.keep), float(self.oracle.other)
        some = local_hashing(k=max(2, len(candidates)), epsilon=self.oracle.epsilon, cells=self.oracle.cells)
        return (counts / len(reports) - q) / (p - q), some.error_at(level, len(reports))


def fingerprint(prefix: bytes) -> int:
    """A public number below 2^30 for a prefix.

    >>> fingerprint(b"a") == fingerprint(b"a"), 0 <= fingerprint(b"ab") < 2**30
    (True, True)
    """
    return int.from_bytes(hashlib.sha256(prefix).digest()[:4], "little") >> 2


def heavy_hitters(*, epsilon: Number, length: int, alphabet: bytes, step: int = 1, keep: int = 64) -> HeavyHitters:
    """Common texts over a public alphabet, of at most ``length`` bytes.

    >>> finder = heavy_hitters(epsilon=4, length=2, alphabet=b"abc")
    >>> found = finder.find(finder.simulate([b"ab"] * 3000 + [b"c"] * 3000))
    >>> sorted(common.text for common in found)
    [b'ab', b'c']
    """
    letters = bytes(sorted(set(alphabet)))
    if not letters or 0 in letters:
        raise BadParameter("alphabet", alphabet, "must hold at least one byte, and none that is zero")
    size, wide = integer(length, "length", at_least=1), integer(step, "step", at_least=1)
    if size > 255 * wide or (len(letters) + 1) ** wide > 1 << 16:
        raise BadParameter("step", step, "must give at most 255 groups and at most 2^16 ways to go on")
    oracle = local_hashing(k=_DOMAIN, epsilon=epsilon)
    return HeavyHitters(oracle, size, min(wide, size), letters, integer(keep, "keep", at_least=1))
