"""Noise on several tensors at once."""

import copy
import math
import os
from fractions import Fraction

import pytest
import torch

from discreet.errors import UnsafeRandomness
from discreet.learning.torch_training import noise as module
from discreet.learning.torch_training.noise import NoiseStock, add_noise


def test_the_size_of_the_noise() -> None:
    """Standard deviation over 20,000 entries within 7 deviations; sums are kept exactly under it."""
    totals = [torch.full((100, 100), 5), torch.full((10_000,), -7)]
    noisy = add_noise(totals, Fraction(3) ** 2)
    assert [t.shape for t in noisy] == [t.shape for t in totals]
    noise = torch.cat([(n - t).flatten() for n, t in zip(noisy, totals, strict=True)])
    assert abs(float(noise.std()) / 3 - 1) < 7 / math.sqrt(2 * 20_000)
    assert abs(float(noise.mean())) < 7 * 3 / math.sqrt(20_000)


def test_no_draw_is_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws of sigma 2^40 rarely agree: 3000 of them are all different (but for a chance below 1e-5 of one pair)."""
    monkeypatch.setattr(module, "_STOCK", 1000)
    stock = NoiseStock(Fraction(1 << 80), torch.device("cpu"))
    taken = torch.cat([stock.take(n) for n in (1, 500, 499, 700, 1300)])
    assert len(taken) == 3000
    assert len(taken.unique()) >= 2999


def test_a_stock_is_not_shared() -> None:
    stock = NoiseStock(Fraction(1 << 80), torch.device("cpu"))
    held = stock.take(10)
    with pytest.raises(UnsafeRandomness):
        copy.copy(stock)
    stock._process = os.getpid() + 1  # as after a fork
    before = stock._left
    assert not torch.equal(stock.take(10), before[:10])
    assert len(held) == 10
