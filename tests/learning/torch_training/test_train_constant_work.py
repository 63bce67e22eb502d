"""The work of a step says nothing about the values of the data: the same operations on the same shapes, and as many
random bytes, for data of every kind, if the batch is the same.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from discreet.learning.torch_training import integers
from discreet.learning.torch_training.train import Plan, PrivateTraining
from discreet.privacy.promises.measures import Approx
from discreet.randomness import SystemBits

ROWS = 40
Trace = list[tuple[Any, ...]]


class Traced(TorchDispatchMode):
    """Every operation of torch with the shapes and types of what it is given."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self.trace = trace

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [x for one in args for x in (one if isinstance(one, (list, tuple)) else [one]) if isinstance(x, Tensor)]
        self.trace.append((str(func), *((tuple(x.shape), x.dtype) for x in given)))
        return func(*args, **(kwargs or {}))


class Flat(nn.Module):
    """Written-out gradients: a convolution and a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.mixed = nn.Conv1d(1, 2, 3)
        self.norm = nn.GroupNorm(1, 2)
        self.out = nn.Linear(20, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.norm(self.mixed(x[:, None])).flatten(1))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "feed-forward": lambda: nn.Sequential(nn.Linear(12, 30), nn.ReLU(), nn.Linear(30, 2)),
    "through the graph": lambda: nn.Sequential(nn.Linear(12, 30), nn.Tanh(), nn.Linear(30, 2)),
    "written out": Flat,
    "by vmap": lambda: nn.Sequential(nn.PReLU(), nn.Linear(12, 2)),
}
KINDS: dict[str, Callable[[], tuple[Tensor, Tensor]]] = {
    "zeros": lambda: (torch.zeros(ROWS, 12), torch.zeros(ROWS, dtype=torch.int64)),
    "one-hot": lambda: (torch.eye(12).repeat(4, 1)[:ROWS], torch.arange(ROWS) % 2),
    "large": lambda: (1e30 * torch.randn(ROWS, 12), torch.arange(ROWS) % 2),  # lengths that are infinite
    "too large": lambda: (3e38 * torch.randn(ROWS, 12).sign(), torch.arange(ROWS) % 2),  # gradients that are no numbers
    "tiny": lambda: (1e-40 * torch.randn(ROWS, 12), torch.ones(ROWS, dtype=torch.int64)),
}


def trace_of(monkeypatch: pytest.MonkeyPatch, model: str, kind: str) -> Trace:
    """Three steps with the same weights and the same randomness: what was computed, and how many bytes were drawn."""
    torch.manual_seed(0)
    made, data = MODELS[model](), KINDS[kind]()
    plan = Plan(Approx(1, "1e-5"), Fraction(1, 2), 1 << 20, Fraction(1))
    run = PrivateTraining(made, data, nn.CrossEntropyLoss(reduction="none"), plan=plan, rows=ROWS)
    trace: Trace = []
    dice = np.random.default_rng(5)

    def drawn(self: object, count: int) -> bytes:
        trace.append(("bytes", count))
        return dice.bytes(count)

    with monkeypatch.context() as patch, Traced(trace):
        patch.setattr(SystemBits, "bytes", drawn)
        patch.setattr(SystemBits, "bits", lambda self, count: int.from_bytes(drawn(self, -(-count // 8))) >> -count % 8)
        for _ in range(3):
            run.step()
    return trace


@pytest.mark.parametrize("model", MODELS)
def test_a_step_does_the_same_work_for_all_data(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    first, *others = (trace_of(monkeypatch, model, kind) for kind in KINDS)
    assert len(first) > 100
    assert any(line[0] == "bytes" for line in first)
    for other in others:
        assert other == first


def test_work_that_follows_the_data_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: rows that are not finite are looked for, and taken out only where there are some."""

    def times(x: Tensor, cells: Tensor) -> Tensor:
        product = x * cells
        return product if bool(product.isfinite().all()) else torch.where(cells > 0, product, 0.0)

    monkeypatch.setattr(integers, "times", times)
    assert trace_of(monkeypatch, "feed-forward", "zeros") != trace_of(monkeypatch, "feed-forward", "too large")
