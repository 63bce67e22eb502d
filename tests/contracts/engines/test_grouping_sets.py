"""Many sets of keys in one pass: every engine that does it gives the oracle's numbers, and those of single works."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.memory.engine import memory
from discreet.query.engine import CountsSets, Engine
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.schema import Schema
from discreet.query.plan.work import Cells, Form, GroupingSets, Weights, WorkKey
from discreet.synthetic.tables.engine_source import cells_of, works
from tests.contracts.engines import forms
from tests.contracts.engines.lab import ORACLE, UNIT, Lab, every_engine, f
from tests.helpers import tables
from tests.helpers.tables import crowd, one_owner

KEYS = (
    WorkKey("g", f("coalesce", Column("g"), "(none)"), ("a", "A", "\u00e9", "a ", "(none)", "nobody", "';--")),
    WorkKey("k", f("case", f("is_null", Column("k")), 9, Column("k")), (-3, -2, -1, 0, 1, 9)),
    WorkKey("b", f("case", f("is_null", Column("b")), 2, f("boolean_to_integer", Column("b"))), (0, 1, 2)),
    WorkKey("x", f("case", f("lt", Column("x"), 0), 0, f("lt", Column("x"), 5), 1, f("ge", Column("x"), 5), 2,
                   Literal(None)), (0, 1, 2)),
)  # fmt: skip
SETS = ((), (0,), (0, 1), (1, 2, 3), (0, 1, 2, 3))


def asked(cap: int, scale: int, sets: tuple[tuple[int, ...], ...] = SETS) -> GroupingSets:
    weights = Weights(form=Form.ROWS, cap=cap, scale=scale)
    return GroupingSets(source=forms.source("u"), unit=UNIT, keys=KEYS, sets=sets, weights=weights)


def plain(found: tuple[Cells, ...]) -> list[dict[int, int]]:
    """Places and numbers; a group of nobody may come as 0 or not at all."""
    for cells in found:
        assert len(np.unique(cells.places)) == len(cells.places)
    return [{int(p): int(n) for p, n in zip(c.places, c.counts, strict=True) if n} for c in found]


TABLES = {"crowd": crowd(80), "one owner": one_owner(30), "nobody": crowd(0)}


@pytest.mark.slow
@every_engine
def test_every_engine_counts_as_the_oracle(lab: Lab) -> None:
    every = [
        (name, work)
        for name in TABLES
        for work in (asked(1, 1 << 20), asked(3, 1000), asked(9, 7000, ((),)), asked(1, 2))
    ]
    for name, work in lab.some(every):
        rows: pa.Table = lab.tame(TABLES[name])
        got = counted(lab.engine, work, lab.schemas({"t": rows}))
        assert plain(got) == plain(memory().grouping_sets(work, ORACLE.schemas({"t": rows})))


def counted(engine: Engine, work: GroupingSets, schemas: Mapping[str, Schema]) -> tuple[Cells, ...]:
    """In one pass, or one work after the other."""
    if isinstance(engine, CountsSets):
        return engine.grouping_sets(work, schemas)
    single = works(work)
    return tuple(cells_of(*pair) for pair in zip(single, engine.run(single, schemas), strict=True))


@every_engine
def test_a_unit_with_too_many_rows_counts_as_its_cap(lab: Lab) -> None:
    """Each of its 40 rows would weigh 0 of 8 * 3 steps: together they weigh as many, rounded down in each group."""
    rows = tables.events([(7, None, "aA"[i % 4 == 0], i % 3, None, None, None, True) for i in range(40)]
                         + [(8, None, "A", 1, None, None, None, True)] * 2)  # fmt: skip
    keys = (WorkKey("g", Column("g"), ("a", "A")), WorkKey("k", Column("k"), (0, 1, 2)))
    weights = Weights(form=Form.ROWS, cap=3, scale=8)
    work = GroupingSets(source=forms.source("u"), unit=UNIT, keys=keys, sets=((), (0,), (0, 1)), weights=weights)
    found = plain(counted(lab.engine, work, lab.schemas({"t": rows})))
    assert found == [
        {0: 24 + 16},
        {0: 24 * 30 // 40, 1: 24 * 10 // 40 + 16},
        {0: 24 * 10 // 40, 1: 24 * 10 // 40, 2: 24 * 10 // 40, 3: 24 * 4 // 40, 4: 24 * 3 // 40 + 16, 5: 24 * 3 // 40},
    ]


@pytest.mark.parametrize("table", TABLES)
def test_the_oracle_agrees_with_single_works(table: str) -> None:
    work, schemas = asked(2, 7), ORACLE.schemas({"t": TABLES[table]})
    single = works(work)
    found = tuple(cells_of(*pair) for pair in zip(single, memory().run(single, schemas), strict=True))
    assert plain(found) == plain(memory().grouping_sets(work, schemas))


def test_a_set_is_the_sum_of_a_larger_one() -> None:
    whole, part = plain(memory().grouping_sets(asked(2, 720, ((0, 1), (0,))), ORACLE.schemas({"t": TABLES["crowd"]})))
    for place, n in part.items():
        assert n == sum(m for p, m in whole.items() if p // len(KEYS[1].allowed or ()) == place)
