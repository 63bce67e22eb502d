"""Models from tables: sums and counts that the engine computes where the data lies, and a model made of the answers.

Guarantee: one workload is priced, paid and released like any other (caps for each person, exact noise, one entry in the
ledger). The model is computed from its answers alone, so it keeps what they keep, and costs nothing more. Of a tree,
all counts of all levels are one charge, paid before the first of them is read.
Proof: ../learning/models/histogram_tree.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import lcm
from typing import Any, TypeVar

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import BadParameter
from discreet.exact import number
from discreet.learning.model_json import to_json
from discreet.learning.models.histogram_tree import HistogramTree, read_depth
from discreet.learning.models.linear import LinearRegression
from discreet.learning.models.naive_bayes import CategoricalNB
from discreet.learning.preprocessing.columns import COARSE_BINS, Categorical, Column, Numeric
from discreet.privacy.promises.measures import ZCDP, Approx
from discreet.progress import Progress
from discreet.query.answer.answer import TableAnswer
from discreet.query.plan.names import quoted
from discreet.query.plan.schema import Declared, Schema, keys
from discreet.query.plan.types import Boolean
from discreet.session.backend import Backend
from discreet.session.counts_program import CountsJob, PaidSource, counts_program
from discreet.session.price import Price
from discreet.session.program import run
from discreet.session.query import read_query
from discreet.session.workload import release_together
from discreet.synthetic.columns import bins, categories
from discreet.synthetic.domain import Domain

Model = TypeVar("Model", LinearRegression, CategoricalNB, HistogramTree)
_CONFIDENCE = "0.95"
_DEVIATIONS = 1.96  # an error bar at that confidence, in standard deviations of normal noise


def learn(
    backend: Backend,
    model: type[Model],
    table: str,
    *,
    features: Sequence[str],
    target: str,
    price: Price,
    depth: int | None,
) -> Model:
    """A fitted model; ``released_`` holds the answers it was made of, with their price and receipt."""
    if model is not HistogramTree and depth is not None:
        raise BadParameter("depth", depth, "must be left out: it is that of a HistogramTree")
    declared = declared_columns(backend, table, features, target)
    if model is HistogramTree:
        fitted: Any = _tree(backend, table, declared, price, 2 if depth is None else depth)
    elif model is LinearRegression:
        fitted = _regression(backend, table, declared, price)
    elif model is CategoricalNB:
        fitted = _naive_bayes(backend, table, declared, price)
    else:
        raise BadParameter(
            "model", model, "must be dp.learning.LinearRegression, CategoricalNB or HistogramTree, the class itself"
        )
    return fitted  # type: ignore[no-any-return]


def declared_columns(backend: Backend, table: str, features: Sequence[str], target: str) -> dict[str, Declared]:
    """What is declared of the features, then of the target; refused before anything is paid."""
    schema = backend.schemas.get(table)
    if schema is None:
        raise BadParameter("table", table, f"must be one of {', '.join(backend.schemas)}")
    names: list[str] = [] if isinstance(features, str) else list(features)
    if not names or len({*names, target}) != len(names) + 1:
        raise BadParameter("features", features, "must be a list of different columns, none of them the target")
    declared = {name: _declared("features", name, table, schema) for name in names}
    return declared | {target: _declared("target", target, table, schema)}


def _declared(which: str, name: str, table: str, schema: Schema) -> Declared:
    if name not in schema.fields or name == schema.table.unit:
        raise BadParameter(which, name, f"must be a column of {table} that is not its unit")
    declared = schema.table.columns.get(name)
    if declared is None and isinstance(schema.fields[name].kind, Boolean):
        return keys([False, True])
    if declared is None or (declared.keys is None and declared.low is None):
        raise BadParameter(which, name, "must have declared bounds (dp.bounds) or keys (dp.keys)")
    return declared


def _classes(target: str, declared: Declared) -> list[Any]:
    listed = [key for key in declared.keys or () if key is not None]
    if len(listed) < 2:
        raise BadParameter("target", target, "must have declared keys, at least two: dp.keys([...])")
    return sorted(listed)


# --- regression -------------------------------------------------------------------------------------------------------


def _regression(backend: Backend, table: str, declared: Mapping[str, Declared], price: Price) -> LinearRegression:
    bounds = [_bounds(name, d) for name, d in declared.items()]
    scaled = [_scaled(name, *ends) for name, ends in zip(declared, bounds, strict=True)]
    pairs = list(combinations_with_replacement(range(len(scaled)), 2))
    outputs = ["COUNT(*) AS n"]
    outputs += [f"SUM({x}) AS s{i}" for i, x in enumerate(scaled)]
    outputs += [f"SUM({scaled[i]} * {scaled[j]}) AS p{i}_{j}" for i, j in pairs]
    not_null = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in declared)
    query = read_query(backend, f"SELECT {', '.join(outputs)} FROM {quoted(table)} WHERE {not_null}")  # noqa: S608
    (answer,) = answers = release_together(backend, (query,), price)
    row: Mapping[str, Any] = answer.rows[0]
    moments = np.empty((len(scaled) + 1, len(scaled) + 1))
    moments[0, 0] = float(row["n"])
    for i in range(len(scaled)):
        moments[0, i + 1] = moments[i + 1, 0] = float(row[f"s{i}"])
    for i, j in pairs:
        moments[i + 1, j + 1] = moments[j + 1, i + 1] = float(row[f"p{i}_{j}"])
    ends = [(float(low), float(high)) for low, high in bounds]
    made: Any = LinearRegression
    fitted: LinearRegression = made(budget=None, bounds=ends[:-1], target_bounds=ends[-1])
    fitted.fit_released(moments, _deviation(answers))
    fitted.released_ = answers
    return fitted


def _bounds(name: str, declared: Declared) -> tuple[Fraction, Fraction]:
    low, high = declared.low, declared.high
    if not isinstance(low, Fraction) or not isinstance(high, Fraction) or not low < high:
        raise BadParameter("features", name, "must be numbers with two declared bounds: dp.bounds(low, high)")
    return low, high


def _scaled(name: str, low: Fraction, high: Fraction) -> str:
    """(2 x - low - high) / (high - low) in whole numbers: the bounds go to -1 and 1."""
    common = lcm(low.denominator, high.denominator)
    return f"(({2 * common} * {quoted(name)} - ({(low + high) * common})) / {(high - low) * common})"


# --- naive Bayes ------------------------------------------------------------------------------------------------------


def _naive_bayes(backend: Backend, table: str, declared: Mapping[str, Declared], price: Price) -> CategoricalNB:
    *features, target = declared
    order = _classes(target, declared[target])
    columns = [_column(name, declared[name]) for name in features]
    queries = [_counts(table, target, ())]
    queries += [_counts(table, target, (_code(n, c),)) for n, c in zip(features, columns, strict=True)]
    answers = release_together(backend, [read_query(backend, text) for text in queries], price)
    whole, *tables = answers
    places = {label: i for i, label in enumerate(order)}
    counts = [_filled(whole, places, None, 1)]
    counts += [_filled(answer, places, column, column.size) for answer, column in zip(tables, columns, strict=True)]
    made: Any = CategoricalNB
    fitted: CategoricalNB = made(budget=None, columns=columns, classes=order)
    fitted.fit_released(np.concatenate([c.ravel() for c in counts]), _deviation(answers))
    fitted.released_ = answers
    return fitted


def _column(name: str, declared: Declared) -> Column:
    if declared.keys is not None:
        return Categorical(list(declared.keys))
    low, high = _bounds(name, declared)
    return Numeric(low, high, bins=COARSE_BINS)


def _code(name: str, column: Column) -> str:
    if isinstance(column, Categorical):
        return quoted(name)
    low, high = number(column.low), number(column.high)
    common = lcm(low.denominator, high.denominator)
    over = f"{column.size * common} * {quoted(name)} - ({low * common * column.size})"
    return f"LEAST(FLOOR(({over}) / {(high - low) * common}), {column.size - 1})"


def _counts(table: str, target: str, codes: tuple[str, ...]) -> str:
    keys = [f"{quoted(target)} AS label", *(f"{code} AS code" for code in codes)]
    names = ", ".join(["label", *("code" for _ in codes)])
    return f"SELECT {', '.join(keys)}, COUNT(*) AS n FROM {quoted(table)} GROUP BY {names}"  # noqa: S608


def _filled(answer: TableAnswer, places: Mapping[Any, int], column: Column | None, size: int) -> Floats:
    """Counts by class and bin; what the answer does not list is 0."""
    counts = np.zeros((len(places), size))
    for row in answer.rows:
        if row["label"] in places and (column is None or row["code"] is not None):
            if column is None:
                code = 0
            elif isinstance(column, Numeric):
                code = int(row["code"])
            else:
                code = int(column.codes([row["code"]])[0])
            counts[places[row["label"]], code] = float(row["n"])
    return counts


# --- histogram trees --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EngineHistograms:
    """The marginals of a source whose last column is the class."""

    source: PaidSource

    @property
    def scale(self) -> int:
        """What one row counts."""
        return self.source.scale

    @property
    def moves_squared(self) -> int:
        """The same for every table: all rows of a unit may lie in one cell."""
        return self.source.moves(()).l2_squared

    def tables(self, sets: Sequence[tuple[int, ...]]) -> list[Integers]:
        """As many sets in one pass as fit into memory."""
        last = len(self.source.domain) - 1
        return list(self.source.marginals([(*columns, last) for columns in sets]))


def _tree(backend: Backend, table: str, declared: Mapping[str, Declared], price: Price, depth: int) -> HistogramTree:
    """A histogram tree: the features are counted with the class, at one price for all levels."""
    *features, target = declared
    columns = {name: _tree_column(name, declared[name]) for name in features}
    classes = _classes(target, declared[target])
    read_depth(depth)
    domain = Domain(
        {name: _counted(column) for name, column in columns.items()} | {target: categories(classes, nullable=False)}
    )

    def work(source: Any, budget: Mapping[str, Any]) -> HistogramTree:
        paid = ZCDP(budget["rho"]) if "rho" in budget else Approx(budget["epsilon"], budget["delta"])
        tree = HistogramTree(budget=paid, columns=list(columns.values()), classes=list(classes), depth=depth)
        with Progress(backend.progress) as shown:
            tree.fit_histograms(EngineHistograms(source), shown.step)
        tree.receipt_ = source.receipt
        return tree

    job = CountsJob("learn", "trees", f"; histogram tree of {target}", work, lambda tree: to_json(tree).encode())
    made: HistogramTree = run(
        counts_program(backend, job, table, price, columns=domain.columns, domain=domain), backend
    )
    return made


def _tree_column(name: str, declared: Declared) -> Column:
    """A feature as a tree sees it: listed values, or bins of equal width with exact edges."""
    if declared.keys is not None:
        return Categorical([value for value in declared.keys if value is not None])
    low, high = _bounds(name, declared)
    step = (high - low) / COARSE_BINS
    return Numeric(low, high, edges=[low + step * i for i in range(1, COARSE_BINS)])


def _counted(column: Column) -> Any:
    """The same bins for the engine. NULL of a listed column has the place of what is not listed."""
    if isinstance(column, Categorical):
        assert not isinstance(column.values, int)  # noqa: S101 - _tree_column lists them
        return categories(list(column.values))
    edges = [number(e) for e in (column.low, *(column.edges or ()), column.high)]
    return bins(edges, nullable=False)


# --- all --------------------------------------------------------------------------------------------------------------


def _deviation(answers: Sequence[TableAnswer]) -> float:
    """About the standard deviation of the noise, from the widest error bar; for notes and shrinking, not a bound."""
    bars = [bar for answer in answers for column in answer.errors(_CONFIDENCE).values() for bar in column]
    return max(float(bar) for bar in bars if bar is not None) / _DEVIATIONS
