"""What a session is made of is checked before anything, and a first try that goes wrong is told what to write."""

from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import discreet as dp
from discreet.errors import (
    BadData,
    BadParameter,
    DiscreetError,
)
from discreet.privacy.budgets.filters import Filter
from tests.helpers.visits import VISITS, session


@pytest.mark.slow
def test_bad_declarations_are_refused_before_anything() -> None:
    good = dp.table(VISITS, unit="patient_id")
    with pytest.raises(BadData):
        dp.Session(t=dp.table("no/such/file.parquet", unit="x"), budget=dp.Pure(1))
    bad: list[dict[str, Any]] = [
        {"unit": "nobody"},
        {"unit": "patient_id", "columns": {"costs": dp.bounds(0, 1)}},
        {"unit": "patient_id", "columns": {"clinic": dp.bounds(0, 1)}},
        {"unit": "patient_id", "columns": {"cost": dp.keys(["a"])}},
        {"unit": "patient_id", "max_rows": 0},
        {},
        {"unit": "patient_id", "public": True},
        {"unit": "patient_id -> nowhere.id"},
    ]
    for options in bad:
        with pytest.raises(BadParameter):
            dp.Session(t=dp.table(VISITS, **options), budget=dp.Pure(1))
    with pytest.raises(BadParameter, match="below high"):
        dp.bounds(1, 0)
    for budget in (1, dp.GDP(1)):
        with pytest.raises(BadParameter):
            dp.Session(t=good, budget=budget)  # type: ignore[arg-type]
    with pytest.raises(BadParameter):
        dp.Session(budget=dp.Pure(1))


@pytest.mark.parametrize("name", ["__Bin", "__unit", "#id"])
def test_a_unit_must_not_have_one_of_our_own_names(name: str) -> None:
    rows = pa.table({name: [1], "w": [4]})
    with pytest.raises(BadParameter, match="rename the column"):
        dp.Session(t=dp.table(rows, unit=name), budget=dp.Pure(1))


def test_bounds_that_do_not_fit_name_the_table_and_the_column() -> None:
    table = dp.table(VISITS, unit="patient_id", columns={"clinic": dp.bounds(0, 1)}, max_rows=2)
    with pytest.raises(BadParameter, match="stored as text") as found:
        dp.Session(visits=table, budget=dp.Pure(1))
    assert found.value.name == "visits.columns['clinic']"


@pytest.mark.parametrize(
    ("amounts", "hint"),
    [
        ({"epsilon": 1.0}, r"in place of epsilon=: budget=dp\.Pure\(1\.0\)"),
        ({"epsilon": "0.5", "delta": 1e-6}, r"budget=dp\.Approx\('0\.5', 1e-06\)"),
        ({"rho": [1]}, r"budget=dp\.ZCDP\(rho\)"),
    ],
)
def test_an_amount_in_place_of_a_budget_gets_a_hint(amounts: Any, hint: str) -> None:
    """It was answered with "must be made by dp.table"."""
    tables: list[Any] = [{}, {"visits": dp.table(VISITS, unit="patient_id")}]
    for some in tables:
        with pytest.raises(BadParameter, match=hint):
            dp.Session(**some, **amounts)


def test_a_file_in_place_of_tables_and_a_number_in_place_of_a_budget_get_a_hint() -> None:
    with pytest.raises(BadParameter, match=r"dp\.table\('adult\.csv', unit="):
        dp.Session("adult.csv", budget=dp.Pure(1))  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match=r"dp\.table\(\.\.\., unit="):
        dp.Session(VISITS, budget=dp.Pure(1))
    for given in (1, 0.5, "1/2"):
        with pytest.raises(BadParameter, match=rf"budget=dp\.Pure\({given!r}\)"):
            session(budget=given)
    with pytest.raises(BadParameter, match=r"budget=dp\.Approx\(1, '1e-6'\)"):
        session(budget=(1, "1e-6"))
    with pytest.raises(BadParameter, match=r"t=dp\.table\('adult\.csv', unit="):
        dp.Session(t="adult.csv", budget=dp.Pure(1))  # type: ignore[arg-type]


@pytest.mark.parametrize("frame", [dict, pa.table, pandas.DataFrame])
def test_rows_in_the_wrong_place_are_not_printed(frame: Any) -> None:
    rows = frame({"who": ["Ada Lovelace"]})
    for given in ({"t": rows}, rows):
        with pytest.raises(DiscreetError) as caught:
            dp.Session(given, budget=dp.Pure(1))
        assert "Ada" not in str(caught.value)


@pytest.mark.parametrize("form", ["parquet", pa.table, pandas.DataFrame, polars.DataFrame, dict])
def test_whole_units_with_gaps_as_pandas_has_them_are_read_and_all_else_is_nobody(form: Any, tmp_path: Path) -> None:
    """1 has two rows and counts once; 2 and -0.0 count; NULL, NaN, infinity, a fraction and 2^60 are nobody."""
    rows = {"who": [1.0, 1.0, 2.0, -0.0, None, float("nan"), float("inf"), 1.5, float(2**60)], "x": [0] * 9}
    if isinstance(form, str):
        source: Any = tmp_path / f"people.{form}"
        getattr(pandas.DataFrame(rows), f"to_{form}")(source, index=False)
    else:
        source = form(rows)
    people = dp.table(source, unit="who", max_rows=1)
    asked = dp.Session(people=people, budget=dp.Pure(10**6)).sql("SELECT COUNT(DISTINCT who) AS n FROM people")
    assert "no integer" in asked.explain()
    assert asked.release(epsilon=10**5).value == 3


def test_a_unit_leads_to_people_who_are_private() -> None:
    houses = dp.table({"house": [1, 2], "owner": [1, 2]}, public=True)
    visits = dp.table({"house": [1, 2], "cost": [3, 4]}, unit="house -> houses.house")
    with pytest.raises(BadParameter, match="people are not public"):
        dp.Session(visits=visits, houses=houses, budget=dp.Pure(1))


def test_a_ledger_keeps_the_budget_by_itself(tmp_path: Path) -> None:
    visits = dp.table({"person": [1, 2]}, unit="person")
    with pytest.raises(BadParameter, match="the ledger keeps the budget"):
        dp.Session(visits=visits, ledger=tmp_path / "l.db", budget=dp.Pure(1), budget_store=Filter(dp.Pure(1)))
    assert not (tmp_path / "l.db").exists()


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"visits": "house -> nowhere.house"}, "must lead to a column of a table here"),
        ({"visits": "house -> houses.nothing", "houses": "owner"}, "must lead to a column of a table here"),
        ({"visits": "house -> visits.cost"}, "must not lead in a circle"),
        ({"visits": "house -> houses.house", "houses": "owner -> visits.house"}, "must not lead in a circle"),
    ],
)
def test_a_unit_leads_to_one_table_of_people(tables: dict[str, str], words: str) -> None:
    rows = {"visits": {"house": [1, 2], "cost": [3, 4]}, "houses": {"house": [1, 2], "owner": [1, 2]}}
    given = {name: dp.table(rows[name], unit=unit) for name, unit in tables.items()}
    with pytest.raises(BadParameter, match=words):
        dp.Session(given, budget=dp.Pure(1))


def test_a_unit_may_lead_through_several_tables() -> None:
    rows = {"a": {"b": [1, 1, 2]}, "b": {"id": [1, 2], "c": [7, 7]}, "c": {"id": [7], "who": [3]}}
    units = {"a": "b -> b.id", "b": "c -> c.id", "c": "who"}
    tables = {name: dp.table(rows[name], unit=units[name], max_rows=3) for name in rows}
    own = dp.Session(tables, budget=dp.Pure(10**6))
    assert own.sql("SELECT COUNT(DISTINCT who) AS n FROM c").release(epsilon=10**5).value == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"neighbours": "ADD_REMOVE"}, "Neighbours.ADD_REMOVE or"),
        ({"neighbours": 1}, "Neighbours.ADD_REMOVE or"),
        ({"rule": dp.Rule.ADVANCED}, "counts by Rule.EITHER"),
        ({"rule": dp.Rule.PLD}, "counts by Rule.EITHER"),
        ({"engine": "duckdb"}, "must be made by dp.engines.duckdb"),
        ({"engine": dp.table(VISITS, unit="patient_id")}, "must be made by dp.engines.duckdb"),
        ({"budget": None}, "must be dp.Pure"),
        ({"budget": True}, "must be dp.Pure"),
        ({"budget": (1, 2, 3)}, "must be dp.Pure"),
    ],
)
def test_terms_that_no_session_keeps_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(DiscreetError, match=words):
        dp.Session(t=dp.table(VISITS, unit="patient_id"), **({"budget": dp.Approx(1, "1e-6")} | given))


@pytest.mark.parametrize("rule", [None, dp.Rule.EITHER, dp.Rule.BASIC, dp.Rule.ZCDP])
@pytest.mark.parametrize("neighbours", [None, *dp.Neighbours])
def test_terms_that_a_session_keeps(rule: dp.Rule | None, neighbours: dp.Neighbours | None) -> None:
    table = dp.table({"person": [1, 2]}, unit="person")
    own = dp.Session(t=table, budget=dp.Approx(1, "1e-6"), rule=rule, neighbours=neighbours)
    assert own._backend.terms.rule is (rule or dp.Rule.EITHER)
    assert own._backend.terms.neighbours is (neighbours or dp.Neighbours.ADD_REMOVE)
    assert (own.remaining == own.budget) is (rule is not dp.Rule.ZCDP)
    with pytest.raises(BadParameter, match=r"must be dp\.Pure"):
        dp.Session(t=table)
