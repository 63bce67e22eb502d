"""Per-example gradients of each kind of layer, from its inputs and the gradients of its outputs.

For each kind: the squared length of every row's gradient, and the same gradients as integers. Nothing is written out
for linear layers and embeddings (the ghost norm: |Σ_t g_t a_tᵀ|² = Σ_{t,u} (g_t·g_u)(a_t·a_u)); for convolutions and
normalisation layers a row's gradient is small and is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from discreet.learning.torch_training.integers import Dense, Factored, Inputs

Whole = Dense | Factored
_WIDE = 1 << 13  # wider sums of squares are taken in doubles


class Part:
    """The gradient of some parameters of a layer, for every row."""

    parameters: tuple[nn.Parameter, ...]

    def squares(self) -> Tensor:
        """The squared length of each row's gradient, in floats."""
        raise NotImplementedError

    def whole(self, cells: Tensor) -> Whole:
        """Each row's gradient as integers: so many cells for one unit."""
        raise NotImplementedError

    def fill(self, whole: Whole, into: dict[nn.Parameter, Tensor]) -> None:
        """Hand the sum over rows to the parameters."""
        into[self.parameters[0]] = whole.total().view(self.parameters[0].shape)


@dataclass(slots=True)
class Written(Part):
    """Gradients that are written out, one for each row."""

    parameters: tuple[nn.Parameter, ...]
    gradients: Tensor

    def squares(self) -> Tensor:
        """The squared length of each row's gradient."""
        return squared(self.gradients.flatten(1))

    def whole(self, cells: Tensor) -> Dense:
        """As integers."""
        return Dense.of(self.gradients, cells)


@dataclass(frozen=True, slots=True)
class Ready:
    """What a first linear layer needs of the rows of the data, computed once for the whole run."""

    inputs: Inputs
    squares: Tensor

    @classmethod
    def of(cls, x: Tensor) -> Ready:
        """From all rows."""
        return cls(Inputs.of(x), squared(x))

    def rows(self, index: Tensor) -> Ready:
        """For some of the rows."""
        return Ready(self.inputs.rows(index), self.squares.index_select(0, index))


@dataclass(slots=True)
class Outer(Part):
    """The weight of a linear layer, g aᵀ summed over tokens; for single tokens also its bias, g."""

    parameters: tuple[nn.Parameter, ...]
    a: Tensor
    g: Tensor
    tokens: int
    bias: nn.Parameter | None = None
    ready: Ready | None = None

    def squares(self) -> Tensor:
        """By inner products of tokens; no gradient is written out."""
        if self.tokens == 1:
            own = squared(self.a) if self.ready is None else self.ready.squares
            return (own + (self.bias is not None)) * squared(self.g)
        a, g = (x.unflatten(0, (-1, self.tokens)) for x in (self.a, self.g))
        inner = torch.bmm(g, g.transpose(1, 2)).float() * torch.bmm(a, a.transpose(1, 2))
        return inner.sum((1, 2), dtype=torch.float64).clamp(min=0)

    def whole(self, cells: Tensor) -> Factored:
        """As integer factors."""
        inputs = Inputs.of(self.a) if self.ready is None else self.ready.inputs
        return Factored.from_inputs(inputs, self.g, cells, self.tokens, bias=self.bias is not None)

    def fill(self, whole: Whole, into: dict[nn.Parameter, Tensor]) -> None:
        """The sums of weight and bias."""
        Part.fill(self, whole, into)
        if self.bias is not None and isinstance(whole, Factored):
            into[self.bias] = whole.bias_total()


@dataclass(slots=True)
class Looked(Part):
    """The table of an embedding: each token's gradient is added to one row of it."""

    parameters: tuple[nn.Parameter, ...]
    index: Tensor
    g: Tensor

    def squares(self) -> Tensor:
        """Tokens that look up the same row add up."""
        return _same_token_squares(self.index, self.g)

    def whole(self, cells: Tensor) -> Scattered:
        """As integers."""
        values = Dense.of(self.g, cells).values
        return Scattered(values, self.index, len(self.parameters[0]))


class Scattered(Dense):
    """Integers for each token, and the row of a table that each belongs to."""

    __slots__ = ("index", "rows")

    def __init__(self, values: Tensor, index: Tensor, rows: int) -> None:
        super().__init__(values)
        self.index = index
        self.rows = rows

    def squares_up(self) -> Tensor:
        """Tokens that look up the same row add up."""
        return _same_token_squares(self.index, self.values.double())

    def total(self) -> Tensor:
        """The sum over rows and tokens."""
        out = torch.zeros(self.rows, self.values.shape[-1], dtype=torch.int64, device=self.values.device)
        return out.index_add_(0, self.index.flatten(), self.values.flatten(0, 1).long())


def _same_token_squares(index: Tensor, g: Tensor) -> Tensor:
    if index.shape[1] == 1:
        return squared(g.flatten(1))
    same = index[:, :, None] == index[:, None, :]
    inner = torch.bmm(g, g.transpose(1, 2))
    return torch.where(same, inner, 0).sum((1, 2), dtype=torch.float64).clamp(min=0)


def squared(rows: Tensor) -> Tensor:
    """The squared length of each row, within a relative 2^-10."""
    if rows.shape[1] <= _WIDE:
        return torch.linalg.vector_norm(rows, dim=1, dtype=torch.float32).square()
    return torch.linalg.vector_norm(rows, dim=1, dtype=torch.float64).square()


# --- kinds of layers ----------------------------------------------------------------------------------------------


def linear(layer: Any, a: Tensor, g: Tensor) -> list[Part]:
    """A linear layer on rows, or on rows of tokens."""
    tokens = a[0, ..., 0].numel()
    flat_a, flat_g = a.reshape(-1, a.shape[-1]), g.reshape(-1, g.shape[-1])
    if tokens == 1 and wanted(layer.weight):
        return [Outer((layer.weight,), flat_a, flat_g, 1, layer.bias if wanted(layer.bias) else None)]
    parts: list[Part] = [Outer((layer.weight,), flat_a, flat_g, tokens)] if wanted(layer.weight) else []
    if wanted(layer.bias):
        each = flat_g.unflatten(0, (-1, tokens)).sum(1, dtype=torch.float32)
        parts.append(Written((layer.bias,), each))
    return parts


def embedding(layer: Any, index: Tensor, g: Tensor) -> list[Part]:
    """An embedding of one token or many."""
    flat = g.reshape(len(g), -1, g.shape[-1]).float()
    tokens = index.reshape(len(index), -1)
    if layer.padding_idx is not None:
        flat = torch.where((tokens == layer.padding_idx)[:, :, None], 0, flat)
    return [Looked((layer.weight,), tokens, flat)] if wanted(layer.weight) else []


def convolution(layer: Any, a: Tensor, g: Tensor) -> list[Part]:
    """A convolution over one or two dimensions, without groups."""
    flat = layer.kernel_size if a.dim() == 4 else (1, *layer.kernel_size)
    options = {name: getattr(layer, name) for name in ("dilation", "padding", "stride")}
    if a.dim() == 3:
        a, g = a.unsqueeze(2), g.unsqueeze(2)
        options = {name: ((0 if name == "padding" else 1), *value) for name, value in options.items()}
    patches = functional.unfold(a, flat, **options).float()
    each = g.flatten(2).float()
    parts: list[Part] = []
    if wanted(layer.weight):
        parts.append(Written((layer.weight,), torch.bmm(each, patches.transpose(1, 2))))
    if wanted(layer.bias):
        parts.append(Written((layer.bias,), each.sum(2)))
    return parts


def layer_norm(layer: Any, a: Tensor, g: Tensor) -> list[Part]:
    """LayerNorm."""
    plain = functional.layer_norm(a.float(), layer.normalized_shape, None, None, layer.eps)
    return _scale_and_shift(layer, plain, g, len(layer.normalized_shape))


def rms_norm(layer: Any, a: Tensor, g: Tensor) -> list[Part]:
    """RMSNorm."""
    plain = functional.rms_norm(a.float(), layer.normalized_shape, None, layer.eps)
    return _scale_and_shift(layer, plain, g, len(layer.normalized_shape))


def _scale_and_shift(layer: Any, plain: Tensor, g: Tensor, last: int) -> list[Part]:
    between = tuple(range(1, g.dim() - last))

    def each(x: Tensor) -> Tensor:
        return x.sum(between) if between else x

    g = g.float()
    parts: list[Part] = [Written((layer.weight,), each(plain * g))] if wanted(layer.weight) else []
    return [*parts, Written((layer.bias,), each(g))] if wanted(getattr(layer, "bias", None)) else parts


def group_norm(layer: Any, a: Tensor, g: Tensor) -> list[Part]:
    """GroupNorm."""
    plain = functional.group_norm(a.float(), layer.num_groups, None, None, layer.eps)
    return _by_channel(layer, plain, g)


def instance_norm(layer: Any, a: Tensor, g: Tensor) -> list[Part]:
    """InstanceNorm without running statistics."""
    return _by_channel(layer, functional.instance_norm(a.float(), eps=layer.eps), g)


def _by_channel(layer: Any, plain: Tensor, g: Tensor) -> list[Part]:
    g = g.float()
    parts: list[Part] = []
    if wanted(layer.weight):
        parts.append(Written((layer.weight,), (plain * g).flatten(2).sum(2)))
    if wanted(layer.bias):
        parts.append(Written((layer.bias,), g.flatten(2).sum(2)))
    return parts


def wanted(parameter: Any) -> bool:
    """Whether there is such a parameter, and it is trained."""
    return parameter is not None and bool(parameter.requires_grad)


Rule = Callable[[Any, Tensor, Tensor], list[Part]]
RULES: dict[type[nn.Module], Rule] = {
    nn.Linear: linear,
    nn.Embedding: embedding,
    nn.Conv1d: convolution,
    nn.Conv2d: convolution,
    nn.LayerNorm: layer_norm,
    nn.RMSNorm: rms_norm,
    nn.GroupNorm: group_norm,
    nn.InstanceNorm1d: instance_norm,
    nn.InstanceNorm2d: instance_norm,
}


def rule_for(layer: nn.Module) -> Rule | None:
    """The rule for a layer's per-example gradients, if there is one; subclasses may compute something else."""
    rule = RULES.get(type(layer))
    given: Any = layer
    if rule is convolution and (given.groups != 1 or given.padding_mode != "zeros" or isinstance(given.padding, str)):
        return None
    if rule is embedding and (given.max_norm is not None or given.scale_grad_by_freq or given.sparse):
        return None
    return rule
