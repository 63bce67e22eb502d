"""The same people under two budgets are shown to the owner, however their data are written."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path

import pytest

from discreet.curator.engine_process.process import Isolated
from discreet.curator.service import declarations
from discreet.curator.service.config import read_config
from discreet.curator.service.copies.unit_sets import KIND, MOST, UnitSet, keep_units
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from discreet.curator.service.service import Curator
from discreet.errors import AlreadyProtected, EngineFailed
from discreet.privacy.promises.measures import Pure


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    (tmp_path / "data").mkdir()
    rows("visits.csv", tmp_path, range(1000))
    config = tmp_path / "curator.toml"
    config.write_text(
        '[server]\ndata = "data"\n[datasets.visits]\nbudget = {epsilon = "1"}\n'
        '[datasets.visits.tables.visits]\nsource = "visits.csv"\nunit = "who"\n'
    )
    made = open_curator(read_config(config), create=True)
    yield made
    made.close()


def rows(name: str, folder: Path, people: range, letter: str = "p") -> None:
    """A file with two rows of each."""
    text = "who,cost\n" + "".join(f"{letter}{i},{k}\n" for i in people for k in range(2))
    path = folder / "data" / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())


def register(curator: Curator, name: str, source: str, population: str, decision: str | None = None) -> list[str]:
    tables = {"tables": {"t": {"source": source, "unit": "who"}}}
    budget = None if population in curator.ledger.populations else Pure(1)
    curator.register(name, declarations.read(tables, name), population, budget=budget, decision=decision)
    return [one for one in curator.cautions() if "two budgets" in one]


@pytest.mark.slow
def test_people_in_another_encoding_take_a_decision(curator: Curator, tmp_path: Path) -> None:
    """Fails if a file with one person fewer, compressed, opens a second budget without one."""
    rows("again.csv.gz", tmp_path, range(999))
    before = curator.ledger.head
    with pytest.raises(AlreadyProtected, match=r"'again' or of 'visits'.*give a decision"):
        register(curator, "again", "again.csv.gz", "others")
    assert curator.ledger.head == before, "nothing was recorded"
    register(curator, "again", "again.csv.gz", "visits")  # the budget that they have


@pytest.mark.slow
def test_people_in_two_tables_of_the_file_take_a_decision_there(curator: Curator, tmp_path: Path) -> None:
    curator.close()
    rows("again.csv", tmp_path, range(1, 1000))
    path, text = (
        tmp_path / "curator.toml",
        ('\n[datasets.again]\nbudget = {epsilon = "1"}\ntables.t = {source = "again.csv", unit = "who"}\n'),
    )
    path.write_text(path.read_text() + text)
    with pytest.raises(AlreadyProtected, match="give a decision"):
        open_curator(read_config(path))
    path.write_text(path.read_text() + 'decision = "they agreed to a second study"\n')
    opened = open_curator(read_config(path))
    try:
        assert [one for one in opened.cautions() if "two budgets" in one] == []
        register(opened, "visits", "visits.csv", "visits")  # described anew: that pair is decided
        rows("third.csv", tmp_path, range(2, 1000))
        with pytest.raises(AlreadyProtected, match="'third' or of 'visits'"):  # another pair is not
            register(opened, "third", "third.csv", "third")
    finally:
        opened.close()


def test_registrations_that_raced_show_a_caution(curator: Curator) -> None:
    """A registration between the comparison and the record is still shown to the owner."""
    curator.ledger.owner.protect("others", Pure(1))
    hashes = [md5(f"p{i}".encode()).hexdigest() for i in range(1000)]  # noqa: S324
    curator.ledger.owner.register("raced", "others", marks=["raced"])
    keep_units(curator.ledger, "raced", "others", hashes, decided=False, by="owner")
    (caution,) = [one for one in curator.cautions() if "two budgets" in one]
    assert "'raced'" in caution
    assert "'visits'" in caution
    curator.ledger.owner.retire("raced", reason="the same people")
    assert not [one for one in curator.cautions() if "two budgets" in one]


def test_nothing_is_said_of_others_or_of_what_was_decided(curator: Curator, tmp_path: Path) -> None:
    rows("few.csv", tmp_path, range(900, 2400))  # 100 of 1000 are the same: 10 %
    rows("same.csv", tmp_path, range(1000))
    assert register(curator, "few", "few.csv", "others") == []
    assert register(curator, "more", "same.csv", "visits") == []  # one budget
    rows("decided.csv", tmp_path, range(998))
    assert register(curator, "decided", "decided.csv", "third", decision="agreed with them") == []


def test_what_is_kept_names_nobody(curator: Curator) -> None:
    (act,) = curator.ledger.owner.acts(KIND)
    assert len(act.body["units"]) == MOST
    assert "p7" not in str(act.body)
    curator.ledger.owner.add_analyst("ann")
    curator.ledger.owner.grant("ann", "visits")
    curator.access.issue("ann", Role.ANALYST)
    assert all(line.entry.kind != KIND for line in curator.ledger.entries(analyst="ann"))


def test_samples_are_compared_where_both_are_whole() -> None:
    """Exact: a sample that has all units from two zeros on says nothing about those with fewer."""
    whole = UnitSet({f"{zeros} {i}": zeros for zeros in range(4) for i in range(8 >> zeros)}, 0)
    part = UnitSet({name: zeros for name, zeros in whole.units.items() if zeros >= 2}, 2)
    assert whole.shared(part) == part.shared(whole) == 100
    assert whole.shared(UnitSet({"x": 0, "y": 3}, 0)) == 0
    assert whole.shared(UnitSet({}, 0)) == 0


@pytest.mark.slow
def test_people_who_cannot_be_compared_take_a_decision(
    curator: Curator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails if an engine that fails opens a second budget for the same people."""

    def fail(*_: object) -> list[str]:
        raise EngineFailed

    monkeypatch.setattr(Isolated, "smallest_hashes", fail)
    rows("again.csv.gz", tmp_path, range(999))
    before = curator.ledger.head
    with pytest.raises(AlreadyProtected, match=r"'again' could not be compared.*try again, or give a decision"):
        register(curator, "again", "again.csv.gz", "others")
    assert curator.ledger.head == before, "nothing was recorded"
    register(curator, "again", "again.csv.gz", "visits")  # the budget that they have
    register(curator, "second", "again.csv.gz", "others", decision="a second study, agreed to")
