"""The gradients of one micro-batch of a data set, computed afresh or replayed from a recording.

On a graphics card a step of a large model is a thousand small kernels, and launching them takes the processor longer
than the card needs to run them. Micro-batches have one shape, so that the same kernels can be recorded once (a CUDA
graph) and started together. A recording does what was recorded: a model whose code takes another path from batch to
batch must not be recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.learning.torch_training.gradients import ClippedSums
from discreet.learning.torch_training.layers import Ready
from discreet.learning.torch_training.totals import Totals

Work = Callable[[], Tensor | None]
Record = Callable[[Work], tuple[Tensor | None, Callable[[], object]]]
_WARM_UP = 3  # runs in which kernels are compiled and chosen


class MicroBatches:
    """Integer sums of clipped gradients for chosen rows of a data set."""

    def __init__(self, sums: ClippedSums, x: Tensor, y: Tensor, ready: Ready | None) -> None:
        self._sums, self._x, self._y, self._ready = sums, sums.laid_out(x), y, ready
        self._width = x.shape[1] if self._x is not x else None
        self._totals: dict[torch.dtype, Totals] = {}

    def totals(self, rows: int) -> Totals:
        """Zeros to which so many rows may be added, always in the same memory."""
        kind = self._sums.kind_of_totals(rows)
        if kind not in self._totals:
            self._totals[kind] = self._sums.totals(rows)
        self._totals[kind].clear()
        return self._totals[kind]

    def add(self, places: NDArray[np.intp], counts: NDArray[np.float32], totals: Totals) -> Tensor | None:
        """Add these rows where ``counts`` is 1; which ones turned out too long, as ``ClippedSums.add`` has it."""
        device = self._x.device
        return self._add(torch.from_numpy(places).to(device), torch.from_numpy(counts).to(device), totals)

    def _add(self, index: Tensor, weights: Tensor, totals: Totals) -> Tensor | None:
        ready = None if self._ready is None else self._ready.rows(index)
        x, y = self._x.index_select(0, index), self._y.index_select(0, index)
        return self._sums.add(x if self._width is None else x[:, : self._width], y, weights, totals, ready)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording, and the tensors that it reads and writes."""

    index: Tensor
    weights: Tensor
    too_long: Tensor | None
    replay: Callable[[], object]


def record_graph(work: Work) -> tuple[Tensor | None, Callable[[], object]]:
    """What the work returns, and a call that does the same kernels again."""
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(_WARM_UP):
            work()
    torch.cuda.current_stream().wait_stream(beside)
    torch.cuda.empty_cache()
    graph = torch.cuda.CUDAGraph()
    torch.clear_autocast_cache()  # weights that were cast before would be taken as they are now, for ever
    with torch.cuda.graph(graph, stream=beside):  # a stream of its own would take work space of its own
        result = work()
    torch.clear_autocast_cache()
    return result, graph.replay


class RecordedMicroBatches(MicroBatches):
    """The same from a recording: one for each kind of totals and each state of the model that changes the kernels."""

    def __init__(
        self, sums: ClippedSums, x: Tensor, y: Tensor, ready: Ready | None, *, record: Record = record_graph
    ) -> None:
        super().__init__(sums, x, y, ready)
        self._record = record
        self._recorded: dict[Hashable, Recorded] = {}
        self._recorded_in: tuple[Hashable, ...] = ()

    def add(self, places: NDArray[np.intp], counts: NDArray[np.float32], totals: Totals) -> Tensor | None:
        """The same by a replay; what it says of rows is a copy, since the next replay writes there."""
        state = self._state()
        if state != self._recorded_in:
            self._recorded.clear()
            self._recorded_in = state
        key = totals.flat.dtype, len(places)
        if key not in self._recorded:
            self._recorded[key] = self._made(len(places), totals)
        found = self._recorded[key]
        found.index.copy_(torch.from_numpy(places))
        found.weights.copy_(torch.from_numpy(counts))
        found.replay()
        return None if found.too_long is None else found.too_long.clone()

    def _made(self, rows: int, totals: Totals) -> Recorded:
        """Recorded with weights of 0, so that nothing is added while kernels are tried."""
        index = torch.zeros(rows, dtype=torch.int64, device=self._x.device)
        weights = torch.zeros(rows, device=self._x.device)
        too_long, replay = self._record(lambda: self._add(index, weights, totals))
        return Recorded(index, weights, too_long, replay)

    def _state(self) -> tuple[Hashable, ...]:
        """What else decides which kernels run, and where they read."""
        kind = self._x.device.type
        model = self._sums.model
        return (
            torch.is_autocast_enabled(kind),
            torch.get_autocast_dtype(kind),
            tuple(module.training for module in model.modules()),
            tuple(p.data_ptr() for p in model.parameters()),
        )
