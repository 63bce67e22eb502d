"""How far a sum of weighted noises may lie from zero: error bars for answers that are added up from noisy counts.

Guarantee, for independent discrete Laplace or Gaussian noises Z_v and weights |w_v| <= 1 with Σ w_v² <= V:
P[|Σ w_v Z_v| > error_at(c)] <= (1 - c)/answers, and E|Σ w_v Z_v| <= expected_error. ``error_at`` is the least of three
bounds: by the law of the sum, where the weights are known; by that of the worst sum of this length; and
``certified_error``, in exact arithmetic, for what privacy hangs on. Proof: error_bounds.md, worst_sum.md, sum_law.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from discreet.answer import Accuracy, confidence_level
from discreet.exact import Number, exp_down, exp_up, float_down, float_up, log_up, sqrt_up
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.additive.laplace import Laplace
from discreet.mechanisms.statistics.budget import Noise
from discreet.mechanisms.statistics.sum_law import Terms, law_error
from discreet.mechanisms.statistics.worst_sum import LEAST, noise_sum, wider_variance
from discreet.privacy.numerics.search import lowest_point

_PRECISION = 96
_SMALL = Fraction(1, 10**12)
_MEAN = math.sqrt(2 / math.pi) * (1 + 1e-12)


@lru_cache(maxsize=4096)
def error_of(noise: Noise, level: Fraction) -> Fraction:
    """The error bar of one noise, kept: several answers ask for the same ones."""
    return Fraction(noise.error_at(level))


@dataclass(frozen=True)
class Sums:
    """The error bar of ``answers`` sums of noises that are promised together, each with Σ w² at most ``weight``.

    ``terms``: the weights themselves, where they are known and the same for every sum.

    >>> from discreet.mechanisms.additive.laplace import laplace
    >>> one = Sums(noise=laplace(sensitivity=1, scale=10), weight=Fraction(1), answers=1, terms=((1.0, 1),))
    >>> many = Sums(noise=laplace(sensitivity=1, scale=10), weight=Fraction(100), answers=1)
    >>> one.error_at(0.95), 277 < many.error_at(0.95) < 290
    (30.0, True)
    """

    noise: Noise
    weight: Fraction
    answers: int
    terms: Terms = ()

    @cached_property
    def variance_up(self) -> Fraction:
        """An upper bound of the variance of one sum: 2q/(1-q)² each for Laplace, at most σ² each for Gaussian noise."""
        if isinstance(self.noise, Gaussian):
            return self.weight * self.noise.sigma_squared
        q = exp_up(-1 / self.noise.scale, _PRECISION + self.noise.scale.numerator.bit_length())
        return self.weight * 2 * q / (1 - q) ** 2

    @property
    def expected_error(self) -> float:
        """E|sum| is at most the root of its variance, and at most what a normal sum of a wider law has."""
        if self.terms == ((1.0, 1),):
            return float_up(self.noise.expected_size_up())
        return min(float_up(sqrt_up(self.variance_up)), self._mean_of_wider())

    def _mean_of_wider(self) -> float:
        return _MEAN * math.sqrt(float_up(self.weight) * wider_variance(self.noise))

    def error_at(self, confidence: Number) -> float:
        """All sums lie within this, with the given confidence."""
        level = confidence_level(confidence)
        miss = float_down((1 - level) / self.answers)
        return min([self.certified_error(level), *self._by_law(miss)])

    def _by_law(self, miss: float) -> list[float]:
        errors = []
        if miss >= LEAST:
            errors.append(noise_sum(self.noise, float_up(self.weight), miss))
        if self.terms:
            farthest = float_up(Fraction(self._chernoff(_SMALL)))
            error = law_error(self.noise, self.terms, miss, farthest)
            errors += [] if error is None else [error]
        return errors

    def certified_error(self, confidence: Number) -> float:
        """The same by exact arithmetic alone: longer, but fit for thresholds that keep a delta."""
        return self._chernoff((1 - confidence_level(confidence)) / self.answers)

    def _chernoff(self, miss: Fraction) -> float:
        if isinstance(self.noise, Gaussian):
            return float_up(sqrt_up(2 * self.variance_up * log_up(2 / miss)))  # 2: two sides
        return _laplace_chernoff(self.noise, self.weight, miss)


@lru_cache(maxsize=256)
def _laplace_chernoff(noise: Laplace, weight: Fraction, miss: Fraction) -> float:
    if weight < 1:  # no weight is beyond their length: in units of it, none is beyond 1
        return float_up(sqrt_up(weight) * Fraction(_laplace_chernoff(noise, Fraction(1), miss)))
    log_miss = log_up(2 / miss)
    rate = _good_rate(noise, float(weight), float(log_miss))
    return float_up((weight * _log_mgf_up(noise, rate) + log_miss) / rate)


def _good_rate(noise: Laplace, weight: float, log_miss: float) -> Fraction:
    """About the best λ: any 0 < λ < 1/scale gives a true bound."""

    def bound(x: float) -> float:
        return (weight * float(_log_mgf_up(noise, Fraction(x) / noise.scale)) + log_miss) / x

    best = lowest_point(bound, 2.0**-20, 1 - 2.0**-10, steps=16)
    return Fraction(best) / noise.scale


def _log_mgf_up(noise: Laplace, rate: Fraction) -> Fraction:
    """An upper bound of log E e^{λZ} = log (1-q)² / ((1 - q e^λ)(1 - q e^-λ)), q = e^{-1/scale}."""
    bits = _PRECISION + 2 * noise.scale.numerator.bit_length() + 64
    top = (1 - exp_down(-1 / noise.scale, bits)) ** 2
    bottom = (1 - exp_up(rate - 1 / noise.scale, bits)) * (1 - exp_up(-rate - 1 / noise.scale, bits))
    return log_up(top / bottom, _PRECISION)


@dataclass(frozen=True)
class Scaled:
    """An error bar in other units."""

    inner: Accuracy
    factor: Fraction

    @property
    def expected_error(self) -> float:
        """E|error| of one number."""
        return float_up(Fraction(self.inner.expected_error) * self.factor)

    def error_at(self, confidence: Number) -> float:
        """The error bar."""
        return float_up(Fraction(self.inner.error_at(confidence)) * self.factor)


@dataclass(frozen=True)
class Within:
    """An error bar for a number in a public range of this width, from an interval that the noisy parts allow.

    ``radius(confidence)`` is how far the farther end of the interval lies from the answer.
    """

    radius: Callable[[Fraction], float]
    width: Fraction

    @property
    def expected_error(self) -> float:
        """At most the radius at a confidence, plus the whole width for the rest."""
        levels = [1 - Fraction(1, 1 << k) for k in (2, 5, 8, 12, 20)]
        return min(float_up(Fraction(self.error_at(level)) + (1 - level) * self.width) for level in levels)

    def error_at(self, confidence: Number) -> float:
        """The error bar."""
        level = confidence_level(confidence)
        return min(self.radius(level), float_up(self.width))
