"""An ascent keeps its price on every pair of small neighbouring tables, exactly; and finds a clip that few exceed."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest

from discreet.mechanisms.base.laplace_law import ONE, exp_bounds
from discreet.privacy.numerics.interval import Interval
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.choose.classes import ladder
from discreet.query.choose.clips import Ascents, goal, longer_units, noisy_units
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


@cache
def tail(scale: Fraction, k: int) -> Interval:
    """P[Z >= k] of one-sided geometric noise."""
    return exp_bounds(-max(k, 0) / scale)


Ends = tuple[int, ...]
Counts = tuple[tuple[int, ...], ...]
"""Of each total: how many units are longer than each edge."""


def law(ascents: Ascents, counts: Counts) -> dict[Ends, tuple[Fraction, Fraction]]:
    """Bounds of the chance of each step on which each of them ends; the last also if it ends on none."""
    ahead, at_each = ascents.scales
    reach = int(80 * ahead) + max(ascents.beyond)
    steps = [range(len(numbers)) for numbers in counts]
    found = dict.fromkeys(product(*steps), Interval.of(Fraction(0)))
    for z in range(reach):
        drawn = tail(ahead, z).minus(tail(ahead, z + 1))
        alone = []
        for beyond, numbers in zip(ascents.beyond, counts, strict=True):
            open_, ends = ONE, list[Interval]()
            for many in numbers[:-1]:
                yes = tail(at_each, z - beyond + many)
                ends.append(open_ * yes)
                open_ *= ONE.minus(yes)
            alone.append([*ends, open_])
        for each in found:
            chance = drawn
            for own, end in zip(alone, each, strict=True):
                chance *= own[end]
            found[each] += chance
    rest = tail(ahead, reach).upper
    return {ends: (chance.lower, chance.upper + rest) for ends, chance in found.items()}


def worst(ascents: Ascents, epsilon: Fraction) -> Fraction:
    """By how much a chance is beyond e^ε times the neighbour's, at most: above 0 refutes the price."""
    most = exp_bounds(epsilon).upper
    laws = {counts: law(ascents, (counts,)) for pair in neighbours(3) for counts in pair}
    return max(
        laws[a][step][0] - most * laws[b][step][1] for a, b in neighbours(3) for step in laws[a]
    )  # fmt: skip


@pytest.mark.parametrize(("epsilon", "beyond"), [("1/2", 0), ("1/2", 1), ("1", 2)])
def test_no_pair_of_small_tables_refutes_the_price(epsilon: str, beyond: int) -> None:
    climb = Ascents(Fraction(epsilon), (beyond,), Neighbours.ADD_REMOVE)
    assert sum(1 / scale for scale in climb.scales) == Fraction(epsilon)
    assert worst(climb, Fraction(epsilon)) <= 0


def test_an_ascent_with_a_fourth_of_the_noise_is_caught() -> None:
    assert worst(Ascents(Fraction(2), (1,), Neighbours.ADD_REMOVE), Fraction(1, 2)) > 0


def test_they_end_as_often_as_their_law_says() -> None:
    """4,000 runs on two totals; each pair of steps within 7 deviations of what the law says: a false alarm below 1e-9.
    The law is not that of two that draw a threshold each.
    """
    climb, counts, runs = Ascents(Fraction(1), (3, 1), Neighbours.ADD_REMOVE), ((9, 4, 1), (4, 2, 0)), 4000
    ends = [climb(counts, SystemBits()) for _ in range(runs)]

    def far(laws: dict[Ends, tuple[Fraction, Fraction]]) -> bool:
        assert all(high - low < 1e-12 for low, high in laws.values())
        chances = {pair: float(low) for pair, (low, _) in laws.items()}
        return any(abs(ends.count(p) - runs * q) > 7 * (runs * q * (1 - q)) ** 0.5 + 1e-6 for p, q in chances.items())

    assert not far(law(climb, counts))
    alone = [
        law(Ascents(climb.epsilon * 7 / 10, (b,), climb.neighbours), (n,))
        for b, n in zip(climb.beyond, counts, strict=True)
    ]
    apart = {(*a, *b): (x[0] * y[0], x[1] * y[1]) for (a, x), (b, y) in product(*(one.items() for one in alone))}
    assert far(apart)


def ends_too_early(ascents: Ascents, longer: int, steps: int) -> float:
    """The chance of an end where so many units are longer than each of so many steps."""
    ahead, at_each = map(float, ascents.scales)
    thresholds = np.arange(int(60 * ahead))
    drawn = np.exp(-thresholds / ahead) * -np.expm1(-1 / ahead)
    passes = -np.expm1(-np.maximum(thresholds - ascents.beyond[0] + longer, 0) / at_each)
    return float(drawn @ (1 - passes**steps))


@pytest.mark.parametrize(("epsilon", "beyond"), [("1/10", 40), ("1/2", 3), ("3", 0)])
def test_no_more_units_are_longer_than_it_says(epsilon: str, beyond: int) -> None:
    """By its law, where the chance is largest: as many on every step. A third of the margin would not do."""
    climb = Ascents(Fraction(epsilon), (beyond,), Neighbours.ADD_REMOVE)
    most = climb.at_most(0, 478)
    assert 0.003 < ends_too_early(climb, most + 1, 478) < 0.05
    assert ends_too_early(climb, beyond + (most - beyond) // 3, 478) > 0.5


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
    beyond = goal(Fraction(1, 10), 1.0, 24.0).beyond
    climb = Ascents(Fraction(1, 10), (beyond,), Neighbours.ADD_REMOVE)
    found = sorted(above[climb([above], SystemBits())[0]] for _ in range(20))
    assert sum(beyond / 4 - 60 <= many <= beyond + 120 for many in found) >= 18
    assert all(a >= b for a, b in pairwise(above))


def test_the_number_of_units_has_noise_of_its_own() -> None:
    drawn = {noisy_units(100, Fraction(1, 10), SystemBits()) for _ in range(50)}
    assert len(drawn) > 5
    assert all(abs(many - 100) < 500 for many in drawn)  # beyond: e^-50


def stops(numbers: tuple[int, ...], chance_of: Callable[[int], dict[int, Fraction]]) -> list[dict[int, Fraction]]:
    """Of one ascent, for each of its ends, its chance as a polynomial: weights by powers; yes has one power more."""
    open_, ends = {0: Fraction(1)}, []
    for many in numbers[:-1]:
        yes = times(open_, chance_of(many))
        ends.append(yes)
        open_ = {p: open_.get(p, Fraction(0)) - yes.get(p, Fraction(0)) for p in {*open_, *yes}}
    return [*ends, open_]


def times(a: dict[int, Fraction], b: dict[int, Fraction]) -> dict[int, Fraction]:
    found: dict[int, Fraction] = {}
    for (p, x), (q, y) in product(a.items(), b.items()):
        found[p + q] = found.get(p + q, Fraction(0)) + x * y
    return found


def exactly(counts: Counts, beyond: int, kept: Fraction, passed: Fraction) -> dict[Ends, Fraction]:
    """The law of ascents in rationals, e^(-1/b) of the noise of all thresholds being ``kept``, at steps ``passed``.

    From z = beyond on all margins are at least 0, so chances are polynomials in passed^z: geometric series.
    """
    found: dict[Ends, Fraction] = {}

    def add(alone: list[list[dict[int, Fraction]]], drawn: Callable[[int], Fraction]) -> None:
        for ends in product(*map(range, map(len, alone))):
            chance = {0: Fraction(1)}
            for own, end in zip(alone, ends, strict=True):
                chance = times(chance, own[end])
            found[ends] = found.get(ends, Fraction(0)) + sum(w * drawn(power) for power, w in chance.items())

    def below(z: int) -> None:
        alone = [stops(some, lambda many: {0: passed ** max(z - beyond + many, 0)}) for some in counts]
        add(alone, lambda _: (1 - kept) * kept**z)

    for z in range(beyond):
        below(z)
    above = [stops(some, lambda many: {1: passed**many}) for some in counts]
    add(above, lambda power: (1 - kept) * kept**beyond / (1 - kept * passed**power))
    assert sum(found.values()) == 1
    return found


KEPT, PASSED = Fraction(3, 4), Fraction(4, 5)


def largest_ratio(moves: tuple[tuple[int, ...], ...], most: int) -> Fraction:
    """Of all numbers up to ``most`` on three steps, each total moved by some of its moves, in both directions."""
    found, totals = Fraction(0), len(moves)
    laws: dict[Counts, dict[Ends, Fraction]] = {}
    every = product(product(range(most + 1), repeat=3), repeat=totals)

    def law_of(counts: Counts) -> dict[Ends, Fraction]:
        if counts not in laws:
            laws[counts] = exactly(counts, 2, KEPT, PASSED)
        return laws[counts]

    for counts in every:
        for moved in product(*(product(some, repeat=3) for some in moves)):
            near = tuple(tuple(map(sum, zip(a, b, strict=True))) for a, b in zip(counts, moved, strict=True))
            if min(map(min, near)) >= 0 and near != counts:
                own, other = law_of(counts), law_of(near)
                found = max(found, *(max(own[e] / other[e], other[e] / own[e]) for e in own))
    return found


@pytest.mark.parametrize("moves", [(0, 1), (-1, 0, 1)])
def test_the_price_in_rationals(moves: tuple[int, ...]) -> None:
    """In both directions of neighbours. Answers that move both ways refute it."""
    assert (largest_ratio((moves,), 3) <= 1 / (KEPT * PASSED)) == (moves == (0, 1))


def test_the_price_of_two_totals_in_rationals() -> None:
    """One unit more moves both in one direction: the noise of thresholds and that of two ends. A changed one may be
    longer in one total and shorter in the other, which costs the noise of an end more. Neither costs less.
    """
    two, three = (1 / (KEPT * PASSED**ends) for ends in (2, 3))
    assert largest_ratio(((0, 1), (0, 1)), 1) == two
    assert largest_ratio(((0, 1), (0, -1)), 1) == three
    scales = {relation: Ascents(Fraction(1), (1, 1), relation).scales for relation in Neighbours}
    assert [1 / a + ends / b for ends, (a, b) in zip((2, 3), scales.values(), strict=True)] == [1, 1]
