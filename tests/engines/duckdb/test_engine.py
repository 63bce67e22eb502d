"""The embedded engine: exact, closed to everything but its sources, quiet about what went wrong, for many threads."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb as driver
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb.engine import DuckDB, duckdb, kind_of
from discreet.engines.duckdb.source import Needs
from discreet.errors import BadParameter, BadQuestion, EngineFailed
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Filter, Project, Relation, Scan
from discreet.query.plan.schema import Schema, Table
from discreet.query.plan.work import DistinctWork, Exact, Form, RowSum, UnitSum, Weights, Work, WorkKey

ONE = RowSum(Literal(1))
TOP = 1 << 62


def f(name: str, *arguments: Any) -> Call:
    return Call(name, tuple(a if isinstance(a, Column | Literal | Call) else Literal(a) for a in arguments))


def schemas(engine: DuckDB, **sources: Any) -> dict[str, Schema]:
    return {
        name: Schema(table=Table(source=source, unit="u"), stored=engine.columns(source), fields={})
        for name, source in sources.items()
    }


def ask(
    source: Any, *keys: WorkKey, value: Expression | None = None, engine: DuckDB | None = None, **more: Any
) -> Exact:
    """Rows, and the sum of a value, by keys; every unit counts in full unless said otherwise."""
    engine = engine or duckdb(threads=2)
    given: dict[str, Any] = {"weights": Weights(form=Form.ROWS, cap=1 << 16, scale=1), "cells": (ONE,)}
    relation: Relation = Project(
        Scan("t"), (("__unit", Column("u")), ("v", value if value is not None else Literal(0)))
    )
    if value is not None:
        given["cells"] = (ONE, RowSum(Column("v")))
    work = Work(source=more.pop("relation", relation), unit="__unit", keys=keys, **given | more)
    (exact,) = engine.run([work], schemas(engine, t=source))
    return exact


def numbers(exact: Exact) -> dict[Any, tuple[int, ...]]:
    return {key: tuple(int(n[i]) for n in exact.numbers) for i, key in enumerate(exact.keys)}


# --- exact ------------------------------------------------------------------------------------------------------------

WHOLE = f("read_integer", Column("x"), -TOP, TOP)


@pytest.mark.slow
def test_sums_are_exact_beyond_doubles_and_beyond_64_bits() -> None:
    small = ask({"u": [1, 2], "x": [(1 << 53) + 1, 0]}, value=WHOLE)
    assert small.numbers[1].dtype == np.int64
    assert small.numbers[1].tolist() == [(1 << 53) + 1]
    large = ask({"u": range(1000), "x": [TOP] * 999 + [-5]}, value=WHOLE)
    assert large.numbers[1].dtype == object
    assert large.numbers[1].tolist() == [999 * TOP - 5]
    assert type(large.numbers[1][0]) is int
    weighed = ask({"u": [1] * 5, "x": [-TOP] * 5}, value=WHOLE, weights=Weights(form=Form.ROWS, cap=5, scale=1 << 40))
    assert weighed.numbers[1].tolist() == [-5 * TOP << 40]


def test_both_kinds_of_numbers_in_one_column() -> None:
    table = {"u": range(4), "k": ["a", "b", "b", "b"], "x": [7, TOP, TOP, TOP]}
    rows = Project(Scan("t"), (("__unit", Column("u")), ("k", f("read_text", Column("k"))), ("v", WHOLE)))
    found = ask(table, WorkKey("k", Column("k"), None), relation=rows, cells=(RowSum(Column("v")),))
    assert numbers(found) == {("a",): (7,), ("b",): (3 * TOP,)}
    assert found.numbers[0].dtype == object


@pytest.mark.slow
def test_many_groups_come_back_whole() -> None:
    n = 200_000
    table = pa.table({"u": np.arange(n), "k": np.arange(n) * 7})
    rows = Project(Scan("t"), (("__unit", Column("u")), ("k", f("read_integer", Column("k"), -TOP, TOP))))
    found = ask(table, WorkKey("k", Column("k"), None), relation=rows)
    assert len(found.keys) == n
    assert sorted(key[0] for key in found.keys) == list(range(0, 7 * n, 7))  # type: ignore[type-var]
    assert set(found.numbers[0].tolist()) == {1}


def test_two_tables_and_several_works_in_one_run() -> None:
    engine = duckdb(threads=1)
    a, b = {"u": [1, 2, None]}, pa.table({"u": ["x", "y", "x"]})
    works = [
        Work(source=Project(Scan(name), (("__unit", Column("u")),)), unit="__unit", keys=(), cells=(UnitSum(), ONE),
             weights=Weights(form=Form.ROWS, cap=1 << 16, scale=1))
        for name in ("a", "b", "a")
    ]  # fmt: skip
    found = engine.run(works, schemas(engine, a=a, b=b))
    assert [numbers(one)[()] for one in found] == [(2, 2), (2, 3), (2, 2)]


# --- what a file says of itself is not believed ---------------------------------------------------------------------


@pytest.mark.slow
def test_nan_is_null_though_no_statistics_know_of_it(tmp_path: Path) -> None:
    """DuckDB 2.0 concludes x <= 1 from the largest value that a file states, and NaN is not among those."""
    path = tmp_path / "nan.parquet"
    pq.write_table(pa.table({"u": range(4), "x": [0.5, float("nan"), 0.5, float("inf")]}), path)
    real = f("read_real", Column("x"), -1, -2, 2)
    assert numbers(ask(path, value=real)) == {(): (4, 1 + 1 + 2)}
    rows = Project(Scan("t"), (("__unit", Column("u")), ("v", real)))
    assert numbers(ask(path, relation=Filter(rows, f("is_null", Column("v"))))) == {(): (1,)}


@pytest.mark.slow
@pytest.mark.parametrize("dictionary", [False, True])
def test_text_of_one_value_beside_null_is_read_as_it_is(tmp_path: Path, dictionary: bool) -> None:
    """DuckDB 2.0 takes IS NULL in a scan for true of all rows of such a group."""
    path = tmp_path / "text.parquet"
    table = pa.table({"u": range(3), "k": pa.array([None, "a", None])})
    pq.write_table(table, path, use_dictionary=dictionary)
    rows = Project(Scan("t"), (("__unit", Column("u")), ("k", f("read_text", Column("k")))))
    key = WorkKey("k", Column("k"), ("b", None))
    assert numbers(ask(path, key, relation=rows)) == {(None,): (2,)}
    assert numbers(ask(path, relation=Filter(rows, f("is_null", Column("k"))))) == {(): (2,)}


def test_false_statistics_do_not_lift_a_bound(tmp_path: Path) -> None:
    """A file whose statistics are for other values: the clamp holds all the same."""
    path = tmp_path / "false.parquet"
    table = pa.table({"u": pa.array([1, 2], pa.int64()), "x": pa.array([3, 0x1122334455], pa.int64())})
    pq.write_table(table, path, use_dictionary=False, compression="none")
    three, four, large = (n.to_bytes(8, "little") for n in (3, 4, 0x1122334455))
    data = path.read_bytes().split(three + large)  # elsewhere it is what is said of the data
    assert len(data) == 2
    path.write_bytes((three + large).join(part.replace(large, four) for part in data))
    assert pq.ParquetFile(path).metadata.row_group(0).column(1).statistics.max == 4
    assert numbers(ask(path, value=f("read_integer", Column("x"), 0, 10))) == {(): (2, 13)}


# --- closed ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('{other}')",
        "SELECT * FROM read_csv('{other}')",
        "SELECT * FROM sniff_csv('{other}')",
        "SELECT * FROM '{other}'",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_parquet('{folder}/*.parquet')",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{folder}/new.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET allowed_paths = ['{other}']",
        "SET disabled_optimizers = ''",
        "RESET lock_configuration",
        "SELECT * FROM frame_of_the_program",
        "SELECT * FROM 'http://127.0.0.1:9/x.parquet'",
    ],
)
def test_nothing_but_the_sources_can_be_reached(sql: str, tmp_path: Path) -> None:
    frame_of_the_program = pa.table({"a": [1]})
    assert frame_of_the_program.num_rows == 1
    source, other = tmp_path / "own.parquet", tmp_path / "other.csv"
    pq.write_table(pa.table({"u": [1]}), source)
    other.write_text("secret\n1\n")
    engine = duckdb(threads=1)
    assert numbers(ask(source, engine=engine)) == {(): (1,)}
    with pytest.raises(driver.Error):
        engine._connection(Needs()).cursor().execute(sql.format(other=other, folder=tmp_path)).fetchall()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.csv", "own.parquet"]


def test_a_database_is_opened_for_reading_only(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with driver.connect(str(path)) as connection:
        connection.execute("CREATE TABLE rows AS SELECT 1 AS u")
    engine = duckdb(threads=1)
    assert numbers(ask(f"{path}::rows", engine=engine)) == {(): (1,)}
    with pytest.raises(driver.Error):
        engine._connection(Needs()).cursor().execute("INSERT INTO source0.main.rows VALUES (2)")


def test_frames_of_one_run_are_not_seen_by_another() -> None:
    engine = duckdb(threads=1)
    ask({"u": [1]}, engine=engine)
    with pytest.raises(driver.Error):
        engine._connection(Needs()).cursor().execute("SELECT * FROM source0")


# --- columns of no use ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["frame", "file"])
def test_a_column_of_a_type_that_cannot_be_read_is_called_so(tmp_path: Path, source: str) -> None:
    numbers = pa.array([1, 2, 3], pa.int64())
    table = pa.table({"u": [1, 2, 3], "raw": pa.array([b"1", b"2", b"3"])})
    pq.write_table(table.append_column("ms", numbers.view(pa.timestamp("ms"))), tmp_path / "x.parquet")
    session = dp.Session(
        t=dp.table(table if source == "frame" else tmp_path / "x.parquet", unit="u"), budget=dp.Pure(1), progress=False
    )
    kinds = {"RAW": "BLOB"} | ({"ms": "TIMESTAMP in seconds or milliseconds"} if source == "file" else {})
    for name, kind in kinds.items():
        with pytest.raises(BadQuestion) as refused:
            session.sql(f"SELECT COUNT({name}) AS n FROM t")
        assert str(refused.value) == (
            f"the column {name.lower()} of t cannot be used: its type, {kind}, cannot be read here; "
            "store it as numbers, text, booleans, dates or timestamps in microseconds"
        )
    with pytest.raises(BadQuestion, match=r"^there is no column nowhere; there are u; text stands in single quotes$"):
        session.sql("SELECT COUNT(nowhere) AS n FROM t")
    assert session.remaining == dp.Pure(1)


# --- failure --------------------------------------------------------------------------------------------------------


def test_a_failure_says_the_same_whatever_happened(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "secret-name.parquet"
    pq.write_table(pa.table({"u": [1, 2], "x": ["secret", "7"]}), path)
    engine = duckdb(threads=1)
    given = schemas(engine, t=path)
    count = {"cells": (ONE,), "weights": Weights(form=Form.ROWS, cap=1, scale=1), "unit": "u", "keys": ()}
    wrong: list[Expression] = [f("add", Column("x"), 1), f("no such primitive", Column("x")), Column("nowhere")]
    errors = []
    with caplog.at_level(logging.DEBUG):
        for expression in wrong:
            relation = Project(Scan("t"), (("u", Column("u")), ("v", expression)))
            with pytest.raises(EngineFailed) as failed:
                engine.run([Work(source=Filter(relation, f("gt", Column("v"), 0)), **count)], given)  # type: ignore[arg-type]
            errors.append(failed.value)
        path.unlink()
        with pytest.raises(EngineFailed) as failed:
            engine.run([Work(source=Scan("t"), **count)], given)  # type: ignore[arg-type]
        errors.append(failed.value)
    assert {str(error) for error in errors} == {str(EngineFailed())}
    assert all(error.__cause__ is None and error.__context__ is None for error in errors)
    assert "secret" not in caplog.text
    assert len(caplog.records) == len(errors)
    assert {record.name for record in caplog.records} == {"discreet.engines"}
    assert "duckdb could not finish: PermissionException (a file is gone or may not be read)" in caplog.text


def test_the_log_says_what_kind_of_failure_it_was_and_no_value() -> None:
    """Of what DuckDB says, only words of our own that stand for it."""
    told = driver.ConversionException("Conversion Error: Could not convert string 'secret' to INT32, Overflow in x")
    assert kind_of(told) == "ConversionException (a number or moment is too large for its type)"
    assert kind_of(driver.OutOfMemoryException("failed to allocate 7 of secret")) == "OutOfMemoryException"
    assert kind_of(ValueError("secret")) == "ValueError"
    both = kind_of(driver.IOException("Cannot open file 'secret': Too many open files"))
    assert both == "IOException (a file cannot be opened; too many files are open)"


def test_a_database_that_gave_up_is_made_anew() -> None:
    """After an internal error DuckDB refuses all that follows; one question must not end all others."""
    raw = pa.array([b"\xff\xfe"], pa.binary())
    engine, table = duckdb(threads=1), pa.table({"u": [1, 1, 2]})
    before = numbers(ask(table, engine=engine))
    with engine._connection(Needs()).cursor() as cursor:
        cursor.register("broken", pa.table({"v": pa.Array.from_buffers(pa.string(), 1, raw.buffers())}))
        with pytest.raises(driver.Error):
            cursor.execute("SELECT max(upper(v)) FROM broken")
    with pytest.raises(EngineFailed):
        ask(table, engine=engine)
    assert numbers(ask(table, engine=engine)) == before


def test_the_engine_works_after_a_failure() -> None:
    engine = duckdb(threads=1)
    with pytest.raises(EngineFailed):
        ask({"u": [1]}, value=Column("nowhere"), engine=engine)
    assert numbers(ask({"u": [1]}, engine=engine)) == {(): (1,)}


@pytest.mark.parametrize(
    "settings",
    [{"memory_limit": "much"}, {"memory_limit": "1GB'; SELECT 1"}, {"threads": 0}, {"threads": 1.5}, {"threads": "2"}],
)
def test_settings_are_checked(settings: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        duckdb(**settings)


# --- threads, memory, folders ----------------------------------------------------------------------------------------


def crowd(rows: int) -> pa.Table:
    rng = np.random.default_rng(11)
    units, keys = rng.integers(0, rows // 8, rows), rng.integers(0, 50, rows)
    return pa.table({"u": units, "k": pa.array(keys).cast(pa.string()), "x": rng.integers(-100, 100, rows)})


READ = Project(
    Scan("t"),
    (("__unit", Column("u")), ("k", f("read_text", Column("k"))), ("v", f("read_integer", Column("x"), -9, 9))),
)
BY_KEY = WorkKey("k", Column("k"), None)
L2 = Weights(form=Form.L2, cap=3, scale=1 << 20, per_group=1)


@pytest.mark.slow
def test_many_threads_may_ask_one_engine(tmp_path: Path) -> None:
    table = crowd(5_000)
    path = tmp_path / "crowd.parquet"
    pq.write_table(table, path)
    engine = duckdb(threads=2)

    def one(n: int) -> Any:
        source = (table, path, table.slice(0, 4_000))[n % 3]
        cells = (ONE, RowSum(Column("v")), UnitSum())
        return n % 3, numbers(ask(source, BY_KEY, relation=READ, weights=L2, cells=cells, engine=engine))

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(one, range(24)))
    alone = {n % 3: one(n)[1] for n in range(3)}
    assert all(answer == alone[which] for which, answer in found)
    assert alone[0] == alone[1] != alone[2]


@pytest.mark.slow
def test_little_memory_changes_nothing_but_the_time(tmp_path: Path) -> None:
    table = crowd(400_000)
    path = tmp_path / "crowd.parquet"
    pq.write_table(table, path)
    keys = (BY_KEY, WorkKey("v", Column("v"), None))
    plenty = ask(path, *keys, relation=READ, weights=L2, most_keys=5, salt="s")
    folder = tmp_path / "spill"
    engine = duckdb(threads=1, memory_limit="40MB", temp_directory=folder)
    little = ask(path, *keys, relation=READ, weights=L2, most_keys=5, salt="s", engine=engine)
    assert numbers(little) == numbers(plenty)


@pytest.mark.slow
def test_its_own_folder_is_private_and_goes_with_it() -> None:
    engine = duckdb(threads=1)
    folder = Path(engine._settings["temp_directory"].strip("'"))
    assert folder.stat().st_mode & 0o777 == 0o700
    del engine
    gc.collect()
    assert not folder.exists()


def test_distinct_values_by_key() -> None:
    table = crowd(2_000)
    work = DistinctWork(source=READ, unit="__unit", keys=(BY_KEY,), value=Column("v"), cap=1 << 16, salt="")
    engine = duckdb(threads=2)
    (found,) = engine.run([work], schemas(engine, t=table))
    right: dict[Any, set[int]] = {}
    for key, x in zip(table["k"].to_pylist(), table["x"].to_pylist(), strict=True):
        right.setdefault((key,), set()).add(min(max(x, -9), 9))
    assert numbers(found) == {key: (len(values),) for key, values in right.items()}


@pytest.mark.slow
def test_files_need_neither_arrow_nor_frames(tmp_path: Path) -> None:
    """So that the first answer comes soon."""
    pq.write_table(pa.table({"u": [1, 1], "k": ["a", "b"]}), tmp_path / "x.parquet")
    program = (
        "import sys\n"
        "from discreet.engines.duckdb.engine import duckdb\n"
        f"print(len(duckdb(threads=1).columns({os.fspath(tmp_path / 'x.parquet')!r})))\n"
        "print([name for name in ('pyarrow', 'pandas', 'polars', 'scipy', 'sqlglot') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "2\n[]\n"


JUPYTER = """
import sys, types
sys.modules["ipywidgets"] = None
sys.modules["IPython"] = types.ModuleType("IPython")
sys.modules["IPython"].get_ipython = lambda: types.SimpleNamespace(config={"IPKernelApp": {}})
import duckdb
try:
    duckdb.connect().execute("SET enable_progress_bar = false")
    print("not taken for Jupyter")
except duckdb.InvalidInputException:
    pass
"""
"""DuckDB takes this process for a kernel of Jupyter without ipywidgets, in which that setting cannot be changed."""


def test_a_session_opens_in_jupyter_without_ipywidgets() -> None:
    program = JUPYTER + (
        "import tempfile\n"
        "from pathlib import Path\n"
        "from discreet.engines.duckdb.engine import duckdb\n"
        "from discreet.engines.duckdb.prepared import prepare\n"
        "print(sorted(duckdb().columns({'a': [1], 'b': [2]})))\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    print(prepare({'id': [2, 1]}, Path(folder) / 'copy.duckdb', unit='id').table)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "['a', 'b']\nrows\n", done.stderr


def test_an_engine_that_cannot_start_does_not_blame_a_size_that_nobody_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise driver.InvalidInputException("no")

    monkeypatch.setattr(sys.modules[DuckDB.__module__], "_locked", refuse)
    with pytest.raises(BadParameter, match="refused with InvalidInputException") as caught:
        duckdb()
    assert "memory_limit" not in str(caught.value)
    with pytest.raises(BadParameter, match="memory_limit is 'lots'"):
        duckdb(memory_limit="lots")
