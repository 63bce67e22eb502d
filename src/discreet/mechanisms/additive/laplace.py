"""The Laplace mechanism: discrete Laplace noise on integers or on a grid; pure differential privacy.

Guarantee: if neighbours move the exact answer by at most ``sensitivity`` in L1, a release is ε-differentially
private with ε = sensitivity / scale, exactly. Proof: laplace.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from math import floor
from typing import Any, NoReturn, overload

from numpy.typing import NDArray

from discreet.answer import confidence_level
from discreet.errors import BadParameter
from discreet.exact import Number, exp_down, exp_up, positive
from discreet.mechanisms.additive.shared import Additive, cell_exponent, cell_width, check_dimension, is_real
from discreet.mechanisms.base.mechanism import Mechanism
from discreet.mechanisms.base.sensitivity import L1, L2, Linf, Sensitivity, as_l1
from discreet.noise import additive as noise
from discreet.privacy.numerics.search import largest
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.record import show
from discreet.randomness import Bits

_PRECISION = 128
_FAR = Fraction(-4000)  # e^-4000 is as good as 0: its exact digits would only cost time
_NORMS = (L1, L2, Linf)


@dataclass(frozen=True, slots=True)
class Laplace(Additive):
    """Made by ``laplace(...)``. ``scale`` and ``moves`` (the L1 sensitivity) are in cells."""

    scale: Fraction
    moves: int
    exponent: int | None = None
    dimension: int = 1

    @property
    def epsilon(self) -> Fraction:
        """The exact price."""
        return self.moves / self.scale

    @property
    def price(self) -> Pure:
        """The price as a promise."""
        return Pure(self.epsilon)

    @property
    def event(self) -> events.DiscreteLaplace:
        """What a release writes into the ledger."""
        return events.DiscreteLaplace(scale=self.scale, sensitivity=self.moves)

    def event_at(self, sensitivity: Sensitivity) -> events.DiscreteLaplace:
        """The event if neighbours are further apart, or closer, than the mechanism was made for."""
        return events.DiscreteLaplace(
            scale=self.scale, sensitivity=_cells_l1(sensitivity, self.exponent, self.dimension)
        )

    @property
    def cost(self) -> str:
        """The price as text."""
        return str(self.price)

    def story(self) -> str:
        """One line on what was done."""
        return f"discrete Laplace noise of scale {show(self.scale * self.cell)}"

    def noise(self, size: int | None, bits: Bits) -> int | NDArray[Any]:
        """Exact noise in cells."""
        return noise.laplace(self.scale, size, bits)

    def tail_up(self, k: int) -> Fraction:
        """P[|Z| > k] = 2 q^(k+1) / (1 + q)."""
        return 2 * exp_up(max(-(k + 1) / self.scale, _FAR), _PRECISION) / (1 + self._q()[0])

    def pmf(self, k: int) -> tuple[Fraction, Fraction]:
        """P[Z = k] = (1 - q) q^|k| / (1 + q)."""
        low, high = self._q()
        away = -abs(k) / self.scale
        least = exp_down(away, _PRECISION) if away >= _FAR else Fraction(0)
        return (1 - high) / (1 + high) * least, (1 - low) / (1 + low) * exp_up(max(away, _FAR), _PRECISION)

    def _q(self) -> tuple[Fraction, Fraction]:
        """Bounds of e^(-1/scale)."""
        if -1 / self.scale < _FAR:
            return Fraction(0), exp_up(_FAR, _PRECISION)
        return exp_down(-1 / self.scale, _PRECISION), exp_up(-1 / self.scale, _PRECISION)

    def expected_size_up(self) -> Fraction:
        """E|Z| = 2q / (1 - q^2)."""
        q = self._q()[1]
        return 2 * q / (1 - q * q)


@dataclass(frozen=True, slots=True)
class LaplaceFor:
    """A Laplace mechanism that still waits for its sensitivity: chain it behind a stable map, or call ``at``."""

    epsilon: Fraction | None
    scale: Fraction | None
    real: bool | None = None

    def release(self, value: object, receipt: object = None) -> NoReturn:
        """Refused: without a sensitivity there is no promise."""
        raise BadParameter("sensitivity", None, "must be given to release; or chain this behind a stable map with >>")

    def at(self, sensitivity: Sensitivity, dimension: int = 1) -> Laplace:
        """The mechanism for this sensitivity."""
        return _make(sensitivity, self.epsilon, self.scale, dimension, self.real)


class _LaplaceMaker:
    """The Laplace mechanism, from two of sensitivity, epsilon and scale; with one, it waits for its sensitivity.

    >>> m = laplace(sensitivity=1, epsilon="1/2")
    >>> m.scale, m.epsilon, m.error_at(0.95), round(m.expected_error, 3)
    (Fraction(2, 1), Fraction(1, 2), 6.0, 1.919)
    >>> laplace(sensitivity=1, scale=10).epsilon
    Fraction(1, 10)
    >>> (
    ...     isinstance(m.release(42).value, int),
    ...     isinstance(laplace(sensitivity="0.5", epsilon=1).release(3.7).value, float),
    ... )
    (True, True)

    With ``randomness=SanthaVazirani(gamma)`` the price holds even if every bit of the source may be biased by gamma,
    as an adversary likes, given the earlier ones: another mechanism, which needs more noise (``discreet.biased``).

    >>> from discreet.biased.sources import SanthaVazirani
    >>> laplace(sensitivity=1, epsilon=1, randomness=SanthaVazirani("0.1")).cost
    'epsilon ...'
    """

    @overload
    def __call__(
        self, *, sensitivity: Number, epsilon: Number, randomness: object, real: bool | None = None
    ) -> Mechanism[Any, Any]: ...
    @overload
    def __call__(
        self, *, sensitivity: Sensitivity, epsilon: Number | None = None, scale: Number | None = None,
        dimension: int = 1, real: bool | None = None,
    ) -> Laplace: ...  # fmt: skip
    @overload
    def __call__(self, *, epsilon: Number, scale: Number, dimension: int = 1, real: bool | None = None) -> Laplace: ...
    @overload
    def __call__(self, *, epsilon: Number, real: bool | None = None) -> LaplaceFor: ...
    @overload
    def __call__(self, *, scale: Number, real: bool | None = None) -> LaplaceFor: ...
    def __call__(
        self,
        *,
        sensitivity: Sensitivity | None = None,
        epsilon: Number | None = None,
        scale: Number | None = None,
        dimension: int = 1,
        real: bool | None = None,
        randomness: object | None = None,
    ) -> Laplace | LaplaceFor | Mechanism[Any, Any]:
        if randomness is not None:
            return _for_biased_bits(sensitivity, epsilon, scale, dimension, real=real, model=randomness)
        e = None if epsilon is None else positive(epsilon, "epsilon")
        b = None if scale is None else positive(scale, "scale")
        given = sum(x is not None for x in (sensitivity, e, b))
        if given in {0, 3}:
            raise BadParameter("laplace", f"{given} of them", "must be given two of sensitivity, epsilon and scale")
        if sensitivity is not None and given == 2:
            return _make(sensitivity, e, b, dimension, real)
        if e is not None and b is not None:
            return _largest_sensitivity(e, b, dimension, real)
        if sensitivity is not None:
            raise BadParameter(
                "epsilon", None, "must be given, or scale: a sensitivity alone says nothing of the noise"
            )
        if dimension != 1:
            raise BadParameter("dimension", dimension, "must be given with the sensitivity: at(sensitivity, dimension)")
        return LaplaceFor(e, b, real)

    def for_error(
        self,
        error: Number,
        confidence: Number,
        sensitivity: Sensitivity,
        *,
        dimension: int = 1,
        real: bool | None = None,
    ) -> Laplace:
        """The cheapest mechanism whose error is at most ``error`` with this confidence (for all entries at once).

        >>> m = laplace.for_error(25, 0.95, sensitivity=1)
        >>> m.error_at(0.95) <= 25, float(round(m.epsilon, 4))
        (True, 0.1174)
        """
        wanted = positive(error, "error")
        confidence_level(confidence)

        def good(scale: Fraction) -> bool:
            return Fraction(_make(sensitivity, None, scale, dimension, real).error_at(confidence)) <= wanted

        start = wanted / 1024
        if not good(start):
            raise BadParameter("error", error, "must be larger: no amount of budget gives this error on integers")
        return _make(sensitivity, None, largest(good, start=start, bits=20), dimension, real)


laplace = _LaplaceMaker()


def _make(
    sensitivity: Sensitivity, epsilon: Fraction | None, scale: Fraction | None, dimension: int, real: bool | None
) -> Laplace:
    dimension = check_dimension(dimension)
    moved = as_l1(sensitivity, dimension, whole=False)
    stated = sensitivity.squared if isinstance(sensitivity, L2) else as_l1(sensitivity, dimension, whole=True)
    reals = is_real(real, whole=stated.denominator == 1)
    about = scale if scale is not None else moved / (epsilon or Fraction(1))
    exponent = cell_exponent(about) if reals else None
    moves = _cells_l1(sensitivity, exponent, dimension)
    if scale is not None:
        return Laplace(scale / cell_width(exponent), moves, exponent, dimension)
    return Laplace(moves / (epsilon or Fraction(1)), moves, exponent, dimension)


def _for_biased_bits(
    sensitivity: Sensitivity | None,
    epsilon: Number | None,
    scale: Number | None,
    dimension: int,
    *,
    real: bool | None,
    model: object,
) -> Mechanism[Any, Any]:
    if laplace_under.dispatch(type(model)) is laplace_under.dispatch(object):
        return laplace_under(model, 0, 0)
    if epsilon is None or scale is not None or dimension != 1 or sensitivity is None or isinstance(sensitivity, _NORMS):
        raise BadParameter("randomness", model, "must come with sensitivity and epsilon alone, for one number")
    return laplace_under(model, sensitivity, epsilon, real=real)


@singledispatch
def laplace_under(
    model: object, sensitivity: Number, epsilon: Number, *, real: bool | None = None
) -> Mechanism[Any, Any]:
    """Laplace noise whose price holds under a model of biased bits; ``discreet.biased`` registers the models."""
    raise BadParameter("randomness", model, 'must be a model of the source, such as SanthaVazirani("0.1")')


def _cells_l1(sensitivity: Sensitivity, exponent: int | None, dimension: int) -> int:
    """The L1 sensitivity in cells: a real vector may move by one more cell in each entry, by rounding."""
    if exponent is None:
        moved = as_l1(sensitivity, dimension, whole=True)
        if moved.denominator != 1:
            raise BadParameter("sensitivity", sensitivity, "must be an integer for integer answers; or use real=True")
        return int(moved)
    return floor(as_l1(sensitivity, dimension, whole=False) / cell_width(exponent)) + dimension


def _largest_sensitivity(epsilon: Fraction, scale: Fraction, dimension: int, real: bool | None) -> Laplace:
    exponent = cell_exponent(scale) if real else None
    cells = scale / cell_width(exponent)
    moves = floor(cells * epsilon)
    if moves < 1:
        raise BadParameter("scale", scale, "must be at least 1/epsilon for integer answers, or use real=True")
    return Laplace(cells, moves, exponent, check_dimension(dimension))
