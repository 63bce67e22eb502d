"""Budgets of a release: split exactly, and the noise that a part buys costs exactly that part."""

from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import BadParameter
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.additive.laplace import Laplace
from discreet.mechanisms.statistics.budget import Moves, noise_for, part, read_budget, read_neighbours
from discreet.mechanisms.statistics.counting import histogram
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.neighbours import Neighbours

F = Fraction


def test_one_count_with_gaussian_noise_is_priced_by_its_length() -> None:
    assert noise_for(ZCDP(1), Moves(3, 5), 1).moves_squared == 9  # type: ignore[union-attr]
    assert noise_for(ZCDP(1), Moves(3, 5), 2).moves_squared == 5  # type: ignore[union-attr]
    assert part(ZCDP(1), Fraction(1, 4)) == ZCDP("1/4")
    assert histogram(keys=["a"], rho=1, neighbours=Neighbours.CHANGE_ONE).release(["a"]).value.shape == (1,)


@pytest.mark.parametrize("budget", [Pure("1/3"), ZCDP("1/7")], ids=str)
@pytest.mark.parametrize("shares", [[F(1)], [F(1, 2), F(1, 2)], [F(1, 3), F(1, 7), F(11, 21)]])
def test_parts_add_up_to_the_whole(budget: Pure | ZCDP, shares: list[Fraction]) -> None:
    parts = [part(budget, share) for share in shares]
    if isinstance(budget, Pure):
        assert sum(p.epsilon for p in parts if isinstance(p, Pure)) == budget.epsilon
    else:
        assert sum(p.rho for p in parts if isinstance(p, ZCDP)) == budget.rho


@pytest.mark.parametrize("dimension", [1, 5])
@pytest.mark.parametrize("moves", [Moves(1, 1), Moves(2, 2), Moves(3, 9), Moves(10**9, 10**18)], ids=str)
def test_noise_costs_what_was_paid(moves: Moves, dimension: int) -> None:
    laplace = noise_for(Pure("1/3"), moves, dimension)
    assert isinstance(laplace, Laplace)
    assert price_basic(laplace.event).epsilon == F(1, 3)
    if dimension > 1 or moves.l2_squared == moves.l1**2:
        gaussian = noise_for(ZCDP("1/7"), moves, dimension)
        assert isinstance(gaussian, Gaussian)
        assert price_zcdp(gaussian.event).rho == F(1, 7)


@pytest.mark.parametrize(("epsilon", "rho"), [(None, None), (1, 1), (0, None), (None, 0), (-1, None), ("x", None)])
def test_one_way_of_paying(epsilon: Any, rho: Any) -> None:
    with pytest.raises(BadParameter, match=r"epsilon|rho"):
        read_budget(epsilon, rho)


@pytest.mark.parametrize("given", ["add", 1, None, "ADD_REMOVE"])
def test_the_relation_is_named(given: Any) -> None:
    assert read_neighbours(Neighbours.CHANGE_ONE) is Neighbours.CHANGE_ONE
    with pytest.raises(BadParameter, match="neighbours"):
        read_neighbours(given)
