"""Exact noise on integer tensors: floor(N(0, σ²)) in every entry, drawn where the tensor lies."""

from __future__ import annotations

from fractions import Fraction

import torch
from torch import Tensor

from discreet.learning.torch_training.tensor_normal import TensorNormal
from discreet.noise.floored_normal import floored_normal
from discreet.randomness import SystemBits

FINER = 1 << 10
"""Cells are divided by this before noise is added, so that rounding down is rarely in doubt."""


def add_noise(totals: list[Tensor], sigma_squared: Fraction) -> list[Tensor]:
    """The tensors plus noise of this σ² in their own cells; one call of the sampler for all of them together.

    The result is in doubles: a function of the noisy integers alone.

    >>> [t.shape for t in add_noise([torch.zeros(2, 3, dtype=torch.int64)], Fraction(1 << 40))]
    [torch.Size([2, 3])]
    """
    count = sum(t.numel() for t in totals)
    device = totals[0].device
    square = sigma_squared * FINER**2
    if device.type == "cpu":
        noise = torch.from_numpy(floored_normal(square, count, SystemBits()))
    else:
        noise = TensorNormal(square, device).draw(count)
    pieces = noise.split([t.numel() for t in totals])
    return [(t * FINER + piece.view(t.shape)).double() / FINER for t, piece in zip(totals, pieces, strict=True)]
