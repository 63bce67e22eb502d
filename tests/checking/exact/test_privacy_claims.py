"""Claims of privacy: the price of noise whose input moved, exact laws of small functions, inputs that are compared."""

from typing import Any

import pytest

from discreet import stable
from discreet.checking.exact.outputs import Pair, pair_of
from discreet.checking.exact.privacy_claims import (
    at_one_step,
    check_pairs,
    check_rows,
    dearer,
    in_words,
    natural_pairs,
    of_bits,
    refuted,
)
from discreet.checking.exact.small_data import space_for
from discreet.errors import BadParameter, NoLaw
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.base.sensitivity import L2
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.randomness import Bits
from discreet.stable.core.domains import Rows
from discreet.stable.core.metrics import ADD_REMOVE


def flip(data: int, bits: Bits) -> int:
    """The truth with probability 3/4: ε = log 3 = 1.0986..."""
    return data if bits.below(4) else 1 - data


def test_every_pair_is_tried_until_one_refutes() -> None:
    laws = of_bits(flip, 20)
    fine = check_pairs(laws, [(0, 1), (1, 0), (0, 0)], Pure("1.0987"), subject="flip")
    assert fine.ok
    assert fine.tried == 3
    bad = check_pairs(laws, [(0, 0), (1, 0), (0, 1)], Pure(1), subject="flip")
    assert bad.tried == 2
    assert bad.counterexample is not None
    assert (bad.counterexample.first, bad.counterexample.second) == (1, 0)


@pytest.mark.parametrize(
    ("moved", "claim", "price"),
    [
        (events.DiscreteLaplace(2, 3), Pure("3/2"), None),
        (events.DiscreteLaplace(2, 3), Pure("1.49"), "epsilon 1.5"),
        (events.DiscreteLaplace(2, 3), events.DiscreteLaplace(2, 2), "epsilon 1.5"),
        (events.DiscreteGaussian(3, 2), ZCDP("2/9"), None),
        (events.DiscreteGaussian(3, 2), ZCDP("0.22"), "rho 2/9"),
        (events.DiscreteGaussian(3, 2), events.DiscreteGaussian(3, 1), "rho 2/9"),
        (events.DiscreteLaplace(2, 3), Approx("1.49", "1e-9"), None),  # a delta may cover it: the laws decide
    ],
)
def test_the_price_of_noise_whose_input_moved(moved: Any, claim: Any, price: str | None) -> None:
    found = dearer((moved,), claim)
    assert found is None if price is None else price in str(found)


def test_several_noises_add_up() -> None:
    one = events.DiscreteLaplace(2, 1)
    assert dearer((one, one), Pure(1)) is None
    assert "by 1 in L1 and by 1 in L1" in str(dearer((one, one), Pure("0.9")))
    assert dearer(None, Pure(0)) is None
    assert dearer((), Pure(0)) is None


def test_a_failure_on_one_of_two_inputs() -> None:
    def laws(first: Any, second: Any) -> Pair:
        if 7 in (first, second):
            raise ValueError
        return pair_of(laplace(sensitivity=1, epsilon=1), 0, 0)

    assert refuted(laws, 5, 6, Pure(1), 1) is None
    assert refuted(laws, 7, 7, Pure(1), 1) is None
    found = refuted(laws, 6, 7, Pure(1), 1)
    assert found is not None
    assert found.shown == "the first did not fail, the second raised ValueError"


def test_what_has_no_law_is_never_passed() -> None:
    def laws(first: Any, second: Any) -> Pair:
        raise NoLaw("none")

    with pytest.raises(NoLaw):
        refuted(laws, 0, 1, Pure(1), 1)


def test_rows_are_compared_at_their_distance() -> None:
    release = stable.count() >> laplace(epsilon=1)
    space = space_for(Rows(), ADD_REMOVE, values=[0])
    effort: dict[str, int] = {"rows": 2, "most_pairs": 50, "searches": 0}
    assert check_rows(release, space, release.event, **effort).ok
    assert check_rows(release, space, at_one_step(Pure(1)), **effort).ok
    bad = check_rows(release, space, at_one_step(Pure("0.9")), **effort)
    assert not bad.ok
    assert bad.claim == "rows added or removed, one step: epsilon 0.9"


def test_a_claim_about_neighbours_says_nothing_of_others() -> None:
    claim = at_one_step(Pure(1))
    assert claim(1) == Pure(1)
    assert claim(2) is None


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (Pure("1/2"), "epsilon 0.5"),
        (events.Laplace(2), "epsilon 0.5"),
        (events.Gaussian(1), "rho 0.5"),
        (events.Composed([events.Pure(1), events.Pure(1)]), "epsilon 2"),
    ],
)
def test_a_claim_as_text(claim: Any, words: str) -> None:
    assert in_words(claim) == words


def test_inputs_of_additive_noise() -> None:
    """As far apart as the event declares, half of it, and one: both ways and around another number."""
    distances = {abs(a - b) for a, b in natural_pairs(laplace(sensitivity=6, epsilon=1))}
    assert distances == {1, 3, 6}
    assert {abs(a - b) for a, b in natural_pairs(gaussian(sensitivity=2, rho=1))} == {1, 2}
    with pytest.raises(BadParameter, match="pairs"):
        natural_pairs(gaussian(sensitivity=L2(1), rho=1, dimension=3))
