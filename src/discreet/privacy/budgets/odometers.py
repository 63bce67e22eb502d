"""An odometer: no budget, only a reading of what has been lost so far, true at all times at once.

Promise: with probability at least 1 - δ over all answers, the privacy loss never exceeds the reading, at any moment,
however the questions and their prices were chosen. So if one stops, for whatever reason, while the reading is at most
ε, what was released is (ε, δ)-private. A filter promises before; an odometer tells after. They are not the same.
An odometer can be neither copied, nor stored, nor used after a fork: each copy would read a part of the loss only.
Believes: the proof below, and Ville's inequality.

Proof. Let L_t be the loss after t answers and S_t = Σρ_i, each ρ_i fixed before its answer is drawn. For any α > 1 zCDP
says that E[e^{(α-1)(L_t - L_{t-1})} | past] <= e^{(α-1)αρ_t}, so e^{(α-1)(L_t - αS_t)} is a supermartingale that starts
at 1, and by Ville it ever exceeds 1/δ with probability at most δ: L_t <= αS_t + log(1/δ)/(α-1) for all t at once. Take
lines α_0, α_1, ... with δ_j = δ/((j+1)(j+2)), which add up to less than δ: the lowest line holds too. Line j is best
near S = first·2^j, so the reading is close to S + 2√(S log(1/δ_j)). Where all events are pure, Σε_i holds surely.
"""

from __future__ import annotations

import os
import threading
from fractions import Fraction
from typing import NoReturn

from discreet.errors import BadParameter, NoPrice, NotATheorem
from discreet.exact import Number, integer, log_up, positive, sqrt_up
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.budgets.filters import as_event
from discreet.privacy.budgets.together import Together
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Approx, Measure, Pure, small_probability
from discreet.privacy.promises.record import short_up


class _Single:
    """What is there once, in the process that made it."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise NotATheorem("an odometer belongs to the process that made it; a fork may have doubled it")

    def __reduce__(self) -> NoReturn:
        raise NotATheorem("an odometer can be neither copied nor stored: each copy would read a part of the loss only")


class Odometer(_Single):
    """A running bound on the privacy loss of all that was recorded, true at all times at once with probability 1 - δ.

    >>> odometer = Odometer(delta=1e-6)
    >>> odometer.record(Pure("0.1"))
    Approx(epsilon='1/10', delta='...')
    >>> for _ in range(999):
    ...     reading = odometer.record(Pure("0.1"))
    >>> float(reading.epsilon) < 27
    True
    """

    def __init__(self, delta: Number, *, first: Number = "1/1024", lines: int = 24) -> None:
        """``first`` is the ρ at which the odometer is tightest; each further line is the best at twice the ρ."""
        self._delta = small_probability(delta)
        if not self._delta:
            raise BadParameter("delta", delta, "must be above 0; for delta 0 use PureOdometer")
        start = positive(first, "first")
        self._lines = [
            _line(start * 2**j, self._delta / ((j + 1) * (j + 2))) for j in range(integer(lines, "lines", at_least=1))
        ]
        super().__init__()
        self._together = Together()
        self._rho = Fraction(0)
        self._pure: Fraction | None = Fraction(0)

    @property
    def reading(self) -> Approx:
        """The bound as of now."""
        with self._lock:
            return self._read()

    def record(self, what: Event | Measure) -> Approx:
        """Add an event, before it is drawn, or anything that keeps a promise; the new reading."""
        self._check_process()
        event = as_event(what)
        price = price_zcdp(event)
        if price.delta:
            raise NotATheorem("this odometer's proof needs zCDP with delta 0; put events with a delta under a filter")
        surely = _surely(event)
        with self._lock:
            self._together = self._together.plus(event)
            self._rho = short_up(self._rho + price.rho)
            self._pure = None if self._pure is None or surely is None else short_up(self._pure + surely)
            return self._read()

    def _read(self) -> Approx:
        if not self._rho:
            return Approx(0, self._delta)
        lowest = min(slope * self._rho + height for slope, height in self._lines)
        return Approx(short_up(lowest if self._pure is None else min(lowest, self._pure)), self._delta)


class PureOdometer(_Single):
    """The plain sum of ε's: the loss never exceeds it, surely and at all times.

    >>> odometer = PureOdometer()
    >>> for _ in range(10):
    ...     reading = odometer.record(Pure("0.1"))
    >>> reading
    Pure(epsilon=1)
    """

    def __init__(self) -> None:
        super().__init__()
        self._together = Together()
        self._sum = Fraction(0)

    @property
    def reading(self) -> Pure:
        """The bound as of now."""
        return Pure(self._sum)

    def record(self, what: Event | Measure) -> Pure:
        """Add a pure event, before it is drawn; the new reading."""
        self._check_process()
        price = price_basic(as_event(what))
        if price.delta:
            raise NoPrice("a pure odometer records pure events only")
        with self._lock:
            self._together = self._together.plus(what)
            self._sum = short_up(self._sum + price.epsilon)
            return Pure(self._sum)


def _line(rho: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Slope α and height log(1/δ)/(α-1) of the line that is about the lowest at ρ; any α > 1 is valid."""
    log_inverse = log_up(1 / delta)
    above = sqrt_up(log_inverse / rho, 24).limit_denominator(10**6) + Fraction(1, 10**6)
    return 1 + above, short_up(log_inverse / above)


def _surely(event: Event) -> Fraction | None:
    """The ε of the event if it is pure."""
    try:
        price = price_basic(event)
    except NoPrice:
        return None
    return None if price.delta else price.epsilon
