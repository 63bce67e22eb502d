"""The block sampler: one round bit by bit, the fast path at every guide cell, the slow path at every guide cell, forced
ambiguity, and laws with the table's end and the coin's refusals made common enough to be seen."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import BeyondRange
from discreet.noise import blocks as blocks_module
from discreet.noise import coin as coin_module
from discreet.noise import table as table_module
from discreet.noise.blocks import CHUNK, Blocks, block_bits
from discreet.noise.gaussian import GaussianLaw
from discreet.noise.laplace import LaplaceLaw
from discreet.noise.lazy import count_below, is_below
from discreet.noise.table import Table
from discreet.randomness import Bits, SystemBits, exact_law
from tests.helpers.branches import assert_branch_law, branch_law, coin
from tests.helpers.extent import AUDIT
from tests.helpers.gates import distance_from
from tests.helpers.tapes import Tape, counted
from tests.helpers.truth import (
    BlockTruth,
    Pmf,
    Spread,
    assert_law,
    ball,
    exp_minus,
    gaussian_blocks,
    gaussian_pmf,
    gaussian_spread,
    geometric_pmf,
    geometric_spread,
    laplace_blocks,
    laplace_pmf,
    laplace_spread,
    precise,
    whole,
)


class Cached:
    """A law that remembers its thresholds: walking all paths asks for the same few precisions again and again."""

    def __init__(self, law: Any) -> None:
        self._law = law
        self.thresholds = lru_cache(maxsize=None)(law.thresholds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._law, name)


def law_of(kind: str, parameter: str, *, r: int | None = None, wrap: int | None = None) -> Any:
    """A law; with r and wrap forced, its blocks are wide and its table ends early."""
    value = Fraction(parameter)
    law: Any = GaussianLaw(value) if kind == "gaussian" else LaplaceLaw(value, one_sided=kind == "geometric")
    if r is not None:
        law.r = r
    if wrap is not None:
        law.wrap = wrap
    return law


def truth_of(law: Any) -> BlockTruth:
    return gaussian_blocks(law) if isinstance(law, GaussianLaw) else laplace_blocks(law)


def pmf_of(law: Any) -> Pmf:
    if isinstance(law, GaussianLaw):
        return gaussian_pmf(law.sigma_squared)
    return (geometric_pmf if law.one_sided else laplace_pmf)(law.scale)


def spread_of(law: Any) -> Spread:
    if isinstance(law, GaussianLaw):
        return gaussian_spread(law.sigma_squared)
    return (geometric_spread if law.one_sided else laplace_spread)(law.scale)


Made = tuple[str, str, int | None, int | None]
"""Kind, parameter, and r and wrap if they are forced."""


@cache
def made_of(made: Made) -> tuple[Any, BlockTruth]:
    kind, parameter, r, wrap = made
    law = law_of(kind, parameter, r=r, wrap=wrap)
    return law, truth_of(law)


ROUNDS: list[Made] = [
    ("laplace", "100", None, None),
    ("geometric", "100", None, None),
    ("gaussian", "22500", None, None),
    ("laplace", "3", 2, 2),
    ("laplace", "7/2", 1, 1),
    ("geometric", "3", 2, 2),
    ("gaussian", "9", 1, None),
    ("gaussian", "37/2", 2, None),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("made", ROUNDS, ids=str)
def test_one_round_of_a_draw_has_the_law(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every bit path of one round. The coin is noted and lands heads; it is tested by itself in test_coin.py.

    A round gives x with probability P(block) 2^-r and keeps it with exp(-delta): the product must be the law, times
    one constant.
    """
    law, truth = made_of(made)
    pmf = pmf_of(law)
    noted: list[Fraction] = []

    def heads(top: int, bottom: int, bits: Bits) -> bool:
        noted.append(Fraction(top, bottom))
        return True

    monkeypatch.setattr(blocks_module, "flip_exp", heads)
    sampler = Blocks(Cached(law), guide_bits=4, word_bits=8, step=4)
    found, undecided = exact_law(lambda bits: (sampler.draw(bits), noted.pop()), depth=20)
    m = 1 << law.r
    block: dict[int, Fraction] = {}
    for (x, delta), mass in found.items():
        g, place = x >> law.r, x & m - 1
        j = g if law.one_sided else 2 * g if g >= 0 else 2 * (-1 - g) + 1
        assert delta == truth.delta(j, m - 1 - place if g < 0 else place)
        block[x] = mass
    with precise():
        constant = None
        expected = {}
        for x in block:
            g = x >> law.r
            start = (g << law.r) if g >= 0 else -(g << law.r) - m + 1
            weight = exp_minus(truth.phi(abs(start)))
            ratio = weight * exp_minus(truth.phi(abs(x)) - truth.phi(abs(start))) / pmf(x)
            constant = constant if constant is not None else ratio
            assert abs(ratio - constant) < 1e-60
            expected[x] = weight
        total = sum((exp_minus(truth.phi(truth.start(j))) for j in range(4000)), ball(0)) * m
        assert_law(block, undecided, {x: w / total for x, w in expected.items()})


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [
        ("laplace", "3", 2, 2), ("laplace", "7/2", 1, 1), ("geometric", "3", 2, 1), ("gaussian", "9", 1, None),
        ("laplace", "1", None, None), ("gaussian", "1", None, None), ("laplace", "1/3", None, 1),
    ],
    ids=str,
)  # fmt: skip
def test_whole_draws_have_the_law(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rounds, refusals and steps beyond the table included, until a branch is lighter than 2^-20. The table and the
    coin are single branchings here: they are tested by themselves."""
    law, truth = made_of(made)
    monkeypatch.setattr(blocks_module, "flip_exp", coin)
    monkeypatch.setattr(Table, "index", lambda _, bits: bits.weighted(truth.probabilities))
    found, undecided = branch_law(Blocks(law).draw, least=2.0**-20)
    pmf = pmf_of(law)
    reach = max(abs(x) for x in found) + 5
    assert_branch_law(found, undecided, {x: pmf(x) for x in range(0 if law.one_sided else -reach, reach)})
    assert undecided < 0.04


def test_a_forgotten_coin_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted twin of the two tests above."""
    law = law_of("laplace", "3", r=2, wrap=2)
    truth = truth_of(law)
    monkeypatch.setattr(blocks_module, "flip_exp", lambda *_: True)
    monkeypatch.setattr(Table, "index", lambda _, bits: bits.weighted(truth.probabilities))
    found, undecided = branch_law(Blocks(law).draw, least=2.0**-15)
    with pytest.raises(AssertionError, match="outcome"):
        assert_branch_law(found, undecided, {x: pmf_of(law)(x) for x in range(-60, 60)})


# --- vectors: the fast path at every guide cell -------------------------------------------------------------------

VECTORS: list[Made] = [
    ("laplace", "64", None, None),
    ("laplace", "1000", None, None),
    ("laplace", "1e6", None, None),
    ("laplace", "274877906943", None, None),  # the last scale with r = 32
    ("laplace", "274877906944", None, None),  # the first with r = 33
    ("laplace", "1e12", None, None),
    ("laplace", str(1 << 54), None, None),
    ("laplace", "64", 8, 1),
    ("geometric", "1000", None, None),
    ("gaussian", "22500", None, None),
    ("gaussian", "1e12", None, None),
    ("gaussian", "1e24", None, None),
    ("gaussian", str(1 << 108), None, None),
    ("gaussian", "100", 4, None),
]  # fmt: skip
OPEN = -(1 << 62)  # marks what the fast path left open


class FastOnly(Blocks):
    """Stops where the slow path would begin."""

    def _slow(self, word: NDArray[np.uint64], place: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
        return np.full(len(word), OPEN, dtype=np.int64)


def chunked(r: int, words: NDArray[np.uint64], places: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """The stream that holds these guide and coin bits, and these places: in the word, or in a word behind."""
    if r <= 32:
        return [words | places]
    parts: list[NDArray[np.uint64]] = []
    for start in range(0, len(words), CHUNK):
        parts += [words[start : start + CHUNK], places[start : start + CHUNK]]
    return parts


def fast_answers(sampler: Blocks, r: int, coin16: NDArray[np.uint64], place: int) -> NDArray[np.int64]:
    cells = np.arange(1 << 16, dtype=np.uint64)
    words = cells << np.uint64(48) | coin16 << np.uint64(32)
    places = np.full(1 << 16, place, dtype=np.uint64)
    if r > 32:  # what lies above the place, and below it in the first word, must not matter
        places |= np.uint64(0xAAAA << r & (1 << 64) - 1)
        words |= np.uint64(0x5A5A5A5A)
    elif r < 32:
        words |= np.uint64(0xFFFFFFFF >> r << r)
    return sampler.sample(1 << 16, Tape(*chunked(r, words, places)))


@pytest.mark.slow
@pytest.mark.parametrize("made", VECTORS, ids=str)
def test_the_fast_path_accepts_only_what_is_certain(made: Made) -> None:
    """All 65,536 guide cells, coins at the critical values, places at both ends and between. Accepted at once must
    mean: one block for the whole cell, the right one, and a coin that lands heads however it goes on."""
    law, truth = made_of(made)
    r = law.r
    sampler = FastOnly(law)
    start = np.array([truth.index_at_start(cell, 16) for cell in range(1 << 16)])
    end = np.array([truth.index_at_end(cell, 16) for cell in range(1 << 16)])
    if law.wrap is None:
        end[-1] += 1
    else:
        end[start == truth.count] += 1  # beyond the table nothing may be accepted at once
    g = np.array([truth.g(j) for j in range(int(start.max()) + 1)], dtype=np.int64)
    a16 = (sampler._guide & 0xFFFF).astype(np.int64)
    accepted: int | np.signedinteger[Any] = 0
    for place in {0, (1 << r) // 2, (1 << r) - 1}:
        sure = np.array(
            [
                whole(exp_minus(truth.delta(j, (1 << r) - 1 - place if truth.g(j) < 0 else place)), 16)
                for j in range(len(g))
            ]
        )
        for coin16 in (a16 - 1, a16, a16 + 1, np.zeros_like(a16), np.full_like(a16, 65535)):
            coins = np.clip(coin16, 0, 65535)
            value = fast_answers(sampler, r, coins.astype(np.uint64), place)
            sure_cells = value != OPEN
            assert (start == end)[sure_cells].all()
            assert (value == (g[start] << r) + place)[sure_cells].all()
            assert (coins + 1 <= sure[start])[sure_cells].all()
            accepted += np.count_nonzero(sure_cells)
    # not vacuous: with coins just below the mark every decided cell is accepted (else the speed is gone)
    value = fast_answers(sampler, r, np.clip(a16 - 1, 0, 65535).astype(np.uint64), 0)
    decided = (start == end) & (sure[start] > 1)
    assert np.count_nonzero(value[decided] != OPEN) >= 0.98 * np.count_nonzero(decided)
    assert accepted


@pytest.mark.slow
def test_a_mark_one_too_high_is_caught() -> None:
    """The planted twin: a guide whose coins are rounded up, not down."""
    law = law_of("laplace", "1000")
    truth, r = truth_of(law), law.r
    sampler = FastOnly(law)
    sampler._guide = np.where(sampler._guide & 0xFFFF, sampler._guide + 1, sampler._guide).astype(np.int32)
    a16 = (sampler._guide & 0xFFFF).astype(np.int64)
    last = (1 << r) - 1
    value = fast_answers(sampler, r, np.clip(a16 - 1, 0, 65535).astype(np.uint64), last)
    cells = np.flatnonzero((value != OPEN) & (value >= 0))
    sure = [whole(exp_minus(truth.delta(truth.index_at_start(int(c), 16), last)), 16) for c in cells[:100]]
    assert any(a16[c] > s for c, s in zip(cells[:100], sure, strict=True))


# --- vectors: the slow path at every guide cell -------------------------------------------------------------------


FILLS = (0x00, 0x5A, 0xF0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "fill"), [(made, fill) for n, made in enumerate(VECTORS) for fill in (FILLS if AUDIT else [FILLS[n % 3]])]
)
def test_the_slow_path_goes_on_with_the_same_bits(made: Made, fill: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every guide cell with a coin that no cell accepts at once. What the slow path draws is always the byte ``fill``,
    so the whole uniform of each block index is known, and so is the coin's: both must begin with the word's bits."""
    law, truth = made_of(made)
    r = law.r
    seen: dict[str, Any] = {"near": [], "first": [], "exact": []}

    def heads(near: NDArray[np.float64], exact: Callable[[int], tuple[int, int]], bits: Bits, **named: Any) -> Any:
        seen["near"].append(near.copy())
        seen["first"].append(named["first"])
        seen["exact"].append(exact)
        return np.ones(len(near), dtype=np.bool_)

    monkeypatch.setattr(blocks_module, "flips_exp", heads)
    sampler = Blocks(law)
    place = (1 << r) // 3
    cells = np.arange(1 << 16, dtype=np.uint64)
    words = cells << np.uint64(48) | np.uint64(0xFFFF) << np.uint64(32)
    places = np.full(1 << 16, place, dtype=np.uint64)
    value = np.empty(0, dtype=np.int64)
    for start in range(0, 1 << 16, CHUNK):  # one chunk a call, so that nothing stands between it and the fill
        part = slice(start, start + CHUNK)
        value = np.append(value, sampler.sample(CHUNK, Tape(*chunked(r, words[part], places[part]), then=fill)))
    near, first = np.concatenate(seen["near"]), np.concatenate(seen["first"])
    assert len(near) == 1 << 16  # all were settled, in order
    assert (first >> np.uint64(48) == 0xFFFF).all()
    assert (first & np.uint64((1 << 48) - 1) == int.from_bytes(bytes([fill] * 6), "big")).all()

    def index(word16: int) -> int:
        return truth.index_at_start(word16 << 48 | int.from_bytes(bytes([fill] * 6), "big"), 64)

    again = index(fill << 8 | fill)  # what a draw beyond the table draws next
    assert again != truth.count
    for cell in range(1 << 16):
        j, away = index(cell), 0
        if j == truth.count:
            j, away = again, law.wrap
        h, negative = truth.split(j)
        low = (1 << r) - 1 - place if negative else place
        size = ((h + away) << r) + low
        assert value[cell] == (-1 - size if negative else size)
        if cell % 257 == 0 or cell > 65500:
            delta = truth.delta(j, low)
            top, bottom = seen["exact"][cell // CHUNK](cell % CHUNK)
            assert Fraction(top, bottom) == delta
            assert abs(Fraction(near[cell].item()) - delta) <= delta / (1 << 48)


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [("laplace", "10", None, None), ("laplace", "1", None, 1), ("gaussian", "9", None, None),
     ("geometric", "1/3", None, None)],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("fill", [0x00, 0x5A, 0x9E])
def test_small_scales_read_the_whole_guide_right(made: Made, fill: int) -> None:
    """r = 0: two bytes a draw; all of them, with what they leave open filled in."""
    law, truth = made_of(made)
    sampler = Blocks(law)
    cells = np.arange(1 << 16, dtype=np.uint16)
    value = np.concatenate([sampler.sample(CHUNK, Tape(part, then=fill)) for part in np.split(cells, 2)])

    def index(word16: int) -> int:
        return truth.index_at_start(word16 << 48 | int.from_bytes(bytes([fill] * 6), "big"), 64)

    again = index(fill << 8 | fill)
    assert again != truth.count
    expected = []
    for cell in range(1 << 16):
        j, away = index(cell), 0
        while j == truth.count:
            j, away = again, away + law.wrap
        h, negative = truth.split(j)
        expected.append(-1 - h - away if negative else h + away)
    assert value.tolist() == expected


def test_a_draw_beyond_64_bits_raises_and_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    law = law_of("laplace", str(1 << 54))
    sampler = Blocks(law)
    monkeypatch.setattr(Blocks, "_indices", lambda self, cell, bits: np.full(len(cell), self._beyond))
    with pytest.raises(BeyondRange):  # a source that says "beyond" for ever
        sampler.sample(4, Tape(then=0xFF))


# --- statistics ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [("laplace", "10", None, None), ("laplace", "1000", None, None), ("geometric", "1000", None, None),
     ("gaussian", "9", None, None), ("gaussian", "22500", None, None), ("gaussian", "1e12", None, None)],
    ids=str,
)  # fmt: skip
def test_forced_ambiguity_has_the_same_law(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """18-bit words and a margin of 2^-7 send thousands of draws to the certified paths. False alarm 1e-9."""
    law, _ = made_of(made)
    resolver, certified = counted(count_below), counted(is_below)
    monkeypatch.setattr(table_module, "count_below", resolver)
    monkeypatch.setattr(coin_module, "is_below", certified)
    draws = Blocks(Cached(law), word_bits=18, margin=2.0**-7).sample(300_000, SystemBits())
    assert distance_from(draws, spread_of(law)) < 1
    assert resolver.calls > (50 if law.r else 0)  # thousands of thresholds, or a few dozen
    assert certified.calls > (1000 if law.r else -1)


STRESSED: list[Made] = [
    ("laplace", "64", 8, 1),  # three of four draws are refused, and 1 in 55 lies beyond the table
    ("laplace", "64", 6, 1),
    ("laplace", "100", 4, 3),
    ("geometric", "64", 7, 2),
    ("gaussian", "10000", 7, None),
    ("laplace", "10", None, 2),  # r = 0: most draws lie beyond the table
]


def bins_of(law: Any) -> float:
    return 20 if law.r else 10


@pytest.mark.slow
@pytest.mark.parametrize("made", STRESSED, ids=str)
def test_stressed_laws_at_1e6(made: Made) -> None:
    """Wide blocks and short tables: refusals and steps beyond the table are common. False alarm 1e-9."""
    law, _ = made_of(made)
    draws = Blocks(law).sample(10**6, SystemBits())
    assert distance_from(draws, spread_of(law), bins=bins_of(law)) < 1


@pytest.mark.slow
@pytest.mark.parametrize("made", STRESSED, ids=str)
def test_stressed_laws_one_by_one(made: Made) -> None:
    """The scalar path. False alarm 1e-9."""
    law, _ = made_of(made)
    sampler, bits = Blocks(law), SystemBits()
    draws = np.array([sampler.draw(bits) for _ in range(30_000)])
    assert distance_from(draws, spread_of(law)) < 1


class AcceptedBeyond(Blocks):
    """The planted bug: beyond the table, a draw that was accepted elsewhere is moved out, so no coin refuses it."""

    def _settle(
        self,
        j: NDArray[np.int64],
        place: NDArray[np.int64] | None,
        coin: NDArray[np.uint64] | None,
        bits: Bits,
    ) -> NDArray[np.int64]:
        beyond = np.flatnonzero(j == self._beyond)
        inside = np.flatnonzero(j != self._beyond)
        value = np.empty(len(j), dtype=np.int64)
        some = None if place is None else place[inside]
        value[inside] = super()._settle(j[inside], some, None if coin is None else coin[inside], bits)
        if len(beyond):
            fresh = self.sample(len(beyond), bits)
            value[beyond] = fresh + np.where(fresh >= 0, self._wrap_by, -self._wrap_by)
        return value


class WrongEnd(LaplaceLaw):
    """The planted bug: for negative blocks the distance is taken from the wrong end."""

    __slots__ = ()

    def _turned(self, negative: Any, low: Any) -> Any:
        return np.where(negative == 1, (1 << self.r) - 1 - low, low)

    def exponent(self, h: int, negative: int, low: int) -> tuple[int, int]:
        return super().exponent(h, negative, int(self._turned(negative, low)))

    def exponents(
        self, h: NDArray[np.int64], negative: NDArray[np.int64], low: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        return super().exponents(h, negative, self._turned(negative, low))


@pytest.mark.slow
def test_moving_accepted_draws_beyond_the_table_is_caught() -> None:
    for made in STRESSED[:2]:
        law, _ = made_of(made)
        draws = AcceptedBeyond(law).sample(100_000, SystemBits())
        assert distance_from(draws, spread_of(law), bins=bins_of(law)) > 1


def test_the_wrong_end_of_negative_blocks_is_caught() -> None:
    law = WrongEnd(Fraction(64))
    law.r = 6
    assert distance_from(Blocks(law).sample(10**6, SystemBits()), laplace_spread(Fraction(64)), bins=20) > 1


@pytest.mark.slow
def test_a_coin_that_starts_afresh_is_caught() -> None:
    """The planted bug: the slow path draws a new coin instead of going on with the one that was looked at."""

    class Afresh(Blocks):
        def _slow(self, word: NDArray[np.uint64], place: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
            fresh = np.frombuffer(bits.bytes(8 * len(word)), dtype=np.uint64) & np.uint64(0xFFFF << 32)
            return super()._slow(word & ~np.uint64(0xFFFF << 32) | fresh, place, bits)

    law = law_of("laplace", "64", r=6)
    assert distance_from(Afresh(law).sample(10**6, SystemBits()), spread_of(law), bins=20) > 1


# --- small things -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
def test_sizes_around_a_chunk(size: int) -> None:
    for law in (law_of("laplace", "10"), law_of("laplace", "1000"), law_of("laplace", "1e12")):
        draws = Blocks(law).sample(size, SystemBits())
        assert draws.shape == (size,)
        assert draws.dtype == np.int64
        assert size < 1000 or len(set(draws.tolist())) > 20


def test_block_bits() -> None:
    for scale in [Fraction(1, 10**6), Fraction(63), Fraction(127, 2), Fraction(64), Fraction(127), Fraction(128),
                  Fraction(10**6), Fraction(1 << 54)]:  # fmt: skip
        r = block_bits(scale)
        assert (r == 0 and scale < 64) or (scale >= 64 and 32 <= scale / (1 << r) < 64)


@pytest.mark.parametrize("beyond", [False, True])
def test_the_first_block_beyond_the_range_is_refused(beyond: bool) -> None:
    """What the source of bits may bring only if it is broken: nothing wraps."""
    blocks = Blocks(GaussianLaw(Fraction(10**12)))
    first = blocks_module._RANGE >> blocks._r
    if beyond:
        with pytest.raises(BeyondRange):
            blocks._check_range(np.array([0, first]))
    else:
        blocks._check_range(np.array([0, first - 1]))
