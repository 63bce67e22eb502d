"""What samples say about the bias of a source: counts by hand, both bounds, refusals."""

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.biased.estimate import _counts, estimate_gamma
from discreet.errors import BadParameter
from discreet.randomness import SystemBits


def markov_bytes(rng: random.Random, count: int, stay: float) -> bytes:
    """Each bit repeats the last one with probability ``stay``."""
    bit, out = 0, bytearray()
    for _ in range(count):
        byte = 0
        for _ in range(8):
            bit = bit if rng.random() < stay else 1 - bit
            byte = byte << 1 | bit
        out.append(byte)
    return bytes(out)


def test_the_estimate_holds_the_truth() -> None:
    """γ is 0.3 and the memory is one bit; both sides miss with probability at most 1e-6."""
    found = estimate_gamma(markov_bytes(random.Random(7), 50_000, 0.65), memory=3)
    assert 0.25 < found.lower <= Fraction("0.3") <= found.upper < 0.37
    assert found.model.gamma == found.upper


def test_the_twin_that_looks_at_single_bits_only_sees_nothing() -> None:
    """A source that repeats itself has as many ones as zeros: without memory the upper side would be a lie."""
    blind = estimate_gamma(markov_bytes(random.Random(8), 50_000, 0.65), memory=0)
    assert blind.upper < 0.3 - 0.2
    assert blind.lower <= 0.3  # the lower side is true for every Santha-Vazirani source


def test_fair_bits_are_not_accused_and_few_bits_say_nothing() -> None:
    assert estimate_gamma(SystemBits().bytes(100_000)).lower == 0
    few = estimate_gamma(b"\x01\x02")
    assert few.upper == 1
    with pytest.raises(BadParameter, match="too rare"):
        _ = few.model


@pytest.mark.parametrize(
    ("samples", "memory", "confidence"), [(b"", 0, "0.9"), (b"x", 8, "0.9"), (b"xx", 17, "0.9"), (b"xx", 2, 1)]
)
def test_estimates_refuse_bad_input(samples: bytes, memory: int, confidence: object) -> None:
    with pytest.raises(BadParameter):
        estimate_gamma(samples, memory=memory, confidence=confidence)  # type: ignore[arg-type]


def test_what_follows_each_pattern_is_counted() -> None:
    seen, ones = _counts(np.array([0, 0, 1, 1, 0, 1], dtype=np.uint8), 2)  # 00->1, 01->1, 11->0, 10->1
    assert seen.tolist() == [1, 1, 1, 1]
    assert ones.tolist() == [1, 1, 1, 0]
    seen, ones = _counts(np.array([0, 1, 1], dtype=np.uint8), 0)
    assert (seen.tolist(), ones.tolist()) == ([3], [2])


def test_the_bounds_by_hand() -> None:
    """6144 ones among 8192 bits, no memory: |2 share - 1| = 1/2, and the margin of Azuma and Hoeffding."""
    found = estimate_gamma(bytes([0b11101101]) * 1024, memory=0, confidence="0.99")
    margin = 2 * math.sqrt(math.log(2 * 8192 / 0.01) / (2 * 8192))
    assert found.samples == 8192
    assert math.isclose(found.lower, 0.5 - margin, rel_tol=1e-12)
    assert math.isclose(found.upper, 0.5 + margin, rel_tol=1e-12)


def test_numbers_are_as_good_as_bytes() -> None:
    assert estimate_gamma([1, 2, 255], memory=1) == estimate_gamma(b"\x01\x02\xff", memory=1)


@pytest.mark.parametrize("samples", [1000, "text", [1, 256], [0.5], None, True])
def test_what_is_no_string_of_bytes_is_refused(samples: Any) -> None:
    """A number would be read as that many zero bytes, and a source that sticks at 0 be reported."""
    with pytest.raises(BadParameter, match="samples"):
        estimate_gamma(samples)
