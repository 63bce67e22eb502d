"""Laplace noise that stays private when its bits are biased: inversion, and an answer on a coarse grid.

U in [0, 1) is read bit by bit; the noise is the U-quantile of the Laplace law; value plus noise is rounded to a grid
about as wide as the noise. Neighbours then use almost the same bit strings for each output, and those strings fill a
good part of a dyadic interval, so that no bias of single bits can tell them apart well.

Guarantee: if neighbours move the exact answer by at most ``sensitivity``, one release is ε-differentially private for
*every* γ-Santha-Vazirani source of bits. Proof: laplace.md.
One release: if one source biases the bits of a later release by what it gave to an earlier one, prices do not add up
(laplace.md, section 5). So its event, ``events.Biased``, is refused beside another of its kind.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.answer import Accuracy, confidence_level
from discreet.biased.bit_tree import Steps, best
from discreet.biased.certify import LN2_UP, WIDEST, all_boxes, depth_for, laplace_cdf
from discreet.biased.cover import Boxes, gains, guess, holds
from discreet.biased.sources import SanthaVazirani
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, exp_fixed, exp_up, float_up, log_up, positive
from discreet.mechanisms.additive.laplace import laplace_under
from discreet.mechanisms.base.inputs import finite_real
from discreet.mechanisms.base.mechanism import Priced
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.record import show
from discreet.randomness import Bits

_UNIT = 1 << 80
_SMALL_TAIL = Fraction(1, 1 << 30)
_OFFSETS = 8  # boxes for where the value lies between two grid points
_POINTS = 1 << 10
_STEP = Fraction(63, 64)
_TRIES = 64
_FINEST = Fraction(1, 1 << 14)  # the least sensitivity in noise scales that the certifier covers in reasonable time
_COARSEST = Fraction(16)
_SHAPES = tuple(Fraction(n, 4) for n in (1, 2, 3, 4, 6, 8, 12, 16))  # grid widths in noise scales
_PRECISION = 64
_LN2 = math.log(2)
_FAR = 1e6
_LARGEST_FLOAT = Fraction(math.nextafter(math.inf, 0))
_EXTREME = Fraction(2) ** 900


Offsets = tuple[tuple[Fraction, Fraction], ...]
"""Boxes for the distance of a value from its grid point, in cells, within 0 to 1/2."""

_EVERYWHERE: Offsets = tuple((Fraction(i, 2 * _OFFSETS), Fraction(i + 1, 2 * _OFFSETS)) for i in range(_OFFSETS))


@dataclass(frozen=True, slots=True)
class BiasedLaplace(Priced[Fraction, int | float]):
    """Made by ``biased_laplace(...)``: that is where the price is certified."""

    scale: Fraction
    grid: Fraction
    model: SanthaVazirani
    sensitivity: Fraction
    epsilon: Fraction
    whole: bool = True

    @property
    def price(self) -> Pure:
        """The price as a promise, under every source of the model."""
        return Pure(self.epsilon)

    @property
    def event(self) -> events.Biased:
        """What a release writes into the ledger."""
        return events.Biased(self.epsilon)

    def story(self) -> str:
        """One line on what was done."""
        return (
            f"Laplace noise of scale {show(self.scale)} by inversion, rounded to multiples of {show(self.grid)}; "
            f"private even if each bit is biased by gamma {show(self.model.gamma)}"
        )

    # --- accuracy ---------------------------------------------------------------------------------------------------

    @property
    def accuracy(self) -> Accuracy:
        """The mechanism knows its own accuracy."""
        return self

    @property
    def expected_error(self) -> float:
        """E|error| is at most this, whichever source of the model gives the bits and whatever the value is."""
        return float_up(self.scale * _expected(self.grid / self.scale, self.model.gamma, self._offsets))

    @property
    def expected_error_fair(self) -> float:
        """E|error| is at most this if the bits are fair, whatever the value is."""
        return float_up(self.scale * _expected(self.grid / self.scale, Fraction(0), self._offsets))

    def error_at(self, confidence: Number) -> float:
        """|error| is at most this with the given confidence, whichever source of the model gives the bits."""
        miss = 1 - confidence_level(confidence)
        width, gamma, offsets = self.grid / self.scale, self.model.gamma, self._offsets
        high = 1
        while _beyond(high, width, gamma, offsets) > miss:
            high *= 2
        low = -1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _beyond(middle, width, gamma, offsets) <= miss else (middle, high)
        error = (high + Fraction(1, 2)) * self.grid
        return float_up(Fraction(math.floor(error)) if self.whole else error)

    def interval(self, confidence: Number) -> tuple[float, float]:
        """The error bar around a released value: the truth lies within (value + low, value + high)."""
        error = self.error_at(confidence)
        return -error, error

    @property
    def _offsets(self) -> Offsets:
        """Where values may lie between grid points: each place by itself if whole numbers have few."""
        if self.whole and self.grid <= _OFFSETS:
            return tuple((i / self.grid, i / self.grid) for i in range(int(self.grid) // 2 + 1))
        return _EVERYWHERE

    # --- release ----------------------------------------------------------------------------------------------------

    def read(self, value: Any) -> Fraction:
        """The exact value: a whole number, or a finite real one."""
        if isinstance(value, bool) or not isinstance(value, numbers.Integral if self.whole else numbers.Real):
            raise BadData(f"the value must be a {'whole' if self.whole else 'finite real'} number")
        exact = finite_real(value)
        if exact is None:
            raise BadData("the value must be a finite real number")
        return exact

    def draw(self, value: Fraction, bits: Bits) -> int | float:
        """The nearest grid point to value plus noise; the k-th bit drawn is the k-th bit of U."""
        return self._output(self._cell(value, bits))

    def _output(self, cell: int) -> int | float:
        """The output of a cell; a real one as the nearest float, or the largest."""
        point = cell * self.grid
        if self.whole:
            return int(point)
        return float_up(min(max(point, -_LARGEST_FLOAT), _LARGEST_FLOAT))

    def _cell(self, value: Fraction, bits: Bits) -> int:
        """The cell that U is in, as soon as the bits so far decide it: t_j <= U < t_(j+1)."""
        home = round(value / self.grid)
        offset = value - home * self.grid
        scale, shift, grid = float(self.scale), float(offset), float(self.grid)
        u = n = 0
        while True:
            u, n = u << 1 | bits.bits(1), n + 1
            first = round((_near_noise(u, n) * scale + shift) / grid)
            last = round((_near_noise(u + 1, n) * scale + shift) / grid)
            if last - first <= 1:  # floats say where to look; the certified ends decide
                for j in range(first, last + 1):
                    if self._starts_by(j, offset, u, n) and self._ends_after(j, offset, u + 1, n):
                        return home + j

    def _starts_by(self, j: int, offset: Fraction, u: int, n: int) -> bool:
        """Whether t_j <= u/2^n for certain."""
        precision = _precision(n)
        return _edge(self._at(j, offset), precision)[1] <= u << (precision - n)

    def _ends_after(self, j: int, offset: Fraction, u: int, n: int) -> bool:
        """Whether u/2^n <= t_(j+1) for certain."""
        precision = _precision(n)
        return u << (precision - n) <= _edge(self._at(j + 1, offset), precision)[0]

    def _at(self, j: int, offset: Fraction) -> Fraction:
        """Where cell j (counted from the grid point next to the value) starts, as noise in scales."""
        return ((j - Fraction(1, 2)) * self.grid - offset) / self.scale

    def law(self, value: Fraction) -> dict[Any, tuple[Fraction, Fraction]]:
        """Bounds of the probability of each output if the bits are fair; what is left out has mass below 2^-100."""
        home = round(value / self.grid)
        offset = value - home * self.grid
        reach = math.ceil(72 * self.scale / self.grid) + 2
        ends = [_edge(self._at(j, offset), 256) for j in range(-reach, reach + 2)]
        return {
            self._output(home + j): (
                Fraction(max(0, after[0] - before[1]), 1 << 256),
                Fraction(after[1] - before[0], 1 << 256),
            )
            for j, before, after in zip(range(-reach, reach + 1), ends, ends[1:], strict=False)
        }


def _near_noise(u: int, n: int) -> float:
    """About the noise at U = u/2^n, in scales, and far out where it would be infinite: a guess, never more."""
    above = (1 << n) - u
    if u <= above:
        return math.log(2 * u) - n * _LN2 if u else -_FAR
    return n * _LN2 - math.log(2 * above) if above else _FAR


def _precision(n: int) -> int:
    return 64 * (n // 64 + 2)


@lru_cache(maxsize=1 << 14)
def _edge(x: Fraction, precision: int) -> tuple[int, int]:
    return laplace_cdf(x, precision)


# --- how far off ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 14)
def _tail(t: Fraction, gamma: Fraction) -> Fraction:
    """The largest P[noise >= t scales, given that it is positive] over all γ-SV sources, rounded up."""
    if t <= 0:
        return Fraction(1)
    depth = depth_for(gamma, t)
    cut = exp_fixed(-t, depth)[1]
    if cut >= 1 << depth:
        return Fraction(1)
    return Fraction(best(Steps([cut], [_UNIT, 0], depth), gamma, up=True), _UNIT)


def _beyond(k: int, width: Fraction, gamma: Fraction, offsets: Offsets) -> Fraction:
    """An upper bound of P[|error| > (k + 1/2) cells], wherever the value lies and whichever source it is."""
    half = Fraction(1, 2)
    return max(
        _either(
            _tail((k + half - high) * width, gamma),
            _tail((k + half + low) * width, gamma),
            gamma,
        )
        for low, high in offsets
    )


def _either(up: Fraction, down: Fraction, gamma: Fraction) -> Fraction:
    """The first bit goes to the worse half with (1+γ)/2."""
    return (up + down) / 2 + gamma * abs(up - down) / 2


@lru_cache(maxsize=1 << 10)
def _expected(width: Fraction, gamma: Fraction, offsets: Offsets) -> Fraction:
    """An upper bound of E|error| in noise scales, for a grid of this width in noise scales."""
    return width * max(_either(*_expected_halves(low, high, width, gamma), gamma) for low, high in offsets)


def _expected_halves(low: Fraction, high: Fraction, width: Fraction, gamma: Fraction) -> tuple[Fraction, Fraction]:
    """E|error| in cells given noise upwards and downwards, for a value r above its grid point, low <= r <= high.

    Upwards the error is r, 1-r, 2-r, ...; downwards r, 1+r, 2+r, ...: it grows at 1/2 - r + k and at 1/2 + r + k.
    """
    up, down = high, high
    k = 0
    while True:
        above = _tail((Fraction(1, 2) - high + k) * width, gamma)
        up += above * (1 - 2 * low if k == 0 else 1)
        down += _tail((Fraction(1, 2) + low + k) * width, gamma)
        k += 1
        if above < _SMALL_TAIL or k > 4096:
            rest = _rest((Fraction(1, 2) - high + k) * width, width, gamma)
            return up + rest, down + rest


def _rest(t: Fraction, width: Fraction, gamma: Fraction) -> Fraction:
    """An upper bound of the sum of tails at t, t + width, t + 2 width, ...: each is at most p^(t/ln 2 - 1)."""
    p = (1 + gamma) / 2
    rate = -log_up(p, _PRECISION) / log_up(Fraction(2), _PRECISION)
    return exp_up(-rate * t, _PRECISION) / p / (1 - exp_up(-rate * width, _PRECISION))


# --- finding the noise and the grid -----------------------------------------------------------------------------------


def biased_laplace(
    sensitivity: Number, epsilon: Number, gamma: Number, *, grid: Number | None = None, real: bool | None = None
) -> BiasedLaplace:
    """The mechanism with the least certified error that is ε-DP for every γ-Santha-Vazirani source.

    Answers are whole numbers if the sensitivity is (unless ``real``); ``grid`` fixes the multiples that come out.

    >>> m = biased_laplace(sensitivity=1, epsilon=1, gamma="0.1")
    >>> m.cost, m.grid, 1 < m.scale < 3, m.expected_error < 3
    ('epsilon 1', Fraction(2, 1), True, True)
    >>> isinstance(m.release(42).value, int)
    True
    """
    moved, wanted, model = positive(sensitivity, "sensitivity"), positive(epsilon, "epsilon"), SanthaVazirani(gamma)
    if not 1 / _EXTREME <= moved <= _EXTREME:
        raise BadParameter("sensitivity", sensitivity, "must lie between 2^-900 and 2^900")
    reals = moved.denominator != 1 if real is None else real
    if not reals and moved.denominator != 1:
        raise BadParameter("sensitivity", sensitivity, "must be an integer for whole answers; leave out real=False")
    if grid is None:
        scale, step = _search(moved, wanted, model.gamma, whole=not reals)
    else:
        step = positive(grid, "grid")
        if not reals and step.denominator != 1:
            raise BadParameter("grid", grid, "must be an integer for whole answers; or use real=True")
        scale = _scale_for(step, moved, wanted, model.gamma)
    return BiasedLaplace(scale, step, model, moved, wanted, whole=not reals)


@lru_cache(maxsize=256)
@laplace_under.register
def _(model: SanthaVazirani, sensitivity: Number, epsilon: Number, *, real: bool | None = None) -> BiasedLaplace:
    return biased_laplace(sensitivity, epsilon, model.gamma, real=real)


def _search(moved: Fraction, epsilon: Fraction, gamma: Fraction, *, whole: bool) -> tuple[Fraction, Fraction]:
    """Scale and grid with the least certified expected error among a few shapes."""
    shapes: list[tuple[Fraction, Fraction, Fraction]] = []
    beta: Fraction | None = None
    for shape in _SHAPES:
        beta = _largest_move(shape, gamma, epsilon, beta)
        if beta is not None:
            shapes.append((_expected(shape, gamma, _EVERYWHERE[::3]) / beta, shape, beta))
    good = _best_grids(min(shapes), moved, epsilon, gamma, whole) if shapes else []
    if not good:
        least = min(guess(_points(_FINEST, shape), shape, gamma)[0] for shape in _SHAPES)
        raise BadParameter(
            "epsilon",
            float(epsilon),
            f"must be at least about {least:.2g} with gamma {float(gamma):g}: no grid that the certifier covers "
            "reaches less",
        )
    _, scale, step = min(good)
    return scale, step


def _best_grids(
    shaped: tuple[Fraction, Fraction, Fraction], moved: Fraction, epsilon: Fraction, gamma: Fraction, whole: bool
) -> list[tuple[float, Fraction, Fraction]]:
    """Certified error, scale and grid, for grids around the best shape."""
    _, shape, beta = shaped
    good: list[tuple[float, Fraction, Fraction]] = []
    for step in _grids(shape * moved / beta, whole):
        scale = _certified(step, moved, epsilon, gamma, beta * Fraction(5, 4))
        if scale is not None:
            made = BiasedLaplace(scale, step, SanthaVazirani(gamma), moved, epsilon, whole)
            good.append((made.expected_error, scale, step))
    return good


def _grids(about: Fraction, whole: bool) -> list[Fraction]:
    """Grid widths to try: whole numbers, or numbers of three binary digits, from about half to twice the best shape."""
    factors = [Fraction(n, 4) for n in (2, 3, 4, 5, 6, 8)]
    if whole:
        return sorted({Fraction(max(1, round(about * f))) for f in factors} | {Fraction(max(1, math.ceil(about)))})
    return sorted({_short(about * f) for f in factors})


def _short(x: Fraction, digits: int = 3) -> Fraction:
    """x rounded up to so many binary digits."""
    exponent = x.numerator.bit_length() - x.denominator.bit_length() - digits
    unit = Fraction(2) ** exponent
    return math.ceil(x / unit) * unit


def _points(moved: Fraction, width: Fraction, count: int = _POINTS) -> Boxes:
    return Boxes.spread(-moved - width - LN2_UP, LN2_UP, (moved, moved), count).middles()


def _seems(moved: Fraction, width: Fraction, gamma: Fraction, epsilon: Fraction) -> bool:
    """Whether no point of a sample speaks against it: a guide, which a proof follows."""
    return not bool((gains(_points(moved, width), width, gamma, epsilon * _STEP) > 0).any())


def _largest_move(width: Fraction, gamma: Fraction, epsilon: Fraction, near: Fraction | None) -> Fraction | None:
    """About the largest sensitivity in noise scales that fits, when smaller ones do; None if none does."""

    def fits(moved: Fraction) -> bool:
        return _seems(moved, width, gamma, epsilon)

    lowest, highest = math.log2(_FINEST), math.log2(_COARSEST)
    low = lowest if near is None else max(lowest, math.log2(near) - 1)
    if not fits(Fraction(2**low)):
        if low == lowest or not fits(_FINEST):
            return None
        low = lowest
    high, step = low, 1.0 if near is not None else 4.0
    while high < highest:
        high = min(highest, low + step)
        if not fits(Fraction(2**high)):
            break
        low = high
    else:
        return _COARSEST
    while high - low > 1 / 24:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(Fraction(2**middle)) else (low, middle)
    return Fraction(2**low)


def _certified(
    step: Fraction, moved: Fraction, epsilon: Fraction, gamma: Fraction, largest: Fraction
) -> Fraction | None:
    """The least scale from moved/largest on, in steps of 1/64, at which this grid is proven to keep ε."""
    beta = largest
    for _ in range(_TRIES):
        scale = _short(moved / beta, 10)
        shift, width = moved / scale, step / scale
        if width <= WIDEST and _seems(shift, width, gamma, epsilon) and holds(
            all_boxes(shift, width), width, gamma, epsilon
        ).holds:  # fmt: skip
            return scale
        beta *= _STEP
    return None


def _scale_for(step: Fraction, moved: Fraction, epsilon: Fraction, gamma: Fraction) -> Fraction:
    """The least scale at which a given grid keeps ε; if there is none, say what the grid can keep."""
    least = math.inf
    for i in range(-9, 13):
        scale = step * Fraction(2 ** (i / 2))
        shift, width = moved / scale, step / scale
        if not _FINEST <= shift <= _COARSEST:
            continue
        if _seems(shift, width, gamma, epsilon):
            certified = _certified(step, moved, epsilon, gamma, min(shift * Fraction(3, 2), _COARSEST))
            if certified is not None:
                return certified
        least = min(least, guess(_points(shift, width, _POINTS // 4), width, gamma, within=0.01)[0])
    raise BadParameter(
        "epsilon",
        float(epsilon),
        f"must be at least about {least:.3g} on a grid of {show(step)} with gamma {float(gamma):g}, whatever the "
        "noise; a coarser grid reaches less",
    )
