"""Local hashing: given its function it is randomized response; pairs of values are independent."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import NoLaw
from discreet.local.hashing import PRIME, hashed, local_hashing
from discreet.local.response import response
from tests.helpers.laws import misfit


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
