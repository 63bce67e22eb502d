"""Noisy tables of a whole and of its totals, made to agree: weighted least squares in closed form.

A finest table x over keys with n_i values each, and for each grouping set S noisy sums y_S = M_S x + noise, all noises
of a set alike and independent. The best linear unbiased estimate minimises Σ_S |M_S x - y_S|²/v_S, which is A x = b
with A = Σ M_SᵀM_S/v_S and b = Σ M_Sᵀy_S/v_S. The interactions of analysis of variance are the eigenspaces of A: for a
set T of keys, what depends on T alone and sums to 0 along each key of T is multiplied by Σ_{S ⊇ T} N(not in S)/v_S,
where N is the number of combinations. So no system has to be solved, for ROLLUP, CUBE or other sets below a finest one.
Proof: least_squares.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import TypeAlias

import numpy as np

from discreet.arrays import Floats

Axes: TypeAlias = tuple[int, ...]
_STEPS = 200
_CLOSE = 1e-4


@dataclass(frozen=True, slots=True)
class Term:
    """``many`` cells of one grouping set, each with this coefficient."""

    set: int
    coefficient: Fraction
    many: int


@dataclass(frozen=True)
class Totals:
    """Grouping sets over keys with ``sizes`` values: ``sets[0]`` is the finest and has all keys.

    ``variances`` are those of one noise of each set.
    """

    sizes: tuple[int, ...]
    sets: tuple[Axes, ...]
    variances: tuple[Fraction, ...]

    def totals(self, finest: Floats, which: int) -> Floats:
        """The sums of the finest table that a grouping set shows."""
        away = tuple(i for i in range(len(self.sizes)) if i not in self.sets[which])
        return np.asarray(finest.sum(axis=away))

    def fit(self, observed: Sequence[Floats]) -> Floats:
        """The finest table of the least-squares fit to all noisy tables, each with the axes of its set in order."""
        b = np.zeros(self.sizes)
        for axes, values, variance in zip(self.sets, observed, self.variances, strict=True):
            b += values.reshape([n if i in axes else 1 for i, n in enumerate(self.sizes)]) / float(variance)
        return self._apply(b, {keys: float(1 / self._eigenvalue(keys)) for keys in self._subsets()})

    def between(self, fitted: Floats, low: Floats, high: Floats) -> Floats:
        """The table between ``low`` and ``high`` nearest to the fit, by the same weighted squares.

        By alternating directions: each step keeps to the ends exactly, more steps come nearer.
        """
        if bool(np.all((fitted >= low) & (fitted <= high))):
            return fitted
        values = {keys: float(self._eigenvalue(keys)) for keys in self._subsets()}
        pull = float(np.sqrt(min(values.values()) * max(values.values())))
        pulled = self._apply(fitted, values)
        inverse = {keys: 1 / (value + pull) for keys, value in values.items()}
        inside, price = np.clip(fitted, low, high), np.zeros_like(fitted)
        close = _CLOSE * float(np.sqrt(float(max(self.variances))))
        for _ in range(_STEPS):
            free = self._apply(pulled + pull * (inside - price), inverse)
            before, inside = inside, np.clip(free + price, low, high)
            price = price + free - inside
            if max(float(np.abs(inside - before).max()), float(np.abs(inside - free).max())) <= close:
                break
        return inside

    def law(self, which: int) -> tuple[Term, ...]:
        """How one cell of a grouping set's fit is made of the noisy numbers: the same for all cells of the set."""
        return tuple(term for other in range(len(self.sets)) for term in self._terms(which, other))

    def variance(self, which: int) -> Fraction:
        """Of one cell of the fit of a grouping set, exactly.

        >>> halves = Totals((2,), ((0,), ()), (Fraction(1), Fraction(1)))
        >>> halves.variance(1), halves.variance(0)
        (Fraction(2, 3), Fraction(2, 3))
        """
        return sum((t.many * t.coefficient**2 * self.variances[t.set] for t in self.law(which)), Fraction(0))

    def _subsets(self) -> Iterator[Axes]:
        return _subsets(tuple(range(len(self.sizes))))

    def _size(self, axes: Iterator[int] | Axes) -> int:
        return prod(self.sizes[i] for i in axes)

    def _outside(self, which: int) -> int:
        return prod(n for i, n in enumerate(self.sizes) if i not in self.sets[which])

    def _eigenvalue(self, keys: Axes) -> Fraction:
        """What A multiplies the interaction of these keys by."""
        return sum(
            (self._outside(i) / self.variances[i] for i, axes in enumerate(self.sets) if set(keys) <= set(axes)),
            Fraction(0),
        )

    def _apply(self, table: Floats, by: dict[Axes, float]) -> Floats:
        """Each interaction times its number. That of T is Σ_{U ⊆ T} (-1)^|T - U| of the means over all but U."""
        out = np.zeros_like(table)
        for kept in self._subsets():
            factor = sum((-1) ** (len(keys) - len(kept)) * by[keys] for keys in by if set(kept) <= set(keys))
            away = tuple(i for i in range(len(self.sizes)) if i not in kept)
            out += factor * (table.mean(axis=away, keepdims=True) if away else table)
        return out

    def _terms(self, which: int, other: int) -> Iterator[Term]:
        """The coefficients of another set's noisy numbers, by which shared keys they have in common with the cell."""
        shared = tuple(i for i in self.sets[which] if i in self.sets[other])
        beyond = self._size(tuple(i for i in self.sets[other] if i not in shared))
        for same in _subsets(shared):
            coefficient = Fraction(0)
            for keys in _subsets(shared):
                part = self._outside(which) / (self._eigenvalue(keys) * self.variances[other])
                for i in self.sets[other]:
                    part *= Fraction(1, self.sizes[i]) if i not in keys else (i in same) - Fraction(1, self.sizes[i])
                coefficient += part
            many = beyond * prod(self.sizes[i] - 1 for i in shared if i not in same)
            if coefficient and many:
                yield Term(other, coefficient, many)


def _subsets(axes: Axes) -> Iterator[Axes]:
    for many in range(len(axes) + 1):
        yield from combinations(axes, many)


def on_grid(values: Floats) -> Floats:
    """The same to about 15 digits, as multiples of a power of two: their sums are exact, in whatever order."""
    whole = float(np.abs(values).sum())
    if not whole:
        return values
    unit = 2.0 ** (int(np.frexp(whole)[1]) - 51)
    return np.asarray(np.round(values / unit) * unit)


def whole_in_turn(values: Floats) -> Floats:
    """Whole numbers in the place of others: of each block of neighbours, the sum moves by 1 at most.

    So do totals of a ROLLUP, whose parts are neighbours. None is below 0 unless it was.

    >>> whole_in_turn(np.array([1.4, 1.4, 1.4])).tolist()
    [1.0, 2.0, 1.0]
    """
    return np.asarray(np.diff(np.round(np.cumsum(values)), prepend=0.0))
