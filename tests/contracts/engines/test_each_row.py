"""Each row a person of its own: the numbers of the oracle on every engine, also after a join that repeats rows."""

import pytest

from discreet.errors import Unsupported
from discreet.query.engine import ChecksWork
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Filter, Join, Project, Relation, Scan
from discreet.query.plan.schema import EACH_ROW
from discreet.query.plan.work import AnyWork, Form, RowSum, UnitSum, Weights, Work, WorkKey
from tests.contracts.engines.lab import ORACLE, READ, UNIT, Lab, agree, every_engine, f
from tests.helpers import tables

ROWS: Relation = Project(Scan("t", numbered=True), ((UNIT, Column(EACH_ROW)), ("k", READ["k"]), ("x", READ["x"])))
OTHERS = Project(Scan("t"), (("k_2", READ["k"]),))
JOINED = Join(ROWS, OTHERS, (("k", "k_2"),))
KEY = WorkKey("k", Column("k"), (-1, 0, 1))
ONE_ROW = Weights(form=Form.ROWS, cap=1, scale=1 << 20)
GROUPS = Weights(form=Form.L2, cap=4, scale=1 << 20, per_group=2)
CELLS = (RowSum(Literal(1)), RowSum(Column("x")))


def works() -> list[AnyWork]:
    found: list[AnyWork] = []
    for source in (ROWS, Filter(ROWS, f("ge", Column("x"), 0)), JOINED):
        found += [
            Work(source=source, unit=UNIT, keys=keys, cells=CELLS, weights=weights)
            for keys, weights in (((), ONE_ROW), ((KEY,), ONE_ROW), ((KEY,), GROUPS))
        ]
        split = WorkKey("s", f("mod", f("abs", Column("x")), 3), None)
        found.append(Work(source=source, unit=UNIT, keys=(KEY,), cells=CELLS[:1], weights=ONE_ROW, split=split))
    once = Weights(form=Form.L1, cap=1, scale=1 << 20, per_group=1)
    found.append(Work(source=ROWS, unit=UNIT, keys=(KEY,), cells=(UnitSum(),), weights=once))
    return found


@every_engine
def test_each_row_is_a_unit(lab: Lab) -> None:
    if lab.engine.name == "mariadb":
        pytest.skip("refused there, see below")
    agree(lab, works(), {"t": tables.crowd(60)})


@every_engine
def test_a_database_that_may_number_rows_anew_refuses(lab: Lab) -> None:
    if lab.engine.name != "mariadb":
        pytest.skip("it keeps the numbers for one statement")
    assert isinstance(lab.engine, ChecksWork)
    with pytest.raises(Unsupported, match="row_number"):
        lab.engine.check(works()[:1], lab.schemas({"t": lab.tame(tables.crowd(5))}))


def test_rows_that_a_join_repeats_are_weighed_down_together() -> None:
    (whole,) = ORACLE.run([works()[0]], {"t": tables.crowd(60)})
    (joined,) = ORACLE.run([works()[8]], {"t": tables.crowd(60)})
    assert joined[()][0] <= whole[()][0]
