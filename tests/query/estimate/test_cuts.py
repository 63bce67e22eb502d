"""What a clip takes: its price on every pair of small tables, and how often its interval holds what was taken."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import exp

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.query.choose.classes import ladder
from discreet.query.estimate.cuts import FURTHER, Cut, halves_taken, noisy_cut, tells
from discreet.query.estimate.prepare import Clip
from discreet.randomness import SystemBits

CHOSEN_CAPS = True
EDGES = (1, 2, 3, 4, 5, 6, 8, 10, 11, 13)
LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 14, 100)
LADDER = ladder()
STEPS = 120


def longer(lengths: Sequence[int], edges: Sequence[int] = EDGES) -> list[int]:
    return [sum(length > edge for length in lengths) for edge in edges]


def farthest(taken: Callable[[list[int], Sequence[int], int], int]) -> Fraction:
    """By how many times what is paid for two neighbours differ, at most: one unit more, less or changed."""
    worst = Fraction(0)
    for many in (0, 1, 2):
        for lengths in combinations_with_replacement(LENGTHS, many):
            for step in range(len(EDGES) - FURTHER):
                numbers = [taken(longer((*lengths, *more)), EDGES, step) for more in [(), *((x,) for x in LENGTHS)]]
                worst = max(worst, Fraction(max(numbers) - min(numbers), 2 * (EDGES[step + FURTHER] - EDGES[step])))
    return worst


def test_one_unit_moves_it_by_no_more_than_is_paid_for() -> None:
    assert farthest(halves_taken) == 1


def test_one_that_forgets_the_farthest_end_is_caught() -> None:
    def endless(numbers: list[int], edges: Sequence[int], step: int) -> int:
        return halves_taken(numbers, edges, step) + 2 * numbers[-1]

    assert farthest(endless) > 1


def test_it_is_the_sum_over_units() -> None:
    """Against a sum by hand: whole numbers are counted by the middle of their class."""
    for lengths in combinations_with_replacement(LENGTHS, 3):
        for step in range(len(EDGES) - FURTHER):
            clip, end, by_hand = EDGES[step], EDGES[step + FURTHER], Fraction(0)
            for length in lengths:
                low, high = next(((a, b) for a, b in pairwise((0, *EDGES)) if a < length <= b), (0, 0))
                middle = Fraction(low + 1 + high, 2) if length <= EDGES[-1] else Fraction(end)
                if length > clip:
                    by_hand += min(middle, Fraction(end)) - clip
            assert halves_taken(longer(lengths), EDGES, step) == 2 * by_hand


KINDS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "Pareto 1.2": lambda rng: np.ceil((1 - rng.random(3000)) ** (-1 / 1.2)),
    "lognormal": lambda rng: np.ceil(rng.lognormal(5, 1.5, 3000)),
    "even": lambda rng: rng.integers(1, 1001, 3000),
    "geometric": lambda rng: rng.geometric(1 / 40, 3000),
    "two sizes": lambda rng: np.where(rng.random(3000) < 0.1, 200, 5),
}


@pytest.mark.parametrize("kind", KINDS)
def test_its_interval_holds_what_was_taken(kind: str) -> None:
    """By the law of the noise, not by draws: where 150 units or so are longer, as many as an estimate is made for,
    intervals of 95 % hold the number itself, not that of the middles of classes, in at least 93 %.
    """
    lengths = KINDS[kind](np.random.default_rng(5)).astype(int)
    numbers = longer([int(x) for x in lengths], LADDER[:STEPS])
    epsilon = Fraction(6, 150)
    assert tells(150, epsilon)
    assert not tells(149, epsilon)
    steps = [s for s in range(STEPS - FURTHER) if 100 <= numbers[s] <= 400]
    for step in steps or [max(s for s in range(STEPS - FURTHER) if numbers[s] >= 100)]:
        clip, end = LADDER[step], LADDER[step + FURTHER]
        taken = int((np.minimum(lengths, end) - np.minimum(lengths, clip)).sum())
        scale = (end - clip) / float(epsilon)
        off, error = abs(halves_taken(numbers, LADDER, step) / 2 - taken) / scale, float(-np.log(0.05))
        misses = (exp(off - error) + exp(-off - error)) / 2
        assert misses <= 0.07, (clip, numbers[step], off)


def spread(scale: float) -> float:
    """How many of 2,000 draws miss by more than the error of 1 in 100."""
    numbers, bits, epsilon = longer([3, 9, 9, 40], LADDER[:40]), SystemBits(), Fraction(1, 3)
    exact = halves_taken(numbers, LADDER, 4) / 2
    cuts = [noisy_cut(numbers, LADDER[:40], 4, epsilon, bits) for _ in range(2000)]
    return float(np.mean([abs(cut.cells - exact) > scale * cut.scale * -np.log(0.01) for cut in cuts if cut]))


def test_its_noise_has_the_scale_that_it_says() -> None:
    """20 of 2,000 are expected; 60 and more are a false alarm with a chance below 1e-11, and a scale that is half of
    what it says gives 200.
    """
    assert 0 < spread(1.0) < 60 / 2000
    assert spread(0.5) > 60 / 2000


def test_the_end_of_the_ladder_and_empty_tables() -> None:
    assert noisy_cut([0] * 10, EDGES, 2, Fraction(1), SystemBits()) is None
    assert Cut(5.0, 1.0, 8).share_of(0.0) is None
    assert Cut(-50.0, 1.0, 8).share_of(100.0) == (0.0, 0.0, 0.0)


def test_an_answer_has_it() -> None:
    """Many groups of few people each: the estimate for rows is one of counts; the truth is near its interval."""
    rng = np.random.default_rng(2)
    sizes = np.ceil(rng.lognormal(1.5, 1.2, 6000)).astype(int)
    unit = np.repeat(np.arange(6000), sizes)
    group = rng.integers(0, 300, len(unit))
    rows = pa.table({"unit": unit, "g": group, "x": rng.integers(1, 5, len(unit))})
    session = dp.Session(t=dp.table(rows, unit="unit", columns={"g": dp.keys(range(300))}), budget=dp.Pure(100))
    answer = session.sql("SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g").release(epsilon=4)
    by_rows, by_totals = answer.clipped
    assert (by_rows.column, by_totals.column) == ("", "s")
    assert by_rows.too_low is not None
    assert by_totals.too_low is not None
    assert by_rows.one_sign
    assert not by_totals.one_sign, "nobody declared that x is not negative"
    for clip, lengths in (
        (by_rows, sizes),
        (by_totals, np.bincount(unit, weights=np.asarray(rows["x"]))),
    ):
        assert clip.reach is not None
        assert clip.too_low is not None
        whole = np.minimum(lengths, clip.reach).sum()
        taken = 1 - np.minimum(lengths, clip.limit).sum() / whole
        share, low, high = clip.too_low
        assert low <= share <= high
        assert abs(share - taken) < 5 * max(high - share, share - low), "a chance of e^-15"
        assert clip.note in answer.notes
    assert [clip.note.code for clip in answer.clipped] == ["rows_cut", "totals_cut_if_positive"]
    for clip in answer.clipped:
        assert Clip.read(json.loads(json.dumps(asdict(clip)))) == clip
    assert len(answer.plot("n").axes) == 2, "what is clipped is hatched beside the bars"
    few = session.sql("SELECT COUNT(*) AS n FROM t").release(epsilon=1)
    assert [clip.too_low for clip in few.clipped] == [None], "one total: it would tell nothing"
    assert len(few.plot().axes) == 1
