"""Declared columns: total, public, without a look at other rows."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.errors import BadData, BadParameter
from discreet.learning.preprocessing.columns import Categorical, Column, Numeric, codes_of, read_columns


def test_every_number_has_a_bin() -> None:
    column = Numeric(-1, 1, bins=5)
    codes = column.codes([-1e308, -1, -0.99, 0, 0.99, 1, 1e308])
    assert codes.tolist() == [0, 0, 0, 2, 4, 4, 4]
    assert column.size == 5


def test_bins_follow_from_the_budget_alone() -> None:
    few, many = (read_columns([Numeric(0, 1), Categorical(2)], Fraction(1, n))[0].size for n in (10_000, 1))
    assert (few, many) == (16, 32)
    assert read_columns([Numeric(0, 1, bins=7)], Fraction(1))[0].size == 7


def test_frames_keep_their_types() -> None:
    columns: list[Numeric | Categorical] = [Numeric(0, 10, bins=2), Categorical(["x", "y"])]
    for frame in (pd.DataFrame({"a": [1, 9], "b": ["y", "z"]}), pl.DataFrame({"a": [1, 9], "b": ["y", "z"]})):
        assert codes_of(frame, columns).tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("bad", [np.array([1 + 2j]), np.zeros(3), np.zeros((0, 1))])
def test_bad_columns(bad: np.ndarray) -> None:
    with pytest.raises(BadData):
        codes_of(bad, [Numeric(0, 1)])


def test_bad_declarations() -> None:
    for make in (lambda: Numeric(1, 0), lambda: Numeric(0, 1, bins=1), lambda: Numeric(0, 1, edges=[2, 1]),
                 lambda: Categorical([]), lambda: Categorical(["a", "a"]), lambda: Categorical(0)):  # fmt: skip
        with pytest.raises(BadParameter):
            make()
    for columns in (None, [], ["a"], 3):
        with pytest.raises(BadParameter):
            read_columns(columns, Fraction(1))  # type: ignore[arg-type]
    with pytest.raises(BadData):
        codes_of(np.zeros((2, 2)), [Numeric(0, 1)])


def test_one_row_of_a_list_changes_no_other() -> None:
    """numpy makes text of all numbers for one text among them."""
    columns: list[Column] = [Categorical([1, 2]), Numeric(0, 4, bins=4)]
    rows: list[list[object]] = [[1, 0], [2, 1], [1.0, 2]]
    found = codes_of(rows, columns).tolist()
    assert found == [[0, 0], [1, 1], [0, 2]]
    others: list[object] = ["x", None, 1.5, 10**400, [1], {}]
    for other in others:
        assert codes_of([*rows, [other, 3]], columns).tolist() == [*found, [2, 3]]


@pytest.mark.parametrize("make", [
    lambda v: pl.DataFrame({"a": pl.Series(v, dtype=pl.Int64)}),
    lambda v: pd.DataFrame({"a": pd.array(v, dtype="Int64")}),
    lambda v: pd.DataFrame({"a": pd.array(v, dtype="int64[pyarrow]")}),
    lambda v: pd.DataFrame({"a": pd.Categorical(v, categories=[2**53 + 1, 2**53])}),
])  # fmt: skip
def test_a_missing_value_of_a_frame_changes_no_other(make: Callable[[list[int | None]], Any]) -> None:
    """It made doubles of all whole numbers, of which those beyond 2^53 then had another bin."""
    column = Categorical([2**53, 2**53 + 1])
    for more in ([], [None]):
        assert codes_of(make([2**53 + 1, *more]), [column])[0].tolist() == [1]


def test_widths_that_no_double_holds_are_refused() -> None:
    """Some values had the bin -2^63."""
    for low, high in ((1, "1.0000000000000000000000001"), (-1e308, 1.7e308), (0, "1e400")):
        with pytest.raises(BadParameter, match="a double holds"):
            Numeric(low, high)
    assert Numeric(0, 1, bins=3).codes([10**400, "x", np.nan, None, np.inf, -np.inf]).tolist() == [1, 1, 1, 1, 2, 0]


def test_missing_numbers_have_a_bin_of_their_own_where_that_is_declared() -> None:
    for column in (Numeric(0, 4, bins=4, missing=True), Numeric(0, 4, edges=[1, 2, 3], missing=True)):
        assert (column.size, column.ordered) == (5, 4)
        assert column.codes([0, 1.5, float("nan"), "x", 9]).tolist() == [0, 1, 4, 4, 3]
