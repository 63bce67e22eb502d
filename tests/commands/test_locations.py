"""Which ledger a command works on, and amounts as options name them."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dp
from discreet.commands.locations import given_amount, ledger_location, open_curator_of, open_ledger_of
from discreet.curator.service.config import read_config
from discreet.errors import BadParameter, DiscreetError
from tests.helpers.curator.land import write_town


@pytest.mark.slow
def test_a_configuration_names_its_ledger(config: Path) -> None:
    found = read_config(config)
    assert ledger_location(config) == (found.ledger, found.key, found.head)


@pytest.mark.slow
def test_the_file_of_a_ledger_is_taken_for_itself(config: Path) -> None:
    file = Path(str(read_config(config).ledger))
    assert file.read_bytes()[:15] == b"SQLite format 3"
    assert ledger_location(file) == (file, None, None)
    with open_ledger_of(config) as one:
        head = one.head
    with open_ledger_of(file) as same:
        assert same.head == head


@pytest.mark.parametrize("content", [None, b"SQLite format 4\x00", b"\xff\xfe not a configuration"])
def test_what_is_neither_is_refused(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "other"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DiscreetError):
        ledger_location(path)


@pytest.mark.slow
def test_a_curator_is_made_from_its_file_once(tmp_path: Path) -> None:
    path = write_town(tmp_path / "town", people=3)
    with open_curator_of(path) as first:
        made = first.ledger.head
        assert set(first.ledger.datasets) == {"town", "other"}
    with open_curator_of(path) as second:
        assert second.ledger.head == made, "opened as it is, not made again"


def test_amounts_of_options() -> None:
    assert given_amount("", "", "", "--epsilon") is None
    assert given_amount("1/2", "", "", "--epsilon") == dp.Pure("1/2")
    assert given_amount("0.5", "1e-9", "", "--epsilon") == dp.Approx("1/2", "1e-9")
    assert given_amount("", "", "0.1", "--rho") == dp.ZCDP("1/10")
    for wrong in (("1", "", "1"), ("", "1e-9", ""), ("much", "", "")):
        with pytest.raises(BadParameter):
            given_amount(*wrong, "--cap")
