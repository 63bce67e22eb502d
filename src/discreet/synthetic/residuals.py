"""The least noise for a set of marginals: each interaction of their columns is measured once.

Guarantee: all measurements together are one charge of at most the given rho, made before any noise is drawn. All
answers follow from one set of interactions, so they agree with each other; each is unbiased, and its variance is known
before. For marginals no Gaussian mechanism that is a fixed linear measurement has a smaller weighted sum of variances.
Proof: residuals.md, and mechanisms/statistics/residuals.md for the privacy of one interaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.errors import BadParameter
from discreet.mechanisms.statistics.budget import Moves
from discreet.mechanisms.statistics.residuals import (
    interaction,
    kept_share,
    noisy_differences,
    residual_moves,
    residual_rho,
)
from discreet.privacy.promises import events
from discreet.randomness import SystemBits
from discreet.synthetic.domain import Domain
from discreet.synthetic.model.fit import Measured
from discreet.synthetic.source import Clique, Counts, MarginalSource
from discreet.synthetic.spending import Spending
from discreet.synthetic.workload import Marginal, Question

MOST_INTERACTIONS = 200_000
FINER = 1 << 10
"""A row counts so much while noise is added, so that even small noise is spread over many whole numbers."""
LARGEST = 1 << 100
"""Of a variance."""
_FINE = 1 << 20
_TRIES = 64
_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Interactions:
    """What to measure for some questions: every set of columns that is part of one, with its weight in the error."""

    domain: Domain
    weights: Mapping[Clique, float]
    """By how much a unit of noise variance in an interaction raises the weighted sum of variances."""
    moves: Moves

    @classmethod
    def of(cls, domain: Domain, questions: Sequence[Question], moves: Moves) -> Interactions:
        """The interactions of all questions; those of a column with one value are 0, and left out."""
        weights: dict[Clique, float] = {}
        for question in questions:
            for part, variance in question_spread(domain, question).items():
                numbers = variance.sum() if question.rows is not None else variance[0] * domain.size(question.clique)
                weights[part] = weights.get(part, 0.0) + float(question.weight) * float(numbers)
            if len(weights) > MOST_INTERACTIONS:
                raise BadParameter("workload", len(questions), f"must have at most {MOST_INTERACTIONS:,} interactions")
        return cls(domain, weights, moves)

    @cached_property
    def _lengths(self) -> dict[Clique, float]:
        """How far each interaction moves, in squared L2."""
        return {part: float(residual_moves(self.domain.shape(part), self.moves)) for part in self.weights}

    @cached_property
    def total_variance(self) -> float:
        """The least weighted sum of variances for rho = 1: (Σ √(moves² · weight))² / 2."""
        return sum(sqrt(self._lengths[part] * weight) for part, weight in self.weights.items()) ** 2 / 2

    def unit_noise(self, part: Clique) -> float:
        """σ² of an interaction, up to a factor that is the same for all: as √(moves² / weight)."""
        return sqrt(self._lengths[part] / max(self.weights[part], 1e-300))

    def noise(self, moves: Moves, rho: Fraction) -> dict[Clique, Fraction]:
        """σ² of each interaction: as √(moves² / weight), so large that all certified prices add up to rho at most."""
        shapes = {part: self.domain.shape(part) for part in self.weights}
        unit = sqrt(2 * self.total_variance) / (2 * float(rho))
        scale = (moves.l2_squared / self.moves.l2_squared) if self.moves.l2_squared else 1.0
        wanted = {part: unit * scale * self.unit_noise(part) for part in self.weights}
        stretch = Fraction(1)
        for _ in range(_TRIES):
            noise = {part: _short(Fraction(sigma_squared) * stretch) for part, sigma_squared in wanted.items()}
            cost = sum((residual_rho(shapes[part], moves, noise[part]) for part in noise), Fraction(0))
            if max(noise.values()) > LARGEST:
                break
            if cost <= rho:
                return noise
            stretch = stretch * Fraction(ceil(max(cost / rho, 1 + Fraction(1, _FINE**2)) * _FINE**2), _FINE**2)
        raise BadParameter("rho", float(rho), "must be larger: the noise would not fit into 64 bits")

    @property
    def counted(self) -> list[Clique]:
        """The marginals that all interactions are parts of."""
        return _maximal(list(self.weights))

    def measure(
        self, source: MarginalSource, exact: Sequence[Counts], rho: Fraction, spending: Spending
    ) -> Measurements:
        """Pay once, add noise to the cells of the marginals ``counted`` and of their parts, keep differences alone."""
        finer = FINER if spending.scale == 1 else 1
        noise = self.noise(_largest(source, self.weights, finer), rho)
        event = events.ZCDP(rho)
        receipt = spending.filter.spend(event)
        spending.events.append((f"measured {len(noise)} interactions of columns", event))
        tables = dict(zip(self.counted, exact, strict=True))
        by_noise: dict[Fraction, list[Clique]] = {}
        for part in sorted(noise, key=len, reverse=True):
            _count(part, tables, self.domain)
            by_noise.setdefault(noise[part], []).append(part)
        receipt.redeem(event)
        measured: dict[Clique, Floats] = {}
        for sigma_squared, parts in by_noise.items():
            released = noisy_differences([finer * tables[part] for part in parts], sigma_squared, SystemBits())
            measured |= {p: interaction(r) / (finer * spending.scale) for p, r in zip(parts, released, strict=True)}
        variances = {part: float(v / (finer * spending.scale) ** 2) for part, v in noise.items()}
        return Measurements(self.domain, measured, variances)


@dataclass(frozen=True, eq=False)
class Measurements:
    """Measured interactions, in rows, and σ² of each."""

    domain: Domain
    interactions: Mapping[Clique, Floats]
    variances: Mapping[Clique, float]

    def table(self, clique: Clique) -> Floats:
        """A marginal whose interactions were measured: each is spread evenly over the columns that it lacks."""
        sizes = self.domain.sizes
        table = np.zeros(self.domain.shape(clique))
        for part in _parts(self.domain, clique):
            shape = tuple(sizes[c] if c in part else 1 for c in clique)
            table += self.interactions[part].reshape(shape) / prod(sizes[c] for c in clique if c not in part)
        return table

    def measured(self, cliques: Iterable[Clique]) -> tuple[Measured, ...]:
        """The largest of some marginals with the variance of a cell, for fits."""
        largest = _maximal(list(dict.fromkeys(cliques)))
        plain = [Question(Marginal(()), clique, None, Fraction(1)) for clique in largest]
        return tuple(Measured(q.clique, self.table(q.clique), float(self.deviation(q)[0]) ** 2) for q in plain)

    def deviation(self, question: Question) -> Floats:
        """The standard deviation of each number of a question."""
        spread = question_spread(self.domain, question)
        total = sum(self.variances[part] * variance for part, variance in spread.items())
        cells = self.domain.size(question.clique) if question.rows is None else len(question.rows)
        return np.sqrt(np.broadcast_to(np.asarray(total, dtype=np.float64), (cells,)))


def question_spread(domain: Domain, question: Question) -> dict[Clique, Floats]:
    """The variance of each number of a question by interaction, for noise of variance 1 in its cells.

    One number stands for all cells of a marginal: they have the same.
    """
    clique, sizes = question.clique, domain.sizes
    spread = {}
    for part in _parts(domain, clique):
        spread_over = prod(sizes[c] for c in clique if c not in part)
        if question.rows is None:
            spread[part] = np.array([float(kept_share(domain.shape(part))) / spread_over**2])
            continue
        spread[part] = np.concatenate(
            [
                _squared_interaction(question.rows[i : i + _AT_ONCE], domain.shape(clique), clique, part)
                for i in range(0, len(question.rows), _AT_ONCE)
            ]
        )
    return spread


def _squared_interaction(rows: NDArray[np.int8], shape: Sequence[int], clique: Clique, part: Clique) -> Floats:
    """The squared length of the interaction of each row of coefficients, averaged over the columns not in it."""
    centred = rows.reshape(-1, *shape).mean(axis=tuple(1 + i for i, c in enumerate(clique) if c not in part))
    for axis in range(1, centred.ndim):
        centred = centred - centred.mean(axis=axis, keepdims=True)
    return np.asarray((centred.reshape(len(rows), -1) ** 2).sum(axis=1), dtype=np.float64)


def _parts(domain: Domain, clique: Clique) -> list[Clique]:
    """All subsets of the columns that have more than one value, the empty one first."""
    wide = [c for c in clique if domain.sizes[c] > 1]
    return [part for many in range(len(wide) + 1) for part in combinations(wide, many)]


def _maximal(cliques: Sequence[Clique]) -> list[Clique]:
    """Those that are part of no other."""
    inner = {clique[:i] + clique[i + 1 :] for clique in cliques for i in range(len(clique))}
    return [clique for clique in cliques if clique not in inner]


def _count(part: Clique, tables: dict[Clique, Counts], domain: Domain) -> None:
    """Put a marginal beside one that was counted and has one column more."""
    if part not in tables:
        above = next(c for c in (tuple(sorted({*part, extra})) for extra in range(len(domain))) if c in tables)
        tables[part] = tables[above].sum(axis=next(i for i, c in enumerate(above) if c not in part))


def _largest(source: MarginalSource, cliques: Mapping[Clique, float], finer: int) -> Moves:
    """How far any of these marginals moves, in steps of 1/finer."""
    each = {source.moves(clique) for clique in cliques}
    return Moves(finer * max(m.l1 for m in each), finer**2 * max(m.l2_squared for m in each))


def _short(sigma_squared: Fraction) -> Fraction:
    """Rounded up, to a relative 2^-20 or less, so that equal noise is drawn together."""
    digits = _FINE**2 if sigma_squared < 1 else _FINE if sigma_squared < _FINE else 1
    return Fraction(ceil(sigma_squared * digits), digits)
