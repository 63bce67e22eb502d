"""Linear layers and ReLUs one after the other: their passes forwards and backwards by hand, without a graph.

Models of tables are mostly of this kind, and small: recording a graph and walking it back takes longer than what is
computed. The operations are those of torch's own graph; of the cross-entropy only the gradient is computed, softmax
less the target, in operations that treat every row alike wherever it stands in the batch (softmax over columns of a
transposed batch does not: its last rows are rounded differently).

Promise: the inputs and output gradients of every layer, as the graph gives them, up to rounding of the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules import module as modules

from discreet.learning.torch_training.checks import check_losses
from discreet.learning.torch_training.layers import Outer, Part, in_lines, linear, starts_alike, wanted

Loss = Callable[[Any, Any], Tensor]
_HOOKS = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"
_FEW = 16  # classes up to which each is compared with the target


class FeedForward:
    """The parts of one model, if it is nothing but linear layers and ReLUs."""

    def __init__(self, layers: list[nn.Module], model: nn.Module) -> None:
        self._layers, self._types = layers, [type(layer) for layer in layers]
        self._inside: dict[str, nn.Module] = vars(model)["_modules"]
        self._parameters: list[dict[str, nn.Parameter | None]] = [vars(layer)["_parameters"] for layer in layers]
        self._own = [vars(module) for module in (model, *layers)]
        self._hooks: list[Any] = [own[name] for own in self._own for name in _HOOKS]
        self._hooks += [getattr(modules, f"_global{name}") for name in _HOOKS]
        self._classes, self._signs = torch.arange(_FEW), torch.tensor([[-1.0, 1.0]])

    @classmethod
    def of(cls, model: nn.Module) -> FeedForward | None:
        """For such a model; None for others.

        >>> FeedForward.of(nn.Sequential(nn.Linear(2, 3), nn.ReLU())) is None
        False
        >>> FeedForward.of(nn.Sequential(nn.Linear(2, 3), nn.Tanh())) is None
        True
        """
        layers: list[nn.Module] = list(model) if type(model) is nn.Sequential else [model]
        fits = all(type(layer) in (nn.Linear, nn.ReLU) for layer in layers)
        linear_layers = [id(layer) for layer in layers if type(layer) is nn.Linear]
        once = len(set(linear_layers)) == len(linear_layers)  # gradients of several uses of a weight would add up
        return cls(layers, model) if fits and once and layers and type(layers[0]) is nn.Linear else None

    def applies(self, x: Any) -> bool:
        """Whether calling the model on such rows does these operations and nothing else.

        Looked at for every batch: hooks may be added, layers exchanged or types changed at any time.
        """
        if type(x) is not Tensor or x.dim() != 2 or x.device.type != "cpu" or x.dtype != torch.float32:
            return False
        if any(self._hooks) or torch.is_autocast_enabled("cpu") or any("forward" in own for own in self._own):
            return False
        if self._inside and list(self._inside.values()) != self._layers:
            return False
        if [type(layer) for layer in self._layers] != self._types:  # parametrisations change them
            return False
        return all(p is None or p.dtype == torch.float32 for own in self._parameters for p in own.values())

    def laid_out(self, x: Tensor) -> Tensor:
        """The rows of the data, with zeros behind them if batches that are taken from these need no other copy then."""
        weight = self._parameters[0]["weight"]
        return x if weight is None or x.dim() != 2 else in_lines(x, len(weight))

    @torch.no_grad()
    def parts(self, x: Tensor, y: Tensor, loss: Loss) -> list[Part]:
        """The gradients of all rows, in factors."""
        given = [x]
        for own in self._parameters:
            weight, bias = own.get("weight"), own.get("bias")
            if weight is not None:
                given.append(functional.linear(starts_alike(given[-1], len(weight)), weight, bias))
            else:
                given.append(given[-1].relu_())  # what a linear layer gave, which nothing else reads
        g = self._loss_gradient(given[-1], y, loss)
        first = next(i for i, own in enumerate(self._parameters) if any(map(wanted, own.values())))
        parts: list[Part] = []
        for i in range(len(self._layers) - 1, first - 1, -1):
            weight, bias = self._parameters[i].get("weight"), self._parameters[i].get("bias")
            if weight is None:
                g = torch.ops.aten.threshold_backward(g, given[i + 1], 0)
                continue
            if wanted(weight):
                parts.append(Outer(weight, given[i], g, bias if wanted(bias) else None))
            elif wanted(bias):
                parts += linear(self._layers[i], given[i], g)
            if i > first:
                g = g @ weight
        return parts

    def _loss_gradient(self, outputs: Tensor, y: Tensor, loss: Loss) -> Tensor:
        """The gradient of each row's loss by its outputs."""
        classes = outputs.shape[1]
        if type(loss) is nn.CrossEntropyLoss and classes <= _FEW and _is_usual(loss, classes, y):
            targets = y.unsqueeze(1)
            counts = targets != loss.ignore_index
            if classes == 2:  # half of the operations, each on half as many numbers
                odds = (outputs[:, :1] - outputs[:, 1:]).exp_()  # torch's sigmoid rounds the last entries differently
                second = odds.add_(1).reciprocal_().sub_(targets).mul_(counts)
                return second * self._signs
            softmax = (outputs - outputs.amax(1, keepdim=True)).exp_()
            softmax.mul_(counts / softmax.sum(1, keepdim=True))
            return softmax.sub_(targets.eq(self._classes[:classes]).float())
        with torch.enable_grad():
            held = outputs.requires_grad_()
            losses = check_losses(loss(held, y), len(y))
            return torch.autograd.grad(losses.sum(), held)[0]


def _is_usual(loss: nn.CrossEntropyLoss, classes: int, y: Tensor) -> bool:
    """Cross-entropy of classes, without weights; targets that are ignored are no class."""
    own = vars(loss)
    if "forward" in own or any(own[name] for name in _HOOKS):
        return False
    known = loss.weight is None and loss.label_smoothing == 0 and loss.reduction == "none"
    return known and not 0 <= loss.ignore_index < classes and y.dtype == torch.int64 and y.dim() == 1
