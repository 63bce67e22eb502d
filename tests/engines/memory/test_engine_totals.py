"""Totals of units in the oracle: by hand, against the definition written out, and for all small neighbours."""

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import pyarrow as pa
import pytest

from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Project, Scan
from discreet.query.plan.work import AnyWork, ClippedSum, Total, TotalsWork, UnitClasses, WorkKey
from tests.contracts.engines.faults import REACHING_TOO_FAR, Faulty
from tests.contracts.engines.lab import ORACLE, UNIT, Lab

Row = tuple[int | None, str | None, int | None]
SOURCE = Project(Scan("t"), ((UNIT, Column("u")), ("g", Column("g")), ("x", Column("x"))))
G = WorkKey("g", Column("g"), None)
X, PRESENT, ROWS = Total(Column("x")), Total(None), Total(Literal(1))


def clipped(*cells: ClippedSum, scale: int = 100, **more: Any) -> TotalsWork:
    return TotalsWork(source=SOURCE, unit=UNIT, cells=cells, scale=scale, **{"keys": (G,), **more})


def classes(*totals: Total, edges: tuple[int, ...], **more: Any) -> UnitClasses:
    return UnitClasses(source=SOURCE, unit=UNIT, totals=totals, edges=edges, **{"keys": (G,), **more})


def run(work: AnyWork, rows: list[Row], lab: Lab = ORACLE) -> dict[tuple[Any, ...], tuple[int, ...]]:
    columns = zip(*rows, strict=True) if rows else [(), (), ()]
    kinds = {"u": pa.int64(), "g": pa.string(), "x": pa.int64()}
    table = pa.table([pa.array(c, k) for c, k in zip(columns, kinds.values(), strict=True)], names=list(kinds))
    (found,) = lab.run([work], {"t": table})
    return {tuple(value for _, value in key): numbers for key, numbers in found.items()}


# --- by hand ----------------------------------------------------------------------------------------------------------

PEOPLE: list[Row] = [
    (1, "a", 5), (1, "a", -7), (1, "b", 8),  # 2 in a with a sign, 8 in b: its length is 10
    (2, "a", 3), (2, "b", None),  # 3, and 0 where nothing is known
    (3, "b", 4), (3, "b", -4),  # nothing, in one group
    (None, "a", 1000), (4, None, 1),
]  # fmt: skip


def test_a_unit_is_scaled_down_to_its_cap() -> None:
    # unit 1 weighs 100 * 4 // 10 = 40, the others 100
    assert run(clipped(ClippedSum(X, 4)), PEOPLE) == {("a",): (-80 + 300,), ("b",): (320,), (None,): (100,)}


def test_presence_and_rows() -> None:
    # cap 1: presence of unit 1 and 2 in two groups weighs 50 each; unit 1 has three rows, so each weighs 33
    found = run(clipped(ClippedSum(PRESENT, 1), ClippedSum(ROWS, 1)), PEOPLE)
    assert found == {("a",): (100, 66 + 50), ("b",): (200, 33 + 50 + 100), (None,): (100, 100)}


def test_listed_keys_come_first() -> None:
    key = WorkKey("g", Column("g"), ("b", "c"))  # unit 1 is short then: only b is left
    assert run(clipped(ClippedSum(X, 8), keys=(key,)), PEOPLE) == {("b",): (800,)}
    assert run(classes(X, edges=(0, 7), keys=(key,)), PEOPLE) == {(0, 0): (2,), (0, 2): (1,)}


def test_a_unit_is_in_one_class_of_each_total() -> None:
    # lengths: 10, 3, 0, 1 of x; 2, 2, 1, 1 groups; an edge itself is below
    found = run(classes(X, PRESENT, edges=(0, 1, 3)), PEOPLE)
    assert found == {(0, 3): (1,), (0, 2): (1,), (0, 0): (1,), (0, 1): (1,), (1, 1): (2,), (1, 2): (2,)}


def test_without_edges_there_is_one_class() -> None:
    assert run(classes(X, edges=()), PEOPLE) == {(0, 0): (4,)}
    assert run(classes(X, edges=()), []) == {}
    assert run(classes(X, edges=()), [(None, "a", 1)]) == {}


def test_without_keys_a_unit_has_one_number() -> None:
    assert run(clipped(ClippedSum(X, 3), keys=()), PEOPLE) == {(): (100 * 3 // 6 * 6 + 300 + 0 + 100,)}
    assert run(clipped(ClippedSum(X, 3), keys=()), []) == {}


def test_the_keys_of_a_unit_are_those_that_every_work_keeps() -> None:
    rows: list[Row] = [(1, key, 1) for key in "abcdefgh"]
    kept = {salt: run(clipped(ClippedSum(X, 9), most_keys=3, salt=salt), rows) for salt in "st"}
    assert all(len(found) == 3 for found in kept.values())
    assert kept["s"] != kept["t"]
    assert run(classes(X, edges=(2, 3), most_keys=3, salt="s"), rows) == {(0, 1): (1,)}


# --- the definition, written out --------------------------------------------------------------------------------------


def defined(work: TotalsWork | UnitClasses, rows: list[Row]) -> dict[tuple[Any, ...], tuple[int, ...]]:
    """The words of work.py, without ``most_keys``: every sum is one over all rows."""
    units = {u for u, _, _ in rows if u is not None}
    groups = {(g,) for u, g, _ in rows if u is not None} if work.keys else {()} if units else set()

    def number(total: Total, unit: int, group: tuple[Any, ...]) -> int:
        mine = [x for u, g, x in rows if u == unit and group in ((), (g,))]
        if total == X:
            return sum(x for x in mine if x is not None)
        return len(mine) if total == ROWS else int(len(mine) > 0)

    def length(total: Total, unit: int) -> int:
        return sum(abs(number(total, unit, group)) for group in groups)

    if isinstance(work, UnitClasses):
        found: dict[tuple[Any, ...], tuple[int, ...]] = {}
        for (place, total), unit in product(enumerate(work.totals), units):
            at = place, len([edge for edge in work.edges if edge < length(total, unit)])
            found[at] = (found.get(at, (0,))[0] + 1,)
        return found

    def weight(cell: ClippedSum, unit: int) -> int:
        t = length(cell.total, unit)
        return work.scale if t <= cell.cap else work.scale * cell.cap // t

    return {
        group: tuple(sum(weight(c, u) * number(c.total, u, group) for u in units) for c in work.cells)
        for group in groups
    }


VALUES = (None, 0, 1, -1, 3, -(1 << 62))
WORKS: list[TotalsWork | UnitClasses] = [
    clipped(ClippedSum(X, 2), ClippedSum(PRESENT, 1), ClippedSum(ROWS, 1), ClippedSum(X, 1), scale=scale, keys=keys)
    for scale in (1, 7)
    for keys in ((), (G,))
] + [classes(X, PRESENT, ROWS, X, edges=(0, 1, 2, 1 << 61), keys=keys) for keys in ((), (G,))]
POOL: list[Row] = [(u, g, x) for u in (1, None) for g in ("a", "b") for x in VALUES]


def small_units() -> Iterator[list[Row]]:
    """All sets of at most three rows of one unit: signs, zeros, NULL, extremes, two groups; and rows of nobody."""
    for size in range(4):
        yield from (list(rows) for rows in combinations(POOL, size))


OTHERS: list[Row] = [(2, "a", 2), (2, "c", -1), (3, "b", None)]


@pytest.mark.slow
@pytest.mark.parametrize("work", WORKS, ids=range(len(WORKS)))
def test_the_oracle_follows_the_definition(work: TotalsWork | UnitClasses) -> None:
    for rows in list(small_units())[::3]:
        assert run(work, rows + OTHERS) == defined(work, rows + OTHERS), rows


# --- neighbours -------------------------------------------------------------------------------------------------------


def moved(work: TotalsWork | UnitClasses, before: dict[Any, Any], after: dict[Any, Any], place: int) -> int:
    """By how much one vector moves in L1: that of a cell, or the classes of a total."""
    vectors = []
    for found in (before, after):
        if isinstance(work, UnitClasses):
            vectors.append({key: numbers[0] for key, numbers in found.items() if key[0] == place})
        else:
            vectors.append({key: numbers[place] for key, numbers in found.items()})
    old, new = vectors
    return sum(abs(new.get(key, 0) - old.get(key, 0)) for key in old.keys() | new.keys())


def claims(work: TotalsWork | UnitClasses) -> list[int]:
    """How far a unit moves each vector, when it is added or removed."""
    return [1] * len(work.totals) if isinstance(work, UnitClasses) else [work.scale * c.cap for c in work.cells]


def refuted(lab: Lab, work: TotalsWork | UnitClasses, units: list[list[Row]]) -> bool:
    """Whether some unit moves a vector by more than its claim, or by more than twice of it when it changes."""
    without = run(work, OTHERS, lab)
    answers = [run(work, [*rows, *OTHERS], lab) for rows in units]
    for place, claim in enumerate(claims(work)):
        if any(moved(work, without, one, place) > claim for one in answers):
            return True
        step = max(1, len(answers) // 60)
        pairs = product(answers[::step], answers[::step])
        if any(moved(work, one, other, place) > 2 * claim for one, other in pairs):
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("work", WORKS, ids=range(len(WORKS)))
def test_no_unit_moves_a_vector_farther_than_claimed(work: TotalsWork | UnitClasses) -> None:
    assert not refuted(ORACLE, work, list(small_units())[::2])


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    ["clipped weights rounded up", "no clipping", "lengths after numbers were cut", "lengths by group",
     "lengths with signs", "NULL is a unit"],
)  # fmt: skip
def test_a_planted_fault_is_caught(fault: str) -> None:
    lab = Lab(Faulty(REACHING_TOO_FAR[fault]))
    assert any(refuted(lab, work, list(small_units())[::5]) for work in WORKS)


def test_the_bound_is_reached() -> None:
    work = clipped(ClippedSum(X, 3), scale=4)
    assert moved(work, run(work, []), run(work, [(1, "a", 2), (1, "b", -2)]), 0) == 12
    assert moved(work, run(work, [(1, "a", 3)]), run(work, [(1, "a", -3)]), 0) == 24
