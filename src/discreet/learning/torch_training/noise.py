"""Exact noise on integer totals: floor(N(0, σ²)) in every entry, drawn where the totals lie."""

from __future__ import annotations

import os
from fractions import Fraction
from functools import cache
from math import isqrt
from threading import Lock
from types import ModuleType
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from discreet.errors import UnsafeRandomness
from discreet.learning.torch_training.tensor_normal import TensorNormal, tables_of
from discreet.learning.torch_training.totals import ROOM, Totals
from discreet.noise.floored_normal import floored_normal
from discreet.noise.short_normal import ShortNormal, fits
from discreet.randomness import SystemBits

_WIDTH = 36  # bits of σ in the cells in which noise is drawn: rounding down is then rarely in doubt
_FINEST = 14
_STOCK = 1 << 19  # 2 MB, or 4 where draws are long


class Noise:
    """Noise of one σ² for the parameters of one model, on their device.

    >>> weight = nn.Parameter(torch.ones(2, 3))
    >>> [t.shape for t in Noise(Fraction(1 << 40), [weight]).add_to(Totals([weight], most=1), unit=0.5)]
    [torch.Size([2, 3])]
    """

    def __init__(self, sigma_squared: Fraction, parameters: list[nn.Parameter]) -> None:
        self._parameters = parameters
        self._device = parameters[0].device
        self._finer = 1 if self._device.type == "cpu" and fits(sigma_squared) else finer(sigma_squared)
        self._square = sigma_squared * self._finer**2
        self._stock = NoiseStock(self._square)
        self._ready: Any = None
        if self._device.type != "cpu":
            tables_of(self._square, str(self._device))  # a scale that does not fit is refused here

    def _fused(self) -> Any:
        found = kernels() if self._device.type == "cuda" else None
        return None if found is None else found.NoiseAdder(self._square, self._finer, self._device)

    def add_to(self, totals: Totals, unit: float) -> list[Tensor]:
        """(total + noise) times unit for each parameter: floats that are functions of the noisy integers alone.

        It may overwrite the totals.
        """
        fused = self._fused()
        if fused is not None:
            ready, self._ready = self._ready, None  # used once, also where a launch fails
            launched = fused.launch(totals.flat, unit, ready or fused.prepare(len(totals.flat)))
            self._ready = fused.prepare(len(totals.flat))  # while the card is busy, as the next line
            shaped = Totals.shaped(launched.out, self._parameters)
            launched.finish()
            return shaped
        noise = (
            self._stock.take(len(totals.flat))
            if self._device.type == "cpu"
            else TensorNormal(self._square, self._device).draw(len(totals.flat))
        )
        short = totals.flat.dtype == torch.int32 and self._stock.most <= ROOM
        noisy = (noise if short else noise.long()).add_(totals.flat, alpha=self._finer).float().mul_(unit / self._finer)
        return Totals.shaped(noisy, self._parameters)


def finer(sigma_squared: Fraction) -> int:
    """The power of two by which cells are divided before noise is drawn.

    >>> finer(Fraction(1 << 42)), finer(Fraction(1 << 60)), finer(Fraction(1 << 80))
    (16384, 32, 1)
    """
    return 1 << max(0, min(_FINEST, _WIDTH - isqrt(int(sigma_squared)).bit_length()))


class NoiseStock:
    """Noise of one σ², drawn ahead in large portions since small ones cost more each; used once.

    It can be neither copied nor stored, and after a fork the child starts an empty one: no draw is used twice.

    >>> NoiseStock(Fraction(1 << 40)).take(3).shape
    torch.Size([3])
    """

    def __init__(self, sigma_squared: Fraction) -> None:
        self._square = sigma_squared
        self._short = ShortNormal(sigma_squared) if fits(sigma_squared) else None
        self.most = self._short.most if self._short is not None else 1 << 63
        self._left = torch.empty(0)
        self._process = os.getpid()
        self._lock = Lock()

    def take(self, count: int) -> Tensor:
        """``count`` draws that nobody has seen and that are the caller's to change."""
        if count >= _STOCK:
            return self._draw(count)
        with self._lock:
            if self._process != os.getpid():
                self._left, self._process = self._left[:0], os.getpid()
            if len(self._left) < count:  # a run takes the same count each time, so that portions leave no rest
                portion = max(1, _STOCK // max(count, 1)) * count
                self._left = self._left.new_empty(0)  # the memory of the last portion is free before the next is made
                self._left = self._draw(portion)
            taken, self._left = self._left[:count], self._left[count:]
            return taken

    def _draw(self, count: int) -> Tensor:
        short = self._short
        return torch.from_numpy(
            floored_normal(self._square, count, SystemBits()) if short is None else short.draw(count)
        )

    def __reduce__(self) -> NoReturn:
        raise UnsafeRandomness("noise that was drawn ahead can be neither copied nor stored: it would be used twice")


@cache
def kernels() -> ModuleType | None:
    """The kernels for graphics cards, where their compiler is installed; it comes with torch on Linux."""
    try:
        from discreet.learning.torch_training import noise_kernels
    except ImportError:
        return None
    return noise_kernels
