"""Bounds from released values: wide enough for what matters, no wider, and nothing from noise alone."""

from datetime import date
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import NoEstimate
from discreet.query.choose.classes import SIGNED_POWERS
from discreet.query.profile.choose_bounds import choose_bounds
from discreet.query.profile.classes import FIRST_YEAR, LAST_YEAR
from discreet.query.profile.histogram import UnitHistogram
from discreet.query.profile.questions import About


def values(sample: np.ndarray, scale: float = 5.0) -> UnitHistogram:
    powers = np.sign(sample) * np.floor(np.log2(np.maximum(np.abs(sample), 1)) + 1) * (sample != 0)
    counts = np.array([(powers == power).sum() for power in SIGNED_POWERS] + [0], dtype=float)
    counts += np.random.default_rng(1).laplace(0, scale, len(counts))
    labels = (*SIGNED_POWERS, SIGNED_POWERS[-1] + 1)
    return UnitHistogram(About.VALUES, "x", labels, tuple(counts.tolist()), scale, gaussian=False, step=Fraction(1))


def test_positive_values_start_at_zero_and_the_tail_is_cut_where_noise_would_be_larger() -> None:
    sample = np.ceil(np.random.default_rng(2).lognormal(3, 1.2, 20_000))
    found = choose_bounds(values(sample))
    assert found.declared.low == 0
    assert 64 <= found.declared.high <= 1024  # type: ignore[operator]
    beyond = np.maximum(sample - float(found.declared.high), 0).sum() / sample.sum()  # type: ignore[arg-type]
    assert abs(found.cut - beyond) < 0.05
    assert "lies beyond" in str(found)


def test_both_signs_and_constants() -> None:
    both = choose_bounds(values(np.random.default_rng(2).integers(-60, 60, 20_000)))
    assert (both.declared.low, both.declared.high) == (Fraction(-64), Fraction(64))
    one = choose_bounds(values(np.full(5000, 7)))
    assert (one.declared.low, one.declared.high) == (Fraction(0), Fraction(8))
    zero = choose_bounds(values(np.zeros(5000)))
    assert (zero.declared.low, zero.declared.high) == (Fraction(0), Fraction(1))


def test_values_that_noise_hides_are_not_taken_to_be_none() -> None:
    """Of 3,000 values half lie beyond the last class that surely holds something."""
    sample = np.ceil(np.random.default_rng(3).lognormal(3, 1, 3000))
    found = choose_bounds(values(sample, scale=70.0))
    beyond = np.maximum(sample - float(found.declared.high), 0).sum() / sample.sum()  # type: ignore[arg-type]
    assert beyond < 0.1
    assert abs(found.cut - beyond) < 0.06


@pytest.mark.parametrize("sample", [np.full(5000, 2.0**62), np.full(5000, -(2.0**61)), np.array([2.0**70, 1] * 3000)])
def test_of_values_beyond_all_classes_nobody_says_what_is_cut(sample: np.ndarray) -> None:
    far = np.clip(sample, -(2.0**60), 2.0**60)  # the outermost classes hold all beyond them
    found = choose_bounds(values(far))
    assert found.farther
    assert "what is cut of them is unknown" in str(found)
    assert "0.0%" not in str(found)


def test_dates_beyond_all_years_are_said_to_be_so() -> None:
    years = tuple(range(FIRST_YEAR, LAST_YEAR + 1))
    counts = tuple(900.0 * (year in (2000, LAST_YEAR)) for year in (*years, 9999))
    found = choose_bounds(UnitHistogram(About.VALUES, "d", (*years, LAST_YEAR + 1), counts, 1.0, gaussian=False))
    assert found.farther
    inside = choose_bounds(
        UnitHistogram(About.VALUES, "d", (*years, LAST_YEAR + 1), (0.0, *counts[:-2], 0.0), 1.0, gaussian=False)
    )
    assert not inside.farther


def test_values_that_end_get_the_end() -> None:
    """Each class up to a million has as many as the one before it, then none."""
    sample = np.ceil(np.exp(np.random.default_rng(3).uniform(0, np.log(1e6), 30_000)))
    found = choose_bounds(values(sample, scale=70.0))
    assert found.declared.high == 1 << 20


def test_noise_alone_gives_no_bounds() -> None:
    with pytest.raises(NoEstimate):
        choose_bounds(values(np.array([]), scale=50.0))


def test_dates_get_the_years_that_stand_out() -> None:
    labels = (*range(FIRST_YEAR, LAST_YEAR + 1), LAST_YEAR + 1)
    counts = [900.0 if label in (2019, 2021) else 0.0 for label in labels]
    found = choose_bounds(UnitHistogram(About.VALUES, "day", labels, tuple(counts), 2.0, gaussian=True))
    assert (found.declared.low, found.declared.high) == (date(2019, 1, 1), date(2021, 12, 31))
