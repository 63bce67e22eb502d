"""A whole query with its choices, on every small table: choice and answer together, by exact probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import log
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.mechanisms.additive.laplace import Laplace
from discreet.query.choose import choosing
from discreet.query.choose.choosing import Kept, _pairs_kept
from discreet.query.choose.clips import Ascents
from discreet.query.estimate.noise_plan import Noised
from discreet.query.estimate.prepare import Job, Part, jobs
from discreet.query.estimate.statistics import Statistic, most_rows
from discreet.query.lower.bounding import Noise, row_reach
from discreet.query.plan.schema import Caps, Schema, Stored
from discreet.query.plan.work import AnyWork, Exact, TotalsWork
from discreet.query.run import _closed
from discreet.randomness import SystemBits
from tests.query.choose.test_clips import Counts, Ends
from tests.query.choose.test_clips import law as law_of_ascents

CHOSEN_CAPS = True
SALT = "0123456789abcdef0123456789abcdef"
SHORT = (1, 2, 4)
"""A ladder short enough to list all that an ascent may do."""
ROWS = ((2,), (5,), (-1, 2), (1, 1, 1, 1, 1))
"""What one unit may have."""
Table = tuple[tuple[Any, ...], ...]


class Doubles:
    """The memory engine, whose clipped sums are so many times what they should be."""

    name = "memory"

    def __init__(self, factor: int = 1) -> None:
        self.inner, self.factor = memory(), factor

    def columns(self, source: object) -> dict[str, Stored]:
        return self.inner.columns(source)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        def wrong(work: AnyWork, exact: Exact) -> Exact:
            if not isinstance(work, TotalsWork):
                return exact
            return Exact(exact.keys, tuple(self.factor * numbers for numbers in exact.numbers))

        return tuple(map(wrong, works, self.inner.run(works, schemas)))


def tables(units: int) -> list[Table]:
    return [some for many in range(units + 1) for some in combinations_with_replacement(ROWS, many)]


def one_apart(units: int) -> set[tuple[Table, Table]]:
    """Tables, and the same without one of their units."""
    made = {tuple(sorted(table)) for table in tables(units)}
    return {(table, (*table[:i], *table[i + 1 :])) for table in made for i in range(len(table))}


@dataclass(frozen=True, slots=True)
class Run:
    """Of one table, for one way in which the ascents may end: all that the outcome depends on."""

    ascents: tuple[tuple[Ascents, Counts, Ends], ...]
    units: int
    epsilon_of_units: Fraction
    answers: tuple[tuple[int, Fraction], ...]
    """Exact numbers, each with the scale of its noise."""


def runs(
    text: str, table: Table, engine: Doubles, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[tuple[int, ...], Run]]:
    """The whole query for every end of its ascents."""
    rows = [(unit, k) for unit, ks in enumerate(table) for k in ks]
    source = pa.table(
        {"id": pa.array([u for u, _ in rows], pa.int64()), "k": pa.array([k for _, k in rows], pa.int64())}
    )
    own = dp.Session(t=dp.table(source, unit="id"), budget=dp.Pure(1), engine=engine)
    asked = own.sql(text).quote(epsilon=1)
    assert asked.choosing is not None
    many = asked.choosing.parts[0].clips
    for ends in product(range(len(SHORT)), repeat=many):
        climbed, counted = list[tuple[Ascents, Counts, Ends]](), list[tuple[int, Fraction]]()

        def climb(self: Ascents, longer: Sequence[Sequence[int]], _: Any) -> Ends:
            climbed.append((self, tuple(map(tuple, longer)), ends))  # noqa: B023
            return ends  # noqa: B023

        def count(everyone: int, epsilon: Fraction, _: Any) -> int:
            counted.append((everyone, epsilon))  # noqa: B023
            return 1 << 40

        monkeypatch.setattr(Ascents, "__call__", climb)
        monkeypatch.setattr(choosing, "noisy_units", count)
        closed = _closed(asked.choosing, engine, own.schemas, SystemBits(), lambda: None, Kept())
        answers = []
        for part, noised in zip(closed.parts, closed.plan.sets, strict=True):
            for job in jobs(part, noised, None, SALT):
                (exact,) = engine.run([job.work], own.schemas)
                for statistic, numbers in zip(job.statistics, exact.numbers, strict=True):
                    noise = noised[statistic].noise
                    assert isinstance(noise, Laplace)
                    answers.append((sum(map(int, numbers)), noise.scale))
        yield ends, Run(tuple(climbed), *counted[0], tuple(answers))


_laws: dict[tuple[Ascents, Counts], dict[Ends, tuple[float, float]]] = {}


def law(climb: Ascents, longer: Counts) -> dict[Ends, tuple[float, float]]:
    """Bounds of the chance of each end; the last also where it ends nowhere."""
    if (climb, longer) not in _laws:
        found = law_of_ascents(climb, longer)
        _laws[climb, longer] = {end: (float(low), float(high)) for end, (low, high) in found.items()}
    return _laws[climb, longer]


def loss(a: Run, b: Run) -> float:
    """The largest log of the ratio of two chances of one outcome: ends of ascents, number of units and answers. Where
    an outcome is refuted by bounds of a chance, it is refuted. Discrete Laplace noise of a scale s, moved by d, has
    a largest ratio of e^(d/s), for some outcome exactly.
    """
    found = float(abs(a.units - b.units) * a.epsilon_of_units)
    for (climb, first, end), (other, second, _) in zip(a.ascents, b.ascents, strict=True):
        assert climb == other
        found += log(law(climb, first)[end][0] / law(climb, second)[end][1])
    for (exact, scale), (moved, same) in zip(a.answers, b.answers, strict=True):
        assert scale == same
        found += float(abs(exact - moved) / scale)
    return found


def worst(text: str, engine: Doubles, monkeypatch: pytest.MonkeyPatch, units: int = 2) -> float:
    monkeypatch.setattr(choosing, "EDGES", SHORT)
    made = {table: dict(runs(text, table, engine, monkeypatch)) for table in map(tuple, map(sorted, tables(units)))}
    pairs = one_apart(units)
    return max(loss(made[x][ends], made[y][ends]) for a, b in pairs for x, y in ((a, b), (b, a)) for ends in made[a])


@pytest.mark.parametrize(("text", "least"), [
    ("SELECT SUM(k) AS s FROM t", 0.7),
    ("SELECT COUNT(*) AS n, SUM(k) AS s FROM t", 0.7),
    ("SELECT VARIANCE(CLAMP(k, -1, 5)) AS v FROM t", 0.65),  # no unit is the worst for all of its three sums
    ("SELECT COUNT(*) AS n, VARIANCE(CLAMP(k, -1, 5)) AS v FROM t", 0.65),
])  # fmt: skip
def test_choice_and_answer_together_keep_the_price_on_every_small_table(
    text: str, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert least < worst(text, Doubles(), monkeypatch) <= 1


def test_sums_that_move_twice_as_far_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worst("SELECT SUM(k) AS s FROM t", Doubles(2), monkeypatch) > 1


def test_a_limit_of_rows_that_the_noise_knows_and_the_engine_does_not_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = jobs

    def unlimited(part: Part, noised: Mapping[Statistic, Noised], *rest: Any) -> tuple[Job, ...]:
        wide = {
            s: replace(one, reach=row_reach(Caps(max_rows=9), Noise.LAPLACE, grouped=False)) if most_rows(s) else one
            for s, one in noised.items()
        }
        return right(part, wide, *rest)

    monkeypatch.setitem(globals(), "jobs", unlimited)
    assert worst("SELECT VARIANCE(CLAMP(k, -1, 5)) AS v FROM t", Doubles(), monkeypatch) > 1


# --- distinct values --------------------------------------------------------------------------------------------------

PAIRS = ((0, 0), (0, 1), (1, 0), (1, 1))
"""Groups and values."""


def gain(table: Table, most: int, few: int = 1) -> int:
    """How many more distinct pairs there are with ``most`` of each unit than with a few, as an engine counts them."""
    rows = [(unit, *pair) for unit, pairs in enumerate(table) for pair in pairs]
    columns = zip(("id", "g", "v"), zip(*rows, strict=True) if rows else ([], [], []), strict=True)
    source = pa.table({name: pa.array(values, pa.int64()) for name, values in columns})
    listed = dp.table(source, unit="id", columns={"g": dp.keys([0, 1])})
    own = dp.Session(t=listed, budget=dp.Pure(1), engine=memory())
    asked = own.sql("SELECT g, COUNT(DISTINCT v) AS d FROM t GROUP BY g").quote(epsilon=1)
    assert asked.choosing is not None
    (measure,) = asked.choosing.parts[0].distinct
    works = [_pairs_kept(asked.choosing, 0, measure, cap, _Zeros()) for cap in (most, few)]
    many, less = (sum(map(int, exact.numbers[0])) for exact in memory().run(works, own.schemas))
    return many - less


class _Zeros(SystemBits):
    """One salt for all tables: who keeps which pair does not depend on others."""

    def below(self, n: int) -> int:
        return 0


def largest_move(most: int, few: int) -> int:
    """Between tables of two units of which one is changed, added or removed."""
    some = [pairs for many in (1, 2, 3) for pairs in combinations(PAIRS, many)]
    found = {(first, second): gain((first, second), most, few) for first in some for second in [(), *some]}
    return max(
        abs(found[first, second] - found[first, other]) for first in some for second in [(), *some] for other in some
    )


@pytest.mark.parametrize("most", [2, 3])
def test_one_unit_moves_the_gain_of_more_pairs_by_no_more_than_the_noise_was_made_for(most: int) -> None:
    assert 0 < largest_move(most, 1) <= most + 1


def test_pairs_that_nobody_limits_are_caught() -> None:
    """A planted bug: a cap of 3 where noise was made for one of 1."""
    assert largest_move(3, 1) > 1 + 1
