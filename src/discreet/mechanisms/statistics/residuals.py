"""Residuals of a table: its interaction over all axes, measured by exact noise on the cells and integer differences.

Guarantee: of a table of whole numbers plus independent discrete Gaussian noise only the differences along every axis
are released, so whatever the sums along an axis hold costs nothing. ``residual_rho`` is a certified price of that
release under zCDP: the part of the price that the residual moves by, and a correction for the lattice that is below
10^-8 of it where the noise is not tiny. Proof: residuals.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import floor, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact import exp_up
from discreet.mechanisms.statistics.budget import Moves
from discreet.noise.additive import gaussian
from discreet.randomness import Bits

TWO_PI_SQUARED = Fraction(19739, 1000)
"""2π², rounded down."""
_SLACKS = tuple(Fraction(1, 1 << bits) for bits in (40, 30, 20, 12, 8))
_LARGE_ENOUGH = 2
_FAR = 128  # e^-128 is small enough for every purpose
_SHORT = 1 << 10


def differences(table: NDArray[np.int64], beside: int = 0) -> NDArray[np.int64]:
    """What is released: differences of neighbouring entries along every axis, exactly; the first ``beside`` axes say
    which of several tables it is.

    >>> differences(np.array([[1, 2, 4], [0, 5, 5]])).tolist()
    [[4, -2]]
    """
    steps = table
    for axis in range(beside, table.ndim):
        steps = np.diff(steps, axis=axis)
    return steps


def noisy_differences(
    tables: Sequence[NDArray[np.int64]], sigma_squared: Fraction, bits: Bits, beside: int = 0
) -> list[NDArray[np.int64]]:
    """Independent discrete Gaussian noise on every cell of exact tables, and of the noisy tables the differences alone.

    For a caller who has paid ``residual_rho`` of each table; ``groups_rho`` where the first axes are ``beside``.
    """
    noise = gaussian(sigma_squared, sum(table.size for table in tables), bits)
    parts = np.split(noise, np.cumsum([table.size for table in tables])[:-1])
    return [differences(table + part.reshape(table.shape), beside) for table, part in zip(tables, parts, strict=True)]


def interaction(released: NDArray[np.int64], beside: int = 0) -> NDArray[np.float64]:
    """The table with these differences whose sums along every axis are 0; a function of what was released alone.

    >>> interaction(np.array([[4, -2]])).round(3).tolist()
    [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]]
    """
    sums: NDArray[Any] = released
    for axis in range(beside, released.ndim):
        start = np.zeros_like(sums, shape=tuple(1 if i == axis else n for i, n in enumerate(sums.shape)))
        sums = np.concatenate([start, np.cumsum(sums, axis=axis)], axis=axis)
    centred = sums.astype(np.float64)
    for axis in range(beside, released.ndim):
        centred -= centred.mean(axis=axis, keepdims=True)
    return centred


def kept_share(sizes: Sequence[int]) -> Fraction:
    """The squared length of what one cell adds to the interaction: the product of 1 - 1/n over the axes.

    >>> kept_share([2, 3])
    Fraction(1, 3)
    """
    return prod((1 - Fraction(1, n) for n in sizes), start=Fraction(1))


def residual_moves(sizes: Sequence[int], moves: Moves) -> Fraction:
    """How far the interaction moves at most, in squared L2, when the table moves so far.

    >>> residual_moves([2, 3], Moves(1, 1)), residual_moves([], Moves(3, 5)), residual_moves([10], Moves(2, 2))
    (Fraction(1, 3), Fraction(9, 1), Fraction(2, 1))
    """
    if not sizes:
        return Fraction(moves.l1**2)
    if min(sizes) == 1:
        return Fraction(0)
    others = Fraction(max(0, moves.l1**2 - moves.l2_squared), min(sizes) - 1)
    return min(Fraction(moves.l2_squared), kept_share(sizes) * (moves.l2_squared + others))


@lru_cache(maxsize=4096)
def residual_rho(sizes: tuple[int, ...], moves: Moves, sigma_squared: Fraction) -> Fraction:
    """A certified price under zCDP of releasing ``differences`` of a noisy table.

    >>> full, part = Fraction(1, 200), residual_rho((3, 3, 3), Moves(1, 1), Fraction(100))
    >>> Fraction(8, 27) * full < part < Fraction(8, 27) * full * (1 + Fraction(1, 10**8))
    True
    >>> residual_rho((50, 50), Moves(1, 1), Fraction(1)) == Fraction(1, 2)  # too little noise: the price of the cells
    True
    """
    return groups_rho(((sizes, sigma_squared),), moves)


def groups_rho(groups: Iterable[tuple[tuple[int, ...], Fraction]], moves: Moves, most_touched: int = 1) -> Fraction:
    """The same for many tables beside each other, each with its shape and noise, that share out a unit's rows.

    All tables together move by ``moves``, and at most ``most_touched`` of them move. Each kind is named once.

    >>> groups_rho([((2,), Fraction(50)), ((4,), Fraction(75))], Moves(1, 1)) < Fraction(1, 190)
    True
    """
    own = cells = gap = Fraction(0)
    certified = True
    for sizes, sigma_squared in groups:
        moved = residual_moves(sizes, moves) / (2 * sigma_squared)
        if not moved:
            continue
        own = max(own, moved)
        cells = max(cells, (moves.l2_squared if sizes else moves.l1**2) / (2 * sigma_squared))
        apart = _lattice_gap(sizes, sigma_squared)
        certified, gap = certified and apart is not None, max(gap, apart or Fraction(0))
    if not gap or not certified:
        return own if certified else cells
    return min(cells, *((1 + slack) * (own + most_touched * gap / slack) for slack in _SLACKS))


def _lattice_gap(sizes: tuple[int, ...], sigma_squared: Fraction) -> Fraction | None:
    """A bound τ: sums of e^(-|x|²/2σ²) over any two cosets of what is not released differ by at most e^τ; or None."""
    total = Fraction(0)  # nothing is kept back of one number
    for n in sizes:
        power = TWO_PI_SQUARED * sigma_squared / (len(sizes) * n)
        if power < _LARGE_ENOUGH:
            return None
        total += (
            3 * Fraction(prod(sizes), n) * exp_up(-Fraction(min(floor(power * _SHORT), _FAR * _SHORT), _SHORT), bits=32)
        )
    return 6 * total if total <= Fraction(1, 4) else None
