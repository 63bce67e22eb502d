"""Backup, restore, pruning, migration, and moving of a ledger."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from discreet.curator.error_replies import Refusal
from discreet.curator.service.access import Caller
from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from discreet.curator.service.questions import SqlQuestion
from discreet.curator.service.service import Curator
from discreet.ledger import open_ledger, verify_ledger
from discreet.ledger.migrations import VERSION
from discreet.session.price import Price
from tests.helpers.commands import run

pytestmark = pytest.mark.slow

ASKED = SqlQuestion(sql="SELECT COUNT(*) AS n FROM notes", price=Price("0.25"))


def said(*arguments: object, status: int = 0) -> Any:
    done = run(*arguments, "--json")
    assert done.exit_code == status, done.stderr
    return json.loads(done.stdout)


def ask(config: Path, key: str) -> None:
    curator, ann = opened(config)
    curator.ask(ann, "other", ASKED, key=key)
    curator.close()


def opened(config: Path) -> tuple[Curator, Caller]:
    curator = open_curator(read_config(config))
    if "ann" not in curator.ledger.analysts:
        curator.ledger.owner.add_analyst("ann")
        curator.ledger.owner.grant("ann", "other")
    return curator, curator.access.who("Bearer " + curator.access.issue("ann", Role.ANALYST))


def test_a_backup_can_be_restored_and_shows_what_is_missing(config: Path, tmp_path: Path) -> None:
    ask(config, "first")
    backup, ledger = tmp_path / "backup", config.parent / "curator.ledger"
    made = said("ledger", "backup", config, backup)
    assert made["answers"] == 1
    assert backup.stat().st_mode & 0o777 == 0o600
    assert run("ledger", "backup", config, backup).exit_code == 1  # never over a file that is there
    assert verify_ledger(backup, cards=True).good
    assert run("ledger", "restore", backup, config).exit_code == 1  # there is a ledger
    for path in config.parent.glob("curator.ledger*"):
        if path.suffix not in (".key", ".head"):
            path.unlink()
    assert said("ledger", "restore", backup, config)["problems"] == []
    ask(config, "first")  # answered from what was stored
    assert len([row for row in said("audit-log", config) if row["kind"] == "charge"]) == 1
    ask(config, "second")
    ledger.unlink()
    for path in config.parent.glob("curator.ledger-*"):
        path.unlink()
    (problem,) = said("ledger", "restore", backup, config, status=1)["problems"]
    assert "rolled back" in problem


def test_a_backup_of_a_ledger_in_postgresql(config: Path, durable_postgres_dsn: str, tmp_path: Path) -> None:
    text = config.read_text().replace(
        'data = "data"', f'data = "data"\nledger = "{durable_postgres_dsn}"\nkey = "k"\nhead = "h"'
    )
    config.write_text(text)
    open_curator(read_config(config), create=True).close()
    ask(config, "first")
    assert said("ledger", "backup", config, tmp_path / "backup")["answers"] == 1
    assert verify_ledger(tmp_path / "backup", head=config.parent / "h", cards=True).good


def test_pruned_answers_are_gone_and_their_charges_stay(config: Path) -> None:
    ask(config, "first")
    assert said("ledger", "prune-answers", config, "--before", "2000-01-01")["pruned"] == 0
    assert said("ledger", "prune-answers", config, "--before", "2999-01-01")["pruned"] == 1
    ledger = config.parent / "curator.ledger"
    assert verify_ledger(ledger, cards=True).good
    curator, ann = opened(config)
    with pytest.raises(Refusal, match="keeps the answer no longer"):
        curator.ask(ann, "other", ASKED, key="first")
    (charge,) = curator.ledger.entries(kind="charge")
    assert charge.answered
    assert curator.ledger.charge(charge.entry.sequence).card is not None
    assert curator.ledger.unanswered() == []
    curator.close()
    with sqlite3.connect(ledger) as lite, pytest.raises(sqlite3.IntegrityError, match="only grows"):
        lite.execute("UPDATE discreet_answers SET answer = x'00'")  # the guard is back
    assert run("ledger", "prune-answers", config).exit_code == 1


def test_migrating_names_the_versions(config: Path) -> None:
    assert said("ledger", "migrate", config) == {"before": VERSION, "now": VERSION, "entries": 7}


def test_moving_a_ledger_is_recorded(config: Path, tmp_path: Path) -> None:
    curator = open_curator(read_config(config))
    curator.serve()
    curator.close()
    shutil.copytree(config.parent, tmp_path / "copy")
    copy = tmp_path / "copy" / "curator.toml"
    assert said("ledger", "move-here", copy, "--reason", "a new machine")["sequence"] > 0
    curator = open_curator(read_config(copy))
    curator.serve()
    curator.close()


def test_accepting_a_witness_needs_one(config: Path) -> None:
    assert run("ledger", "accept-witness", config, "--reason", "x").exit_code == 1
    config.write_text(config.read_text().replace('data = "data"', 'data = "data"\nwitness = "w"'))
    assert said("ledger", "accept-witness", config, "--reason", "x")["sequence"] > 0
    with open_ledger(config.parent / "curator.ledger") as ledger:
        assert ledger.owner.acts("curator.witness")
