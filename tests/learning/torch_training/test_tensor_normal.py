"""The tensor sampler: every cell of its guide against certified bounds, slower stages against exact arithmetic."""

import math
from copy import copy
from fractions import Fraction

import numpy as np
import pytest
import torch

from discreet.errors import BadParameter
from discreet.exact import exp_fixed
from discreet.learning.torch_training import tensor_normal
from discreet.learning.torch_training.tensor_normal import Tables, TensorNormal, fast_draws, settle_one
from discreet.noise.filter import MARGIN
from discreet.noise.floored_normal import floored_normal
from discreet.randomness import SystemBits
from tests.noise.test_floored_normal import distance

SIGMAS = [Fraction(100) ** 2, Fraction(2) ** 40, Fraction(12345, 7) ** 2]


@pytest.mark.parametrize("sigma_squared", SIGMAS)
def test_every_cell_of_the_guide_is_certified(sigma_squared: Fraction) -> None:
    """All 2^16 cells: a decided cell lies between two thresholds, and its sure coin is below every true one."""
    tables = Tables(sigma_squared, "cpu")
    low, high = tables.law.thresholds(64)
    last = (1 << tables.r) - 1
    sure_of: dict[int, int] = {}
    for cell, entry in enumerate(tables.guide.tolist()):
        first, end = cell << 48, ((cell + 1) << 48) - 1
        block, sure = entry >> 16, entry & 0xFFFF
        if sure == 0:
            continue
        assert block == 0 or high[block - 1] <= first
        assert end < low[block]
        assert sure_of.setdefault(block, sure) == sure
    assert sum(e & 0xFFFF > 0 for e in tables.guide.tolist()) > 65_000
    for block, sure in sure_of.items():
        top, bottom = tables.law.exponent(block, 0, last)
        assert sure << 48 <= exp_fixed(-Fraction(top, bottom), 64)[0]


def words_of(cells: torch.Tensor, coin: torch.Tensor, place: int, sign: int) -> torch.Tensor:
    return (cells << 48) | (coin << 32) | (sign << 31) | place


def test_the_fast_stage_on_every_cell_and_both_edges_of_its_coin(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = Tables(SIGMAS[1], "cpu")
    cells = torch.arange(1 << 16)
    sure = tables.guide & 0xFFFF
    for coin in (torch.clamp(sure - 1, min=0), torch.clamp(sure, max=65535), torch.zeros_like(sure)):
        for place, sign in ((0, 0), ((1 << tables.r) - 1, 1)):
            words = words_of(cells, coin, place, sign)
            monkeypatch.setattr(tensor_normal, "chacha_blocks", lambda counters, key: [])
            monkeypatch.setattr(tensor_normal, "as_words", lambda blocks, words=words: [words])
            _, values, open_ = fast_draws(cells, cells, tables.guide, tables.r)
            assert torch.equal(open_, coin >= sure)
            size = ((tables.guide >> 16) << tables.r) + place
            assert torch.equal(values, -1 - size if sign else size)


def test_open_draws_are_settled_as_exact_arithmetic_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """2000 words with coins near their true probability: the same answer as certified bounds at 64 bits."""
    sampler = TensorNormal(SIGMAS[1])
    tables = sampler._tables
    rng = np.random.default_rng(0)
    decided = (tables.index >= 0).nonzero().squeeze(1).numpy()
    cells = torch.tensor(rng.choice(decided, 2000))
    places = torch.tensor(rng.integers(0, 1 << tables.r, 2000))
    blocks = tables.index[cells]
    exact = [
        exp_fixed(-Fraction(*tables.law.exponent(int(b), 0, int(p))), 64) for b, p in zip(blocks, places, strict=True)
    ]
    coins = torch.tensor(
        [min(65535, (low >> 48) + int(d)) for (low, _), d in zip(exact, rng.integers(-1, 2, 2000), strict=True)]
    )
    coins = coins.clamp(min=0)
    fresh = torch.tensor(rng.integers(0, 1 << 48, 2000))
    monkeypatch.setattr(tensor_normal, "uniform_words", lambda count, device: fresh[:count])
    words = (cells << 48) | (coins << 32) | places
    values, refused = sampler.settle(words)
    whole = [(int(c) << 48) + int(f) for c, f in zip(coins, fresh, strict=True)]
    for w, (low, high), r in zip(whole, exact, refused.tolist(), strict=True):
        assert (w >= high and r) or (w < low and not r) or low <= w < high
    assert torch.equal(values, (blocks << tables.r) + places)
    assert 0 < int(refused.sum()) < 2000


def test_near_exp_is_near() -> None:
    x = torch.linspace(0, 70, 100_001, dtype=torch.float64)
    near = Tables(SIGMAS[0], "cpu").near_exp(x).numpy()
    assert np.abs(near - np.exp(-x.numpy())).max() < MARGIN / 2


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [100, 1 << 20])
def test_draws_fit_the_law(sigma: int) -> None:
    """Twelve deviations of chi-square, as for the plain sampler: a false alarm below 1e-6; and a twin."""
    draws = TensorNormal(Fraction(sigma) ** 2).draw(40_000).numpy()
    assert distance(draws, sigma) < 12
    assert distance(draws + sigma // 8, sigma) > 12


def test_it_agrees_with_the_plain_sampler() -> None:
    """Means of squares of 50,000 draws each: within 7 deviations."""
    one = TensorNormal(Fraction(1 << 50)).draw(50_000).double().square().mean() / (1 << 50)
    other = (floored_normal(Fraction(1 << 50), 50_000, SystemBits()).astype(float) ** 2).mean() / (1 << 50)
    assert abs(float(one) - other) < 7 * math.sqrt(2 * 2 / 50_000)


def test_scales_that_do_not_fit() -> None:
    for sigma_squared in (Fraction(4), Fraction(1 << 100)):
        with pytest.raises(BadParameter):
            TensorNormal(sigma_squared)


def test_a_size_beyond_the_usual_is_refused_by_its_coin_and_no_other_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit by bit: the coin is thrown for a size that was kept and lies beyond; where it refuses, another is drawn."""
    tables = copy(Tables(SIGMAS[1], "cpu"))
    cell = int((tables.index >= 0).nonzero()[1000])
    word, size = cell << 48, int(tables.index[cell]) << tables.r
    thrown: list[int] = []
    verdicts: list[bool] = []

    def refuse(_: Fraction, k: int, rate: int, __: object) -> bool:
        thrown.append(k)
        assert rate == 0
        return verdicts[-1]

    monkeypatch.setattr(tensor_normal, "refused", refuse)
    monkeypatch.setattr(tensor_normal, "floored_normal", lambda *_: np.array([-77]))
    for usual, verdict, expected, coins in (
        (size, True, size, []),
        (size - 1, False, size, [size]),
        (size - 1, True, -77, [size]),
    ):
        tables.usual = usual
        verdicts.append(verdict)
        thrown.clear()
        assert settle_one(tables, word, 0, 0, SystemBits()) == expected
        assert thrown == coins
    thrown.clear()  # not kept: there is nothing to refuse
    last = word | (0xFFFF << 32) | ((1 << tables.r) - 1)
    assert settle_one(tables, last, 0, (1 << 48) - 1, SystemBits()) == -77
    assert thrown == []
