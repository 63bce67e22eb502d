"""Totals that everybody knows: how many rows there are in each place or class, as the owner declares it.

Guarantee: a declaration is a constant, and no private row is read for it or compared with it. Tables that are published
have these totals exactly; that is post-processing with constants. Where ``from_data`` says that the owner counted them
in this data, they are an exact release by the owner, outside every guarantee of ours, and every card says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import BadParameter
from discreet.exact import integer
from discreet.query.plan.key_sets import Tuples, frame_columns, key_set
from discreet.query.plan.types import Value
from discreet.shown import brief

COUNT = "count"
MOST_COUNTED = 1 << 50
"""Rows in all: sums of them are exact in floats."""


@dataclass(frozen=True, slots=True)
class PublicTotals:
    """Made by ``dp.public_totals``: the number of rows of each combination of some columns' keys."""

    columns: tuple[str, ...]
    keys: Tuples
    counts: tuple[int, ...]
    from_data: str | None = None
    """Why, where the owner counted them in the private data."""

    __repr__ = brief

    @property
    def name(self) -> str:
        """Its columns, such as "state x sex"."""
        return " x ".join(self.columns) or "all rows"


def public_totals(counts: Any, columns: Sequence[str] = (), *, from_data: str | None = None) -> PublicTotals:
    """Totals that are public knowledge, for ``dp.table(..., public_totals=[...])``: published tables have them exactly.

    ``counts`` maps each key, or tuple of keys, of ``columns`` to a whole number; it may be a frame with these columns
    and ``count``, or one number without columns. Every combination that exists must be given. They are constants: no
    data is read for them, so they must come from somewhere else, such as a register that is published.

    ``from_data="reason"`` declares totals that the owner counted in the private data. They are then published without
    noise, by the owner's decision and outside the guarantee; ledger, release card and ``explain`` say so.

    >>> public_totals({"A": 1200, "B": 300}, ["state"]).counts
    (1200, 300)
    >>> public_totals({"state": ["A"], "sex": ["f"], "count": [7]}, ["state", "sex"]).keys
    (('A', 'f'),)
    """
    if isinstance(columns, str):
        raise BadParameter("columns", columns, "must be a list of names")
    if from_data is not None and not (isinstance(from_data, str) and from_data.strip()):
        raise BadParameter("from_data", from_data, "must say why totals of the private data are published")
    names = tuple(columns)
    keys, numbers = _pairs(counts, names)
    whole = tuple(integer(n, "public_totals", at_least=0) for n in numbers)
    if sum(whole) > MOST_COUNTED:
        raise BadParameter("public_totals", sum(whole), "must be at most 2^50 rows in all")
    return PublicTotals(names, keys, whole, from_data)


def _pairs(counts: Any, names: tuple[str, ...]) -> tuple[Tuples, list[Any]]:
    if not names:
        return ((),), [counts]
    if isinstance(counts, Mapping) and not set(names) <= set(counts):
        listed = [(key if isinstance(key, tuple) else (key,), count) for key, count in counts.items()]
    else:
        frame = frame_columns(counts)
        if frame is None or COUNT not in frame:
            must = f"must map keys to counts, or be a frame with the columns {', '.join((*names, COUNT))}"
            raise BadParameter("public_totals", type(counts).__name__, must)
        for name in names:
            if name not in frame:
                raise BadParameter("columns", name, f"must be columns of the frame, which has {', '.join(frame)}")
        listed = [(row[:-1], row[-1]) for row in zip(*(frame[name] for name in (*names, COUNT)), strict=True)]
    keys: list[tuple[Value, ...]] = [row for row, _ in listed]
    return key_set(keys, names).rows, [count for _, count in listed]


def check_totals(given: Iterable[PublicTotals], columns: Iterable[str], *, public: bool) -> tuple[PublicTotals, ...]:
    """Those of a table, whose columns with listed keys are these."""
    listed, declared = set(columns), tuple((given,) if isinstance(given, PublicTotals) else given)
    if declared and public:
        raise BadParameter("public_totals", "declared", "must be left out for a public table: its rows are public")
    for totals in declared:
        if not isinstance(totals, PublicTotals):
            raise BadParameter("public_totals", totals, "must be made by dp.public_totals")
        for name in totals.columns:
            if name not in listed:
                raise BadParameter("public_totals", name, "must be a column of dp.keys or a level of a hierarchy")
    return declared
