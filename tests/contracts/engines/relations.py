"""Lowered relations of every node over the tables of events (``t``), and a public table (``p``)."""

from __future__ import annotations

from datetime import date

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
    Scan,
    UnionAll,
    UnitWindows,
    Window,
)
from tests.contracts.engines.lab import READ, UNIT, columns, f, only, reading

EVENTS = reading("t", "u", "id", "g", "k", "x", "d", "m", "b")
BY_NAME = reading("t", "name", "id", "g", "k", "x", "d", "m", "b")
PLACES = Project(Scan("p"), tuple((name, READ[name]) for name in ("g", "k", "worth", "g_2")))
SAME = tuple((name, Column(name)) for name in columns(EVENTS))
HERE = (UNIT, Column(UNIT))
SMALL_X = f("read_integer", Column("x"), -1000, 1000)


def measure(name: str, what: Aggregate, *arguments: Expression, where: Expression | None = None) -> Measure:
    return Measure(name, what, arguments, where, None)


def summary(source: Relation, *keys: tuple[str, Expression], where: Expression | None = None) -> PerUnit:
    """Every measure that one unit can have, of every kind."""
    measures = [measure("rows", Aggregate.COUNT, where=where)]
    measures += [
        measure(f"{what.value}_{kind}", what, Column(kind), where=where)
        for kind in ("g", "k", "x", "d")
        for what in (Aggregate.COUNT, Aggregate.COUNT_DISTINCT, Aggregate.MIN, Aggregate.MAX)
    ]
    measures += [measure("sum_x", Aggregate.SUM, Column("x"), where=where)]
    measures += [measure("sum_k", Aggregate.SUM, Column("k"), where=where)]
    return PerUnit(source, (HERE, *keys), tuple(measures))


def windows(source: Relation, *keys: Expression, descending: bool = False) -> UnitWindows:
    """Every window function, of every kind; where ties matter, the order is of all columns."""
    part = (Column(UNIT), *keys)
    whole = tuple(Order(Column(name), descending) for name in ("d", "g", "x", "k", "m", "b", "id"))
    some = whole[:1]
    made = [Window("place", "row_number", (), part, whole), Window("rank", "rank", (), part, some),
            Window("dense", "dense_rank", (), part, whole[:2])]  # fmt: skip
    for kind in ("g", "x", "d", "m", "b"):
        made += [
            Window(f"before_{kind}", "lag", (Column(kind), Literal(1)), part, whole),
            Window(f"after_{kind}", "lead", (Column(kind), Literal(2)), part, whole),
            Window(f"first_{kind}", "first_value", (Column(kind),), part, whole),
            Window(f"last_{kind}", "last_value", (Column(kind),), part, whole, (-1, 2)),
        ]
    made += [Window("sum_x", "sum", (Column("x"),), part, some), Window("all_x", "sum", (Column("x"),), part),
             Window("near_k", "sum", (Column("k"),), part, whole, (-2, None)),
             Window("rows", "count", (), part, whole, (1, 3)), Window("known", "count", (Column("g"),), part, some),
             Window("least_g", "min", (Column("g"),), part, some),
             Window("most_d", "max", (Column("d"),), part)]  # fmt: skip
    return UnitWindows(source, tuple(made))


JOINED = Join(EVENTS, PLACES, (("g", "g"),))
RELATIONS: dict[str, Relation] = {
    "project": only(EVENTS, ("v", f("add", SMALL_X, Column("k"))), ("g", Column("g")), ("w", Literal(None))),
    "constant columns": only(EVENTS, ("v", Literal(7)), ("t", Literal("x")), ("b", Literal(True)),
                             ("d", Literal(date(2024, 2, 29)))),
    "filter": Filter(EVENTS, Column("b")),
    "filter not": Filter(EVENTS, f("not", Column("b"))),
    "filter by NULL": Filter(EVENTS, Literal(None)),
    "filter by true": Filter(EVENTS, Literal(True)),
    "filter twice": Filter(Filter(EVENTS, f("gt", Column("k"), 0)), f("or", Column("b"), f("is_null", Column("g")))),
    "filter of a unit": Filter(EVENTS, f("ne", Column(UNIT), 7)),
    "join": JOINED,
    "join left": Join(EVENTS, PLACES, (("g", "g"),), How.LEFT),
    "join on two": Join(EVENTS, PLACES, (("g", "g"), ("k", "k")), How.LEFT),
    "join on a key that is not there": Join(EVENTS, Filter(PLACES, Literal(False)), (("g", "g"),), How.LEFT),
    "join and nobody": Join(EVENTS, Filter(PLACES, Literal(False)), (("g", "g"),)),
    "public left": Join(PLACES, EVENTS, (("g", "g"),)),
    "join of a join": Join(JOINED, PLACES, (("worth", "worth"),), How.LEFT),
    "of one unit": Join(EVENTS, only(Filter(EVENTS, Column("b")), ("k", Column("k"))), ((UNIT, UNIT), ("k", "k"))),
    "of one unit left": Join(
        EVENTS, only(Filter(EVENTS, Column("b")), ("y", Column("k"))), ((UNIT, UNIT),), How.LEFT
    ),
    "of one unit by name": Join(BY_NAME, only(BY_NAME, ("y", Column("g"))), ((UNIT, UNIT),)),
    "union": UnionAll((EVENTS, EVENTS)),
    "union of filters": UnionAll((Filter(EVENTS, Column("b")), Filter(EVENTS, f("lt", Column("k"), 0)), EVENTS)),
    "union with other names": UnionAll(
        (only(EVENTS, ("a", Column("k")), ("b", Column("g"))), only(EVENTS, ("c", Column("x")), ("a", Column("g"))))
    ),
    "union with an empty part": UnionAll((Filter(EVENTS, Literal(False)), EVENTS)),
    "per unit": summary(EVENTS),
    "per unit and key": summary(EVENTS, ("g2", Column("g"))),
    "per unit and keys": summary(EVENTS, ("b2", Column("b")), ("r", f("mod", Column("k"), 2))),
    "per unit where": summary(EVENTS, where=f("gt", Column("k"), 0)),
    "per unit where nothing": summary(EVENTS, ("d2", Column("d")), where=Literal(None)),
    "per unit by name": summary(BY_NAME, ("m2", Column("m"))),
    "per unit of nothing": summary(Filter(EVENTS, Literal(False))),
    "per unit of a join": summary(Project(JOINED, SAME)),
    "per unit of per unit": PerUnit(
        summary(EVENTS, ("g2", Column("g"))),
        (HERE, ("rows2", Column("rows"))),
        (measure("n", Aggregate.COUNT), measure("top", Aggregate.MAX, Column("max_d")),
         measure("sum", Aggregate.SUM, Column("sum_x"))),
    ),
    "windows": windows(EVENTS),
    "windows down, by key": windows(EVENTS, Column("g"), descending=True),
    "windows by name": windows(BY_NAME, f("mod", Column("k"), 2)),
    "windows of nothing": windows(Filter(EVENTS, Literal(False))),
    "first row of each unit": Filter(windows(EVENTS), f("eq", Column("place"), 1)),
    "windows of windows": UnitWindows(
        Project(windows(EVENTS), (*SAME, ("start", f("case", f("gt", Column("place"), 1), 0, 1)))),
        (Window("part", "sum", (Column("start"),), (Column(UNIT),), (Order(f("add", SMALL_X, Column("k"))),)),),
    ),
    "windows of per unit": UnitWindows(
        summary(EVENTS, ("g2", Column("g"))),
        (Window("place", "row_number", (), (Column(UNIT),), (Order(Column("rows"), True), Order(Column("g2")))),),
    ),
    "windows of public rows": Join(EVENTS, UnitWindows(
        PLACES, (Window("n", "count", (), (Column("g"),)), Window("top", "rank", (), (), (Order(Column("worth")),)))
    ), (("g", "g"),)),
    "filter of per unit": Filter(summary(EVENTS), f("ge", Column("rows"), 10)),
    "join of per unit": Join(EVENTS, summary(EVENTS), ((UNIT, UNIT),)),
    "names": Join(
        only(EVENTS, ("x", Column("k")), ("x_2", Column("id")), ("group", Column("g")), ("a b", Column("b"))),
        only(EVENTS, ("x", Column("d")), ("select", Column("x")), ('quo"te', Column("g")), ("Group", Column("k"))),
        ((UNIT, UNIT),),
    ),
}  # fmt: skip
