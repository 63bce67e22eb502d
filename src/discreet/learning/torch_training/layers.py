"""Per-example gradients of each kind of layer, from its inputs and the gradients of its outputs.

For each kind: the squared length of every row's gradient, and the same gradients as integers. Nothing is written out
for linear layers and embeddings (the ghost norm: |Σ_t g_t a_tᵀ|² = Σ_{t,u} (g_t·g_u)(a_t·a_u)); for convolutions and
normalisation layers a row's gradient is small and is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from discreet.learning.torch_training.integers import Factored, Inputs, Products, times
from discreet.learning.torch_training.token_products import add_products, aligned, kernels_for

Into = dict[nn.Parameter, Tensor]
"""Integer tensors, one for each parameter, that sums are added to."""
SHORTEST = 2.0**-50
"""What shorter rows are taken for: squares below 2^-126 may be 0, where numbers that small are flushed to 0."""
NARROW = 16
"""Layers with fewer outputs are multiplied row by row on processors."""
_LINE = 64  # bytes
_WIDE = 1 << 13  # wider sums of squares are taken in doubles
_FEW = 1 << 8  # products of a row that are sooner written out than multiplied as factors
_SMALL = 1 << 16  # gradients of a row that are smaller are written side by side


class Part(ABC):
    """The gradient of some parameters of a layer, for every row."""

    shrinks: bool
    """Whether integers are never longer than the gradient itself; where not, their length is looked at."""

    def trained(self) -> tuple[nn.Parameter, ...]:
        """The parameters whose gradient this is: no other part of a row may have one of them."""
        return tuple(p for p in (getattr(self, "weight", None), getattr(self, "bias", None)) if p is not None)

    @abstractmethod
    def squares(self) -> Tensor:
        """The squared length of each row's gradient, in floats."""

    @abstractmethod
    def add(self, cells: Tensor, into: Into, squares: Tensor | None) -> None:
        """Add each row's gradient as integers, so many cells for one unit; none where a row has 0 cells.

        Upper bounds of the squared lengths of these integers are added to ``squares``, doubles, if it is given.
        """


@dataclass(slots=True, eq=False)
class Written(Part):
    """Gradients that are written out, one for each row; those of several parameters side by side."""

    parameters: tuple[nn.Parameter, ...]
    gradients: Tensor
    shrinks = True

    def trained(self) -> tuple[nn.Parameter, ...]:
        """All of them."""
        return self.parameters

    def squares(self) -> Tensor:
        """The squared length of each row's gradient."""
        return squared(self.gradients)

    def add(self, cells: Tensor, into: Into, squares: Tensor | None) -> None:
        """Truncated entry by entry."""
        values = times(self.gradients, cells[:, None]).to(torch.int32)
        sums = values.sum(0, dtype=into[self.parameters[0]].dtype)
        pieces = sums.split([p.numel() for p in self.parameters])
        for p, piece in zip(self.parameters, pieces, strict=True):
            into[p].add_(piece.view(p.shape))
        if squares is not None:
            squares.add_(values.double().square().sum(1))


def joined(parts: list[Part]) -> list[Part]:
    """The same with all small gradients that are written out in one matrix: fewer and larger operations."""
    small = [p for p in parts if isinstance(p, Written) and p.gradients.shape[1] <= _SMALL]
    if len(small) < 2:
        return parts
    rest = [p for p in parts if p not in small]
    return [*rest, Written(tuple(q for p in small for q in p.parameters), torch.cat([p.gradients for p in small], 1))]


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


@dataclass(slots=True, eq=False)
class Outer(Part):
    """The weight of a linear layer on single rows, g aᵀ, and its bias, g."""

    weight: nn.Parameter
    a: Tensor
    g: Tensor
    bias: nn.Parameter | None = None
    ready: Ready | None = None
    shrinks = True

    def take(self, ready: Ready | None) -> None:
        """Use what was computed ahead for the integers and for their length, or for neither: then no row is too long,
        even if it was computed of other rows.
        """
        if ready is not None and ready.inputs.whole.shape == self.a.shape and self.weight.numel() > _FEW:
            self.ready = ready

    def squares(self) -> Tensor:
        """By the lengths of the factors."""
        own = squared(self.a) if self.ready is None else self.ready.squares
        of_g = squared(self.g)
        return own * of_g if self.bias is None else torch.addcmul(of_g, own, of_g)

    def add(self, cells: Tensor, into: Into, squares: Tensor | None) -> None:
        """By products of integer factors; where they are few, written out."""
        bias = None if self.bias is None else into[self.bias]
        whole: Factored | Products
        if self.weight.numel() <= _FEW:
            whole = Products.of(self.a, self.g, cells, bias=bias is not None)
        else:
            inputs = Inputs.of(self.a) if self.ready is None else self.ready.inputs
            whole = Factored.of(inputs, self.g, cells, bias=bias is not None)
        whole.add_to(into[self.weight], bias)
        if squares is not None:
            squares.add_(whole.squares_up())


@dataclass(slots=True, eq=False)
class TokenOuter(Part):
    """The weight of a linear layer on rows of tokens, the sum of g aᵀ over tokens; each is rows x tokens x width."""

    weight: nn.Parameter
    a: Tensor
    g: Tensor
    shrinks = False

    def squares(self) -> Tensor:
        """By inner products of tokens; no gradient is written out."""
        of_g, of_a = (torch.bmm(x, x.transpose(1, 2)) for x in (self.g, self.a))
        if (fused := kernels_for(of_a)) is not None:
            found: Tensor = fused.inner_products(of_g, of_a)
            return found
        return (of_g * of_a).sum((1, 2), dtype=torch.float32)

    def add(self, cells: Tensor, into: Into, squares: Tensor | None) -> None:
        """A few rows at once; what is rounded is looked at."""
        add_products(self.g, self.a, cells, into[self.weight], squares)


@dataclass(slots=True, eq=False)
class Looked(Part):
    """The table of an embedding: each token's gradient is added to one row of it."""

    weight: nn.Parameter
    index: Tensor
    g: Tensor
    shrinks = False  # truncated tokens that look up the same row may be longer together

    def squares(self) -> Tensor:
        """Tokens that look up the same row add up."""
        return _same_token_squares(self.index, self.g)

    def add(self, cells: Tensor, into: Into, squares: Tensor | None) -> None:
        """Token by token, truncated."""
        values = times(self.g, cells[:, None, None]).to(torch.int32)
        table = into[self.weight]
        table.index_add_(0, self.index.flatten(), values.flatten(0, 1).to(table.dtype))
        if squares is not None:
            squares.add_(_same_token_squares_up(self.index, values.double()))


def _same_token_squares_up(index: Tensor, values: Tensor) -> Tensor:
    """An upper bound for integers below 2^31 in doubles, also where large ones of different tokens cancel."""
    alone = values.square().sum((1, 2))
    if (tokens := index.shape[1]) == 1:
        return alone * (1 + 2.0**-20)
    return _same_token_squares(index, values) + alone * tokens * 2.0**-20


def _same_token_squares(index: Tensor, g: Tensor) -> Tensor:
    if index.shape[1] == 1:
        return squared(g.flatten(1))
    same = index[:, :, None] == index[:, None, :]
    inner = torch.bmm(g, g.transpose(1, 2))
    return torch.where(same, inner, 0).sum((1, 2), dtype=torch.float64).clamp(min=0)


def in_one_type(a: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """Both factors in the shorter type of the two, as one product needs them."""
    short = min((a.dtype, g.dtype), key=lambda t: torch.finfo(t).bits)
    return aligned(a.to(short)), aligned(g.to(short))


def squared(rows: Tensor) -> Tensor:
    """The squared length of each row, within a relative 2^-10; 2^-100 where it is less, since squares may vanish."""
    kind = torch.float64 if rows.shape[1] > _WIDE or rows.dtype == torch.float64 else torch.float32
    return torch.linalg.vector_norm(rows, dim=1, dtype=kind).clamp_(min=SHORTEST).square_()


def starts_alike(x: Tensor, outputs: int) -> Tensor:
    """The same rows, each at the start of a line of memory, where a layer has few outputs and lies on a processor.

    Its products are otherwise added in an order that follows from where a row starts, and so from its place in a batch.

    >>> starts_alike(torch.ones(2, 5), 3).stride(), starts_alike(torch.ones(2, 5), 20).stride()
    ((16, 1), (5, 1))
    """
    return x if x.dim() < 2 or x.stride(-2) % _line(x) == 0 else in_lines(x, outputs)[..., : x.shape[-1]]


def in_lines(x: Tensor, outputs: int) -> Tensor:
    """The same rows with zeros behind each, up to the next line of memory, where that is wanted."""
    if outputs >= NARROW or x.device.type != "cpu":
        return x
    return functional.pad(x, (0, -x.shape[-1] % _line(x)))


def _line(x: Tensor) -> int:
    return _LINE // x.element_size()


# --- kinds of layers ----------------------------------------------------------------------------------------------


def linear(layer: Any, a: Tensor, g: Tensor) -> list[Part]:
    """A linear layer on rows, or on rows of tokens."""
    flat_a, flat_g = (x.reshape(len(x), -1, x.shape[-1]) for x in (a, g))
    if flat_a.shape[1] == 1 and wanted(layer.weight):
        return [Outer(layer.weight, flat_a[:, 0], flat_g[:, 0], layer.bias if wanted(layer.bias) else None)]
    parts: list[Part] = [TokenOuter(layer.weight, *in_one_type(flat_a, flat_g))] if wanted(layer.weight) else []
    if wanted(layer.bias):
        parts.append(Written((layer.bias,), flat_g.sum(1, dtype=torch.float32)))
    return parts


def embedding(layer: Any, index: Tensor, g: Tensor) -> list[Part]:
    """An embedding of one token or many."""
    flat = g.reshape(len(g), -1, g.shape[-1]).float()
    tokens = index.reshape(len(index), -1)
    if layer.padding_idx is not None:
        flat = torch.where((tokens == layer.padding_idx)[:, :, None], 0, flat)
    return [Looked(layer.weight, tokens, flat)] if wanted(layer.weight) else []


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
        parts.append(Written((layer.weight,), torch.bmm(each, patches.transpose(1, 2)).flatten(1)))
    if wanted(layer.bias):
        parts.append(Written((layer.bias,), each.sum(2)))
    return parts


def layer_norm(layer: Any, a: Tensor, g: Tensor) -> list[Part]:
    """LayerNorm."""
    if (found := _in_one_pass(layer, a, g, centred=True)) is not None:
        return found
    plain = functional.layer_norm(a.float(), layer.normalized_shape, None, None, layer.eps)
    return _scale_and_shift(layer, plain, g, len(layer.normalized_shape))


def rms_norm(layer: Any, a: Tensor, g: Tensor) -> list[Part]:
    """RMSNorm."""
    if (found := _in_one_pass(layer, a, g, centred=False)) is not None:
        return found
    plain = functional.rms_norm(a.float(), layer.normalized_shape, None, _eps(layer, a))
    return _scale_and_shift(layer, plain, g, len(layer.normalized_shape))


def _in_one_pass(layer: Any, a: Tensor, g: Tensor, *, centred: bool) -> list[Part] | None:
    """The gradients of scale and shift by a kernel, where there is one."""
    fused, width = kernels_for(a), a.shape[-1]
    if fused is None or len(layer.normalized_shape) != 1 or width > _WIDE or not wanted(layer.weight):
        return None
    both = fused.norm_gradients(a, g, _eps(layer, a), centred=centred)
    if wanted(getattr(layer, "bias", None)):
        return [Written((layer.weight, layer.bias), both)]
    return [Written((layer.weight,), both[:, :width])]


def _eps(layer: Any, a: Tensor) -> float:
    return float(torch.finfo(a.dtype).eps if layer.eps is None else layer.eps)


def _scale_and_shift(layer: Any, plain: Tensor, g: Tensor, last: int) -> list[Part]:
    between = tuple(range(1, g.dim() - last))

    def each(x: Tensor) -> Tensor:
        return (x.sum(between) if between else x).flatten(1)

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
    if not {"weight", "bias"}.issuperset(given._parameters):  # weights that are computed from others
        return None
    if rule is convolution and (given.groups != 1 or given.padding_mode != "zeros" or isinstance(given.padding, str)):
        return None
    if rule is embedding and (given.max_norm is not None or given.scale_grad_by_freq or given.sparse):
        return None
    return rule
