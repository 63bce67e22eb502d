"""Budgets as Gaussian differential privacy."""

from fractions import Fraction

import pytest

from discreet.errors import BadParameter
from discreet.learning.budget import event_of, mu_squared, split
from discreet.privacy.accountants.compose import compose
from discreet.privacy.budgets.calibrate import covers
from discreet.privacy.promises.events import Gaussian
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours


@pytest.mark.slow
@pytest.mark.parametrize("budget", [Approx(1, "1e-5"), Approx("0.1", "1e-6"), Approx(10, "1e-9")])
def test_the_event_keeps_the_budget_and_hardly_less(budget: Approx) -> None:
    assert covers(event_of(budget), budget)
    spent = compose([event_of(budget)]).epsilon(budget.delta)
    assert float(budget.epsilon) * 0.999 < spent.upper <= float(budget.epsilon)


def test_a_budget_in_rho_or_mu_is_exact() -> None:
    assert mu_squared(ZCDP("1/2")) == 1
    assert event_of(GDP(mu_squared=3)) == Gaussian(sigma_squared=Fraction(1, 3)).about(Neighbours.ADD_REMOVE)


def test_parts_add_up() -> None:
    assert sum(split(Fraction(5, 7), 1, 2, 4)) == Fraction(5, 7)


@pytest.mark.parametrize("bad", [Pure(1), Approx(0, "1e-5"), Approx(1, 0), ZCDP(0), ZCDP(1, "1e-6"), None, 1.0])
def test_what_gaussian_noise_cannot_keep_is_refused(bad: object) -> None:
    with pytest.raises(BadParameter, match="budget"):
        mu_squared(bad)  # type: ignore[arg-type]
