"""Whole queries against made-up neighbours: nothing is wrong on real engines, and planted faults are found."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.checking import check_query
from discreet.engines.memory.engine import memory
from discreet.engines.memory.row import STRICT
from discreet.errors import BadData, EngineFailed
from discreet.mechanisms.statistics.budget import Moves
from discreet.query.engine import Engine
from discreet.query.estimate import quantile_search
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Filter, Project, Relation
from discreet.query.plan.schema import Schema
from discreet.query.plan.work import AnyWork, DistinctWork, Exact, Form, TotalsWork, Work
from tests.helpers.extent import extent

TRIPS = pa.table(
    {
        "user_id": pa.array([1]),
        "region": ["a"],
        "product": ["x"],
        "amount": [1.0],
        "price": pa.array([1]).cast(pa.decimal128(38, 2)),
        "year": pa.array([2020]),
        "day": pa.array([date(2024, 1, 1)]),
        "ok": [True],
    }
)
ORDERS = pa.table({"id": [1], "user_id": [1], "weight": [1]})
ITEMS = pa.table({"order_id": [1], "quantity": [1]})
ZONES = pa.table({"region": ["a"], "zone": ["z"]})

CAPS: list[dict[str, int]] = [
    {},
    {"max_rows": 3},
    {"max_groups": 2, "max_rows_per_group": 1},
    {"max_groups": 3, "max_rows_per_group": 2},
]


def session(engine: Engine, caps: Mapping[str, Any], **options: Any) -> dp.Session:
    known = {"amount": dp.bounds(0, 100), "region": dp.keys(["a", "b", None]), "product": dp.unknown_keys()}
    more = {
        "year": dp.bounds(2000, 2030),
        "price": dp.bounds("-4.5", 5),
        "day": dp.bounds(date(2024, 1, 1), date(2024, 3, 1)),
    }
    return dp.Session(
        trips=dp.table(TRIPS, unit="user_id", columns={**known, **more}, **caps),
        orders=dp.table(ORDERS, unit="user_id", columns={"weight": dp.bounds(0, 3)}, **caps),
        items=dp.table(ITEMS, unit="order_id -> orders.id", columns={"quantity": dp.bounds(0, 9)}, **caps),
        zones=dp.table(ZONES, public=True, columns={"zone": dp.keys(["z", "zz"])}),
        engine=engine,
        **({"budget": dp.Approx(100, "1e-5")} | options),
    )


QUERIES = [
    "SELECT COUNT(*) FROM trips",
    "SELECT COUNT(*), COUNT(amount), SUM(amount), AVG(amount) FROM trips WHERE year > 2010",
    "SELECT region, COUNT(*) AS n, SUM(amount) AS s, AVG(price) AS a FROM trips GROUP BY region",
    "SELECT region, SUM(price) FILTER (WHERE ok) AS s, COUNT(DISTINCT user_id) AS u FROM trips GROUP BY region",
    "SELECT product, COUNT(*) AS n, SUM(price) AS s FROM trips GROUP BY product",
    "SELECT product, region, COUNT(DISTINCT user_id) AS n FROM trips GROUP BY product, region",
    "SELECT COUNT(DISTINCT user_id) AS u, COUNT(DISTINCT product) AS p FROM trips",
    "SELECT region, COUNT(DISTINCT year) AS y FROM trips GROUP BY region",
    "SELECT COUNT(DISTINCT user_id) FILTER (WHERE ok) AS u FROM trips",
    "SELECT region, COUNT(DISTINCT CASE WHEN year > 2010 THEN user_id END) AS u FROM trips GROUP BY region",
    "SELECT CASE WHEN amount > 50 THEN 'big' ELSE 'small' END AS size, MEDIAN(amount) AS m FROM trips GROUP BY 1",
    "SELECT region, MIN(year), MAX(year), QUANTILE(amount, 0.9) AS q FROM trips GROUP BY region",
    "SELECT region, MEDIAN(amount) AS m, QUANTILE(amount, 0.9) AS q FROM trips GROUP BY region",
    "SELECT VARIANCE(amount) AS v, STDDEV(price) AS d, COVAR_SAMP(amount, year) AS c, CORR(amount, price) AS r "
    "FROM trips",
    "SELECT SUM(amount * 1000) AS s, SUM(amount * price) AS p, SUM(CLAMP(amount / year, 0, 1)) AS q FROM trips",
    "SELECT region, ok, COUNT(*) AS n, SUM(amount) AS s FROM trips GROUP BY ROLLUP (region, ok)",
    "SELECT region, ok, COUNT(*) AS n FROM trips GROUP BY CUBE (region, ok)",
    "SELECT EXTRACT(MONTH FROM day) AS m, COUNT(*) AS n FROM trips GROUP BY 1",
    "SELECT AVG(CLAMP(total, 0, 1000)) AS a FROM (SELECT user_id, SUM(amount) AS total FROM trips GROUP BY user_id)",
    "SELECT AVG(LEAST(m, 3)) AS a FROM (SELECT user_id, COUNT(*) AS m FROM trips GROUP BY user_id)",
    "SELECT region, COUNT(*) AS n FROM (SELECT user_id, region, COUNT(*) AS m FROM trips GROUP BY user_id, region) "
    "WHERE m > 1 GROUP BY region",
    "SELECT SUM(quantity * weight) AS s FROM items JOIN orders ON items.order_id = orders.id",
    "SELECT zone, COUNT(*) AS n, SUM(amount) AS s FROM trips JOIN zones ON trips.region = zones.region GROUP BY zone",
    "SELECT COUNT(*) AS n FROM orders LEFT JOIN items ON items.order_id = orders.id",
    "SELECT SUM(weight) AS s, COUNT(*) AS n FROM trips LEFT JOIN orders USING (user_id)",
    "SELECT COUNT(*) AS n, SUM(amount) AS s FROM (SELECT amount FROM trips UNION ALL SELECT amount FROM trips)",
    "SELECT COUNT(*) AS n FROM trips WHERE user_id <> 1",
    "SELECT SUM(SQRT(amount)) AS r, AVG(LN(price + 5)) AS l, SUM(EXP(price)) AS e, SUM(POWER(amount, 1.5)) AS p "
    "FROM trips",
    "SELECT SUM(DISTINCT year) AS s FROM trips",
    "SELECT CASE WHEN price > 0 THEN product ELSE 'x' END AS k, COUNT(*) AS n FROM trips GROUP BY k",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("caps", CAPS, ids=str)
@pytest.mark.parametrize("text", QUERIES)
def test_no_unit_reaches_too_far_in_memory(text: str, caps: dict[str, int]) -> None:
    budgets: list[Any] = [dp.Approx(100, "1e-5"), dp.ZCDP(1, "1e-6")]
    if "product" not in text or "DISTINCT product" in text:  # keys that nobody listed cost delta
        budgets.append(dp.Pure(9))
    for budget in budgets:
        report = check_query(session(memory(), caps, budget=budget).sql(text), tables=extent(6, 15))
        assert report.ok, report


@pytest.mark.slow
@pytest.mark.parametrize("text", QUERIES)
def test_no_unit_reaches_too_far_on_duckdb(text: str) -> None:
    for caps in CAPS[1:3]:
        report = check_query(session(dp.engines.duckdb(threads=1), caps).sql(text), tables=extent(4, 8), seed=1)
        assert report.ok, report


@pytest.mark.parametrize("engine", [memory(), dp.engines.duckdb(threads=1)], ids=["memory", "duckdb"])
@pytest.mark.parametrize("first", [1, 1 << 62, -(1 << 63)])
def test_a_foreign_key_leads_to_nobody_else(engine: Engine, first: int) -> None:
    """Integers are clamped to 2^62 when they are read: all larger order ids would lead to everyone with such an id."""
    ids = [first + i for i in range(3)]
    orders = pa.table({"id": ids, "user_id": [1, 2, 3], "weight": [1, 1, 1]})
    items = pa.table({"order_id": [ids[1]] * 2, "quantity": [1, 1]})
    asking = dp.Session(
        orders=dp.table(orders, unit="user_id", columns={"id": dp.bounds(0, 9)}),
        items=dp.table(items, unit="order_id -> orders.id"),
        engine=engine,
        budget=dp.Pure(1 << 20),
    )
    for text in (
        "SELECT COUNT(*) AS n FROM items JOIN orders ON items.order_id = orders.id",
        "SELECT COUNT(*) AS n FROM orders LEFT JOIN items ON items.order_id = orders.id WHERE order_id IS NOT NULL",
    ):
        assert asking.sql(text).release(epsilon=1 << 16).value == 2


def floats(engine: Engine) -> dp.Session:
    visits = pa.table({"who": [1.0], "place": ["a"], "number": [1]})
    return dp.Session(
        visits=dp.table(visits, unit="who", columns={"place": dp.unknown_keys()}, max_rows=2),
        bills=dp.table(pa.table({"visit": [1.0]}), unit="visit -> visits.number", max_rows=2),
        engine=engine,
        budget=dp.Approx(100, "1e-5"),
    )


@pytest.mark.parametrize("engine", [memory(), dp.engines.duckdb(threads=1)], ids=["memory", "duckdb"])
def test_no_unit_of_floats_reaches_too_far(engine: Engine) -> None:
    for text in (
        "SELECT COUNT(*) AS n, COUNT(DISTINCT who) AS u FROM visits",
        "SELECT place, COUNT(*) AS n FROM visits GROUP BY place",
        "SELECT COUNT(*) AS n FROM bills JOIN visits ON bills.visit = visits.number",
    ):
        assert check_query(floats(engine).sql(text), tables=8).ok


def test_a_unit_with_two_forms_of_zero_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STRICT, "read_whole", str)
    assert not check_query(floats(memory()).sql("SELECT COUNT(DISTINCT who) AS u FROM visits"), tables=40).ok


def test_a_query_can_be_checked_like_anything_else() -> None:
    assert dp.check(session(memory(), {}).sql(QUERIES[0]), searches=5).ok


# --- planted faults -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Faulty:
    """The memory engine with a fault: each work is changed before it runs."""

    change: Callable[[Any], AnyWork]
    name: str = "faulty"

    def columns(self, source: object) -> Any:
        return memory().columns(source)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        return memory().run([self.change(work) for work in works], schemas)


def on_expressions(work: Any, change: Callable[[Expression], Expression]) -> Any:
    """The work with every expression of its relation changed."""

    def inside(e: Expression) -> Expression:
        if isinstance(e, Call):
            e = Call(e.function, tuple(inside(a) for a in e.arguments))
        return change(e)

    def relation(node: Relation) -> Relation:
        match node:
            case Project(source=source, columns=columns):
                return Project(relation(source), tuple((n, inside(e)) for n, e in columns))
            case Filter(source=source, predicate=predicate):
                return Filter(relation(source), inside(predicate))
            case _:
                return node

    return replace(work, source=relation(work.source))


def unclipped(e: Expression) -> Expression:
    if isinstance(e, Call) and e.function == "read_real":
        x, exponent, low, high = e.arguments
        assert isinstance(high, Literal)
        assert isinstance(high.value, int)
        return Call("read_real", (x, exponent, low, Literal(high.value * 50)))
    return e


def null_as_much(e: Expression) -> Expression:
    if isinstance(e, Call) and e.function == "read_real":
        return Call("coalesce", (e, Literal(1 << 40)))
    return e


def wider(work: AnyWork, times: int) -> AnyWork:
    if isinstance(work, DistinctWork):
        return replace(work, cap=work.cap * times)
    if isinstance(work, TotalsWork):
        return replace(work, cells=tuple(replace(cell, cap=cell.cap * times) for cell in work.cells))
    if not isinstance(work, Work):
        return work
    return replace(work, weights=replace(work.weights, cap=work.weights.cap * times))


def any_key(work: AnyWork) -> AnyWork:
    return replace(work, keys=tuple(replace(key, allowed=None) for key in work.keys))


def many_keys(work: AnyWork) -> AnyWork:
    return replace(work, most_keys=None) if isinstance(work, Work) else work


def by_row(work: AnyWork) -> AnyWork:
    """Rows instead of people: every row is a unit of its own."""
    assert isinstance(work.source, Project)
    who = Call("integer_to_text", (Call("read_integer", (_raw("user_id"), Literal(-99), Literal(99))),))
    apart = Call("concat", (who, Call("coalesce", (Call("read_text", (_raw("product"),)), Literal("-")))))
    columns = tuple((n, apart if n == "__unit" else e) for n, e in work.source.columns)
    return replace(work, source=replace(work.source, columns=columns))


def _raw(name: str) -> Expression:
    return Column(name)


COUNTS = "SELECT region, COUNT(*) AS n FROM trips GROUP BY region"
FAULTS: dict[str, tuple[Callable[[Any], AnyWork], str, dict[str, int]]] = {
    "the cap is doubled": (lambda w: wider(w, 2), COUNTS, {"max_rows": 3}),
    "the cap is off by one": (
        lambda w: replace(w, weights=replace(w.weights, cap=w.weights.cap + 1)), COUNTS, {"max_rows": 3}),
    "a length in rows is taken for a length in L2": (
        lambda w: replace(w, weights=replace(w.weights, form=Form.ROWS, per_group=None)), COUNTS,
        {"max_groups": 3, "max_rows_per_group": 2}),
    "values are not clipped": (
        lambda w: on_expressions(w, unclipped), "SELECT SUM(amount) AS s FROM trips", {"max_rows": 2}),
    "NULL is the upper bound": (
        lambda w: on_expressions(w, null_as_much), "SELECT SUM(amount) AS s FROM trips", {"max_rows": 2}),
    "keys come from the data": (any_key, COUNTS, {}),
    "different values are not capped": (
        lambda w: wider(w, 9), "SELECT COUNT(DISTINCT product) AS p FROM trips", {"max_rows": 2}),
    "rows are protected, not people": (by_row, "SELECT COUNT(*) AS n FROM trips", {"max_rows": 1}),
    "a unit names any number of keys": (
        many_keys, "SELECT product, COUNT(DISTINCT user_id) AS n FROM trips GROUP BY product", {"max_rows": 1}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    change, text, caps = FAULTS[fault]
    gaussian = "L2" in fault
    options = {"budget": dp.ZCDP(1)} if gaussian else {}
    query = session(Faulty(change), caps, **options).sql(text)
    price: dict[str, Any] = {"rho": 1} if gaussian else {"epsilon": 1}
    report = check_query(query, tables=120, most_rows=8, **price)
    assert not report.ok
    assert report.smallest is not None
    assert "moves by" in report.smallest.shown or "key" in report.smallest.shown


@pytest.mark.parametrize("budget", [dp.Pure(9), dp.ZCDP(1)])
def test_choices_for_quantiles_that_cost_more_than_is_paid_are_found(
    monkeypatch: pytest.MonkeyPatch, budget: Any
) -> None:
    """As if every level moved scores by half of a row, as the median does."""
    text = "SELECT region, MEDIAN(amount) AS m, QUANTILE(amount, 0.9) AS q FROM trips GROUP BY region"
    half = lambda level, _: Moves(level.denominator // 2, (level.denominator // 2) ** 2)  # noqa: E731
    monkeypatch.setattr(quantile_search, "_scores_move", half)
    report = check_query(session(memory(), {"max_rows": 2}, budget=budget).sql(text), tables=60, most_rows=8)
    assert report.smallest is not None
    assert report.smallest.shown.startswith("a choice for the quantile 9/10 costs")


def test_a_failure_on_one_side_only_is_found() -> None:
    class Fragile(Faulty):
        def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
            column = schemas["trips"].table.source.column("amount").to_pylist()
            if any(x is not None and math.isnan(x) for x in column):
                raise EngineFailed
            return memory().run(works, schemas)

    report = check_query(session(Fragile(lambda w: w), {}).sql(QUERIES[0]), tables=50, seed=3)
    assert report.smallest is not None
    assert report.smallest.shown == "the engine fails on one side only"


def test_an_engine_that_runs_nothing_is_not_taken_for_right() -> None:
    class Dead(Faulty):
        def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
            raise EngineFailed

    with pytest.raises(BadData, match="nothing was checked"):
        check_query(session(Dead(lambda w: w), {}).sql(QUERIES[0]), tables=1)


def test_it_stops_when_its_time_is_over_and_says_how_far_it_got() -> None:
    table = dp.table({"who": [1], "v": [2]}, unit="who", columns={"v": dp.bounds(0, 5)})
    asked = dp.Session(t=table, budget=dp.Pure(1)).sql("SELECT SUM(v) AS s FROM t")
    report = check_query(asked, tables=10**6, seconds=0)
    assert report.ok
    assert report.method.startswith("1 made-up tables")
