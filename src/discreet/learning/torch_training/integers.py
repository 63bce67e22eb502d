"""One micro-batch's clipped gradients as integers: quantised factors, exact matrix products.

The gradient of a linear layer is a sum of outer products g aᵀ. Both factors are truncated to small integers: a to 7
bits, scaled by its own row's largest entry, and g to 13 bits with the opposite scale, so that their product lies on one
public grid. Truncation only shortens: the integer outer product is nowhere larger than the real one. g is cut into two
8-bit integers, and products of 8-bit integers are summed in 32 bits, which both processors and graphics cards do
exactly and faster than floats.

Promise: totals are exact sums of each row's integers. Proof: integers.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

A_MOST = 127
G_MOST = 63 * 128 + 127
RADIUS = A_MOST * G_MOST
"""How many cells the clipping length has: a row of this length has factors that fit, and 1800 rows sums of 32 bits."""
_LONGEST = 1 << 17  # so many products of at most 128 * 127 stay below 2^31
_TINY = 1e-28  # the largest entry of a row is taken for at least so much
_AT_ONCE = ((1 << 31) - 1) // RADIUS
_BLOCK = 8
_LEAST = 24  # graphics cards want more than 16 rows
_THIN = 2  # a matrix of one row has no clear layout: torch 2.13 multiplies it wrongly on the processor


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs of a linear layer as integers of 7 bits, and what one of them is worth: functions of that row alone."""

    whole: Tensor
    worth: Tensor

    @classmethod
    def of(cls, a: Tensor) -> Inputs:
        """Each row by its largest entry, truncated.

        >>> Inputs.of(torch.tensor([[1.0, -0.5], [0.0, 0.0]])).whole.tolist()
        [[126, -63], [0, 0]]
        """
        largest = a.abs().amax(1, keepdim=True).float()
        worth = largest.nan_to_num_(nan=0.0).clamp_(min=_TINY).mul_((1 + 2.0**-20) / A_MOST)
        return cls((a / worth).to(torch.int8), worth)

    def rows(self, index: Tensor) -> Inputs:
        """Some of the rows."""
        return Inputs(self.whole.index_select(0, index), self.worth.index_select(0, index))


@dataclass(slots=True)
class Factored:
    """Each row's gradient as g aᵀ, with a of 7 bits and g in two 8-bit integers."""

    a: Tensor
    g: Limbs
    bias: Tensor | None = None
    """g by itself, in cells, where the layer has a bias."""

    @classmethod
    def of(cls, inputs: Inputs, g: Tensor, cells: Tensor, *, bias: bool = False) -> Factored:
        """From the real second factor, rows x width, and cells per unit for each row."""
        alone = times(g, cells.unsqueeze(1))
        return cls(inputs.whole, Limbs.of(alone * inputs.worth), alone.to(torch.int32) if bias else None)

    def squares_up(self) -> Tensor:
        """The squared length of each row."""
        high, low = self.g.apart(self.g.both.double(), 1)
        own = 0.0 if self.bias is None else self.bias.double().square().sum(1)
        return (self.g.base * high + low).square().sum(1) * self.a.double().square().sum(1) + own

    def add_to(self, weight: Tensor, bias: Tensor | None) -> None:
        """Add the sum over rows to integer tensors, output by input."""
        high, low = self.g.apart(int_product(self.g.both, self.a), 0)
        weight.add_(low).add_(high, alpha=self.g.base)
        if bias is not None and self.bias is not None:
            add_rows(self.bias, bias, 0)


@dataclass(slots=True)
class Products:
    """Each row's gradient g aᵀ written out, truncated entry by entry."""

    weight: Tensor
    """Outputs by rows by inputs."""
    bias: Tensor | None

    @classmethod
    def of(cls, a: Tensor, g: Tensor, cells: Tensor, *, bias: bool = False) -> Products:
        """From the real factors, and cells per unit for each row."""
        alone = times(g, cells.unsqueeze(1))
        products = times(alone.t().contiguous().unsqueeze(2), a)
        return cls(products.to(torch.int32), alone.to(torch.int32) if bias else None)

    def squares_up(self) -> Tensor:
        """The squared length of each row."""
        own = 0.0 if self.bias is None else self.bias.double().square().sum(1)
        return self.weight.double().square().sum((0, 2)) + own

    def add_to(self, weight: Tensor, bias: Tensor | None) -> None:
        """Add the sum over rows to integer tensors, output by input."""
        add_rows(self.weight, weight, 1)
        if bias is not None and self.bias is not None:
            add_rows(self.bias, bias, 0)


def add_rows(rows: Tensor, into: Tensor, dim: int) -> None:
    """Add the sum over rows of integers that are at most RADIUS each."""
    for some in rows.split(_AT_ONCE, dim) if rows.shape[dim] > _AT_ONCE else [rows]:
        into.add_(some.sum(dim, dtype=torch.int32))  # below 2^31, and quicker than in 64 bits


def times(x: Tensor, cells: Tensor) -> Tensor:
    """The product, and 0 where it is no number: where there are 0 cells, whatever x is there.

    >>> times(torch.tensor([2.0, float("nan")]), torch.tensor([3.0, 0.0])).tolist()
    [6.0, 0.0]
    """
    return (x * cells).nan_to_num_(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Limbs:
    """Numbers of 13 bits and a sign as base * high + low, both of 8 bits.

    Two layouts of the same numbers: the two bytes of 16-bit words, side by side, with base 256 and a sign in both,
    which costs nothing on processors; or all high ones, then all low ones, with base 128 and 0 <= low < 128.
    """

    both: Tensor
    """Rows by twice the width."""
    as_bytes: bool

    @classmethod
    def of(cls, whole: Tensor, *, as_bytes: bool | None = None) -> Limbs:
        """Truncated numbers, rows by width.

        >>> Limbs.of(torch.tensor([[300.9, -129.9]])).both.tolist()
        [[44, 1, 127, -1]]
        """
        short = whole.to(torch.int16)
        if as_bytes if as_bytes is not None else whole.device.type == "cpu" and sys.byteorder == "little":
            return cls(short.add_(128).bitwise_xor_(128).view(torch.int8), as_bytes=True)
        return cls(torch.cat([(short >> 7).to(torch.int8), (short & 127).to(torch.int8)], 1), as_bytes=False)

    @property
    def base(self) -> int:
        """What a high limb counts."""
        return 256 if self.as_bytes else 128

    def apart(self, values: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """What belongs to high and to low limbs along a dimension: views."""
        if self.as_bytes:
            return (values[1::2], values[::2]) if dim == 0 else (values[:, 1::2], values[:, ::2])
        high, low = values.chunk(2, dim=dim)
        return high, low


def int_product(left: Tensor, right: Tensor) -> Tensor:
    """``left.T @ right`` of 8-bit integers, exactly: in 32 bits, or in 64 where there are many rows.

    >>> int_product(torch.tensor([[100], [-3]], dtype=torch.int8), torch.tensor([[5], [7]], dtype=torch.int8)).tolist()
    [[479]]
    """
    if len(left) <= _LONGEST:
        return _product(left, right)
    total = _product(left[:_LONGEST], right[:_LONGEST])
    for start in range(_LONGEST, len(left), _LONGEST):
        total = total.long() + _product(left[start : start + _LONGEST], right[start : start + _LONGEST])
    return total


def _product(left: Tensor, right: Tensor) -> Tensor:
    if min(left.shape[1], right.shape[1], len(left)) < _THIN or not int8_is_exact(left.device.type):
        return (left.double().T @ right.double()).to(torch.int64)  # below 2^31: doubles hold it
    if left.device.type == "cpu":
        return torch._int_mm(left.T, right)
    outputs, inputs = left.shape[1], right.shape[1]
    rows = -len(left) % _BLOCK
    left = torch.nn.functional.pad(left, (0, max(-outputs % _BLOCK, _LEAST - outputs), 0, rows))
    right = torch.nn.functional.pad(right, (0, -inputs % _BLOCK, 0, rows))
    return torch._int_mm(left.T.contiguous(), right)[:outputs, :inputs]


@cache
def int8_is_exact(device: str) -> bool:
    """Whether this machine's 8-bit product is exact at its extremes: some processors saturate at 16 bits in between."""
    rows, width = 64, 32
    ends = torch.tensor([127, -128], dtype=torch.int8)
    left = ends[torch.arange(rows)[:, None] // 2 * torch.arange(width) % 2].to(device)
    right = ends[torch.arange(rows)[:, None] // 4 * torch.arange(width) % 2].to(device)
    most, least = torch.full_like(left, 127), torch.full_like(left, -128)
    for one, other in ((left, right), (most, most), (least, most), (least, least)):
        try:
            got = torch._int_mm(one.T if device == "cpu" else one.T.contiguous(), other)
        except (RuntimeError, NotImplementedError):
            return False
        if not torch.equal(got.cpu().long(), (one.cpu().double().T @ other.cpu().double()).long()):
            return False
    return True
