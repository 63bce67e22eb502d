"""SQL Server's dialect: what it refuses, and its literals."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.experimental.sqlserver import SQLSERVER
from discreet.errors import Unsupported
from discreet.query.plan.expressions import Column
from tests.helpers.works import f, refusal


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="\\\r\n'a", max_size=12))
def test_a_backslash_at_the_end_of_a_line_is_kept(text: str) -> None:
    sql = SQLSERVER.text(text)
    assert "\\\n" not in sql
    assert "\\\r" not in sql
    parts = re.findall(r"N'((?:[^']|'')*)'", sql)
    assert "".join(parts).replace("''", "'") == text


@pytest.mark.parametrize("function", ["lt", "le", "gt", "ge", "least", "greatest", "like"])
def test_the_order_of_text_is_refused_by_name(function: str) -> None:
    """UTF-16 has another order than code points; and in LIKE, _ is one half of a pair."""
    why = refusal(SQLSERVER, f(function, Column("t"), "a_b"))
    assert why is not None
    assert "sqlserver" in why
    assert refusal(SQLSERVER, f("eq", Column("t"), "a_b")) is None
    assert refusal(SQLSERVER, f("like", Column("t"), "a%")) is None


def test_text_is_marked_where_spaces_at_its_end_would_not_count() -> None:
    assert SQLSERVER.marked("t") == "((t + N'|') COLLATE Latin1_General_100_BIN2)"
    assert "N'a |'" in SQLSERVER.text("a |")
    assert SQLSERVER.call("text_eq", "a", "b") == "((a + N'|') = (b + N'|') COLLATE Latin1_General_100_BIN2)"


def test_constants_have_their_types() -> None:
    assert SQLSERVER.literal(True) == "CAST(1 AS BIT)"
    assert SQLSERVER.literal(datetime(2024, 2, 29, 13)) == "CAST('2024-02-29 13:00:00.000000' AS DATETIME2(6))"
    assert SQLSERVER.identifier("a]b") == "[a]]b]"
    assert SQLSERVER.real(float("inf")) == "CAST('1.7976931348623157e+308' AS FLOAT)", "it has no infinities"
    with pytest.raises(Unsupported, match="near to 0"):
        SQLSERVER.real(5e-324)
