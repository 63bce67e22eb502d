"""The oracle, against answers written by hand, and against the primitives in query/plan/evaluate.py."""

import hashlib
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.memory.engine import memory
from discreet.errors import EngineFailed
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Aggregate, How, Join, Measure, PerUnit, Project, Scan
from discreet.query.plan.schema import Table, resolve
from discreet.query.plan.work import AnyWork, DistinctWork, Form, RowSum, UnitSum, Weights, Work, WorkKey
from tests.contracts.engines.lab import ORACLE, UNIT, f

# function, arguments, what it is: by hand, from the words of primitives.py


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
