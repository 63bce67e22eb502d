"""A curator is opened: what its file says is registered once, budgets are changed in the ledger alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.errors import BadParameter
from discreet.privacy.promises.measures import Approx
from tests.helpers.curator.land import TOML, write_town


def test_a_budget_in_the_file_never_changes_the_one_in_the_ledger(tmp_path: Path) -> None:
    path = write_town(tmp_path / "town", epsilon="2")
    open_curator(read_config(path), create=True).close()
    path.write_text(TOML.format(epsilon="3"))
    with pytest.raises(BadParameter) as found:
        open_curator(read_config(path))
    assert found.value.name == "datasets.town.budget"


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
