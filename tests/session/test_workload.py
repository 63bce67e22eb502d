"""Several questions for one price: what they share is released once."""

from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import BadParameter
from tests.helpers.visits import session


@pytest.mark.slow
def test_a_workload_shares_what_it_can() -> None:
    s = session()
    n = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic"
    mean = "SELECT clinic, COUNT(*) AS m, AVG(cost) AS a FROM visits GROUP BY clinic"
    together = s.workload([n, mean])
    assert together.preview(epsilon=1)[0].error("n") == together.preview(epsilon=1)[1].error("m")
    first, second = together.release(epsilon=1)
    assert first["n"] == second["m"], "released once"
    assert s.remaining == dp.Approx(9, s.remaining.delta)  # type: ignore[union-attr]


@pytest.mark.slow
def test_true_is_not_1_in_a_workload() -> None:
    """To Python they are equal: the second question was asked of the rows of the first."""
    rows = "SELECT id, CASE WHEN w > 4 THEN {} ELSE {} END AS y FROM t"
    ones = f"SELECT SUM(y) AS s FROM ({rows.format(1, 0)}) v"
    fives = f"SELECT SUM(CASE WHEN y THEN 5 ELSE 3 END) AS s FROM ({rows.format(True, False)}) v"
    for engine in (memory(), dp.engines.duckdb(threads=1)):
        t = dp.table(pa.table({"id": [1, 2, 3], "w": [4, 5, 6]}), unit="id", max_rows=1)
        s = dp.Session(t=t, budget=dp.Pure(1 << 20), engine=engine)
        for order, exact in (([ones, fives], [2, 13]), ([fives, ones], [13, 2])):
            assert [answer.value for answer in s.workload(order).release(epsilon=1 << 16)] == exact


@pytest.mark.parametrize(
    "wrong", ["SELECT COUNT(*) AS n FROM visits", session().sql("SELECT COUNT(*) FROM visits"), []]
)
def test_one_question_is_not_a_list(wrong: Any) -> None:
    """A text was read letter by letter."""
    for ask in (session().workload, session().plan):
        with pytest.raises(BadParameter, match="queries is"):
            ask(wrong)
