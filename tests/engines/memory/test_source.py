"""Small tables in memory: their stored types, and their values as plain Python."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pytest

from discreet.engines.memory import source as memory_source
from discreet.engines.memory.engine import memory
from discreet.errors import BadData
from discreet.query.plan.schema import Stored, StoredKind
from tests.helpers.tables import wide


def test_the_columns_of_plain_values() -> None:
    row = {
        "i": 1,
        "b": True,
        "t": "x",
        "f": 0.5,
        "d": date(2024, 2, 29),
        "m": datetime(2024, 2, 29),
        "c": Decimal("1.50"),
        "n": None,
        "o": b"x",
    }
    kinds = {name: stored.kind for name, stored in memory().columns([row]).items()}
    assert list(kinds.values()) == [
        StoredKind.INTEGER, StoredKind.BOOLEAN, StoredKind.TEXT, StoredKind.REAL, StoredKind.DATE, StoredKind.TIMESTAMP,
        StoredKind.DECIMAL, StoredKind.OTHER, StoredKind.OTHER,
    ]  # fmt: skip
    assert memory().columns({"c": [Decimal("1.50"), Decimal(7), None]}) == {"c": Stored(StoredKind.DECIMAL, 2)}


def test_the_columns_of_an_arrow_table() -> None:
    found = memory().columns(wide(1))
    assert {name: stored.kind.value for name, stored in found.items()} == {
        "id": "integer", "i": "integer", "j": "integer", "tiny": "integer", "unsigned": "integer", "cents": "decimal",
        "digits": "decimal", "whole": "decimal", "f": "real", "single": "real", "t": "text", "s": "text",
        "coded": "text", "b": "boolean", "c": "boolean", "d": "date", "e": "date", "m": "timestamp", "n": "timestamp",
        "seconds": "timestamp", "millis": "timestamp", "nanos": "timestamp", "zoned": "timestamp",
    }  # fmt: skip
    assert (found["cents"].scale, found["digits"].scale) == (2, 10)
    assert memory().columns(pa.table({"x": pa.array([b"x"]), "y": pa.array([[1]])}))["x"].kind is StoredKind.OTHER


@pytest.mark.parametrize("source", [7, "a file.parquet", [1, 2], {"a": [1], "b": [1, 2]}, {"a": [1, "x"]}, {3: [1]}])
def test_what_is_no_table_is_refused(source: object) -> None:
    with pytest.raises(BadData) as caught:
        memory().columns(source)
    assert "x" not in str(caught.value).replace("text", "")


def test_moments_become_utc_to_the_microsecond() -> None:
    late = datetime(2024, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=2)))
    assert memory_source.rows({"m": [late, None]}) == [{"m": datetime(2023, 12, 31, 22, 30)}, {"m": None}]
    arrow = pa.table({"z": pa.array([late], pa.timestamp("us", "Asia/Tokyo")), "n": pa.array([-1], pa.timestamp("ns"))})
    (row,) = memory_source.rows(arrow)
    assert row["z"] == late.astimezone(UTC).replace(tzinfo=None)
    assert row["n"] == datetime(1969, 12, 31, 23, 59, 59, 999999)
