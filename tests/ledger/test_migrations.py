"""migrations.py: ledgers of every earlier version stay readable, and go on."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.errors import LedgerUnsafe, OverBudget
from discreet.ledger import import_ledger, verify_receipt
from discreet.ledger.entries import read_entry
from discreet.ledger.migrations import STEPS, VERSION, sa, take_steps, version_of
from discreet.ledger.records import apply_entry, read_record
from discreet.ledger.state import State
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Pure, Renyi
from tests.helpers.ledger_places import Place, answered, prepared

# Written by the first version of the ledger, with the signing key 02 02 ... 02, and never to be changed.
V1 = (Path(__file__).parent / "ledger_v1.jsonl").read_text().splitlines()
SPENT: dict[str, Measure] = {
    "pure": Pure("9/20"),
    "renyi": Renyi({2: "1/5", 8: "3/5"}),
    "gdp": GDP(mu_squared="2/25"),
    "basic": Approx("3/50", "3/500000000"),
    "approx": ZCDP("1/1600"),
}


def write_key(path: Path) -> None:
    private = Ed25519PrivateKey.from_private_bytes(bytes([2]) * 32)
    path.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    path.chmod(0o600)


@contextmanager
def connected(place: Place) -> Iterator[sa.Connection]:
    """A transaction that knows nothing of ledgers."""
    file, server = f"sqlite:///{place.location}", place.location.replace("postgresql:", "postgresql+psycopg:")
    engine = sa.create_engine(file if place.is_file else server)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def build(place: Place, version: int) -> None:
    """A ledger as an earlier version left it: the tables of that version, and the stored entries."""
    with connected(place) as connection:
        take_steps(connection, up_to=version)
        assert version_of(connection) == version
        for line in V1:
            entry = read_entry(line)
            found = read_record(entry).columns(entry.by)
            connection.execute(
                sa.text(
                    "INSERT INTO discreet_entries VALUES (:sequence, :kind, :population, :analyst, :token, :h, :t)"
                ),
                {
                    "sequence": entry.sequence,
                    "kind": found.kind,
                    "population": found.population,
                    "analyst": found.analyst,
                    "token": found.token,
                    "h": entry.hash,
                    "t": line,
                },
            )
        last = read_entry(V1[-1])
        connection.execute(
            sa.text("INSERT INTO discreet_head VALUES (1, :sequence, :hash)"),
            {"sequence": last.sequence, "hash": last.hash},
        )
    write_key(Path(place.key))


@pytest.mark.slow
@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_a_ledger_of_every_version_opens_and_goes_on(place: Place, version: int) -> None:
    build(place, version)
    assert place.verify().problems == ("the head file is missing",)
    with place.open() as ledger:
        assert list(ledger.export()) == V1
        assert ledger.trouble is not None  # no head file came with it
        ledger.owner.acknowledge(reason="moved here from an old machine")
        for name, spent in SPENT.items():
            assert ledger.standing(name).charged == spent
        assert ledger.standing("pure").budget == Pure(2)
        charge = ledger.spend("pure data", "ann", events.Pure("0.1"), key="new", query="q")
        assert verify_receipt(charge.proof, ledger.public_key).sequence == len(V1) + 2
        again = ledger.spend("pure data", "ann", events.Pure("0.1"), key="new", query="q")
        assert again.sequence == charge.sequence
        with pytest.raises(OverBudget):
            ledger.spend("pure data", "ann", events.Pure("1.5"), key="more", query="q")
    with connected(place) as connection:
        assert version_of(connection) == VERSION
    with pytest.raises(Exception, match="only grows"):
        place.run("DELETE FROM discreet_entries")
    assert place.verify().good


def test_the_stored_ledger_has_every_kind_of_entry() -> None:
    kinds = Counter(read_entry(line).kind for line in V1)
    own = {
        "ledger", "key", "population", "budget", "dataset", "retire", "analyst", "revoke", "grant", "charge",
        "write_off", "acknowledge", "access.token",
    }  # fmt: skip
    assert set(kinds) == own
    state = State()
    for line in V1:
        apply_entry(state, read_entry(line))
    assert len(state.public_keys) == 2
    assert state.datasets["copy"].retired
    assert state.analysts["Bö b"].revoked


def test_a_stored_ledger_is_imported(lite: Place) -> None:
    assert import_ledger(V1, lite.location).charges == 14
    write_key(Path(lite.key))
    with lite.open() as ledger:
        assert list(ledger.export()) == V1


@pytest.mark.slow
def test_a_ledger_of_a_newer_version_is_refused(place: Place) -> None:
    with prepared(place) as ledger:
        answered(ledger, "k")
    place.run(f"UPDATE discreet_schema SET version = {VERSION + 1}")
    with pytest.raises(LedgerUnsafe, match="newer"):
        place.open()


def test_steps_never_change() -> None:
    """A step that was published is the same for good: add another one at the end."""
    assert VERSION == len(STEPS) == 3
    for step in STEPS:
        assert set(step) == {"sqlite", "postgresql"}


def test_a_step_is_taken_whole_or_not_at_all(lite: Place) -> None:
    build(lite, 1)
    with sqlite3.connect(lite.location) as connection:  # somebody made an index of that name: step 3 fails
        connection.execute("CREATE INDEX discreet_by_kind ON discreet_entries (kind)")
    connection.close()
    with pytest.raises(Exception, match="ledger"):
        lite.open()
    with connected(lite) as checked:
        assert version_of(checked) == 1
    lite.run("DROP INDEX discreet_by_kind")
    with lite.open() as ledger:
        assert list(ledger.export()) == V1


def test_tables_that_were_never_finished_are_not_called_newer(lite: Place) -> None:
    prepared(lite).close()
    lite.run("UPDATE discreet_schema SET version = 0")
    with pytest.raises(LedgerUnsafe, match="not finished"):
        lite.open()
    lite.run(f"UPDATE discreet_schema SET version = {VERSION + 1}")
    with pytest.raises(LedgerUnsafe, match="newer version"):
        lite.open()


def test_a_whole_ledger_of_an_earlier_release_is_opened_and_goes_on(lite: Place) -> None:
    """Tables, entries, answers and cards as the release with three steps wrote them; never to be changed."""
    lite.file.parent.mkdir(exist_ok=True)
    with sqlite3.connect(lite.location) as plain:
        plain.executescript((Path(__file__).parent / "tables_v3.sql").read_text())
    plain.close()
    lite.file.chmod(0o600)
    write_key(Path(lite.key))
    with lite.open() as ledger:
        assert ledger.trouble is not None  # its head file is not there
        ledger.owner.acknowledge(reason="a ledger of an earlier release")
        assert ledger.charge(ledger.entries(kind="charge")[0].entry.sequence).answer == b"answer to k0"
        assert answered(ledger, "later").answer == b"answer to later"
    assert lite.verify(cards=True).good
