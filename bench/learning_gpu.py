"""On a graphics card: exact noise in draws a second, and a private step of a GPT-2-small shape beside a plain one.

Needs torch, numpy and this package alone; where the package for AES is missing, a stand-in is put in its place, since
nothing here draws from it. Prints one JSON line for each figure.
"""

from __future__ import annotations

import json
import sys
import time
import types
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional


def without_aes() -> None:
    """A stand-in for a package that only large draws of the operating system's bits need."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        names = ("cryptography", "cryptography.hazmat", "cryptography.hazmat.primitives")
        for name in (*names, f"{names[-1]}.ciphers"):
            sys.modules[name] = types.ModuleType(name)
        ciphers: Any = sys.modules[f"{names[-1]}.ciphers"]
        ciphers.Cipher = ciphers.algorithms = ciphers.modes = None


class Block(nn.Module):
    """A block of a GPT-2 shape."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        rows, tokens, width = x.shape
        q, k, v = (t.view(rows, tokens, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm_1(x)).chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, tokens, width))
        return x + self.down(functional.gelu(self.up(self.norm_2(x))))


class Position(nn.Module):
    """An embedding of positions, one row of indices for each row of the batch."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(tokens, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.table(torch.arange(x.shape[1], device=x.device).expand(len(x), -1))


class Gpt(nn.Module):
    """GPT-2 small with its own output layer: 162.6e6 parameters."""

    def __init__(self, vocabulary: int = 50_257, tokens: int = 512, width: int = 768, depth: int = 12) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), Position(tokens, width)
        self.blocks = nn.ModuleList([Block(width, 12) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = self.words(x) + self.places(x)
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))


def token_loss(scores: Tensor, y: Tensor) -> Tensor:
    """One loss for each row: the mean over tokens."""
    flat = functional.cross_entropy(scores.flatten(0, 1).float(), y.flatten(), reduction="none")
    return flat.view(y.shape).mean(1)


def timed(work: Callable[[], object], device: str, calls: int = 8) -> float:
    """Seconds of one call, after warming up."""
    for _ in range(3):
        work()
    wait(device)
    start = time.perf_counter()
    for _ in range(calls):
        work()
    wait(device)
    return (time.perf_counter() - start) / calls


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def told(figure: str, **numbers: object) -> None:
    print(json.dumps({"suite": "learning gpu", "figure": figure, **numbers}), flush=True)


def noise(device: str, count: int) -> None:
    """Draws a second, all added to totals in place."""
    from discreet.learning.torch_training.noise import Noise
    from discreet.learning.torch_training.totals import Totals

    weight = nn.Parameter(torch.zeros(count, device=device))
    source = Noise(Fraction(2) ** 42, [weight])
    totals = Totals([weight], most=1)
    seconds = timed(lambda: source.add_to(totals, 2.0**-21), device)
    theirs = timed(weight.detach().normal_, device)
    totals.clear()
    draws = source.add_to(totals, 2.0**-21)[0].double()
    told("floored normal draws", per_second=count / seconds, torch_normal_per_second=count / theirs,
         mean=float(draws.mean()), deviation=float(draws.std()), fourth=float(draws.pow(4).mean()))  # fmt: skip


def same_as_on_the_processor(count: int) -> None:
    """The kernels' draws under a known key against those of tensor operations on the processor."""
    from discreet.learning.torch_training import noise_kernels, tensor_normal
    from discreet.learning.torch_training.chacha import key_tensor

    key = tuple(range(1, 12))
    square = Fraction(2) ** 62
    with patch.object(noise_kernels, "fresh_key", lambda: key):
        noisy = noise_kernels.NoiseAdder(square, 1, torch.device("cuda")).add(
            torch.zeros(count, dtype=torch.int32, device="cuda"), 1.0
        )
    tables = tensor_normal.tables_of(square, "cpu")
    counters = torch.arange(count // 8, dtype=torch.int32)
    _, values, open_ = tensor_normal.fast_draws(counters, key_tensor(key, "cpu"), tables.guide, tables.r)
    same = noisy.cpu() == values.float()
    told("draws as on the processor", settled_at_once=float((~open_).float().mean()),
         equal=bool(same[~open_].all()), others_equal=float(same[open_].float().mean()))  # fmt: skip


def gpt(device: str, rows: int, tokens: int, **shape: int) -> None:
    """A private step beside a plain one: seconds, memory taken from the card, and where the time goes."""
    from discreet.learning.torch_training.gradients import ClippedSums
    from discreet.learning.torch_training.integers import RADIUS
    from discreet.learning.torch_training.micro_batches import MicroBatches, RecordedMicroBatches
    from discreet.learning.torch_training.noise import Noise

    model = Gpt(tokens=tokens, **shape).to(device)
    vocabulary = model.words.num_embeddings
    x = torch.randint(0, vocabulary, (rows, tokens), device=device)
    y = torch.randint(0, vocabulary, (rows, tokens), device=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=device == "cuda")
    places, counts = np.arange(rows), np.ones(rows, dtype=np.float32)

    def plain() -> None:
        with torch.autocast(device, dtype=torch.bfloat16):
            value = token_loss(model(x), y).mean()
        value.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    sums = ClippedSums(model, token_loss, 1.0)
    source = Noise(Fraction(RADIUS) ** 2, sums.parameters)
    kept: list[Any] = []

    def private(batches: MicroBatches, *, with_noise: bool = True) -> None:
        totals = batches.totals(rows)
        with torch.autocast(device, dtype=torch.bfloat16):
            too_long = batches.add(places, counts, totals)
        unit = 1 / RADIUS / rows
        noisy = source.add_to(totals, unit) if with_noise else [t.float().mul_(unit) for t in totals.views]
        kept[:] = [int(too_long.sum()) if too_long is not None else 0]
        for parameter, part in zip(sums.parameters, noisy, strict=True):
            parameter.grad = part
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    each, recorded = MicroBatches(sums, x, y, None), RecordedMicroBatches(sums, x, y, None)
    works: dict[str, Callable[[], None]] = {
        "plain": plain, "private": lambda: private(each), "without noise": lambda: private(each, with_noise=False),
    }  # fmt: skip
    if device == "cuda":
        works["recorded"] = lambda: private(recorded)
    seconds, memory, reserved = measured(works, device)
    if device == "cuda":
        sums_of = []
        for batches in (each, recorded):  # after many steps of the optimiser: a recording reads the present weights
            totals = batches.totals(rows)
            with torch.autocast(device, dtype=torch.bfloat16):
                batches.add(places, counts, totals)
            sums_of.append(totals.flat.double())
        kept.append(float((sums_of[0] - sums_of[1]).norm() / sums_of[0].norm()))
    told("GPT-2-small shape", parameters=sum(p.numel() for p in model.parameters()), rows=rows, tokens=tokens,
         ratio={name: s / seconds["plain"] for name, s in seconds.items()},
         memory_ratio={name: m / max(memory["plain"], 1e-9) for name, m in memory.items()},
         seconds=seconds, gib=memory, gib_reserved=reserved, rows_too_long=kept[0],
         recorded_against_fresh=kept[1:])  # fmt: skip
    if device == "cuda" and "profile" in sys.argv:
        for name, work in works.items():
            profiled(work, name)


def measured(
    works: dict[str, Callable[[], None]], device: str
) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Seconds of each, and the most memory in GiB: what tensors held, and what was taken from the card."""
    seconds, memory, reserved = {}, {}, {}
    for name, work in works.items():
        if device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        seconds[name] = timed(work, device)
        memory[name] = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0
        reserved[name] = torch.cuda.max_memory_reserved() / 2**30 if device == "cuda" else 0.0
    return seconds, memory, reserved


def profiled(work: Callable[[], object], name: str) -> None:
    """The kernels of one call, the longest first."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as seen:
        work()
        torch.cuda.synchronize()
    events = [e for e in seen.key_averages() if e.device_type.name == "CUDA"]
    print(name, "kernels", sum(e.count for e in events), "ms", sum(e.self_device_time_total for e in events) / 1e3)
    for e in sorted(events, key=lambda e: -e.self_device_time_total)[:28]:
        print(f"  {e.self_device_time_total / 1e3:8.3f} ms {e.count:5d}  {e.key[:110]}", flush=True)


def main() -> None:
    """All figures; on a machine without a card, tiny ones, to see that it runs."""
    without_aes()
    if torch.cuda.is_available():
        told("device", name=torch.cuda.get_device_name(), torch=torch.__version__)
        same_as_on_the_processor(1 << 16)
        noise("cuda", 162_600_000)
        gpt("cuda", 16, 512)
        gpt("cuda", 32, 256)
    else:
        noise("cpu", 1 << 16)
        gpt("cpu", 2, 16, vocabulary=100, width=48, depth=1)


if __name__ == "__main__":
    main()
