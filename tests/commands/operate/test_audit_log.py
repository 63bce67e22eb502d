"""The audit log: every entry, with full times and prices."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from discreet.curator.service.questions import SqlQuestion
from discreet.session.price import Price
from tests.helpers.commands import run

pytestmark = pytest.mark.slow


@pytest.fixture
def asked(config: Path) -> Path:
    curator = open_curator(read_config(config))
    curator.ledger.owner.add_analyst("ann")
    curator.ledger.owner.grant("ann", "other")
    ann = curator.access.who("Bearer " + curator.access.issue("ann", Role.ANALYST))
    curator.ask(ann, "other", SqlQuestion(sql="SELECT COUNT(*) AS n FROM notes", price=Price("0.25")))
    curator.close()
    return config


def rows(*arguments: object) -> Any:
    return json.loads(run("audit-log", *arguments, "--json").stdout)


def test_every_entry_with_its_time_and_price(asked: Path) -> None:
    found = rows(asked)
    assert [row["number"] for row in found] == list(range(1, len(found) + 1))
    assert all(datetime.fromisoformat(row["time"]).tzinfo is not None for row in found)
    (charge,) = [row for row in found if row["kind"] == "charge"]
    assert charge["price"] == "epsilon 0.25"
    assert charge["by"] == "ann"
    assert charge["answered"]
    assert "epsilon 0.25" in run("audit-log", asked).stdout


def test_a_part_of_it(asked: Path) -> None:
    assert {row["kind"] for row in rows(asked, "--analyst", "ann")} == {"analyst", "grant", "charge"}
    assert len(rows(asked, "--kind", "charge")) == 1
    assert rows(asked, "--since", "9999") == []
    assert rows(asked, "--until", "2000") == []


def test_as_lines_without_what_stays_here(asked: Path) -> None:
    lines = [json.loads(line) for line in run("audit-log", asked, "--lines").stdout.splitlines()]
    assert [line["number"] for line in lines] == [row["number"] for row in rows(asked)]
    assert not any("body" in line for line in lines)
    (token,) = [line for line in lines if line["kind"] == "access.token"]
    assert token["about"] == "ann"
