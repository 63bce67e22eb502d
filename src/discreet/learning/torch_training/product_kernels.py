"""The clipped gradient of a linear layer on tokens, on a graphics card: products, truncation and sums in one kernel.

Each program holds a tile of the weight. Row by row of the batch it multiplies the row's tokens, scales and truncates
the tile to integers, and adds these to a tile of integers: no gradient of a single row is ever stored.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _tile(
    g, a, cells, out, squares, rows, tokens, outputs, inputs, g_row, g_token, a_row, a_token,
    EXACT: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr, DEEP: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    down, across = tl.cdiv(outputs, TALL), tl.cdiv(inputs, WIDE)
    group = program // (GROUP * across)
    height = tl.minimum(down - group * GROUP, GROUP)
    i = group * GROUP + (program % (GROUP * across)) % height
    j = (program % (GROUP * across)) // height
    output = i * TALL + tl.arange(0, TALL)
    input_ = j * WIDE + tl.arange(0, WIDE)
    pieces = tl.cdiv(tokens, DEEP)
    total = tl.zeros((TALL, WIDE), dtype=tl.int32)
    product = tl.zeros((TALL, WIDE), dtype=tl.float32)
    for step in range(0, rows * pieces):
        row = step // pieces
        piece = step - row * pieces
        token = piece * DEEP + tl.arange(0, DEEP)
        left = tl.load(
            g + row.to(tl.int64) * g_row + token[:, None] * g_token + output[None, :],
            mask=(token[:, None] < tokens) & (output[None, :] < outputs), other=0.0,
        )  # fmt: skip
        right = tl.load(
            a + row.to(tl.int64) * a_row + token[:, None] * a_token + input_[None, :],
            mask=(token[:, None] < tokens) & (input_[None, :] < inputs), other=0.0,
        )  # fmt: skip
        product = tl.dot(tl.trans(left), right, product, input_precision=EXACT)
        if piece == pieces - 1:
            cell = tl.load(cells + row)
            scaled = tl.where(cell > 0, product * cell, 0.0)
            total += scaled.to(tl.int32)
            tl.atomic_add(squares + row, tl.sum(scaled * scaled).to(tl.float64))
            product = tl.zeros((TALL, WIDE), dtype=tl.float32)
    inside = (output[:, None] < outputs) & (input_[None, :] < inputs)
    where = out + output.to(tl.int64)[:, None] * inputs + input_[None, :]
    tl.store(where, tl.load(where, mask=inside, other=0) + total, mask=inside)


def add_products(g: Tensor, a: Tensor, cells: Tensor, into: Tensor) -> Tensor:
    """Add trunc(cells_i Σ_t g_it a_itᵀ) over rows i; each row's squared length before truncation, rounded."""
    rows, tokens, _ = g.shape
    outputs, inputs = into.shape
    squares = torch.zeros(rows, dtype=torch.float64, device=a.device)
    if not rows or not tokens:
        return squares
    precise = g.dtype == torch.float32 and torch.get_float32_matmul_precision() == "highest"
    tall, wide, deep = (128, 128, 64) if g.element_size() == 2 else (64, 64, 32)
    _tile[(triton.cdiv(outputs, tall) * triton.cdiv(inputs, wide),)](
        g, a, cells, into, squares, rows, tokens, outputs, inputs, g.stride(0), g.stride(1), a.stride(0), a.stride(1),
        EXACT="ieee" if precise else "tf32", TALL=tall, WIDE=wide, DEEP=deep, GROUP=8, num_warps=8, num_stages=3,
    )  # fmt: skip
    return squares
