"""What an engine sends is held against what was asked; how many different rows there are, as sets of tuples say."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from discreet.engines.sql.dialects import Sort
from discreet.engines.sql.hashed_sums import Statement
from discreet.engines.sql.results import checked, different
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Scan
from discreet.query.plan.work import Form, RowSum, Weights, Work, WorkKey

VALUES = some.one_of(some.none(), some.text(max_size=2), some.integers(-3, 3))


@pytest.mark.slow
@given(rows=some.integers(1, 4).flatmap(lambda n: some.lists(some.tuples(*[VALUES] * n), min_size=1, max_size=30)))
def test_different_rows_are_counted_as_by_a_set(rows: list[tuple[object, ...]]) -> None:
    assert different(list(zip(*rows, strict=True)), len(rows)) == len(set(rows))


def test_many_columns_with_many_values_do_not_overflow() -> None:
    many = range(3000)
    assert different([list(many)] * 9, 3000) == 3000
    assert different([], 0) == 0
    assert different([], 2) == 1


def asked(allowed: tuple[Any, ...] | None, split: bool) -> tuple[Work, Statement]:
    """A count by a text, split by a whole number or not."""
    by = WorkKey("s", Column("s"), None) if split else None
    work = Work(
        source=Scan("t"),
        unit="u",
        keys=(WorkKey("k", Column("k"), allowed),),
        cells=(RowSum(Literal(1)),),
        weights=Weights(form=Form.ROWS, cap=1, scale=1),
        split=by,
    )
    sorts = (("k0", Sort.TEXT), ("s", Sort.INTEGER))
    return work, Statement("", sorts if split else sorts[:1], 1)


def sent(keys: list[list[Any]], allowed: tuple[Any, ...] | None = None) -> int:
    rows = len(keys[0])
    return len(checked(*asked(allowed, len(keys) == 2), keys, [np.ones(rows, dtype=np.int64)], rows).keys)


def test_what_was_asked_for_is_taken() -> None:
    assert sent([["a", None, "b"]]) == 3
    assert sent([["a", "a"], [0, 1]], ("a", "b")) == 2


@pytest.mark.parametrize("keys", [[["a", "a"]], [[None, None]], [["a", "b", "a"], [1, 1, 1]]], ids=str)
def test_a_group_that_comes_twice_is_refused(keys: list[list[Any]]) -> None:
    with pytest.raises(ValueError, match="twice"):
        sent(keys)


def test_other_keys_kinds_and_splits_are_refused() -> None:
    with pytest.raises(ValueError, match="not asked for"):
        sent([["a", "c"]], ("a", "b"))
    with pytest.raises(TypeError, match="another kind"):
        sent([["a", 1]])
    with pytest.raises(ValueError, match="dropped"):
        sent([["a", "b"], [1, None]])
