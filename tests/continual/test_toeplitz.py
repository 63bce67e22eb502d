"""The square-root factor: exact integers, its constant, and windows of it."""

from fractions import Fraction

import pytest

from discreet.continual.binned import Binned
from discreet.continual.strategies import Appearances, Prefixes, Strategy, Values
from discreet.continual.toeplitz import UNIT, Toeplitz
from discreet.continual.tree import Tree
from tests.helpers.continual_matrices import estimates


def test_the_square_root_is_within_a_percent_of_its_constant_and_below_the_tree() -> None:
    steps = 4096
    c = [1.0]
    for k in range(1, steps):
        c.append(c[-1] * (1 - 1 / (2 * k)))
    constant = sum(x * x for x in c)

    def error(strategy: Strategy) -> float:
        largest = strategy.moves(Appearances()).l2_squared * strategy.largest_weight(steps)
        return float(float(largest) ** 0.5)

    assert constant * (1 - 1e-4) < error(Toeplitz(steps)) < 1.0001 * constant
    assert error(Binned(steps)) < 1.03 * constant
    assert error(Tree(steps)) > 2 * constant
    assert error(Values(steps)) == error(Prefixes(steps)) == 64


def test_windows_from_two_prefixes_by_linear_algebra() -> None:
    strategy = Toeplitz(60)
    b = estimates(strategy, 60, 60)
    for t, width in ((60, 7), (30, 30), (31, 30), (5, 1)):
        row = b[t - 1] - (b[t - width - 1] if width < t else 0)
        assert float(strategy.window_weight(t, width)) == pytest.approx((row**2).sum(), rel=1e-5)


@pytest.mark.parametrize("decay", [Fraction(1), Fraction(2, 3)])
def test_coefficients_are_the_square_root_to_the_nearest_integer(decay: Fraction) -> None:
    """Squared as a power series, c_k decay^k gives decay^k: checked in fractions; the integers are its rounding."""
    exact = [Fraction(1)]
    for k in range(1, 20):
        exact.append(exact[-1] * Fraction(2 * k - 1, 2 * k) * decay)
    for k in range(20):
        assert sum(exact[i] * exact[k - i] for i in range(k + 1)) == decay**k
    found = Toeplitz(20, decay).coefficients.tolist()
    assert all(abs(c - e * UNIT) <= Fraction(1, 2) + Fraction(1, 1 << 30) for c, e in zip(found, exact, strict=True))
    assert found == sorted(found, reverse=True), "the price is that of the first columns because coefficients fall"
