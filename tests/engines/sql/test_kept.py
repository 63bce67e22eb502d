"""By what kept columns are found: never by less than what decides their value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from discreet.engines.sql.kept import RowsOf, count_name, key_name, never_null, passing, rows_of, unit_name, value_name
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Filter, Join, Project, Scan, UnionAll
from discreet.query.plan.types import Value

Said: TypeAlias = tuple[Expression, tuple[Value, ...] | None]
X, SCAN = Column("x"), Scan("t")
READ = Call("read_integer", (X, Literal(0), Literal(9)))


def test_expressions_are_followed_down_to_the_table() -> None:
    below = Project(SCAN, (("y", READ), ("z", X)))
    above = Project(Filter(below, Call("gt", (Column("y"), Literal(1)))), (("x", Call("neg", (Column("y"),))),))
    found = rows_of(above)
    assert isinstance(found, RowsOf)
    assert found.filtered
    assert found.over_table(X) == Call("neg", (READ,))  # x above is not the x below
    plain = rows_of(below)
    assert plain is not None
    assert not plain.filtered


def test_other_relations_have_no_rows_of_one_table() -> None:
    other = Project(SCAN, (("x", X),))
    assert rows_of(Join(other, other, (("x", "x"),))) is None
    assert rows_of(UnionAll((other, other))) is None
    assert rows_of(Project(Scan("t", numbered=True), (("x", X),))) is None


def test_further_columns_come_through_all_layers() -> None:
    relation = Project(Filter(Project(SCAN, (("x", X),)), Column("x")), (("y", X),))
    found = passing(relation, ["kept"])
    assert isinstance(found, Project)
    assert found.columns == (("y", X), ("kept", Column("kept")))
    assert isinstance(found.source, Filter)
    assert found.source.source == Project(SCAN, (("x", X), ("kept", Column("kept"))))


def test_what_differs_has_another_name() -> None:
    keys: list[Sequence[Said]] = [
        ((READ, (1, 2)),),
        ((READ, (1, 3)),),
        ((READ, None),),
        ((X, (1, 2)),),
        (),
        ((READ, (1, 2)), (READ, None)),
    ]
    names = [count_name(what, unit, one) for what in ("rows", "first") for unit in (X, READ) for one in keys]
    names += [
        key_name(READ, (1, 2)),
        key_name(READ, (True, 2)),
        key_name(READ, None),
        value_name(READ),
        unit_name(READ),
    ]
    assert None not in names
    assert len(set(names)) == len(names)
    assert value_name(X) is None


def test_what_is_long_has_no_name() -> None:
    long: Expression = READ
    for _ in range(12):
        long = Call("add", (long, long))
    assert value_name(long) is key_name(long, None) is count_name("rows", long, []) is None
    assert count_name("rows", X, [(long, None)]) is None


def test_null_is_seen_wherever_it_can_be() -> None:
    zero = Call("coalesce", (READ, Literal(0)))
    never: list[Expression] = [zero, Call("floor_div", (zero, Literal(3))), Call("coalesce", (zero, X)), Literal("")]
    assert all(map(never_null, never))
    possible: list[Expression] = [
        READ,
        X,
        Literal(None),
        Call("coalesce", (X, Literal(None))),
        Call("div", (zero, zero)),
    ]
    assert not any(map(never_null, possible))
    assert not never_null(Call("text_to_integer", (Literal("a"),)))
