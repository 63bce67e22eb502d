"""Micro-batches computed afresh and from a recording add the same integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from discreet.learning.torch_training.gradients import ClippedSums
from discreet.learning.torch_training.layers import Ready
from discreet.learning.torch_training.micro_batches import MicroBatches, RecordedMicroBatches, Work

GENERATOR = torch.Generator().manual_seed(11)
X = torch.randn(40, 3, generator=GENERATOR)
Y = torch.randint(0, 2, (40,), generator=GENERATOR)
COUNTS = np.array([1, 1, 1, 0], dtype=np.float32)


class Recorder:
    """Stands for the card: replays by doing the work again on the same tensors, and writes to the same result."""

    def __init__(self) -> None:
        self.recordings = 0

    def __call__(self, work: Work) -> tuple[Tensor | None, Callable[[], object]]:
        self.recordings += 1
        result = work()

        def replay() -> None:
            again = work()
            if result is not None and again is not None:
                result.copy_(again)

        return result, replay


def model_and_sums() -> tuple[nn.Module, ClippedSums]:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    return model, ClippedSums(model, nn.CrossEntropyLoss(reduction="none"), 1.0)


@pytest.mark.parametrize("with_ready", [True, False])
def test_a_recording_adds_what_a_fresh_run_adds(with_ready: bool) -> None:
    """Also after the weights changed, in several micro-batches, and nothing from the recording itself."""
    model, sums = model_and_sums()
    recorder = Recorder()
    ready = Ready.of(X) if with_ready else None
    fresh, recorded = MicroBatches(sums, X, Y, ready), RecordedMicroBatches(sums, X, Y, ready, record=recorder)
    for start in (0, 7, 20):
        expected, found = fresh.totals(8), recorded.totals(8)
        for first in (start, start + 9):
            places = np.arange(first, first + 4)
            fresh.add(places, COUNTS, expected)
            recorded.add(places, COUNTS, found)
        assert torch.equal(expected.flat, found.flat)
        assert bool(found.flat.any())
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1.5)
    assert recorder.recordings == 1


def test_another_state_is_recorded_again() -> None:
    """Other totals, another size, a module that was switched, weights that moved in memory."""
    model, sums = model_and_sums()
    recorder = Recorder()
    recorded = RecordedMicroBatches(sums, X, Y, None, record=recorder)

    def step(rows: int, size: int = 4) -> None:
        recorded.add(np.arange(size), np.ones(size, dtype=np.float32), recorded.totals(rows))

    step(4)
    step(4)
    assert recorder.recordings == 1
    step(1 << 12)  # sums in 64 bits
    step(4)
    step(1 << 12)
    assert recorder.recordings == 2
    step(4, size=3)
    assert recorder.recordings == 3
    model.eval()
    step(4)
    assert recorder.recordings == 4
    with torch.no_grad():
        next(model.parameters()).data = torch.zeros(4, 3)
    step(4)
    assert recorder.recordings == 5


def test_rows_that_are_too_long_are_a_copy() -> None:
    model = nn.Sequential(nn.Embedding(5, 2), nn.Flatten(), nn.Linear(4, 2))
    sums = ClippedSums(model, nn.CrossEntropyLoss(reduction="none"), 1.0)
    tokens = torch.randint(0, 5, (6, 2), generator=GENERATOR)
    recorded = RecordedMicroBatches(sums, tokens, Y[:6], None, record=Recorder())
    first = recorded.add(np.arange(3), np.ones(3, dtype=np.float32), recorded.totals(3))
    assert first is not None
    second = recorded.add(np.arange(3), np.ones(3, dtype=np.float32), recorded.totals(3))
    assert second is not None
    assert first.data_ptr() != second.data_ptr()
    assert first.tolist() == second.tolist() == [False] * 3


@pytest.mark.parametrize("width", [3, 16])
def test_rows_that_are_kept_wider_are_the_same_rows(width: int) -> None:
    """Also where the data is a part of a larger tensor."""
    data = torch.randn(40, 50, generator=GENERATOR)[::2, 5 : 5 + width]
    sums = ClippedSums(nn.Linear(width, 2), nn.CrossEntropyLoss(reduction="none"), 1.0)
    kept = MicroBatches(sums, data, Y[:20], Ready.of(data))
    totals = kept.totals(4)
    kept.add(np.array([2, 19, 7, 0]), COUNTS, totals)
    rows = torch.tensor([2, 19, 7])
    plain = sums(data[rows].contiguous(), Y[rows], torch.ones(3))
    assert all(torch.equal(a, b) for a, b in zip(totals.views, plain, strict=True))
