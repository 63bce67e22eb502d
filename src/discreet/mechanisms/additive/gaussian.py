"""The Gaussian mechanism: discrete Gaussian noise on integers or on a grid; concentrated differential privacy.

Guarantee: if neighbours move the exact answer by at most ``sensitivity`` in L2, a release is ρ-zCDP with
ρ = sensitivity² / (2 sigma²), exactly; and (ε, δ)-differentially private with the δ of the discrete law.
Proof: gaussian.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isqrt
from typing import Any, NoReturn, overload

from numpy.typing import NDArray

from discreet.answer import confidence_level
from discreet.errors import BadParameter
from discreet.exact import Number, positive, sqrt_up
from discreet.mechanisms.additive.shared import Additive, cell_exponent, cell_width, check_dimension, is_real
from discreet.mechanisms.base.sensitivity import Sensitivity, as_l2_squared
from discreet.noise import additive as noise
from discreet.privacy.accountants import discrete_gaussian as law
from discreet.privacy.accountants.conversions import largest_zcdp
from discreet.privacy.accountants.gaussian_vectors import vector_budget
from discreet.privacy.numerics.search import largest, least
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx
from discreet.privacy.promises.record import show
from discreet.randomness import Bits


@dataclass(frozen=True, slots=True)
class Gaussian(Additive):
    """Made by ``gaussian(...)``. ``sigma_squared`` and ``moves_squared`` (the squared L2 sensitivity) are in cells."""

    sigma_squared: Fraction
    moves_squared: int
    exponent: int | None = None
    dimension: int = 1
    goal: Approx | None = None
    """The (ε, δ) that it was made for, which its own law keeps."""

    @property
    def rho(self) -> Fraction:
        """The exact price under zCDP."""
        return self.moves_squared / (2 * self.sigma_squared)

    @property
    def price(self) -> ZCDP:
        """The price as a promise."""
        return ZCDP(self.rho)

    @property
    def event(self) -> events.DiscreteGaussian | events.Stated:
        """What a release writes into the ledger: with the (ε, δ), if it was made for one."""
        return self._event(self.moves_squared)

    def event_at(self, sensitivity: Sensitivity) -> events.DiscreteGaussian | events.Stated:
        """The event if neighbours are further apart, or closer, than the mechanism was made for."""
        return self._event(_cells_l2_squared(sensitivity, self.exponent, self.dimension))

    def _event(self, moved: int) -> events.DiscreteGaussian | events.Stated:
        discrete = events.DiscreteGaussian(
            sigma_squared=self.sigma_squared, sensitivity_squared=moved, dimension=self.dimension
        )
        if self.goal is None or moved > self.moves_squared:
            return discrete
        return events.Stated(discrete, self.goal.epsilon, self.goal.delta)

    @property
    def cost(self) -> str:
        """The price as text."""
        return str(self.price) if self.goal is None else f"{self.goal} ({self.price})"

    def story(self) -> str:
        """One line on what was done."""
        return f"discrete Gaussian noise of sigma {show(sqrt_up(self.sigma_squared) * self.cell)}"

    def noise(self, size: int | None, bits: Bits) -> int | NDArray[Any]:
        """Exact noise in cells."""
        return noise.gaussian(self.sigma_squared, size, bits)

    def tail_up(self, k: int) -> Fraction:
        """P[|Z| > k] = 2 P[Z >= k + 1]."""
        return 2 * law.tail_up(self.sigma_squared, k + 1)

    def pmf(self, k: int) -> tuple[Fraction, Fraction]:
        """P[Z = k] = P[Z >= k] - P[Z >= k + 1]."""
        low, high = law.pmf(self.sigma_squared, k)
        return low, high

    def expected_size_up(self) -> Fraction:
        """E|Z|, rounded up."""
        return law.expected_size_up(self.sigma_squared)


@dataclass(frozen=True, slots=True)
class GaussianFor:
    """A Gaussian mechanism that still waits for its sensitivity: chain it behind a stable map, or call ``at``."""

    cost: ZCDP | Approx | None
    sigma_squared: Fraction | None
    real: bool | None = None

    def release(self, value: object, receipt: object = None) -> NoReturn:
        """Refused: without a sensitivity there is no promise."""
        raise BadParameter("sensitivity", None, "must be given to release; or chain this behind a stable map with >>")

    def at(self, sensitivity: Sensitivity, dimension: int = 1) -> Gaussian:
        """The mechanism for this sensitivity."""
        return _make(sensitivity, self.cost, self.sigma_squared, dimension, self.real)


class _GaussianMaker:
    """The Gaussian mechanism, from two of sensitivity, noise (sigma or its square), cost (rho, or epsilon and delta).

    >>> m = gaussian(sensitivity=1, rho="1/8")
    >>> m.sigma_squared, m.rho, m.error_at(0.95)
    (Fraction(4, 1), Fraction(1, 8), 4.0)
    >>> tight = gaussian(sensitivity=1, epsilon=1, delta="1e-6")  # the discrete law, not a borrowed formula
    >>> 17 < tight.sigma_squared < 18
    True
    """

    @overload
    def __call__(
        self, *, sensitivity: Sensitivity, sigma: Number | None = None, sigma_squared: Number | None = None,
        rho: Number | None = None, epsilon: Number | None = None, delta: Number | None = None,
        dimension: int = 1, real: bool | None = None,
    ) -> Gaussian: ...  # fmt: skip
    @overload
    def __call__(
        self, *, sigma: Number | None = None, sigma_squared: Number | None = None,
        rho: Number | None = None, epsilon: Number | None = None, delta: Number | None = None,
        dimension: int = 1, real: bool | None = None,
    ) -> Gaussian | GaussianFor: ...  # fmt: skip
    def __call__(
        self,
        *,
        sensitivity: Sensitivity | None = None,
        sigma: Number | None = None,
        sigma_squared: Number | None = None,
        rho: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        dimension: int = 1,
        real: bool | None = None,
    ) -> Gaussian | GaussianFor:
        spread = _spread(sigma, sigma_squared)
        cost = _cost(rho, epsilon, delta)
        given = sum(x is not None for x in (sensitivity, spread, cost))
        if given in {0, 3}:
            raise BadParameter("gaussian", f"{given} of them", "must be given two of sensitivity, noise and cost")
        if sensitivity is not None and given == 2:
            return _make(sensitivity, cost, spread, dimension, real)
        if sensitivity is not None:
            raise BadParameter("rho", None, "must be given, or sigma: a sensitivity alone says nothing of the noise")
        if spread is not None and cost is not None:
            return _largest_sensitivity(cost, spread, dimension, real)
        if dimension != 1:
            raise BadParameter("dimension", dimension, "must be given with the sensitivity: at(sensitivity, dimension)")
        return GaussianFor(cost, spread, real)

    def for_error(
        self,
        error: Number,
        confidence: Number,
        sensitivity: Sensitivity,
        *,
        dimension: int = 1,
        real: bool | None = None,
    ) -> Gaussian:
        """The cheapest mechanism whose error is at most ``error`` with this confidence (for all entries at once).

        >>> m = gaussian.for_error(25, 0.95, sensitivity=1)
        >>> m.error_at(0.95) <= 25, 12 < float(m.sigma_squared) ** 0.5 < 13.1
        (True, True)
        """
        wanted = positive(error, "error")
        confidence_level(confidence)

        def good(sigma: Fraction) -> bool:
            return Fraction(_make(sensitivity, None, sigma**2, dimension, real).error_at(confidence)) <= wanted

        start = wanted / 64
        if not good(start):
            raise BadParameter("error", error, "must be larger: no amount of budget gives this error on integers")
        return _make(sensitivity, None, largest(good, start=start, bits=12) ** 2, dimension, real)


gaussian = _GaussianMaker()


def _spread(sigma: Number | None, sigma_squared: Number | None) -> Fraction | None:
    if sigma is not None and sigma_squared is not None:
        raise BadParameter("sigma", sigma, "must not be given together with sigma_squared")
    if sigma is not None:
        return positive(sigma, "sigma") ** 2
    return None if sigma_squared is None else positive(sigma_squared, "sigma_squared")


def _cost(rho: Number | None, epsilon: Number | None, delta: Number | None) -> ZCDP | Approx | None:
    if rho is not None:
        if epsilon is not None or delta is not None:
            raise BadParameter("rho", rho, "must not be given together with epsilon or delta")
        return ZCDP(positive(rho, "rho"))
    if (epsilon is None) != (delta is None):
        raise BadParameter("delta", delta, "must be given with epsilon: Gaussian noise is never purely private")
    if epsilon is None or delta is None:
        return None
    return Approx(positive(epsilon, "epsilon"), positive(delta, "delta"))


def _make(
    sensitivity: Sensitivity, cost: ZCDP | Approx | None, spread: Fraction | None, dimension: int, real: bool | None
) -> Gaussian:
    dimension = check_dimension(dimension)
    moved = as_l2_squared(sensitivity, dimension)
    whole = moved.denominator == 1 and (dimension > 1 or isqrt(int(moved)) ** 2 == moved)
    reals = is_real(real, whole)
    about = spread if spread is not None else moved * _relative_spread(cost, 1 << 60)
    exponent = cell_exponent(sqrt_up(about)) if reals else None
    moves = _cells_l2_squared(sensitivity, exponent, dimension)
    if spread is not None:
        return Gaussian(spread / cell_width(exponent) ** 2, moves, exponent, dimension)
    shift = isqrt(moves) if dimension == 1 or moves == 1 else 0
    goal = cost if isinstance(cost, Approx) else None
    return Gaussian(_enough(cost, moves, shift), moves, exponent, dimension, goal)


def _enough(cost: ZCDP | Approx | None, moves_squared: int, shift: int) -> Fraction:
    """The least sigma² that fits the cost; ``shift`` is the move of a single coordinate, 0 if several may move."""
    match cost:
        case ZCDP(rho=rho):
            return moves_squared / (2 * rho)
        case Approx(epsilon=epsilon, delta=delta) if shift:
            return _least_spread(epsilon, delta, shift)
        case Approx():
            by_zcdp = moves_squared / (2 * largest_zcdp(cost).rho)
            return min(by_zcdp, vector_budget(cost).sigma_squared(moves_squared, coordinates=moves_squared))
        case _:
            raise BadParameter("rho", None, "must be given, or epsilon and delta, or sigma")


@lru_cache(maxsize=64)
def _least_spread(epsilon: Fraction, delta: Fraction, shift: int) -> Fraction:
    """The least sigma², to 24 bits, whose exact discrete δ(ε) is certified to be at most delta."""
    by_zcdp = shift * shift / (2 * largest_zcdp(Approx(epsilon, delta)).rho)
    start = Fraction(ceil(by_zcdp * (1 << 32)), 1 << 32)  # a short number, so that those between are short too
    return least(lambda s2: s2 > 0 and law.delta_up(s2, shift, epsilon) <= delta, start=start, bits=24)


def _relative_spread(cost: ZCDP | Approx | None, shift: int) -> Fraction:
    """About sigma² / sensitivity², to choose the grid by."""
    return _enough(ZCDP(largest_zcdp(cost).rho) if isinstance(cost, Approx) else cost, 1, shift)


def _cells_l2_squared(sensitivity: Sensitivity, exponent: int | None, dimension: int) -> int:
    """The squared L2 sensitivity in cells: rounding moves each entry by one more cell, sqrt(d) in length."""
    moved = as_l2_squared(sensitivity, dimension)
    if exponent is None:
        if moved.denominator != 1 or (dimension == 1 and isqrt(int(moved)) ** 2 != moved):
            raise BadParameter("sensitivity", sensitivity, "must be an integer for integer answers; or use real=True")
        return int(moved)
    length = sqrt_up(moved) / cell_width(exponent)
    return (floor(length) + 1) ** 2 if dimension == 1 else floor((length + sqrt_up(Fraction(dimension))) ** 2)


def _largest_sensitivity(cost: ZCDP | Approx, spread: Fraction, dimension: int, real: bool | None) -> Gaussian:
    exponent = cell_exponent(sqrt_up(spread)) if real else None
    cells = spread / cell_width(exponent) ** 2
    rho = cost.rho if isinstance(cost, ZCDP) else largest_zcdp(cost).rho
    moves = floor(2 * rho * cells)
    if dimension == 1:
        moves = isqrt(moves) ** 2
    if moves < 1:
        raise BadParameter(
            "sigma", sqrt_up(spread), "must be larger for integer answers at this cost, or use real=True"
        )
    return Gaussian(cells, moves, exponent, check_dimension(dimension))
