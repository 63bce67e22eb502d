"""Values and parameters: a parameter stays one literal, whatever it holds."""

from __future__ import annotations

import struct
from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from discreet.curator.client.dbapi import DataError
from discreet.curator.wire.types import BOOL, DATE, FLOAT8, INT8, TEXT, TEXTS, TIMESTAMP, encoded, formats, literal


def test_values_have_the_forms_of_postgresql() -> None:
    assert encoded(None, TEXT, 0) is None
    assert [encoded(v, FLOAT8, 0) for v in (3.0, 2.5, 1e300)] == [b"3", b"2.5", b"1e+300"]
    assert encoded(datetime(2025, 1, 2, 3, 4), TIMESTAMP, 0) == b"2025-01-02 03:04:00"
    assert encoded(["a", None, 'b"\\'], TEXTS, 0) == b'{"a",NULL,"b\\"\\\\"}'
    assert struct.unpack("!q", encoded(7, INT8, 1) or b"") == (7,)
    assert struct.unpack("!d", encoded(7, FLOAT8, 1) or b"") == (7.0,)
    assert struct.unpack("!i", encoded(date(1999, 12, 31), DATE, 1) or b"") == (-1,)
    assert struct.unpack("!q", encoded(datetime(2000, 1, 1, 0, 0, 1), TIMESTAMP, 1) or b"") == (1_000_000,)
    assert (encoded(True, BOOL, 1), encoded("é", TEXT, 1)) == (b"\1", "é".encode())
    assert formats([], 2) == [0, 0]
    assert formats([1], 2) == [1, 1]


def test_parameters_become_literals() -> None:
    assert literal(None, 23, 0) == "NULL"
    assert literal(b"1.50", 1700, 0) == "1.50"
    assert literal(b"t", 16, 0) == "TRUE"
    assert literal(b"\0\0\0\x05", 23, 1) == "5"
    assert literal(struct.pack("!i", 1), 1082, 1) == "DATE '2000-01-02'"
    assert literal(b"2025-01-02 03:04:05", 1114, 0) == "TIMESTAMP '2025-01-02 03:04:05'"
    assert literal(b"2025-01-02 03:04:05+02:00", 1184, 0) == "TIMESTAMP '2025-01-02 01:04:05'"


@pytest.mark.parametrize(
    ("value", "oid", "form"),
    [(b"x", 23, 0), (b"1); DROP", 1700, 0), (b"nan", 701, 0), (b"maybe", 16, 0), (b"2025-13-01", 1082, 0),
     (b"\xff", 25, 0), (b"\0", 23, 1), (b"\0\0\0\1", 2950, 1), (b"a\0b", 25, 0), (b"1e999999999", 1700, 0)],
)  # fmt: skip
def test_parameters_without_a_form_are_refused(value: bytes, oid: int, form: int) -> None:
    with pytest.raises(DataError):
        literal(value, oid, form)


@given(st.text(max_size=20).filter(lambda text: "\0" not in text))
def test_a_text_never_leaves_its_quotes(text: str) -> None:
    try:
        written = literal(text.encode(), 25, 0)
    except (DataError, UnicodeEncodeError):
        return
    tree = parse_one(f"SELECT {written}", dialect="duckdb")
    (column,) = tree.expressions
    assert isinstance(column, exp.Literal)
    assert column.this == text
