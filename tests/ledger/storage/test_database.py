"""database.py: who waits, what is unsafe, and a connection that is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from discreet.errors import LedgerBusy, LedgerUnavailable, LedgerUnsafe
from discreet.ledger.durable_files import MEMORY, NETWORK, kind_of_disk
from discreet.ledger.storage import database
from discreet.privacy.promises.measures import Pure
from tests.helpers.ledger_places import Place, answered, ask, prepared

if TYPE_CHECKING:
    from tests.helpers.postgres import Postgres


@pytest.mark.slow
def test_a_ledger_that_others_hold_is_busy(place: Place) -> None:
    reached: list[str] = []

    def at(point: str) -> None:
        if point == "appended" and reached == ["armed"]:
            reached.append(point)
            with place.open(patience=0.2) as other:
                ask(other, "b")

    with prepared(place, at=at) as ledger:
        answered(ledger, "a")
        reached.append("armed")
        with pytest.raises(LedgerBusy):
            ask(ledger, "c")
        assert ledger.standing("town").charged == Pure("0.1")  # neither was charged
        ask(ledger, "c")


@pytest.mark.slow
def test_who_is_not_let_in_is_told_so(postgres_place: Place) -> None:
    """It was reported as a full disk."""
    address = postgres_place.location
    for wrong in (address.replace("postgres@", "nobody@"), address.replace("/fresh_", "/no_such_")):
        with pytest.raises(LedgerUnavailable, match="does not let this role in"):
            database.open_database(wrong, create=True, patience=5).read().__enter__()


@pytest.mark.slow
def test_unsafe_settings_are_refused(postgres_place: Place) -> None:
    with prepared(postgres_place) as ledger:
        ask(ledger, "a")
    name = postgres_place.run("SELECT current_database()")[0][0]
    for setting in ("synchronous_commit = off", "synchronous_commit = local"):
        postgres_place.run(f"ALTER DATABASE {name} SET {setting}")
        with pytest.raises(LedgerUnsafe, match="synchronous_commit"):
            postgres_place.open()
    postgres_place.run(f"ALTER DATABASE {name} SET synchronous_commit = remote_apply")
    with postgres_place.open() as ledger:
        ask(ledger, "b")


@pytest.mark.slow
def test_a_server_without_durability_is_refused(fresh_database: str, tmp_path: Path) -> None:
    place = Place(fresh_database, str(tmp_path / "key"), str(tmp_path / "head"))
    with pytest.raises(LedgerUnsafe, match="fsync"):
        prepared(place)


def test_sqlite_is_kept_with_full_durability(lite: Place) -> None:
    """Not what was asked for, but what SQLite says of the connection that writes charges."""
    with prepared(lite) as ledger:
        with ledger._journal.database.write() as tx:
            assert tx._file is not None
            assert tx._file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert tx._file.execute("PRAGMA synchronous").fetchone() == (2,)
        assert lite.file.stat().st_mode & 0o077 == 0
        assert Path(f"{lite.location}-wal").stat().st_mode & 0o077 == 0


def test_a_ledger_in_memory_warns() -> None:
    memory = Path("/dev/shm")  # noqa: S108 - a disk in memory is what is wanted
    if kind_of_disk(memory) != "tmpfs":
        pytest.skip("no disk in memory here")
    folder = Path(tempfile.mkdtemp(dir=memory))
    with prepared(Place(str(folder / "ledger"), str(folder / "key"), str(folder / "head"))) as ledger:
        assert "loses every charge" in ledger.cautions[0]
    shutil.rmtree(folder)


def test_an_ordinary_disk_does_not_warn(lite: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with prepared(lite) as ledger:
        monkeypatch.setattr(database, "kind_of_disk", lambda _: "ext4")
        assert "".join(ledger.cautions) == ""
        monkeypatch.setattr(database, "kind_of_disk", lambda _: next(iter(MEMORY)))
        assert "loses every charge" in "".join(ledger.cautions)


def test_reopening_lets_go_of_the_file_that_was_there(lite: Place, tmp_path: Path) -> None:
    """A file that is put in its place is read from then on, not the one that open connections hold."""
    with prepared(lite) as ledger:
        store = ledger._journal.database
        ledger.close()
        backup = lite.copied(tmp_path / "backup")
        answered(ledger, "a")
        with store.read() as tx:
            newer = tx.head()
        Path(lite.location).unlink()
        shutil.copyfile(backup.location, lite.location)
        for name in ("-wal", "-shm"):
            Path(f"{lite.location}{name}").unlink(missing_ok=True)
        store.reopen()
        with store.read() as tx:
            assert tx.head()[0] < newer[0]


@pytest.mark.slow
def test_a_connection_that_is_lost(postgres_place: Place, durable_postgres: Postgres) -> None:
    with prepared(postgres_place) as ledger:
        answered(ledger, "a")
        durable_postgres.kill()
        with pytest.raises(LedgerUnavailable) as caught:
            ask(ledger, "b")
        assert "psycopg" not in str(caught.value)
        assert "postgres" not in str(caught.value)
        durable_postgres.start()
        answered(ledger, "b")
        assert ledger.standing("town").charged == Pure("0.2")
    assert postgres_place.verify().good


@pytest.mark.parametrize("disk", sorted(NETWORK))
def test_a_ledger_on_a_network_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disk: str) -> None:
    """Locks fail there: two processes could spend one budget twice."""
    asked: list[Path] = []

    def kind(path: Path) -> str:
        asked.append(path)
        return disk

    monkeypatch.setattr(database, "kind_of_disk", kind)
    with pytest.raises(LedgerUnsafe, match="network"):
        database.open_database(tmp_path / "budget.db", create=True, patience=1)
    assert asked == [tmp_path]
    assert not list(tmp_path.iterdir()), "no file was made"
    monkeypatch.setattr(database, "kind_of_disk", lambda _: "ext4")
    database.open_database(tmp_path / "budget.db", create=True, patience=1).close()


def test_a_ledger_that_is_only_looked_for_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    store = database.open_database(path, create=False, patience=1)
    assert not store.exists()
    assert not path.exists()
    store = database.open_database(path, create=True, patience=1)
    assert path.stat().st_size == 0
    assert not store.exists()
    assert store.version() == 0
    store.close()


def test_answers_are_emptied_once_and_stay_guarded(lite: Place) -> None:
    with prepared(lite) as ledger:
        charges = [answered(ledger, f"k{i}").sequence for i in range(3)]
        store = ledger._journal.database
        assert (store.prune(charges[:2]), store.prune(charges), store.prune(charges), store.prune([])) == (2, 1, 0, 0)
        assert [ledger.charge(charge).pruned for charge in charges] == [True] * 3
        assert all(ledger.charge(charge).card for charge in charges)
    for table in ("discreet_answers", "discreet_entries"):
        for change in (f"DELETE FROM {table}", f"UPDATE {table} SET rowid = rowid"):
            with pytest.raises(sqlite3.DatabaseError, match="only grows"):
                lite.run(change)
    assert lite.verify().good


def test_a_file_that_is_damaged_where_no_entry_lies_is_found(lite: Place) -> None:
    """An index that is lost leaves pages that nothing uses; every entry can still be read."""
    with prepared(lite) as ledger:
        answered(ledger, "a")
        assert ledger._journal.database.sound()
    assert lite.verify().good
    lite.run("PRAGMA writable_schema = ON", "DELETE FROM sqlite_master WHERE name = 'discreet_by_kind'")
    report = lite.verify()
    assert (report.problems, report.first_bad) == (("the file of the database is damaged",), None)


def test_another_process_cannot_use_an_open_ledger(lite: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with prepared(lite) as ledger:
        store = ledger._journal.database
        assert store.local
        assert store.identity() == f"file {Path(lite.location).stat().st_ino}"
        own = os.getpid()
        monkeypatch.setattr(os, "getpid", lambda: own + 1)
        for use in (store.read, store.write, store.answer):
            with pytest.raises(LedgerUnavailable, match="belongs to the process"), use():
                pytest.fail("it was used")
        with pytest.raises(LedgerUnavailable, match="belongs to the process"):
            store.prune([])
        monkeypatch.undo()
        assert ask(ledger, "a").fresh


def test_a_closed_ledger_leaves_one_file(lite: Place) -> None:
    """Connections that write charges and those that store answers are closed: the last one takes the log along."""
    with prepared(lite) as ledger:
        answered(ledger, "a")
        assert Path(f"{lite.location}-wal").exists()
    assert not Path(f"{lite.location}-wal").exists()
