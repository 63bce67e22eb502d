"""Private training (DP-SGD): Poisson batches, clipped integer sums, exact noise, a certified price.

Guarantee: the model after any number of the planned steps keeps ``budget`` for adding or removing one row of the data,
or one person with all of their rows where ``unit`` names them.
Each step adds floor(N(0, σ²)) to the integer sum of clipped gradients of a Poisson batch, and the whole run is priced
before it starts as that many sampled Gaussian mechanisms, by certified privacy loss distributions. The sum is divided
by a declared constant, never by the size of a batch. An empty batch is a step like any other. Proof: integers.md.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt
from threading import Lock
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from discreet.errors import BadData, BadParameter, ReceiptRefused
from discreet.exact import Number, integer, number, positive, sqrt_up
from discreet.learning.torch_training.batches import PoissonBatches, read_rate
from discreet.learning.torch_training.gradients import ClippedSums, Loss
from discreet.learning.torch_training.integers import RADIUS
from discreet.learning.torch_training.layers import Ready
from discreet.learning.torch_training.micro_batches import MicroBatches, RecordedMicroBatches
from discreet.learning.torch_training.noise import Noise
from discreet.learning.torch_training.totals import Totals
from discreet.mechanisms.base.mechanism import check_receipt
from discreet.privacy.budgets.calibrate import calibrate, covers
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Approx
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from discreet.progress import Progress
from discreet.unit_id import unit_codes

_FORMAT = 1
_MOST, _MOST_ROWS = 512, 2048  # rows of a piece
_ALIKE = 32  # numbers that torch works on at once; it rounds what is left over at the end differently
_MOST_THREADS = 16  # with more threads pieces would be mostly filling
_CLIPS = Fraction(1, 1 << 40), Fraction(1 << 64)  # cells for one unit of a gradient are then ordinary floats
_resumed: set[str] = set()
_resume_lock = Lock()
MakeOptimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a training run does, all public: its price follows from it alone."""

    budget: Approx
    rate: Fraction
    steps: int
    sigma: Fraction
    """Noise in clipping lengths."""

    @classmethod
    def of(cls, budget: Approx, rate: Number, steps: int) -> Plan:
        """The least noise that keeps the budget.

        >>> plan = Plan.of(Approx(1, "1e-5"), "1/64", 64)
        >>> 0.9 < plan.sigma < 1.2
        True
        """
        given: object = budget
        if not isinstance(given, Approx) or not given.epsilon or not given.delta:
            raise BadParameter("budget", given, 'must be dp.Approx(epsilon, delta), both above 0, such as (3, "1e-5")')
        q, times = read_rate(rate), integer(steps, "steps", at_least=1)
        found = calibrate(lambda sigma: sampled(sigma, q, times), budget=given)
        square = found.event.event.sigma_squared if q < 1 else found.event.sigma_squared  # type: ignore[attr-defined]
        sigma = Fraction(ceil(sqrt_up(square) * (1 << 20)), 1 << 20)  # a short number; more noise is no harm
        return cls(given, q, times, sigma)

    @property
    def mechanism(self) -> events.Event:
        """All steps as they ran: for composing with other events."""
        return sampled(self.sigma, self.rate, self.steps)

    @property
    def event(self) -> events.Approx:
        """The whole run as one entry of a ledger; refused of a plan that was changed and does not keep its budget."""
        if not keeps_budget(self):
            raise BadParameter("plan", f"{self.steps} steps", "must have the noise that its budget takes: use Plan.of")
        return events.Approx(self.budget.epsilon, self.budget.delta).about(Neighbours.ADD_REMOVE)


@lru_cache(maxsize=64)
def keeps_budget(plan: Plan) -> bool:
    """Whether its noise is enough: by its certified price, or because ``Plan.of`` gives no more."""
    return covers(plan.mechanism, plan.budget) or Plan.of(plan.budget, plan.rate, plan.steps).sigma <= plan.sigma


def sampled(sigma: Fraction, rate: Fraction, steps: int) -> events.Repeat:
    """So many Gaussian mechanisms, each on a Poisson sample."""
    noise = events.Gaussian(sigma=sigma)
    return events.Repeat(noise if rate == 1 else events.Subsampled(noise, rate=rate), steps)


def usual_piece(rate: Fraction, rows: int, most: int) -> int:
    """The size of micro-batches: a batch and two deviations, in as few equal pieces as ``most`` allows.

    >>> usual_piece(Fraction(1, 10), 10_000, 2048), usual_piece(Fraction(1, 10), 10_000, 512)
    (1060, 354)
    >>> usual_piece(Fraction(1), 500, 512), usual_piece(Fraction(1, 50), 10, 512)
    (500, 1)
    """
    expected = ceil(rate * rows + 2 * isqrt(int(rate * (1 - rate) * rows)))
    return -(-expected // -(-expected // most))


def whole_piece(size: int, threads: int) -> int:
    """A size of micro-batches on processors, filled up so that no row stands where threads leave a rest.

    >>> whole_piece(1060, 1), whole_piece(1060, 2), whole_piece(3, 4), whole_piece(100, 64)
    (1088, 1088, 128, 128)
    """
    step = _ALIKE * threads if threads <= _MOST_THREADS else 2 * _ALIKE
    return -(-size // step) * step


def read_clip(clip: Number) -> Fraction:
    """The clipping length, between 2^-40 and 2^64."""
    length = positive(clip, "clip")
    if not _CLIPS[0] <= length <= _CLIPS[1]:
        raise BadParameter("clip", clip, "must lie between 2^-40 and 2^64: scale the loss instead")
    return length


class PrivateTraining:
    """A run of private training, step by step; ``train(...)`` runs it to its end.

    ``rows`` is a public figure for the number of rows: sums are divided by rate times this, whatever the data holds.
    ``unit`` names the person of each row: each person is then drawn at the rate, with one of their rows, drawn anew in
    each step; the model keeps ``budget`` for adding or removing a person, and ``rows`` is how many persons there are.
    ``loss(outputs, targets)`` gives one loss for each row (reduction="none"). ``micro_batch`` is how many rows are
    worked on together, which bounds the memory: by default what a batch is expected to hold and a little more, in equal
    pieces of at most 512 rows, or 2,048 where rows are flat vectors; on processors pieces of flat vectors are filled up
    to a multiple of 32 rows for each thread, so that a row is rounded alike wherever it stands. ``recorded=True``
    records the kernels of a micro-batch once where the data lies on a graphics card, and replays them: for models that
    do the same operations on every batch.
    """

    def __init__(
        self,
        model: nn.Module,
        data: tuple[Tensor, Tensor],
        loss: Loss,
        *,
        plan: Plan,
        rows: int,
        clip: Number = 1,
        optimizer: torch.optim.Optimizer | None = None,
        unit: Any = None,
        micro_batch: int | None = None,
        recorded: bool = False,
        receipt: Receipt | None = None,
        done: int = 0,
    ) -> None:
        self.plan = plan
        self.done = integer(done, "done", at_least=0)
        self._id = secrets.token_hex(16)
        x, y = _read_data(data)
        units = None if unit is None else _read_units(unit, len(y))
        length = read_clip(clip)
        self._sums = ClippedSums(model, loss, float(length))
        y = self._sums.check_loss(x, y)
        made = RecordedMicroBatches if recorded and x.device.type == "cuda" else MicroBatches
        self._rows = made(self._sums, x, y, Ready.of(x) if _is_table(x) else None)
        declared = integer(rows, "rows", at_least=1)
        usual = usual_piece(plan.rate, declared, _MOST_ROWS if _is_table(x) else _MOST)
        micro = usual if micro_batch is None else integer(micro_batch, "micro_batch", at_least=1)
        if x.device.type == "cpu" and (_is_table(x) or (micro_batch is None and usual > _ALIKE)):
            micro = whole_piece(micro, torch.get_num_threads())
        self._batches = PoissonBatches(len(y), rate=plan.rate, micro=micro, units=units)
        self._unit = float(length / RADIUS / (plan.rate * declared))
        self.optimizer = optimizer or torch.optim.SGD(self._sums.parameters, lr=1.0)
        self._noise = Noise((plan.sigma * RADIUS) ** 2, self._sums.parameters)
        self._closed = False
        self._process = os.getpid()
        self._stepping = Lock()
        if receipt is not None:
            check_receipt(receipt).redeem(plan.event)

    @property
    def event(self) -> events.Approx:
        """What the whole run writes into a ledger."""
        return self.plan.event

    @property
    def model(self) -> nn.Module:
        """The model that is trained."""
        return self._sums.model

    def step(self) -> None:
        """One batch, one noisy gradient, one step of the optimiser."""
        if not self._stepping.acquire(blocking=False):  # two batches in the same totals would share one noise
            raise ReceiptRefused("a step of this run is under way; steps follow each other")
        try:
            self._step()
        finally:
            self._stepping.release()

    def _step(self) -> None:
        self._check_process()
        if self._closed:
            raise ReceiptRefused("this run was handed over by state(); go on with the one that was resumed from it")
        if self.done >= self.plan.steps:
            raise ReceiptRefused(f"all {self.plan.steps} steps that were charged for are done; plan a new run for more")
        self.done += 1  # before anything is drawn: a step that fails is a step that was paid
        batch = list(self._batches.micro_batches())
        totals = self._rows.totals(len(batch) * self._batches.micro)
        noisy = self._noisy(batch, totals)
        for parameter, part in zip(self._sums.parameters, noisy, strict=True):
            parameter.grad = part.to(parameter.dtype)
        self.optimizer.step()
        for parameter in self._sums.parameters:
            parameter.grad = None

    def _check_process(self) -> None:
        if self._process != os.getpid():  # its steps would be made twice
            raise ReceiptRefused("this run belongs to the process that made it; hand it over by its state()")

    def _noisy(self, batch: list[tuple[NDArray[np.intp], NDArray[np.float32]]], totals: Totals) -> list[Tensor]:
        """The noisy sum of a batch. Rows that turn out too long are left out, and all is done again, noise too.

        What was made with them is shown to nobody. Whether a row is too long is its own affair alone.
        """
        while True:
            too_long = [self._rows.add(places, counts, totals) for places, counts in batch]
            noisy = self._noise.add_to(totals, self._unit)
            found = [t for t in too_long if t is not None]
            if not found or not bool(torch.cat(found).any()):
                return noisy
            totals.clear()
            for (_, counts), rows in zip(batch, found, strict=True):
                counts[rows.cpu().numpy()] = 0

    def run(self, progress: bool | None = None) -> None:
        """All steps that are left."""
        with Progress(progress) as shown:
            while self.done < self.plan.steps:
                shown.step(f"step {self.done + 1} of {self.plan.steps}")
                self.step()

    # --- saving -------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything to go on elsewhere, as plain numbers and tensors (``torch.save`` it). It ends this run.

        No randomness is in it: whoever resumes draws fresh noise. A state is good for one ``resume``; a second one is a
        second release of the steps that are left, and this process refuses it.
        """
        self._check_process()
        if not self._stepping.acquire(blocking=False):
            raise ReceiptRefused("a step of this run is under way; its state is known when it has ended")
        self._closed = True
        self._stepping.release()
        return {
            "format": _FORMAT,
            "id": self._id,  # that of the run: asking twice gives no second one to resume
            "done": self.done,
            "steps": self.plan.steps,
            "rate": str(self.plan.rate),
            "sigma": str(self.plan.sigma),
            "epsilon": str(self.plan.budget.epsilon),
            "delta": str(self.plan.budget.delta),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }

    def __reduce__(self) -> NoReturn:
        raise ReceiptRefused("a run can be neither copied nor pickled: its steps were charged once; use state()")

    @classmethod
    def resume(
        cls, state: dict[str, Any], model: nn.Module, data: tuple[Tensor, Tensor], loss: Loss, **options: Any
    ) -> PrivateTraining:
        """Go on from a state with the steps that are left of what was paid; options as for a new run."""
        if not isinstance(state, dict) or state.get("format") != _FORMAT:
            raise BadData("the state is not one that PrivateTraining.state() gave, or is of another version")
        plan = Plan(
            Approx(state["epsilon"], state["delta"]), number(state["rate"]), int(state["steps"]), number(state["sigma"])
        )
        with _resume_lock:
            if state["id"] in _resumed:
                raise ReceiptRefused("this state was resumed already; going on twice from it must be charged twice")
            _resumed.add(state["id"])
        model.load_state_dict(state["model"])
        run = cls(model, data, loss, plan=plan, done=int(state["done"]), **options)
        run.optimizer.load_state_dict(state["optimizer"])
        return run


def train(
    model: nn.Module,
    data: Any,
    loss: Loss,
    *,
    budget: Approx,
    rows: int,
    epochs: Number = 10,
    rate: Number = "1/50",
    clip: Number = 1,
    optimizer: MakeOptimizer | None = None,
    unit: Any = None,
    micro_batch: int | None = None,
    recorded: bool = False,
    receipt: Receipt | None = None,
    progress: bool | None = None,
) -> PrivateTraining:
    """Train a model in place and return the run, with its plan and price.

    ``data`` is a pair of tensors (rows and targets), or a data set of such pairs. ``rows`` is a public figure for how
    many rows there are, ``rate`` the chance of each to be in a batch: a batch holds about rate times rows. There are
    epochs / rate steps. ``unit`` names the person of each row: persons are then drawn, and ``rows`` is their number.
    ``optimizer`` makes one from the parameters; SGD with learning rate 1 by default.
    ``recorded=True`` replays the kernels of the first micro-batch on a graphics card (see ``PrivateTraining``).

    >>> model = nn.Linear(2, 2)
    >>> data = torch.randn(200, 2), torch.randint(0, 2, (200,))
    >>> run = train(model, data, nn.CrossEntropyLoss(reduction="none"), budget=Approx(3, "1e-5"), rows=200, epochs=1)
    >>> run.done, run.event
    (50, Approx(epsilon=3, delta='1/100000').about(Neighbours.ADD_REMOVE))
    """
    count = positive(epochs, "epochs") / read_rate(rate)
    plan = Plan.of(budget, rate, max(1, round(count)))
    made = optimizer([p for p in model.parameters() if p.requires_grad]) if optimizer is not None else None
    run = PrivateTraining(
        model, _as_tensors(data), loss, plan=plan, rows=rows, clip=clip, optimizer=made, unit=unit,
        micro_batch=micro_batch, recorded=recorded, receipt=receipt,
    )  # fmt: skip
    run.run(progress)
    return run


def _as_tensors(data: Any) -> tuple[Tensor, Tensor]:
    if isinstance(data, torch.utils.data.DataLoader):
        raise BadParameter(
            "data", "a DataLoader", "must be a data set or a pair of tensors: batches are drawn here, so that each row "
            "is in a batch by itself with the stated chance"
        )  # fmt: skip
    if isinstance(data, torch.utils.data.TensorDataset):
        return _read_data(data.tensors)
    if isinstance(data, torch.utils.data.Dataset):
        listed: Any = data
        pairs = [listed[i] for i in range(len(listed))]
        return torch.stack([torch.as_tensor(x) for x, _ in pairs]), torch.stack([torch.as_tensor(y) for _, y in pairs])
    return _read_data(data)


def _is_table(x: Tensor) -> bool:
    """Rows of single precision: what a first linear layer multiplies may be computed once."""
    return x.dim() == 2 and x.dtype == torch.float32


def _read_data(data: Any) -> tuple[Tensor, Tensor]:
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise BadData("the data must be a pair of tensors: rows and targets")
    x, y = (torch.as_tensor(np.asarray(part) if not isinstance(part, Tensor) else part) for part in data)
    if x.dim() < 1 or y.dim() < 1 or len(x) != len(y):
        raise BadData("rows and targets must have the same length")
    if not len(x):
        raise BadData("the data must hold at least one row, so that its shape is known")
    return _without_gaps(x), _without_gaps(y)


def _read_units(unit: Any, rows: int) -> NDArray[np.int64]:
    """A number for the person of each row; -1: nobody."""
    listed = next((getattr(unit, name) for name in ("to_pylist", "to_list", "tolist") if hasattr(unit, name)), None)
    values = unit if listed is None else listed()
    if not isinstance(values, (list, tuple)) or len(values) != rows:
        raise BadData("unit must be a flat list with the person of each row of X")
    return unit_codes(values)


def _without_gaps(values: Tensor) -> Tensor:
    """NaN and infinities as 0: an error would tell that somebody has one. Nothing is copied where there are none."""
    if not values.is_floating_point() or bool(torch.isfinite(values).all()):
        return values
    return torch.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
