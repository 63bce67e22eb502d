"""Every frequency oracle: its exact law against its promise, its draws against its law, estimates that cover."""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter, NoLaw
from discreet.exact import exp_up
from discreet.local.hadamard import hadamard
from discreet.local.hashing import PRIME, hashed, local_hashing
from discreet.local.oracle import Oracle, pack
from discreet.local.response import response
from discreet.local.subset import subset_selection
from discreet.local.unary import Unary, basic_rappor, optimised_unary
from tests.helpers.databases import too_few
from tests.helpers.laws import misfit

MAKERS: list[Any] = [response, basic_rappor, optimised_unary, hadamard, subset_selection]
ALL: list[Any] = [*MAKERS, local_hashing]


def worst_ratio(oracle: Oracle) -> Fraction:
    """The largest ratio of probabilities of one report under two values."""
    laws = [oracle.law(v) for v in range(oracle.k)]
    return max(a[r] / b[r] for a in laws for b in laws for r in a)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_the_exact_law_keeps_its_promise_and_nearly_uses_it_up(make: Any, k: int, epsilon: str) -> None:
    oracle = make(k=k, epsilon=epsilon)
    for v in range(k):
        assert sum(oracle.law(v).values()) == 1
    ratio = worst_ratio(oracle)
    assert ratio <= exp_up(Fraction(epsilon))
    assert ratio > exp_up(Fraction(epsilon)) * (1 - Fraction(1, 10**6))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_support_has_the_chances_that_are_claimed(make: Any, k: int) -> None:
    oracle = make(k=k, epsilon=1)
    for v in range(k):
        seen = [Fraction(0)] * k
        for report, chance in oracle.law(v).items():
            line = np.frombuffer(report, dtype=np.uint8)[None, :]
            assert oracle.valid(line)[0]
            for w, n in enumerate(oracle.supports(line).tolist()):
                seen[w] += n * chance
        assert seen == [oracle.keep if w == v else oracle.other for w in range(k)]


@pytest.mark.parametrize("make", MAKERS)
def test_draws_have_the_law(make: Any) -> None:
    oracle = make(k=4, epsilon=1)
    law = {report: (p, p) for report, p in oracle.law(2).items()}
    draws = [line.tobytes() for line in oracle.simulate(np.full(40_000, 2))]
    assert misfit(draws, law) < 1
    assert misfit(draws[:20_000], {r: (p, p) for r, p in make(k=4, epsilon="7/5").law(2).items()}) > 1
    assert Counter(oracle.client(2) for _ in range(20)).keys() <= oracle.law(2).keys()


def test_local_hashing_given_its_function_is_randomized_response() -> None:
    oracle = local_hashing(k=50, epsilon=1)
    with pytest.raises(NoLaw):
        oracle.law(3)
    twin = response(k=oracle.cells, epsilon=1)
    assert (oracle.keep, oracle.replaced) == (twin.keep, twin.replaced)
    reports = oracle.simulate(np.full(40_000, 7))
    a, b = (reports[:, i : i + 4].copy().view("<u4")[:, 0].astype(np.int64) for i in (0, 4))
    own = reports[:, 8] == hashed(a, b, np.full(len(a), 7), oracle.cells)
    assert misfit(own.tolist(), {True: (oracle.keep, oracle.keep), False: (1 - oracle.keep, 1 - oracle.keep)}) < 1


def test_hashing_is_pairwise_independent() -> None:
    """Over a small field by enumeration; and the arithmetic of the large one against Python's."""
    p, g = 11, 3
    pairs = Counter(((a * 2 + b) % p, (a * 5 + b) % p) for a in range(p) for b in range(p))
    assert set(pairs.values()) == {1}
    counts = Counter(x % g for x in range(p))
    assert sorted(counts.values()) == [3, 4, 4]
    rng = np.random.default_rng(3)
    a, b, v = (rng.integers(0, PRIME, 1000) for _ in range(3))
    a[:3], b[:3], v[:3] = PRIME - 1, PRIME - 1, PRIME - 1
    expected = [(x * y + z) % PRIME % 5 for x, y, z in zip(a.tolist(), v.tolist(), b.tolist(), strict=True)]
    assert hashed(a, b, v, 5).tolist() == expected
    oracle = local_hashing(k=10, epsilon=1)
    assert abs(oracle.other - Fraction(1, oracle.cells)) < Fraction(1, 10**9)


@pytest.mark.parametrize("make", ALL)
def test_estimates_have_no_bias_and_their_bars_cover(make: Any) -> None:
    oracle = make(k=6, epsilon=1)
    values = np.repeat(np.arange(6), [500, 300, 100, 60, 40, 0])
    truth = np.array([0.5, 0.3, 0.1, 0.06, 0.04, 0])
    runs = [oracle.estimate(oracle.simulate(values), "0.8") for _ in range(150)]
    hits = sum(bool((np.abs(r.values - truth) <= r.error).all()) for r in runs)
    assert not too_few(hits, len(runs), 0.8)
    assert too_few(sum(bool((np.abs(r.values - truth) <= r.error / 6).all()) for r in runs), len(runs), 0.8)
    mean = np.mean([r.values for r in runs], axis=0)
    spread = max(oracle.variance(1000, f) for f in truth) / len(runs)
    assert np.abs(mean - truth).max() < 6.5 * spread**0.5  # a false alarm in 1e9 for all six
    claimed = oracle.variance(1000, "0.5")
    seen = np.var([r.values[0] for r in runs])
    assert 0.45 < seen / claimed < 1.9  # chi-square of 149 degrees, beyond 1e-9
    assert runs[0].consistent().min() >= 0
    assert runs[0].consistent().sum() == pytest.approx(1)
    low, high = runs[0].within()
    assert (low <= high).all()


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("given", [{"k": 1}, {"k": 1 << 31}, {"epsilon": 0}, {"epsilon": 17}, {"k": 2.5}])
def test_bad_parameters(make: Any, given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        make(**{"k": 4, "epsilon": 1, **given})


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("values", [[4], [-1], [0.5], ["1"], 3, [[1]], [None], [True]])
def test_bad_values(make: Any, values: Any) -> None:
    with pytest.raises(BadData):
        make(k=4, epsilon=1).simulate(values)


@pytest.mark.parametrize(
    ("twin", "epsilon"),
    [
        (Unary(3, Fraction(1), Fraction(3, 4), Fraction(1, 4)), 1),  # ε for each bit, not for both
        (Unary(3, Fraction(1), Fraction(1, 2), Fraction(1, 4)), 1),  # 1/4 for 1/(e + 1)
    ],
)
def test_planted_bugs_are_seen(twin: Oracle, epsilon: int) -> None:
    assert worst_ratio(twin) > exp_up(Fraction(epsilon))


def test_every_subset_is_as_likely() -> None:
    oracle = subset_selection(k=5, epsilon="1/10")
    sets = list(combinations(range(5), oracle.size))
    assert len(oracle.law(0)) == len(sets)
    draws = [tuple(np.flatnonzero(np.unpackbits(line, bitorder="little"))) for line in oracle.simulate([0] * 20_000)]
    own = [d for d in draws if 0 in d]
    inside = [s for s in sets if 0 in s]
    assert misfit(own, {s: (Fraction(1, len(inside)),) * 2 for s in inside}) < 1
    assert pack(np.array([258]), 2).tolist() == [[2, 1]]
