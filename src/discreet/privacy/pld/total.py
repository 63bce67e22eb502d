"""The sum of many losses on one grid, by FFT, with every error bounded.

Promise: ``delta_below`` and ``delta_above`` enclose E[(1 - e^{ε-S})_+; S finite] + P[S = ∞] for the sum S of the given
laws' losses, the lower side for losses lowered by the slips and the upper for losses raised by them.
Believes: beliefs.py.

How: masses are tilted by e^{θ·loss} so that the sum is centred where ε is and the answer, however small, is a fair
part of the whole. The window of the FFT is chosen by Chernoff bounds of the tilted sums themselves, which are finite
sums and always exist; what falls outside wraps around, which adds to the upper side and is subtracted from the lower.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.pld.beliefs import ELEMENTARY, FOURIER, ROUND, Array
from discreet.privacy.pld.law import Law

Spectrum: TypeAlias = NDArray[np.complex128]

_OUTSIDE = 1e-11  # tilted mass that may lie outside the window, on each side
LARGEST = 1 << 22


@dataclass(frozen=True, slots=True)
class Total:
    """The law of a sum in a window of the grid; the mass at S is y·e^{log_scale - theta·S}."""

    step: float
    origin: float
    y: Array
    theta: float
    log_scale: float
    outside_low: float  # tilted mass below the window
    outside_high: float  # and above it
    error: float  # of y, in l2
    relative: float  # of every mass
    infinite: float
    slip: float

    @property
    def infinite_above(self) -> float:
        """An upper bound of the mass at infinite loss, for a sum of raised laws."""
        return min(1.0, self.infinite * (1.0 + 2.0**-40))

    @property
    def infinite_below(self) -> float:
        """A lower bound of it, for a sum of lowered laws."""
        return self.infinite * (1.0 - 2.0**-40)

    @property
    def ends(self) -> tuple[float, float]:
        """The losses at the two ends of the window."""
        return self.origin, self.origin + self.step * (len(self.y) - 1)

    def _weights(self, epsilon: float) -> tuple[Array, Array, Array]:
        """y above ε; e^{-θ(S-ε)}; and 1 - e^{ε-S}, which is not negative."""
        start = max(0, min(len(self.y), math.floor((epsilon - self.origin) / self.step)))
        over = np.maximum(self.origin + self.step * np.arange(start, len(self.y)) - epsilon, 0.0)
        return self.y[start:], np.exp(-self.theta * over), -np.expm1(-over)

    def _scale(self, epsilon: float) -> float:
        """e^{log_scale - θε}, cut off far above 1: a smaller scale is safe on the lower side alone."""
        return math.exp(min(600.0, self.log_scale - self.theta * epsilon))

    def value_and_slope(self, epsilon: float) -> tuple[float, float]:
        """δ(ε) and -δ'(ε), without their errors: for a search that is checked afterwards."""
        y, damp, gap = self._weights(epsilon)
        weighted = y * damp
        value = float((weighted * gap).sum())
        return self._scale(epsilon) * value + self.infinite, self._scale(epsilon) * (float(weighted.sum()) - value)

    def delta_above(self, epsilon: float) -> float:
        """An upper bound of δ(ε) when this is a sum of raised laws."""
        epsilon = epsilon - self.slip
        if self.log_scale - self.theta * epsilon > 600.0:
            return 1.0
        y, damp, gap = self._weights(epsilon)
        weight = damp * gap
        value = float((y * weight).sum()) * (1.0 + 2.0**-40) + self.error * _norm(weight)
        low, high = self.ends
        if epsilon < low:
            value += self.outside_low
        value += self.outside_high * (math.exp(-self.theta * max(0.0, high - epsilon)))
        # a sum of n products: pairwise or not, its error is below n ROUND/2 of the sum of their sizes
        value += len(y) * ROUND * _norm(y) * _norm(weight)
        scale = self._scale(epsilon) * (1.0 + self.relative + _exponent_error(self.log_scale, self.theta * epsilon))
        return min(1.0, max(0.0, value) * scale + self.infinite_above)

    def delta_below(self, epsilon: float) -> float:
        """A lower bound of δ(ε) when this is a sum of lowered laws."""
        epsilon = epsilon + self.slip
        y, damp, gap = self._weights(epsilon)
        weight = damp * gap
        value = float((y * weight).sum()) * (1.0 - 2.0**-40) - self.error * _norm(weight)
        value -= (self.outside_low + self.outside_high) * _largest_weight(self.theta)
        value -= len(y) * ROUND * _norm(y) * _norm(weight)
        scale = self._scale(epsilon) * (1.0 - self.relative - _exponent_error(self.log_scale, self.theta * epsilon))
        return max(0.0, max(0.0, value) * scale + self.infinite_below) + 0.0

    def curve_below(self) -> tuple[Array, Array]:
        """Lower bounds of δ at every grid point of the window, in one sweep.

        The losses returned are lowered by the slip, so that δ is bounded at just these ε.
        """
        theta, step, y = self.theta, self.step, self.y
        losses = np.asarray(self.origin + step * np.arange(len(y)), dtype=np.float64)
        upper, lower = _sweep(y, theta * step), _sweep(y, (theta + 1.0) * step)
        # rounding: sums of at most n terms, exponents up to 500; FFT: its l2 error times the l2 norm of the weights
        spread = 1.0 / -math.expm1(-2.0 * theta * step) if theta > 0.0 else math.inf
        fixed = self.error * math.sqrt(min(float(len(y)), spread)) + self.outside_low + self.outside_high
        doubt = fixed + (len(y) + 500.0) * 4.0 * ROUND * (upper + lower)
        relative = self.relative + ELEMENTARY + 4.0 * ROUND * (abs(self.log_scale) + theta * np.abs(losses))
        scale = np.exp(np.minimum(self.log_scale - theta * losses, 600.0)) * (1.0 - relative)
        finite = np.maximum(upper - lower - doubt, 0.0) * scale
        return losses - self.slip, np.asarray(np.minimum(1.0, finite + self.infinite_below), dtype=np.float64)


def _sweep(y: Array, rate: float) -> Array:
    """At each place, Σ over later places of y e^{-rate·distance}; in blocks whose exponents cannot overflow."""
    result = np.zeros(len(y))
    block = max(1, min(len(y), int(500.0 / rate))) if rate > 0.0 else len(y)
    place = np.arange(block)
    shrink, grow = np.exp(-rate * place), np.exp(rate * place)
    carry = 0.0
    for end in range(len(y), 0, -block):
        start = max(0, end - block)
        size = end - start
        later = np.concatenate([np.cumsum((y[start:end] * shrink[:size])[::-1])[::-1][1:], [0.0]])
        result[start:end] = (later + carry * math.exp(-rate * size)) * grow[:size]
        carry = float(y[start] + result[start])
    return result


def _norm(x: Array) -> float:
    return math.sqrt(float((x * x).sum())) * (1.0 + 2.0**-20)


def _largest_weight(theta: float) -> float:
    """max over d >= 0 of e^{-θd}(1 - e^{-d}): at e^{-d} = θ/(1+θ)."""
    if theta <= 0.0:
        return 1.0
    return min(1.0, math.exp(-theta * math.log1p(1.0 / theta)) / (1.0 + theta) * (1.0 + 2.0**-20))


def _exponent_error(*parts: float) -> float:
    return ELEMENTARY + 4.0 * ROUND * sum(map(abs, parts))


# --- the window ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tilted:
    """A law tilted by θ: its weights, which sum to 1; the log of what they were divided by; the relative error."""

    law: Law
    times: int
    weight: Array
    log_norm: float
    doubt: float

    @property
    def variance(self) -> float:
        """Of one loss."""
        losses = self.law.grid.losses
        centre = float((self.weight * losses).sum())
        return float((self.weight * (losses - centre) ** 2).sum())


@dataclass(frozen=True, slots=True)
class Window:
    """Places of the grid (in steps from the sum of the firsts), and the tilted mass that lies outside on each side."""

    first: int
    count: int
    low: float
    high: float


def window(parts: list[Tilted], theta: float) -> Window:
    """A window for the tilted sum.

    P[S > b] <= e^{K(θ+λ) - K(θ) - λb} for every λ > 0, so b = (K(θ+λ) - K(θ) + log 1/τ)/λ leaves at most τ above.
    """
    step = parts[0].law.grid.step
    reach = sum(part.times * (part.law.grid.count - 1) for part in parts)
    base = sum(part.times * _ends(part.law)[0] for part in parts)
    variance = max(sum(part.times * part.variance for part in parts), step * step)
    ups = np.array([0.1, 0.3, 1.0, 3.5, 7.0, 14.0]) / math.sqrt(variance)  # the small ones where rare losses are large
    downs = np.concatenate([ups, [0.5 * theta + 0.1, theta + 0.1, theta + 0.5]])  # near 0 moments are surely mild
    tilts = np.concatenate([theta + ups, theta - downs])
    rises = sum((part.times * (part.law.log_moments(tilts) - part.log_norm) for part in parts), np.zeros(len(tilts)))
    need = math.log(1.0 / _OUTSIDE)
    high = min([reach, *(math.ceil(x) + 1 for x in ((rises[: len(ups)] + need) / ups - base) / step)])
    low = max([0, *(math.floor(x) - 1 for x in (-(rises[len(ups) :] + need) / downs - base) / step)])
    low = min(low, high)
    # moments carry a relative error of ELEMENTARY per law, so the exponents below one of times·ELEMENTARY·(...)
    times = sum(part.times for part in parts)
    worst = (abs(theta) + float(downs.max())) * max(abs(x) for part in parts for x in _ends(part.law))
    doubt = math.exp(min(50.0, times * ELEMENTARY * 8.0 * (800.0 + worst)))
    below = _OUTSIDE if low > 0 else 0.0
    if high - low >= LARGEST:  # too long: give up its lower part, which carries little of δ
        low = high - LARGEST + 1
        below = float(np.exp(np.minimum(rises[len(ups) :] + downs * (base + step * low), 0.0)).min())
    return Window(low, high - low + 1, below * doubt, _OUTSIDE * doubt if high < reach else 0.0)


def _ends(law: Law) -> tuple[float, float]:
    grid = law.grid
    return grid.origin + grid.step * grid.first, grid.origin + grid.step * (grid.first + grid.count - 1)


def good_length(least: int) -> int:
    """The next length that the FFT likes: m·2^k with m in 8, 9, 10, 12, 15."""
    best = 1 << max(3, (least - 1).bit_length())
    for m in (9, 10, 12, 15):
        shift = max(0, ((least + m - 1) // m - 1).bit_length())
        if m << shift >= least:
            best = min(best, m << shift)
    return best


# --- the sum ------------------------------------------------------------------------------------------------------


def total(laws: list[tuple[Law, int]], theta: float) -> Total:
    """The sum of all losses, each law ``times`` times, around where the tilt θ puts its weight."""
    step = laws[0][0].grid.step
    infinite = -math.expm1(sum(times * math.log1p(-min(law.infinite, 1.0 - 2.0**-53)) for law, times in laws))
    if not all(law.mass.any() for law, _ in laws):  # a lowered law may have nothing left
        return Total(step, 0.0, np.zeros(1), theta, 0.0, 0.0, 0.0, 0.0, 0.0, infinite, 0.0)
    parts = [Tilted(law, times, *law.tilted(theta)) for law, times in laws]
    view = window(parts, theta)
    length = good_length(view.count)
    levels = FOURIER * math.log2(length)
    spectrum = np.ones(length // 2 + 1, dtype=np.complex128)
    log_scale = origin = slip = forward = relative = worst = growth = 0.0
    log_size, steep = np.zeros(len(spectrum)), np.zeros(len(spectrum))
    smallest, repeats = math.inf, 0
    for part in parts:
        law, times, folded = part.law, part.times, _fold(part.weight, length)
        norm = _norm(folded)
        values = np.fft.rfft(folded, length)
        size = np.abs(values) * (1.0 + 2.0**-40) + 3.0 * levels
        log_size += times * np.log(size)
        steep += times * levels / size
        spectrum *= _power(values, times)
        log_scale += times * part.log_norm
        relative += 4.0 * ROUND * (len(parts) + 1) * abs(times * part.log_norm)
        origin += times * _ends(law)[0]
        worst += times * (abs(law.grid.origin) + step * (abs(law.grid.first) + law.grid.count))
        slip += times * law.slip
        relative += times * part.doubt
        # a value of the spectrum is at most the sum of the weights, and off by at most the l2 error of all
        growth += times * math.log1p(levels * math.sqrt(length) * norm + 8.0 * ROUND * law.grid.count)
        forward += times * levels * norm
        smallest = min(smallest, norm)
        repeats += times
    rounding = 4.0 * ROUND * (2 * repeats + len(laws))
    half = math.sqrt(2.0 / length)  # of a spectrum, only half is stored; norms are those of masses
    pointwise = half * _norm(steep * np.exp(log_size)) * math.exp(min(16.0 * ROUND * repeats, 700.0))
    forward = min(forward * math.exp(min(growth, 700.0)), pointwise + 2.0**-900)
    smallest = min(smallest, half * _norm(np.abs(spectrum)) * (1.0 + 2.0 * rounding))
    # true masses are not negative: cutting off at 0 brings each nearer to the truth
    y = np.maximum(np.roll(np.fft.irfft(spectrum, length), -view.first)[: view.count], 0.0)
    error = 2.0 * (forward + (rounding + 2.0 * levels) * smallest)
    return Total(
        step=step,
        origin=origin + step * view.first,
        y=y,
        theta=theta,
        log_scale=log_scale,
        outside_low=view.low,
        outside_high=view.high,
        error=error,
        relative=relative * (1.0 + relative),
        infinite=infinite,
        slip=slip + 16.0 * ROUND * (len(laws) + 1) * worst,
    )


def _fold(x: Array, length: int) -> Array:
    """x wrapped around a circle of this length; a shorter x is left to be filled up with zeros."""
    if len(x) <= length:
        return x
    rows = -(-len(x) // length)
    return np.asarray(np.concatenate([x, np.zeros(rows * length - len(x))]).reshape(rows, length).sum(axis=0))


def _power(x: Spectrum, times: int) -> Spectrum:
    """x^times by repeated squaring: fewer than 2·times roundings are compounded."""
    result = None
    while True:
        if times & 1:
            result = x.copy() if result is None else result * x
        times >>= 1
        if not times:
            return result if result is not None else np.ones_like(x)
        x = x * x
