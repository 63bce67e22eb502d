"""Row order, pieces, files and threads never change an exact aggregate."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb.engine import duckdb
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import Project, Scan
from discreet.query.plan.schema import Table, resolve
from discreet.query.plan.work import AnyWork, DistinctWork, Form, Weights, Work
from tests.contracts.engines import forms
from tests.contracts.engines.lab import ENGINES, ORACLE, READ, UNIT, EngineCase, Lab, numbers
from tests.helpers.tables import crowd

pytestmark = pytest.mark.slow

ROWS = crowd(90)


def works() -> list[AnyWork]:
    found = [work for name in ("text with NULL", "no key") for work in list(forms.known(name))[::5]]
    found += [work for name in ("text and truth", "moments") for work in list(forms.unknown(name))[::9]]
    as_stored = Project(Scan("t"), ((UNIT, Column("name")), ("g", READ["g"])))
    one = Weights(form=Form.ROWS, cap=1, scale=1000)
    found += [Work(source=as_stored, unit=UNIT, keys=(forms.key("g"),), cells=(forms.ONE,), weights=one)]
    return [*found, *list(forms.distinct("days"))[::4], *list(forms.split("truth"))[::5]]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name, marks=case.marks) for case in ENGINES])
def test_a_layout_changes_nothing(case: EngineCase, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    lab = case.open(request)
    asked = lab.some(works())
    right = ORACLE.run(asked, {"t": ROWS})
    for layout, source in {"as it is": lab.load("t", ROWS), **case.layouts(ROWS, tmp_path)}.items():
        schemas = {"t": resolve("t", Table(source=source, unit=None, public=True), lab.engine.columns(source))}
        got = [numbers(exact) for exact in lab.engine.run(asked, schemas)]
        assert got == right, layout


def many_rows(rows: int = 400_000) -> pa.Table:
    """Enough rows that threads share them, with sums far beyond 64 bits."""
    rng = np.random.default_rng(7)
    units = (rng.pareto(1.0, rows) * 50).astype(np.int64) % 20_000
    groups = pa.array(np.array(["a", "A", "a ", "", "\u00e9", "e\u0301"], dtype=object)[rng.integers(0, 6, rows)])
    return pa.table(
        {
            "id": pa.array(np.arange(rows)), "u": pa.array(units), "name": pa.array(units).cast(pa.string()),
            "g": groups, "b": pa.array(rng.integers(0, 2, rows) == 1),
            "k": pa.array(rng.integers(-3, 4, rows)), "x": pa.array(rng.integers(-(2**62), 2**62, rows)),
            "d": pa.array(rng.integers(0, 30, rows).astype(np.int32)).cast(pa.date32()),
            "m": pa.array(rng.integers(0, 10**6, rows)).cast(pa.timestamp("us")),
        }
    )  # fmt: skip


def test_threads_change_nothing(tmp_path: Path) -> None:
    table = many_rows()
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=20_000)
    asked: list[AnyWork] = [
        forms.sums(forms.UNKNOWN["text and truth"], Weights(form=Form.L2, cap=5, scale=1 << 20, per_group=2)),
        forms.sums(
            forms.UNKNOWN["days"], Weights(form=Form.L1, cap=3, scale=1 << 20, per_group=1), most_keys=3, salt="s"
        ),
        forms.sums(forms.KNOWN["text"], Weights(form=Form.ROWS, cap=10, scale=1 << 20)),
        DistinctWork(source=forms.source(), unit=UNIT, keys=(), value=Column("d"), cap=2, salt="s"),
    ]
    answers = []
    for threads, source in ((1, table), (4, table), (4, tmp_path / "rows.parquet"), (2, tmp_path / "rows.parquet")):
        engine = duckdb(threads=threads)
        schemas = Lab(engine, lambda _name, _table, source=source: source).schemas({"t": table})  # type: ignore[misc]
        answers.append([numbers(exact) for exact in engine.run(asked, schemas)])
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert all(answers[0])
