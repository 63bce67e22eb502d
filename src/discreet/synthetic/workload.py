"""Workloads: which counts shall be right. Marginals, prefixes and ranges of ordered columns, conditions; with weights.

Promise: a workload is public. Each of its questions is a whole-number combination of the cells of one marginal, so all
that is ever needed of the data are exact marginals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.exact import Number, positive
from discreet.shown import brief
from discreet.synthetic.domain import Domain
from discreet.synthetic.predicate import Predicate, predicate

MOST_CLIQUES = 100_000
MOST_CELLS = 1 << 22
"""The largest marginal that a workload may ask for."""
_ALL = re.compile(r"all (\d+)-way")


@dataclass(frozen=True, slots=True)
class Marginal:
    """All cells of the table over some columns."""

    columns: tuple[str, ...]
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Prefixes:
    """How many have at most each value of an ordered column; NULL is not counted."""

    column: str
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Ranges:
    """How many lie in each range of values of an ordered column; NULL is not counted."""

    column: str
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Count:
    """How many satisfy a condition."""

    where: str | Predicate
    weight: Fraction = Fraction(1)


Ask: TypeAlias = Marginal | Prefixes | Ranges | Count


def marginal(*columns: str, weight: Number = 1) -> Marginal:
    """The table over some columns.

    >>> marginal("sex", "age", weight=2)
    Marginal(columns=('sex', 'age'), weight=Fraction(2, 1))
    """
    return Marginal(tuple(columns), positive(weight, "weight"))


def prefixes(column: str, *, weight: Number = 1) -> Prefixes:
    """How many have at most each value of a column."""
    return Prefixes(column, positive(weight, "weight"))


def ranges(column: str, *, weight: Number = 1) -> Ranges:
    """How many lie in each range of values of a column.

    >>> ranges("age").column
    'age'
    """
    return Ranges(column, positive(weight, "weight"))


def count(where: str | Predicate, *, weight: Number = 1) -> Count:
    """How many satisfy a condition, in SQL."""
    return Count(where, positive(weight, "weight"))


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of one marginal: a row of 0 and 1 over its cells for each number; None for all cells."""

    ask: Ask
    clique: tuple[int, ...]
    rows: NDArray[np.int8] | None
    weight: Fraction

    @property
    def answers(self) -> int:
        """How many numbers are asked for; for all cells, 0 until the shape is known."""
        return 0 if self.rows is None else len(self.rows)

    def of(self, table: NDArray[Any]) -> NDArray[Any]:
        """The answers from a marginal."""
        return table.ravel() if self.rows is None else self.rows @ table.ravel()


@dataclass(frozen=True, eq=False)
class Workload:
    """Questions over a domain."""

    __repr__ = brief

    domain: Domain
    questions: tuple[Question, ...]

    @property
    def cliques(self) -> dict[tuple[int, ...], Fraction]:
        """The marginals that are needed, each with its weight."""
        weights: dict[tuple[int, ...], Fraction] = {}
        for question in self.questions:
            weights[question.clique] = weights.get(question.clique, Fraction(0)) + question.weight
        return weights

    @property
    def conditioned(self) -> set[int]:
        """The places of columns that conditions name: their values cannot be chosen otherwise."""
        return {c for question in self.questions if isinstance(question.ask, Count) for c in question.clique}

    @property
    def answers(self) -> int:
        """How many numbers are asked for in all."""
        return sum(q.answers or self.domain.size(q.clique) for q in self.questions)

    def __len__(self) -> int:
        return len(self.questions)


Asked: TypeAlias = str | Ask | Predicate | Sequence[str] | Workload | Iterable[Any]


def workload(domain: Domain, what: Asked) -> Workload:
    """A workload: ``"all 3-way"``, or a list of marginals, prefixes, ranges, conditions and lists of columns.

    >>> domain = Domain({"sex": ["f", "m"], "age": range(100), "city": ["A", "B", "C"]})
    >>> [q.clique for q in workload(domain, "all 2-way").questions]
    [(0, 1), (0, 2), (1, 2)]
    >>> workload(domain, [("sex", "age"), prefixes("age"), count("age < 30 AND sex = 'f'")]).answers
    404
    """
    if isinstance(what, Workload):
        return what
    if isinstance(what, str):
        asks: list[Any] = _all_ways(domain, what)
    elif isinstance(what, (Marginal, Prefixes, Ranges, Count, Predicate)):
        asks = [what]
    elif isinstance(what, Iterable):
        asks = list(what)
    else:
        raise BadParameter("workload", what, 'must be "all 3-way" or a list of queries')
    if not asks:
        raise BadParameter("workload", [], "must hold at least one query")
    if len(asks) > MOST_CLIQUES:
        raise BadParameter("workload", len(asks), f"must hold at most {MOST_CLIQUES:,} queries")
    return Workload(domain, tuple(_question(domain, ask) for ask in asks))


def _all_ways(domain: Domain, what: str) -> list[Marginal]:
    ways = _ALL.fullmatch(what.strip())
    if not ways or not 1 <= int(ways[1]) <= len(domain):
        raise BadParameter(
            "workload", what, f'must be "all k-way" with k from 1 to {len(domain)}, or a list of queries'
        )
    return [
        Marginal(tuple(domain.columns[c] for c in clique))
        for clique in combinations(range(len(domain)), int(ways[1]))
        if domain.size(clique) <= MOST_CELLS
    ] or [_too_large(domain, what)]


def _too_large(domain: Domain, what: object) -> Any:
    raise BadParameter("workload", what, f"must have marginals of at most {MOST_CELLS:,} cells; coarsen columns")


def _question(domain: Domain, ask: Any) -> Question:
    match ask:
        case Marginal(columns=columns, weight=weight):
            if not columns:
                raise BadParameter("workload", ask, "must name at least one column in each marginal")
            return _sized(domain, Question(ask, domain.places(columns), None, weight))
        case Prefixes(column=name, weight=weight):
            size, values = domain[name].size, _ordered(domain, name)
            rows = np.tri(values, size, dtype=np.int8)
            return Question(ask, domain.places([name]), rows, weight)
        case Ranges(column=name, weight=weight):
            size, values = domain[name].size, _ordered(domain, name)
            if values > 1 << 10:
                raise BadParameter(
                    "column", name, "must have at most 1,024 values for all its ranges; ask for prefixes"
                )
            first, last = np.triu_indices(values)
            cell = np.arange(size)
            rows = ((cell >= first[:, None]) & (cell <= last[:, None])).astype(np.int8)
            return Question(ask, domain.places([name]), rows, weight)
        case Count(where=where, weight=weight):
            condition = predicate(domain, where)
            return Question(ask, condition.clique, condition.table.reshape(1, -1).astype(np.int8), weight)
        case Predicate():
            return _question(domain, Count(ask))
        case str():
            return _question(domain, Marginal((ask,)))
        case Sequence() if all(isinstance(name, str) for name in ask):
            return _question(domain, Marginal(tuple(ask)))
    raise BadParameter("workload", ask, "must hold marginals, prefixes, ranges, conditions or lists of columns")


def _ordered(domain: Domain, name: str) -> int:
    if not domain[name].ordered:
        raise BadParameter("column", name, "must be ordered for prefixes and ranges: list its categories in order")
    return domain[name].values


def _sized(domain: Domain, question: Question) -> Question:
    if domain.size(question.clique) > MOST_CELLS:
        names = [domain.columns[c] for c in question.clique]
        raise BadParameter(
            "marginal",
            names,
            f"must have at most {MOST_CELLS:,} cells; it has {domain.size(question.clique):,}: coarsen "
            f"{max(names, key=lambda n: domain[n].size)}",
        )
    return question
