"""Noise on several tensors at once."""

import copy
import math
import os
from fractions import Fraction

import pytest
import torch
from torch import nn

from discreet.errors import UnsafeRandomness
from discreet.learning.torch_training import noise as module
from discreet.learning.torch_training.noise import Noise, NoiseStock, finer
from discreet.learning.torch_training.totals import ROOM, Totals


@pytest.mark.parametrize("most", [100, 1 << 40])
def test_the_size_of_the_noise(most: int) -> None:
    """Standard deviation over 20,000 entries within 7 deviations; sums are kept exactly under it."""
    parameters = [nn.Parameter(torch.zeros(100, 100)), nn.Parameter(torch.zeros(10_000))]
    totals = Totals(parameters, most)
    totals.views[0].fill_(5)
    totals.views[1].fill_(-7)
    noisy = Noise(Fraction(3) ** 2, parameters).add_to(totals, 2.0)
    assert [t.shape for t in noisy] == [p.shape for p in parameters]
    noise = torch.cat([(noisy[0] / 2 - 5).flatten(), noisy[1] / 2 + 7])
    assert abs(float(noise.std()) / 3 - 1) < 7 / math.sqrt(2 * 20_000)
    assert abs(float(noise.mean())) < 7 * 3 / math.sqrt(20_000)


@pytest.mark.parametrize("sigma", [1 << 20, 1 << 25, 1 << 30])
@pytest.mark.parametrize("most", [100, 1 << 40])
def test_sums_are_exact_in_every_width(monkeypatch: pytest.MonkeyPatch, sigma: int, most: int) -> None:
    """The largest totals and noise of each type: what is scaled is their exact sum, rounded once."""
    parameters = [nn.Parameter(torch.zeros(4))]
    noise = Noise(Fraction(sigma) ** 2, parameters)
    totals = Totals(parameters, most)
    largest = (1 << 31) - ROOM - 1 if totals.flat.dtype == torch.int32 else 1 << 40
    totals.flat.copy_(torch.tensor([largest, -largest, 0, 5]))
    drawn = torch.tensor([1, -1, 1, -1]) * min(noise._stock.most - 1, (1 << 31) - 1)
    monkeypatch.setattr(noise._stock, "take", lambda count: drawn.to(noise._stock._draw(1).dtype))
    exact = totals.flat.long() * noise._finer + drawn
    assert torch.equal(noise.add_to(totals, 1.0)[0], exact.float() / noise._finer)


def test_cells_are_as_fine_as_they_can_be() -> None:
    for power in (0, 21, 25, 31, 40):
        times = finer(Fraction(1 << 2 * power))
        assert times == 1 << max(0, min(14, 35 - power))


def test_no_draw_is_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws of sigma 2^40 rarely agree: 3000 of them are all different (but for a chance below 1e-5 of one pair)."""
    monkeypatch.setattr(module, "_STOCK", 1000)
    stock = NoiseStock(Fraction(1 << 80))
    taken = torch.cat([stock.take(n) for n in (1, 500, 499, 700, 1300)])
    assert len(taken) == 3000
    assert len(taken.unique()) >= 2999


def test_a_stock_is_not_shared() -> None:
    stock = NoiseStock(Fraction(1 << 80))
    held = stock.take(10)
    with pytest.raises(UnsafeRandomness):
        copy.copy(stock)
    stock._process = os.getpid() + 1  # as after a fork
    before = stock._left
    assert not torch.equal(stock.take(10), before[:10])
    assert len(held) == 10
