"""Who is protected: which inputs are neighbours, what one unit is, and how to restate a promise for another relation.

Promise: a sensitivity here is the exact maximum over neighbours, and a promise restated is implied by the one given.
Believes: ``group(k)`` of measures.py. A price for one relation is never valid under another by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias, TypeVar

from discreet.errors import BadParameter, NotATheorem
from discreet.exact import Number, integer, number, positive
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Pure, Renyi
from discreet.privacy.promises.record import Record, show

M = TypeVar("M", Pure, Approx, ZCDP, Renyi, GDP)


class Neighbours(Enum):
    """Which two inputs count as neighbours, for a unit such as one person."""

    ADD_REMOVE = "add or remove one unit"
    CHANGE_ONE = "change one unit"


RelationName: TypeAlias = Neighbours | str
"""A relation by its name; one that is not in ``Neighbours`` by its text, such as "one row changed in place"."""


def relation_text(relation: RelationName) -> str:
    """The relation, in words."""
    return relation if isinstance(relation, str) else str(relation.value)


# --- units --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rows:
    """The unit is one row."""

    def __str__(self) -> str:
        return "one row"


@dataclass(frozen=True, slots=True)
class People:
    """The unit is all rows of one person, however many."""

    def __str__(self) -> str:
        return "one person"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PeoplePerWindow(Record):
    """The unit is all rows of one person in one window of time; the windows are disjoint and fixed in advance.

    A person who is active in w windows is a group of w units.

    >>> str(PeoplePerWindow(days=7))
    'one person in one window of 7 days'
    """

    days: Fraction

    def __init__(self, days: Number) -> None:
        self.fill(days=positive(days, "days"))

    def __str__(self) -> str:
        return f"one person in one window of {show(self.days)} days"


# --- restating a promise ------------------------------------------------------------------------------------------


def restate(promise: M, stated: Neighbours, wanted: Neighbours, *, units: int = 1) -> M:
    """The promise for another relation; ``units`` is how many stated units make up one wanted unit.

    Guarantee: implied by the promise given. A change is one removal and one addition; a person with at most r rows
    is r rows, and one active in w windows is w windows. A promise about *changing* rows keeps their number, so from
    CHANGE_ONE it reaches only people who have exactly r rows each, before and after.

    >>> restate(Pure("0.1"), Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE)
    Pure(epsilon='1/5')
    >>> restate(ZCDP("0.1"), Neighbours.ADD_REMOVE, Neighbours.ADD_REMOVE, units=3)
    ZCDP(rho='9/10', delta=0)
    """
    units = integer(units, "units", at_least=1)
    if stated is wanted:
        return promise.group(units)
    if stated is Neighbours.ADD_REMOVE:
        return promise.group(2 * units)
    raise NotATheorem(
        "a promise about changing one unit says nothing about adding one: the number of units may be public there"
    )


# --- sensitivities ------------------------------------------------------------------------------------------------


def sum_sensitivity(low: Number, high: Number, neighbours: Neighbours) -> Fraction:
    """How far a sum of values in [low, high] moves, when each unit has exactly one value.

    Guarantee: max(|low|, |high|) for adding or removing a unit, high - low for changing one; both are attained.

    >>> sum_sensitivity(-2, 5, Neighbours.ADD_REMOVE), sum_sensitivity(-2, 5, Neighbours.CHANGE_ONE)
    (Fraction(5, 1), Fraction(7, 1))
    """
    a, b = _interval(low, high)
    return max(abs(a), abs(b)) if neighbours is Neighbours.ADD_REMOVE else b - a


def capped_sum_sensitivity(low: Number, high: Number, rows: int, neighbours: Neighbours) -> Fraction:
    """How far a sum of values in [low, high] moves, when each unit has any number of values up to ``rows``.

    Guarantee: rows·max(|low|, |high|), and rows·(max(high, 0) - min(low, 0)) for a change, as a unit may have none.

    >>> capped_sum_sensitivity(2, 5, 3, Neighbours.CHANGE_ONE)
    Fraction(15, 1)
    """
    a, b = _interval(low, high)
    rows = integer(rows, "rows", at_least=1)
    if neighbours is Neighbours.ADD_REMOVE:
        return rows * max(abs(a), abs(b))
    return rows * (max(b, Fraction(0)) - min(a, Fraction(0)))


@dataclass(frozen=True, slots=True)
class CountsSensitivity:
    """How far a vector of counts moves: its L1 length and the square of its L2 length."""

    l1: int
    l2_squared: int


def counts_sensitivity(neighbours: Neighbours, *, keys: int = 1, each: int = 1) -> CountsSensitivity:
    """How far counts by key move, when a unit is counted under at most ``keys`` keys, at most ``each`` times in each.

    Guarantee: adding a unit moves at most ``keys`` counts by ``each``; changing one moves at most twice as many
    counts, each by at most ``each``. Both are attained when there are enough keys.

    >>> counts_sensitivity(Neighbours.ADD_REMOVE), counts_sensitivity(Neighbours.CHANGE_ONE)
    (CountsSensitivity(l1=1, l2_squared=1), CountsSensitivity(l1=2, l2_squared=2))
    """
    moved = integer(keys, "keys", at_least=1) * (1 if neighbours is Neighbours.ADD_REMOVE else 2)
    each = integer(each, "each", at_least=1)
    return CountsSensitivity(l1=moved * each, l2_squared=moved * each**2)


def _interval(low: Number, high: Number) -> tuple[Fraction, Fraction]:
    a, b = number(low, "low"), number(high, "high")
    if a > b:
        raise BadParameter("low", low, f"must be at most high, which is {show(b)}")
    return a, b
