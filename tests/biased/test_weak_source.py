import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from discreet.biased.sources import WeakSource, power_of_two_up
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
