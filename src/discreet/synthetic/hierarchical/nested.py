"""Persons in households: tables of both over the same places, and rows in which each household has its persons.

Guarantee: ``nest`` is a function of two publications, so it is free. Its whole numbers are whole, not negative and add
up in each of them, and in each finest place (and each value of the columns that both have) there are as many persons
as the sizes of the households add up to. Proof: hierarchical.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers
from discreet.errors import BadParameter
from discreet.exact import Number, number
from discreet.privacy.promises.receipt import Receipt
from discreet.shown import brief
from discreet.synthetic.hierarchical.plan import HierarchicalPlan, Publication
from discreet.synthetic.hierarchical.released import PublishedTables, whole_tables
from discreet.synthetic.hierarchical.whole import Clique, agreeing_masks, projected

HOUSEHOLD = "household"
"""The column of both tables of rows that says which household it is: made-up numbers."""


@dataclass(frozen=True, slots=True)
class NestedPublication:
    """Made by ``nested``: which tables of households and of persons, and how the cost is shared."""

    persons: Publication
    households: Publication
    table: str
    size: str
    share: Fraction

    __repr__ = brief


def nested(
    persons: Publication, households: Publication, *, table: str, size: str = "size", share: Number = "1/2"
) -> NestedPublication:
    """Tables of persons and of their households for one charge, and rows of both that fit to each other.

    ``table``: the private table of households; both tables are declared with the household as the protected unit.
    ``size`` is its column of whole numbers that says how many persons a household has; ``share`` is its part of the
    cost. Columns that both tables have, beside the places, are taken for the household's: its persons have its values.

    >>> from discreet.synthetic.hierarchical.plan import publication
    >>> nested(publication([("county", "sex")]), publication([("county", "size")]), table="homes").share
    Fraction(1, 2)
    """
    part = number(share, "share")
    if not 0 < part < 1:
        raise BadParameter("share", share, "must be between 0 and 1: the part of the cost that households have")
    return NestedPublication(replace(persons, rows=True), replace(households, rows=True), table, size, part)


@dataclass(frozen=True, eq=False)
class NestedTables:
    """The published tables of households and of persons, which fit to each other.

    >>> from discreet.synthetic.columns import whole
    >>> from discreet.synthetic.hierarchical.plan import publication
    >>> from discreet.synthetic.hierarchical.released import publish
    >>> sizes = {"size": whole(1, 2, nullable=False)}
    >>> homes = publish({"size": [1, 2]}, publication(["size"]), domain=sizes, rho=10**6)
    >>> people = publish({"sex": ["f", "m", "f"]}, publication(["sex"]), domain={"sex": ["f", "m"]}, rho=10**6)
    >>> both = nest(homes, people, "size")
    >>> both.mismatches(), both.persons.count(0).tolist()
    (0, [[2, 1, 0]])
    """

    households: PublishedTables
    persons: PublishedTables
    size: str
    homes: Integers
    """The households, one row each, as codes of their domain."""
    receipt: Receipt | None = None
    """What a session charged for both."""

    def __repr__(self) -> str:
        """The tables of both."""
        return f"households: {self.households!r}\npersons: {self.persons!r}"

    def rows(self) -> tuple[Any, Any]:
        """Households and persons as Arrow tables that have every published count exactly. Free.

        Both have a column ``household``, made-up numbers, and each household has as many persons as its size says.
        Beyond the published tables and the columns that both have, who lives with whom is random.
        """
        homes, people = self.homes, self.persons.row_codes()
        home_of = np.repeat(np.arange(len(homes)), _sizes_of(self.households.plan, self.size, homes))
        rooms = np.argsort(_cells(self.households.plan, homes, self._shared)[home_of], kind="stable")
        cells = _cells(self.persons.plan, people, self._shared)
        household = np.empty(len(people), dtype=np.int64)
        household[np.lexsort((np.random.default_rng().random(len(people)), cells))] = home_of[rooms]
        together = np.argsort(household, kind="stable")
        return (
            _with_household(self.households.plan, homes, np.arange(len(homes))),
            _with_household(self.persons.plan, people[together], household[together]),
        )

    def mismatches(self) -> int:
        """How many cells of either are wrong, or have other persons than the sizes of their households say: 0."""
        shared = _clique(self.persons.plan, self._shared)
        living = self.persons.whole.marginal(len(self.persons.plan.tree.sizes) - 1, shared)
        differing = int((living != _persons_in(self.households.plan, self.size, self._shared, self.homes)).sum())
        return self.households.mismatches() + self.persons.mismatches() + differing

    def card(self) -> dict[str, Any]:
        """The release cards of households and of persons."""
        return {
            "persons": self.persons.card(),
            "households": self.households.card(),
            "nested": f"the persons of a place are those that {self.size} of its households adds up to",
            "receipt": None if self.receipt is None else str(self.receipt.price),
        }

    def explain(self) -> str:
        """Both release cards, in words."""
        return (
            f"Households\n{self.households.explain()}\n\nPersons\n{self.persons.explain()}\n\n{self.card()['nested']}"
        )

    def write(self, folder: str | PathLike[str], ending: str = "csv") -> list[str]:
        """All tables into a folder that is there: names begin with ``households_`` or ``persons_``; returns them."""
        of_households = self.households.write(folder, ending, prefix="households_")
        return [*of_households, *self.persons.write(folder, ending, prefix="persons_")]

    @property
    def _shared(self) -> tuple[str, ...]:
        return shared_columns(self.households.plan, self.persons.plan)


def nest(
    households: PublishedTables, persons: PublishedTables, size: str, receipt: Receipt | None = None
) -> NestedTables:
    """Two publications made to fit: the whole numbers of persons are made again, with as many as live in households.

    The estimates of both stay as they are.

    >>> from discreet.synthetic.columns import whole
    >>> from discreet.synthetic.hierarchical.plan import publication
    >>> from discreet.synthetic.hierarchical.released import publish
    >>> sizes = {"size": whole(1, 2, nullable=False)}
    >>> homes = publish({"size": [1, 2]}, publication(["size"]), domain=sizes, rho=10**6)
    >>> people = publish({"sex": ["f", "m", "f"]}, publication(["sex"]), domain={"sex": ["f", "m"]}, rho=10**6)
    >>> len(nest(homes, people, "size").rows()[1])
    3
    """
    shared = check_nested(households.plan, persons.plan, size)
    plan, homes = persons.plan, households.row_codes()
    counts, clique = _persons_in(households.plan, size, shared, homes), _clique(plan, shared)
    fixed: list[tuple[Clique, Integers]] = []
    for level in range(len(plan.tree.sizes) - 1, -1, -1):
        fixed.insert(0, (clique, counts))
        if level:
            counts = plan.tree.sums(level - 1, counts)
    fitted = replace(persons, whole=whole_tables(persons.estimates, fixed))
    return NestedTables(households, fitted, size, homes, receipt)


def check_nested(households: HierarchicalPlan, persons: HierarchicalPlan, size: str) -> tuple[str, ...]:
    """Refuse plans that cannot be made to fit; the columns that both have. Sees no data."""
    if households.hierarchy != persons.hierarchy or households.tree.sizes != persons.tree.sizes:
        finest = households.level_names[-1] or "no place at all"
        must = f"must have the same places as those of households, down to the same finest level ({finest})"
        raise BadParameter("persons", [list(table) for table in persons.publication.tables], must)
    _check_size(households, size)
    for plan in (households, persons):
        if HOUSEHOLD in plan.domain.columns:
            raise BadParameter("columns", HOUSEHOLD, "must have another name: rows call made-up households so")
    if persons.fixed:
        must = "must be left out for persons: how many there are follows from the households"
        raise BadParameter("public_totals", persons.fixed[0].totals.name, must)
    if size in persons.domain.columns:
        raise BadParameter("size", size, "must be a column of households alone")
    shared = shared_columns(households, persons)
    for name in shared:
        if households.domain[name].labels != persons.domain[name].labels or (
            households.domain[name].size != persons.domain[name].size
        ):
            raise BadParameter("columns", name, "must have the same declaration in both tables, or different names")
    clique = _clique(persons, shared)
    for sets in (persons.sets, persons.row_sets or persons.sets):
        if not any(set(clique) <= columns for columns in sets[-1]):
            must = f"must have a table with the finest level and {', '.join(shared)}, which both tables have"
            raise BadParameter("persons", [list(table) for table in persons.publication.tables], must)
    if (_possible(households, shared) & ~_possible(persons, shared)).any():
        must = f"must leave the same combinations of {', '.join(shared)} possible in both tables"
        raise BadParameter("key_sets", list(shared), must)
    return shared


def shared_columns(households: HierarchicalPlan, persons: HierarchicalPlan) -> tuple[str, ...]:
    """The columns beside the places that both have, in the order of persons."""
    return tuple(name for name in _names(persons) if name in _names(households))


def _names(plan: HierarchicalPlan) -> Sequence[str]:
    return plan.domain.columns[plan.placed :]


def _possible(plan: HierarchicalPlan, shared: Sequence[str]) -> NDArray[np.bool_]:
    """Which combinations of the shared columns the key sets of a table leave; all, where they are in different sets."""
    everywhere = np.ones([plan.domain[name].size for name in shared], dtype=bool)
    columns = [_names(plan).index(name) for name in shared]
    masks = agreeing_masks(plan.sizes, plan.sets[0], plan.impossible)
    together = any(set(columns) <= set(clique) for clique in masks)
    possible = projected(masks, columns) if together else None
    return everywhere if possible is None else possible


def _clique(plan: HierarchicalPlan, names: Sequence[str]) -> Clique:
    return tuple(sorted(_names(plan).index(name) for name in names))


def _check_size(households: HierarchicalPlan, size: str) -> None:
    must = "must be a published column of households with integers, none missing: dp.keys([1, 2], nullable=False)"
    if size not in _names(households):
        raise BadParameter("size", size, must)
    labels = households.domain[size].labels
    whole = all(isinstance(label, int) and not isinstance(label, bool) and label >= 0 for label in labels)
    if not whole or len(labels) != households.domain[size].size:
        raise BadParameter("size", size, must)


def _sizes_of(households: HierarchicalPlan, size: str, homes: Integers) -> Integers:
    """How many persons live in each household."""
    labels = np.array(households.domain[size].labels, dtype=np.int64)
    return np.asarray(labels[homes[:, households.domain.columns.index(size)]])


def _persons_in(plan: HierarchicalPlan, size: str, shared: Sequence[str], homes: Integers) -> Integers:
    """How many persons live in each finest place, by the columns that both have."""
    shape = [plan.domain[name].size for name in shared]
    living = np.zeros(plan.tree.sizes[-1] * prod(shape), dtype=np.int64)
    np.add.at(living, _cells(plan, homes, shared), _sizes_of(plan, size, homes))
    return living.reshape(plan.tree.sizes[-1], *shape)


def _cells(plan: HierarchicalPlan, codes: Integers, shared: Sequence[str]) -> Integers:
    """The finest place and the shared columns of each row, as one number."""
    cell = codes[:, 0] if plan.placed else np.zeros(len(codes), dtype=np.int64)
    for name in shared:
        cell = cell * plan.domain[name].size + codes[:, plan.domain.columns.index(name)]
    return np.asarray(cell)


def _with_household(plan: HierarchicalPlan, codes: Integers, household: NDArray[np.int64]) -> Any:
    import pyarrow as pa

    return plan.domain.decode(codes).add_column(0, HOUSEHOLD, pa.array(household))
