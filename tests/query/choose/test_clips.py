"""An ascent keeps its price on every pair of small neighbouring tables, exactly; and finds a clip that few exceed."""

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest

from discreet.mechanisms.base.laplace_law import ONE, exp_bounds
from discreet.privacy.numerics.interval import Interval
from discreet.query.choose.classes import ladder
from discreet.query.choose.clips import Ascent, ascent, longer_units, noisy_units
from discreet.query.plan.work import Exact
from discreet.randomness import SystemBits

EDGES = (1, 2, 4)
LENGTHS = (1, 2, 3, 9)


def longer(lengths: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sum(length > edge for length in lengths) for edge in EDGES)


def tables(units: int) -> list[tuple[int, ...]]:
    return [lengths for many in range(units + 1) for lengths in combinations_with_replacement(LENGTHS, many)]


def neighbours(units: int) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Numbers of longer units that one unit more, less, or of another length makes."""
    found = set()
    for lengths in tables(units - 1):
        ways = [longer(lengths), *(longer((*lengths, more)) for more in LENGTHS)]
        found |= {(a, b) for a in ways for b in ways if a != b}
    return found


def tail(scale: Fraction, k: int) -> Interval:
    """P[Z >= k] of one-sided geometric noise."""
    return exp_bounds(-max(k, 0) / scale)


def law(climb: Ascent, counts: tuple[int, ...]) -> dict[int, tuple[Fraction, Fraction]]:
    """Bounds of the chance of each step on which it ends; the last also if it ends on none."""
    ahead, at_each = climb.scales
    reach = int(80 * ahead) + climb.beyond
    ends = [Interval.of(Fraction(0))] * len(counts)
    for z in range(reach):
        open_ = tail(ahead, z).minus(tail(ahead, z + 1))
        for step, many in enumerate(counts):
            yes = tail(at_each, z - climb.beyond + many)
            ends[step] += open_ if step == len(counts) - 1 else open_ * yes
            open_ *= ONE.minus(yes)
    rest = tail(ahead, reach).upper
    return {step: (chance.lower, chance.upper + rest) for step, chance in enumerate(ends)}


def worst(climb: Ascent, epsilon: Fraction) -> Fraction:
    """By how much a chance is beyond e^ε times the neighbour's, at most: above 0 refutes the price."""
    most = exp_bounds(epsilon).upper
    laws = {counts: law(climb, counts) for pair in neighbours(3) for counts in pair}
    return max(
        laws[a][step][0] - most * laws[b][step][1] for a, b in neighbours(3) for step in laws[a]
    )  # fmt: skip


@pytest.mark.parametrize(("epsilon", "beyond"), [("1/2", 0), ("1/2", 1), ("1", 2)])
def test_no_pair_of_small_tables_refutes_the_price(epsilon: str, beyond: int) -> None:
    climb = Ascent(Fraction(epsilon), beyond)
    assert sum(1 / scale for scale in climb.scales) == Fraction(epsilon)
    assert worst(climb, Fraction(epsilon)) <= 0


def test_an_ascent_with_a_fourth_of_the_noise_is_caught() -> None:
    assert worst(Ascent(Fraction(2), 1), Fraction(1, 2)) > 0


def test_it_ends_as_often_as_its_law_says() -> None:
    """4,000 runs on a table; each step within 7 deviations of what the law says: a false alarm below 1e-10."""
    climb, counts, runs = Ascent(Fraction(1, 2), 3), (9, 4, 1), 4000
    ends = [climb(counts, SystemBits()) for _ in range(runs)]
    for step, (low, high) in law(climb, counts).items():
        assert high - low < 1e-12
        assert abs(ends.count(step) - runs * float(low)) < 7 * (runs * float(low * (1 - low))) ** 0.5


def test_units_are_counted_by_the_edges_that_they_exceed() -> None:
    """Against a count by hand, for every small table; classes of other totals do not matter."""
    for lengths in tables(3):
        classes = [sum(edge < length for edge in EDGES) for length in lengths]
        keys = tuple((1, number) for number in sorted(set(classes)))
        many = np.array([classes.count(number) for _, number in keys], dtype=np.int64)
        other = Exact(((0, 0), *keys), (np.concatenate([[99], many]).astype(np.int64),))
        assert longer_units(other, 1, len(EDGES)) == (len(lengths), list(longer(lengths)))


@pytest.mark.parametrize("units", [2_000, 40_000])
def test_about_as_many_units_exceed_the_clip_as_is_best(units: int) -> None:
    """20 ascents over Pareto lengths: all but one within a factor of 4 of the target. A false alarm takes two ascents
    whose noise is beyond 8 deviations: below 1e-6.
    """
    edges = ladder()
    lengths = np.floor(np.arange(1, units + 1) ** -0.6 * units**0.6)
    above = [int((lengths > edge).sum()) for edge in edges]
    climb = ascent(Fraction(1, 10), 1.0, 24.0)
    found = sorted(above[climb(above, SystemBits())] for _ in range(20))
    assert sum(climb.beyond / 4 - 60 <= many <= climb.beyond + 120 for many in found) >= 18
    assert all(a >= b for a, b in pairwise(above))


def test_the_number_of_units_has_noise_of_its_own() -> None:
    drawn = {noisy_units(100, Fraction(1, 10), SystemBits()) for _ in range(50)}
    assert len(drawn) > 5
    assert all(abs(many - 100) < 500 for many in drawn)  # beyond: e^-50


def exactly(counts: tuple[int, ...], beyond: int, kept: Fraction, passed: Fraction) -> list[Fraction]:
    """The law of an ascent in rationals, e^(-1/b) of its two noises being ``kept`` and ``passed``.

    From z = beyond on all margins are at least 0, so chances are polynomials in passed^z: geometric series.
    """
    last, ends = len(counts) - 1, [Fraction(0)] * len(counts)
    for z in range(beyond):
        open_ = (1 - kept) * kept**z
        for step, many in enumerate(counts[:-1]):
            yes = passed ** max(z - beyond + many, 0)
            ends[step] += open_ * yes
            open_ *= 1 - yes
        ends[last] += open_
    paths = {0: (1 - kept) * kept**beyond}  # by the power of passed^(z - beyond)
    for step, many in enumerate(counts[:-1]):
        stopped = {power + 1: weight * passed**many for power, weight in paths.items()}
        ends[step] += sum(weight / (1 - kept * passed**power) for power, weight in stopped.items())
        paths = {p: paths.get(p, Fraction(0)) - stopped.get(p, Fraction(0)) for p in {*paths, *stopped}}
    ends[last] += sum(weight / (1 - kept * passed**power) for power, weight in paths.items())
    assert sum(ends) == 1
    return ends


@pytest.mark.parametrize("moves", [(0, 1), (-1, 0, 1)])
def test_the_price_in_rationals(moves: tuple[int, ...]) -> None:
    """All numbers below 4 on three steps, in both directions of neighbours. Answers that move both ways refute it."""
    kept, passed, beyond = Fraction(3, 4), Fraction(4, 5), 2
    most, worst = 1 / (kept * passed), Fraction(0)
    for counts in product(range(4), repeat=3):
        own = exactly(counts, beyond, kept, passed)
        for moved in product(moves, repeat=3):
            near = tuple(many + move for many, move in zip(counts, moved, strict=True))
            if min(near) < 0:
                continue
            both = list(zip(own, exactly(near, beyond, kept, passed), strict=True))
            assert all((a > 0) == (b > 0) for a, b in both)
            worst = max(worst, *(max(a / b, b / a) for a, b in both if a))
    assert (worst <= most) == (moves == (0, 1))
