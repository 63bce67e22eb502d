"""A ledger that was copied is not served from the copy until the owner says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from discreet.curator.service.config import read_config
from discreet.curator.service.copies import place
from discreet.curator.service.copies.place import KIND, check_place, move_here, place_of
from discreet.curator.service.opening import open_curator
from discreet.errors import BadParameter, LedgerMismatch
from discreet.ledger import open_ledger
from tests.helpers.curator.land import write_town


def test_a_copy_of_everything_in_another_folder_is_not_served(tmp_path: Path) -> None:
    """Fails where only the head file guards: it was copied as well, and both would spend."""
    first = open_curator(read_config(write_town(tmp_path / "town")), create=True)
    first.serve()
    first.serve()  # again from the same place
    first.close()
    shutil.copytree(tmp_path / "town", tmp_path / "copy")
    copied = read_config(tmp_path / "copy" / "curator.toml")
    second = open_curator(copied)
    with pytest.raises(LedgerMismatch, match="move-here"):
        second.serve()
    with pytest.raises(BadParameter, match="must say why"):
        move_here(second.ledger, copied.ledger, " ")
    move_here(second.ledger, copied.ledger, "the old machine was given back")
    second.serve()
    assert [act.body["reason"] for act in second.ledger.owner.acts(KIND)][-1] == "the old machine was given back"
    second.close()


def test_the_same_file_on_another_machine_is_another_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = tmp_path / "machine-id"
    monkeypatch.setattr(place, "_IDENTITIES", (tmp_path / "nothing", identity))
    places = [place_of(tmp_path / "ledger")]
    for one in ("first", "second"):
        identity.write_text(f"{one}\n")
        places.append(place_of(tmp_path / "ledger"))
    assert len(set(places)) == 3
    with open_ledger(tmp_path / "ledger", create=True) as ledger:
        check_place(ledger, tmp_path / "ledger")
        identity.write_text("third")
        with pytest.raises(LedgerMismatch):
            check_place(ledger, tmp_path / "ledger")


def test_a_database_is_shared(tmp_path: Path) -> None:
    assert place_of("postgresql://somewhere/else") is None
    with open_ledger(tmp_path / "ledger", create=True) as ledger:
        check_place(ledger, "postgresql://somewhere/else")
        assert ledger.owner.acts(KIND) == ()
