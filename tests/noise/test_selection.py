"""Selection by score: the exact law over small score vectors, the coins word by word, chi-square from end to end."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.noise import exponential, permute_and_flip, selection
from discreet.noise.selection import coins, exponential_choice, permute_and_flip_choice
from discreet.randomness import Bits, SystemBits
from tests.helpers.branches import Branching, branch_law
from tests.helpers.extent import extent
from tests.helpers.gates import distance
from tests.helpers.tapes import NoBits
from tests.helpers.truth import ball, exp_minus, precise, whole

Law = dict[int, Any]


def permute_and_flip_law(scores: Sequence[Fraction], rate: Fraction) -> Law:
    """Algorithm 1 of McKenna and Sheldon, over every order of the candidates."""
    best = max(scores)
    law: Law = {i: arb(0) for i in range(len(scores))}
    with precise():
        orders = list(permutations(range(len(scores))))
        for order in orders:
            left = ball(1) / len(orders)
            for i in order:
                heads = exp_minus(rate * (best - scores[i]))
                law[i] += left * heads
                left *= 1 - heads
    return law


def exponential_law(scores: Sequence[Fraction], rate: Fraction) -> Law:
    with precise():
        weights = [(ball(rate) * ball(s)).exp() for s in scores]
        return {i: w / sum(weights, arb(0)) for i, w in enumerate(weights)}


VECTORS = [["0"], ["0", "0"], ["0", "1"], ["3", "1", "2"], ["-1", "-1", "0.5", "-7"], ["1/3", "1/2", "0", "1/3", "1/7"]]
RATES = ["1", "1/3", "5/2"]


def branching_coins(
    candidates: Any, index: NDArray[np.int64], bits: Branching, first: NDArray[np.uint64] | None = None
) -> NDArray[np.bool_]:
    return np.array([bits.coin(*candidates.exact(int(i))) for i in index], dtype=np.bool_)


def forms(vector: list[str]) -> list[Any]:
    """The same scores as rationals and, where they are whole, as arrays."""
    exact = [Fraction(s) for s in vector]
    whole_ones = [np.array([int(s) for s in exact], dtype=kind) for kind in (np.int64, np.int8)]
    return [exact, *(whole_ones if all(s.denominator == 1 for s in exact) else [])]


@pytest.mark.parametrize("vector", VECTORS, ids=str)
@pytest.mark.parametrize("rate", RATES)
def test_permute_and_flip_has_the_law_of_its_algorithm(
    vector: list[str], rate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every branch of all coins and of the choice among the heads, against every order of the candidates."""
    monkeypatch.setattr(selection, "_flip", branching_coins)
    expected = permute_and_flip_law([Fraction(s) for s in vector], Fraction(rate))
    for scores in forms(vector):
        candidates = coins(scores, Fraction(rate))
        law, undecided = branch_law(partial(permute_and_flip_choice, candidates), least=0.0)
        assert undecided == 0
        with precise():
            assert all(abs(law[i] - p) < 1e-60 for i, p in expected.items())


@pytest.mark.parametrize("vector", VECTORS, ids=str)
@pytest.mark.parametrize("rate", RATES)
def test_one_round_of_exponential_has_its_law(vector: list[str], rate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every proposal is kept with a probability proportional to its law: proposals are uniform, the coin is noted."""
    expected = exponential_law([Fraction(s) for s in vector], Fraction(rate))
    noted: list[Fraction] = []

    def heads(candidates: Any, index: NDArray[np.int64], bits: Bits) -> NDArray[np.bool_]:
        noted.append(Fraction(*candidates.exact(int(index[0]))))
        return np.array([True] * len(index))

    monkeypatch.setattr(selection, "_flip", heads)
    for scores in forms(vector):
        candidates = coins(scores, Fraction(rate))
        ratios = []
        for i in range(len(vector)):
            monkeypatch.setattr(selection, "uniforms", always(i, len(vector)))
            assert exponential_choice(candidates, NoBits()) == i
            with precise():
                ratios.append(exp_minus(noted.pop()) / expected[i])
        with precise():
            assert all(abs(ratio / ratios[0] - 1) < 1e-60 for ratio in ratios)


def always(i: int, n: int) -> Any:
    def uniforms(below: int, size: int, bits: Bits) -> NDArray[np.int64]:
        assert below == n
        return np.full(size, i)

    return uniforms


def test_exponential_takes_the_first_heads_and_goes_on_without(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = iter([(3, [2, 0, 1], []), (6, [1, 2, 0, 0, 2, 1], [3, 5])])
    heads: list[int] = []

    def uniforms(n: int, size: int, bits: Bits) -> NDArray[np.int64]:
        tries, proposed, lucky = next(rounds)
        assert size == tries  # a round without heads is followed by one of twice the size
        heads[:] = lucky
        return np.array(proposed)

    def flip(candidates: Any, index: NDArray[np.int64], bits: Bits) -> NDArray[np.bool_]:
        return np.isin(np.arange(len(index)), heads)

    monkeypatch.setattr(selection, "_FIRST_TRIES", 3)
    monkeypatch.setattr(selection, "uniforms", uniforms)
    monkeypatch.setattr(selection, "_flip", flip)
    assert exponential_choice(coins([1, 2, 3], Fraction(1)), NoBits()) == 0


def test_swapped_laws_are_caught() -> None:
    """The planted twin: the two laws differ by more than the tests above forgive."""
    scores = [Fraction(s) for s in VECTORS[3]]
    flip, exp = permute_and_flip_law(scores, Fraction(1)), exponential_law(scores, Fraction(1))
    assert max(abs(float(flip[i] - exp[i])) for i in flip) > 0.02


class Chosen:
    """Bytes and words as told; says how many heads there were, and takes the one that it is told to take."""

    def __init__(self, byte: list[int], words: list[int], then: int) -> None:
        self._parts = [np.array(byte, dtype=np.uint8).tobytes(), np.array(words, dtype=np.uint64).tobytes()]
        self._then = then
        self.heads = 0

    def bytes(self, count: int) -> bytes:
        part = self._parts.pop(0)
        assert len(part) == count
        return part

    def bits(self, count: int) -> int:
        return ((1 << count) - 1) * self._then

    def below(self, n: int) -> int:
        self.heads = n
        return n - 1


@pytest.mark.parametrize("gap", [0, 1, 3, 5, 6, 7, 20, 43, 44, 70])
@pytest.mark.parametrize("rate", ["1", "12/7"])
@pytest.mark.parametrize("form", ["list", "array"])
def test_a_candidates_coin_is_right_at_both_ends_of_its_word(gap: int, rate: str, form: str) -> None:
    """Two candidates; the second one's coin is put beside exp(-x). It is among the heads iff U < exp(-x)."""
    x = Fraction(rate) * gap
    floor = whole(exp_minus(x), 64)
    scores: Any = np.array([100, 100 - gap]) if form == "array" else [100, 100 - gap]
    candidates = coins(scores, Fraction(rate))
    for word in {floor + (s << j) for j in range(0, 64, 3) for s in (-1, 0, 1)}:
        if not 0 <= word < 1 << 64:
            continue
        for then in (0, 1):
            # bytes of both; then the other 56 bits (above 8 that are thrown away) of those that are still open
            open_words = [0xABCDEF << 32, (word & (1 << 56) - 1) << 8 | 0x5A]
            byte = [0xFF, word >> 56]
            likely = byte[1] == 0 or bool(candidates.likely(0, 2)[1])
            source = Chosen(byte, open_words if likely else open_words[:1], then)
            chosen = permute_and_flip_choice(candidates, source)
            heads = word <= floor if then == 0 else word < floor
            assert (source.heads, chosen) == ((2, 1) if heads or gap == 0 else (1, 0))


@pytest.mark.slow
@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6),
    st.fractions(Fraction(1, 10**30), 10**30, max_denominator=10**30).filter(bool),
)
@settings(max_examples=200)
def test_coins_hold_the_exact_gap(scores: list[int], rate: Fraction) -> None:
    """Both forms: exact pairs, floats within a relative 2^-48 (or beyond 64), and "unlikely" only at 1/256 or less."""
    best = max(scores)
    for given_scores in (scores, np.array(scores, dtype=np.int64)):
        candidates = coins(given_scores, rate)
        near = candidates.near(np.arange(len(scores)))
        likely = candidates.likely(0, len(scores))
        assert len(candidates) == len(scores)
        for i, score in enumerate(scores):
            x = rate * (best - score)
            assert Fraction(*candidates.exact(i)) == x
            assert abs(Fraction(near[i].item()) - x) <= x / (1 << 48) or (x >= 64 and near[i] >= 64)
            assert likely[i] or x > Fraction(554, 100)  # ln 256 = 5.545...
            assert likely[i] or exp_minus(min(x, Fraction(100))) <= 1 / ball(256)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_the_ends_of_every_integer_type(kind: Any) -> None:
    ends = np.iinfo(kind)
    scores = np.array([ends.min, ends.max, ends.max - 1, ends.min + 1], dtype=kind)
    candidates = coins(scores, Fraction(1, 7))
    exact = [Fraction(*candidates.exact(i)) for i in range(4)]
    assert exact == [Fraction(int(ends.max) - int(s), 7) for s in scores]
    assert candidates.likely(0, 4).tolist()[1:3] == [True, True]
    tiny = coins(scores, Fraction(1, 10**200))
    assert tiny.likely(0, 4).all()
    assert {permute_and_flip(scores, Fraction(1, 10**200)) for _ in range(400)} == {0, 1, 2, 3}  # misses: 4 (3/4)^400


@pytest.mark.parametrize("rate", ["1e-1200", "1e1200", "1e-280", "1e280"])
def test_extreme_rates(rate: str) -> None:
    for scores in ([0, 1, 0], np.array([0, 1, 0])):
        for choose in (permute_and_flip, exponential):
            seen = {choose(scores, rate) for _ in range(150)}
            assert seen == ({1} if "e1" in rate or rate == "1e280" else {0, 1, 2})  # misses: 3 (2/3)^150 < 1e-25


CASES: list[Any] = [
    ([0, 1, 2, 3], "1"),
    (np.array([5, 5, 2, 0, 3]), "1"),
    (np.array([50, 50, 20, 0, 30], dtype=np.int8), "1/40"),
    (["1/3", "0.5", "-2", "1/3"], "1/4"),
    ([0.1, 0.2, 0.7], "3"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("scores", "rate"), CASES, ids=str)
def test_chi_square(scores: Any, rate: str) -> None:
    """From end to end; false alarm 1e-9 at each gate."""
    exact = [Fraction(s.item() if isinstance(s, np.generic) else s) for s in scores]
    for choose, law in ((permute_and_flip, permute_and_flip_law), (exponential, exponential_law)):
        expected = [float(p) for p in law(exact, Fraction(rate)).values()]
        counts = np.bincount([choose(scores, rate) for _ in range(extent(5_000, 10_000))], minlength=len(exact))
        assert distance(counts.tolist(), expected) < 1


@pytest.mark.slow
def test_planted_bugs_fail_the_chi_square_gate() -> None:
    """A rate off by 20 %, and each law in the other's place."""
    exact = [Fraction(s) for s in (0, 1, 2, 3)]
    flips = np.bincount([permute_and_flip([0, 1, 2, 3], 1) for _ in range(20_000)], minlength=4).tolist()
    assert distance(flips, [float(p) for p in permute_and_flip_law(exact, Fraction(6, 5)).values()]) > 1
    assert distance(flips, [float(p) for p in exponential_law(exact, Fraction(1)).values()]) > 1


@pytest.mark.slow
def test_every_chunk_can_win(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 equal scores in chunks of 64; false alarm 1e-9."""
    monkeypatch.setattr(selection, "_CHUNK", 64)
    for equal in (np.zeros(200, dtype=np.int64), [0] * 200):
        candidates = coins(equal, Fraction(1))
        for choose in (permute_and_flip_choice, exponential_choice):
            fifths = np.bincount([choose(candidates, SystemBits()) // 40 for _ in range(4000)], minlength=5)
            assert distance(fifths.tolist(), [1 / 5] * 5) < 1


@pytest.mark.parametrize("winner", [0, 65_535, 65_536, 131_071, 131_072, 149_999])
def test_a_clear_winner_among_many(winner: int) -> None:
    """The others have exp(-10^6) each."""
    scores = np.zeros(150_000, dtype=np.int64)
    scores[winner] = 10**6
    assert permute_and_flip(scores, 1) == winner
    assert exponential(scores[max(0, winner - 50) : winner + 50], 1) == min(winner, 50)


def test_the_best_is_always_among_the_heads() -> None:
    """Even for the largest word there is: else the choice would have nothing to choose from."""

    class Ones:
        def bytes(self, count: int) -> bytes:
            return b"\xff" * count

        def bits(self, count: int) -> int:
            return (1 << count) - 1

        def below(self, n: int) -> int:
            assert n == 1
            return 0

    ones: Bits = Ones()
    for scores in ([3, 9, 4], np.array([3, 9, 4])):
        assert permute_and_flip_choice(coins(scores, Fraction(1)), ones) == 1
