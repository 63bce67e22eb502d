"""The rows of a work before they are bounded: which count, and in which order keys are kept."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import duckdb as driver
import pyarrow as pa
import pytest

from discreet.engines.sql.base import Base
from discreet.engines.sql.dialects import DUCKDB, Dialect
from discreet.engines.sql.relations import Origin
from discreet.query.plan.work import Form, Work, WorkKey
from tests.helpers.works import HOSTILE, ONE, STORED, X, answer, work


@pytest.mark.slow
def test_keys_of_any_text_are_found(tmp_path: Any) -> None:
    keys = tuple(dict.fromkeys([*HOSTILE, "", " ", "a", "A"]))
    table = pa.table({"u": range(len(keys) + 1), "k": [*keys, "other"], "x": [1] * (len(keys) + 1)})
    many = tuple(f"{n}" for n in range(3000))
    for allowed in (keys, (*keys, None), (*keys, *many), (*keys, *many, None)):
        assert set(answer(work(Form.L1, 1, 1, ONE, allowed=allowed), table)) == {(key,) for key in keys}


def base(asked: Work, dialect: Dialect = DUCKDB) -> Base:
    return Base(asked, dialect, {"t": Origin("t", STORED)})


def test_a_row_counts_if_it_has_a_unit_and_listed_keys() -> None:
    plain = replace(DUCKDB, codes=False)
    for allowed, wanted in (
        (None, "u IS NOT NULL"),
        (("a",), "u IS NOT NULL AND (k0 IN ('a'))"),
        (("a", None), "u IS NOT NULL AND (k0 IS NULL OR (k0 IN ('a')))"),
    ):
        found = base(work(Form.ROWS, 1, None, ONE, allowed=allowed), plain)
        assert found.counts(found.keys) == wanted
    coded = base(work(Form.ROWS, 1, None, ONE, allowed=("a",)))
    assert coded.counts(coded.keys) == "u IS NOT NULL AND k0 IS NOT NULL"
    assert coded.keys[0].coded


@pytest.mark.parametrize(
    ("allowed", "bits", "coded"),
    [
        ((1, 2, 3), "TINYINT", True),
        ((1, 3), "TINYINT", False),
        ((1, 1000), "SMALLINT", False),
        (None, "TINYINT", False),
    ],
)
def test_integers_are_grouped_in_few_bits(allowed: Any, bits: str, coded: bool) -> None:
    """x is declared within 100 of 0; a list without holes needs no second look."""
    found = base(work(Form.ROWS, 1, None, ONE, keys=(WorkKey("x", X, allowed),)))
    assert f"AS {bits})" in found.select()
    assert found.keys[0].coded is coded


@pytest.mark.slow
def test_integer_keys_that_are_listed_are_found_and_no_others() -> None:
    table = pa.table({"u": range(6), "k": ["a"] * 6, "x": [-3, 1, 2, 3, None, 99]})
    for allowed, right in (((1, 2, 3), {1, 2, 3}), ((1, 3), {1, 3}), ((1, None), {1, None}), ((-3, 99), {-3, 99})):
        found = answer(work(Form.ROWS, 1, None, ONE, keys=(WorkKey("x", X, allowed),)), table)
        assert set(found) == {(key,) for key in right}


def test_keys_are_ordered_by_the_md5_that_work_py_describes() -> None:
    """Of unit 7 with keys a, b, NULL: md5 of salt|unit|key, NULL as nothing."""
    found = base(work(Form.L1, 1, 1, ONE), replace(DUCKDB, codes=False))
    order = found.order("salt", found.keys)
    rows = "(VALUES (7, 'a'), (7, 'b'), (7, NULL)) AS t(u, k0)"
    listed = [key for (key,) in driver.execute(f"SELECT k0 FROM {rows} ORDER BY {order}").fetchall()]
    hashes = {
        key: hashlib.md5(f"salt|7|{key or ''}".encode(), usedforsecurity=False).hexdigest() for key in ("a", "b", None)
    }
    assert listed == sorted(hashes, key=lambda key: hashes[key])


def test_units_that_may_be_numbers_are_hashed_by_nobody() -> None:
    """The number of a unit depends on which other units there are."""
    found = Base(work(Form.ROWS, 1, None, ONE), DUCKDB, {"t": Origin("t", STORED)}, numbered=True)
    with pytest.raises(ValueError, match="own name"):
        found.order("salt", found.keys)
