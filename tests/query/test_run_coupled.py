"""Whole releases from two neighbouring tables, side by side: what they lose, and that nothing else tells them apart.

Any statement that is accepted, on odd tables: both sides release the same noisy numbers (tests/helpers/coupled.py), so
the privacy loss of every step is exact, and the text of the answer, its bars, the charge and every failure must be the
same. Thousands in ``make audit``, a sample in ``make test``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from random import Random
from typing import Any

import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import DiscreetError, EngineFailed
from discreet.query.choose import choosing
from discreet.query.choose.clips import Ascents
from discreet.query.engine import Engine
from discreet.query.front.sql import dialects
from discreet.query.plan.schema import Schema
from discreet.query.plan.work import AnyWork, Exact
from discreet.session.query import RefusedForValues
from tests.helpers.coupled import Differs, Plain, side_by_side
from tests.helpers.extent import extent
from tests.helpers.odd_people import REGIONS, Sides, draw_sides
from tests.helpers.statements import draw_statement
from tests.query.choose.test_choosing_law import Doubles

CHOSEN_CAPS = True
PRICES = ["0.01", "0.3", "1", "8", "100", "10000"]
CAPS: list[dict[str, Any]] = [
    {}, {}, {}, {"max_rows": 1}, {"max_rows": 2}, {"max_groups": 1}, {"max_rows_per_group": 2},
    {"max_rows": 3, "max_groups": 2},
]  # fmt: skip
BUDGETS: list[Any] = [dp.Pure(10**9), dp.ZCDP(10**9, "1e-3"), dp.Approx(10**9, "1e-3")]


class FailsOnce(Plain):
    """An engine that fails at one of its runs, whatever the data is."""

    left = 0

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        self.left -= 1
        if self.left == 0:
            raise EngineFailed
        return super().run(works, schemas)


def draw_declarations(random: Random) -> dict[str, Any]:
    """Nothing of a column, or something that holds its values, or none of them."""
    ways: dict[str, list[Any]] = {
        "g": [dp.keys(["a", "b", "c"]), dp.keys(["a", None]), dp.unknown_keys(), dp.keys(["a", "b"], other="rest")],
        "h": [dp.keys(["x", "y"]), dp.unknown_keys()],
        "k": [dp.bounds(0, 90), dp.bounds(-(2**63), 2**63 - 1), dp.bounds(5, 6), dp.bounds(0, 100, nullable=False)],
        "x": [dp.bounds(0, 500), dp.bounds(-1e300, 1e300), dp.bounds("1/3", "2/3"), dp.bounds(-100, 100)],
        "d": [dp.bounds("2025-01-01", "2025-12-31")],
        "at": [dp.bounds("2025-01-01", "2025-12-31")],
    }
    return {column: random.choice(some) for column, some in ways.items() if random.random() < 0.4}


class Asking:
    """One statement at one price, to be released from either side."""

    def __init__(self, seed: int, engine: Engine, statement: str | None = None) -> None:
        random = Random(seed)
        self.engine, self.people = engine, draw_sides(random)
        self.columns, self.caps = draw_declarations(random), random.choice(CAPS)
        self.budget, self.amount = random.choice(BUDGETS), Fraction(random.choice(PRICES))
        self.statement = statement or draw_statement(random)
        self.fails_at = random.choice([0, 0, 0, 1, 2, 3, 4])
        self.rule = random.choice([None, dp.Rule.BASIC]) if isinstance(self.budget, dp.Approx) else None
        self.charged_delta = Fraction(0)

    @property
    def price(self) -> dict[str, Any]:
        """As arguments."""
        if isinstance(self.budget, dp.ZCDP):
            return {"rho": self.amount}
        return {"epsilon": self.amount} | ({"delta": "1e-6"} if isinstance(self.budget, dp.Approx) else {})

    def session(self, engine: Engine, people: Sides, side: int) -> dp.Session:
        tables = people.tables(side)
        return dp.Session(
            t=dp.table(tables["t"], unit="id", columns=self.columns, **self.caps),
            s=dp.table(tables["s"], unit="id", **self.caps),
            o=dp.table(tables["o"], unit="id", **self.caps),
            i=dp.table(tables["i"], unit="oid -> o.oid", columns={"g": dp.keys(["a", "b"])}, **self.caps),
            p=dp.table(REGIONS, public=True),
            budget=self.budget,
            rule=self.rule,
            neighbours=people.relation,
            engine=engine,
        )

    def __call__(self, side: int) -> tuple[str, ...]:
        """All that a person sees of it, and of what is left of the budget."""
        failing = FailsOnce(self.engine)
        own = self.session(failing, self.people, side)
        before: Any = own.remaining
        try:
            query = own.sql(self.statement)
            shown = str(query.preview(**self.price))
        except DiscreetError as refused:
            return "refused", str(refused), str(own.remaining)
        failing.left = self.fails_at
        try:
            answer = query.release(**self.price)
        except EngineFailed as failed:
            failing.left = 0
            paid = own.remaining
            if failed.again is None:  # a public table that lists groups could not be read
                assert paid == before, "what was paid, and has drawn nothing of the answer, may go on"
                return "failed before it was paid", str(paid)
            answer = failed.again()
            assert own.remaining == paid, "going on is free"
        except RefusedForValues as refused:
            return "refused for values", str(refused), str(own.remaining)
        after: Any = own.remaining
        self.charged_delta = getattr(before, "delta", Fraction(0)) - getattr(after, "delta", Fraction(0))
        seen = answer.rows, answer.errors(), answer.intervals(), answer.to_arrow().to_pylist(), answer.notes
        return "answered", shown, str(answer), str(answer.explain()), *map(repr, seen), str(after)

    def check(self) -> str:
        """What became of it; raises where sides differ, or lose more than the price."""
        pair = side_by_side(self)
        lost = pair.rho if isinstance(self.budget, dp.ZCDP) else pair.pure
        if lost > self.amount and not (isinstance(self.budget, dp.Approx) and pair.gaussian):
            raise Differs(f"{self.statement} loses {float(lost)} at a price of {self.amount}")
        if pair.delta > self.charged_delta:
            raise Differs(f"{self.statement} names groups of one person with a chance of {float(pair.delta)}")
        return str(pair.end[0])


@pytest.fixture(autouse=True)
def one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides are asked at the same time."""
    monkeypatch.setattr(dialects.frozen, "__defaults__", (lambda: datetime(2025, 3, 1, 12),))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(extent(40, 10_000)))
def test_neighbours_are_told_apart_by_noise_alone_in_memory(seed: int) -> None:
    assert Asking(seed, memory()).check()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100_000, 100_000 + extent(10, 4_000)))
def test_neighbours_are_told_apart_by_noise_alone_on_duckdb(seed: int) -> None:
    assert Asking(seed, dp.engines.duckdb(threads=1)).check()


@pytest.mark.slow
def test_most_statements_are_answered() -> None:
    seen = [Asking(seed, memory()).check() for seed in range(30)]
    assert seen.count("answered") >= 12


SUM = "SELECT SUM(k) AS s, COUNT(*) AS n FROM t"


def found(engine: Engine, statement: str) -> bool:
    """Whether one of some pairs refutes the price, or shows a difference."""
    for seed in range(60):
        try:
            Asking(seed, engine, statement).check()
        except Differs:
            return True
    return False


@pytest.mark.slow
def test_sums_that_move_twice_as_far_are_found() -> None:
    assert not found(Doubles(1), SUM)
    assert found(Doubles(3), SUM)


class Noiseless(Ascents):
    """A planted bug: they end where their targets are met."""

    def __call__(self, longer: Sequence[Sequence[int]], bits: object) -> tuple[int, ...]:
        pairs = zip(self.beyond, longer, strict=True)
        return tuple(next((i for i, many in enumerate(some) if many <= most), len(some) - 1) for most, some in pairs)


@pytest.mark.slow
def test_a_clip_that_is_chosen_without_noise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = choosing.goals

    def goals(*of: Any) -> tuple[Any, Ascents]:
        climbs, ascents = right(*of)
        return climbs, Noiseless(ascents.epsilon, ascents.beyond, ascents.neighbours)

    monkeypatch.setattr(choosing, "goals", goals)
    assert found(memory(), SUM)
