"""UNNEST: each element of a list in a row of its unit, the same on every engine; and no unit reaches farther for it."""

from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Elements, Project, Relation, Scan
from discreet.query.plan.schema import EACH_ROW
from discreet.query.plan.work import (
    AnyWork,
    ClippedSum,
    Form,
    RowSum,
    Total,
    TotalsWork,
    UnitSum,
    Weights,
    Work,
    WorkKey,
)
from tests.contracts.engines.lab import ORACLE, READ, UNIT, Lab, agree, every_storage, f
from tests.contracts.engines.random_works import Asked
from tests.contracts.engines.test_sensitivity import refutations

TEXTS = [["a", "b"], [], None, ["a", "a", "é"], [None, "a "], [""], ["A", "it's", "b\\"]]
NUMBERS = [[1, -2], [7], [], None, [None, 3, 3], [2**62, -(2**62)], [0]]
LISTS = pa.table(
    {
        "u": pa.array([1, 1, 2, 2, 3, None, 3], pa.int64()),
        "texts": pa.array(TEXTS, pa.list_(pa.string())),
        "numbers": pa.array(NUMBERS, pa.list_(pa.int64())),
    }
)
TEXT, NUMBER = f("read_text", Column("#element0")), f("read_integer", Column("#element1"), -5, 5)


def rows(*, outer: bool = False, numbered: bool = False) -> Relation:
    """The elements of both lists, each with each."""
    lists = (Elements("texts", "#element0", outer), Elements("numbers", "#element1", outer))
    unit = Column(EACH_ROW) if numbered else READ["u"]
    return Project(Scan("t", numbered, lists), ((UNIT, unit), ("text", TEXT), ("x", NUMBER)))


def works() -> list[AnyWork]:
    keys = (WorkKey("text", Column("text"), ("a", "é", "A", "", None)),)
    cells = (RowSum(Literal(1)), RowSum(Column("x")))
    made: list[AnyWork] = []
    for source in (rows(), rows(outer=True), rows(numbered=True)):
        base: dict[str, Any] = {"source": source, "unit": UNIT}
        made += [
            Work(keys=(), cells=cells, weights=Weights(form=Form.ROWS, cap=3, scale=1 << 20), **base),
            Work(keys=keys, cells=cells, weights=Weights(form=Form.L2, cap=4, scale=1 << 20, per_group=2), **base),
            Work(keys=keys, cells=(UnitSum(),), weights=Weights(form=Form.L1, cap=2, scale=1 << 20, per_group=1),
                 **base),
            TotalsWork(keys=keys, cells=(ClippedSum(Total(Literal(1)), 2),), scale=1 << 20, **base),
        ]  # fmt: skip
    return made


@pytest.mark.slow
@every_storage
def test_elements_are_those_of_the_oracle(lab: Lab) -> None:
    if lab.engine.name == "mariadb":
        pytest.skip("it stores no lists")
    agree(lab, works(), {"t": LISTS})


def test_each_element_is_a_row_of_its_unit() -> None:
    plain, outer = (
        ORACLE.run([Work(source=source, unit=UNIT, keys=(), cells=(RowSum(Literal(1)),), weights=ALL)], {"t": LISTS})
        for source in (rows(), rows(outer=True))
    )
    inner_rows = sum(len(a or ()) * len(b or ()) for a, b in zip(TEXTS, NUMBERS, strict=True) if a is not TEXTS[5])
    outer_rows = sum(len(a or [0]) * len(b or [0]) for a, b in zip(TEXTS, NUMBERS, strict=True) if a is not TEXTS[5])
    assert plain[0][()][0] == inner_rows
    assert outer[0][()][0] == outer_rows


ALL = Weights(form=Form.ROWS, cap=1000, scale=1)


def test_no_unit_reaches_farther_by_its_lists() -> None:
    """Every table of two units with lists of up to three elements, whose rows multiply: the caps hold after UNNEST."""
    some = [None, [], ["a"], ["a", "a", "b"], ["b", "a"]]
    asked = [Asked(work, (1, 5)[: len(getattr(work, "cells", (0,)))]) for work in works()[:4]]
    for first, second, third in product(some, repeat=3):
        table = pa.table(
            {
                "u": pa.array([1, 1, 2], pa.int64()),
                "texts": pa.array([first, second, third], pa.list_(pa.string())),
                "numbers": pa.array([[5, 5, -5], [1], [5, 5]], pa.list_(pa.int64())),
            }
        )
        assert not refutations(ORACLE, asked, table, "u")


def test_a_cap_that_looked_at_the_stored_rows_would_be_refuted() -> None:
    """The planted bug: the lists are taken apart after the weights were counted, so that rows keep a weight of 1."""
    loose = Weights(form=Form.ROWS, cap=1000, scale=1 << 20)
    honest = Asked(Work(source=rows(), unit=UNIT, keys=(), cells=(RowSum(Literal(1)),), weights=loose), (1,))
    assert not refutations(ORACLE, [honest], LISTS, "u")
    claimed = Weights(form=Form.ROWS, cap=3, scale=1 << 20)
    before = ORACLE.run([honest.work], {"t": LISTS})[0][()][0]
    after = ORACLE.run([honest.work], {"t": LISTS.slice(4)})[0][()][0]
    assert before - after > claimed.scale * claimed.cap
