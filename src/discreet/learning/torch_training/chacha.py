"""ChaCha20 as integer tensor operations: uniform 64-bit words on the device where a tensor lies.

Promise: the key stream of RFC 8439 (20 rounds, 32-bit counter, nonce), word for word, on every device. A stream is used
once, under a fresh key from the operating system.
Believes: ChaCha20 under a random key cannot be told from uniform bits; two's-complement 32-bit tensors wrap.
"""

from __future__ import annotations

import os
import struct

import torch
from torch import Tensor

BLOCK = 8
"""64-bit words of one block."""
_FEW = 1 << 10
_PORTION = 1 << 16
_CONSTANTS = struct.unpack("<4i", b"expand 32-byte k")
Key = tuple[int, ...]


def fresh_key() -> Key:
    """A key (8 words) and a nonce (3 words) from the operating system."""
    return struct.unpack("<11i", os.urandom(44))


def chacha_blocks(counters: Tensor, key: Tensor) -> list[Tensor]:
    """The 16 words of each block, as 32-bit tensors of the counters' shape; ``key`` holds 8 words and the nonce's 3.

    >>> stream = chacha_blocks(torch.tensor([1], dtype=torch.int32), torch.zeros(11, dtype=torch.int32))
    >>> len(stream), stream[0].dtype
    (16, torch.int32)
    """
    zero = torch.zeros_like(counters)
    start = [zero + c for c in _CONSTANTS]
    start += [zero + key[i] for i in range(8)]
    start += [counters, zero + key[8], zero + key[9], zero + key[10]]
    x = list(start)
    for _ in range(10):
        for a, b, c, d in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)):
            _quarter(x, a, b, c, d)
        for a, b, c, d in ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            _quarter(x, a, b, c, d)
    return [one + other for one, other in zip(x, start, strict=True)]


def _quarter(x: list[Tensor], a: int, b: int, c: int, d: int) -> None:
    x[a] = x[a] + x[b]
    x[d] = _rotated(x[d] ^ x[a], 16)
    x[c] = x[c] + x[d]
    x[b] = _rotated(x[b] ^ x[c], 12)
    x[a] = x[a] + x[b]
    x[d] = _rotated(x[d] ^ x[a], 8)
    x[c] = x[c] + x[d]
    x[b] = _rotated(x[b] ^ x[c], 7)


def _rotated(x: Tensor, by: int) -> Tensor:
    """A rotation to the left; the shift to the right keeps the sign, so its upper bits are masked."""
    return (x << by) | ((x >> (32 - by)) & ((1 << by) - 1))


def as_words(blocks: list[Tensor]) -> list[Tensor]:
    """Pairs of 32-bit words as 64-bit ones, the first below."""
    return [
        (high.to(torch.int64) << 32) | (low.to(torch.int64) & 0xFFFFFFFF)
        for low, high in zip(blocks[::2], blocks[1::2], strict=True)
    ]


def key_tensor(key: Key, device: torch.device | str) -> Tensor:
    """A key on a device."""
    return torch.tensor(key, dtype=torch.int32, device=device)


def uniform_words(count: int, device: torch.device | str) -> Tensor:
    """``count`` fresh uniform 64-bit words.

    >>> uniform_words(3, "cpu").shape
    torch.Size([3])
    """
    if count <= _FEW:
        return torch.tensor(struct.unpack(f"<{count}q", os.urandom(8 * count)), dtype=torch.int64, device=device)
    blocks = -(-count // BLOCK)
    pieces = []
    key = key_tensor(fresh_key(), device)
    for start in range(0, blocks, _PORTION):
        counters = torch.arange(start, min(start + _PORTION, blocks), dtype=torch.int32, device=device)
        pieces += as_words(chacha_blocks(counters, key))
    return torch.cat(pieces)[:count]
