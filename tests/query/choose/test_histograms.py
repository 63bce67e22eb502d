"""What is read off noisy histograms: bounds of values, the middle of a mean, how many typical groups there are."""

from datetime import date
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.query.choose.classes import SIGNED_POWERS
from discreet.query.choose.histograms import ReleasedHistogram, bounds_from, centre_from
from discreet.query.choose.open_parts import open_part
from discreet.query.lower.lower import LoweredMeasure

CHOSEN_CAPS = True


def measure(text: str = "AVG(x)", **rows: object) -> LoweredMeasure:
    values = rows or {"x": [1, 2]}
    session = dp.Session(t=dp.table({"id": [1, 2], **values}, unit="id"), budget=dp.Pure(1))
    opened = open_part(session.sql(f"SELECT {text} AS m FROM t").prepared.parts[0])
    assert opened is not None
    return opened.part.measures[0]


def of(values: list[int], many: float = 100.0, scale: float = 1.0) -> ReleasedHistogram:
    counts = np.zeros(len(SIGNED_POWERS) + 1)
    for value in values:
        counts[SIGNED_POWERS.index((1 if value > 0 else -1) * abs(value).bit_length())] += many
    return ReleasedHistogram(counts, scale, gaussian=False)


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        ([5], (4, 8)),
        ([1, 900], (0, 1024)),
        ([-5, 3], (-8, 4)),
        ([-5, -70], (-128, -4)),
        ([0], (0, 1)),
        ([0, 7], (0, 8)),
    ],
)
def test_bounds_hold_the_classes_that_stand_out(values: list[int], bounds: tuple[int, int]) -> None:
    assert bounds_from(of(values), measure(), 0) == tuple(map(Fraction, bounds))
    for value in values:
        assert bounds[0] <= value <= bounds[1]


def test_noise_alone_gives_no_bounds() -> None:
    assert bounds_from(of([5], many=3.0, scale=10.0), measure(), 0) is None
    assert bounds_from(of([]), measure(), 0) is None


def test_the_centre_of_a_mean_is_about_the_mean_of_the_values() -> None:
    """Those of a class are spread evenly by their logarithms: 1.44, 5.77, 738.6 for 1, 5, 900."""
    histogram = of([1, 5, 5, 5, 900])
    assert centre_from(histogram, measure(), (Fraction(1), Fraction(1024))) == 151
    assert centre_from(histogram, measure(), (Fraction(1), Fraction(100))) == 100
    assert centre_from(of([-5]), measure(), (Fraction(-8), Fraction(-4))) == -6
    assert centre_from(of([-5, 5]), measure(), (Fraction(-8), Fraction(8))) == 0


def test_days_are_bounded_by_years() -> None:
    days = measure("AVG(d)", d=[date(2024, 3, 1), date(2024, 4, 1)])
    counts = np.zeros(205)
    counts[124:126] = 100
    bounds = bounds_from(ReleasedHistogram(counts, 1.0, gaussian=False), days, 0)
    assert bounds == (Fraction(124 * 366), Fraction(126 * 366))


def test_typical_groups_need_groups_that_stand_out() -> None:
    assert ReleasedHistogram(np.array([10.0, 10, 10, 70]), 0.1, gaussian=False).typical_groups() == pytest.approx(10)
    assert ReleasedHistogram(np.array([1.0, 0, 2, 1]), 50.0, gaussian=True).typical_groups() is None
