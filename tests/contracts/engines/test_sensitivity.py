"""How far one unit reaches, measured: the sums with it and without it differ by what is claimed, at most."""

from collections.abc import Iterator, Mapping, Sequence
from math import isqrt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.query.lower.bounding import Noise, Reach, row_reach, unit_reach
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.schema import Caps
from discreet.query.plan.work import (
    AnyWork,
    Cell,
    DistinctWork,
    Form,
    RowSum,
    TotalsWork,
    UnitClasses,
    UnitSum,
    Weights,
    Work,
    WorkKey,
)
from tests.contracts.engines import forms
from tests.contracts.engines.faults import REACHING_TOO_FAR, Faulty
from tests.contracts.engines.lab import ORACLE, UNIT, Lab, Numbers, every_engine, every_quick_engine, f
from tests.contracts.engines.random_works import Asked, tables, works
from tests.helpers.tables import crowd, events, places

Tables = Mapping[str, pa.Table]
PLACES = places()
BOUND = 5
CELLS: tuple[Cell, ...] = (RowSum(Literal(1)), RowSum(f("read_integer", Column("x"), -BOUND, BOUND)))


def neighbours(table: pa.Table, column: str) -> Iterator[tuple[bool, pa.Table]]:
    """For each unit, whether it is NULL, and the table without its rows."""
    units = table.column(column).to_pylist()
    for unit in dict.fromkeys(units):
        yield unit is None, table.filter(pa.array([other != unit for other in units], pa.bool_()))


def moved(before: Numbers, after: Numbers, cell: int) -> list[int]:
    """By how much each sum of a cell differs."""
    keys = before.keys() | after.keys()
    return [
        before[k][cell] if k not in after else after[k][cell] - (before[k][cell] if k in before else 0) for k in keys
    ]


def too_far(asked: Asked, before: Numbers, after: Numbers) -> list[str]:
    """What is claimed of one unit, and not true of these two answers."""
    work, found = asked.work, []
    for cell, bound in enumerate(asked.bounds):
        change = moved(before, after, cell)
        l1, l2_squared, most = sum(map(abs, change)), sum(d * d for d in change), max(map(abs, change), default=0)
        if isinstance(work, DistinctWork):
            claims = {"values": (l1, work.cap)}
        elif isinstance(work, TotalsWork):
            claims = {"length": (l1, work.scale * work.cells[cell].cap)}
        elif isinstance(work, UnitClasses):
            claims = {"units": (l1, len(work.totals)), "one class": (most, len(work.totals))}
        else:
            w = work.weights
            full = w.scale * bound
            claims = {"L1": (l1, full * w.cap)} if w.form is not Form.L2 else {"L2": (l2_squared, full**2 * w.cap)}
            if w.per_group is not None:
                claims["one group"] = most, full * w.per_group
        found += [f"cell {cell}: {name}" for name, (is_, may) in claims.items() if is_ > may]
    one_row_a_group = isinstance(work, TotalsWork) or (isinstance(work, Work) and work.split is None)
    if isinstance(work, Work | TotalsWork) and work.most_keys is not None and one_row_a_group:
        touched = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
        found += ["keys"] if len(touched) > work.most_keys else []
    return found


def refutations(lab: Lab, asked: Sequence[Asked], table: pa.Table, unit: str) -> list[str]:
    """All claims that some neighbour refutes."""
    found = []
    before = lab.run([one.work for one in asked], {"t": table, "p": PLACES})
    for is_null, without in neighbours(table, unit):
        after = lab.run([one.work for one in asked], {"t": without, "p": PLACES})
        for one, x, y in zip(asked, before, after, strict=True):
            found += ["NULL"] if is_null and x != y else too_far(one, x, y)
    return found


def every_form(unit: str) -> list[Asked]:
    """Each bounding with known keys, keys by hash, a split, and no key; and counts of different values."""
    found: list[AnyWork] = []
    for n, weights in enumerate(forms.BOUNDING):
        counts_units = weights.per_group == 1
        cells = (*CELLS, UnitSum()) if counts_units else CELLS
        base = {"source": forms.source(unit), "unit": UNIT, "weights": weights}
        found.append(Work(keys=forms.KNOWN["text"], cells=cells, **base))  # type: ignore[arg-type]
        found.append(Work(keys=forms.UNKNOWN["integers"], cells=cells, most_keys=2, salt=f"s{n}", **base))  # type: ignore[arg-type]
        found.append(Work(keys=(), cells=CELLS, split=forms.SPLITS[0], **base))  # type: ignore[arg-type]
    found += [
        DistinctWork(source=forms.source(unit), unit=UNIT, keys=keys, value=Column("k"), cap=cap, salt="s")
        for keys in (forms.KNOWN["no key"], forms.KNOWN["truth"])
        for cap in (1, 3)
    ]
    for n in range(len(forms.CAPS)):
        for keys, kept in ((forms.KNOWN["text"], None), (forms.UNKNOWN["integers"], 2), ((), None)):
            found.append(forms.clipped(keys, n, unit=unit, most_keys=kept, salt=f"s{n}"))
            found.append(forms.classes(keys, n, unit=unit, most_keys=kept, salt=f"s{n}"))
    return [Asked(work, _bounds(work)) for work in found]


def _bounds(work: AnyWork) -> tuple[int, ...]:
    if isinstance(work, TotalsWork):
        return (1,) * len(work.cells)
    return (1, BOUND, 1)[: len(work.cells)] if isinstance(work, Work) else (1,)


def crowded() -> pa.Table:
    """Two units that look alike, one of them with most of the rows; a few others; some rows of nobody."""
    rows: list[tuple[Any, ...]] = [(7, "7", "a", n % 5, 5, None, None, n % 2 == 0) for n in range(17)]
    rows += [(-7, "07", "A", 10 + n % 2, -5, None, None, None) for n in range(3)]
    rows += [(8, "a", ("a", "A", "\u00e9")[n % 3], n - 3, None, None, None, True) for n in range(7)]
    rows += [(None, None, "a", n, 3, None, None, False) for n in range(3)]
    return events(rows)


CROWDED = crowded()


@pytest.mark.slow
@every_engine
@pytest.mark.parametrize("unit", ["u", "name"])
def test_no_unit_reaches_farther_than_claimed(lab: Lab, unit: str) -> None:
    assert not refutations(lab, lab.some(every_form(unit)), CROWDED, unit)


@pytest.mark.slow
@pytest.mark.parametrize("fault", REACHING_TOO_FAR)
def test_a_planted_fault_is_caught(fault: str) -> None:
    lab = Lab(Faulty(REACHING_TOO_FAR[fault]))
    assert any(refutations(lab, every_form(unit), CROWDED, unit) for unit in ("u", "name"))


@pytest.mark.slow
@every_quick_engine
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(table=tables(most=10), asked=st.lists(works(), min_size=1, max_size=3))
def test_a_search_for_a_unit_that_reaches_too_far(lab: Lab, table: pa.Table, asked: list[Asked]) -> None:
    by_unit = {unit: [one for one in asked if reads(one.work, unit)] for unit in ("u", "name")}
    for unit, ones in by_unit.items():
        if ones:
            assert not refutations(lab, ones, table, unit)


def reads(work: AnyWork, unit: str) -> bool:
    """Whether this column is the unit of the work."""
    return f"('{UNIT}', Call(function='read_" in repr(work.source) and f"Column(name='{unit}')" in repr(work.source)


@pytest.mark.parametrize("noise", Noise)
@pytest.mark.parametrize(
    "caps",
    [
        Caps(),
        Caps(max_rows=3),
        Caps(max_rows=4, max_groups=2),
        Caps(max_rows=6, max_groups=2, max_rows_per_group=2),
        Caps(max_rows=100, max_groups=3, max_rows_per_group=1),
    ],
    ids=str,
)
def test_the_reach_that_the_planner_names_is_true(caps: Caps, noise: Noise) -> None:
    asked: list[tuple[Reach, tuple[WorkKey, ...], Cell]] = []
    for grouped, keys in ((True, forms.UNKNOWN["text"]), (True, forms.UNKNOWN["integers"]), (False, ())):
        rows, units = row_reach(caps, noise, grouped=grouped), unit_reach(caps, noise, grouped=grouped)
        asked += [(rows, keys, RowSum(Literal(1))), (units, keys, UnitSum())]
    works = [
        Work(source=forms.source(), unit=UNIT, keys=keys, cells=(cell,), weights=reach.weights)
        for reach, keys, cell in asked
    ]
    for table in (CROWDED, crowd(60)):
        before = ORACLE.run(works, {"t": table})
        for _, without in neighbours(table, "u"):
            for (reach, _, _), x, y in zip(asked, before, ORACLE.run(works, {"t": without}), strict=True):
                change, scale = moved(x, y, 0), reach.weights.scale
                assert not reach.l1 or sum(map(abs, change)) <= scale * reach.l1
                assert sum(d * d for d in change) <= scale**2 * reach.l2_squared


def test_the_bounds_are_reached() -> None:
    # a check that cannot fail would pass too: the heavy unit comes within one weight of what is claimed
    weights = Weights(form=Form.L2, cap=2, scale=1 << 20, per_group=1)
    work = Work(source=forms.source(), unit=UNIT, keys=forms.UNKNOWN["integers"], cells=(UnitSum(),), weights=weights)
    (before,) = ORACLE.run([work], {"t": CROWDED})
    reached = max(
        sum(d * d for d in moved(before, ORACLE.run([work], {"t": without})[0], 0))
        for _, without in neighbours(CROWDED, "u")
    )
    assert isqrt(2 << 40) - 8 <= isqrt(reached) <= isqrt(2 << 40)
