"""Domains: from what was declared, with clear refusals."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import BadParameter
from discreet.query.plan.schema import bounds, keys, unknown_keys
from discreet.synthetic.columns import bins
from discreet.synthetic.domain import Domain


def test_a_domain_from_the_declarations_of_a_table() -> None:
    domain = Domain(
        {
            "clinic": keys(["North", "South"]),
            "age": bounds(0, 99),
            "cost": bounds(0, 5000, nullable=False),
            "day": bounds("2024-01-01", "2024-12-31"),
        }
    )
    assert domain.sizes == (3, 101, 32, 123)  # 366 days in stretches of 3, and NULL
    assert domain.cells == 3 * 101 * 32 * 123
    assert domain.places(["age", "clinic"]) == (0, 1)
    assert domain.only(["age"]).sizes == (101,)


def test_rows_are_encoded_one_by_one_and_come_back_inside() -> None:
    domain = Domain({"x": ["a", "b"], "y": bins([0, 1, 10])})
    table = pa.table({"y": [0.5, 20.0, None], "x": ["a", "z", "b"], "more": [1, 2, 3]})
    codes = domain.encode(table)
    assert codes.tolist() == [[0, 0], [-1, 1], [1, 2]]
    for i in range(3):
        assert (domain.encode(table.slice(i, 1)) == codes[i]).all()
    back = domain.decode(codes[[0, 2]])
    assert back.column_names == ["x", "y"]
    assert (domain.encode(back) == codes[[0, 2]]).all()
    assert domain.encode(table.slice(0, 0)).shape == (0, 2)


@pytest.mark.parametrize(
    "columns",
    [{}, {"x": unknown_keys()}, {"x": "ab"}, {"x": 3}, {"": ["a"]}, {"x": []}, {"x": range(0, 10, 2)}, ["x"]],
)
def test_bad_domains(columns: dict[str, object]) -> None:
    with pytest.raises(BadParameter):
        Domain(columns)  # type: ignore[arg-type]


def test_bounds_are_chosen_for_tables_of_a_session_alone() -> None:
    with pytest.raises(BadParameter, match=r"session\.synthesize"):
        Domain({"x": bounds("auto")})


def test_unknown_columns_are_named_with_what_was_meant() -> None:
    domain = Domain({"clinic": ["a"], "age": range(3)})
    with pytest.raises(BadParameter, match="did you mean clinic"):
        domain.check(["clinik"])
    with pytest.raises(BadParameter, match="each column once"):
        domain.check(["age", "age"])
    with pytest.raises(BadParameter, match="must be a column of the table"):
        domain.encode(pa.table({"age": [1]}))
    assert np.prod(domain.shape((0, 1))) == domain.size((0, 1)) == 8
