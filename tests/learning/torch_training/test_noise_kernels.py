"""The kernels for graphics cards, in their compiler's interpreter, against the tensor operations that prove the law."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from discreet.learning.torch_training import tensor_normal
from discreet.learning.torch_training.chacha import as_words, chacha_blocks, key_tensor
from discreet.learning.torch_training.tensor_normal import TensorNormal, fast_draws, settle_one, tables_of
from discreet.noise.floored_normal import draw_picked, picked_places
from discreet.randomness import SystemBits
from tests.noise.test_floored_normal import distance

pytest.importorskip("triton", minversion="3.5")
from discreet.learning.torch_training import noise_kernels
from discreet.learning.torch_training.noise_kernels import NoiseAdder

SIGMA = 1 << 31
SQUARE = Fraction(SIGMA) ** 2
CPU = torch.device("cpu")


def keys_in_turn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Keys that are known: the i-th is made of i alone."""
    made: list[tuple[int, ...]] = []

    def known() -> tuple[int, ...]:
        made.append(tuple(7 * len(made) + i for i in range(11)))
        return made[-1]

    monkeypatch.setattr(noise_kernels, "fresh_key", known)
    return made


def stream(key: tuple[int, ...], blocks: int) -> torch.Tensor:
    """The words of a key's stream, 8 for each block."""
    counters = torch.arange(blocks, dtype=torch.int32)
    return torch.stack(as_words(chacha_blocks(counters, key_tensor(key, "cpu"))), dim=1)


@pytest.mark.slow
def test_word_for_word_what_the_tensor_operations_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """All stages: draws that one word settles, open ones, and those that are refused and drawn again."""
    made = keys_in_turn(monkeypatch)
    monkeypatch.setattr(noise_kernels, "picked_places", lambda s2, size, bits: [])
    count = 5000
    totals = torch.arange(count, dtype=torch.int32) - 2500
    found = NoiseAdder(SQUARE, 1, CPU).add(totals.clone(), 1.0)
    tables = tables_of(SQUARE, "cpu")
    blocks = torch.arange(-(-count // 8), dtype=torch.int32)
    words, values, open_ = fast_draws(blocks, key_tensor(made[0], "cpu"), tables.guide, tables.r)
    values, left = values[:count], open_[:count].nonzero().squeeze(1)
    sampler = TensorNormal(SQUARE)
    given = words[left]
    for turn in range(1, 4):
        own = stream(made[turn], len(left))
        fresh = iter([own[:, 2], own[:, 1][tables.index[(given >> 48) & 0xFFFF] < 0]][::-1])
        with monkeypatch.context() as patch:
            patch.setattr(tensor_normal, "uniform_words", lambda size, device, fresh=fresh: next(fresh))
            settled, refused = sampler.settle(given)
        values[left[~refused]] = settled[~refused]
        left = left[refused]
        given = stream(made[turn + 1], len(left))[:, 0]
        if turn == 1:
            assert len(left) > 20
    assert not len(left)
    assert torch.equal(found, (values + torch.arange(count) - 2500).float())


@pytest.mark.slow
def test_in_portions_and_on_long_totals() -> None:
    """Chi-square of 6000 draws within twelve deviations (a false alarm below 1e-6); a shifted law is caught."""
    for kind in (torch.int32, torch.int64):
        noisy = NoiseAdder(SQUARE, 4, CPU, portion=1 << 12).add(torch.full((6000,), 9, dtype=kind), 4.0)
        draws = noisy.numpy().astype(np.float64) - 36
        assert noisy.dtype == torch.float32
        assert distance(draws, SIGMA) < 12
        assert distance(draws + SIGMA // 2, SIGMA) > 12


@pytest.mark.slow
def test_what_kernels_leave_is_settled_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one round only, all refused draws are drawn there; with a small usual size, large ones are looked at."""
    monkeypatch.setattr(noise_kernels, "_ROUNDS", 1)
    tables = tables_of(SQUARE, "cpu")
    monkeypatch.setattr(tables, "usual", SIGMA)
    seen: list[int] = []

    def counted(*given: object) -> int:
        seen.append(settle_one(*given))  # type: ignore[arg-type]
        return seen[-1]

    monkeypatch.setattr(noise_kernels, "settle_one", counted)
    draws = NoiseAdder(SQUARE, 1, CPU).add(torch.zeros(6000, dtype=torch.int64), 1.0).numpy()
    assert seen
    assert distance(draws, SIGMA) < 12


@pytest.mark.slow
def test_picked_places_are_drawn_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_kernels, "picked_places", lambda s2, size, bits: [3, 7])
    monkeypatch.setattr(noise_kernels, "draw_picked", lambda s2, bits: 12)
    noisy = NoiseAdder(SQUARE, 2, CPU).add(torch.full((9,), 5, dtype=torch.int32), 2.0)
    assert noisy[[3, 7]].tolist() == [22.0, 22.0]
    assert 22.0 not in noisy[[0, 1, 2, 4, 5, 6, 8]].tolist()


@pytest.mark.slow
def test_draws_of_picked_places_complete_the_law() -> None:
    """Sigma 8, where every place is picked: chi-square within twelve deviations (a false alarm below 1e-6); a twin."""
    bits, square, size = SystemBits(), Fraction(64), 6000
    assert len(picked_places(square, 50, bits)) == 50  # at this scale a coin for every place
    draws = np.array([draw_picked(square, bits) for _ in range(size)])
    assert distance(draws, 8.0) < 12
    assert distance(draws, 8.0, shift=2.0) > 12


def test_a_settled_draw_is_the_one_that_exact_arithmetic_says() -> None:
    tables = tables_of(SQUARE, "cpu")
    decided = int((tables.index >= 0).nonzero()[1000])
    block = int(tables.index[decided])
    word = (decided << 48) | (0 << 32) | (1 << 31) | 5
    assert settle_one(tables, word, 0, 0, SystemBits()) == -1 - ((block << tables.r) | 5)
    refused = settle_one(tables, word | (0xFFFF << 32) | ((1 << tables.r) - 1), 0, (1 << 48) - 1, SystemBits())
    assert abs(refused) < 20 * SIGMA  # refused: a new draw
    assert math.isfinite(refused)
