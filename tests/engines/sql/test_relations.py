"""Lowered relations as SQL: rows by hand, and no name of a user but quoted."""

from __future__ import annotations

from typing import Any

import duckdb as driver
import pytest

from discreet.engines.sql.dialects import DUCKDB
from discreet.engines.sql.relations import Origin, Relations, free_name, scanned
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Aggregate, Filter, How, Join, Measure, PerUnit, Project, Relation, Scan, UnionAll
from discreet.query.plan.schema import Stored, StoredKind
from discreet.query.plan.types import LARGEST
from tests.helpers.works import f

EVIL = 'x"; DROP TABLE "t'
LEFT = Origin("(VALUES (1, 'a'), (2, 'b'), (3, NULL)) AS l(id, k)",
              {"id": Stored(StoredKind.INTEGER), "k": Stored(StoredKind.TEXT)})  # fmt: skip
RIGHT = Origin("(VALUES ('a', 10), ('a', 20), (NULL, 30)) AS r(k, id)",
               {"k": Stored(StoredKind.TEXT), "id": Stored(StoredKind.INTEGER)})  # fmt: skip
L = Project(Scan("left"), (("id", f("read_integer", Column("id"), -99, 99)), ("k", f("read_text", Column("k")))))
R = Project(Scan("right"), (("k", f("read_text", Column("k"))), ("id", f("read_integer", Column("id"), -99, 99))))


def rows(node: Relation) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names of columns, and rows in order."""
    tables = {
        "left": Origin(f"(SELECT * FROM {LEFT.sql})", LEFT.stored),
        "right": Origin(f"(SELECT * FROM {RIGHT.sql})", RIGHT.stored),
    }
    found = Relations(DUCKDB, tables).rows(node)
    listed = ", ".join(piece.sql for piece in found.columns.values())
    return list(found.columns), driver.execute(f"SELECT {listed} FROM {found.sql} AS t ORDER BY ALL").fetchall()


def test_a_filter_keeps_what_is_true() -> None:
    assert rows(Filter(L, f("eq", Column("k"), "a")))[1] == [(1, "a")]
    assert rows(Filter(L, Literal(None)))[1] == []


@pytest.mark.parametrize(("how", "right"), [(How.INNER, []), (How.LEFT, [(2, "b", None, None), (3, None, None, None)])])
def test_a_join_renames_and_null_is_no_match(how: How, right: list[Any]) -> None:
    names, found = rows(Join(L, R, (("k", "k"),), how))
    assert names == ["id", "k", "k_2", "id_2"]
    assert found == [(1, "a", "a", 10), (1, "a", "a", 20), *right]


def test_a_join_on_nothing_but_null_has_no_match() -> None:
    null = Project(R, (("k", Literal(None)),))
    assert rows(Join(L, null, (("k", "k"),)))[1] == []
    assert len(rows(Join(L, R, ()))[1]) == 9


def test_a_union_takes_the_kind_from_the_part_that_has_one() -> None:
    empty = Project(L, (("id", Literal(None)), ("k", Column("k"))))
    names, found = rows(UnionAll((empty, L)))
    assert names == ["id", "k"]
    assert found == [(1, "a"), (2, "b"), (3, None), (None, "a"), (None, "b"), (None, None)]


def test_sums_of_a_unit_are_clamped_and_conditions_choose_rows() -> None:
    large = f("mul", Column("id"), LARGEST // 30)
    node = PerUnit(R, (("k", Column("k")),), (
        Measure("n", Aggregate.COUNT, ()),
        Measure("some", Aggregate.COUNT, (), where=f("gt", Column("id"), 10)),
        Measure("s", Aggregate.SUM, (Column("id"),)),
        Measure("large", Aggregate.SUM, (f("add", large, large),)),
    ))  # fmt: skip
    names, found = rows(node)
    assert names == ["k", "n", "some", "s", "large"]
    assert found == [("a", 2, 1, 30, LARGEST), (None, 1, 1, 30, LARGEST)]


def test_names_of_users_reach_the_database_only_quoted() -> None:
    origin = Origin("(SELECT 1 AS id)", {EVIL: Stored(StoredKind.INTEGER)})
    node = Project(Scan("t"), ((EVIL, f("read_integer", Column(EVIL), 0, 9)), ("'; --", Literal(1))))
    found = Relations(DUCKDB, {"t": origin}).rows(node)
    assert [piece.sql for piece in found.columns.values()] == ['"c0"', '"c1"']
    assert found.sql.count(EVIL) == 0
    assert found.sql.count(EVIL.replace('"', '""')) == found.sql.count("DROP") > 0
    assert "--" not in found.sql


def test_tables_that_are_read_and_names_that_are_free() -> None:
    assert scanned(UnionAll((Join(L, R, ()), Filter(L, Literal(True))))) == {"left", "right"}
    assert [free_name("x", taken) for taken in ([], ["x"], ["x", "x_2"], ["X"])] == ["x", "x_2", "x_3", "x"]
