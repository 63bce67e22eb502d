"""Which pair stands for an event, which events are refused, and what one unit can meet in parallel parts."""

from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import NoPrice
from discreet.privacy.pld.atoms import AtomicPair
from discreet.privacy.pld.continuous import (
    BoundedRangePair,
    GaussianPair,
    LaplacePair,
    WideDiscreteGaussianPair,
    WideDiscreteLaplacePair,
)
from discreet.privacy.pld.dominate import alternatives, lost_mass, pair_of
from discreet.privacy.pld.subsampled import RemovedPair
from discreet.privacy.promises import events
from discreet.privacy.promises.events import MaxNoise, Sampling
from discreet.privacy.promises.neighbours import Neighbours

F = Fraction
LAPLACE, GAUSSIAN, PURE = events.Laplace(2), events.Gaussian(3), events.Pure(1)


@pytest.mark.parametrize(
    ("event", "kind", "largest"),
    [
        (events.Laplace(2, 3), LaplacePair, F(3, 2)),
        (events.DiscreteLaplace(2, 3), AtomicPair, F(3, 2)),
        (events.DiscreteLaplace(10**6, 5000), WideDiscreteLaplacePair, F(1, 200)),
        (events.RandomizedResponse("1/2", 7), AtomicPair, F(1, 2)),
        (events.Exponential(1), BoundedRangePair, F(1)),
        (events.NoisyMax(1, MaxNoise.GUMBEL), BoundedRangePair, F(1)),
        (events.NoisyMax(1, MaxNoise.LAPLACE), AtomicPair, F(1)),
        (events.PermuteAndFlip(1), AtomicPair, F(1)),
        (events.AboveThreshold(1), AtomicPair, F(1)),
        (events.Approx(1, "0.1"), AtomicPair, F(1)),
        (events.Threshold(1, "0.1"), AtomicPair, F(1)),
    ],
)  # fmt: skip
def test_the_pair_of_an_event_and_its_largest_loss(event: Any, kind: type, largest: Fraction) -> None:
    pair = pair_of(event)
    assert type(pair) is kind
    assert pair.top == (largest, largest)


def test_gaussian_noise() -> None:
    assert pair_of(events.Gaussian(4, 2)) == GaussianPair(0.5)
    assert type(pair_of(events.DiscreteGaussian(3))) is AtomicPair
    assert pair_of(events.DiscreteGaussian(3000, 30)) == WideDiscreteGaussianPair(3000.0, 30.0)


def test_samples_of_samples() -> None:
    twice = events.Subsampled(events.Subsampled(LAPLACE, "1/2"), "1/3")
    pair = pair_of(twice)
    assert isinstance(pair, RemovedPair)
    assert pair.rate == F(1, 6)
    assert type(pair_of(events.Subsampled(LAPLACE, 1))) is LaplacePair


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (events.ZCDP(1), "no single dominating pair"),
        (events.Subsampled(LAPLACE, "1/2", Sampling.WITHOUT_REPLACEMENT), "without replacement"),
        (events.Subsampled(LAPLACE, "1/2", Sampling.POISSON, Neighbours.CHANGE_ONE), "not for changing"),
        (events.Subsampled(events.Repeat(LAPLACE, 2), "1/2"), "one secret sample"),
        (events.Subsampled(events.Composed([LAPLACE, PURE]), "1/2"), "one secret sample"),
        (events.DiscreteGaussian(1, dimension=2, sensitivity_squared=2), "several coordinates"),
        (events.DiscreteGaussian(1, 5000), "too narrow"),
    ],
)
def test_events_without_a_proven_pair_are_refused(event: Any, why: str) -> None:
    with pytest.raises(NoPrice, match=why):
        pair_of(event)


def test_what_is_given_away_for_certain() -> None:
    approx = events.Approx(1, "0.1")
    assert lost_mass(approx) == lost_mass(events.Threshold(1, "0.1")) == F(1, 10)
    assert lost_mass(events.Subsampled(approx, "1/4")) == F(1, 40)
    assert lost_mass(LAPLACE) == 0


def test_everything_that_one_unit_meets_in_sequence() -> None:
    given = [(events.Composed([LAPLACE, events.Repeat(LAPLACE, 3), PURE]), 2), (PURE, 1)]
    assert alternatives(given) == [{LAPLACE: 8, PURE: 3}]
    assert alternatives([]) == [{}]


def test_one_part_of_several_in_parallel() -> None:
    assert alternatives([(events.Parallel([LAPLACE, GAUSSIAN]), 1)]) == [{LAPLACE: 1}, {GAUSSIAN: 1}]
    twice = alternatives([(events.Parallel([LAPLACE, GAUSSIAN]), 2)])
    assert len(twice) == 3
    assert {LAPLACE: 1, GAUSSIAN: 1} in twice


def test_a_part_with_more_noise_of_the_same_kind_is_left_out() -> None:
    parts = [events.Laplace(5), events.Laplace(2), events.Laplace(3), events.Repeat(events.Gaussian(4), 2), GAUSSIAN]
    assert alternatives([(events.Parallel(parts), 1)]) == [{LAPLACE: 1}, {events.Gaussian(4): 2}]


def test_too_many_ways_are_refused() -> None:
    parts = [events.Approx(k, "1e-9") for k in range(1, 5)]
    with pytest.raises(NoPrice, match="too many ways"):
        alternatives([(events.Parallel(parts), 10)])
