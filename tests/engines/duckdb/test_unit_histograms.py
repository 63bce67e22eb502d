"""Histograms of units in one pass: the same numbers as one by one, and as the oracle's, on rows of every kind."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import engine as duckdb_engine
from discreet.engines.duckdb import row_codes
from discreet.engines.duckdb.engine import duckdb
from discreet.engines.duckdb.unit_histograms import shared_histograms
from discreet.engines.memory.engine import Memory
from discreet.query.plan.work import AnyWork, DistinctWork, Exact, Work
from discreet.query.profile.questions import table_questions
from discreet.query.run import works_of
from discreet.session.price import Price

LISTED = ["a", "b", "c"]


def _rows(seed: int) -> pa.Table:
    """Units of some and of none, keys that are listed and not, NULL and NaN everywhere; one unit has 150 days."""
    rng = random.Random(seed)
    choices: dict[str, list[Any]] = {
        "u": [None, *range(20)], "r": [None, *LISTED, "zz"], "p": [None, *"qwerty"], "d": [None, *range(-5, 170)],
        "x": [None, 0.0, -3.5, 1e9, 0.01, float("nan")], "i": [None, 1, 2, -8],
    }  # fmt: skip
    rows = {name: [rng.choice(some) for _ in range(150)] for name, some in choices.items()}
    giant: dict[str, list[Any]] = {
        "u": [7] * 150,
        "d": list(range(150)),
        "r": ["a"] * 150,
        "p": ["q"] * 150,
        "x": [2.0] * 150,
        "i": [1] * 150,
    }
    return pa.table({name: rows[name] + giant[name] for name in rows})


def _works(table: pa.Table, keys: Sequence[str | None], folder: Path | None = None) -> tuple[tuple[AnyWork, ...], Any]:
    columns = {"r": dp.keys(keys), "p": dp.unknown_keys(), "d": dp.keys(range(150)), "x": dp.bounds(0, 9)}
    session = dp.Session(t=dp.table(table, unit="u", columns=columns, max_rows="auto"), budget=dp.Approx(9, "1e-6"))
    if folder is not None:
        session = session.prepare(folder=folder)
    asked = table_questions("t", session.schemas)
    quote = session._backend.quote([one.prepared for one in asked], Price(1))
    return works_of(quote, "salt"), session.schemas


def _numbers(found: Sequence[Exact]) -> list[dict[Any, int]]:
    return [dict(zip(one.keys, map(int, one.numbers[0]), strict=True)) for one in found]


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many works shared a pass, each time."""
    seen: list[int] = []
    inner = shared_histograms

    def counted(*given: Any) -> dict[int, Exact]:
        found = inner(*given)
        seen.append(len(found))
        return found

    monkeypatch.setattr(duckdb_engine, "shared_histograms", counted)
    return seen


@pytest.mark.parametrize("seed", [1, 2, None])
def test_all_histograms_of_a_table_share_a_pass_and_are_the_oracle_s(seed: int | None, shared: list[int]) -> None:
    table = _rows(0).slice(0, 0) if seed is None else _rows(seed)
    works, schemas = _works(table, LISTED)
    assert _numbers(duckdb().run(works, schemas)) == _numbers(Memory().run(works, schemas))
    assert shared == [len(works)] == [9]


def test_several_numbers_of_different_keys_share_a_pass(shared: list[int]) -> None:
    works, schemas = _works(_rows(2), LISTED)
    named = [work for work in works if isinstance(work, DistinctWork)]
    twice = [*named, *(replace(work, salt="other") for work in named)]
    assert _numbers(duckdb().run(twice, schemas)) == _numbers(Memory().run(twice, schemas))
    assert shared == [2]


def test_what_has_no_form_of_its_own_is_asked_alone(shared: list[int]) -> None:
    """NULL among listed keys has no bit."""
    works, schemas = _works(_rows(3), ["a", None])
    assert _numbers(duckdb().run(works, schemas)) == _numbers(Memory().run(works, schemas))
    assert 0 < shared[0] < len(works)


def test_units_with_more_rows_than_a_weight_has_steps_are_left_to_each_work(shared: list[int]) -> None:
    works, schemas = _works(_rows(4), LISTED)
    coarse = [replace(w, weights=replace(w.weights, scale=16)) if isinstance(w, Work) else w for w in works]
    assert _numbers(duckdb().run(coarse, schemas)) == _numbers(Memory().run(coarse, schemas))
    assert shared == [5]  # all but those whose rows are weighed


def test_rows_without_a_class_do_not_count_in_the_size_of_their_unit() -> None:
    """Classes of values that are left out: the rows that are left weigh as much as if there were no others."""
    works, schemas = _works(_rows(8), LISTED)
    fewer = [
        replace(work, keys=(replace(work.keys[0], allowed=work.keys[0].allowed[:-1]),))
        if isinstance(work, Work) and len(work.keys) == 1 and work.keys[0].allowed
        else work
        for work in works
    ]
    assert fewer != list(works)
    assert _numbers(duckdb().run(fewer, schemas)) == _numbers(Memory().run(fewer, schemas))


@pytest.mark.parametrize("ids", ["far apart", "text", "close together"])
def test_some_units_after_the_others_and_units_of_every_kind(
    ids: str, shared: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_codes, "MOST_ROWS", 40)
    rows = _rows(9)
    names: dict[str, Callable[[int], Any]] = {
        "far apart": lambda u: (u - 7) << 56, "text": lambda u: f"unit {u}", "close together": lambda u: u - 7
    }  # fmt: skip
    units = pa.array([None if u is None else names[ids](u) for u in rows["u"].to_pylist()])
    keys = pa.array([f"key {(i * 7919) % 31}" for i in range(len(rows))])
    works, schemas = _works(rows.set_column(0, "u", units).set_column(2, "p", keys), LISTED)
    assert _numbers(duckdb().run(works, schemas)) == _numbers(Memory().run(works, schemas))
    assert shared == [9]


def test_one_unit_may_be_far_from_those_that_were_looked_at_first(
    shared: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_codes, "_BLOCK", 8)
    rows = _rows(3)
    units = rows["u"].to_pylist()
    works, schemas = _works(rows.set_column(0, "u", pa.array([*units[:-3], 1 << 60, -(1 << 60), 1 << 60])), LISTED)
    assert _numbers(duckdb().run(works, schemas)) == _numbers(Memory().run(works, schemas))
    assert shared == [9]


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_a_prepared_copy_chooses_keys_by_the_names_of_units(seed: int, tmp_path: Path) -> None:
    """By their numbers it would not: these depend on which other units there are."""
    rows, rng = _rows(seed), random.Random(seed)
    names = pa.array([None if u is None else f"unit {u}" for u in rows["u"].to_pylist()], pa.string())
    many = pa.array([f"key {rng.randrange(25)}" for _ in range(len(rows))])
    table = rows.set_column(0, "u", names).set_column(2, "p", many)
    works, schemas = _works(table, LISTED)
    copied, copies = _works(table, LISTED, tmp_path)
    assert _numbers(duckdb().run(copied, copies)) == _numbers(Memory().run(works, schemas))
