"""A curator is opened: what its file says is registered once, budgets are changed in the ledger alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.errors import BadParameter, BadQuestion
from discreet.privacy.promises.measures import Approx
from tests.helpers.curator.land import TOML, write_town
from tests.helpers.curator.town import Town


@pytest.mark.slow
def test_a_budget_in_the_file_never_changes_the_one_in_the_ledger(tmp_path: Path) -> None:
    path = write_town(tmp_path / "town", epsilon="2")
    open_curator(read_config(path), create=True).close()
    path.write_text(TOML.format(epsilon="3"))
    with pytest.raises(BadParameter) as found:
        open_curator(read_config(path))
    assert found.value.name == "datasets.town.budget"


@pytest.mark.slow
def test_a_budget_that_the_owner_changed_in_the_ledger_counts_and_the_old_one_may_stay_in_the_file(
    tmp_path: Path,
) -> None:
    path = write_town(tmp_path / "town", epsilon="2")
    curator = open_curator(read_config(path), create=True)
    curator.ledger.owner.set_budget("town", Approx(3, "1e-18"), reason="a wider study")
    curator.close()
    again = open_curator(read_config(path))
    assert again.ledger.populations["town"].budget == Approx(3, "1e-18")
    again.close()


@pytest.mark.slow
def test_a_new_description_is_taken_into_the_ledger_and_the_old_one_stays_recorded(tmp_path: Path) -> None:
    path = write_town(tmp_path / "town")
    open_curator(read_config(path), create=True).close()
    path.write_text(TOML.format(epsilon="1000000").replace("[0, 1000]", "[0, 2000]"))
    curator = open_curator(read_config(path))
    told = [
        line.entry.body["about"]
        for line in curator.ledger.entries(kind="dataset")
        if line.entry.body["dataset"] == "town"
    ]
    curator.close()
    assert [one["tables"]["people"]["columns"]["pay"]["bounds"] for one in told] == [["0", "1000"], ["0", "2000"]]
    again = open_curator(read_config(path))
    assert len(again.ledger.entries(kind="dataset")) == 3  # nothing new, nothing written
    again.close()


def test_a_column_that_came_later_is_not_asked_about_without_the_owners_word(tmp_path: Path) -> None:
    """It could be asked about after the next restart, whatever was in it."""
    path = write_town(tmp_path / "town")
    open_curator(read_config(path), create=True).close()
    file = tmp_path / "town" / "data" / "people.parquet"
    rows = pq.read_table(file)
    pq.write_table(rows.append_column("illness", pa.array(["none"] * len(rows))), file)
    curator = open_curator(read_config(path))
    session = curator.open(curator.ledger.datasets["town"]).session
    assert "illness" not in session.schemas["people"].fields
    with pytest.raises(BadQuestion, match="illness"):
        session.sql("SELECT COUNT(*) FROM people WHERE illness = 'none'")
    (told,) = [one for one in curator.cautions() if "illness" in one]
    assert "register it again" in told
    assert len(curator.ledger.entries(kind="dataset")) == 2  # nothing new was recorded
    curator.close()
    declared = "columns.illness = {{unknown_keys = true}}\n[datasets.town.tables.trips]"
    path.write_text(TOML.replace("[datasets.town.tables.trips]", declared).format(epsilon="1000000"))
    again = open_curator(read_config(path))
    assert "illness" in again.open(again.ledger.datasets["town"]).session.schemas["people"].fields
    assert not [one for one in again.cautions() if "illness" in one]
    again.close()


def test_a_data_set_of_an_older_version_keeps_all_of_its_columns(new_town: Town) -> None:
    known = new_town.curator.ledger.datasets["town"]
    about = json.loads(json.dumps(dict(known.about)))
    assert about["tables"]["people"].pop("known_columns")
    about["tables"]["trips"].pop("known_columns")
    opened = new_town.curator.open(replace(known, about=about))
    assert "name" in opened.session.schemas["people"].fields
    assert new_town.curator.open_datasets.left_out() == {}
