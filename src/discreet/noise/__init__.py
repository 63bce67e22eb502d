"""Bits in, exact samples out; knows nothing of privacy.

Every function here samples exactly the stated law from the operating system's randomness. Parameters are exact:
an int, a Fraction, text such as "0.1" or "1/3", or a float, which means what it prints. Without ``size`` a
Python int comes back, with it a numpy array of int64. There is no seed.

Noise alone is not a release: no budget is charged here. See ``discreet.mechanisms`` for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import overload

import numpy as np

from discreet.arrays import Integers
from discreet.errors import BadParameter
from discreet.exact import Number, integer, non_negative, positive, probability
from discreet.noise import additive, coin, selection, uniform
from discreet.noise.cache import cached_sampler
from discreet.noise.grid import Grid, public_grid
from discreet.noise.lazy import Probability
from discreet.randomness import SystemBits

__all__ = [
    "Grid",
    "bernoulli",
    "bernoulli_exp",
    "choice",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential",
    "geometric",
    "permute_and_flip",
    "public_grid",
    "uniform_below",
]

Size = int | tuple[int, ...]

LONGEST = 1 << 48
_SYSTEM = SystemBits()  # stateless


@overload
def discrete_laplace(scale: Number, size: None = None) -> int: ...
@overload
def discrete_laplace(scale: Number, size: Size) -> Integers: ...
def discrete_laplace(scale: Number, size: Size | None = None) -> int | Integers:
    """P(x) proportional to exp(-|x| / scale) on the integers.

    Guarantee: exactly this law. Scales above 2^54 give Python integers, in an object array when ``size`` is given.

    >>> isinstance(discrete_laplace(scale="0.5"), int), discrete_laplace(10, size=3).dtype
    (True, dtype('int64'))
    """
    key = "laplace", scale
    if size is None and (table := cached_sampler(key)):
        return table.draw(_SYSTEM)
    b = positive(scale, "scale")
    if size is None:
        return additive.laplace(b, None, _SYSTEM)
    count, shape = _shape(size)
    return additive.laplace(b, count, _SYSTEM, key).reshape(shape)


@overload
def geometric(scale: Number, size: None = None) -> int: ...
@overload
def geometric(scale: Number, size: Size) -> Integers: ...
def geometric(scale: Number, size: Size | None = None) -> int | Integers:
    """P(x) proportional to exp(-x / scale) on 0, 1, 2, ...: one side of the discrete Laplace law.

    >>> geometric(3) >= 0
    True
    """
    key = "geometric", scale
    if size is None and (table := cached_sampler(key)):
        return table.draw(_SYSTEM)
    b = positive(scale, "scale")
    if size is None:
        return additive.geometric(b, None, _SYSTEM)
    count, shape = _shape(size)
    return additive.geometric(b, count, _SYSTEM, key).reshape(shape)


@overload
def discrete_gaussian(
    sigma: Number | None = None, size: None = None, *, sigma_squared: Number | None = None
) -> int: ...
@overload
def discrete_gaussian(sigma: Number | None = None, *, size: Size, sigma_squared: Number | None = None) -> Integers: ...
@overload
def discrete_gaussian(sigma: Number, size: Size) -> Integers: ...
def discrete_gaussian(
    sigma: Number | None = None, size: Size | None = None, *, sigma_squared: Number | None = None
) -> int | Integers:
    """P(x) proportional to exp(-x^2 / (2 sigma^2)) on the integers.

    Guarantee: exactly this law. Give sigma, or sigma_squared where sigma is not rational.

    >>> discrete_gaussian(10, size=(2, 3)).shape
    (2, 3)
    """
    square = 0 if sigma_squared is None else sigma_squared
    key = ("gaussian", sigma) if sigma is not None else ("gaussian squared", square)
    if size is None and sigma_squared is None and (table := cached_sampler(key)):
        return table.draw(_SYSTEM)
    if (sigma is None) == (sigma_squared is None):
        raise BadParameter("sigma", sigma, "must be given, or sigma_squared, but not both")
    s2 = positive(sigma, "sigma") ** 2 if sigma is not None else positive(square, "sigma_squared")
    if size is None:
        return additive.gaussian(s2, None, _SYSTEM)
    count, shape = _shape(size)
    return additive.gaussian(s2, count, _SYSTEM, key).reshape(shape)


@overload
def bernoulli(p: Number, size: None = None) -> int: ...
@overload
def bernoulli(p: Number, size: Size) -> Integers: ...
def bernoulli(p: Number, size: Size | None = None) -> int | Integers:
    """1 with probability p, else 0.

    >>> bernoulli(1), bernoulli(0, size=2).tolist()
    (1, [0, 0])
    """
    return _flip(coin.rational(probability(p, "p")), size)


@overload
def bernoulli_exp(x: Number, size: None = None) -> int: ...
@overload
def bernoulli_exp(x: Number, size: Size) -> Integers: ...
def bernoulli_exp(x: Number, size: Size | None = None) -> int | Integers:
    """1 with probability exp(-x), else 0; x must not be negative.

    >>> bernoulli_exp(0)
    1
    """
    exact = non_negative(x, "x")
    return _flip(coin.exponential(exact), size)


@overload
def uniform_below(n: int, size: None = None) -> int: ...
@overload
def uniform_below(n: int, size: Size) -> Integers: ...
def uniform_below(n: int, size: Size | None = None) -> int | Integers:
    """Each of 0, 1, ..., n - 1 with probability 1/n. Beyond 2^63 the array holds Python integers.

    >>> 0 <= uniform_below(6) < 6
    True
    """
    top = integer(n, "n", at_least=1)
    if size is None:
        return _SYSTEM.below(top)
    count, shape = _shape(size)
    if top > uniform.INT64:
        return additive.objects([_SYSTEM.below(top) for _ in range(count)]).reshape(shape)
    return uniform.uniforms(top, count, _SYSTEM).reshape(shape)


@overload
def choice(weights: Sequence[Number], size: None = None) -> int: ...
@overload
def choice(weights: Sequence[Number], size: Size) -> Integers: ...
def choice(weights: Sequence[Number], size: Size | None = None) -> int | Integers:
    """Index i with probability weights[i] / sum(weights).

    >>> choice(["0", "1/3", 0])
    1
    """
    given: object = weights
    if not isinstance(given, (Sequence, np.ndarray)):
        raise BadParameter("weights", weights, "must be a list of numbers")
    exact = [non_negative(w, f"weights[{i}]") for i, w in enumerate(weights)]
    if not any(exact):
        raise BadParameter("weights", weights, "must hold a weight above 0")
    whole = uniform.integer_weights(exact)
    if size is None:
        return uniform.choose(whole, _SYSTEM)
    count, shape = _shape(size)
    return uniform.choices(whole, count, _SYSTEM).reshape(shape)


def permute_and_flip(scores: selection.Scores, rate: Number) -> int:
    """An index by permute-and-flip: candidates in random order, each kept with probability exp(rate (score - best)).

    The law of McKenna & Sheldon (2020), exactly. Scores are ints, rationals or floats (their dyadic values).

    >>> permute_and_flip([0, 1000, 0], rate=1)
    1
    """
    return selection.permute_and_flip_choice(selection.coins(scores, positive(rate, "rate")), _SYSTEM)


def exponential(scores: selection.Scores, rate: Number) -> int:
    """An index i with probability proportional to exp(rate * scores[i]).

    >>> exponential([0, 1000, 0], rate=1)
    1
    """
    return selection.exponential_choice(selection.coins(scores, positive(rate, "rate")), _SYSTEM)


# --- what the functions above share -------------------------------------------------------------------------------


def _flip(p: Probability, size: Size | None) -> int | Integers:
    if size is None:
        return int(coin.flip(p, _SYSTEM))
    count, shape = _shape(size)
    return coin.flips(p, count, _SYSTEM).astype(np.int64).reshape(shape)


def _shape(size: Size) -> tuple[int, tuple[int, ...]]:
    shape = size if isinstance(size, tuple) else (size,)
    shape = tuple(integer(n, "size", at_least=0) for n in shape)
    if len(shape) > 32 or prod(max(n, 1) for n in shape) > LONGEST:  # before numpy refuses it with an error of its own
        raise BadParameter("size", size, "must ask for at most 2^48 draws in at most 32 dimensions")
    return prod(shape), shape
