"""k-ary randomized response: the own value, or with a known chance a uniform one of all k."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.exact import Number
from discreet.local.chances import grown, up
from discreet.local.oracle import Law, Oracle, Reports, Values, bytes_for, pack, read_domain, unpack
from discreet.noise.coin import flips, rational
from discreet.noise.uniform import uniforms
from discreet.privacy.promises import events
from discreet.randomness import Bits


@dataclass(frozen=True, slots=True)
class Response(Oracle):
    """Made by ``response(...)``; its error grows with k."""

    name = "response"
    k: int
    epsilon: Fraction

    @property
    def replaced(self) -> Fraction:
        """The chance of a uniform value: k/(e^ε + k - 1), rounded up."""
        return up(self.k / (grown(self.epsilon) + self.k - 1))

    @property
    def keep(self) -> Fraction:
        """The chance that the own value is reported."""
        return 1 - self.replaced + self.other

    @property
    def other(self) -> Fraction:
        """The chance of any other one."""
        return self.replaced / self.k

    @property
    def event(self) -> events.Event:
        """At most as far apart as randomized response at ε."""
        return events.RandomizedResponse(self.epsilon, self.k)

    @property
    def width(self) -> int:
        """The value."""
        return bytes_for(self.k)

    def randomize(self, values: Values, bits: Bits) -> Reports:
        """Replace some by uniform ones."""
        out = values.copy()
        places = np.flatnonzero(flips(rational(self.replaced), len(values), bits))
        out[places] = uniforms(self.k, len(places), bits)
        return pack(out, self.width)

    def supports(self, reports: Reports) -> NDArray[np.int64]:
        """A report supports the value that it names."""
        return np.bincount(unpack(reports), minlength=self.k)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """Values below k."""
        return unpack(reports) < self.k

    def law(self, value: int) -> Law:
        """``keep`` for the own value, ``other`` for the rest."""
        return {
            pack(np.array([v]), self.width)[0].tobytes(): self.keep if v == value else self.other for v in range(self.k)
        }


def response(*, k: int, epsilon: Number) -> Response:
    """k-ary randomized response; with k = 2, Warner's.

    >>> yes_no = response(k=2, epsilon=1)
    >>> float(yes_no.keep), yes_no.client(1) in {bytes([0]), bytes([1])}
    (0.7310585..., True)
    """
    return Response(*read_domain(k, epsilon))
