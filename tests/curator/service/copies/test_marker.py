"""A second ledger on the same data is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.curator.service.config import read_config
from discreet.curator.service.copies.marker import NAME, mark
from discreet.curator.service.opening import open_curator
from tests.helpers.curator.land import write_town


def test_a_second_ledger_is_warned_about(tmp_path: Path) -> None:
    assert mark([tmp_path, tmp_path], "one") == []
    assert mark([tmp_path], "one") == []
    (caution,) = mark([tmp_path], "two")
    assert "two budgets" in caution
    (tmp_path / NAME).write_text("damaged")
    assert mark([tmp_path / "nowhere"], "two") == []  # a folder that cannot be written to


@pytest.mark.slow
def test_two_curators_on_one_folder(tmp_path: Path) -> None:
    """Fails if a second curator with its own ledger says nothing."""
    config = write_town(tmp_path / "town")
    first = open_curator(read_config(config), create=True)
    assert not any("another ledger" in caution for caution in first.cautions())
    first.close()
    config.write_text(config.read_text().replace('data = "data"', 'data = "data"\nledger = "another"'))
    second = open_curator(read_config(config), create=True)
    assert any("another ledger" in caution for caution in second.cautions())
    second.close()
