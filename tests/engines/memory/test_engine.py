"""The oracle, against answers written by hand, and against the primitives in query/plan/evaluate.py."""

import hashlib
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.memory import source as memory_source
from discreet.engines.memory.engine import memory
from discreet.engines.memory.row import evaluate
from discreet.errors import BadData, EngineFailed
from discreet.query.plan import evaluate as other
from discreet.query.plan.expressions import Column, Expression, Literal
from discreet.query.plan.nodes import Aggregate, How, Join, Measure, PerUnit, Project, Scan
from discreet.query.plan.primitives import PRIMITIVES
from discreet.query.plan.schema import Stored, StoredKind, Table, resolve
from discreet.query.plan.work import AnyWork, DistinctWork, Form, RowSum, UnitSum, Weights, Work, WorkKey
from tests.contracts.engines import random_works
from tests.contracts.engines.lab import ORACLE, UNIT, f
from tests.contracts.engines.probes import PROBES
from tests.helpers.tables import wide

NAN, INF = float("nan"), float("inf")
DAY, NIGHT = date(2024, 2, 29), datetime(2024, 2, 29, 23, 59, 59, 999999)
# function, arguments, what it is: by hand, from the words of primitives.py
EXAMPLES: list[tuple[str, tuple[Any, ...], Any]] = [
    ("read_integer", (7, 0, 5), 5), ("read_integer", (-7, 0, 5), 0), ("read_integer", (None, 0, 5), None),
    ("read_decimal", (Decimal("1.25"), 2, 0, 1000), 125), ("read_decimal", (Decimal("-1.25"), 2, 0, 1000), 0),
    ("read_real", (NAN, 0, -9, 9), None), ("read_real", (INF, 0, -9, 9), 9), ("read_real", (-INF, 0, -9, 9), -9),
    ("read_real", (0.5, 0, -9, 9), 1), ("read_real", (-0.5, 0, -9, 9), 0), ("read_real", (-1.5, 0, -9, 9), -1),
    ("read_real", (0.49999999999999994, 0, -9, 9), 0), ("read_real", (-0.0, 0, -9, 9), 0), ("read_real", (3.0, 1, -9,
    9), 2),
    ("read_real", (0.3, -2, -9, 9), 1), ("read_real", (1e308, -1074, -9, 9), 9),
    ("read_text", ("a ",), "a "), ("read_boolean", (False,), False), ("read_date", (DAY,), DAY),
    ("read_timestamp", (NIGHT,), NIGHT), ("read_float", (0.1,), 0.1),
    ("add", (2, 3), 5), ("add", (2, None), None), ("sub", (2, 3), -1), ("mul", (-2, 3), -6), ("neg", (4,), -4),
    ("abs", (-4,), 4), ("sign", (-4,), -1), ("sign", (0,), 0), ("least", (2, 1, 3), 1), ("least", (2, None), None),
    ("greatest", (2, 1, 3), 3), ("greatest", (None, 9), None),
    ("div", (7, 2), 3), ("div", (-7, 2), -3), ("div", (7, -2), -3), ("div", (-7, -2), 3), ("div", (7, 0), None),
    ("mod", (7, 2), 1), ("mod", (-7, 2), -1), ("mod", (7, -2), 1), ("mod", (-7, -2), -1), ("mod", (7, 0), None),
    ("round_div", (5, 2), 3), ("round_div", (-5, 2), -3), ("round_div", (4, 3), 1), ("floor_div", (-1, 10), -1),
    ("ceil_div", (1, 10), 1), ("ceil_div", (-1, 10), 0),
    ("eq", ("a", "A"), False), ("eq", ("\u00e9", "e\u0301"), False), ("eq", (None, None), None), ("ne", (1, 2), True),
    ("lt", ("Z", "a"), True), ("lt", ("\uffff", "\U00010000"), True), ("le", (DAY, DAY), True), ("gt", (True, False),
    True),
    ("ge", ("a", "a "), False), ("in", ("a", "b", "a"), True), ("in", (None, "a"), None), ("in", (3, 1, 2), False),
    ("is_null", (None,), True), ("is_null", (0,), False),
    ("and", (None, False), False), ("and", (None, True), None), ("and", (True, True), True), ("or", (None, True), True),
    ("or", (None, False), None), ("not", (None,), None), ("not", (False,), True),
    ("case", (None, 1, True, 2, 3), 2), ("case", (False, 1, 3), 3), ("case", (True, None, 3), None),
    ("coalesce", (None, None, 3, 4), 3), ("coalesce", (None,), None),
    ("like", ("abc", "a%"), True), ("like", ("abc", "a_"), False), ("like", ("a%", "a\\%"), False), ("like", ("a\\b",
    "a\\%"), True),
    ("like", ("a\nb", "a_b"), True), ("like", ("ab", "AB"), False), ("like", ("", "%"), True), ("like", ("", "_"),
    False),
    ("like", ("👍", "_"), True), ("like", ("a.b", "a.b"), True), ("like", ("axb", "a.b"), False),
    ("lower", ("ÀB\u0130",), "Àb\u0130"), ("upper", ("àb\u00df",), "àB\u00df"), ("trim", (" \ta ",), "\ta"),
    ("ltrim", ("  a ",), "a "), ("rtrim", (" a\u00a0 ",), " a\u00a0"), ("length", ("e\u0301👍",), 3),
    ("substring", ("abc", 2, 1), "b"), ("substring", ("abc", 4, 9), ""), ("substring", ("👍abc", 2, 0), ""),
    ("split_part", ("a-b", "-", 2), "b"), ("split_part", ("a-b", "-", 3), ""), ("split_part", (None, "-", 1), None),
    ("concat", ("a", "b"), "ab"), ("concat", ("a", None), None), ("starts_with", ("ab", ""), True),
    ("ends_with", ("ab", "b"), True), ("contains", ("a%b", "%"), True),
    ("text_to_integer", ("+07",), 7), ("text_to_integer", (" 7",), None), ("text_to_integer", ("7\n",), None),
    ("text_to_integer", ("\uff17",), None), ("text_to_integer", ("9" * 18,), 10**18 - 1), ("text_to_integer",
    ("1" * 19,), None),
    ("integer_to_text", (-7,), "-7"), ("date_to_text", (date(1, 2, 3),), "0001-02-03"), ("boolean_to_integer",
    (True,), 1),
    ("text_to_date", ("2024-02-29",), DAY), ("text_to_date", ("2023-02-29",), None), ("text_to_date", ("0000-01-01",),
    None),
    ("text_to_date", ("2024-2-29",), None), ("text_to_date", ("2024-02-29\n",), None),
    ("timestamp_to_date", (NIGHT,), DAY), ("date_to_timestamp", (DAY,), datetime(2024, 2, 29)),
    ("year", (DAY,), 2024), ("quarter", (date(2024, 3, 31),), 1), ("quarter", (date(2024, 4, 1),), 2), ("month",
    (NIGHT,), 2),
    ("day", (DAY,), 29), ("day_of_week", (date(2024, 3, 3),), 7), ("day_of_week", (date(2024, 3, 4),), 1),
    ("day_of_year", (date(2024, 12, 31),), 366), ("hour", (NIGHT,), 23), ("minute", (NIGHT,), 59), ("second",
    (NIGHT,), 59),
    ("date_trunc", ("year", DAY), date(2024, 1, 1)), ("date_trunc", ("quarter", date(2024, 6, 30)), date(2024, 4, 1)),
    ("date_trunc", ("month", DAY), date(2024, 2, 1)), ("date_trunc", ("week", DAY), date(2024, 2, 26)),
    ("date_trunc", ("day", DAY), DAY), ("date_trunc", ("week", date(1, 1, 3)), date.min),
    ("date_trunc", ("day", NIGHT), datetime(2024, 2, 29)), ("date_trunc", ("hour", NIGHT), datetime(2024, 2, 29, 23)),
    ("date_trunc", ("minute", NIGHT), datetime(2024, 2, 29, 23, 59)),
    ("days_between", (DAY, date(2024, 3, 1)), 1), ("days_between", (date(2024, 3, 1), DAY), -1),
    ("add_days", (DAY, 1), date(2024, 3, 1)), ("add_days", (DAY, 10**9), date.max), ("add_days", (DAY, -(10**9)),
    date.min),
    ("seconds_between", (datetime(2024, 1, 1), NIGHT), 5183999), ("seconds_between", (NIGHT, datetime(2024, 1, 1)),
    -5183999),
    ("seconds_between", (NIGHT, datetime(2024, 3, 1)), 0),
]  # fmt: skip


@pytest.mark.parametrize("meaning", [evaluate, other.evaluate], ids=["oracle", "typing"])
@pytest.mark.parametrize(("function", "arguments", "right"), EXAMPLES)
def test_by_hand(meaning: Any, function: str, arguments: tuple[Any, ...], right: Any) -> None:
    row = {f"c{n}": value for n, value in enumerate(arguments)}
    got = meaning(f(function, *(Column(name) for name in row)), row)
    assert (type(got), got) == (type(right), right)


def test_every_primitive_has_an_example() -> None:
    assert {function for function, _, _ in EXAMPLES} == PRIMITIVES


# --- two readings of the primitives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("primitive", sorted(PRIMITIVES))
def test_both_readings_agree_on_odd_values(primitive: str) -> None:
    for row in memory_source.rows(wide()):
        for expression in PROBES[primitive]:
            assert evaluate(expression, row) == other.evaluate(expression, row), expression


@st.composite
def expressions(draw: st.DrawFn) -> Expression:
    kinds = [random_works.texts, random_works.days, random_works.moments, random_works.truths]
    if draw(st.booleans()):
        return random_works.integers(draw, 3).expression
    return kinds[draw(st.integers(0, 3))](draw, 3)


@settings(max_examples=200, deadline=None)
@given(expression=expressions(), table=random_works.tables(most=4))
def test_both_readings_agree_on_random_expressions(expression: Expression, table: pa.Table) -> None:
    for row in memory_source.rows(table):
        got, right = evaluate(expression, row), other.evaluate(expression, row)
        assert (type(got), got) == (type(right), right)


# --- sources ----------------------------------------------------------------------------------------------------------


def test_the_columns_of_plain_values() -> None:
    row = {"i": 1, "b": True, "t": "x", "f": 0.5, "d": DAY, "m": NIGHT, "c": Decimal("1.50"), "n": None, "o": b"x"}
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


# --- works, by hand ---------------------------------------------------------------------------------------------------

SOURCE = Project(Scan("t"), ((UNIT, Column("u")), ("g", Column("g")), ("x", Column("x"))))
G = WorkKey("g", Column("g"), None)


def run(work: AnyWork, rows: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], tuple[int, ...]]:
    table = pa.table(
        {
            "u": pa.array([r[0] for r in rows], pa.int64()),
            "g": pa.array([r[1] for r in rows], pa.string()),
            "x": pa.array([r[2] for r in rows], pa.int64()),
        }
    )
    (found,) = ORACLE.run([work], {"t": table})
    return {tuple(value for _, value in key): numbers for key, numbers in found.items()}


def work(form: Form, cap: int, scale: int, per_group: int | None = None, **more: Any) -> Work:
    weights = Weights(form=form, cap=cap, scale=scale, per_group=per_group)
    more = {"keys": (G,), "cells": (RowSum(Literal(1)), RowSum(Column("x")))} | more
    return Work(source=SOURCE, unit=UNIT, weights=weights, **more)


def test_rows_weigh_the_same() -> None:
    rows = [(1, "a", 5), (1, "a", None), (1, "b", 7), (2, "a", -1), (None, "a", 100)]
    # unit 1 has three rows and a cap of two: 10 * 2 // 3 = 6 each; unit 2 weighs 10
    assert run(work(Form.ROWS, 2, 10), rows) == {("a",): (22, 20), ("b",): (6, 42)}


def test_groups_are_capped_first() -> None:
    rows = [(1, "a", 1)] * 5 + [(1, "b", 1)] * 2 + [(1, "c", 1)]
    # c = 2, 2, 1: 100 * 4 // 5 = 80; the five rows of a share 80 * 2 // 5 = 32 each
    assert run(work(Form.L1, 4, 100, 2), rows) == {("a",): (160, 160), ("b",): (160, 160), ("c",): (80, 80)}


def test_length_by_squares() -> None:
    rows = [(1, "a", 1)] * 5 + [(1, "b", 1)] * 2 + [(1, "c", 1)]
    # c² = 4 + 4 + 1 = 9, cap 5: isqrt(10000 * 5 // 9) = isqrt(5555) = 74; five rows: 74 * 2 // 5 = 29 each
    assert run(work(Form.L2, 5, 100, 2), rows) == {("a",): (145, 145), ("b",): (148, 148), ("c",): (74, 74)}


def test_units_count_once() -> None:
    rows = [(1, "a", 1)] * 5 + [(1, "b", 1), (2, "b", 1)]
    assert run(work(Form.L1, 1, 10, 1, cells=(UnitSum(),)), rows) == {("a",): (5,), ("b",): (15,)}


def test_listed_keys_come_before_the_bounding() -> None:
    rows = [(1, "a", 1), (1, "b", 1), (1, "c", 1), (1, None, 1)]
    listed = WorkKey("g", Column("g"), ("a", None, "z"))
    assert run(work(Form.ROWS, 2, 10, keys=(listed,)), rows) == {("a",): (10, 10), (None,): (10, 10)}


def test_keys_are_kept_by_hash_before_the_weights() -> None:
    names = ["a", "b", "", None, "d|", "\u00e9"]
    rows = [(7, name, 1) for name in names]
    by_hash = sorted(names[:3] + names[4:], key=lambda name: hashlib.md5(f"s|7|{name}".encode()).hexdigest())  # noqa: S324
    found = run(work(Form.ROWS, 2, 10, most_keys=6, salt="s"), rows)
    assert found == {(name,): (3, 3) for name in names}  # 10 * 2 // 6
    for most in range(1, 5):
        kept = {name for (name,) in run(work(Form.ROWS, 9, 10, most_keys=most, salt="s"), rows)}
        assert {name or "" for name in kept} <= set(by_hash[:most])  # "" and NULL have the same hash: "" comes first
        assert len(kept) == most


def test_a_split_does_not_change_the_weights() -> None:
    rows = [(1, "a", 1), (1, "a", 2), (1, "a", 2), (1, "a", None)]
    split = WorkKey("x", Column("x"), None)
    found = run(work(Form.L1, 1, 12, 1, split=split, cells=(RowSum(Literal(1)),)), rows)
    assert found == {("a", 1): (4,), ("a", 2): (8,)}  # three rows share a weight of 12: NULL is dropped first


def test_different_values() -> None:
    rows = [(1, "a", 1), (1, "a", 1), (1, "a", 2), (2, "a", 2), (2, "b", 2), (2, "b", None), (3, "c", None)]
    asked = DistinctWork(source=SOURCE, unit=UNIT, keys=(G,), value=Column("x"), cap=9, salt="s")
    assert run(asked, rows) == {("a",): (2,), ("b",): (1,)}
    by_hash = min((1, 2), key=lambda x: hashlib.md5(f"s|1|a|{x}".encode()).hexdigest())  # noqa: S324
    only = DistinctWork(source=SOURCE, unit=UNIT, keys=(G,), value=Column("x"), cap=1, salt="s")
    assert run(only, rows[:3]) == {("a",): (1,)}
    assert run(only, [(1, "a", 1), (1, "a", 2), (9, "a", by_hash)]) == {("a",): (1,)}
    assert run(only, [(1, "a", 1), (1, "a", 2), (9, "a", 3 - by_hash)]) == {("a",): (2,)}


def test_nothing_of_nothing() -> None:
    assert run(work(Form.ROWS, 2, 10, keys=()), []) == {}
    assert run(work(Form.ROWS, 2, 10, keys=()), [(None, "a", 1)]) == {}


def test_a_summary_of_each_unit() -> None:
    measures = (
        Measure("n", Aggregate.COUNT), Measure("s", Aggregate.SUM, (Column("x"),)),
        Measure("big", Aggregate.MAX, (Column("x"),), f("lt", Column("x"), 0)),
    )  # fmt: skip
    source = PerUnit(SOURCE, ((UNIT, Column(UNIT)), ("k", Column("g"))), measures)
    keys = tuple(WorkKey(name, Column(name), None) for name in (UNIT, "k", "n", "s", "big"))
    asked = Work(
        source=source, unit=UNIT, keys=keys, cells=(UnitSum(),), weights=Weights(form=Form.ROWS, cap=9, scale=1)
    )
    rows = [(1, None, 1 << 62), (1, None, 1 << 62), (2, "a", -(1 << 62)), (2, "a", -3), (3, "a", None)]
    assert run(asked, rows) == {
        (1, None, 2, 1 << 62, None): (1,), (2, "a", 2, -(1 << 62), -3): (1,), (3, "a", 1, None, None): (1,),
    }  # fmt: skip


def test_a_join_renames_and_extends() -> None:
    right = Project(Scan("t"), (("g", Column("g")), ("x", Column("x"))))
    source = Join(SOURCE, right, (("g", "g"),), How.LEFT)
    keys = tuple(WorkKey(name, Column(name), None) for name in (UNIT, "g", "x", "g_2", "x_2"))
    asked = Work(
        source=source,
        unit=UNIT,
        keys=keys,
        cells=(RowSum(Literal(1)),),
        weights=Weights(form=Form.ROWS, cap=99, scale=1),
    )
    assert run(asked, [(1, "a", 1), (2, "a", 2), (3, None, 3)]) == {
        (1, "a", 1, "a", 1): (1,), (1, "a", 1, "a", 2): (1,), (2, "a", 2, "a", 1): (1,), (2, "a", 2, "a", 2): (1,),
        (3, None, 3, None, None): (1,),
    }  # fmt: skip


def test_a_failure_says_nothing() -> None:
    source = {"u": [1], "g": ["secret"], "x": [1]}
    schemas = {"t": resolve("t", Table(source=source, unit="u"), memory().columns(source))}
    broken = work(Form.ROWS, 1, 1, cells=(RowSum(f("mul", Column("nowhere"), 2)),))
    with pytest.raises(EngineFailed) as caught:
        memory().run([broken], schemas)
    assert str(caught.value) == str(EngineFailed())
    assert caught.value.__suppress_context__
