"""The domain of a table, from its declaration alone."""

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.memory.engine import memory
from discreet.errors import BadParameter
from discreet.query.plan.schema import Schema, bounds, keys, resolve, table, unknown_keys
from discreet.synthetic.binning.open_bins import OpenBins
from discreet.synthetic.columns import Bins, Categories, Days, Whole, bins
from discreet.synthetic.tables.schema_domain import domain_of

ROWS = pa.table(
    {
        "id": [1],
        "clinic": ["North"],
        "town": ["A"],
        "note": ["x"],
        "level": [3],
        "year": [1999],
        "cost": [1.5],
        "weight": [70.0],
        "well": [True],
        "born": [date(2000, 1, 1)],
        "seen": [datetime(2024, 1, 1)],
    }
)
COLUMNS = {
    "clinic": keys(["North", "South", None]),
    "town": unknown_keys(),
    "level": bounds(1, 5, nullable=False),
    "year": bounds(0, 2100),
    "cost": bounds(0, 100),
    "born": bounds("1900-01-01", "1999-12-31"),
    "seen": bounds("2024-01-01", "2024-01-10"),
}


def schema(**more: Any) -> Schema:
    return resolve("t", table(ROWS, unit="id", columns={**COLUMNS, **more}), memory().columns(ROWS))


def test_every_column_whose_values_are_public() -> None:
    domain = domain_of("t", schema())
    kinds = {name: type(domain[name]) for name in domain}
    assert kinds == {
        "clinic": Categories, "level": Whole, "year": OpenBins, "cost": OpenBins, "well": Categories,
        "born": Days, "seen": Days,
    }  # fmt: skip
    assert domain.sizes == (3, 5, 33, 33, 3, 129, 11)
    year, level = domain["year"], domain["level"]
    assert isinstance(year, Bins)
    assert year.integral
    assert (int(year.edges[0]), int(year.edges[-1]), level.nullable) == (0, 2100, False)


def test_some_columns_and_columns_said_otherwise() -> None:
    domain = domain_of("t", schema(), ["level", "weight"], {"weight": bins([0, 50, 100, 200])})
    assert domain.columns == ("level", "weight")
    assert domain_of("t", schema(), ["weight"], domain).sizes == (4,)  # a whole domain may be given, too
    assert domain_of("t", schema(), None, {"year": bins([0, 2000, 2100])})["year"].size == 3


@pytest.mark.parametrize(
    ("columns", "given", "words"),
    [
        (["nothing"], None, "must be a column of t"),
        (["id"], None, "not its unit"),
        (["note"], None, "declare note by dp.keys or dp.bounds"),
        (["town"], None, "session.suggest_keys"),
        ("level", None, "must be a list of names"),
        (["level"], {"nowhere": [1]}, "must be a column of t"),
        ([], None, "must have a column with public values"),
        (None, [("level", range(5))], "must map columns"),
    ],
)
def test_what_has_no_public_values_is_refused(columns: Any, given: Any, words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        domain_of("t", schema(), columns, given)


def test_only_decimals_have_a_step_that_shows() -> None:
    rows = pa.table({"id": [1], "money": pa.array([Decimal("1.50")], pa.decimal128(10, 2)), "cost": [1.5]})
    given = table(rows, unit="id", columns={"money": bounds(0, 1000), "cost": bounds(0, 1000)})
    domain = domain_of("t", resolve("t", given, memory().columns(rows)))
    money, cost = domain["money"], domain["cost"]
    assert isinstance(money, OpenBins)
    assert isinstance(cost, OpenBins)
    assert (money.step, cost.step) == (Fraction(1, 100), None)
