"""Persons in households: rows of both have every count that is published, and what cannot fit is refused before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.errors import BadParameter
from discreet.query.plan.key_sets import hierarchy
from discreet.synthetic.hierarchical.nested import NestedTables, nested
from discreet.synthetic.hierarchical.plan import publication

BLOCKS = [(state, f"{state}{county}", f"{state}{county}{b}") for state in "AB" for county in "xy" for b in range(3)]
GEO = hierarchy("geo", ["state", "county", "block"], table=BLOCKS)
SIZES = dp.keys([0, 1, 2, 3], nullable=False)
TENURE = dp.keys(["own", "rent"], nullable=False)
SEX = dp.keys(["f", "m"], nullable=False)
HOMES = publication([("state", "tenure"), ("block", "tenure", "size")])
PERSONS = publication([("state", "sex"), ("block", "tenure"), ("county", "sex", "tenure")])


def town(budget: Any = None, **declared: Any) -> dp.Session:
    draw = np.random.default_rng(4)
    size, place = draw.integers(0, 4, 300), draw.integers(0, len(BLOCKS), 300)
    tenure = draw.choice(["own", "rent"], 300)
    homes = {"home": range(300), "block": [BLOCKS[b][2] for b in place], "size": size, "tenure": tenure}
    of = np.repeat(np.arange(300), size)
    sex = draw.choice(["f", "m"], len(of))
    persons = {"home": of, "block": [BLOCKS[place[h]][2] for h in of], "tenure": tenure[of], "sex": sex}
    given: dict[str, Any] = {"size": SIZES, "tenure": TENURE, "persons_tenure": TENURE} | declared
    return dp.Session(
        homes=_table(homes, {"size": given["size"], "tenure": given["tenure"]}, max_rows=1),
        persons=_table(persons, {"sex": SEX, "tenure": given["persons_tenure"]}, max_rows=3, **given.get("more", {})),
        budget=dp.ZCDP(4) if budget is None else budget,
    )


def _table(rows: Mapping[str, Any], columns: Mapping[str, Any], **options: Any) -> Any:
    listed = {name: np.asarray(values).tolist() for name, values in rows.items()}
    return dp.table(listed, unit="home", columns=columns, **{"key_sets": [GEO], **options})


def made(rho: Any, persons: Any = PERSONS, homes: Any = HOMES) -> NestedTables:
    return town().tabulate("persons", nested(persons, homes, table="homes"), rho=rho)


@pytest.mark.parametrize("rho", ["0.01", "2"])
@pytest.mark.parametrize("homes", [HOMES, publication([("block", "size"), ("county", "tenure"), ("block", "tenure")])])
def test_each_household_has_its_persons_and_every_count_is_met(rho: str, homes: Any) -> None:
    tables = made(rho, homes=homes)
    assert tables.mismatches() == 0
    households, persons = (rows.to_pylist() for rows in tables.rows())
    of = {row["household"]: row for row in households}
    living = Counter(row["household"] for row in persons)
    assert all(living[number] == row["size"] for number, row in of.items())
    assert all(of[p["household"]]["block"] == p["block"] for p in persons)
    assert all(of[p["household"]]["tenure"] == p["tenure"] for p in persons)
    above = {block: {"state": state, "county": county} for state, county, block in BLOCKS}
    for published, rows in ((tables.households, households), (tables.persons, persons)):
        for i, asked in enumerate(published.plan.publication.tables):
            counted = Counter(tuple((row | above[row["block"]])[name] for name in asked) for row in rows)
            cells = {tuple(cell[name] for name in asked): cell["count"] for cell in published.table(i).to_pylist()}
            assert {key: count for key, count in cells.items() if count} == counted


def test_persons_other_than_the_households_say_are_counted_as_mismatches() -> None:
    tables = made(1)
    homes = tables.homes.copy()
    homes[0, tables.households.plan.domain.columns.index("size")] ^= 1
    assert replace(tables, homes=homes).mismatches() == 1


def test_estimates_stay_as_they_were_and_bars_of_counts_allow_for_the_shift() -> None:
    persons = made("0.05").persons
    for i in range(len(persons)):
        table = persons.table(i)
        shift = np.abs(np.asarray(table["count"]) - np.asarray(table["estimate"]))
        assert np.allclose(np.asarray(table["count_error"]), np.asarray(table["error"]) + shift)


def test_one_charge_pays_for_both_in_the_shares_that_were_asked_for() -> None:
    session = town()
    tables = session.tabulate("persons", nested(PERSONS, HOMES, table="homes", share="1/4"), rho=2)
    assert session.remaining == dp.ZCDP(2)
    assert (str(tables.households.promise), str(tables.persons.promise)) == ("rho 0.5", "rho 1.5")
    assert tables.card()["receipt"] == "rho 2"
    assert "Households\n2 tables for rho 0.5" in tables.explain()
    assert "Persons\n3 tables for rho 1.5" in tables.explain()


def test_a_ledger_keeps_both(tmp_path: Any) -> None:
    session = town()
    assert b'"published"' in session.tabulate("persons", PERSONS, rho=1).to_json()
    files = made(1).write(tmp_path)
    assert files[0] == "households_state_tenure.csv"
    assert files[-1] == "persons_county_sex_tenure.csv"
    assert all((tmp_path / file).exists() for file in files)


@pytest.mark.parametrize(
    ("session", "wanted", "words"),
    [
        ({}, nested(publication([("county", "tenure", "sex")]), HOMES, table="homes"), "same places"),
        ({}, nested(PERSONS, publication([("block", "tenure")]), table="homes"), "integers, none missing"),
        ({}, nested(PERSONS, HOMES, table="homes", size="tenure"), "integers"),
        ({"size": dp.keys([1, 2])}, nested(PERSONS, HOMES, table="homes"), "none missing"),
        ({"size": dp.keys([-1, 2], nullable=False)}, nested(PERSONS, HOMES, table="homes"), "integers"),
        ({"persons_tenure": dp.keys(["own", "rent"])}, nested(PERSONS, HOMES, table="homes"), "same declaration"),
        ({}, nested(publication([("block", "sex"), ("tenure",)]), HOMES, table="homes"), "finest level and tenure"),
        (
            {"more": {"public_totals": [dp.public_totals({"f": 1, "m": 1}, ["sex"])]}},
            nested(PERSONS, HOMES, table="homes"),
            "how many there are follows",
        ),
        ({}, nested(PERSONS, HOMES, table="nobody"), "must be one of"),
    ],
)
def test_what_cannot_fit_is_refused_before_anything_is_paid(session: Any, wanted: Any, words: str) -> None:
    asked = town(**session)
    with pytest.raises(BadParameter, match=words):
        asked.tabulate("persons", wanted, rho=1)
    assert asked.remaining == dp.ZCDP(4)


@pytest.mark.parametrize(("homes", "refused"), [([("own", "old"), ("rent", "new")], False), (None, True)])
def test_key_sets_leave_the_same_households_possible_in_both(homes: Any, refused: bool) -> None:
    """Only own and old, rent and new are possible for persons."""
    columns = {"tenure": TENURE, "built": dp.keys(["old", "new"], nullable=False)}
    pairs = dp.keys([("own", "old"), ("rent", "new")], ["tenure", "built"])
    rows = {"home": range(40), "block": [BLOCKS[i % 12][2] for i in range(40)]}
    rows |= {"tenure": ["own", "rent"] * 20, "built": ["old", "new"] * 20}
    sets = [GEO] if homes is None else [GEO, pairs]
    session = dp.Session(
        homes=_table(rows | {"size": [1] * 40}, columns | {"size": SIZES}, max_rows=1, key_sets=sets),
        persons=_table(rows, columns, max_rows=1, key_sets=[GEO, pairs]),
        budget=dp.ZCDP(4),
    )
    tables = publication([("block", "tenure", "built")])
    wanted = nested(tables, publication([("block", "tenure", "built", "size")]), table="homes")
    if refused:
        with pytest.raises(BadParameter, match="same combinations of tenure, built"):
            session.tabulate("persons", wanted, rho=1)
        assert session.remaining == dp.ZCDP(4)
    else:
        assert session.tabulate("persons", wanted, rho=1).mismatches() == 0


@pytest.mark.parametrize("share", [0, 1, "-1/2", 2])
def test_a_share_is_a_part(share: Any) -> None:
    with pytest.raises(BadParameter, match="between 0 and 1"):
        nested(PERSONS, HOMES, table="homes", share=share)
