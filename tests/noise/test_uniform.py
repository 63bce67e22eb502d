"""Uniform integers and weighted choices: all small words are walked, large ones are tried at their edges."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.noise import choice, uniform, uniform_below
from discreet.noise.uniform import choices, choose, integer_weights, uniforms
from discreet.randomness import SystemBits, exact_law
from tests.helpers.gates import distance
from tests.helpers.tapes import Tape


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 11, 16, 17, 31, 37, 100])
def test_below_is_uniform(n: int) -> None:
    law, undecided = exact_law(lambda bits: bits.below(n), depth=16)
    assert set(law) == set(range(n))
    assert len(set(law.values())) == 1
    assert sum(law.values()) + undecided == 1
    assert undecided < Fraction(1, 4)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 100, 127, 128, 129, 200, 255, 256])
def test_arrays_from_all_bytes_hold_every_value_equally_often(n: int) -> None:
    width = (n - 1).bit_length()
    copies = 256 >> width
    out = uniforms(n, n * copies, Tape(np.arange(256, dtype=np.uint8), then=0xFF))
    assert np.bincount(out, minlength=n).tolist() == [copies] * n


@pytest.mark.parametrize("n", [257, 258, 1000, 30_000, 32_768, 32_769, 65_535, 65_536])
def test_arrays_from_all_16_bit_words_hold_every_value_equally_often(n: int) -> None:
    width = (n - 1).bit_length()
    copies = 65536 >> width
    out = uniforms(n, n * copies, Tape(np.arange(65536, dtype=np.uint16), then=0xFF))
    assert np.bincount(out, minlength=n).tolist() == [copies] * n


@pytest.mark.parametrize(
    ("n", "kind"),
    [
        (65_537, np.uint32), (10**9, np.uint32), (2**31, np.uint32), (2**31 + 1, np.uint32), (2**32 - 1, np.uint32),
        (2**32, np.uint32), (2**32 + 1, np.uint64), (10**18, np.uint64), (2**63 - 1, np.uint64), (2**63, np.uint64),
    ],
)  # fmt: skip
def test_wide_words_are_masked_and_refused_at_the_edge(n: int, kind: Any) -> None:
    width = (n - 1).bit_length()
    size = 8 * np.dtype(kind).itemsize
    tops = [0, 1, (1 << size - width) - 1] if size > width else [0]
    words = [low | top << width for low in (0, 1, n - 1, n, n + 1, (1 << width) - 1) for top in tops]
    words = [w for w in words if w < 1 << size]
    kept = [w & (1 << width) - 1 for w in words]
    kept = [w for w in kept if w < n]
    out = uniforms(n, len(kept), Tape(np.array(words, dtype=kind), then=0))
    assert out.tolist() == kept
    assert out.dtype == np.int64


def modulo(n: int, size: int, words: Any) -> Any:
    """The planted bug: a remainder instead of a refusal."""
    return (words[:size] % n).astype(np.int64)


def test_a_remainder_is_caught() -> None:
    out = modulo(100, 200, np.arange(256, dtype=np.uint8))
    assert len(set(np.bincount(out, minlength=100).tolist())) == 1  # a lucky size hides it
    out = modulo(100, 256, np.arange(256, dtype=np.uint8))
    assert len(set(np.bincount(out, minlength=100).tolist())) > 1


@pytest.mark.slow
@given(st.lists(st.fractions(0, 10**6), min_size=1, max_size=8).filter(any))
def test_integer_weights_keep_their_proportions(weights: list[Fraction]) -> None:
    whole = integer_weights(weights)
    assert all(a * sum(weights) == w * sum(whole) for a, w in zip(whole, weights, strict=True))


WEIGHTS = [[1], [1, 1], [1, 2], [0, 1, 0], [3, 0, 5, 0], [0, 0, 7], [1, 1, 1, 5]]


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_choose_has_the_law(weights: list[int]) -> None:
    law, undecided = exact_law(lambda bits: choose(weights, bits), depth=16)
    assert set(law) == {i for i, w in enumerate(weights) if w}
    decided = 1 - undecided
    assert all(p == decided * Fraction(weights[i], sum(weights)) for i, p in law.items())


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_choices_from_all_bytes_have_the_law(weights: list[int]) -> None:
    total = sum(weights)
    copies = 256 >> (total - 1).bit_length()
    out = choices(weights, total * copies, Tape(np.arange(256, dtype=np.uint8), then=0xFF))
    assert np.bincount(out, minlength=len(weights)).tolist() == [w * copies for w in weights]


def test_heavy_weights_take_python_integers() -> None:
    """Beyond 2^63 the same law; false alarm 1e-9."""
    weights = [3 << 100, 0, 1 << 100]
    out = choices(weights, 20_000, SystemBits())
    assert distance(np.bincount(out, minlength=3).tolist(), [0.75, 0.0, 0.25]) < 1
    one_more = [(1 << 62) - 1, 1 << 62]  # the largest total that arrays take
    assert sum(one_more) < uniform.INT64
    assert distance(np.bincount(choices(one_more, 20_000, SystemBits())).tolist(), [0.5, 0.5]) < 1


def test_chi_square_at_1e6() -> None:
    """False alarm 1e-9 each; a value that is 5 % too likely must not pass."""
    for n in (2, 6, 100, 257, 1000):
        assert distance(np.bincount(uniform_below(n, size=10**6), minlength=n).tolist(), [1 / n] * n) < 1
    exact = ["1/7", "2/7", "0", "4/7"]
    law = [1 / 7, 2 / 7, 0.0, 4 / 7]
    assert distance(np.bincount(choice(exact, size=10**6), minlength=4).tolist(), law) < 1
    off: list[str | Fraction] = [Fraction(1, 7) * Fraction(21, 20), "2/7", "0", "4/7"]
    assert distance(np.bincount(choice(off, size=10**6), minlength=4).tolist(), law) > 1


@pytest.mark.slow
def test_large_n_is_even_from_end_to_end() -> None:
    """Ten equal parts of [0, n); false alarm 1e-9 each."""
    for n in (2**31 + 1, 10**18, 2**63 - 1, 2**63, 2**63 + 1, 10**40):
        draws = uniform_below(n, size=20_000)
        assert draws.dtype == (object if n > 2**63 else np.int64)
        assert all(0 <= x < n for x in draws.tolist())
        tenths = np.bincount([10 * int(x) // n for x in draws.tolist()], minlength=10)
        assert distance(tenths.tolist(), [0.1] * 10) < 1
