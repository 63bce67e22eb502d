"""odometers.py: the chance that the loss ever passes the reading, computed exactly on a lattice."""

import copy
import math
import os
import pickle
from collections import defaultdict
from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import BadParameter, NoPrice, NotATheorem
from discreet.privacy.accountants.conversions import zcdp_to_approx_classical
from discreet.privacy.budgets.odometers import Odometer, PureOdometer
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Pure


def ever_above(readings: list[float], epsilon: float) -> float:
    """The probability that the loss of fair steps of ±ε (randomized response) ever exceeds its reading."""
    up = math.exp(epsilon) / (1 + math.exp(epsilon))
    here, failed = {0: 1.0}, 0.0
    for reading in readings:
        there: dict[int, float] = defaultdict(float)
        for position, mass in here.items():
            there[position + 1] += mass * up
            there[position - 1] += mass * (1 - up)
        failed += sum(mass for position, mass in there.items() if position * epsilon > reading + 1e-9)
        here = {position: mass for position, mass in there.items() if position * epsilon <= reading + 1e-9}
    return failed


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.2, 0.01])
def test_the_loss_stays_below_the_reading(delta: float) -> None:
    odometer = Odometer(delta)
    readings = [float(odometer.record(Pure("0.1")).epsilon) for _ in range(600)]
    assert ever_above(readings, 0.1) <= delta
    assert readings[-1] < 600 * 0.1 / 2  # far below the plain sum
    assert ever_above([r * 0.3 for r in readings], 0.1) > delta  # planted: the test can fail


def test_readings_only_grow() -> None:
    odometer = Odometer("1e-6")
    last = odometer.reading
    assert last == Approx(0, "1e-6")
    recorded: list[Any] = [events.Gaussian(10), Pure("0.1"), GDP(1), ZCDP("0.5"), events.Pure(3), events.Composed([])]
    for what in recorded * 5:
        now = odometer.record(what)
        assert last <= now == odometer.reading
        last = now


@pytest.mark.parametrize("rho", ["0.001", "0.1", 5, 300])
def test_close_to_the_fixed_time_bound(rho: Any) -> None:
    odometer = Odometer("1e-6")
    reading = odometer.record(ZCDP(rho)).epsilon
    fixed = zcdp_to_approx_classical(ZCDP(rho), delta="1e-6").epsilon
    assert fixed < reading < fixed * Fraction(14, 10)
    tuned = Odometer("1e-6", first=rho, lines=1).record(ZCDP(rho)).epsilon
    assert fixed <= tuned < fixed * Fraction(105, 100)


def test_pure_sums_are_never_beaten_by_the_lines() -> None:
    odometer = Odometer("1e-6")
    assert odometer.record(Pure("0.1")).epsilon == Fraction(1, 10)
    odometer.record(events.Gaussian(100))
    assert odometer.record(Pure("0.1")).epsilon > Fraction(2, 10)


def test_pure_odometer() -> None:
    odometer = PureOdometer()
    for _ in range(10):
        odometer.record(events.Laplace(10))
    assert odometer.reading == Pure(1)
    for bad in (events.Gaussian(1), events.Approx(1, "1e-6")):
        with pytest.raises(NoPrice):
            odometer.record(bad)
    assert odometer.reading == Pure(1)


def test_refusals() -> None:
    odometer = Odometer("1e-6")
    with pytest.raises(NotATheorem):
        odometer.record(events.Approx(1, "1e-9"))
    assert odometer.reading.epsilon == 0
    calls: list[Any] = [
        lambda: Odometer(0),
        lambda: Odometer(1),
        lambda: Odometer(0.1, first=0),
        lambda: Odometer(0.1, lines=0),
    ]
    for call in calls:
        with pytest.raises(BadParameter):
            call()


@pytest.mark.parametrize("make", [PureOdometer, lambda: Odometer("1e-6")])
def test_an_odometer_is_there_once(make: Any) -> None:
    """A copy read its own charges only: two halves of a loss, and each looked like all of it."""
    odometer = make()
    odometer.record(Pure("1/2"))
    for double in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NotATheorem, match="copied"):
            double(odometer)
    child = os.fork()
    if not child:
        try:
            odometer.record(Pure("1/2"))
        except NotATheorem:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert odometer.record(Pure("1/2")).epsilon == 1
