"""Samplers that are kept: found again by the same parameter only, and let go in the order in which they came."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.errors import BadParameter
from discreet.exact import number
from discreet.noise import additive, cache
from discreet.noise.blocks import Blocks
from discreet.noise.laplace import LaplaceLaw

SOME_SIZES: list[Any] = [None, 5, 1000]
BOOLS: list[Any] = [True, np.bool_(True)]
ONE = Blocks(LaplaceLaw(Fraction(1)))


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(cache, "_samplers", {})
    yield
    assert len(cache._samplers) <= cache.KEPT


def test_found_by_the_law_and_the_parameter() -> None:
    cache.keep(("laplace", Fraction(1, 3)), ONE)
    assert cache.cached_sampler(("laplace", Fraction(1, 3))) is ONE
    assert cache.cached_sampler(("gaussian", Fraction(1, 3))) is None
    assert cache.cached_sampler(("laplace", Fraction(1, 4))) is None
    assert cache.cached_sampler(("laplace", "1/3")) is None  # text is a key of its own


@pytest.mark.parametrize("parameter", [True, np.float64(1), Decimal(1), np.int64(1), type("Sly", (int,), {})(1)])
def test_only_plain_numbers_are_keys(parameter: Any) -> None:
    cache.keep(("laplace", parameter), ONE)
    assert cache._samplers == {}
    cache.keep(("laplace", 1), ONE)
    assert cache.cached_sampler(("laplace", parameter)) is None


def test_the_oldest_is_let_go() -> None:
    for n in range(cache.KEPT + 3):
        cache.keep(("laplace", n), ONE)
    assert [key[1] for key in cache._samplers] == list(range(3, cache.KEPT + 3))


@pytest.mark.parametrize("tenth", [0.1, Fraction(0.1), Fraction(1, 10), "0.1"])
@pytest.mark.parametrize("first", [0.1, Fraction(0.1), Fraction(1, 10), "0.1"])
def test_a_kept_table_has_the_scale_that_was_asked_for(first: Any, tenth: Any) -> None:
    """In Python 0.1 equals Fraction(0.1) and is not 1/10: no key may lead to another law."""
    for written in (first, tenth):
        noise.discrete_laplace(written, additive.TABLE_FROM)
        found = cache.cached_sampler(("laplace", written))
        assert found is not None
        fresh = LaplaceLaw(number(written))
        assert found._law.thresholds(128) == fresh.thresholds(128)


def test_a_known_parameter_is_not_taken_for_a_bad_one() -> None:
    """A table for 1 is kept; True, which equals 1, must still be refused, and so must a size that is none."""
    table = Blocks(LaplaceLaw(Fraction(1)))
    cache.keep(("laplace", 1), table)
    for bad in BOOLS:
        for size in SOME_SIZES:
            with pytest.raises(BadParameter):
                noise.discrete_laplace(bad, size)
    with pytest.raises(BadParameter, match="size"):
        noise.discrete_laplace(1, -1)


def test_no_type_of_a_caller_can_pass_for_a_plain_number() -> None:
    class Sly(int):
        """Says that it is 5."""

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return hash(5)

    noise.discrete_laplace(Sly(10**9), size=1000)
    assert np.abs(noise.discrete_laplace(5, size=1000)).max() < 1000  # P(beyond) < 1000 exp(-199)
    assert all(type(key[1]) in {int, float, str, Fraction} for key in cache._samplers)


def test_the_table_is_kept_and_let_go() -> None:
    for i in range(cache.KEPT + 5):
        noise.discrete_laplace(Fraction(1, 7 + i), size=additive.TABLE_FROM)
    assert len(cache._samplers) == cache.KEPT
    assert cache.cached_sampler(("laplace", Fraction(1, 7))) is None
    assert cache.cached_sampler(("laplace", Fraction(1, 11 + cache.KEPT))) is not None
