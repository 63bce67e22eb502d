"""Bounded sums by one sort and windows: the numbers of work.py by hand, computed by DuckDB in PostgreSQL's shape."""

from __future__ import annotations

import pytest

from discreet.engines.sql.dialects import Shape
from discreet.query.plan.work import Form, UnitSum
from tests.helpers.works import BY_HAND, ONE, TABLE, answer, computed, work


@pytest.mark.parametrize("name", BY_HAND)
def test_numbers_by_hand(name: str) -> None:
    asked, right = BY_HAND[name]
    assert computed(asked, Shape.SORTED) == right


@pytest.mark.slow
@pytest.mark.parametrize("salt", ["", "s", "it's", "3"])
def test_the_same_keys_are_kept_as_by_hash_tables(salt: str) -> None:
    for asked in (
        work(Form.L1, 2, 1, UnitSum(), most_keys=2, salt=salt),
        work(Form.L2, 3, 2, ONE, most_keys=1, salt=salt),
    ):
        assert computed(asked, Shape.SORTED) == answer(asked)


@pytest.mark.slow
def test_an_empty_table_has_no_groups() -> None:
    for asked, _ in BY_HAND.values():
        assert computed(asked, Shape.SORTED, TABLE.slice(0, 0)) == {}
