"""Exact marginals: against plain loops, and moved by one unit no further than stated, over all small tables."""

from collections import Counter
from datetime import date
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from discreet.errors import BadData, BadParameter
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.source import MarginalSource, Rows, as_arrow, kept_rows, rows_of

DOMAIN = Domain({"x": whole(0, 1, nullable=False), "y": whole(0, 1, nullable=False)})
CLIQUES = [(), (0,), (1,), (0, 1)]


def test_marginals_by_hand() -> None:
    rows = Rows(DOMAIN, np.array([[0, 1], [1, 1], [1, 1], [5, 0], [0, -1]]))
    nothing, x, y, both = rows.marginals(CLIQUES)
    assert (nothing.tolist(), x.tolist(), y.tolist(), both.tolist()) == (3, [1, 2], [0, 3], [[0, 1], [0, 2]])
    assert isinstance(rows, MarginalSource)


def tables() -> list[list[tuple[int, int]]]:
    """All tables of up to two units and three rows of (unit, x), y = 0."""
    rows = list(product((1, 2), (0, 1)))
    return [list(t) for n in range(4) for t in product(rows, repeat=n)]


def moved(cap: int, keep: Any) -> int:
    """The furthest that a marginal moves in L1 when one unit goes, over all small tables."""
    worst = 0
    for table in tables():
        for gone in (1, 2):
            full, less = (marginals(t, cap, keep) for t in (table, [row for row in table if row[0] != gone]))
            worst = max(worst, *(int(np.abs(a - b).sum()) for a, b in zip(full, less, strict=True)))
    return worst


def marginals(table: list[tuple[int, int]], cap: int, keep: Any) -> list[NDArray[np.int64]]:
    owner = np.array([u for u, _ in table], dtype=np.int64)
    codes = np.array([[x, 0] for _, x in table], dtype=np.int64).reshape(-1, 2)
    return Rows(DOMAIN, codes[keep(owner, codes, cap)], max_rows=cap).marginals(CLIQUES)


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_one_unit_moves_a_marginal_no_further_than_stated(cap: int) -> None:
    assert moved(cap, kept_rows) == Rows(DOMAIN, np.zeros((0, 2), dtype=int), max_rows=cap).moves((0,)).l1 == cap


def test_a_cap_on_the_table_in_place_of_the_unit_is_seen() -> None:
    def first(owner: Any, codes: Any, cap: int) -> Any:
        del codes
        return np.arange(min(len(owner), 2 * cap))

    assert moved(1, first) > 1  # who leaves makes room for another


def test_which_rows_are_kept_does_not_depend_on_their_order_or_on_others() -> None:
    table = {"id": [1, 1, 1, 2, 2, 3], "x": [0, 1, 1, 0, 0, 1], "y": [0, 0, 1, 1, 0, 0]}
    frame = pl.DataFrame(table)

    def kept(given: Any) -> Counter[Any]:
        (counts,) = rows_of(given, DOMAIN, unit="id", max_rows=1).marginals([(0, 1)])
        return Counter({tuple(c): int(counts[tuple(c)]) for c in np.argwhere(counts)})

    assert kept(frame) == kept(frame.reverse()) == kept(frame.sample(fraction=1.0, shuffle=True))
    assert kept(frame.filter(pl.col("id") != 2)) <= kept(frame)


def test_every_kind_of_table() -> None:
    data = {"x": [0, 1, 1], "y": [1, 1, 0]}
    for table in (data, pa.table(data), pl.DataFrame(data), pd.DataFrame(data), pa.table(data).to_batches()[0]):
        assert rows_of(table, DOMAIN).marginals([(0,)])[0].tolist() == [1, 2]
    with pytest.raises(BadParameter):
        as_arrow([1, 2])
    with pytest.raises(BadData):
        as_arrow({"x": [1, "a"]})


@pytest.mark.parametrize(
    "options",
    [
        {"max_rows": 2}, {"unit": "nobody"}, {"unit": "x"}, {"unit": "id", "max_rows": 0},
        {"unit": "id", "max_rows": 1 << 20},
    ],
)  # fmt: skip
def test_bad_units(options: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        rows_of({"id": [1], "x": [0], "y": [0]}, DOMAIN, **options)


def test_units_are_whole_numbers_or_text() -> None:
    for wrong in (True, b"a", date(2026, 11, 18)):
        with pytest.raises(BadData):
            rows_of({"id": [wrong], "x": [0], "y": [0]}, DOMAIN, unit="id")
    half = rows_of({"id": [0.5, 7.0, 7.0], "x": [0, 1, 1], "y": [0, 0, 0]}, DOMAIN, unit="id")
    assert half.marginals([(0,)])[0].tolist() == [0, 1]
    nobody = rows_of({"id": [None, "a"], "x": [0, 1], "y": [0, 0]}, DOMAIN, unit="id")
    assert nobody.marginals([(0,)])[0].tolist() == [0, 1]
    with pytest.raises(BadData):
        Rows(DOMAIN, np.zeros((3, 3), dtype=int))
