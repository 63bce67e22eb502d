"""Tables that are declared without caps: registered with caps that are chosen; older registrations keep ten rows."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from discreet.curator import public_schema
from discreet.curator.service import declarations
from discreet.curator.service.access import Caller
from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from discreet.curator.service.questions import SqlQuestion
from discreet.query.plan.schema import Stored, StoredKind, resolve
from discreet.session.price import Price
from tests.helpers.curator.land import write_town

CHOSEN_CAPS = True
SILENT = {"t": {"source": "t.csv", "unit": "id"}}
ANN = Caller("ann", Role.ANALYST, "t", datetime(2099, 1, 1, tzinfo=UTC))
COUNT = SqlQuestion(sql="SELECT city, COUNT(*) AS n FROM trips GROUP BY city", price=Price(1))


@pytest.mark.parametrize(
    ("said", "registered"),
    [
        ({}, {"max_rows": "auto"}),
        ({"max_groups": 2}, {"max_rows": "auto", "max_groups": 2}),
        ({"max_rows": 3}, {"max_rows": 3}),
        ({"max_groups": 2, "max_rows_per_group": 1}, {"max_groups": 2, "max_rows_per_group": 1}),
    ],
)
def test_what_nobody_says_is_registered_as_auto(said: dict[str, int], registered: dict[str, object]) -> None:
    (table,) = declarations.read_tables({"t": SILENT["t"] | said}, "d").completed().tables.values()
    assert table.caps == registered


def test_an_older_registration_without_caps_keeps_its_ten_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id\n1\n")
    stored = json.loads(json.dumps({"tables": SILENT}))  # as the ledger of an older version has it
    assert declarations.read(stored, "d").tables["t"].at(tmp_path).caps.max_rows == 10


def test_bounds_that_are_to_be_chosen_reach_the_client(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,x\n1,2\n")
    declared = declarations.read_tables({"t": SILENT["t"] | {"columns": {"x": {"bounds": "auto"}}}}, "d").tables["t"]
    stored = {"id": Stored(StoredKind.INTEGER), "x": Stored(StoredKind.REAL)}
    schema = resolve("t", declared.at(tmp_path), stored)
    assert public_schema.read({"t": public_schema.write(schema)})["t"].table.columns["x"].auto


@pytest.mark.slow
def test_what_nobody_declared_is_chosen_in_the_one_charge_and_registered_once(tmp_path: Path) -> None:
    path = write_town(tmp_path / "town")
    text = path.read_text().replace("max_rows = 5\n", "")
    assert text != path.read_text()
    path.write_text(text)
    with closing(open_curator(read_config(path), create=True)) as curator:
        curator.ledger.owner.add_analyst("ann")
        curator.ledger.owner.grant("ann", "town")
        charge = curator.ask(ANN, "town", COUNT)
        assert charge.answer is not None
        assert "were scaled down to that" in str(json.loads(charge.answer)["notes"])
        assert curator.ledger.look().charges == 1
        registered = curator.ledger.head.sequence
    with closing(open_curator(read_config(path))) as curator:  # the same file declares nothing anew
        assert curator.ledger.head.sequence == registered
