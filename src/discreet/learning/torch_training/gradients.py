"""The sum of clipped per-example gradients of a micro-batch, in integers.

One pass forwards that keeps each layer's input; one pass backwards to the layers' outputs only; the length of every
row's gradient from the two; then one exact product of integers for each layer. Where a layer has no rule, gradients of
all rows are written out by ``torch.func.vmap``.

Guarantee: adding a row to the batch moves the integer sums by at most RADIUS in L2, if a row's inputs and output
gradients do not depend on the other rows of the micro-batch. Proof: integers.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

from discreet.errors import BadParameter
from discreet.learning.torch_training.checks import (
    check_losses,
    check_model,
    check_rows_apart,
    known_targets,
    unsupported,
)
from discreet.learning.torch_training.feed_forward import FeedForward
from discreet.learning.torch_training.integers import RADIUS
from discreet.learning.torch_training.layers import NARROW, Outer, Part, Ready, Written, joined, rule_for, starts_alike
from discreet.learning.torch_training.totals import Totals

Loss = Callable[[Any, Any], Tensor]
_MARGIN = 1 - 2.0**-8  # covers the rounding of lengths and of the factors' scales
_TOKEN_MARGIN = 1 - 2.0**-5  # tokens' truncation errors may point the same way
_SMALLEST = 2.0**-40
_MOST_SQUARE = (1 - 2.0**-16) * RADIUS**2  # less than RADIUS^2 by more than the sums in doubles may be off


@dataclass(frozen=True, slots=True)
class _Pass:
    """A layer in the pass forwards: what it was given, and the place of its output in the graph.

    Not the output itself: its memory can be used again.
    """

    layer: nn.Module
    given: Tensor
    version: int
    output: GradientEdge | None

    @classmethod
    def of(cls, layer: nn.Module, given: Tensor, output: Tensor) -> _Pass:
        return cls(layer, given, given._version, get_gradient_edge(output) if output.requires_grad else None)


class ClippedSums:
    """Integer sums of clipped gradients for one model and loss."""

    def __init__(self, model: nn.Module, loss: Loss, clip: float) -> None:
        check_model(model)
        self.model = model
        self.loss = loss
        self.clip = clip
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.by_vmap = bool(unsupported(model))
        self._chain = FeedForward.of(model)
        self._narrow = [m for m in model.modules() if type(m) is nn.Linear and m.out_features < NARROW]
        self._layers = [m for m in model.modules() if any(p.requires_grad for p in m.parameters(recurse=False))]

    def __call__(self, x: Any, y: Any, counts: Tensor, ready: Ready | None = None) -> list[Tensor]:
        """One integer tensor for each parameter; ``counts`` is 1 for rows that count, and 0 for padding."""
        totals = self.totals(len(counts))
        too_long = self.add(x, y, counts, totals, ready)
        while too_long is not None and bool(too_long.any()):
            totals.clear()
            counts = torch.where(too_long, 0.0, counts)
            too_long = self.add(x, y, counts, totals, ready)
        return totals.views

    @torch.no_grad()
    def check_loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Refuse a loss that is not one number for each row, on two rows of zeros. The targets that the loss knows."""
        two, targets = (t.new_zeros((2, *t.shape[1:])) for t in (x, y))
        try:
            outputs = self.model(two)
            losses = self.loss(outputs, targets)
        except (RuntimeError, ValueError, IndexError):  # of types that fit under autocast, or zeros that mean nothing
            return y
        check_losses(losses, 2)
        check_rows_apart(self.model, self._first_row, x, y)
        return known_targets(self.loss, outputs, y)

    def _first_row(self, x: Tensor, y: Tensor) -> list[Tensor]:
        """The direction and the length of the first row's gradient."""
        always = ClippedSums(self.model, self.loss, _SMALLEST)  # all rows are scaled to one length
        counts = torch.zeros(len(y), device=x.device).index_fill_(0, torch.tensor([0], device=x.device), 1.0)
        return [torch.cat([t.flatten() for t in always(x, y, counts)]), always.norms(x, y)[0]]

    def laid_out(self, x: Tensor) -> Tensor:
        """The rows of the data as they are best kept for a run, perhaps with zeros behind them."""
        return x if self._chain is None or self.by_vmap else self._chain.laid_out(x)

    def totals(self, rows: int) -> Totals:
        """Zeros to which so many rows may be added."""
        return Totals(self.parameters, rows * RADIUS)

    def kind_of_totals(self, rows: int) -> torch.dtype:
        """The type of those zeros."""
        return Totals.kind(rows * RADIUS)

    def add(self, x: Any, y: Any, counts: Tensor, totals: Totals, ready: Ready | None = None) -> Tensor | None:
        """Add a micro-batch. Which rows turned out too long: they must not count, so start again without them.

        None where no row can be too long. ``ready`` is what was computed of x ahead, for layers that see x itself.
        """
        version = x._version
        parts = self.parts(x, y)
        for part in parts:
            if isinstance(part, Outer) and part.a.data_ptr() == x.data_ptr() and x._version == version:
                part.take(ready)
        return self.add_parts(parts, counts, totals)

    def parts(self, x: Any, y: Any) -> list[Part]:
        """The gradients of all rows, in factors or written out; each parameter in one part alone."""
        if self.by_vmap:
            return self._written(x, y)
        chain = self._chain
        known = chain is not None and chain.applies(x)
        parts = chain.parts(x, y, self.loss) if chain is not None and known else self._ghost(x.contiguous(), y)
        trained = [id(p) for part in parts for p in part.trained()]
        if len(set(trained)) != len(trained):  # the lengths of parts would be less than that of their sum
            raise BadParameter("model", type(self.model).__name__, "must use each parameter once in a pass")
        return parts

    def norms(self, x: Any, y: Any) -> Tensor:
        """The length of each row's gradient: for tests and for choosing a clip on public data."""
        return _total_squares(self.parts(x, y)).sqrt()

    @torch.no_grad()
    def add_parts(self, parts: list[Part], counts: Tensor, totals: Totals) -> Tensor | None:
        """Add the integers of all parts; lengths are computed in the stated precision, whatever the caller's is."""
        if not torch.is_autocast_enabled(counts.device.type):
            return self._add(joined(parts), counts, totals)
        with torch.autocast(counts.device.type, enabled=False):
            return self._add(joined(parts), counts, totals)

    def _add(self, parts: list[Part], counts: Tensor, totals: Totals) -> Tensor | None:
        lengths = _total_squares(parts).sqrt_()
        look = not all(part.shrinks for part in parts)
        margin = _TOKEN_MARGIN if look else _MARGIN
        cells = (counts / lengths.clamp_(min=self.clip)).float().nan_to_num_(nan=0.0).mul_(margin * RADIUS)
        squares = torch.zeros(len(counts), dtype=torch.float64, device=counts.device) if look else None
        for part in parts:
            part.add(cells, totals.of, squares)
        return None if squares is None else ~(squares <= _MOST_SQUARE)

    # --- one pass forwards, one backwards to the outputs of layers ----------------------------------------------------

    def _ghost(self, x: Any, y: Any) -> list[Part]:
        seen: list[_Pass] = []
        hooks = [m.register_forward_pre_hook(_in_lines) for m in self._narrow]
        hooks += [m.register_forward_hook(lambda m, i, o: seen.append(_Pass.of(m, i[0], o))) for m in self._layers]
        try:
            losses = check_losses(self.loss(self.model(x), y), len(y))
        finally:
            for hook in hooks:
                hook.remove()
        if len({id(one.layer) for one in seen}) != len(seen):
            raise BadParameter("model", type(self.model).__name__, "must use each layer once in a pass")
        if any(len(one.given) != len(y) for one in seen):
            raise BadParameter(
                "model", type(self.model).__name__, "must have the rows of a batch in front, in all layers"
            )
        if any(one.given._version != one.version for one in seen):
            raise BadParameter("model", type(self.model).__name__, "must not change a layer's input in place")
        known = [(one, one.output) for one in seen if one.output is not None]
        gradients = torch.autograd.grad(losses.sum(), [output for _, output in known], allow_unused=True)
        parts: list[Part] = []
        for (one, _), gradient in zip(known, gradients, strict=True):
            rule = rule_for(one.layer)
            if gradient is not None and rule is not None:
                parts += rule(one.layer, one.given.detach(), gradient)
        return parts

    # --- all gradients written out ------------------------------------------------------------------------------------

    def _written(self, x: Any, y: Any) -> list[Part]:
        trained = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        rest = {name: p for name, p in self.model.named_parameters() if not p.requires_grad}
        buffers = dict(self.model.named_buffers())

        def of_one(values: dict[str, Tensor], row: Tensor, target: Tensor) -> Tensor:
            everything: dict[str, Tensor] = {**values, **rest, **buffers}
            output = torch.func.functional_call(self.model, everything, (row.unsqueeze(0),))
            return check_losses(self.loss(output, target.unsqueeze(0)), 1).sum()

        each = torch.func.vmap(torch.func.grad(of_one), in_dims=(None, 0, 0), randomness="different")
        values = {name: p.detach() for name, p in trained.items()}
        gradients = each(values, x, y)
        return [Written((p,), gradients[name].float().flatten(1)) for name, p in trained.items()]


def _in_lines(layer: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
    return (starts_alike(given[0], layer.out_features), *given[1:]) if given else given


def _total_squares(parts: list[Part]) -> Tensor:
    total = parts[0].squares()
    for part in parts[1:]:
        total = total + part.squares()
    return total
