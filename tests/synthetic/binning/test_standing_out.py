"""What stands out from noise: data stays, noise goes, whatever the shape."""

import numpy as np
import pytest

from discreet.synthetic.binning.standing_out import MOST_VALUES, levels


def test_noise_alone_is_empty_and_taken_at_its_word_is_not() -> None:
    draw = np.random.default_rng(1)  # fixed: this is about released numbers, not about a draw
    for _ in range(50):
        noise = draw.normal(0, 10, 200)
        assert not levels(noise, 100.0).any()
        assert np.maximum(noise, 0).sum() > 500  # the planted twin: noise that is clipped at 0


def test_what_is_large_stays_and_what_lies_between_is_empty() -> None:
    draw = np.random.default_rng(2)
    exact = np.zeros(120)
    exact[3], exact[40:60], exact[119] = 500, 200, 300
    found = levels(exact + draw.normal(0, 10, 120), 100.0)
    assert (found > 0).tolist() == (exact > 0).tolist()
    assert found == pytest.approx(exact, abs=40)


def test_a_stretch_counts_by_its_widths_if_that_fits_better() -> None:
    widths = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])
    found = levels(10 * widths, 1.0, widths)
    assert found == pytest.approx(10 * widths)
    assert len(set(levels(10 * widths, 1e4))) < len(widths)


def test_without_noise_and_beyond_the_search_numbers_are_taken_as_they_are() -> None:
    assert levels(np.array([3.0, -1.0, 0.5]), 0.0).tolist() == [3.0, 0.0, 0.5]
    many = np.ones(MOST_VALUES + 1)
    assert levels(many, 100.0).tolist() == many.tolist()
    assert levels(np.array([1000.0]), 1.0).tolist() == [1000.0]
    assert levels(np.array([1.0]), 1.0).tolist() == [0.0]
