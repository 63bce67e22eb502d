"""Works of every form over the tables of events: bounding x cells x keys x splits, and counts of different values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Relation
from discreet.query.plan.work import (
    AnyWork,
    Cell,
    ClippedSum,
    DistinctWork,
    Form,
    RowSum,
    Total,
    TotalsWork,
    UnitClasses,
    UnitSum,
    Weights,
    Work,
    WorkKey,
)
from tests.contracts.engines.lab import UNIT, f, reading
from tests.helpers.tables import DATES, MOMENTS

SALTS = ("", "salt", "0|'\u00e9\\")
BOUNDING = (
    Weights(form=Form.ROWS, cap=1, scale=1),
    Weights(form=Form.ROWS, cap=3, scale=1000),
    Weights(form=Form.ROWS, cap=65536, scale=1 << 40),
    Weights(form=Form.ROWS, cap=10, scale=7),
    Weights(form=Form.L1, cap=1, scale=1, per_group=1),
    Weights(form=Form.L1, cap=2, scale=720, per_group=1),
    Weights(form=Form.L1, cap=5, scale=1 << 20, per_group=3),
    Weights(form=Form.L1, cap=4, scale=11, per_group=65536),
    Weights(form=Form.L2, cap=1, scale=1, per_group=1),
    Weights(form=Form.L2, cap=2, scale=1 << 20, per_group=1),
    Weights(form=Form.L2, cap=7, scale=997, per_group=2),
    Weights(form=Form.L2, cap=20, scale=(1 << 23), per_group=5),
    Weights(form=Form.L2, cap=65536, scale=1 << 17, per_group=256),
)
ONE = RowSum(Literal(1))
X = RowSum(Column("x"))
REST = RowSum(f("sub", 1 << 40, Column("x")))
"""The other side of X, which engines may work out from it; where x is NULL, it is 0 as well."""
REST_OF_REST = RowSum(f("sub", 1 << 41, f("sub", 1 << 40, Column("x"))))
ROWS: tuple[Cell, ...] = (ONE, X, RowSum(f("mul", f("sign", Column("x")), Column("k"))), REST, REST_OF_REST)


def key(name: str, *allowed: object) -> WorkKey:
    """A key by its column, with public values if any are given."""
    return WorkKey(name, Column(name), tuple(allowed) if allowed else None)  # type: ignore[arg-type]


KNOWN: dict[str, tuple[WorkKey, ...]] = {
    "no key": (),
    "text": (key("g", "a", "A", "\u00e9", "nobody", "';--"),),
    "text with NULL": (key("g", "a", None, "", "a|b"),),
    "only NULL": (key("g", None),),
    "integers": (key("k", -3, 0, 1, 1 << 62, 5),),
    "truth": (key("b", False, True),),
    "truth with NULL": (key("b", True, None),),
    "days": (key("d", *[day for day in DATES[::3] if day is not None]),),
    "days with NULL": (key("d", *DATES[::4], None),),
    "moments": (key("m", *MOMENTS[::2], None),),
    "text and integers": (key("g", "a", "a ", None), key("k", 0, 1, -1)),
    "an expression": (WorkKey("e", f("mod", Column("k"), 2), (0, 1, -1, None)),),
}
UNKNOWN: dict[str, tuple[WorkKey, ...]] = {
    "text": (key("g"),),
    "integers": (key("k"),),
    "truth": (key("b"),),
    "days": (key("d"),),
    "moments": (key("m"),),
    "text and truth": (key("g"), key("b")),
    "text twice": (key("g"), WorkKey("h", f("substring", Column("g"), 2, 5), None)),
    "a known and an unknown": (key("b", True, False), key("g")),
    "everything": (key("g"), key("k"), key("d"), key("m"), key("b")),
}
SPLITS: tuple[WorkKey, ...] = (key("k", 0, 1, 2, 3), key("x"), key("b", True), key("g"))


@cache
def source(unit: str = "u") -> Relation:
    """The events with one of their two units."""
    return reading("t", unit, "id", "g", "k", "x", "d", "m", "b")


def cells_of(keys: tuple[WorkKey, ...], weights: Weights) -> tuple[Cell, ...]:
    """All cells that are allowed with these keys and weights."""
    counts_units = weights.per_group == 1 or (weights.form is Form.ROWS and not keys)
    return (*ROWS, UnitSum()) if counts_units else ROWS


def sums(keys: tuple[WorkKey, ...], weights: Weights, *, unit: str = "u", most_keys: int | None = None, salt: str = "",
         split: WorkKey | None = None) -> Work:  # fmt: skip
    """A work with all cells that its bounding allows."""
    cells = cells_of(keys, weights) if split is None else ROWS
    return Work(source=source(unit), unit=UNIT, keys=keys, cells=cells, weights=weights, most_keys=most_keys, salt=salt,
                split=split)  # fmt: skip


def known(name: str) -> Iterator[AnyWork]:
    """Works with public keys."""
    for n, weights in enumerate(BOUNDING):
        yield sums(KNOWN[name], weights, unit=("u", "name")[(n + len(name)) % 2])


def unknown(name: str) -> Iterator[AnyWork]:
    """Works whose keys nobody listed: all of them, and a few for each unit by hash."""
    for n, weights in enumerate(BOUNDING):
        if n % 2:
            yield sums(UNKNOWN[name], weights)
        yield sums(
            UNKNOWN[name], weights, unit=("u", "name")[n % 2], most_keys=(1, 2, 5)[n % 3], salt=SALTS[n // 2 % 3]
        )


def split(name: str) -> Iterator[AnyWork]:
    """Works whose sums are split by a key that the bounding does not see."""
    for n, weights in enumerate(BOUNDING):
        keys, by = KNOWN[name], SPLITS[n % len(SPLITS)]
        if by.name not in {k.name for k in keys}:
            most = 2 if n % 2 else None
            yield sums(keys, weights, unit=("u", "name")[n // 2 % 2], split=by, most_keys=most, salt="s")


def picked(name: str) -> Iterator[AnyWork]:
    """Works in which a unit counts under one of its splits."""
    for n, weights in enumerate(weights for weights in BOUNDING if weights.per_group == 1):
        for most, (a, b) in ((None, (1234567, 89)), (2, (2147483646, n))):
            yield Work(source=source(("u", "name")[n % 2]), unit=UNIT, keys=KNOWN[name], cells=(ONE,), weights=weights,
                       split=SPLITS[0], pick=(a, b), most_keys=most, salt="s")  # fmt: skip


def distinct(name: str) -> Iterator[AnyWork]:
    """How many different values there are, of every kind."""
    keys = (KNOWN | UNKNOWN)[name]
    values = ("g", "k", "x", "d", "m", "b", "id")
    for n, value in enumerate((*values, *reversed(values))):
        unit, cap = ("u", "name")[n // 3 % 2], (1, 3, 65536)[n % 3]
        yield DistinctWork(
            source=source(unit), unit=UNIT, keys=keys, value=Column(value), cap=cap, salt=SALTS[n % len(SALTS)]
        )


# --- totals of units --------------------------------------------------------------------------------------------------

TOTALS = (
    Total(None),
    Total(Literal(1)),
    Total(Column("x")),
    Total(Column("k")),
    Total(f("case", f("is_null", Column("g")), None, f("sign", Column("x")))),
    Total(Literal(1 << 62)),
    Total(Literal(-(2**53) - 1)),
    Total(f("read_integer", Column("x"), -(1 << 40), 1 << 40)),
)
"""Presence, rows, values of any size, values that cancel, NULL among them, sums beyond 64 bits in a few rows."""
NEVER_NEGATIVE = Total(f("read_integer", Column("x"), 0, 1 << 62))
CAPS = (1, 2, 3, 5, 100, 1 << 20, (1 << 42) - 1)
EDGES = (
    (),
    (0,),
    (0, 1, 2, 3, 5, 8, 13),
    tuple(range(512)),
    tuple(sorted({2**n - 1 for n in range(63)} | {2**53 * n for n in range(1, 9)} | {(1 << 62) - 2})),
)


def clipped(
    keys: tuple[WorkKey, ...], n: int, *, unit: str, most_keys: int | None = None, salt: str = ""
) -> TotalsWork:
    """Every total with some cap, one of them with two."""
    cells = [ClippedSum(total, CAPS[(n + i) % len(CAPS)]) for i, total in enumerate((*TOTALS, TOTALS[2]))]
    return TotalsWork(
        source=source(unit), unit=UNIT, keys=keys, cells=tuple(cells), scale=(1, 7, 1 << 20)[n % 3],
        most_keys=most_keys, salt=salt,
    )  # fmt: skip


def classes(
    keys: tuple[WorkKey, ...], n: int, *, unit: str, most_keys: int | None = None, salt: str = ""
) -> UnitClasses:
    """Units by the length of every total, or of one."""
    every, alone, positive = (*TOTALS, TOTALS[0]), (TOTALS[n % len(TOTALS)],), (TOTALS[1], NEVER_NEGATIVE)
    totals = (every, alone, (TOTALS[1],), positive)[n % 4]
    return UnitClasses(
        source=source(unit), unit=UNIT, keys=keys, totals=totals, edges=EDGES[n % len(EDGES)], most_keys=most_keys,
        salt=salt,
    )  # fmt: skip


def totals(name: str) -> Iterator[AnyWork]:
    """Totals of units, clipped and by class: over all keys of a unit, or a few by hash."""
    keys = (KNOWN | UNKNOWN)[name]
    for n in range(len(CAPS)):
        most, salt = (None, 1, 2, None)[n % 4], SALTS[n % len(SALTS)]
        yield clipped(keys, n, unit=("u", "name")[n % 2], most_keys=most, salt=salt)
        yield classes(keys, n, unit=("name", "u")[n // 2 % 2], most_keys=most, salt=salt)
