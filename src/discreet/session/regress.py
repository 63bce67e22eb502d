"""Regression tables of a session's table: one query of sums, one charge, and a table made of the answer.

Guarantee: the sums are priced, paid and released like any other query; each unit counts once, however many rows it has
(its rows share a weight of 1). The table is computed from the released sums alone, so it keeps what they keep. What
could not be computed afterwards is refused before anything is paid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import lcm

import numpy as np

from discreet.arrays import Floats
from discreet.errors import BadParameter
from discreet.exact import Number, integer, significant
from discreet.learning.inference.coefficients import Coefficients
from discreet.learning.inference.formula import Factor, Formula, parse
from discreet.learning.inference.least_squares import Units, coefficients, solve
from discreet.learning.inference.noise_law import LAPLACE, Noise, quantile
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.query.estimate.estimators import Estimate, Estimates
from discreet.query.estimate.noise_plan import Noised
from discreet.query.estimate.prepare import Part
from discreet.query.estimate.statistics import Statistic
from discreet.query.plan.names import quoted
from discreet.query.plan.schema import Declared, Schema, keys
from discreet.query.plan.types import Boolean, Value
from discreet.query.run import Quote
from discreet.session.backend import Backend
from discreet.session.query import Query, read_query

MOST_TERMS = 17
"""With them, the target and the intercept a query has 190 sums, of 200 that it may have."""
_STEP = 1e9  # far above any rounding of a released sum: how a sum follows from its noises is found by finite steps


@dataclass(frozen=True, slots=True)
class DesignColumn:
    """One column of the design: its SQL, scaled to [-1, 1], and what it was before."""

    term: str
    sql: str
    low: Fraction
    high: Fraction

    @property
    def scaled(self) -> str:
        """(2 x - low - high) / (high - low) in integers."""
        common = lcm(self.low.denominator, self.high.denominator)
        return (
            f"((({self.sql}) * {2 * common} - ({(self.low + self.high) * common})) / {(self.high - self.low) * common})"
        )


@dataclass(frozen=True, slots=True)
class RegressionPreview:
    """How wide intervals will be, guessed from public facts alone: ``assumes`` says how."""

    terms: tuple[str, ...]
    half_widths: Floats
    """Of 95 % intervals for the population; infinite where nothing would be known."""
    without_privacy: Floats
    cost: str
    assumes: str

    def __repr__(self) -> str:
        wide = max(len(term) for term in self.terms)
        lines = [f"{'term':<{wide}}  95% interval  without privacy"]
        for term, own, plain in zip(self.terms, self.half_widths, self.without_privacy, strict=True):
            width = f"± {significant(own, 3)}" if math.isfinite(own) else "nothing known"
            lines.append(f"{term:<{wide}}  {width:>12}  {f'± {significant(plain, 3)}':>15}")
        return "\n".join([*lines, f"costs {self.cost}", self.assumes])


@dataclass(frozen=True, slots=True, repr=False)
class Regression:
    """A regression of a session, to be previewed for free or released for a price. Made by ``session.regress``."""

    query: Query
    formula: str
    columns: tuple[DesignColumn, ...]
    """Those of the design, then the target."""

    def __repr__(self) -> str:
        return f"Regression({self.formula}; preview(...) is free, release(...) spends)"

    def preview(
        self, epsilon: Number | None = None, *, rows: int, delta: Number | None = None, rho: Number | None = None
    ) -> RegressionPreview:
        """How wide intervals will be for so many people. Free: it reads no data."""
        integer(rows, "rows", at_least=1)
        quote = self.query.quote(epsilon, delta=delta, rho=rho)
        noise = _noise_of(quote)
        width = len(self.columns) + 1
        spread = np.full((width, width), 0.0)
        np.fill_diagonal(spread, 1 / 3)
        spread[0, 0] = 1.0
        spread[-1, -1] = 1 / 12
        flat = rows * spread[np.triu_indices(width)]
        private, plain = (
            coefficients(solve(flat, law, width), law, self._units, terms=self._terms, kind="")
            for law in (noise, Noise(np.zeros(len(flat))))
        )
        away = quantile(0.95)
        return RegressionPreview(
            private.terms, away * private.standard_errors, away * plain.standard_errors, str(quote.price),
            f"for {rows:,} people, columns that spread evenly over their bounds and do not depend on each other, and a "
            "target whose spread around the line is 0.29 of half its range",
        )  # fmt: skip

    def release(
        self, epsilon: Number | None = None, *, delta: Number | None = None, rho: Number | None = None
    ) -> Coefficients:
        """Pay once; the table."""
        noise = _noise_of(self.query.quote(epsilon, delta=delta, rho=rho))  # what is paid for can be computed
        answer = self.query.release(epsilon, delta=delta, rho=rho)
        released = answer.released[0]
        part: Part = released.part
        exact: Estimates = {s: Estimate(e.middle, e.error) for s, e in released.estimates.items()}
        values = np.array([float(recipe.value(exact)[0]) for recipe in part.recipes])
        solved = solve(values, noise, len(self.columns) + 1)
        target = self.columns[-1].term
        return coefficients(
            solved, noise, self._units, terms=self._terms, kind=f"Linear regression of {target}", released=(answer,)
        )

    @property
    def _terms(self) -> tuple[str, ...]:
        return tuple(column.term for column in self.columns[:-1])

    @property
    def _units(self) -> Units:
        middle = np.array([float((c.low + c.high) / 2) for c in self.columns])
        half = np.array([float((c.high - c.low) / 2) for c in self.columns])
        return Units(middle[:-1], half[:-1], float(middle[-1]), float(half[-1]))


def regression(backend: Backend, formula: str, table: str) -> Regression:
    """The regression that a formula names, over a table each of whose units counts once."""
    schema = backend.schemas.get(table)
    if schema is None:
        raise BadParameter("table", table, f"must be one of {', '.join(backend.schemas)}")
    read = parse(formula)
    declared = {name: _declared(name, table, schema) for name in read.columns}
    columns = _design(read, declared, schema)
    scaled = ["1", *(column.scaled for column in columns)]
    sums = ["COUNT(*) AS s0_0"] + [
        f"SUM({scaled[j] if i == 0 else f'{scaled[i]} * {scaled[j]}'}) AS s{i}_{j}"
        for i, j in combinations_with_replacement(range(len(scaled)), 2)
        if j
    ]
    not_null = [f"{quoted(name)} IS NOT NULL" for name in read.columns]
    not_null += [
        f"{quoted(n)} IN ({', '.join(_literal(k) for k in _listed(d))})" for n, d in declared.items() if d.keys
    ]
    text = f"SELECT {', '.join(sums)} FROM {quoted(table)} WHERE {' AND '.join(not_null)}"  # noqa: S608
    return Regression(read_query(backend, text), formula, columns)


def _declared(name: str, table: str, schema: Schema) -> Declared:
    if name not in schema.fields or name == schema.table.unit:
        raise BadParameter("formula", name, f"must name columns of {table} that are not its unit")
    declared = schema.table.columns.get(name)
    if declared is None and isinstance(schema.fields[name].kind, Boolean):
        return keys([False, True])
    if declared is None or (declared.keys is None and not isinstance(declared.low, Fraction)):
        raise BadParameter(
            "formula", name, "must name columns with declared bounds or keys: "
            f"dp.table(..., columns={{{name!r}: dp.bounds(low, high)}}), or dp.keys([...]) for categories",
        )  # fmt: skip
    return declared


def _listed(declared: Declared) -> list[Value]:
    return [key for key in declared.keys or () if key is not None]


def _design(formula: Formula, declared: Mapping[str, Declared], schema: Schema) -> tuple[DesignColumn, ...]:
    """The columns of all terms, then the target; the first key of a list of categories is the reference."""
    columns = [column for term in formula.terms for column in _term(term, declared)]
    if len(columns) > MOST_TERMS:
        raise BadParameter("formula", len(columns), f"must have at most {MOST_TERMS} columns, categories counted")
    target = declared[formula.target]
    if not isinstance(target.low, Fraction) and not isinstance(schema.fields[formula.target].kind, Boolean):
        raise BadParameter("formula", formula.target, "must have a target with declared bounds: dp.bounds(low, high)")
    return (*columns, _numeric(formula.target, target))


def _term(term: Sequence[Factor], declared: Mapping[str, Declared]) -> list[DesignColumn]:
    built = _factor(term[0], declared[term[0].column])
    for factor in term[1:]:
        built = [_product(a, b) for a in built for b in _factor(factor, declared[factor.column])]
    return built


def _factor(factor: Factor, declared: Declared) -> list[DesignColumn]:
    if not factor.listed and declared.keys is None:
        return [_numeric(factor.column, declared)]
    if declared.keys is None:
        raise BadParameter("formula", f"C({factor.column})", "must be of a column with declared keys: dp.keys([...])")
    if _listed(declared) == [False, True] and not factor.listed:
        return [_numeric(factor.column, declared)]
    return [
        DesignColumn(
            f"{factor.column}[{key}]", f"CASE WHEN {quoted(factor.column)} = {_literal(key)} THEN 1 ELSE 0 END",
            Fraction(0), Fraction(1),
        )
        for key in _listed(declared)[1:]
    ]  # fmt: skip


def _numeric(name: str, declared: Declared) -> DesignColumn:
    if declared.keys is not None:
        return DesignColumn(name, f"CASE WHEN {quoted(name)} THEN 1 ELSE 0 END", Fraction(0), Fraction(1))
    assert isinstance(declared.low, Fraction)  # noqa: S101 - _declared has seen to it
    assert isinstance(declared.high, Fraction)  # noqa: S101
    return DesignColumn(name, quoted(name), declared.low, declared.high)


def _product(a: DesignColumn, b: DesignColumn) -> DesignColumn:
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return DesignColumn(f"{a.term}:{b.term}", f"({a.sql}) * ({b.sql})", min(ends), max(ends))


def _noise_of(quote: Quote) -> Noise:
    """How the released sums follow from independent noises: they are linear in them, so finite steps find it."""
    (question,) = quote.questions
    part = question.parts[0]
    noised = quote.noised(part)
    zero: dict[Statistic, Estimate] = {s: _at(0.0, statistic_noise) for s, statistic_noise in noised.items()}

    def sums(estimates: Estimates) -> Floats:
        return np.array([float(recipe.value(estimates)[0]) for recipe in part.recipes])

    start = sums(zero)
    enters = np.stack(
        [(sums({**zero, s: _at(_STEP, statistic_noise)}) - start) / _STEP for s, statistic_noise in noised.items()],
        axis=1,
    )
    if not np.isfinite(enters).all():
        raise BadParameter("formula", "this one", "must be of columns whose sums are known: not of products of text")
    heavy = np.array(
        [0.0 if isinstance(statistic_noise.noise, Gaussian) else LAPLACE for statistic_noise in noised.values()]
    )
    deviations = np.array([math.sqrt(statistic_noise.variance) for statistic_noise in noised.values()])
    return Noise(deviations, enters, heavy if heavy.any() else None)


def _at(value: float, noised: Noised) -> Estimate:
    return Estimate(np.array([value]), lambda _: 0.0, noised)


def _literal(value: Value) -> str:
    if isinstance(value, str):
        doubled = value.replace("'", "''")
        return f"'{doubled}'"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return str(value) if isinstance(value, int) else f"DATE '{value}'"
