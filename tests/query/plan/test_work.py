"""The work of an engine: the weights of its docstring, computed as written, keep every unit within its cap."""

import pickle
from itertools import product
from math import isqrt
from typing import Any

import numpy as np
import pytest

from discreet.query.lower.bounding import SCALE, Noise, row_reach, rows
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import Scan
from discreet.query.plan.schema import Caps
from discreet.query.plan.work import ClippedSum, Exact, Form, Total, TotalsWork, UnitClasses, Weights


def weights_of(counts: tuple[int, ...], given: Weights) -> list[int]:
    """W_uk of one unit with so many rows in each group, as the docstring of ``work.py`` says."""
    scale, cap = given.scale, given.cap
    if given.form is Form.ROWS:
        total = sum(counts)
        return [scale if total <= cap else scale * cap // total] * len(counts)
    assert given.per_group is not None
    kept = [min(n, given.per_group) for n in counts]
    size = sum(kept) if given.form is Form.L1 else sum(c * c for c in kept)
    unit = scale
    if size > cap:
        unit = scale * cap // size if given.form is Form.L1 else isqrt(scale * scale * cap // size)
    return [unit if n <= given.per_group else unit * given.per_group // n for n in counts]


CAPS = [
    Caps(max_rows=most, max_groups=groups, max_rows_per_group=each)
    for most, groups, each in product((None, 1, 3), (None, 1, 2), (None, 1, 2))
]


@pytest.mark.parametrize("noise", Noise)
@pytest.mark.parametrize("caps", CAPS, ids=str)
def test_no_unit_weighs_more_than_its_cap_allows(caps: Caps, noise: Noise) -> None:
    reach = row_reach(caps, noise, grouped=True)
    scale = reach.weights.scale
    for counts in product(range(5), repeat=3):
        sums = [n * w for n, w in zip(counts, weights_of(counts, reach.weights), strict=True)]
        assert sum(s * s for s in sums) <= scale * scale * reach.l2_squared
        if noise is Noise.LAPLACE:
            assert sum(sums) <= scale * reach.l1
        if sum(counts) <= 1 <= rows(caps):
            assert sums == [n * scale for n in counts], "one row counts in full"


def test_weights_that_round_up_would_be_seen() -> None:
    given = row_reach(Caps(max_rows=3), Noise.LAPLACE, grouped=False)
    (down,) = weights_of((7,), given.weights)
    assert 7 * down <= SCALE * 3 < 7 * (down + 1)


def test_numbers_have_a_row_for_each_key() -> None:
    found = Exact(keys=(("a",), ("b",)), numbers=(np.array([1, 2]),))
    assert len(found.numbers[0]) == len(found.keys)
    with pytest.raises(AssertionError):
        Exact(keys=(("a",),), numbers=(np.array([1, 2]),))


ANY: dict[str, Any] = {"source": Scan("t"), "unit": "u", "keys": ()}
TOTAL = Total(Column("x"))


@pytest.mark.parametrize(("scale", "cap"), [(1, 0), (0, 1), (-1, 1), (1 << 20, 1 << 42), (1, 1 << 62)])
def test_weighed_totals_must_fit_into_64_bits(scale: int, cap: int) -> None:
    with pytest.raises(ValueError, match=r"2\^62"):
        TotalsWork(cells=(ClippedSum(TOTAL, 1), ClippedSum(TOTAL, cap)), scale=scale, **ANY)
    assert TotalsWork(cells=(ClippedSum(TOTAL, (1 << 42) - 1),), scale=1 << 20, **ANY).scale == 1 << 20


@pytest.mark.parametrize("edges", [(-1,), (1, 1), (2, 1), (0, 1 << 62), tuple(range(513))], ids=lambda e: str(e)[:20])
def test_edges_ascend_within_64_bits(edges: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="edges"):
        UnitClasses(totals=(TOTAL,), edges=edges, **ANY)
    assert len(UnitClasses(totals=(TOTAL,), edges=(*range(511), (1 << 62) - 1), **ANY).edges) == 512


def test_totals_can_be_sent_to_another_process() -> None:
    for work in (
        TotalsWork(cells=(ClippedSum(TOTAL, 3),), scale=8, most_keys=2, salt="s", **ANY),
        UnitClasses(totals=(TOTAL, Total(None)), edges=(0, 5), **ANY),
    ):
        assert pickle.loads(pickle.dumps(work)) == work  # noqa: S301
