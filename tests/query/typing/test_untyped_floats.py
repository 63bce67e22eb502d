"""Floats of which nothing is declared can be compared, computed with and summed, the same on every engine."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory

CHOSEN_CAPS = True
ODD = [0.0, -0.0, 1.5, -2.25, 1e-9, 1e300, -1e300, float("inf"), float("-inf"), float("nan"), None, 2.0**40, 7.0]
ROWS = pa.table({"id": range(len(ODD)), "x": pa.array(ODD, pa.float64()), "k": [3] * len(ODD)})


@pytest.mark.parametrize(("where", "rows"), [
    ("x > 0", 5), ("x >= 7", 4), ("x = 7", 1), ("x < k", 7), ("x + 1 > 2", 5), ("x / 2 > 1", 4), ("ABS(x) > 2", 7),
    ("x IS NULL", 2), ("-x > 2", 3), ("CASE WHEN k = 3 THEN x ELSE 0 END > 1", 5),
])  # fmt: skip
def test_conditions_see_the_value_to_a_millionth(where: str, rows: int) -> None:
    """Counts are exact but for noise, which at this epsilon is 0 but for a chance below 1e-100."""
    for engine in (None, memory()):
        table = dp.table(ROWS, unit="id", max_rows=1)
        own = dp.Session(t=table, budget=dp.Pure(10**6), engine=engine)
        assert own.sql(f"SELECT COUNT(*) AS n FROM t WHERE {where}").release(epsilon=10**5)["n"] == [rows], where


def test_a_clamped_float_is_as_fine_as_its_bounds() -> None:
    tiny = pa.table({"id": range(1000), "x": np.full(1000, 3e-9)})
    own = dp.Session(t=dp.table(tiny, unit="id", max_rows=1), budget=dp.Pure(10**6))
    (mean,) = own.sql("SELECT AVG(CLAMP(x, 0, 1e-8)) AS m FROM t").release(epsilon=10**5)["m"]
    assert mean == pytest.approx(3e-9, rel=1e-3)


def test_products_of_undeclared_numbers_are_refused_by_name_for_nothing() -> None:
    own = dp.Session(t=dp.table(ROWS, unit="id"), budget=dp.Pure(1))
    with pytest.raises(dp.errors.BadQuestion, match="needs a number with bounds"):
        own.sql("SELECT SUM(x * k) AS s FROM t")
    assert own.remaining == dp.Pure(1)
