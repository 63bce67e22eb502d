"""``discreet init``: a configuration from names and types alone."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.commands.init import propose_unit
from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.query.plan.schema import Stored, StoredKind
from tests.helpers.commands import run
from tests.helpers.curator.land import CANARY
from tests.helpers.postgres_engine import execute


@pytest.mark.slow
def test_init_writes_a_file_that_serves_and_holds_nothing_of_the_data(visits: Path, tmp_path: Path) -> None:
    out = tmp_path / "curator.toml"
    done = run("init", visits, "--output", out, "--unit", "person", "--epsilon", "3")
    assert done.exit_code == 0, done.output
    text = out.read_text()
    assert CANARY not in text
    assert "North" not in text
    columns = [line for line in text.splitlines() if "columns." in line]
    assert len(columns) == 4
    assert not [line for line in columns if "99" in line]  # no bound comes from the data
    config = read_config(out)
    assert config.datasets[tmp_path.name].tables.tables["visits"].unit == "person"
    filled = text.replace('# columns.clinic = {keys = ["...", "..."]}', 'columns.clinic = {keys = ["North", "South"]}')
    out.write_text(filled)
    open_curator(read_config(out), create=True).close()
    assert run("init", visits, "--output", out).exit_code == 1  # never writes over a file


@pytest.mark.slow
def test_init_has_a_line_for_times(tmp_path: Path) -> None:
    pq.write_table(pa.table({"person": [1], "arrived": [datetime(2024, 3, 1)]}), tmp_path / "t.parquet")
    assert run("init", tmp_path / "t.parquet", "--output", tmp_path / "c.toml").exit_code == 0
    text = (tmp_path / "c.toml").read_text()
    assert '# columns.arrived = {bounds = ["2025-01-01", "2025-12-31"]}    # times' in text
    (tmp_path / "c.toml").write_text(text.replace("# columns.arrived", "columns.arrived"))
    open_curator(read_config(tmp_path / "c.toml"), create=True).close()


@pytest.mark.slow
def test_init_takes_tables_of_postgresql(tmp_path: Path, fresh_database: str) -> None:
    """It took the address for the name of a file."""
    execute(fresh_database, "CREATE TABLE visits (patient_id int, cost numeric(10, 2), clinic text)")
    source, out = f"{fresh_database}::public.visits", tmp_path / "curator.toml"
    done = run("init", source, "--output", out, "--dataset", "clinic")
    assert done.exit_code == 0, done.output
    table = read_config(out).datasets["clinic"].tables.tables["visits"]
    assert (table.source, table.unit) == (source, "patient_id")
    assert "# columns.cost = {bounds = [0, 100]}" in out.read_text()
    for files in (["s3://bucket/t.parquet"], [source, "x.parquet"], [source, f"{fresh_database}::other.visits"]):
        assert run("init", *files, "--output", tmp_path / "other.toml").exit_code == 1
    assert not (tmp_path / "other.toml").exists()


@pytest.mark.slow
def test_names_in_a_file_cannot_write_lines_of_the_configuration(tmp_path: Path) -> None:
    evil = 'x\n[server]\nhost = "0.0.0.0"\n"\x7f\u2028'
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table({"person": [1], evil: [1], evil + "b": [True], evil + "t": ["a"]}), path)
    out = tmp_path / "curator.toml"
    assert run("init", path, "--output", out, "--unit", "person").exit_code == 0
    assert read_config(out).host == "127.0.0.1"
    assert not [line for line in out.read_text().splitlines() if line.startswith("host")]
    out.write_text(out.read_text().replace("# columns.", "columns.", 1))  # and the line can be used
    (column,) = read_config(out).datasets[tmp_path.name].tables.tables["visits"].columns
    assert column == evil


def test_the_unit_is_proposed_by_names_and_types_alone() -> None:
    whole, real = Stored(StoredKind.INTEGER), Stored(StoredKind.REAL)
    assert propose_unit({"a": {"order_id": whole, "customer": whole, "x": real}}) == "customer"
    assert propose_unit({"a": {"id": whole, "user_id": whole}, "b": {"user_id": whole, "z": real}}) == "user_id"
    assert propose_unit({"a": {"x": real, "y": real}}) == ""
    assert propose_unit({"a": {"order_id": whole, "user_id": real}, "b": {"user_id": whole}}) == "user_id"
    assert propose_unit({"a": {"patient": real, "count": whole}}) == ""
