"""Exact noise on integer tensors: floor(N(0, σ²)) in every entry, drawn where the tensor lies."""

from __future__ import annotations

import os
from fractions import Fraction
from threading import Lock
from typing import NoReturn

import torch
from torch import Tensor

from discreet.errors import UnsafeRandomness
from discreet.learning.torch_training.tensor_normal import TensorNormal
from discreet.noise.floored_normal import floored_normal
from discreet.randomness import SystemBits

FINER = 1 << 10
"""Cells are divided by this before noise is added, so that rounding down is rarely in doubt."""
_STOCK = 1 << 18


class NoiseStock:
    """Noise of one σ² on one device, drawn ahead in large portions since small ones cost more each; used once.

    It can be neither copied nor stored, and after a fork the child starts an empty one: no draw is used twice.

    >>> stock = NoiseStock(Fraction(1 << 40), torch.device("cpu"))
    >>> stock.take(3).shape
    torch.Size([3])
    """

    def __init__(self, sigma_squared: Fraction, device: torch.device) -> None:
        self._square = sigma_squared
        self._device = device
        self._left = torch.empty(0, dtype=torch.int64)
        self._process = os.getpid()
        self._lock = Lock()

    def take(self, count: int) -> Tensor:
        """``count`` draws that nobody has seen."""
        if self._device.type != "cpu":
            return TensorNormal(self._square, self._device).draw(count)
        if count >= _STOCK:
            return torch.from_numpy(floored_normal(self._square, count, SystemBits()))
        with self._lock:
            if self._process != os.getpid():
                self._left, self._process = self._left[:0], os.getpid()
            if len(self._left) < count:  # a run takes the same count each time, so that portions leave no rest
                portion = max(1, _STOCK // max(count, 1)) * count
                self._left = torch.from_numpy(floored_normal(self._square, portion, SystemBits()))
            taken, self._left = self._left[:count], self._left[count:]
            return taken

    def __reduce__(self) -> NoReturn:
        raise UnsafeRandomness("noise that was drawn ahead can be neither copied nor stored: it would be used twice")


def add_noise(totals: list[Tensor], sigma_squared: Fraction, stock: NoiseStock | None = None) -> list[Tensor]:
    """The tensors plus noise of this σ² in their own cells; one call of the sampler for all of them together.

    The result is in doubles: a function of the noisy integers alone. ``stock`` is of ``finer(sigma_squared)``.

    >>> [t.shape for t in add_noise([torch.zeros(2, 3, dtype=torch.int64)], Fraction(1 << 40))]
    [torch.Size([2, 3])]
    """
    held = NoiseStock(finer(sigma_squared), totals[0].device) if stock is None else stock
    pieces = held.take(sum(t.numel() for t in totals)).split([t.numel() for t in totals])
    return [
        torch.add(piece.view(t.shape), t, alpha=FINER).double().div_(FINER)
        for t, piece in zip(totals, pieces, strict=True)
    ]


def finer(sigma_squared: Fraction) -> Fraction:
    """σ² in the finer cells in which noise is drawn."""
    return sigma_squared * FINER**2
