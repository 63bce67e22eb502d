"""Random tables, relations, expressions and works, all well typed; every number is kept inside ±2^62 by its bound.

The word NULL stands only inside a ``case``, beside something that has a kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeAlias

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from discreet.query.plan.expressions import Column, Expression, Literal
from discreet.query.plan.nodes import (
    Aggregate,
    Filter,
    How,
    Join,
    Measure,
    Order,
    PerUnit,
    Project,
    Relation,
    UnionAll,
    UnitWindows,
    Window,
)
from discreet.query.plan.types import LARGEST
from discreet.query.plan.work import (
    AnyWork,
    ClippedSum,
    DistinctWork,
    Form,
    RowSum,
    Total,
    TotalsWork,
    UnitClasses,
    UnitSum,
    Weights,
    Work,
    WorkKey,
)
from tests.contracts.engines.lab import UNIT, f
from tests.contracts.engines.relations import BY_NAME, EVENTS, HERE, PLACES
from tests.helpers.tables import DATES, GROUPS, MOMENTS, NAMES, UNITS, events

Draw: TypeAlias = DrawFn
WORDS = ["", "a", "A", "a ", "\u00e9", "e", "b", "|", "%", "_", "7", "-7", "2024-02-29"]
ODD = [None, 0, 1, -1, 5, 100, 2**53 + 1, LARGEST, -LARGEST]


@st.composite
def tables(draw: Draw, most: int = 14) -> pa.Table:
    """Events: few units, few keys, odd values."""
    row = st.tuples(
        st.sampled_from(UNITS), st.sampled_from(NAMES), st.sampled_from(GROUPS), st.integers(-3, 3) | st.none(),
        st.sampled_from(ODD), st.sampled_from(DATES), st.sampled_from(MOMENTS), st.sampled_from([True, False, None]),
    )  # fmt: skip
    return events(draw(st.lists(row, max_size=most)))


# --- expressions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sized:
    """An integer expression and how far from zero it can be."""

    expression: Expression
    bound: int


def _drawn(draw: Draw, depth: int, leaves: list[Callable[[], Any]], nodes: list[Callable[[], Any]]) -> Any:
    options = leaves + (nodes * 2 if depth > 0 else [])
    return options[draw(st.integers(0, len(options) - 1))]()


def integers(draw: Draw, depth: int = 2) -> Sized:
    """An integer expression over the columns of events."""

    def one() -> Sized:
        return integers(draw, depth - 1)

    def two() -> tuple[Sized, Sized]:
        return one(), one()

    def arithmetic() -> Sized:
        name = draw(st.sampled_from(["add", "sub", "mul", "div", "mod", "least", "greatest"]))
        a, b = two()
        bound = {"mul": a.bound * b.bound, "div": a.bound, "mod": a.bound}.get(name, a.bound + b.bound)
        return Sized(f(name, a.expression, b.expression), bound) if bound <= LARGEST else a

    def rounded() -> Sized:
        a, n = one(), draw(st.sampled_from([1, 2, 3, 10, LARGEST]))
        return Sized(f(draw(st.sampled_from(["round_div", "floor_div", "ceil_div"])), a.expression, n), a.bound + 1)

    def unary() -> Sized:
        a = one()
        return Sized(f(draw(st.sampled_from(["neg", "abs", "sign"])), a.expression), max(a.bound, 1))

    def chosen() -> Sized:
        a, b = two()
        if draw(st.booleans()):
            return Sized(f("case", truths(draw, depth - 1), Literal(None), b.expression), b.bound)
        return Sized(f("case", truths(draw, depth - 1), a.expression, b.expression), max(a.bound, b.bound))

    def first() -> Sized:
        a, b = two()
        return Sized(f("coalesce", a.expression, b.expression), max(a.bound, b.bound))

    def of_text() -> Sized:
        text = texts(draw, depth - 1)
        return Sized(f("length", text), 10**4) if draw(st.booleans()) else Sized(f("text_to_integer", text), 10**18)

    def of_date() -> Sized:
        day = days(draw, depth - 1)
        parts = ["year", "quarter", "month", "day", "day_of_week", "day_of_year"]
        if draw(st.booleans()):
            return Sized(f(draw(st.sampled_from(parts)), day), 9999)
        return Sized(f("days_between", day, days(draw, depth - 1)), 4 * 10**6)

    def of_moment() -> Sized:
        a, b = moments(draw, depth - 1), moments(draw, depth - 1)
        if draw(st.booleans()):
            return Sized(f(draw(st.sampled_from(["hour", "minute", "second", "year", "day_of_week"])), a), 9999)
        return Sized(f("seconds_between", a, b), 4 * 10**11)

    leaves: list[Callable[[], Sized]] = [
        lambda: Sized(Column("k"), 3),
        lambda: Sized(Column("x"), LARGEST),
        lambda: Sized(f("read_integer", Column("x"), -1000, 1000), 1000),
        lambda: Sized(Literal(draw(st.sampled_from([0, 1, -1, 2, 7]))), 7),
    ]
    found: Sized = _drawn(draw, depth, leaves, [arithmetic, rounded, unary, chosen, first, of_text, of_date, of_moment])
    return found if found.bound <= LARGEST else Sized(f("sign", found.expression), 1)


def truths(draw: Draw, depth: int = 2) -> Expression:
    """A predicate."""

    def compared() -> Expression:
        kinds: list[Callable[[], Expression]] = [
            lambda: integers(draw, depth - 1).expression, lambda: texts(draw, depth - 1), lambda: days(draw, depth - 1),
            lambda: moments(draw, depth - 1),
        ]  # fmt: skip
        one = kinds[draw(st.integers(0, len(kinds) - 1))]
        return f(draw(st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"])), one(), one())

    def logic() -> Expression:
        return f(draw(st.sampled_from(["and", "or"])), truths(draw, depth - 1), truths(draw, depth - 1))

    def of_text() -> Expression:
        name = draw(st.sampled_from(["like", "starts_with", "ends_with", "contains"]))
        return f(name, texts(draw, depth - 1), draw(st.sampled_from(WORDS)))

    def listed() -> Expression:
        return f("in", texts(draw, depth - 1), *draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)))

    leaves: list[Callable[[], Expression]] = [
        lambda: Column("b"),
        lambda: Literal(draw(st.booleans())),
        lambda: f("is_null", Column(draw(st.sampled_from(["g", "k", "x", "d", "m", "b"])))),
        lambda: f("gt", Column("k"), 0),
    ]
    nodes = [compared, logic, of_text, listed, lambda: f("not", truths(draw, depth - 1))]
    found: Expression = _drawn(draw, depth, leaves, nodes)
    return found


def texts(draw: Draw, depth: int = 2) -> Expression:
    """A text."""

    def inner() -> Expression:
        return texts(draw, depth - 1)

    leaves: list[Callable[[], Expression]] = [
        lambda: Column("g"),
        lambda: Literal(draw(st.sampled_from(WORDS))),
    ]
    nodes: list[Callable[[], Expression]] = [
        lambda: f(draw(st.sampled_from(["lower", "upper", "trim", "ltrim", "rtrim"])), inner()),
        lambda: f("substring", inner(), draw(st.integers(1, 3)), draw(st.integers(0, 3))),
        lambda: f("concat", inner(), inner()),
        lambda: f("integer_to_text", integers(draw, depth - 1).expression),
        lambda: f("date_to_text", days(draw, depth - 1)),
        lambda: f("case", truths(draw, depth - 1), inner(), inner()),
        lambda: f("coalesce", inner(), inner()),
        lambda: f("case", truths(draw, depth - 1), Literal(None), inner()),
    ]
    found: Expression = _drawn(draw, depth, leaves, nodes)
    return found


def days(draw: Draw, depth: int = 2) -> Expression:
    """A day."""
    leaves: list[Callable[[], Expression]] = [
        lambda: Column("d"),
        lambda: Literal(draw(st.sampled_from([date.min, date.max, date(2024, 2, 29)]))),
    ]
    nodes: list[Callable[[], Expression]] = [
        lambda: f(
            "date_trunc", draw(st.sampled_from(["year", "quarter", "month", "week", "day"])), days(draw, depth - 1)
        ),
        lambda: f("add_days", days(draw, depth - 1), draw(st.sampled_from([0, 1, -1, 400, 10**7, -(10**7)]))),
        lambda: f("text_to_date", texts(draw, depth - 1)),
        lambda: f("timestamp_to_date", moments(draw, depth - 1)),
        lambda: f("case", truths(draw, depth - 1), days(draw, depth - 1), days(draw, depth - 1)),
    ]
    nodes.append(lambda: f("case", truths(draw, depth - 1), days(draw, depth - 1), Literal(None)))
    found: Expression = _drawn(draw, depth, leaves, nodes)
    return found


def moments(draw: Draw, depth: int = 2) -> Expression:
    """A moment."""
    leaves: list[Callable[[], Expression]] = [
        lambda: Column("m"),
        lambda: Literal(draw(st.sampled_from([datetime.min, datetime.max, datetime(2024, 2, 29, 1, 2, 3, 4)]))),
    ]
    units = ["year", "quarter", "month", "week", "day", "hour", "minute"]
    nodes: list[Callable[[], Expression]] = [
        lambda: f("date_trunc", draw(st.sampled_from(units)), moments(draw, depth - 1)),
        lambda: f("date_to_timestamp", days(draw, depth - 1)),
        lambda: f("coalesce", moments(draw, depth - 1), moments(draw, depth - 1)),
    ]
    found: Expression = _drawn(draw, depth, leaves, nodes)
    return found


# --- relations: each has the columns of events, so that they can be put on top of one another -------------------------


def relations(draw: Draw, base: Relation, depth: int = 2) -> Relation:
    """A relation with the columns of events, over ``base``."""
    if depth == 0:
        return base
    inner = relations(draw, base, depth - 1)
    same = {name: Column(name) for name in ("id", "g", "k", "x", "d", "m", "b")}

    def shaped(source: Relation, **changed: Expression) -> Relation:
        return Project(source, (HERE, *((same | changed).items())))

    def changed() -> Relation:
        small, x = f("mod", integers(draw, 2).expression, 4), integers(draw, 2).expression
        return shaped(inner, g=texts(draw, 2), k=small, x=x, d=days(draw, 1), b=truths(draw, 2))

    def joined() -> Relation:
        how = draw(st.sampled_from([How.INNER, How.LEFT]))
        on = draw(st.sampled_from([(("g", "g"),), (("k", "k"),), (("g", "g"), ("k", "k"))]))
        return shaped(Join(inner, PLACES, on, how), x=Column("worth"), g=Column("g_2_2"))

    def own() -> Relation:
        other = Project(Filter(inner, truths(draw, 1)), (HERE, ("y", Column("x")), ("k", Column("k"))))
        on = draw(st.sampled_from([((UNIT, UNIT),), ((UNIT, UNIT), ("k", "k"))]))
        return shaped(
            Join(inner, other, on, draw(st.sampled_from([How.INNER, How.LEFT]))), x=Column("y"), k=Column("k_2")
        )

    def summed() -> Relation:
        where = truths(draw, 1) if draw(st.booleans()) else None
        measures = (
            Measure("id", Aggregate.COUNT, (), where), Measure("x", Aggregate.SUM, (Column("x"),), where),
            Measure("d", Aggregate.MAX, (Column("d"),)), Measure("n", Aggregate.COUNT_DISTINCT, (Column("k"),), where),
            Measure("low", Aggregate.MIN, (Column("g"),), where),
        )  # fmt: skip
        keys = draw(st.sampled_from([("g",), ("b",), ("k", "g"), ()]))
        found = PerUnit(inner, (HERE, *((f"key_{name}", Column(name)) for name in keys)), measures)
        return shaped(found, k=f("mod", Column("n"), 4), g=Column("low"), m=f("date_to_timestamp", Column("d")),
                      b=f("gt", Column("id"), 1))  # fmt: skip

    def ordered() -> Relation:
        part = (Column(UNIT), *draw(st.sampled_from([(), (Column("g"),), (Column("b"),)])))
        down = draw(st.booleans())
        whole = tuple(Order(Column(name), down) for name in ("d", "x", "g", "k", "m", "b", "id"))
        some = (Order(draw(st.sampled_from([Column("k"), Column("g"), integers(draw, 1).expression])), down),)
        frame = draw(st.sampled_from([None, (-1, 0), (None, 1), (0, None), (1, 2)]))
        made = (
            Window("place", "row_number", (), part, whole),
            Window("rank", draw(st.sampled_from(["rank", "dense_rank"])), (), part, some),
            Window("text", draw(st.sampled_from(["lag", "lead"])),
                   (Column("g"), Literal(draw(st.integers(0, 2)))), part, whole),
            Window("day", draw(st.sampled_from(["first_value", "last_value"])), (Column("d"),), part, whole, frame),
            Window("sum", "sum", (Column("x"),), part, whole, frame),
            Window("least", draw(st.sampled_from(["min", "max"])), (Column("m"),), part, some),
            Window("known", "count", (Column("g"),), part, draw(st.sampled_from([(), some]))),
        )  # fmt: skip
        return shaped(UnitWindows(inner, made), id=Column("place"), k=f("mod", Column("rank"), 4), x=Column("sum"),
                      g=Column("text"), d=Column("day"), m=Column("least"), b=f("gt", Column("known"), 2))  # fmt: skip

    nodes: list[Callable[[], Relation]] = [
        lambda: inner,
        ordered,
        lambda: Filter(inner, truths(draw, 2)),
        changed,
        joined,
        own,
        lambda: UnionAll((inner, base)),
        summed,
    ]
    return nodes[draw(st.integers(0, len(nodes) - 1))]()


# --- works ------------------------------------------------------------------------------------------------------------


def weights(draw: Draw) -> Weights:
    """Any bounding."""
    form = draw(st.sampled_from(list(Form)))
    cap, scale = draw(st.integers(1, 12)), draw(st.sampled_from([1, 2, 7, 720, 1 << 20]))
    return Weights(form=form, cap=cap, scale=scale, per_group=None if form is Form.ROWS else draw(st.integers(1, 4)))


def _key(draw: Draw, number: int) -> WorkKey:
    name = f"key{number}"
    match draw(st.integers(0, 4)):
        case 0:
            allowed = draw(st.none() | st.lists(st.sampled_from([*WORDS, None]), unique=True, max_size=5))
            return WorkKey(name, texts(draw, 1), None if allowed is None else tuple(allowed))
        case 1:
            public = draw(st.none() | st.just((0, 1, -1, None)))
            return WorkKey(name, integers(draw, 1).expression, public)
        case 2:
            return WorkKey(name, truths(draw, 1), draw(st.sampled_from([None, (True, False), (True,), (None, False)])))
        case 3:
            return WorkKey(name, days(draw, 1), draw(st.sampled_from([None, (date.min, date(2024, 2, 29), None)])))
        case _:
            return WorkKey(name, moments(draw, 1), None)


@dataclass(frozen=True)
class Asked:
    """A work, and how far from zero the value of each of its cells can be."""

    work: AnyWork
    bounds: tuple[int, ...]


@st.composite
def works(draw: Draw) -> Asked:
    """Any work over a random relation."""
    source = relations(draw, draw(st.sampled_from([EVENTS, BY_NAME])))
    keys = tuple(_key(draw, n) for n in range(draw(st.integers(0, 2))))
    salt = draw(st.sampled_from(["", "salt", "'|"]))
    most = draw(st.integers(1, 3)) if draw(st.booleans()) else None
    kind = draw(st.integers(0, 6))
    if kind >= 5:
        totals = tuple(_total(draw) for _ in range(draw(st.integers(1, 3))))
        base: dict[str, Any] = {"source": source, "unit": UNIT, "keys": keys, "most_keys": most, "salt": salt}
        if kind == 5:
            edges = draw(st.sets(st.sampled_from([0, 1, 2, 3, 5, 100, 2**53, 2**62 - 1])))
            return Asked(UnitClasses(totals=totals, edges=tuple(sorted(edges)), **base), (1,))
        cells = tuple(ClippedSum(total, draw(st.sampled_from([1, 2, 5, 1000, 2**41]))) for total in totals)
        clipped = TotalsWork(cells=cells, scale=draw(st.sampled_from([1, 7, 1 << 20])), **base)
        return Asked(clipped, (1,) * len(cells))
    if kind == 0:
        kinds: list[Callable[[], Expression]] = [
            lambda: texts(draw, 1), lambda: days(draw, 1), lambda: truths(draw, 1), lambda: moments(draw, 1),
            lambda: integers(draw, 1).expression,
        ]  # fmt: skip
        value = kinds[draw(st.integers(0, len(kinds) - 1))]()
        work = DistinctWork(source=source, unit=UNIT, keys=keys, value=value, cap=draw(st.integers(1, 4)), salt=salt)
        return Asked(work, (1,))
    bounding = weights(draw)
    split = draw(st.booleans()) and draw(st.booleans())
    summed = integers(draw, 2)
    sums = (RowSum(Literal(1)), RowSum(summed.expression))
    counts_units = not split and (bounding.per_group == 1 or (bounding.form is Form.ROWS and not keys))
    by = WorkKey("split", integers(draw, 1).expression, draw(st.sampled_from([None, (0, 1, 2)])))
    bounded = Work(
        source=source, unit=UNIT, keys=keys, cells=(*sums, UnitSum()) if counts_units else sums, weights=bounding,
        split=by if split else None, most_keys=most, salt=salt,
    )  # fmt: skip
    return Asked(bounded, (1, summed.bound, 1)[: len(bounded.cells)])


def _total(draw: Draw) -> Total:
    if draw(st.integers(0, 3)) == 0:
        return Total(draw(st.sampled_from([None, Literal(1)])))
    return Total(integers(draw, 2).expression)
