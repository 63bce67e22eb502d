"""Two kinds of sums of losses answer the same questions: where both bound one curve, the bounds meet."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.privacy.pld.atoms import AtomicPair, box, discrete_laplace, response
from discreet.privacy.pld.curve import Curve
from discreet.privacy.pld.law import Grid, raised
from discreet.privacy.pld.listed_atoms import ListedTotal
from discreet.privacy.pld.lower import lowered
from discreet.privacy.pld.total import total

F = Fraction


def curves(pair: AtomicPair, step: float) -> tuple[Curve, Curve, Curve]:
    """The list, and the sums of one lowered and of one raised law on a grid."""
    grid = Grid.cover(step, pair.anchor, *pair.reach(0.0))
    return ListedTotal(pair), total([(lowered(pair, grid), 1)], 0.5), total([(raised(pair, grid), 1)], 0.5)


@pytest.mark.parametrize("pair", [response(F(1), 2), response(F(1), 4), box(F(1), F(1, 50)), discrete_laplace(F(2), 3)])
def test_a_list_and_a_grid_bound_the_same_curve(pair: AtomicPair) -> None:
    exact, below, above = curves(pair, 0.25)
    for epsilon in np.linspace(-0.5, 2.0, 26).tolist():
        assert below.delta_below(epsilon) <= exact.delta_above(epsilon)
        assert exact.delta_below(epsilon) <= above.delta_above(epsilon)
    assert exact.infinite_below <= above.infinite_above
    assert below.infinite_below <= exact.infinite_above


def test_every_curve_falls_and_stays_between_0_and_1() -> None:
    for curve in curves(response(F(1), 3), 0.1):
        at = np.linspace(0.0, curve.ends[1] + 1.0, 40).tolist()
        high, low = [curve.delta_above(e) for e in at], [curve.delta_below(e) for e in at]
        assert all(0.0 <= b <= a + 1e-9 and a <= 1.0 for a, b in zip(high, low, strict=True))
        assert all(a >= b - 1e-12 for a, b in itertools.pairwise(high))
        losses, delta = curve.curve_below()
        assert len(losses) == len(delta)
        assert all(d <= curve.delta_above(e) + 1e-12 for e, d in zip(losses.tolist(), delta.tolist(), strict=True))
