"""On a graphics card, in one pass each: gradients of rows scaled, truncated to integers and summed; tokens made wider;
the gradients of normalisation layers; inner products of rows.

Each program reads one row of the batch where a float comes out of it, and in an order that is always the same.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 5):
    raise ImportError("kernels are tested with triton 3.5 and newer; tensor operations do the same")

_BLOCK = 4096
_COPIED = 1 << 12
_TOKENS = 16  # tokens of a normalisation layer in one program
_TERMS = 1 << 15  # terms of an inner product in one program


@triton.jit
def _truncate(products, cells, out, squares, rows, stride, size, BLOCK: tl.constexpr):
    """Each program owns a part of the sum and goes through the rows; squares of what is truncated are added up."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    total = tl.load(out + at, mask=inside, other=0)
    for i in tl.range(rows, num_stages=3):
        cell = tl.load(cells + i)
        product = tl.load(products + tl.cast(i, tl.int64) * stride + at, mask=inside, other=0.0).to(tl.float32)
        scaled = tl.where(cell > 0, product * cell, 0.0)
        total += scaled.to(tl.int32)
        tl.atomic_add(squares + i, tl.sum(scaled * scaled).to(tl.float64) * 1.001953125)  # 1 + 2^-9
    tl.store(out + at, total, mask=inside)


def add_truncated(products: Tensor, cells: Tensor, into: Tensor, squares: Tensor) -> None:
    """Add trunc(cells_i products_i) over rows i, and upper bounds of the rows' squared lengths to ``squares``."""
    if not products[0].is_contiguous():
        products = products.contiguous()
    _truncate[(triton.cdiv(into.numel(), _BLOCK),)](
        products, cells, into, squares, len(products), products.stride(0), into.numel(), BLOCK=_BLOCK, num_warps=8
    )


@triton.jit
def _widen(given, out, width, wide, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(given + row * width + at, mask=at < width, other=0.0)
    tl.store(out + row * wide + at, values, mask=at < wide)


def widened(x: Tensor, wide: int) -> Tensor:
    """Rows of tokens with zeros behind each token, up to a width."""
    rows, tokens, width = x.shape
    out = x.new_empty(rows, tokens, wide)
    _widen[(rows * tokens, triton.cdiv(wide, _COPIED))](x.contiguous(), out, width, wide, BLOCK=_COPIED, num_warps=8)
    return out


@triton.jit
def _norm(
    given, gradients, out, tokens, width, chunks, eps, CENTRED: tl.constexpr, TOKENS: tl.constexpr,
    AT_ONCE: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Sums over some tokens of one row: normalised input times gradient, and behind them the gradients themselves."""
    row, chunk = tl.program_id(0).to(tl.int64), tl.program_id(1)
    at = tl.arange(0, WIDTH)
    scale, shift = tl.zeros((WIDTH,), tl.float32), tl.zeros((WIDTH,), tl.float32)
    for first in range(0, TOKENS, AT_ONCE):
        token = chunk * TOKENS + first + tl.arange(0, AT_ONCE)
        place = (row * tokens + token)[:, None] * width + at[None, :]
        inside = (token < tokens)[:, None] & (at < width)[None, :]
        x = tl.load(given + place, mask=inside, other=0.0).to(tl.float32)
        g = tl.load(gradients + place, mask=inside, other=0.0).to(tl.float32)
        if CENTRED:
            x = tl.where(inside, x - (tl.sum(x, axis=1) / width)[:, None], 0.0)
        x = x * tl.rsqrt(tl.sum(x * x, axis=1) / width + eps)[:, None]
        scale += tl.sum(x * g, axis=0)
        shift += tl.sum(g, axis=0)
    start = out + (row * chunks + chunk) * 2 * width + at
    tl.store(start, scale, mask=at < width)
    tl.store(start + width, shift, mask=at < width)


def norm_gradients(a: Tensor, g: Tensor, eps: float, *, centred: bool) -> Tensor:
    """The gradients of scale and shift, side by side, for each row: LayerNorm where centred, else RMSNorm."""
    width = a.shape[-1]
    a, g = (x.reshape(len(x), -1, width).contiguous() for x in (a, g))
    rows, tokens, _ = a.shape
    chunks, block = triton.cdiv(tokens, _TOKENS), triton.next_power_of_2(width)
    out = a.new_empty(rows, chunks, 2 * width, dtype=torch.float32)
    _norm[(rows, chunks)](
        a, g, out, tokens, width, chunks, eps, CENTRED=centred, TOKENS=_TOKENS, AT_ONCE=max(1, min(4, 4096 // block)),
        WIDTH=block, num_warps=8,
    )  # fmt: skip
    return out.sum(1)


@triton.jit
def _inner(x, y, out, size, TERMS: tl.constexpr, BLOCK: tl.constexpr):
    row, chunk = tl.program_id(0).to(tl.int64), tl.program_id(1)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, TERMS, BLOCK):
        at = chunk * TERMS + first + tl.arange(0, BLOCK)
        a = tl.load(x + row * size + at, mask=at < size, other=0.0).to(tl.float32)
        total += a * tl.load(y + row * size + at, mask=at < size, other=0.0).to(tl.float32)
    tl.store(out + row * tl.num_programs(1) + chunk, tl.sum(total))


def inner_products(x: Tensor, y: Tensor) -> Tensor:
    """The inner product of each row of two tensors of one shape, in single precision."""
    x, y = x.contiguous(), y.contiguous()
    size = x[0].numel()
    out = x.new_empty(len(x), triton.cdiv(size, _TERMS), dtype=torch.float32)
    _inner[out.shape](x, y, out, size, TERMS=_TERMS, BLOCK=_BLOCK, num_warps=8)
    return out.sum(1)
