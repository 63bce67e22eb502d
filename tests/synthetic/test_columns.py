"""Codes of values: by hand, never failing on what a cell holds, and back inside the declaration."""

from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadData, BadParameter
from discreet.synthetic.columns import Column, bins, categories, days, whole


@pytest.mark.parametrize(
    ("column", "values", "codes"),
    [
        (categories(["a", "b"]), pa.array(["b", "c", None, "a"]), [1, -1, 2, 0]),
        (categories(["a", "b"], nullable=False), pa.array(["b", None]), [1, -1]),
        (categories(["a", "b"], other="a"), pa.array(["b", "zzz", None]), [1, 0, 2]),
        (categories(["a"]), pa.array(["a", "b"]).dictionary_encode().dictionary_decode(), [0, -1]),
        (categories([1, 300]), pa.array([1, 44, None], type=pa.uint8()), [0, -1, 2]),
        (categories([-1, 5]), pa.array([5, 2**64 - 1], type=pa.uint64()), [1, -1]),  # -1 is not 2^64 - 1
        (categories([1, 2]), pa.array([None, None]), [2, 2]),
        (whole(0, 1, nullable=False), pa.array([None]), [-1]),
        (categories([1, 2]), pa.array([1.0, 1.5, float("nan")]), [0, -1, 2]),
        (categories([True, False]), pa.array([False, True]), [1, 0]),
        (whole(-2, 2), pa.array([-9, -2, 0, 2, 2**62, None]), [0, 0, 2, 4, 4, 5]),
        (whole(0, 5), pa.array([0.9, 4.999, float("inf"), float("-inf"), float("nan")]), [0, 4, 5, 0, 6]),
        (whole(0, 5), pa.array([Decimal("3.7")]), [3]),
        (bins([0, 1, 2]), pa.array([-1.0, 0.0, 0.999, 1.0, 2.0, 7.0]), [0, 0, 0, 1, 1, 1]),
        (days("2024-01-01", "2024-01-10", step=4), pa.array([date(2023, 1, 1), date(2024, 1, 5), None]), [0, 1, 3]),
        (days("2024-01-01", "2024-01-10"), pa.array([datetime(2024, 1, 2, 23, 59)]), [1]),
    ],
)
def test_codes_by_hand(column: Column, values: pa.Array, codes: list[int]) -> None:
    assert column.encode(values).tolist() == codes


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (categories(["a"]), pa.array([1, 2])),
        (categories([1]), pa.array(["1"])),
        (whole(0, 3), pa.array(["x"])),
        (bins([0, 1]), pa.array([True])),
        (days("2024-01-01", "2024-01-02"), pa.array([1])),
    ],
)
def test_a_column_of_another_type_is_refused_without_a_value(column: Column, values: pa.Array) -> None:
    with pytest.raises(BadData) as caught:
        column.encode(values)
    assert "x" not in str(caught.value).replace("text", "")


@pytest.mark.parametrize(
    "column",
    [
        categories(["a", "b"]),
        whole(3, 9),
        bins([0, "0.1", 5]),
        bins([0, 10, 11], integral=True),
        days("2024-02-27", "2024-03-02", step=2),
        whole(0, 1, nullable=False),
    ],
)
def test_decoding_and_encoding_again_gives_the_same_codes(column: Column) -> None:
    codes = np.repeat(np.arange(column.size), 200)
    again = column.encode(column.decode(codes, np.random.default_rng()))
    assert (again == codes).all()


@pytest.mark.slow
@settings(max_examples=60, derandomize=True)
@given(st.lists(st.floats(width=64), max_size=5))
def test_no_float_makes_encoding_fail(values: list[float]) -> None:
    array = pa.array(values, type=pa.float64())
    for column in (whole(-3, 3), bins([-1, 0, 1e300])):
        codes = column.encode(array)
        assert all(0 <= c < column.size for c in codes)


def test_bins_cannot_be_cut() -> None:
    column = bins([0, 10, 20])
    assert column.places("<", 10, "age").tolist() == [True, False]
    assert column.places("<", 99, "age").tolist() == [True, True]
    assert column.places("<=", 20, "age").tolist() == [True, True]
    for test, value in (("<", 5), ("=", 10), ("<=", 10)):
        with pytest.raises(BadParameter, match="edge"):
            column.places(test, value, "age")
    weekly = days("2024-01-01", "2024-01-31", step=7)
    assert weekly.places("<", "2024-01-08", "day").sum() == 1
    assert weekly.places("<=", "2024-01-07", "day").sum() == 1
    with pytest.raises(BadParameter):
        weekly.places("<", "2024-01-09", "day")


@pytest.mark.parametrize(
    "make",
    [
        lambda: categories([]),
        lambda: categories("abc"),
        lambda: categories(["a", "a"]),
        lambda: categories(["a", 1]),
        lambda: categories([1.5]),  # type: ignore[list-item]
        lambda: categories([1 << 70]),
        lambda: categories(["a"], other="b"),
        lambda: whole(3, 2),
        lambda: whole(0, 1 << 17),
        lambda: bins([1]),
        lambda: bins([1, 1]),
        lambda: bins([Fraction(1), Fraction(1) + Fraction(1, 10**30)]),
        lambda: bins([0, "0.5"], integral=True),
        lambda: days("2024-01-02", "2024-01-01"),
        lambda: days("yesterday", "2024-01-01"),
    ],
)
def test_bad_declarations(make: object) -> None:
    with pytest.raises(BadParameter):
        make()  # type: ignore[operator]


def test_times_come_back_as_times_inside_their_bounds() -> None:
    low, high = datetime(2024, 1, 1, 8, 30), datetime(2024, 1, 3, 6)
    column = days(low, high, times=True)
    assert column.encode(pa.array([low, high, None], pa.timestamp("ns"))).tolist() == [0, 2, 3]
    back = column.decode(np.repeat([0, 1, 2, 3], 200), np.random.default_rng(1))
    assert back.type == pa.timestamp("us")
    given = [at for at in back.to_pylist() if at is not None]
    assert len(given) == 600
    assert min(given) >= low
    assert max(given) <= high
    assert {at.date() for at in given} == {date(2024, 1, d) for d in (1, 2, 3)}
    assert len(set(given)) > 300  # not midnight alone
    whole_days = days("2024-01-01", "2024-01-02", times=True)
    assert whole_days.between == (datetime(2024, 1, 1), datetime.combine(date(2024, 1, 2), time.max))
    assert days("2024-01-01", "2024-01-02").decode(np.array([0]), np.random.default_rng(1)).type == pa.date32()
