import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from discreet.biased.sources import BlockSource, WeakSource, power_of_two_up
from discreet.biased.weak_source import forced_error, least_min_entropy, weak_source_allows
from discreet.errors import BadParameter

BITS = 3
N = 2  # answers 0, 1, 2


def best_private_error(size: int) -> float:
    """The least worst-case error, with fair bits, of any mechanism that is private on all flat sources of this size.

    A finite ε means that neighbours have the same possible outputs on each of these sources; so all inputs do.
    """
    maps = np.array(list(product(range(N + 1), repeat=1 << BITS)))
    outputs = 1 << maps
    seen = [np.bitwise_or.reduce(outputs[:, list(a)], axis=1) for a in combinations(range(1 << BITS), size)]
    _, kind = np.unique(np.stack(seen, axis=1), axis=0, return_inverse=True)
    worst = np.zeros(kind.max() + 1)
    for q in range(N + 1):
        least = np.full(kind.max() + 1, np.inf)
        np.minimum.at(least, kind.ravel(), np.abs(maps - q).mean(axis=1))
        worst = np.maximum(worst, least)
    return float(worst.min())


def just_below_log2(size: int) -> Fraction:
    return Fraction(math.log2(size)) if size & (size - 1) == 0 else Fraction(math.log2(size)) - Fraction(1, 10**9)


@pytest.mark.parametrize("size", range(2, 9))
def test_the_theorem_on_every_mechanism_with_three_bits(size: int) -> None:
    """All 6561^3 mechanisms with answers 0, 1, 2: a private one is never better than the theorem says."""
    source = WeakSource(BITS, just_below_log2(size))
    assert size - 1 < power_of_two_up(source.min_entropy) <= size
    best = best_private_error(size)
    assert best >= forced_error(source, N)
    if size <= 1 << (BITS - 1):
        assert best >= N / 4
    if size == 1 << BITS:
        assert best < N / 4  # fair bits do allow something


def test_the_twin_that_claims_four_times_as_much_is_refuted() -> None:
    assert any(
        best_private_error(size) < 4 * forced_error(WeakSource(BITS, just_below_log2(size)), N) for size in (5, 6)
    )


def test_verdicts() -> None:
    assert not weak_source_allows(1, 10, 127, 128, largest_answer=1000)
    assert not weak_source_allows(1, 249, 127, 128, largest_answer=1000)
    assert weak_source_allows(1, 250, 127, 128, largest_answer=1000)
    assert not weak_source_allows(1, 10**9, 127, 128)
    assert weak_source_allows(1, 10, 128, 128)
    unlucky = weak_source_allows("0.001", 10, 128, 128, largest_answer=1000)
    assert not unlucky
    assert "fair bits" in unlucky.why


def test_the_form_in_the_literature_follows() -> None:
    """k >= m - log2(ρε) - 5 for ε <= 0.3 and 6ρ + 1 <= n: wherever it fails, the verdict is "impossible"."""
    m, n = 64, 10_000
    for epsilon in (Fraction(1, 1000), Fraction(1, 10), Fraction(3, 10)):
        for rho in (Fraction(1), Fraction(10), Fraction(1000)):
            for missing in range(40):
                if 2**missing > 32 * rho * epsilon:  # k = m - missing < m - log2(ρε) - 5
                    assert not weak_source_allows(epsilon, rho, m - missing, m, largest_answer=n)


def test_least_min_entropy() -> None:
    assert least_min_entropy(128, 250, 1000) == 127
    assert least_min_entropy(128, 500, 1000) is None
    assert least_min_entropy(2, 490, 1000) is None
    found = least_min_entropy(128, 1, 1000)
    assert found is not None
    assert 127.99 < found < 128
    assert not weak_source_allows(1, 1, found, 128, largest_answer=1000) or found > Fraction("127.997")


@pytest.mark.parametrize(
    "arguments", [(0, 1, 1, 2), (1, 0, 1, 2), (1, 1, 3, 2), (1, 1, 0, 2), (1, 1, 1, 0)]
)  # fmt: skip
def test_bad_parameters_are_refused(arguments: tuple[int, int, int, int]) -> None:
    with pytest.raises(BadParameter):
        weak_source_allows(*arguments)


# --- blocks -------------------------------------------------------------------------------------------------------


def most_likely(leaves: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The largest P(A) over all block sources, for sets A given as the last axes of 0 and 1: one axis for each block.

    A block takes its best values with these probabilities, largest first: the most that a min-entropy allows.
    """
    value = leaves.astype(float)
    while value.ndim > 1:
        value = -np.sort(-value, axis=-1) @ weights
    return value


def heaviest(bits: int, min_entropy: float) -> np.ndarray:
    """The law of a block that piles as much as it may on its first values."""
    most, left, law = 2.0**-min_entropy, 1.0, []
    for _ in range(1 << bits):
        law.append(min(most, left))
        left -= law[-1]
    return np.array(law)


@pytest.mark.parametrize("min_entropy", [0.3, 1.0, 1.5, 1.9])
def test_the_lemma_on_every_set_of_two_blocks_of_two_bits(min_entropy: float) -> None:
    """All 65,536 sets of four bits; an exponent half as large again is refuted."""
    sets = (np.arange(1 << 16)[:, None] >> np.arange(16) & 1).reshape(-1, 4, 4)
    found = most_likely(sets, heaviest(2, min_entropy))
    share, alpha = 2.0 ** (2 - min_entropy), sets.mean(axis=(1, 2))
    assert (found >= 1 - (1 - alpha) ** share - 1e-12).all()
    if min_entropy in {1.0, 1.5}:
        assert (found < 1 - (1 - alpha) ** (1.5 * share) - 1e-9).any()


def block_epsilon(maps: np.ndarray, weights: np.ndarray) -> float:
    """The ε of M(q, r) on answers 0, 1, ..., over all block sources and all sets of outputs, by bisection."""
    outputs = sorted(set(maps.ravel().tolist()))
    worst = 0.0
    for one, two in [(a, b) for a in range(len(maps)) for b in (a - 1, a + 1) if 0 <= b < len(maps)]:
        for chosen in product([False, True], repeat=len(outputs)):
            members = [z for z, is_in in zip(outputs, chosen, strict=True) if is_in]
            p, q = np.isin(maps[one], members).astype(float), np.isin(maps[two], members).astype(float)
            while most_likely((p - math.exp(worst) * q)[None], weights)[0] > 1e-12:
                worst += 0.05
                if worst > 20:
                    return math.inf
    return worst


def test_the_theorem_on_mechanisms_of_two_blocks() -> None:
    """The cells of a uniform number of two blocks, moved by the answer: (d/4ρ)^s <= 1 + e^(εd) for all d, for each."""
    for entropy in (0.5, 1.0, 1.6):
        weights, share, finite = heaviest(2, entropy), 2.0 ** (2 - entropy), 0
        for cells in product([1, 2], [1, 3], [0, 5]):
            places = np.arange(16).reshape(4, 4)
            maps = np.array([np.clip((places + cells[0] * q + cells[2]) // (4 + cells[1]), 0, 3) for q in range(4)])
            epsilon = block_epsilon(maps, weights)
            finite += epsilon < math.inf
            rho = max(np.abs(maps[q] - q).mean() for q in range(4))
            assert all((d / (4 * rho)) ** share <= 1 + math.exp(min(700, epsilon * d)) for d in range(1, 4))
        assert finite or entropy < 1.6


def test_verdicts_on_blocks() -> None:
    assert not weak_source_allows("0.1", 20, source=BlockSource(8, 3), largest_answer=1000)
    assert not weak_source_allows("0.1", 20, source=BlockSource(8, 3))
    assert weak_source_allows("0.1", 20, source=BlockSource(8, "7.9"), largest_answer=1000)
    assert weak_source_allows("0.1", 20, source=BlockSource(1, "0.9"), largest_answer=1000)  # Santha-Vazirani
    assert weak_source_allows("0.1", 400, source=BlockSource(8, 3), largest_answer=1000)  # hardly any use
    assert not weak_source_allows("0.001", 1, source=BlockSource(8, 8), largest_answer=1000)  # even with fair bits
    said = weak_source_allows("0.1", 20, source=BlockSource(64, 1))
    assert not said
    assert "blocks of 64 bits" in said.why
    assert weak_source_allows(1, 10, source=WeakSource(128, 127), largest_answer=1000) == weak_source_allows(
        1, 10, 127, 128, largest_answer=1000
    )


@pytest.mark.parametrize(("epsilon", "rho"), [("0.1", 20), (1, 10), ("0.01", 300)])
def test_blocks_need_all_but_the_logarithm_of_the_error(epsilon: str | int, rho: int) -> None:
    """Ruled out once 2^(m-k) exceeds about 4eρε; never while it is below it."""
    limit = 4 * math.e * rho * float(Fraction(epsilon))
    for missing in range(1, 20):
        allowed = bool(weak_source_allows(epsilon, rho, source=BlockSource(32, 32 - missing)))
        assert allowed == (2.0**missing < limit) or 0.8 < 2.0**missing / limit < 1.5


@pytest.mark.parametrize(
    "given", [{}, {"min_entropy": 3}, {"bits": 3}, {"source": BlockSource(8, 3), "bits": 8}, {"source": "coins"}]
)
def test_a_source_is_named_once(given: dict[str, object]) -> None:
    with pytest.raises(BadParameter):
        weak_source_allows(1, 10, **given)  # type: ignore[arg-type]
