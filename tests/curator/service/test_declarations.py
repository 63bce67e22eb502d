"""What an owner declares, as plain data and back."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.curator.service import declarations
from discreet.errors import BadParameter
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.plan.schema import Declared


@pytest.mark.parametrize(
    ("said", "promise"),
    [
        ({"epsilon": 0.1}, Pure("0.1")),
        ({"epsilon": "1/3", "delta": "1e-30"}, Approx("1/3", "1e-30")),
        ({"epsilon": 1, "delta": 0}, Pure(1)),
        ({"rho": "0.5"}, ZCDP("0.5")),
        ({"rho": "0.5", "delta": "1e-9"}, ZCDP("0.5", "1e-9")),
    ],
)
def test_promises(said: object, promise: object) -> None:
    assert declarations.read_promise(said, "budget") == promise


@pytest.mark.parametrize(
    "said", [{}, {"delta": "1e-9"}, {"epsilon": 1, "rho": 1}, {"epsilon": -1}, {"epsilon": "x"}, {"mu": 1}, None, 3]
)
def test_what_is_no_promise_is_refused_with_its_place(said: object) -> None:
    with pytest.raises(BadParameter) as found:
        declarations.read_promise(said, "budget")
    assert found.value.name.startswith("budget")


@pytest.mark.parametrize(
    ("said", "declared"),
    [
        ({}, Declared()),
        ({"nullable": False}, Declared(nullable=False)),
        ({"bounds": [0.1, "1/3"]}, dp.bounds("0.1", "1/3")),
        ({"bounds": [date(2025, 1, 1), "2025-12-31"]}, dp.bounds("2025-01-01", "2025-12-31")),
        ({"keys": ["a", None]}, dp.keys(["a", None])),
        ({"keys": ["a"], "null_key": True}, dp.keys(["a", None])),
        ({"keys": ["2025-01-01"], "type": "date"}, dp.keys([date(2025, 1, 1)])),
        ({"keys": ["2025-01-01"]}, dp.keys(["2025-01-01"])),
        ({"unknown_keys": True, "nullable": False}, dp.unknown_keys(nullable=False)),
        ({"bounds": "auto", "nullable": False}, dp.bounds("auto", nullable=False)),
        ({"bounds": "never"}, dp.bounds("never")),
    ],
)
def test_a_column_is_read_and_written_in_canonical_form(said: dict[str, Any], declared: Declared) -> None:
    def read(column: dict[str, Any]) -> Declared:
        table = {"source": "t.csv", "unit": "id", "columns": {"c": column}}
        return declarations.read({"tables": {"t": table}}, "d").tables["t"].columns["c"]

    assert read(said) == declared
    written = declarations.write_column(declared)
    assert read(json.loads(json.dumps(written))) == declared


@pytest.mark.parametrize("name", ["a/b", "..", ".", "a?b", "a#b", "50%", "a\\b", "", "a\nb"])
def test_a_name_can_stand_in_an_address(name: str) -> None:
    with pytest.raises(BadParameter):
        declarations.read_name(name, "name")
    assert declarations.read_name("a b.c", "name") == "a b.c"


def test_rules_and_neighbours_are_named_in_lower_case() -> None:
    assert declarations.read_rule(None, "rule") is None
    assert declarations.read_rule("zcdp", "rule") is Rule.ZCDP
    assert declarations.read_neighbours("change_one", "neighbours") is Neighbours.CHANGE_ONE
    for wrong in ("ZCDP", "", "advanced"):
        with pytest.raises(BadParameter, match="zcdp, basic"):
            declarations.read_rule(wrong, "rule")
    with pytest.raises(BadParameter, match="add_remove, change_one"):
        declarations.read_neighbours(None, "neighbours")


def test_only_private_tables_are_recognised_by_their_files(tmp_path: Path) -> None:
    for name in ("a.csv", "p.csv"):
        (tmp_path / name).write_text("id\n1\n")
    tables = {"t": {"source": "a.csv", "unit": "id"}, "p": {"source": "p.csv", "public": True}}
    both = declarations.read_tables(tables, "d")
    assert both.marks(tmp_path) == declarations.read_tables({"t": tables["t"]}, "d").marks(tmp_path) != []


def test_the_other_key_is_part_of_the_registration() -> None:
    columns = {"state": {"keys": ["A", "B"], "other": "B"}, "day": {"keys": ["2025-01-31"], "type": "date"}}
    places = {"name": "geo", "columns": ["region", "place"], "rows": [["r", "p"]], "other": "else"}
    data = {"source": "t.parquet", "unit": "id", "max_rows": 1, "columns": columns, "key_sets": [places]}
    found = declarations.read({"tables": {"t": data}}, "d")
    written = declarations.write(found)["tables"]["t"]
    assert written["columns"]["state"] == columns["state"]
    assert written["key_sets"] == [places]
    with pytest.raises(BadParameter, match="name for the hierarchy"):
        declarations.read({"tables": {"t": data | {"key_sets": [{**places, "name": None}]}}}, "d")


def test_public_totals_are_part_of_the_registration(tmp_path: Path) -> None:
    columns = {"state": {"keys": ["A", "B"], "nullable": False}, "day": {"keys": ["2025-01-31"], "type": "date"}}
    totals = [
        {"columns": ["state"], "rows": [["A", 12], ["B", 3]], "from_data": "the law"},
        {"columns": ["day"], "rows": [["2025-01-31", 15]], "dates": ["day"]},
        {"columns": [], "rows": [[15]]},
    ]
    (tmp_path / "t.csv").write_text("id,state,day\n")
    data = {"source": "t.csv", "unit": "id", "max_rows": 1, "columns": columns, "public_totals": totals}
    found = declarations.read({"tables": {"t": data}}, "d")
    assert declarations.write(found)["tables"]["t"]["public_totals"] == totals
    assert found.tables["t"].at(tmp_path).public_totals[0].from_data == "the law"
    for wrong in ({"columns": ["state"], "rows": [["A"]]}, {"columns": ["height"], "rows": [[1, 2]]}):
        with pytest.raises(BadParameter):
            declarations.read({"tables": {"t": data | {"public_totals": [wrong]}}}, "d")


def test_key_sets_are_part_of_the_registration() -> None:
    """Combinations that exist are the owner's act: written into the ledger, and read back the same."""
    places = {"name": "geo", "columns": ["state", "county"], "rows": [["A", "a1"], ["B", "b1"]]}
    days = {"columns": ["day", "shift"], "rows": [["2025-01-31", 1], ["2025-02-01", 2]], "dates": ["day"]}
    data = {"tables": {"t": {"source": "t.parquet", "unit": "id", "max_rows": 1, "key_sets": [places, days]}}}
    found = declarations.read(data, "d")
    assert declarations.write(found)["tables"]["t"]["key_sets"] == [places, days]
    assert declarations.read(declarations.write(found), "d") == found
    two_parents = {**places, "rows": [["A", "x"], ["B", "x"]]}
    with pytest.raises(BadParameter, match="must lie in one state"):
        declarations.read({"tables": {"t": {"source": "t.parquet", "unit": "id", "key_sets": [two_parents]}}}, "d")
