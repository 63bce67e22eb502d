"""What the owner declares: bounds, keys, caps and units, checked before any data is read."""

from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import BadParameter
from discreet.query.plan.schema import (
    Caps,
    Stored,
    StoredKind,
    bounds,
    grid_step,
    keys,
    resolve,
    table,
    unknown_keys,
    unusable,
)
from discreet.query.plan.types import LARGEST, Boolean, Date, Number, Real, Text, Timestamp


@pytest.mark.parametrize(
    ("low", "high"),
    [("2024-05-07", "2024-05-06"), ("2024-05-06", 7), (1, date(2024, 1, 1)), ("2024-02-30", "2024-03-01"),
     (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)), ("soon", "later")],
)  # fmt: skip
def test_bounds_that_are_none_are_refused(low: Any, high: Any) -> None:
    with pytest.raises(BadParameter):
        bounds(low, high)


@pytest.mark.parametrize("key", ["a\0", "\ud800", "a\0b"])
def test_keys_that_no_engine_can_hold_are_refused_at_once(key: str) -> None:
    with pytest.raises(BadParameter, match="NUL"):
        keys(["North", key])


STORED = {
    "who": Stored(StoredKind.INTEGER), "cost": Stored(StoredKind.REAL), "price": Stored(StoredKind.DECIMAL, 2),
    "clinic": Stored(StoredKind.TEXT), "paid": Stored(StoredKind.BOOLEAN), "day": Stored(StoredKind.DATE),
    "at": Stored(StoredKind.TIMESTAMP),
}  # fmt: skip
WHOLE = {**STORED, "whole": Stored(StoredKind.INTEGER)}


def test_kinds_follow_from_the_stored_type_and_the_declared_bounds() -> None:
    free = resolve("t", table(None, unit="who"), STORED).fields
    assert [free[name].kind for name in STORED] == [
        Number(Fraction(1), -LARGEST, LARGEST), Real(), Number(Fraction(1, 100), -LARGEST, LARGEST), Text(), Boolean(),
        Date(), Timestamp(),
    ]  # fmt: skip
    assert free["paid"].keys == (False, True)
    day = date(2024, 5, 6)
    columns = {
        "cost": bounds(0, 100), "price": bounds("-0.005", "1.999"), "day": bounds(day, day), "at": bounds(day, day),
    }  # fmt: skip
    found = resolve("t", table(None, unit="who", columns=columns), STORED).fields
    assert found["cost"].kind == Number(Fraction(1, 1 << 24), 0, 100 << 24)
    assert found["price"].kind == Number(Fraction(1, 100), 0, 199), "the cells inside the bounds, not beyond them"
    assert found["day"].kind == Date(day, day)
    assert found["at"].kind == Timestamp(datetime(2024, 5, 6), datetime(2024, 5, 6, 23, 59, 59, 999_999))


@pytest.mark.parametrize(
    ("stored", "ends", "kind"),
    [
        (Stored(StoredKind.INTEGER), (0, 2**62 - 1), Number(Fraction(1), 0, 2**62 - 1)),
        (Stored(StoredKind.INTEGER), (0, 2**62), Number(Fraction(10), 0, 2**62 // 10)),
        (Stored(StoredKind.INTEGER), (-(2**63), 2**63 - 1), Number(Fraction(10), -(2**63 // 10), 2**63 // 10)),
        (Stored(StoredKind.DECIMAL, 2), (0, 10**18), Number(Fraction(1), 0, 10**18)),
        (Stored(StoredKind.DECIMAL), (1 - 10**38, 10**38 - 1), Number(Fraction(10**20), 1 - 10**18, 10**18 - 1)),
    ],
)
def test_bounds_of_more_than_62_bits_get_a_coarser_step(stored: Stored, ends: tuple[int, int], kind: Number) -> None:
    given = table(None, unit="who", columns={"x": bounds(*ends)})
    assert resolve("t", given, {"who": Stored(StoredKind.TEXT), "x": stored}).fields["x"].kind == kind


def test_bounds_of_more_than_38_digits_are_refused() -> None:
    given = table(None, unit="who", columns={"x": bounds(0, 10**36)})
    with pytest.raises(BadParameter, match=r"10\^38 steps"):
        resolve("t", given, {"who": Stored(StoredKind.TEXT), "x": Stored(StoredKind.DECIMAL, 2)})


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-5, 100), (10**17, 10**17 + 1), (Fraction(1, 3), Fraction(2, 3))])
def test_the_grid_of_floats_is_fine_and_within_62_bits(low: Fraction, high: Fraction) -> None:
    step = grid_step(Fraction(low), Fraction(high))
    assert step.numerator & (step.numerator - 1) == step.denominator & (step.denominator - 1) == 0, "a power of two"
    assert max(abs(low), abs(high)) / step <= LARGEST // 2
    assert (high - low) / step < 1 << 31
    assert (high - low) / step >= 1 << 30 or max(abs(low), abs(high)) / step > LARGEST // 4


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"costs": bounds(0, 1)}, "cost"), ({"clinic": bounds(0, 1)}, "stored as text"),
        ({"clinic": keys([1, 2])}, "values that the column can have"), ({"whole": keys([1, 2**70])}, "at most 2\\^62"),
        ({"cost": keys([1])}, "cost"),
        ({"day": bounds("2024-01-01 12:00", "2024-12-31")}, "day"),
        ({"price": bounds("2024-01-01", "2024-12-31")}, "stored as decimal"),
        ({"price": bounds("1/300", "2/300")}, "must hold a value of the column"),
    ],
)  # fmt: skip
def test_declarations_must_fit_the_column(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        resolve("t", table(None, unit="who", columns=columns), WHOLE)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"unit": 3}, {"unit": "a -> b"}, {"unit": "-> b.c"}, {"unit": "who", "public": True},
        {"public": True, "max_rows": 3}, {"unit": "who", "max_rows": 0}, {"unit": "who", "max_groups": 65_537},
        {"unit": "who", "columns": {"cost": (0, 1)}},
    ],
)  # fmt: skip
def test_bad_tables(options: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        table(None, **options)


def test_a_unit_may_be_a_foreign_key() -> None:
    found = table(None, unit="order_id -> orders.id", max_groups=3)
    assert (found.unit, found.through, found.caps) == ("order_id", ("orders", "id"), Caps(max_groups=3))


@pytest.mark.parametrize("given", ["North", [], ["a", "a"], ["a", 1], [1.5], [b"a"], [1, True]])
def test_bad_keys(given: Any) -> None:
    with pytest.raises(BadParameter):
        keys(given)


def test_keys_of_a_column() -> None:
    assert keys(["a", None]).keys == ("a", None)
    assert unknown_keys().unknown
    fields = resolve("t", table(None, unit="who", columns={"clinic": keys(["N", "S"])}), STORED).fields
    assert fields["clinic"].keys == ("N", "S")


def test_columns_that_cannot_be_read_are_left_out_with_the_reason() -> None:
    more = {"__Unit": Stored(StoredKind.INTEGER), "tags": Stored(StoredKind.OTHER, type="VARCHAR[]")}
    schema = resolve("t", table(None, unit="who"), {**STORED, **more})
    assert set(schema.fields) == set(STORED)
    assert "its type, VARCHAR[]," in (unusable("TAGS", {"t": schema}) or "")
    assert unusable("cost", {"t": schema}) is None


def test_a_table_prints_no_rows() -> None:
    words = repr(table({"who": ["Ada Lovelace"]}, unit="who"))
    assert "unit='who'" in words
    assert "Ada" not in words


def test_automatic_bounds_have_no_upper_one() -> None:
    with pytest.raises(BadParameter, match='must be left out: "auto" is said of both bounds'):
        bounds("auto", 5)
