"""What a prepared copy keeps: the same exact numbers, no unit that reaches too far, planted faults that are caught."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.duckdb import kept_columns
from discreet.engines.duckdb.engine import duckdb
from discreet.engines.duckdb.prepared import prepare
from discreet.engines.duckdb.source import describe, needs
from discreet.engines.sources import open_source
from discreet.engines.sql.dialects import DUCKDB
from discreet.engines.sql.emit import emit
from discreet.engines.sql.kept import unit_name
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Filter, Project, Scan
from discreet.query.plan.schema import Schema, Table, resolve
from discreet.query.plan.work import AnyWork, Form, RowSum, UnitSum, Weights, Work, WorkKey
from tests.contracts.engines import forms
from tests.contracts.engines.lab import ORACLE, READ, UNIT, Lab, f
from tests.contracts.engines.random_works import Asked
from tests.contracts.engines.test_sensitivity import CROWDED, every_form, refutations
from tests.helpers.extent import extent
from tests.helpers.tables import crowd

NEVER_NULL = WorkKey("s", f("coalesce", f("read_integer", Column("k"), 0, 9), 0), None)
HUGE = Weights(form=Form.L1, cap=1, scale=4, per_group=1)
"""Weights under which the rows of a unit with many rows in a group weigh 0."""


@dataclass(frozen=True)
class Copies(Lab):
    """DuckDB over copies that were made for the works which are asked."""

    folder: Path = Path()
    numbers: Any = None

    def schemas(self, tables: Mapping[str, pa.Table], works: Sequence[AnyWork] = ()) -> dict[str, Schema]:
        found = {}
        for name, table in tables.items():
            given: Any = table
            if name == "t":
                path = self.folder / f"{next(self.numbers)}.duckdb"
                given = prepare(table, path, unit=unit_of(works), works=[w for w in works if isinstance(w, Work)])
            made = Table(source=given, unit=None, public=True)
            found[name] = resolve(name, made, self.engine.columns(given))
        return found

    def run(self, works: Sequence[AnyWork], tables: Mapping[str, pa.Table]) -> list[Any]:
        from tests.contracts.engines.lab import numbers

        return [numbers(exact) for exact in self.engine.run(works, self.schemas(tables, works))]


def unit_of(works: Sequence[AnyWork]) -> str:
    return "name" if "Column(name='name')" in repr(works[0].source) else "u"


@pytest.fixture
def copies(tmp_path: Path) -> Copies:
    return Copies(duckdb(threads=1), folder=tmp_path, numbers=count())


def works(unit: str) -> list[Work]:
    """Every form; a split that is never NULL, also picked; weights of 0; and some that the counts do not serve."""
    found = [one.work for one in every_form(unit) if isinstance(one.work, Work)]
    source: Any = forms.source(unit)
    base: dict[str, Any] = {"source": source, "unit": UNIT}
    key = forms.KNOWN["text"]
    found += [
        Work(keys=key, cells=(RowSum(Literal(1)),), split=NEVER_NULL, weights=weights, **base)
        for weights in forms.BOUNDING[3:6]
    ]
    once = next(one for one in forms.BOUNDING if one.per_group == 1)
    picked = Work(keys=key, cells=(RowSum(Literal(1)),), split=NEVER_NULL, weights=once, pick=(12345, 678), **base)
    cells = (RowSum(Literal(1)), RowSum(f("read_integer", Column("x"), -5, 5)), UnitSum())
    heavy = Work(keys=key, cells=cells, weights=HUGE, **base)
    rows = Weights(form=Form.ROWS, cap=1, scale=4)
    filtered = replace(heavy, source=Filter(source, f("gt", Column("k"), 0)))
    return [*found, picked, heavy, replace(heavy, keys=(), cells=cells[:2], weights=rows), filtered]


def statements(lab: Copies, asked: Sequence[Work], table: pa.Table) -> list[str]:
    import duckdb as driver

    source = lab.schemas({"t": table}, asked)["t"].table.source
    opened = open_source(source)
    connection = driver.connect()
    for label, path in needs(opened, "s").databases.items():
        connection.execute(f"ATTACH {DUCKDB.text(path)} AS {label} (READ_ONLY)")
    origin = describe(opened, "s", connection)
    return [emit(work, DUCKDB, {"t": origin}).sql for work in asked]


TABLES = {"few": CROWDED, "crowd": crowd(40), "empty": CROWDED.slice(0, 0)}


@pytest.mark.parametrize(
    ("unit", "table", "start"), [("u", "few", 0), ("name", "crowd", 1), ("name", "few", 2), ("u", "empty", 3)]
)
def test_numbers_are_those_of_the_oracle(copies: Copies, unit: str, table: str, start: int) -> None:
    """Some of the works at a time, and all of them in an audit."""
    step = extent(6, 1)
    asked = works(unit)[start % step :: step]
    rows = TABLES[table]
    for work, got, right in zip(asked, copies.run(asked, {"t": rows}), ORACLE.run(asked, {"t": rows}), strict=True):
        assert got == right, work


def test_kept_counts_are_used_where_they_are_the_same_and_nowhere_else(copies: Copies) -> None:
    asked = works("u")
    for work, sql in zip(asked, statements(copies, asked, CROWDED), strict=True):
        null_split = work.split is not None and work.split != NEVER_NULL
        assert ("kept_n" in sql) == (not isinstance(work.source, Filter) and not null_split), work


def some_forms(unit: str) -> list[Asked]:
    """A few of them, and in an audit all."""
    return [one for one in every_form(unit) if isinstance(one.work, Work)][6 :: extent(7, 1)]


def test_no_unit_reaches_farther_than_claimed(copies: Copies) -> None:
    assert not refutations(copies, some_forms("name"), CROWDED, "name")


def _replaced(old: str, new: str) -> Callable[..., None]:
    right = kept_columns._count

    def count_wrongly(connection: Any, *rest: Any) -> None:
        class Wrong:
            def execute(self, text: str) -> Any:
                return connection.execute(text.replace(old, new))

        right(Wrong(), *rest)  # type: ignore[arg-type]

    return count_wrongly


FAULTS = {
    "rows of all units are counted": ("count(*) AS n", "(SELECT count(*) FROM coded AS o) // 9 AS n"),
    "one row too few": ("count(*) AS n", "greatest(count(*) - 1, 1) AS n"),
    "the first row of the table": ("min(place) AS first", "(SELECT min(place) FROM coded) AS first"),
    "sizes of other units": ("USING (u)", "ON ids.number = (SELECT max(number) FROM ids AS o WHERE o.u = t.u) - 1"),
}


def test_planted_faults_are_caught(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = works("u")[12:18]
    right = ORACLE.run(asked, {"t": CROWDED})
    assert copies.run(asked, {"t": CROWDED}) == right
    faulty = {name: _replaced(*fault) for name, fault in FAULTS.items()}
    for name, fault in faulty.items():
        monkeypatch.setattr(kept_columns, "_count", fault)
        assert copies.run(asked, {"t": CROWDED}) != right, name


def test_a_count_of_the_rows_of_others_reaches_too_far(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that depend on how many rows others have move the sums of others when a unit leaves."""
    monkeypatch.setattr(kept_columns, "_count", _replaced(*FAULTS["rows of all units are counted"]))
    assert refutations(copies, some_forms("u"), CROWDED, "u")


def test_a_copy_of_a_copy_and_names_like_ours(tmp_path: Path) -> None:
    table = pa.table({"u": [2, 1, 2], "discreet_kept_0": [5, 6, 7], "discreet_row": [1, 1, 1], "k0": ["a", "b", "a"]})
    source = Project(Scan("t"), ((UNIT, Column("u")), ("k0", f("read_text", Column("k0")))))
    work = Work(
        source=source, unit=UNIT, keys=(WorkKey("k", Column("k0"), ("a", "b")),), cells=(UnitSum(),),
        weights=Weights(form=Form.L1, cap=1, scale=4, per_group=1),
    )  # fmt: skip
    one = prepare(table, tmp_path / "one.duckdb", unit="u", works=[work])
    other = prepare(one, tmp_path / "other.duckdb", unit="u", works=[work])
    engine = duckdb(threads=1)
    assert engine.columns(other) == engine.columns(one) == engine.columns(table)
    for source_ in (one, other):
        (found,) = engine.run(
            [work], {"t": resolve("t", Table(source=source_, unit=None, public=True), engine.columns(source_))}
        )
        assert dict(zip(found.keys, found.numbers[0].tolist(), strict=True)) == {("a",): 4, ("b",): 4}


def test_units_are_numbered_from_zero_without_gaps(tmp_path: Path) -> None:
    import duckdb as driver

    table = pa.table({"name": ["b", None, "a", "b", "c"]})
    work = Work(
        source=Project(Scan("t"), ((UNIT, READ["name"]),)), unit=UNIT, keys=(), cells=(RowSum(Literal(1)),),
        weights=Weights(form=Form.ROWS, cap=1, scale=4),
    )  # fmt: skip
    copy = prepare(table, tmp_path / "c.duckdb", unit="name", works=[work])
    with driver.connect(copy.path, read_only=True) as opened:
        (column,) = opened.execute(
            "SELECT name FROM discreet_kept WHERE holds = ?", [unit_name(READ["name"])]
        ).fetchall()
        found = opened.execute(f"SELECT name, {column[0]} FROM rows ORDER BY name NULLS LAST").fetchall()
        assert opened.execute(f"SELECT typeof({column[0]}) FROM rows LIMIT 1").fetchone() == ("TINYINT",)
    assert found == [("a", 0), ("b", 1), ("b", 1), ("c", 2), (None, None)]
