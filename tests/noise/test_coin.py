"""Coins as functions of their words: an answer must hold at both ends of what the word leaves open."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.noise import bernoulli, bernoulli_exp, coin
from discreet.noise.coin import exponential, flip, flip_exp, flips, flips_exp, rational
from discreet.noise.filter import MARGIN
from discreet.noise.lazy import Probability, is_below
from discreet.randomness import Bits, SystemBits, exact_law, words
from tests.helpers.gates import distance
from tests.helpers.tapes import Prefix, Tape, counted
from tests.helpers.truth import assert_law, ball, exp_minus, precise, whole

X = [Fraction(x) for x in ("1/1000000000000", "1/64", "1/8", "1/3", "1", "7/2", "12", "27", "28", "40", "44", "63.999",
                           "64", "65", "1000")]  # fmt: skip
P = [Fraction(p) for p in ("1/3", "1/65536", "1/65537", "65535/65536", "1/1000000", "0.7", "1/2")]
FAR = [0, *(s << j for j in range(64) for s in (1, -1))]


class Exact:
    """The same x for every coin."""

    def __init__(self, x: Fraction) -> None:
        self._pair = x.numerator, x.denominator

    def __call__(self, i: int) -> tuple[int, int]:
        return self._pair


def words_around(floor: int) -> list[int]:
    return [floor + offset for offset in FAR if 0 <= floor + offset < 1 << 64]


def exp_floor(x: Fraction) -> int:
    """floor(2^64 exp(-x)): U < exp(-x) at a word's lower end iff word <= floor, just below its upper end iff <."""
    return whole(exp_minus(min(x, Fraction(150))), 64)


@pytest.mark.parametrize("x", X, ids=str)
def test_flip_exp_is_right_at_both_ends_of_its_word(x: Fraction) -> None:
    floor = exp_floor(x)
    for word in words_around(floor):
        assert flip_exp(x.numerator, x.denominator, Prefix(word, 64, then=0)) == (word <= floor)
        assert flip_exp(x.numerator, x.denominator, Prefix(word, 64, then=1)) == (word < floor)


@pytest.mark.parametrize("x", ["1e6", "1e30", "1e1000"])
def test_hopeless_coins_cost_nothing(x: str) -> None:
    top = int(Fraction(x))
    for word in (0, 1, 1 << 63, (1 << 64) - 1):  # 0 and ones for ever: below 2^-64, and still far above exp(-x)
        assert not flip_exp(top, 1, Prefix(word, 64, then=1))
        first = np.array([word], dtype=np.uint64)
        assert not flips_exp(np.array([1e300]), lambda _: (top, 1), Tape(first, then=0xFF)).any()


@pytest.mark.parametrize("x", X, ids=str)
@pytest.mark.parametrize("margin", [MARGIN, 2.0**-7])
def test_flips_exp_is_right_at_both_ends_of_its_words(x: Fraction, margin: float) -> None:
    floor = exp_floor(x)
    around = words_around(floor)
    first = np.array(around, dtype=np.uint64)
    for then, expected in ((0, [w <= floor for w in around]), (0xFF, [w < floor for w in around])):
        for source in (None, first):
            tape = Tape(first, then=then) if source is None else Tape(then=then)
            near = np.full(len(around), float(min(x, Fraction(10**300))))
            heads = flips_exp(near, Exact(x), tape, first=source, margin=margin)
            assert heads.tolist() == expected


def test_flips_exp_is_right_when_its_floats_are_off_by_2_to_the_minus_48() -> None:
    for x in X[:12]:
        floor = exp_floor(x)
        around = words_around(floor)
        for side in (-1, 1):
            near = np.full(len(around), float(x * (1 + side * Fraction(1, 1 << 48))))
            exact = Exact(x)
            heads = flips_exp(near, exact, Tape(then=0), first=np.array(around, dtype=np.uint64))
            assert heads.tolist() == [w <= floor for w in around]


@pytest.mark.parametrize("x", X, ids=str)
def test_the_filter_asks_only_when_it_must(x: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word beyond the margin is settled by the float; without that, speed would be lost unseen."""
    asked = counted(is_below)
    monkeypatch.setattr(coin, "is_below", asked)
    for word in words_around(exp_floor(x)):
        asked.calls = 0
        flip_exp(x.numerator, x.denominator, Prefix(word, 64, then=0))
        assert asked.calls == 0 or abs(word - exp_floor(x)) <= 1 << 25


def test_heads_for_certain() -> None:
    for word in (0, 1, (1 << 63), (1 << 64) - 1):
        assert flip_exp(0, 1, Prefix(word, 64, then=1))
        assert flips_exp(np.zeros(1), lambda _: (0, 1), Tape(np.array([word], dtype=np.uint64), then=0xFF)).all()


@pytest.mark.parametrize("p", P, ids=str)
def test_flip_is_right_at_both_ends_of_its_word(p: Fraction) -> None:
    low, high = rational(p)(64)
    for word in words_around(low):
        assert flip(rational(p), Prefix(word, 64, then=0)) == (word < high)
        assert flip(rational(p), Prefix(word, 64, then=1)) == (word < low)


def naive_flips(p: Probability, size: int, bits: Bits) -> NDArray[np.bool_]:
    """The planted bug: 16 bits are enough for everyone."""
    return words(bits, size, np.uint16) < p(16)[1]


def all_first_words(many: Callable[..., NDArray[np.bool_]], p: Probability, floor: int) -> bool:
    """Whether the coins of all 65536 first words, in two chunks, are right at both ends of what they leave open."""
    first = np.arange(1 << 16, dtype=np.uint16)
    chunks = (first[: 1 << 15], first[1 << 15 :])
    right = True
    for chunk in chunks:
        low_end = many(p, len(chunk), Tape(chunk, then=0))
        high_end = many(p, len(chunk), Tape(chunk, then=0xFF))
        right &= low_end.tolist() == [w <= floor for w in chunk.tolist()]
        right &= high_end.tolist() == [w < floor for w in chunk.tolist()]
    return right


@pytest.mark.slow
@pytest.mark.parametrize("x", X[:-1], ids=str)
def test_flips_of_exp_are_right_for_every_first_word(x: Fraction) -> None:
    if x < 64:  # else zeros for ever take too long to lie above exp(-x)
        assert all_first_words(flips, exponential(x), whole(exp_minus(x), 16))
    heads = flips(exponential(x), 1 << 15, Tape(np.arange(1, 1 + (1 << 15), dtype=np.uint16), then=0xFF))
    assert heads.tolist() == [w < whole(exp_minus(x), 16) for w in range(1, 1 + (1 << 15))]


def test_flips_of_a_rational_are_right_for_every_first_word() -> None:
    for p in (Fraction(1, 3), Fraction(7, 10), Fraction(1, 65537), Fraction(65534, 65537)):
        assert all_first_words(flips, rational(p), whole(ball(p), 16))
    for p, count in ((Fraction(0), 0), (Fraction(1), 1 << 15), (Fraction(5, 65536), 5)):
        heads = flips(rational(p), 1 << 15, Tape(np.arange(1 << 15, dtype=np.uint16)))
        assert heads.sum() == count
        assert heads[:count].all()


@pytest.mark.parametrize("x", X[:9], ids=str)
def test_flips_go_on_with_the_word_that_was_looked_at(x: Fraction) -> None:
    """16 bits, then 48, then one bit for ever: the 64 together stand beside exp(-x), on both sides."""
    floor = exp_floor(x)
    for word in words_around(floor):
        parts = (word >> 48).to_bytes(2, "little"), (word & (1 << 48) - 1).to_bytes(6, "big")
        opened = whole(exp_minus(x), 16) == word >> 48  # only then are the 48 asked for
        for then, expected in ((0, word <= floor), (0xFF, word < floor)):
            tape = Tape(*parts, then=then)
            assert flips(exponential(x), 1, tape)[0] == expected
            assert not opened or tape.left == 0


def test_a_coin_of_16_bits_is_caught() -> None:
    assert not all_first_words(naive_flips, rational(Fraction(1, 3)), whole(ball(Fraction(1, 3)), 16))


@pytest.mark.parametrize("p", ["1/3", "1/1000", "0.7"])
def test_the_law_with_tiny_words(p: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """``flip`` with 4 bits in place of 64, every path."""
    probability = rational(Fraction(p))
    law, undecided = exact_law(lambda bits: is_below(probability, bits.bits(4), 4, bits, step=4), depth=20)
    with precise():
        assert_law(law, undecided, {True: ball(Fraction(p)), False: 1 - ball(Fraction(p))})


@pytest.mark.parametrize("p", ["0.3", "1/1000", "0.999"])
def test_bernoulli_at_1e6(p: str) -> None:
    """False alarm 1e-9."""
    heads = int(bernoulli(p, size=10**6).sum())
    q = float(Fraction(p))
    assert distance([10**6 - heads, heads], [1 - q, q]) < 1


@pytest.mark.parametrize(("x", "off"), [("1/10", "11/100"), ("1", "51/50"), ("6", "63/10")])
def test_bernoulli_exp_at_1e6(x: str, off: str) -> None:
    """False alarm 1e-9; a coin whose x is off by a little must not pass."""
    q = float(np.exp(-float(Fraction(x))))
    heads = int(bernoulli_exp(x, size=10**6).sum())
    assert distance([10**6 - heads, heads], [1 - q, q]) < 1
    heads = int(bernoulli_exp(off, size=10**6).sum())
    assert distance([10**6 - heads, heads], [1 - q, q]) > 1


@pytest.mark.slow
def test_scalar_coins() -> None:
    """False alarm 1e-9."""
    bits = SystemBits()
    heads = sum(flip_exp(1, 3, bits) for _ in range(50_000))
    q = float(exp_minus(Fraction(1, 3)))
    assert distance([50_000 - heads, heads], [1 - q, q]) < 1
    heads = sum(flip(rational(Fraction(2, 7)), bits) for _ in range(50_000))
    assert distance([50_000 - heads, heads], [5 / 7, 2 / 7]) < 1
