"""The 32-bit sampler: every cell of its guide, both stages against exact arithmetic, what replaces refused draws."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BeyondRange
from discreet.exact import exp_fixed
from discreet.noise import short_normal as module
from discreet.noise.short_normal import ShortNormal, finer, fits
from tests.noise.test_floored_normal import distance

SIGMAS = [Fraction(8) ** 2, Fraction(127 * 16383) ** 2, Fraction(12345, 7) ** 2]
COIN = 1 << 11


class Listed:
    """A source that hands out what it was given, call by call."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = list(parts)

    def bytes(self, count: int) -> bytes:
        part = self.parts.pop(0)
        assert len(part) == count
        return part

    def bits(self, count: int) -> int:
        raise NotImplementedError

    def below(self, n: int) -> int:
        raise NotImplementedError


@pytest.mark.parametrize("sigma_squared", SIGMAS)
def test_every_cell_of_the_guide_is_certified(sigma_squared: Fraction) -> None:
    """All 2^16 cells: a decided cell lies between two thresholds, its block is usual, and its sure coin is below every
    true one.
    """
    sampler = ShortNormal(sigma_squared)
    law, r = sampler._law, sampler._r
    assert 11 <= r <= 20
    low, high = law.thresholds(64)
    sure_of: dict[int, int] = {}
    for cell, entry in enumerate(sampler._guide.tolist()):
        block, sure = entry >> r, entry & (COIN - 1)
        if sure == 0:
            assert entry == 0
            continue
        assert block == 0 or high[block - 1] <= cell << 48
        assert ((cell + 1) << 48) - 1 < low[block]
        assert sure_of.setdefault(block, sure) == sure
        assert ((block + 1) << r) ** 2 < 36 * law.sigma_squared
        assert entry & ((1 << r) - 1) == sure
    assert sum(entry > 0 for entry in sampler._guide.tolist()) > 65_000
    for block, sure in sure_of.items():
        top, bottom = law.exponent(block, 0, (1 << r) - 1)
        assert sure << 53 <= exp_fixed(-Fraction(top, bottom), 64)[0]


def proposed(sampler: ShortNormal, cells: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values, and which stay open, of draws with these bits."""
    made = np.zeros(len(cells), dtype=np.int32)
    sampler._bits = Listed(cells.astype(np.uint16).tobytes() + low.astype(np.uint32).tobytes())
    places, their_cells, their_low = sampler._propose(made)
    assert np.array_equal(their_cells, cells[places])
    assert np.array_equal(their_low, low[places])
    return made, np.isin(np.arange(len(made)), places)


def test_the_fast_stage_on_every_cell_and_both_edges_of_its_coin() -> None:
    sampler = ShortNormal(SIGMAS[1])
    r, cells = sampler._r, np.arange(1 << 16)
    guide = sampler._guide.astype(np.int64)
    sure = guide & (COIN - 1)
    for coin in (np.maximum(sure - 1, 0), sure, np.zeros_like(sure)):
        for place, sign in ((0, 0), ((1 << r) - 1, 1), (12345, 0), (54321, 1)):
            values, open_ = proposed(sampler, cells, coin << 21 | sign << r | place)
            assert np.array_equal(open_, coin >= sure)
            inside = sure ^ (((1 << r) - 1 - place) if sign else place)
            size = (guide - sure) + inside
            assert np.array_equal(values, -1 - size if sign else size)


def test_every_place_of_a_block_is_met_once() -> None:
    """All places and signs of a cell of each of three blocks."""
    sampler = ShortNormal(SIGMAS[0])
    r = sampler._r
    for cell in (0, 30_000, 60_000):
        block = int(sampler._guide[cell]) >> r
        low = np.arange(1 << (r + 1))
        values, open_ = proposed(sampler, np.full(len(low), cell), low)
        sizes = np.arange(block << r, (block + 1) << r)
        assert not open_.any()
        assert sorted(values.tolist()) == sorted([*sizes.tolist(), *(-1 - sizes).tolist()])


def test_open_draws_are_settled_as_exact_arithmetic_says() -> None:
    """2000 draws with coins near their true probability, and 500 of undecided cells."""
    sampler = ShortNormal(SIGMAS[1])
    law, r = sampler._law, sampler._r
    rng = np.random.default_rng(0)
    guide = sampler._table.guide
    cells = np.concatenate([rng.choice(np.flatnonzero(guide >= 0), 2000), rng.choice(np.flatnonzero(guide < 0), 500)])
    places, signs = rng.integers(0, 1 << r, 2500), rng.integers(0, 2, 2500)
    more = rng.integers(0, 1 << 64, 500 + 2500, dtype=np.uint64)
    low, high = law.thresholds(64)
    blocks = guide[cells].astype(np.int64)
    for i in range(500):
        word = (int(cells[2000 + i]) << 48) | (int(more[i]) >> 16)
        blocks[2000 + i] = sum(h <= word for h in high)
        assert word < low[blocks[2000 + i]]
    exact = [exp_fixed(-Fraction(*law.exponent(int(b), 0, int(p))), 64) for b, p in zip(blocks, places, strict=True)]
    near = [
        min(COIN - 1, max(0, (a >> 53) + int(d))) for (a, _), d in zip(exact, rng.integers(-1, 2, 2500), strict=True)
    ]
    drawn = (np.array(near) << 21 | signs << r | places).astype(np.uint32)
    sampler._bits = Listed(more.tobytes())
    made = np.zeros(2500, dtype=np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "refused_places", lambda *_, **__: [7])
        refused = sampler._settle(made, np.arange(2500), cells.astype(np.uint16), drawn).tolist()
    assert refused.pop() == 7
    for i, (a, b) in enumerate(exact):
        coin = near[i] << 53 | int(more[500 + i]) >> 11
        assert (coin >= b and i in refused) or (coin < a and i not in refused) or a <= coin < b
    size = blocks << r | places
    assert np.array_equal(made, np.where(signs == 1, -1 - size, size))
    assert 500 < len(refused) < 2000


def test_refused_draws_are_replaced_by_spare_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = ShortNormal(Fraction(1 << 50))
    assert sampler._finer == 0

    def numbered(made: np.ndarray) -> tuple[()]:
        made[:] = np.arange(len(made))
        return ()

    monkeypatch.setattr(sampler, "_propose", numbered)
    for refused, expected in (
        ([], list(range(10))),
        ([2, 9, 11], [0, 1, 10, 3, 4, 5, 6, 7, 8, 12]),
        ([2, 2], [0, 1, 11, *range(3, 10)]),
    ):
        monkeypatch.setattr(sampler, "_settle", lambda made, refused=refused: np.array(refused, dtype=np.intp))
        assert sampler.draw(10).tolist() == expected
    calls = iter([np.arange(1, 74), np.array([], dtype=np.intp)])  # all spare ones are refused: new draws
    monkeypatch.setattr(sampler, "_settle", lambda made: next(calls))
    assert sampler.draw(10).tolist() == [0, *range(9)]


@pytest.mark.parametrize("sigma", [100, 127 * 16383])
def test_draws_fit_the_law(sigma: int) -> None:
    """Twelve deviations of chi-square, as for the plain sampler: a false alarm below 1e-6; and a twin."""
    draws = ShortNormal(Fraction(sigma) ** 2).draw(40_000)
    assert distance(draws, sigma) < 12
    assert distance(draws + sigma // 8, sigma) > 12


def test_which_scales_fit_and_what_is_beyond_the_range() -> None:
    for sigma, exponent, good in (
        (1, 14, False),
        (4, 14, True),
        (1 << 20, 5, True),
        ((1 << 26) - 1, 0, True),
        (1 << 26, 0, False),
    ):
        assert finer(Fraction(sigma) ** 2) == exponent
        assert fits(Fraction(sigma) ** 2) == good
    sampler = ShortNormal(Fraction(1 << 42))
    assert np.abs(sampler.draw(1000)).max() < sampler.most
    sampler._table = type(
        "Far", (), {"guide": sampler._table.guide * 0 - 1, "indices_from": lambda self, *_: 1 << 12}
    )()
    with pytest.raises(BeyondRange):
        sampler.draw(1000)
