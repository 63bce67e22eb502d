"""Data where they lie: files, folders, DuckDB files, PostgreSQL; what cannot be served is refused before a question."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import psutil
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator.engine_process.process import _Process
from discreet.curator.engine_process.remote import RemoteEngine
from discreet.curator.service.access import Caller
from discreet.curator.service.config import read_config
from discreet.curator.service.data_sources import engine_of, files_of, marks_of, read_source
from discreet.curator.service.library import read_answer
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from discreet.curator.service.questions import SqlQuestion
from discreet.curator.service.service import Curator
from discreet.engines.duckdb.object_store import ObjectStore
from discreet.engines.sources import open_source
from discreet.errors import BadData, BadParameter, DiscreetError, EngineUnreachable, LedgerBusy, OverBudget
from discreet.ledger import open_ledger
from discreet.session.price import Price
from tests.helpers.commands import run
from tests.helpers.curator.servers import Server
from tests.helpers.postgres import Postgres

TOML = """
[server]
data = "data"
quantum = 0.01
[limits]
deadline = 5
[datasets.clinic]
budget = {{epsilon = "1000000"}}
[datasets.clinic.tables.visits]
source = "{source}"
unit = "patient"
columns.city = {{keys = ["a", "b"]}}
"""
ROWS: dict[str, list[Any]] = {"patient": list(range(100)), "city": ["a", "b"] * 50}
ASKED = SqlQuestion(sql="SELECT city, COUNT(*) AS n FROM visits GROUP BY city", price=Price("1000"))


def configured(folder: Path, source: str) -> Path:
    (folder / "data").mkdir(exist_ok=True)
    path = folder / "curator.toml"
    path.write_text(TOML.format(source=source))
    return path


def ann(curator: Curator) -> Caller:
    curator.ledger.owner.add_analyst("ann")
    curator.ledger.owner.grant("ann", "clinic")
    return curator.access.who("Bearer " + curator.access.issue("ann", Role.ANALYST))


def counts(path: Path) -> list[Any]:
    curator = open_curator(read_config(path), create=True)
    try:
        return list(read_answer(curator.ask(ann(curator), "clinic", ASKED))["rows"])
    finally:
        curator.close()


EXPECTED = [["a", 50], ["b", 50]]


@pytest.mark.slow
def test_a_folder_of_files_is_one_table(tmp_path: Path) -> None:
    parts = tmp_path / "data" / "visits"
    parts.mkdir(parents=True)
    for i in range(2):
        half = {name: values[50 * i : 50 * i + 50] for name, values in ROWS.items()}
        pq.write_table(pa.table(half), parts / f"part-{i}.parquet")
    (parts / "_SUCCESS").write_text("")
    assert counts(configured(tmp_path, "visits")) == EXPECTED


@pytest.mark.slow
def test_what_init_writes_for_a_folder_is_what_serve_takes(tmp_path: Path) -> None:
    """Fails where a folder is proposed and then refused."""
    parts = tmp_path / "visits"
    parts.mkdir()
    pq.write_table(pa.table(ROWS), parts / "part-0.parquet")
    out = tmp_path / "curator.toml"
    assert run("init", parts, "--output", out, "--unit", "patient").exit_code == 0
    open_curator(read_config(out), create=True).close()


@pytest.mark.slow
def test_a_folder_of_mixed_schemas_is_refused_at_the_start(tmp_path: Path) -> None:
    parts = tmp_path / "data" / "visits"
    parts.mkdir(parents=True)
    pq.write_table(pa.table(ROWS), parts / "a.parquet")
    pq.write_table(pa.table({"patient": ["x"], "city": ["a"]}), parts / "b.parquet")
    with pytest.raises(BadData, match="same columns"):
        open_curator(read_config(configured(tmp_path, "visits")), create=True)
    (parts / "b.parquet").unlink()
    (parts / "b.csv").write_text("patient,city\n")
    with pytest.raises(BadData, match="of one kind"):
        open_curator(read_config(configured(tmp_path, "visits")), create=True)


@pytest.mark.slow
def test_a_table_of_a_duckdb_file(tmp_path: Path) -> None:
    path = configured(tmp_path, "clinic.duckdb::visits")
    with duckdb.connect(str(tmp_path / "data" / "clinic.duckdb")) as made:
        rows = pa.table(ROWS)  # noqa: F841 - read by its name
        made.execute("CREATE TABLE visits AS SELECT * FROM rows")
    assert counts(path) == EXPECTED
    for wrong in ("clinic.duckdb", "../clinic.duckdb::visits", "other.duckdb::visits", "clinic.duckdb::nothing"):
        with pytest.raises(DiscreetError):
            open_curator(read_config(configured(tmp_path, wrong)), create=True)


# --- PostgreSQL -----------------------------------------------------------------------------------------------------


@pytest.fixture
def clinic(durable_postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a database with a table, for a role that may read it; its password is in the environment."""
    dsn = durable_postgres.fresh()
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute("CREATE TABLE visits (patient integer, city text)")
        owner.execute(
            "INSERT INTO visits SELECT i, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END FROM generate_series(0, 99) i"
        )
        owner.execute(
            "DO $$ BEGIN CREATE ROLE reader LOGIN PASSWORD 'a secret'; EXCEPTION WHEN OTHERS THEN NULL; END $$"
        )
        owner.execute("GRANT SELECT ON visits TO reader")
    monkeypatch.setenv("PGPASSWORD", "a secret")
    found = psycopg.conninfo.conninfo_to_dict(dsn)
    yield f"postgresql://reader@/{found['dbname']}?host={quote(str(found['host']), safe='')}"
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute("DROP OWNED BY reader")
    durable_postgres.drop(dsn)


@pytest.mark.slow
def test_a_table_in_postgresql(clinic: str, tmp_path: Path) -> None:
    path = configured(tmp_path, f"{clinic}::visits")
    assert counts(path) == EXPECTED
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"a secret" not in kept


@pytest.mark.slow
def test_a_role_that_may_write_is_refused_at_the_start(clinic: str, tmp_path: Path, durable_postgres: Postgres) -> None:
    dbname = clinic.split("@/")[1].split("?", maxsplit=1)[0]
    with psycopg.connect(durable_postgres.address(dbname), autocommit=True) as owner:
        owner.execute("GRANT UPDATE (city) ON visits TO reader")
    with pytest.raises(BadData, match="may only read"):
        open_curator(read_config(configured(tmp_path, f"{clinic}::visits")), create=True)


@pytest.mark.slow
def test_a_table_that_vanishes_and_a_server_that_stops_are_refused_before_the_payment(
    clinic: str, tmp_path: Path, durable_postgres: Postgres
) -> None:
    dbname = clinic.split("@/")[1].split("?", maxsplit=1)[0]
    curator = open_curator(read_config(configured(tmp_path, f"{clinic}::visits")), create=True)
    try:
        caller = ann(curator)
        assert curator.ask(caller, "clinic", ASKED).answer
        with psycopg.connect(durable_postgres.address(dbname), autocommit=True) as owner:
            owner.execute("ALTER TABLE visits RENAME TO moved")
            with pytest.raises(BadData):
                curator.ask(caller, "clinic", ASKED)
            owner.execute("ALTER TABLE moved RENAME TO visits")
        assert curator.ask(caller, "clinic", ASKED).answer
        durable_postgres.stop()
        with pytest.raises(EngineUnreachable, match="nothing was spent"):
            curator.ask(caller, "clinic", ASKED)
        durable_postgres.start()
        assert curator.ask(caller, "clinic", ASKED).answer
        assert len(curator.ledger.entries(kind="charge")) == 3
    finally:
        durable_postgres.start()
        curator.close()


@pytest.mark.slow
def test_a_server_that_hangs_is_given_up_at_the_deadline(
    clinic: str, tmp_path: Path, durable_postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.curator.engine_process.process._STARTING", 3.0)
    curator = open_curator(read_config(configured(tmp_path, f"{clinic}::visits")), create=True)
    server = psutil.Process(durable_postgres.pid)
    stopped = [server, *server.children(recursive=True)]
    try:
        caller = ann(curator)
        for process in stopped:
            process.send_signal(signal.SIGSTOP)
        with pytest.raises(DiscreetError):
            curator.ask(caller, "clinic", ASKED)
        assert curator.ledger.entries(kind="charge") == []
    finally:
        for process in stopped:
            process.send_signal(signal.SIGCONT)
        curator.close()


def test_a_race_for_three_answers_from_a_server_has_three_winners(clinic: str, tmp_path: Path) -> None:
    path = configured(tmp_path, f"{clinic}::visits")
    path.write_text(path.read_text().replace('epsilon = "1000000"', 'epsilon = "3000"'))
    curator = open_curator(read_config(path), create=True)
    try:
        caller = ann(curator)

        def ask(_: int) -> bool:
            try:
                return bool(read_answer(curator.ask(caller, "clinic", ASKED))["rows"] == EXPECTED)
            except OverBudget:
                return False

        with ThreadPoolExecutor(8) as clients:
            assert sorted(clients.map(ask, range(8))) == [False] * 5 + [True] * 3
        assert len(curator.ledger.entries(kind="charge")) == 3
    finally:
        curator.close()


def test_an_engine_that_is_killed_after_the_payment_is_charged_once_and_replaced(
    clinic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill -9 between the payment and the server's reply: one constant failure, stored; the next question is good."""
    paid: list[str] = []
    ask = _Process._ask

    def killed(process: _Process, request: tuple[str, Any], seconds: float) -> bytes:
        if paid and request[0] == "run":
            paid.clear()
            assert process._process is not None
            process._process.kill()
            process._process.wait()
        return ask(process, request, seconds)

    monkeypatch.setattr(_Process, "_ask", killed)
    curator = open_curator(read_config(configured(tmp_path, f"{clinic}::visits")), create=True, at=paid.append)
    try:
        caller = ann(curator)
        paid.clear()
        assert "error" in read_answer(curator.ask(caller, "clinic", ASKED, "a key"))
        monkeypatch.undo()
        assert "error" in read_answer(curator.ask(caller, "clinic", ASKED, "a key"))  # the same, and free
        assert read_answer(curator.ask(caller, "clinic", ASKED))["rows"] == EXPECTED
        assert len(curator.ledger.entries(kind="charge")) == 2
    finally:
        curator.close()


def test_a_service_that_is_killed_before_its_answer_is_stored_stays_charged(clinic: str, tmp_path: Path) -> None:
    """Kill -9 of the service and its engine, with the data on a server: charged, not answered, never asked twice."""
    path = configured(tmp_path, f"{clinic}::visits")
    curator = open_curator(read_config(path), create=True)
    ann(curator)
    token = curator.access.issue("ann", Role.ANALYST)
    curator.close()
    server = Server(tmp_path, path, "noise")
    body = {"sql": ASKED.sql, "epsilon": "1000", "key": "a key"}
    try:
        with pytest.raises(ConnectionError):
            server.ask_for("POST", "/api/datasets/clinic/questions", body, token)
    finally:
        server.kill()
    curator = open_curator(read_config(path))
    try:
        (charge,) = curator.ledger.entries(kind="charge")
        assert not charge.answered
        with pytest.raises(LedgerBusy, match="costs nothing more"):
            curator.ask(curator.access.who(f"Bearer {token}"), "clinic", ASKED, "a key")
        assert len(curator.ledger.entries(kind="charge")) == 1
        assert read_answer(curator.ask(curator.access.who(f"Bearer {token}"), "clinic", ASKED))["rows"] == EXPECTED
    finally:
        curator.close()


@pytest.mark.slow
def test_a_wrong_password_is_refused_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "wrong")
    path = configured(tmp_path, "postgresql://reader@127.0.0.1:9/clinic::visits")
    with pytest.raises(EngineUnreachable) as found:
        open_curator(read_config(path), create=True)
    assert "wrong" not in str(found.value)


@pytest.mark.parametrize(
    "source",
    [
        "postgresql://reader:secret@db/clinic::visits",
        "postgresql://db/clinic?password=secret::visits",
        "sc://db:15002/;token=secret::visits",
        "postgresql://db/clinic",
        "mysql://db/clinic::visits",
        "https://db/clinic.parquet?token=secret",
    ],
)
def test_addresses_that_cannot_be_used_are_refused_without_being_shown(tmp_path: Path, source: str) -> None:
    with pytest.raises(BadParameter) as found:
        read_config(configured(tmp_path, source))
    assert "secret" not in str(found.value)


@pytest.mark.parametrize("source", ["s3a://bucket/visits.parquet", "gs://bucket/*.parquet", "hdfs://host/a.csv"])
def test_stores_that_duckdb_does_not_read_are_refused_with_the_command_that_copies(tmp_path: Path, source: str) -> None:
    with pytest.raises(BadParameter, match=r"INSTALL httpfs.*sc://host:15002::s3a://"):
        read_config(configured(tmp_path, source))
    with pytest.raises(BadData, match="INSTALL httpfs"):
        open_source(source)


@pytest.mark.slow
def test_without_the_extension_a_table_on_an_object_store_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real: the engine's process looks into an empty folder of extensions, and nothing is recorded."""
    monkeypatch.setenv("DISCREET_DUCKDB_EXTENSIONS", str(tmp_path / "extensions"))
    config = read_config(configured(tmp_path, "s3://bucket/visits.parquet"))
    with pytest.raises(BadData, match="INSTALL httpfs"):
        open_curator(config, create=True)
    with open_ledger(config.ledger) as ledger:
        assert not ledger.datasets
        assert not ledger.populations


def test_tables_of_one_data_set_lie_in_one_place() -> None:
    store = engine_of(["s3://bucket/a.parquet", "https://host/b.parquet"])
    assert isinstance(store, ObjectStore)
    assert marks_of(Path("data"), "s3://bucket/a.parquet") == ["address s3://bucket/a.parquet"]
    assert files_of(Path("data"), "s3://bucket/a.parquet") == ()
    with pytest.raises(BadParameter, match="one place"):
        engine_of(["a.parquet", "s3://bucket/a.parquet"])
    assert engine_of(["a.parquet", "b.csv"]) is None
    with pytest.raises(BadParameter, match="one place"):
        engine_of(["a.parquet", "sc://host:15002::visits"])
    spark = engine_of(["sc://host:15002::a", "sc://host:15002::b"])
    assert isinstance(spark, RemoteEngine)
    assert spark.kind == "spark"
    assert read_source("spark://m:7077::clinic.visits") is not None


def test_the_same_table_under_two_roles_has_the_same_mark(tmp_path: Path) -> None:
    one = marks_of(tmp_path, "postgresql://reader@db/clinic::visits")
    two = marks_of(tmp_path, "postgresql://other@db/clinic?sslmode=require::Visits")
    assert one == two
