"""Bits in, exact samples out; knows nothing of privacy.

Every function here samples exactly the stated law from the operating system's randomness. Parameters are exact:
an int, a Fraction, text such as "0.1" or "1/3", or a float, which means its own dyadic value. Without ``size`` a
Python int comes back, with it a numpy array of int64. There is no seed.

Noise alone is not a release: no budget is charged here. See ``discreet.mechanisms`` for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.exact import Number, integer, non_negative, positive, probability
from discreet.noise import coin, selection, uniform
from discreet.noise.blocks import Blocks, Law
from discreet.noise.cache import keep, known
from discreet.noise.gaussian import GaussianLaw, draw_gaussian
from discreet.noise.grid import Grid, public_grid
from discreet.noise.laplace import LaplaceLaw, draw_geometric, draw_laplace
from discreet.noise.lazy import Probability
from discreet.randomness import Bits, SystemBits

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
Integers = NDArray[np.int64]

TABLE_FROM = 256  # draws of a new parameter from which building its table pays
_PLAIN = {int, float, str, Fraction}
_SYSTEM = SystemBits()  # a name, not a state: it holds nothing
LARGEST_TABLE = 1 << 54  # the largest scale whose draws fit into int64


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
    if size is None and (table := _table(key)):
        return table.draw(_SYSTEM)
    b = positive(scale, "scale")
    return _draw(key, b, lambda: LaplaceLaw(b), lambda bits: draw_laplace(b, bits), size)


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
    if size is None and (table := _table(key)):
        return table.draw(_SYSTEM)
    b = positive(scale, "scale")
    return _draw(key, b, lambda: LaplaceLaw(b, one_sided=True), lambda bits: draw_geometric(b, bits), size)


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
    key = ("gaussian", sigma) if sigma is not None else ("gaussian squared", sigma_squared or 0)
    if size is None and sigma_squared is None and (table := _table(key)):
        return table.draw(_SYSTEM)
    if (sigma is None) == (sigma_squared is None):
        raise BadParameter("sigma", sigma, "must be given, or sigma_squared, but not both")
    s2 = positive(sigma, "sigma") ** 2 if sigma is not None else positive(sigma_squared or 0, "sigma_squared")
    spread = s2 / LARGEST_TABLE  # sigma <= 2^54 iff sigma^2 / 2^54 <= 2^54
    return _draw(key, spread, lambda: GaussianLaw(s2), lambda bits: draw_gaussian(s2, bits), size)


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
        return _objects([_SYSTEM.below(top) for _ in range(count)], shape)
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


def _table(key: tuple[str, Number]) -> Blocks | None:
    """The sampler that was built for this parameter, as it is written; True must not pass for 1."""
    return known(key) if type(key[1]) in _PLAIN else None


def _draw(
    key: tuple[str, Number],
    spread: Fraction,
    law: Callable[[], Law],
    draw: Callable[[Bits], int],
    size: Size | None,
) -> int | Integers:
    """Through the table if there is one or if it pays; else one by one. Both are exact, so the choice is invisible."""
    if size is None:
        return draw(_SYSTEM)
    count, shape = _shape(size)
    if spread > LARGEST_TABLE:
        return _objects([draw(_SYSTEM) for _ in range(count)], shape)
    table = _table(key)
    if table is None:
        if count < TABLE_FROM:
            return np.array([draw(_SYSTEM) for _ in range(count)], dtype=np.int64).reshape(shape)
        table = Blocks(law())
        keep(key, table)
    return table.sample(count, _SYSTEM).reshape(shape)


def _flip(p: Probability, size: Size | None) -> int | Integers:
    if size is None:
        return int(coin.flip(p, _SYSTEM))
    count, shape = _shape(size)
    return coin.flips(p, count, _SYSTEM).astype(np.int64).reshape(shape)


def _shape(size: Size) -> tuple[int, tuple[int, ...]]:
    shape = size if isinstance(size, tuple) else (size,)
    shape = tuple(integer(n, "size", at_least=0) for n in shape)
    return prod(shape), shape


def _objects(values: list[int], shape: tuple[int, ...]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)
