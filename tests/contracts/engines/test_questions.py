"""Whole questions in SQL, from the case files: engines agree with the oracle, and no user reaches too far."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.query.estimate.noise_plan import Noised, tree_of
from discreet.query.estimate.prepare import Job
from discreet.query.estimate.statistics import Bins, Statistic
from discreet.query.front.sql.parse import question
from tests.contracts.engines.faults import REACHING_TOO_FAR, Faulty
from tests.contracts.engines.lab import ORACLE, Lab, Numbers, every_engine, numbers
from tests.helpers import shop
from tests.helpers.cases import Case, answered, priced_question, todo

pytestmark = pytest.mark.slow

Tables = Mapping[str, pa.Table]


def jobs(case: Case) -> list[tuple[Job, Mapping[Statistic, Noised]]]:
    """The works of a question, and the noise of their statistics."""
    asked = question(case.ask, {name: schema.fields for name, schema in shop.schemas().items()})
    return list(todo(priced_question(asked, shop.schemas())))


@cache
def asked() -> tuple[tuple[str, Job, Mapping[Statistic, Noised]], ...]:
    """All works of all cases, with the name of the case."""
    return tuple((name, job, noised) for name, case in answered().items() for job, noised in jobs(case))


def places(lab: Lab) -> Sequence[int]:
    """Which works this engine is asked."""
    return lab.some(range(len(asked())))


def run(lab: Lab, tables: Tables) -> list[Numbers]:
    """The exact numbers of these works."""
    sources = {name: schema.table.source for name, schema in lab.schemas(tables).items()}
    schemas = shop.schemas_on(lab.engine, sources)
    return [numbers(exact) for exact in lab.engine.run([asked()[i][1].work for i in places(lab)], schemas)]


@every_engine
def test_an_engine_gives_the_numbers_of_the_oracle(lab: Lab) -> None:
    tables = {name: lab.tame(table) for name, table in shop.tables().items()}
    right = run(ORACLE, tables)
    for i, got in zip(places(lab), run(lab, tables), strict=True):
        assert got == right[i], asked()[i][0]


# --- sensitivity ------------------------------------------------------------------------------------------------------


def without(user: int, tables: Tables) -> dict[str, pa.Table]:
    """The shop as if this user had never come."""
    own = {"trips": "user_id", "users": "id", "orders": "user_id"}
    orders = {
        o
        for o, u in zip(*(tables["orders"].column(c).to_pylist() for c in ("id", "user_id")), strict=True)
        if u == user
    }
    found = dict(tables)
    for name, column in own.items():
        found[name] = _kept(tables[name], column, lambda value: value != user)
    found["items"] = _kept(tables["items"], "order_id", lambda value: value not in orders)
    return found


def _kept(table: pa.Table, column: str, keep: Callable[[Any], bool]) -> pa.Table:
    return table.filter(pa.array([keep(value) for value in table.column(column).to_pylist()], pa.bool_()))


def refuted(lab: Lab) -> list[str]:
    """The cases in which some user moves the exact numbers by more than the noise was made for."""
    before = run(lab, shop.tables())
    found = []
    for user in range(1, 8):
        after = run(lab, without(user, shop.tables()))
        for (name, job, noised), x, y in zip(asked(), before, after, strict=True):
            for cell, statistic in enumerate(job.statistics):
                noise = noised[statistic].noise
                change = moved(x, y, cell)
                if isinstance(statistic, Bins):
                    change = through_tree(statistic, noise, x, y)
                far = (
                    sum(d * d for d in change) > noise.moves_squared
                    if isinstance(noise, Gaussian)
                    else sum(map(abs, change)) > noise.moves
                )
                found += [name] if far else []
    return found


def moved(before: Numbers, after: Numbers, cell: int) -> list[int]:
    nothing = (0,) * (cell + 1)
    return [after.get(key, nothing)[cell] - before.get(key, nothing)[cell] for key in before.keys() | after.keys()]


def through_tree(bins: Bins, noise: Any, before: Numbers, after: Numbers) -> list[int]:
    """The change of every node of the trees of counts, which get the noise."""
    leaves: dict[Any, list[int]] = {}
    for sign, side in ((1, after), (-1, before)):
        for (*group, (_, place)), (number,) in side.items():
            counts = leaves.setdefault(tuple(group), [0] * bins.bins)
            assert isinstance(place, int)
            counts[place] += sign * number
    return [int(n) for counts in leaves.values() for n in tree_of(bins, noise).nodes(np.array(counts, dtype=np.int64))]


def test_no_user_moves_more_than_is_claimed() -> None:
    assert not refuted(ORACLE)


@pytest.mark.parametrize("fault", ["weights rounded up", "no weights", "no cap in a group"])
def test_a_planted_fault_is_caught(fault: str) -> None:
    assert refuted(Lab(Faulty(REACHING_TOO_FAR[fault])))
