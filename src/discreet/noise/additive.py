"""Additive noise from any source of bits: through a table where there is one or where it pays, else one by one.

Both ways have exactly the same law, so the choice, which follows from public parameters alone, is invisible. A source
that draws whole noise, for exact checks, is asked for it; no release accepts one.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from discreet.noise.blocks import Blocks, Law
from discreet.noise.cache import Key, cached_sampler, keep
from discreet.noise.gaussian import GaussianLaw, draw_gaussian
from discreet.noise.laplace import LaplaceLaw, draw_geometric, draw_laplace
from discreet.randomness import Bits
from discreet.randomness.replay import WholeDraws

TABLE_FROM = 256  # draws of a new parameter from which building its table pays
LARGEST = 1 << 54  # the largest scale whose draws fit into int64


@overload
def laplace(scale: Fraction, size: None, bits: Bits, key: Key | None = None) -> int: ...
@overload
def laplace(scale: Fraction, size: int, bits: Bits, key: Key | None = None) -> NDArray[Any]: ...
def laplace(scale: Fraction, size: int | None, bits: Bits, key: Key | None = None) -> int | NDArray[Any]:
    """Discrete Laplace noise; ``key`` is how the caller will look for the table next time."""
    if isinstance(bits, WholeDraws):
        return _whole(lambda: bits.laplace(scale), size)
    law, draw = lambda: LaplaceLaw(scale), lambda: draw_laplace(scale, bits)
    return _noise(key or ("laplace", scale), scale <= LARGEST, law, draw, size=size, bits=bits)


@overload
def geometric(scale: Fraction, size: None, bits: Bits, key: Key | None = None) -> int: ...
@overload
def geometric(scale: Fraction, size: int, bits: Bits, key: Key | None = None) -> NDArray[Any]: ...
def geometric(scale: Fraction, size: int | None, bits: Bits, key: Key | None = None) -> int | NDArray[Any]:
    """One-sided geometric noise."""
    if isinstance(bits, WholeDraws):
        return _whole(lambda: bits.geometric(scale), size)
    law, draw = lambda: LaplaceLaw(scale, one_sided=True), lambda: draw_geometric(scale, bits)
    return _noise(key or ("geometric", scale), scale <= LARGEST, law, draw, size=size, bits=bits)


@overload
def gaussian(sigma_squared: Fraction, size: None, bits: Bits, key: Key | None = None) -> int: ...
@overload
def gaussian(sigma_squared: Fraction, size: int, bits: Bits, key: Key | None = None) -> NDArray[Any]: ...
def gaussian(sigma_squared: Fraction, size: int | None, bits: Bits, key: Key | None = None) -> int | NDArray[Any]:
    """Discrete Gaussian noise."""
    if isinstance(bits, WholeDraws):
        return _whole(lambda: bits.gaussian(sigma_squared), size)
    law, draw = lambda: GaussianLaw(sigma_squared), lambda: draw_gaussian(sigma_squared, bits)
    return _noise(
        key or ("gaussian squared", sigma_squared), sigma_squared <= LARGEST**2, law, draw, size=size, bits=bits
    )


def _noise(
    key: Key, fits: bool, law: Callable[[], Law], draw: Callable[[], int], *, size: int | None, bits: Bits
) -> int | NDArray[Any]:
    table = cached_sampler(key)
    if size is None:
        return table.draw(bits) if table else draw()
    if not fits:
        return objects([draw() for _ in range(size)])
    if table is None:
        if size < TABLE_FROM:
            return np.array([draw() for _ in range(size)], dtype=np.int64)
        table = Blocks(law())
        keep(key, table)
    return table.sample(size, bits)


def _whole(draw: Callable[[], int], size: int | None) -> int | NDArray[Any]:
    return draw() if size is None else np.array([draw() for _ in range(size)], dtype=np.int64)


def objects(values: list[int]) -> NDArray[Any]:
    """Python integers in an array, for those beyond 64 bits."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
