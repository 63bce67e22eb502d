"""Noise on several tensors at once."""

import math
from fractions import Fraction

import torch

from discreet.learning.torch_training.noise import add_noise


def test_the_size_of_the_noise() -> None:
    """Standard deviation over 20,000 entries within 7 deviations; sums are kept exactly under it."""
    totals = [torch.full((100, 100), 5), torch.full((10_000,), -7)]
    noisy = add_noise(totals, Fraction(3) ** 2)
    assert [t.shape for t in noisy] == [t.shape for t in totals]
    noise = torch.cat([(n - t).flatten() for n, t in zip(noisy, totals, strict=True)])
    assert abs(float(noise.std()) / 3 - 1) < 7 / math.sqrt(2 * 20_000)
    assert abs(float(noise.mean())) < 7 * 3 / math.sqrt(20_000)
