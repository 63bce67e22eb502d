"""Poisson sampling of a pair: the mixture by its definition, both directions, and losses of any size."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from discreet.exact import log_up
from discreet.privacy.pld.atoms import box, response
from discreet.privacy.pld.continuous import GaussianPair, LaplacePair
from discreet.privacy.pld.pair import Pair
from discreet.privacy.pld.subsampled import AddedPair, RemovedPair, _mixed_exactly, _Mixture
from tests.helpers import hockey as ref

F = Fraction


@pytest.fixture(autouse=True)
def _precise() -> None:
    ctx.prec = 200


def mixed(loss: float, rate: Fraction) -> arb:
    r = ref.ball(rate)
    return (1 - r + r * ref.ball(loss).exp()).log()


@pytest.mark.parametrize("rate", [F(1, 10**6), F(1, 100), F(1, 2), F(99, 100), 1 - F(1, 10**9)])
def test_mixing_a_loss_and_back(rate: Fraction) -> None:
    mix = _Mixture(Pair(), rate)
    losses = np.array([-50.0, -2.0, -0.5, -1e-9, 0.0, 1e-9, 0.5, 3.0, 29.0, 31.0, 500.0, 5000.0])
    found = mix.mixed(losses)
    for loss, value in zip(losses, found, strict=True):
        assert abs(float(mixed(float(loss), rate) - ref.ball(float(value)))) <= 2.0**-48 * (1 + abs(value))
    kept = losses >= 0  # below 0 a small rate leaves nothing of a loss to be read back
    assert np.allclose(mix.unmixed(found)[kept], losses[kept], rtol=1e-9, atol=1e-9)
    assert mix.unmixed(np.array([mix.floor - 0.1]))[0] == -math.inf


def test_two_losses_by_hand() -> None:
    """Response with ε = log 3 and rate 1/2: P' = (1/2, 1/2) mixed from (3/4, 1/4) and (1/4, 3/4), against Q."""
    third = F(math.log(3))
    pair = RemovedPair(response(third, 2), F(1, 2))
    assert pair.atoms.p.tolist() == pytest.approx([0.5, 0.5], abs=1e-14)
    assert pair.atoms.q.tolist() == pytest.approx([0.75, 0.25], abs=1e-14)
    assert pair.atoms.loss.tolist() == pytest.approx([math.log(2 / 3), math.log(2)], abs=1e-14)
    turned = pair.reverse.atoms
    assert turned.loss.tolist() == pytest.approx([-math.log(2), math.log(3 / 2)], abs=1e-14)
    assert turned.p.tolist() == pytest.approx([0.25, 0.75], abs=1e-14)


def test_what_only_one_law_has() -> None:
    pair = RemovedPair(box(F(1), F(1, 10)), F(1, 5))
    assert F(pair.infinite.low) < F(1, 50) < F(pair.infinite.high)  # a fifth of a tenth gives the input away
    assert float(pair.atoms.loss.min()) == pytest.approx(math.log(4 / 5))
    assert float(pair.atoms.p.sum()) + pair.infinite.high == pytest.approx(1.0, abs=1e-12)
    added = pair.reverse
    assert added.infinite.high == 0.0
    assert float(added.atoms.p.sum()) == pytest.approx(1.0, abs=1e-12)
    assert float(added.atoms.loss.max()) == pytest.approx(math.log(5 / 4))


@pytest.mark.parametrize("inner", [GaussianPair(1.25), LaplacePair(F(2), 2.0)], ids=repr)
@pytest.mark.parametrize("rate", [F(1, 100), F(3, 4)])
def test_the_two_directions_are_each_others_reverse(inner: Pair, rate: Fraction) -> None:
    removed = RemovedPair(inner, rate)
    added = removed.reverse
    assert isinstance(added, AddedPair)
    assert added.reverse == removed
    edges = np.linspace(*removed.reach(1e-9), 30)
    one, other = removed.cells(edges), added.cells(-edges[::-1])
    assert np.allclose(one.p, other.q[::-1], rtol=1e-12, atol=1e-300)
    assert np.allclose(one.q, other.p[::-1], rtol=1e-12, atol=1e-300)
    assert removed.above(0.1) == added.below(-0.1)[::-1]
    assert (-F(added.top[1]), -F(added.top[0])) == removed.bottom or added.top[1] == math.inf


@pytest.mark.parametrize("loss", [F(0), F(1, 3), F(-1, 3), F(100), F(-100), F(4096), F(-4096)])
def test_the_largest_loss_is_enclosed(loss: Fraction) -> None:
    low, high = _mixed_exactly(loss, F(1, 7))
    truth = mixed(float(loss), F(1, 7)) if loss.denominator == 1 else (1 + (ref.ball(loss).exp() - 1) / 7).log()
    assert isinstance(low, Fraction)
    assert isinstance(high, Fraction)
    assert not ref.ball(low) > truth
    assert not ref.ball(high) < truth
    assert high - low < F(1, 10**20)


@pytest.mark.parametrize("loss", [F(4097), F(10**9), F(10**100)])
def test_a_huge_loss_is_never_written_out(loss: Fraction) -> None:
    """e^l has more digits than there is memory; log(1 - r + r e^l) is l + log r, and a little more."""
    low, high = _mixed_exactly(loss, F(1, 7))
    assert F(low) <= loss - F(math.log(7)) + F(1, 10**12)
    assert F(high) >= loss - F(math.log(7)) - F(1, 10**12)
    assert F(high) - F(low) < F(1, 10**30)
    low, high = _mixed_exactly(-loss, F(1, 7))
    assert F(low) <= F(high)
    assert float(low) == float(high) == pytest.approx(math.log(6 / 7), abs=1e-15)
    assert _mixed_exactly(math.inf, F(1, 7)) == (math.inf, math.inf)


@pytest.mark.parametrize("make", [RemovedPair, AddedPair])
@pytest.mark.parametrize("inner", [GaussianPair(1.0), LaplacePair(F(2), 2.0), GaussianPair(30.0)])
def test_cells_together_are_those_one_by_one(make: type[RemovedPair | AddedPair], inner: Pair) -> None:
    """Also beyond the largest exponent that is written out."""
    pair = make(inner, F(1, 10))
    edges = np.array([-900.0, -3.0, -0.2, 0.0, 0.05, 0.4, 2.0, 550.0, 620.0, 700.0])
    together = pair.cells(edges)
    for i in range(len(edges) - 1):
        alone = pair.cells(edges[i : i + 2])
        for one, every in ((alone.p, together.p), (alone.q, together.q), (alone.s, together.s)):
            assert one[0] == pytest.approx(every[i], rel=1e-9, abs=1e-300)
        for one, every in ((alone.p_error, together.p_error), (alone.s_error, together.s_error)):
            assert one[0] == pytest.approx(every[i], rel=1e-6, abs=1e-300)


def test_the_upper_end_of_a_huge_loss_is_above_it() -> None:
    """log(1 - r + r e^l) is above l + log r, by next to nothing."""
    for rate in (F(1, 2), F(1, 1000)):
        low, high = _mixed_exactly(F(10**6), rate)
        assert low < F(10**6) + log_up(rate) < high
