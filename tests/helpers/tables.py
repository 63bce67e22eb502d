"""Small tables that are hard to get right: NULL, NaN, extremes, unicode, odd days and time zones, odd units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import cycle, islice
from typing import Any

import pyarrow as pa

MAX = (1 << 63) - 1
MIN = -(1 << 63)
INTEGERS = [
    0, 1, -1, 2, -2, 7, -7, 10, 100, -100, 999, 2**31 - 1, -(2**31), 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1,
    2**61, -(2**61), 2**62 - 1, 2**62, -(2**62), 2**62 + 1, -(2**62) - 1, MAX - 1, MAX, MIN + 1, MIN, None,
]  # fmt: skip
FLOATS = [
    0.0, -0.0, float("nan"), float("inf"), float("-inf"), 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999999999999994,
    -0.49999999999999994, -0.5000000000000001, 0.1, -0.1, 1 / 3, 1e-300, 5e-324, -5e-324, 2.2250738585072014e-308,
    4503599627370495.5, 4503599627370497.0, -4503599627370497.0, 9007199254740991.0, 9007199254740993.0, 1e15 + 0.5,
    9.223372036854775e18, 9.223372036854776e18, -9.223372036854776e18, 1e19, 1e300, 1.7976931348623157e308,
    -1.7976931348623157e308, 1e-5, 99.99, 5000.0, None,
]  # fmt: skip
SINGLES = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 0.1, -0.1, 0.5, 16777216.0, 3.4028234663852886e38,
           1.401298464324817e-45, 8388607.5, 0.49999997, None]  # fmt: skip
TEXTS = [
    "", " ", "  ", "a", "A", "a ", " a", " a ", "b", "ab", "Ab", "aB", "z", "Z", "\u00e9", "e\u0301", "\u00c9",
    "\u00df",
    "\u1e9e", "\u0130", "\u0131", "\u017f", "\u212a", "\u03a3", "\u03c2", "\ufb00", "日本", "日", "👍", "👍🏽",
    "👩\u200d👩\u200d👧",
    "𝒳", "\uffff", "\U00010000", "%", "_", "\\", "a%b", "a_b", "a\\b", "a\\%b", "axb", "axxb", "a\nb", "a\r\nb", "\t",
    "\u00a0a\u00a0", "\u200b", "\u202eabc", "0", "7", "07", " 7", "7 ", "+7", "-7", "-0", "+", "-", "+-7", "7.0", "7e1",
    "0x7", "1_000", "1,000", "\uff17", "\u0667", "7\n", "999999999999999999", "-999999999999999999",
    "1000000000000000000", "9223372036854775808", "000000000000000007", "0000000000000000007", "2024-02-29",
    "2023-02-29",
    "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "2024-13-01", "2024-00-10", "2024-04-31", "2024-1-1",
    "2024-01-01 ", " 2024-01-01", "2024-01-01T00:00:00", "2024/01/01", "20240101", "-2024-01-01", "2024-01-01 (BC)",
    "epoch", "infinity", "today", "\uff12024-01-01", "true", "NULL", "null", "nan", "|", "a|b", "'", "''", '"', "';--",
    "{}", "$1", "%s", ":x", "?", "\u0001", "\u007f", "x" * 300, None,
]  # fmt: skip
DATES = [
    date.min, date(1, 12, 31), date(4, 2, 29), date(99, 1, 1), date(1582, 10, 4), date(1582, 10, 15), date(1900, 2, 28),
    date(1969, 12, 31), date(1970, 1, 1), date(1999, 12, 31), date(2000, 2, 29), date(2016, 1, 3), date(2020, 12, 31),
    date(2021, 1, 1), date(2021, 1, 3), date(2021, 1, 4), date(2024, 2, 29), date(2024, 3, 31), date(2024, 12, 30),
    date(9999, 12, 27), date.max, None,
]  # fmt: skip
MOMENTS = [
    datetime.min, datetime(1, 1, 1, 0, 0, 0, 1), datetime(4, 2, 29, 12), datetime(1582, 10, 10, 1, 2, 3),
    datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 0, 0, 1),
    datetime(1901, 12, 13, 20, 45, 51, 500000), datetime(2016, 12, 31, 23, 59, 59), datetime(2024, 2, 29, 23, 59, 59,
    999999),
    datetime(2024, 3, 31, 1, 30), datetime(2024, 3, 31, 2, 30), datetime(2024, 10, 27, 0, 30), datetime(2024, 10, 27,
    1, 30),
    datetime(2024, 12, 31, 23, 0), datetime(2024, 6, 30, 22, 30, 0, 10), datetime(2038, 1, 19, 3, 14, 8),
    datetime(9999, 12, 31, 12), datetime.max, None,
]  # fmt: skip
NEAR = [m for m in MOMENTS if m is None or 1700 < m.year < 2200]
NANOS = [0, 1, -1, 499, 500, 501, 999, -499, -500, -501, -999, -1000, -1001, 1500, 2500, -1500, -2500, None,
         1_700_000_000_123_456_789, -1_700_000_000_123_456_789]  # fmt: skip
CENTS = [Decimal(x) for x in ("0.00", "0.01", "-0.01", "5.00", "99.99", "-99.99", "9999999999999999.99")] + [None]
WIDE = [Decimal(x) for x in ("0E-10", "1E-10", "-1E-10", "1.5000000000", "9999999999999999999999999999.9999999999",
                             "-9999999999999999999999999999.9999999999", "461168601.8427387904",
                             "461168601.8427387905")]  # fmt: skip
WHOLE = [Decimal(x) for x in (0, 1, -1, 2**63, -(2**63) - 1, 10**38 - 1, 1 - 10**38)]
BEYOND_DAYS = [-719_162, -719_163, -719_528, -800_000, 2_932_896, 2_932_897, 10**7, -(2**31) + 1, 2**31 - 1, 0, None]
BEYOND_MICROS = [-62135596800000000, -62135596800000001, 253402300799999999, 253402300800000000, 2**62, -(2**62),
                 2**63 - 1, -(2**63) + 1, 0, None]  # fmt: skip
"""Days and moments since 1970 at and beyond the ends of years 1 to 9999, up to what engines call infinity."""


def cycled(values: Iterable[Any], rows: int, start: int = 0) -> list[Any]:
    """The values again and again, from ``start``, for so many rows."""
    return list(islice(cycle(values), start, start + rows))


def wide(rows: int = 150) -> pa.Table:
    """Every stored type with every odd value; ``id`` counts the rows. Each cycles at its own pace."""
    texts = pa.array(cycled(TEXTS, rows), pa.string())
    columns: dict[str, pa.Array] = {
        "id": pa.array(range(rows), pa.int64()),
        "i": pa.array(cycled(INTEGERS, rows), pa.int64()),
        "j": pa.array(cycled(reversed(INTEGERS), rows, 3), pa.int64()),
        "tiny": pa.array(cycled([0, 1, -128, 127, None], rows), pa.int8()),
        "unsigned": pa.array(cycled([0, 1, MAX, MAX + 1, 2**64 - 1, None], rows), pa.uint64()),
        "cents": pa.array(cycled(CENTS, rows), pa.decimal128(18, 2)),
        "digits": pa.array(cycled([*WIDE, None], rows), pa.decimal128(38, 10)),
        "whole": pa.array(cycled([*WHOLE, None], rows), pa.decimal128(38, 0)),
        "f": pa.array(cycled(FLOATS, rows), pa.float64()),
        "single": pa.array(cycled(SINGLES, rows), pa.float32()),
        "t": texts,
        "s": pa.array(cycled(reversed(TEXTS), rows, 5), pa.large_string()),
        "coded": texts.dictionary_encode(),
        "b": pa.array(cycled([True, False, None], rows), pa.bool_()),
        "c": pa.array(cycled([True, True, False, None, False], rows), pa.bool_()),
        "d": pa.array(cycled(DATES, rows), pa.date32()),
        "e": pa.array(cycled(reversed(DATES), rows, 4), pa.date32()),
        "m": pa.array(cycled(MOMENTS, rows), pa.timestamp("us")),
        "n": pa.array(cycled(reversed(MOMENTS), rows, 7), pa.timestamp("us")),
        "seconds": pa.array(cycled([0, -1, 1, 10**10, None], rows), pa.timestamp("s")),
        "millis": pa.array(cycled([0, -1, 1, 10**13, None], rows), pa.timestamp("ms")),
        "nanos": pa.array(cycled(NANOS, rows), pa.timestamp("ns")),
        "zoned": pa.array(cycled(NEAR, rows), pa.timestamp("us")).cast(pa.timestamp("us", "Europe/Berlin")),
    }
    return pa.table(columns)


def beyond() -> pa.Table:
    """Days and moments that no Python date can hold."""
    rows = len(BEYOND_DAYS)
    micros = pa.array(cycled(BEYOND_MICROS, rows), pa.int64())
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "d": pa.array(BEYOND_DAYS, pa.int32()).cast(pa.date32()),
            "m": micros.cast(pa.timestamp("us")),
            "zoned": micros.cast(pa.timestamp("us", "America/New_York")),
        }
    )


def empty(table: pa.Table) -> pa.Table:
    """The same columns without a row."""
    return table.slice(0, 0)


# --- tables about units -----------------------------------------------------------------------------------------------

EVENTS = pa.schema(
    {"id": pa.int64(), "u": pa.int64(), "name": pa.string(), "g": pa.string(), "k": pa.int64(), "x": pa.int64(),
     "d": pa.date32(), "m": pa.timestamp("us"), "b": pa.bool_()}
)  # fmt: skip
UNITS = [7, -7, 0, MAX, MIN, None, 8]
NAMES = ["7", "07", " 7", "7 ", "", None, "e\u0301", "\u00e9", "A", "a", "7|a"]
GROUPS = ["a", "A", "a ", "", "\u00e9", "e\u0301", "👍", None, "a|b", "b"]


def events(rows: Sequence[Sequence[Any]]) -> pa.Table:
    """A table with the columns of EVENTS from rows (u, name, g, k, x, d, m, b); ``id`` counts them."""
    by_column = list(zip(*rows, strict=True)) or [()] * (len(EVENTS) - 1)
    arrays = [pa.array(range(len(rows)), pa.int64())]
    arrays += [pa.array(values, field.type) for values, field in zip(by_column, list(EVENTS)[1:], strict=True)]
    return pa.Table.from_arrays(arrays, schema=EVENTS)


def crowd(rows: int = 120) -> pa.Table:
    """Units from one row to many: every third row belongs to one of them, the others follow a slow spread."""
    found = []
    for n in range(rows):
        which = 0 if n % 3 == 0 else (n * n // 5) % len(UNITS)
        odd = [None, 1, 2**62 - 1, 5, 2**62, -(2**62), 0, -3]
        found.append(
            (UNITS[which], NAMES[(which + n % 2) % len(NAMES)], GROUPS[n * 7 % 11 % len(GROUPS)], n * 5 % 7 - 3,
             odd[n * 3 % 8], DATES[n % len(DATES)], MOMENTS[n * 3 % len(MOMENTS)], [True, False, None][n * 2 % 3])
        )  # fmt: skip
    return events(found)


def one_owner(rows: int = 60) -> pa.Table:
    """One unit owns everything."""
    found = crowd(rows)
    at = found.column_names.index
    same = found.set_column(at("u"), "u", pa.array([7] * rows, pa.int64()))
    return same.set_column(at("name"), "name", pa.array(["07"] * rows, pa.string()))


def nobody(rows: int = 12) -> pa.Table:
    """All units are NULL."""
    found = crowd(rows)
    at = found.column_names.index
    none = found.set_column(at("u"), "u", pa.array([None] * rows, pa.int64()))
    return none.set_column(at("name"), "name", pa.array([None] * rows, pa.string()))


def places() -> pa.Table:
    """A public table to join with: some keys twice, some NULL, some that nobody has."""
    return pa.table(
        {
            "g": pa.array(["a", "A", "a", None, "e\u0301", "nobody", ""], pa.string()),
            "k": pa.array([0, 1, 2, 0, None, 3, -1], pa.int64()),
            "worth": pa.array([10, 20, 30, 40, None, 60, 70], pa.int64()),
            "g_2": pa.array(["p", "q", "r", None, "t", "u", "v"], pa.string()),
        }
    )
