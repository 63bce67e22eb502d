"""table_streams.py: how far one person moves all that is measured over the whole horizon, against what is priced."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from discreet.continual.attendance import Attendance
from discreet.continual.by_day import by_day
from discreet.continual.table_streams import TablePlan, _added, plan_table
from discreet.engines.duckdb.engine import duckdb
from discreet.errors import BadParameter
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.engine import SumsByUnit
from tests.helpers.boards import SQL, day, session, table_of

HORIZON = 6
OTHERS = [(i % 5, i % HORIZON, ["North", "South", "West"][i % 3], 17 * i % 101) for i in range(60)]
HEAVY = [(99, i, clinic, cost) for i in range(HORIZON) for clinic in ("North", "South") for cost in (100, 0, 100, 77)]
"""A person who is there every day, in two clinics, with more rows than count."""
CAPS: list[dict[str, Any]] = [
    {"max_rows": 3},
    {"max_rows": 50},
    {"max_groups": 2, "max_rows_per_group": 1},
    {"max_groups": 1, "max_rows_per_group": 2},
]


def measured(rows: list[Any], plan: TablePlan, caps: dict[str, Any], *, forgetful: bool = False) -> list[Any]:
    """The exact rows of each stream over all days; a forgetful one does not remember who was counted."""
    s = session(rows, caps=caps)
    asked = by_day(s.sql(SQL).plan, "day", s.schemas)
    attendance = Attendance(plan.days) if plan.capped else None
    processes = [stream.plan.start(len(stream.noised) * len(plan.groups)) for stream in plan.streams]
    found: list[list[Any]] = [[] for _ in processes]
    for i in range(plan.horizon):
        todo = plan.todo(s._backend.prepare(asked.on(day(i))))
        exact = s._backend.engine.run([job.work for job in todo], s.schemas)
        if forgetful:
            attendance = Attendance(plan.days)
        values = plan.values(list(zip(todo, exact, strict=True)), attendance)
        for process, line, out in zip(processes, values, found, strict=True):
            out.append(process.measure(line))
    return [np.concatenate(out) for out in found]


def prices(plan: TablePlan, one: list[Any], other: list[Any]) -> Fraction:
    """What moving from one to the other costs, over all streams."""
    total = Fraction(0)
    for stream, a, b in zip(plan.streams, one, other, strict=True):
        moved = (a - b).ravel().tolist()
        noise = stream.plan.noise
        if isinstance(noise, Gaussian):
            total += Fraction(sum(m * m for m in moved)) / (2 * noise.sigma_squared)
        else:
            total += sum(map(abs, moved)) / noise.scale
    return total


def plan_of(
    budget: Pure | ZCDP, caps: dict[str, Any], days: int | None, relation: Neighbours, horizon: int = HORIZON
) -> TablePlan:
    s = session(OTHERS, caps=caps)
    prepared = s._backend.prepare(by_day(s.sql(SQL).plan, "day", s.schemas).on(day(0)))
    return plan_table(prepared, budget, relation, horizon=horizon, days=days)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [Pure(1), ZCDP("1/2")], ids=str)
@pytest.mark.parametrize("caps", CAPS, ids=str)
@pytest.mark.parametrize("days", [None, 1, 3])
def test_a_person_who_is_there_every_day_moves_no_more_than_is_priced(
    budget: Pure | ZCDP, caps: dict[str, Any], days: int | None
) -> None:
    most = budget.epsilon if isinstance(budget, Pure) else budget.rho
    plan = plan_of(budget, caps, days, Neighbours.ADD_REMOVE)
    without, with_them = (measured(rows, plan, caps) for rows in (OTHERS, OTHERS + HEAVY))
    moved = prices(plan, with_them, without)
    assert 0 < moved <= most


@pytest.mark.slow
def test_a_cap_on_days_that_is_forgotten_is_noticed() -> None:
    """The twin with a bug: days are not remembered, and the bound breaks."""
    plan = plan_of(ZCDP("1/2"), CAPS[0], 1, Neighbours.ADD_REMOVE)
    without, with_them = (measured(rows, plan, CAPS[0], forgetful=True) for rows in (OTHERS, OTHERS + HEAVY))
    assert prices(plan, with_them, without) > Fraction(1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [Pure(1), ZCDP("1/2")], ids=str)
@pytest.mark.parametrize("days", [None, 2])
def test_a_person_who_is_changed_moves_no_more_than_is_priced(budget: Pure | ZCDP, days: int | None) -> None:
    """The old rows are on the first days, the new ones on the last days, in another clinic."""
    most = budget.epsilon if isinstance(budget, Pure) else budget.rho
    plan = plan_of(budget, CAPS[0], days, Neighbours.CHANGE_ONE)
    old = [(99, i, "North", 100) for i in range(3) for _ in range(4)]
    new = [(99, i, "South", 0) for i in range(3, HORIZON) for _ in range(4)]
    one, other = (measured(OTHERS + rows, plan, CAPS[0]) for rows in (old, new))
    assert most / 40 < prices(plan, one, other) <= most


ON_A_DAY: list[list[tuple[str, int]]] = [[("North", 100)] * 4, [("South", 0)] * 4, []]
"""What a person may do on one day; three rows count."""
LIVES = [[(99, i, *visit) for i, visits in enumerate(days) for visit in visits] for days in product(ON_A_DAY, repeat=2)]


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "days"), [(Pure(1), None), (ZCDP("1/2"), 1)], ids=str)
def test_no_two_lives_of_a_person_are_farther_apart_than_is_priced(budget: Pure | ZCDP, days: int | None) -> None:
    """All that a person may do on two days, against all else: every pair. The twin is priced for who comes or goes."""
    most = budget.epsilon if isinstance(budget, Pure) else budget.rho
    plan = plan_of(budget, CAPS[0], days, Neighbours.CHANGE_ONE, horizon=2)
    lives = [measured(OTHERS[:3] + rows, plan, CAPS[0]) for rows in LIVES]
    worst = max(prices(plan, one, other) for one, other in combinations(lives, 2))
    if days is None:
        twin = plan_of(budget, CAPS[0], days, Neighbours.ADD_REMOVE, horizon=2)
        assert worst == most < prices(twin, *(measured(OTHERS[:3] + LIVES[i], twin, CAPS[0]) for i in (1, 3)))
    else:
        assert most / 4 < worst <= most


@pytest.mark.slow
@pytest.mark.parametrize("caps", CAPS, ids=str)
def test_sums_unit_by_unit_add_up_to_the_sums_of_the_engine(caps: dict[str, Any]) -> None:
    """With a cap that nobody reaches, counting days changes nothing."""
    every, capped = (plan_of(ZCDP(1), caps, days, Neighbours.ADD_REMOVE) for days in (None, HORIZON - 1))
    few = [row for row in OTHERS + HEAVY if row[1] != 2]
    s = session(few, caps=caps)
    asked = by_day(s.sql(SQL).plan, "day", s.schemas)
    attendance = Attendance(capped.days)
    for i in range(HORIZON):
        lines = []
        for plan, seen in ((every, None), (capped, attendance)):
            todo = plan.todo(s._backend.prepare(asked.on(day(i))))
            exact = s._backend.engine.run([job.work for job in todo], s.schemas)
            lines.append(plan.values(list(zip(todo, exact, strict=True)), seen))
        for one, other in zip(*lines, strict=True):
            assert one.tolist() == other.tolist()


@pytest.mark.parametrize("caps", CAPS, ids=str)
@pytest.mark.parametrize("named", [False, True], ids=["numbers", "text"])
def test_arrays_of_units_say_what_tuples_say(caps: dict[str, Any], named: bool) -> None:
    """The two ways of an engine to send the numbers of units: the same sums, and the same days used up."""
    rows = table_of(OTHERS + HEAVY)
    if named:
        rows = rows.set_column(0, "patient", rows.column("patient").cast("string"))
    plan = plan_of(ZCDP("1/2"), caps, 2, Neighbours.ADD_REMOVE)
    s = session(rows, caps=caps)
    engine = duckdb()
    assert isinstance(engine, SumsByUnit)
    asked = by_day(s.sql(SQL).plan, "day", s.schemas)
    tuples, arrays = Attendance(plan.days), Attendance(plan.days)
    for i in range(HORIZON):
        todo = plan.todo(s._backend.prepare(asked.on(day(i))))
        works: list[Any] = [job.work for job in todo]
        assert plan.in_arrays(todo)
        one = plan.values(list(zip(todo, engine.run(works, s.schemas), strict=True)), tuples)
        other = plan.values(list(zip(todo, engine.by_unit(works, s.schemas), strict=True)), arrays)
        assert [line.tolist() for line in one] == [line.tolist() for line in other]
        mine, theirs = (dict(zip(*a.state().values(), strict=True)) for a in (tuples, arrays))
        assert mine == theirs
    assert max(theirs.values()) == plan.days


def test_sums_are_exact_beyond_64_bits_and_below_zero() -> None:
    rng = np.random.default_rng(5)
    numbers = rng.integers(-(2**63), 2**63 - 1, 3000, dtype=np.int64)
    rows = rng.integers(-1, 4, 3000)
    exact = [sum(n for n, r in zip(numbers.tolist(), rows.tolist(), strict=True) if r == place) for place in range(4)]
    for given in (numbers, numbers.astype(object)):
        assert _added(rows, given, 4).tolist() == exact
    assert _added(np.zeros(2, dtype=np.intp), np.full(2, 2**63 - 1), 1).tolist() == [2**64 - 2]


def test_the_shares_of_the_statistics_add_up_to_the_budget() -> None:
    for budget in (Pure(1), ZCDP("1/2")):
        s = session(caps={"max_rows": 3})
        sql = "SELECT COUNT(*) AS n, SUM(cost) AS s, COUNT(cost) AS c, SUM(cost * cost) AS q FROM visits"
        prepared = s._backend.prepare(by_day(s.sql(sql).plan, "day", s.schemas).on(day(0)))
        plan = plan_table(prepared, budget, Neighbours.ADD_REMOVE, horizon=30, days=5)
        assert len(plan.streams) > 1
        spent = [stream.plan.noise.price for stream in plan.streams]
        assert sum(p.epsilon if isinstance(p, Pure) else p.rho for p in spent) == (
            budget.epsilon if isinstance(budget, Pure) else budget.rho
        )


@pytest.mark.parametrize(("horizon", "days"), [(0, None), (5000, None), (10, 11), (10, 0), (2.5, None), (10, "all")])
def test_bad_horizons_and_caps_are_refused(horizon: Any, days: Any) -> None:
    s = session()
    with pytest.raises(BadParameter, match=r"horizon|days"):
        s.continual(SQL, by="day", horizon=horizon, days=days, epsilon=1)
    assert s.remaining == s.budget
