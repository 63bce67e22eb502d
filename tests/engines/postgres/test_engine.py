"""The PostgreSQL engine on a real server: what it accepts, under which terms it asks. Numbers: contracts/engines."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

import discreet as dp
from discreet.checking.exact.queries import check_query
from discreet.engines.postgres.connections import address
from discreet.engines.postgres.engine import postgres
from discreet.errors import BadData, BadParameter, EngineFailed, EngineUnreachable, MissingExtra
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Project, Scan
from discreet.query.plan.schema import Table, resolve
from discreet.query.plan.work import AnyWork, Form, RowSum, Weights, Work, WorkKey
from tests.contracts.engines import forms
from tests.contracts.engines.lab import ORACLE, UNIT, Lab, f, numbers
from tests.helpers import postgres_tables
from tests.helpers.postgres_engine import as_role, asked, count_rows, execute
from tests.helpers.tables import crowd

ROWS = crowd(90)


def some_works() -> list[AnyWork]:
    found = [work for name in ("text with NULL", "no key") for work in list(forms.known(name))[::6]]
    found += [work for name in ("text and truth", "moments") for work in list(forms.unknown(name))[::11]]
    as_stored = Project(Scan("t"), ((UNIT, Column("name")), ("g", f("read_text", Column("g")))))
    plain = (forms.sums((forms.key("g"),), weights) for weights in forms.BOUNDING[1::4])
    found += [replace(work, source=as_stored, cells=(forms.ONE,)) for work in plain]
    return [*found, *list(forms.distinct("days"))[::5], *list(forms.split("truth"))[::6]]


def test_only_databases_in_utf8(postgres_dsn: str) -> None:
    execute(
        postgres_dsn, "DROP DATABASE IF EXISTS old", "CREATE DATABASE old ENCODING LATIN1 LOCALE 'C' TEMPLATE template0"
    )
    old = postgres(as_role(postgres_dsn, "postgres", dbname="old"))
    for ask in (old.ready, lambda: old.columns("pg_catalog.pg_class")):
        with pytest.raises(BadData, match="UTF8"):
            ask()


# --- the same numbers, whatever the database is like -----------------------------------------------------------------


@pytest.mark.slow
def test_settings_of_a_role_change_nothing(shop: str) -> None:
    source = postgres_tables.load(shop, ROWS)
    execute(
        shop,
        f"GRANT SELECT ON {source} TO reader",
        "CREATE SCHEMA evil",
        "GRANT USAGE ON SCHEMA evil TO reader",
        "CREATE FUNCTION evil.md5(text) RETURNS text LANGUAGE sql AS 'SELECT ''0''::text'",
        "CREATE FUNCTION evil.floor(double precision) RETURNS double precision LANGUAGE sql AS 'SELECT 0.0::float8'",
        "CREATE FUNCTION evil.less(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "CREATE OPERATOR evil.<= (FUNCTION = evil.less, LEFTARG = bigint, RIGHTARG = bigint)",
        "ALTER ROLE reader SET search_path = evil, pg_catalog, public",
        "ALTER ROLE reader SET TimeZone = 'Asia/Kathmandu'",
        "ALTER ROLE reader SET DateStyle = 'German'",
        "ALTER ROLE reader SET standard_conforming_strings = off",
        "ALTER ROLE reader SET escape_string_warning = off",
        "ALTER ROLE reader SET transform_null_equals = on",
        "ALTER ROLE reader SET client_encoding = 'LATIN1'",
        "ALTER ROLE reader SET force_parallel_mode = on",
        "ALTER ROLE reader SET enable_hashagg = off",
        "ALTER ROLE reader SET default_transaction_read_only = off",
    )
    odd = [f("eq", Column("k"), Literal(None)), f("contains", Column("g"), "\\"), f("concat", Column("g"), "\\'")]
    works = [*some_works(), *(forms.sums((WorkKey("e", e, None),), forms.BOUNDING[1]) for e in odd)]
    assert asked(postgres(as_role(shop, "reader"), work_mem="64kB"), source, works) == ORACLE.run(works, {"t": ROWS})


@pytest.mark.slow
def test_a_layout_changes_nothing(fresh_database: str) -> None:
    source = postgres_tables.load(fresh_database, ROWS, name="plain")
    columns = ", ".join(f'"{c.name}" {postgres_tables.sql_type(c.type)}' for c in ROWS.schema)
    execute(
        fresh_database,
        f"CREATE VIEW seen AS SELECT m, b, d, x, k, g, name, u, id, 'unused'::text AS more FROM {source}",
        f"CREATE MATERIALIZED VIEW kept AS SELECT * FROM {source} ORDER BY x",
        f"CREATE TABLE parts ({columns}) PARTITION BY HASH (id)",
        *(f"CREATE TABLE part{n} PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER {n})" for n in range(3)),
        f"INSERT INTO parts SELECT * FROM {source}",
        f"CREATE TABLE sorted AS SELECT * FROM {source} ORDER BY u, g",
        "CREATE INDEX ON sorted (u, g)",
        "ANALYZE sorted",
        'CREATE TABLE loose AS SELECT id, u, name COLLATE "any case" AS name, g COLLATE "any case" AS g, k, x, d, m, b '
        f"FROM {source}",
    )
    works = some_works()
    right = ORACLE.run(works, {"t": ROWS})
    for layout in ("plain", "seen", "kept", "parts", "sorted", "loose"):
        assert asked(postgres(fresh_database), layout, works) == right, layout


@pytest.mark.slow
def test_a_type_that_changes_later_loses_no_bound(fresh_database: str) -> None:
    execute(fresh_database, "CREATE TABLE t (id integer, x smallint)", "INSERT INTO t VALUES (1, 5)")
    engine = postgres(fresh_database)
    schema = resolve("t", Table(source="t", unit=None, public=True), engine.columns("t"))
    relation = Project(Scan("t"), ((UNIT, Column("id")), ("x", f("read_integer", Column("x"), -(1 << 20), 1 << 20))))
    weights = Weights(form=Form.ROWS, cap=1, scale=1)
    work = Work(source=relation, unit=UNIT, keys=(), cells=(RowSum(Column("x")),), weights=weights)
    assert numbers(engine.run([work], {"t": schema})[0]) == {(): (5,)}
    execute(fresh_database, "ALTER TABLE t ALTER x TYPE bigint, ALTER id TYPE bigint", "UPDATE t SET x = 1e15")
    assert numbers(engine.run([work], {"t": schema})[0]) == {(): (1 << 20,)}


class Meanwhile(list[Work]):
    """Works between which something happens."""

    dsn = statement = ""

    def __iter__(self) -> Iterator[Work]:
        for work in super().__iter__():
            yield work
            execute(self.dsn, self.statement)


@pytest.mark.slow
def test_all_works_see_one_state(fresh_database: str) -> None:
    execute(fresh_database, "CREATE TABLE t AS SELECT 1::bigint AS id")
    works = Meanwhile([count_rows()] * 3)
    works.dsn, works.statement = fresh_database, "INSERT INTO t SELECT max(id) + 1 FROM t"
    found = asked(postgres(fresh_database), "t", works)
    assert found[0] == found[1] == found[2]
    assert asked(postgres(fresh_database), "t", [count_rows()]) != found[:1]


def test_nothing_can_be_written(fresh_database: str) -> None:
    execute(
        fresh_database,
        "CREATE TABLE seen (who bigint)",
        "CREATE FUNCTION note() RETURNS bigint LANGUAGE sql AS 'INSERT INTO public.seen VALUES (1) RETURNING who'",
        "CREATE VIEW t AS SELECT note() AS id",
    )
    with pytest.raises(EngineFailed):
        asked(postgres(fresh_database), "t", [count_rows()])
    with psycopg.connect(fresh_database) as connection:
        assert connection.execute("SELECT count(*) FROM seen").fetchone() == (0,)


# --- parameters and secrets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"dsn": "host"}, {"dsn": "postgresql://[bad"}, {"dsn": 7}, {"dsn": "nonsense=1"},
        {"statement_timeout": "soon"}, {"statement_timeout": "10 min; DROP"}, {"statement_timeout": 10},
        {"connect_timeout": 0}, {"connect_timeout": "3"}, {"work_mem": "lots"}, {"work_mem": "1TBx"}, {"schema": ""},
        {"schema": "a\0"}, {"sslmode": "yes"}, {"parallel_workers": -1},
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        postgres(**({"dsn": ""} | wrong))


@pytest.mark.parametrize(
    ("dsn", "sslmode", "expected"),
    [
        ("host=/tmp", None, None),
        ("host=localhost", None, None),
        ("postgresql://127.0.0.1/x", None, None),
        ("postgresql://db.example.org/x", None, "require"),
        ("host=localhost,10.0.0.7", None, "require"),
        ("hostaddr=10.0.0.7 host=localhost", None, "require"),
        ("postgresql://db.example.org/x?sslmode=verify-full", None, "verify-full"),
        ("postgresql://db.example.org/x?sslmode=prefer", None, "prefer"),
        ("postgresql://db.example.org/x?sslmode=prefer", "verify-ca", "verify-ca"),
        ("service=clinic", None, None),
        ("", None, None),
    ],
)
def test_over_a_network_it_is_encrypted(
    dsn: str, sslmode: str | None, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGHOST", "PGSSLMODE"):
        monkeypatch.delenv(name, raising=False)
    assert address(dsn, connect_timeout=3, sslmode=sslmode).get("sslmode") == expected


def test_the_environment_can_name_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example.org")
    monkeypatch.delenv("PGSSLMODE", raising=False)
    assert address("", connect_timeout=3, sslmode=None)["sslmode"] == "require"
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    assert "sslmode" not in address("", connect_timeout=3, sslmode=None)


def test_a_server_that_does_not_answer(caplog: pytest.LogCaptureFixture, tmp_path: Any) -> None:
    engine = postgres(f"postgresql://reader:hunter2@/clinic?host={tmp_path}", connect_timeout=2)
    for ask in (engine.ready, lambda: engine.columns("t")):
        with pytest.raises(EngineUnreachable, match="nothing was spent") as caught:
            ask()
        assert caught.value.__cause__ is caught.value.__context__ is None
        assert "hunter2" not in str(caught.value)
    assert "hunter2" not in caplog.text + repr(engine) + repr(engine._link)
    assert str(tmp_path) in caplog.text  # the owner learns why
    with pytest.raises(BadParameter) as wrong:
        postgres("postgresql://reader:hunter2@[/clinic")
    assert "hunter2" not in str(wrong.value)


def test_settings_that_the_server_refuses(postgres_dsn: str) -> None:
    with pytest.raises(EngineUnreachable):
        postgres(postgres_dsn, work_mem="999999999GB").ready()
    postgres(postgres_dsn, work_mem=None, statement_timeout=None, parallel_workers=0).ready()


@pytest.mark.slow
def test_failures_say_the_same_and_hold_nothing(fresh_database: str, caplog: pytest.LogCaptureFixture) -> None:
    execute(
        fresh_database,
        "CREATE TABLE base (id bigint, secret text)",
        "INSERT INTO base VALUES (1, 'gonorrhoea')",
        "CREATE VIEW t AS SELECT secret::bigint AS id FROM base",
        "CREATE VIEW slow AS SELECT id FROM base, pg_sleep(60)",
    )
    said = set()
    for source, timeout in (("t", "10min"), ("slow", "50ms")):
        with pytest.raises(EngineFailed) as caught, caplog.at_level(logging.DEBUG):
            asked(postgres(fresh_database, statement_timeout=timeout), source, [count_rows()])
        assert caught.value.__cause__ is caught.value.__context__ is None
        said.add(str(caught.value))
    assert said == {str(EngineFailed())}
    assert "gonorrhoea" not in caplog.text
    assert "22P02" in caplog.text  # the owner's log has PostgreSQL's code of what went wrong
    assert "57014" in caplog.text


# --- whole sessions ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_session_on_postgresql(fresh_database: str) -> None:
    execute(
        fresh_database,
        "CREATE TABLE trips AS SELECT i % 500 AS rider, (i % 500) / 250 AS day, i * 0.25 AS fare "
        "FROM generate_series(0, 999) AS i",
        "ALTER TABLE trips ALTER fare TYPE double precision",
    )
    trips = dp.table("public.trips", unit="rider", columns={"day": dp.keys([0, 1, 2]), "fare": dp.bounds(0, 100)})
    session = dp.Session(trips=trips, engine=dp.engines.postgres(fresh_database), budget=dp.Pure(100))
    answer = session.sql("SELECT day, COUNT(*) AS n, SUM(fare) AS s FROM trips GROUP BY day").release(epsilon=50)
    rows = answer.to_arrow().to_pydict()
    assert rows["day"] == [0, 1, 2]
    assert [abs(n - right) < 50 for n, right in zip(rows["n"], [500, 500, 0], strict=True)] == [True] * 3
    assert str(session.remaining) == str(dp.Pure(50))


@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [
        "SELECT region, COUNT(*) AS n, SUM(fare) AS s FROM trips GROUP BY region",
        "SELECT town, COUNT(DISTINCT rider) AS n FROM trips GROUP BY town",
        "SELECT region, MEDIAN(fare) AS m, COUNT(DISTINCT town) AS t FROM trips GROUP BY region",
    ],
)
def test_a_query_is_held_against_made_up_neighbours(fresh_database: str, question: str) -> None:
    execute(fresh_database, "CREATE TABLE trips (rider bigint, region text, town text, fare double precision)")
    declared = {"region": dp.keys(["north", "south"]), "town": dp.unknown_keys(), "fare": dp.bounds(0, 100)}
    trips = dp.table("trips", unit="rider", columns=declared, max_rows=4, max_groups=2, max_rows_per_group=2)
    session = dp.Session(
        trips=trips, engine=dp.engines.postgres(fresh_database), budget=dp.Approx(epsilon=10, delta="1e-6")
    )
    made: list[int] = []

    def load(_name: str, table: pa.Table) -> str:
        made.append(table.num_rows)
        return postgres_tables.load(fresh_database, table)

    report = check_query(session.sql(question), tables=4, load=load)
    assert report.counterexample is None
    assert max(made) > 4


@pytest.mark.slow
def test_the_page_works_as_it_is_written(fresh_database: str) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "postgres.md").read_text()
    (recipe,) = re.findall(r"^```sql\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    example = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
    execute(
        fresh_database,
        "CREATE SCHEMA clinic",
        "CREATE TABLE clinic.visits AS SELECT i AS patient_id, (ARRAY['eyes', 'surgery'])[i % 2 + 1] AS department, "
        "i::double precision AS cost, DATE '2024-01-01' + i AS day, 'private' AS diagnosis "
        "FROM generate_series(1, 99) AS i",
    )
    try:
        execute(fresh_database, *filter(str.strip, recipe.split(";")))
        reader = as_role(fresh_database, "discreet_reader")
        example = re.sub(r'"postgresql://[^"]*", sslmode="verify-full"', repr(reader), example)
        names: dict[str, Any] = {}
        exec(compile(example, "postgres.md", "exec"), names)  # noqa: S102 - our own page
        assert names["session"].remaining.epsilon == Fraction(1, 2)
        assert set(postgres(reader).columns("clinic.visits")) == {"patient_id", "department", "cost", "day"}
        for forbidden in ("SELECT diagnosis FROM clinic.visits", "CREATE TABLE public.mine (x int)"):
            with pytest.raises(psycopg.Error):
                execute(reader, forbidden)
    finally:
        execute(fresh_database, "DROP OWNED BY discreet_reader", "DROP ROLE discreet_reader")


def test_the_extra_is_named_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"psycopg"):
        postgres("")


@pytest.mark.slow
def test_the_lab_can_see_a_difference(fresh_database: str) -> None:
    """The comparison with the oracle fails when the tables differ by one row."""
    lab = Lab(postgres(fresh_database), lambda _name, _table: postgres_tables.load(fresh_database, ROWS.slice(1)))
    works = some_works()
    assert lab.run(works, {"t": ROWS}) != ORACLE.run(works, {"t": ROWS})
