"""What events cost together: known truths, both sides beside dp_accounting, order, edges and refusals."""

import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadParameter, NoPrice
from discreet.privacy.accountants.compose import compose
from discreet.privacy.accountants.optimal import Optimal
from discreet.privacy.pld.certify import Effort
from discreet.privacy.promises import events
from discreet.privacy.promises.bound import Bound
from discreet.privacy.promises.events import Event, MaxNoise, Sampling
from discreet.privacy.promises.neighbours import Neighbours
from tests.helpers import hockey as ref

F = Fraction
SGD_A = events.Repeat(events.Subsampled(events.Gaussian("0.8"), "0.01"), 10_000)
SGD_B = events.Repeat(events.Subsampled(events.Gaussian("1.1"), F(256, 60000)), 14_062)


def mixed(count: int) -> list[Event]:
    made: list[Event] = []
    for i in range(count):
        match i % 3:
            case 0:
                made.append(events.Laplace(20 + F(i, 7)))
            case 1:
                made.append(events.Gaussian(30 + F(i, 5)))
            case _:
                made.append(events.RandomizedResponse(F(1, 20) + F(i, 5003)))
    return made


# --- known truths -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "delta", "truth", "width"),
    [
        ([events.Gaussian(1)], "1e-6", 4.886554117, 1e-6),
        ([events.Repeat(events.Gaussian(1), 100)], "1e-6", 96.717272, 1e-5),
        ([events.Repeat(events.Gaussian(1), 10_000)], "1e-6", 5474.3655, 5e-3),
        ([events.RandomizedResponse("0.1")] * 100, "1e-6", 4.774567588, 1e-6),
        ([events.Pure("0.1")] * 100, "1e-6", 4.774567588, 1e-6),
        ([events.Laplace(1)] * 1000, "1e-6", 486.2975, 486e-4),
        ([events.Laplace(10)] * 1000, "1e-6", 18.95029, 19e-4),
        ([SGD_A], "1e-5", 10.0536, 1e-3),
        ([SGD_B], "1e-5", 2.38160, 1e-3),
        ([events.DiscreteGaussian(1)] * 100, "1e-6", 96.7523, 1e-6),
        ([events.DiscreteLaplace(1)] * 1000, "1e-6", 591.0797, 1e-6),
        ([events.DiscreteLaplace(10)] * 1000, "1e-6", 19.34467, 1e-6),
    ],
)
def test_known_costs(given_: list[Event], delta: str, truth: float, width: float) -> None:
    bound = compose(given_).epsilon(delta)
    digits = 10.0 ** -(len(str(truth).split(".")[1]))
    assert bound.lower - digits <= truth <= bound.upper + digits
    assert bound.width <= width


@pytest.mark.slow
def test_two_hundred_different_events() -> None:
    assert compose(mixed(200)).epsilon("1e-6").width <= 1e-3


@pytest.mark.parametrize(
    ("epsilon", "delta", "times"), [(5, 0, 20), (10, 0, 5), ("0.1", 0, 100), (1, "1e-8", 30), (800, 0, 3)]
)
@pytest.mark.parametrize("at", ["1e-6", "1e-30", "0.3"])
def test_black_boxes_against_the_exact_sum(epsilon: int | str, delta: int | str, times: int, at: str) -> None:
    event = events.Approx(epsilon, delta)
    if F(at) <= 1 - (1 - event.delta) ** times:
        assert compose([event] * times).epsilon(at) == Bound(math.inf, math.inf)
        return
    bound, truth = compose([event] * times).epsilon(at), Optimal(epsilon, delta, times).epsilon_at(at)
    assert bound.lower <= truth.upper
    assert truth.lower <= bound.upper
    assert bound.width <= 1e-6


ONE_STEP: list[tuple[Event, list[ref.Curve]]] = [
    (events.Laplace(3), [ref.laplace(F(1, 3))]),
    (events.Exponential("0.7"), [ref.bounded_range(F(7, 10))]),
    (events.NoisyMax("0.7", MaxNoise.GUMBEL), [ref.bounded_range(F(7, 10))]),
    (events.NoisyMax("0.7"), [ref.response(F(7, 10))]),
    (events.PermuteAndFlip("0.7"), [ref.response(F(7, 10))]),
    (events.AboveThreshold("0.7"), [ref.response(F(7, 10))]),
    (events.RandomizedResponse("0.7", 4), [ref.response(F(7, 10), 4)]),
    (events.Threshold("0.7", "0.001"), [ref.response(F(7, 10), 2, F(1, 1000))]),
    (
        events.Subsampled(events.Gaussian("1/2"), "1/5"),
        [ref.removed(ref.gaussian(2.0), F(1, 5)), ref.added(ref.gaussian(2.0), F(1, 5))],
    ),
    (
        events.Subsampled(events.Subsampled(events.Laplace(1), "1/2"), "2/5"),
        [ref.removed(ref.laplace(F(1)), F(1, 5)), ref.added(ref.laplace(F(1)), F(1, 5))],
    ),
    (events.Subsampled(events.Laplace(1), 1), [ref.laplace(F(1))]),
]


@pytest.mark.parametrize(("event", "curves"), ONE_STEP, ids=lambda x: repr(x)[:40] if isinstance(x, Event) else "")
def test_one_event_against_its_closed_form(event: Event, curves: list[ref.Curve]) -> None:
    ctx.prec = 160
    cost = compose([event])
    for e in (F(0), F(1, 10), F(1, 3), F(69, 100), F(7, 5)):
        bound = cost.delta(e)
        truth = [curve(ref.ball(e).exp()) for curve in curves]
        assert all(not ref.ball(bound.upper) < t for t in truth)
        assert any(not ref.ball(bound.lower) > t for t in truth)
        assert bound.width <= 2e-3 * bound.upper + 1e-12


# --- beside dp_accounting -----------------------------------------------------------------------------------------


def _theirs(build: Callable[[Any, bool], Any], delta: float) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from dp_accounting.pld import privacy_loss_distribution as pld

        return build(pld, False).get_epsilon_for_delta(delta), build(pld, True).get_epsilon_for_delta(delta)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ours", "build"),
    [
        (
            [events.Laplace(2)] * 20,
            lambda pld, up: pld.from_laplace_mechanism(
                2.0, pessimistic_estimate=up, value_discretization_interval=1e-3
            ).self_compose(20),
        ),
        (
            [events.Repeat(events.Subsampled(events.Gaussian(1), "1/10"), 50)],
            lambda pld, up: pld.from_gaussian_mechanism(
                1.0, pessimistic_estimate=up, value_discretization_interval=1e-3, sampling_prob=0.1
            ).self_compose(50),
        ),
        (
            [events.Repeat(events.Subsampled(events.Laplace(1), "1/10"), 50)],
            lambda pld, up: pld.from_laplace_mechanism(
                1.0, pessimistic_estimate=up, value_discretization_interval=1e-3, sampling_prob=0.1
            ).self_compose(50),
        ),
        (
            [*[events.Laplace(3)] * 10, events.Gaussian(2), *[events.RandomizedResponse(F(1, 5), 3)] * 7],
            lambda pld, up: (
                pld.from_laplace_mechanism(3.0, pessimistic_estimate=up, value_discretization_interval=1e-3)
                .self_compose(10)
                .compose(pld.from_gaussian_mechanism(2.0, pessimistic_estimate=up, value_discretization_interval=1e-3))
                .compose(
                    pld.from_randomized_response(
                        3 / (math.exp(0.2) + 2), 3, pessimistic_estimate=up, value_discretization_interval=1e-3
                    ).self_compose(7)
                )
            ),
        ),
        (
            [events.DiscreteGaussian(2, 3)] * 5,
            lambda pld, up: pld.from_discrete_gaussian_mechanism(
                2.0, 3, pessimistic_estimate=up, value_discretization_interval=1e-3
            ).self_compose(5),
        ),
    ],
)
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_the_sides_cross_those_of_dp_accounting(
    ours: list[Event], build: Callable[[Any, bool], Any], delta: float
) -> None:
    """Their pessimistic side is above our lower one, their optimistic side below our upper one."""
    bound = compose(ours).epsilon(delta)
    low, high = _theirs(build, delta)
    assert bound.lower <= high + 1e-8
    assert low <= bound.upper + 1e-8  # their sides do not count rounding
    assert bound.width <= 5e-4


# --- order --------------------------------------------------------------------------------------------------------

simple = st.one_of(
    st.fractions(F(1, 2), 20, max_denominator=20).map(events.Laplace),
    st.fractions(F(1, 2), 20, max_denominator=20).map(events.Gaussian),
    st.fractions(F(1, 50), 2, max_denominator=50).map(events.Pure),
    st.fractions(F(1, 50), 2, max_denominator=50).map(events.Exponential),
    st.fractions(F(1, 50), 2, max_denominator=50).map(events.Pure),
    st.fractions(F(1, 2), 8, max_denominator=8).map(lambda s: events.Subsampled(events.Gaussian(s), "1/10")),
)
QUICK = Effort(absolute=1e-2, relative=1e-2, delta=1e-1)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(simple, min_size=1, max_size=5), simple)
def test_more_events_never_cost_less(some: list[Event], one: Event) -> None:
    less, more = compose(some, QUICK), compose([*some, one], QUICK)
    assert less.epsilon("1e-6").lower <= more.epsilon("1e-6").upper
    assert less.delta("1/2").lower <= more.delta("1/2").upper


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.lists(simple, min_size=1, max_size=4), st.lists(simple, min_size=1, max_size=4))
def test_the_order_of_events_does_not_matter_and_repeats_are_repeats(a: list[Event], b: list[Event]) -> None:
    one, two = compose([*a, *b], QUICK), compose([events.Composed(b), *a], QUICK)
    x, y = one.epsilon("1e-5"), two.epsilon("1e-5")
    assert x.lower <= y.upper
    assert y.lower <= x.upper
    assert compose([events.Repeat(a[0], 3)], QUICK).epsilon("1e-5") == compose([a[0]] * 3, QUICK).epsilon("1e-5")


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(simple, st.integers(1, 40)), min_size=1, max_size=4), st.sampled_from(["1e-2", "1e-6", "1e-15"])
)
def test_answers_of_different_effort_overlap(work: list[tuple[Event, int]], delta: str) -> None:
    """A coarse mesh and a fine one enclose the same truth: each lower side is below each upper side."""
    made = [events.Repeat(event, times) for event, times in work]
    efforts = [Effort(1.0, 1.0, 1.0), Effort(0.05, 0.05, 0.3), Effort(3e-3, 3e-3, 3e-2)]
    asked = [compose(made, effort) for effort in efforts]
    for found in ([cost.epsilon(delta) for cost in asked], [cost.delta("0.3") for cost in asked]):
        assert max(b.lower for b in found) <= min(b.upper for b in found)


@pytest.mark.parametrize(
    "make", [events.Laplace, events.Gaussian, lambda s: events.Subsampled(events.Gaussian(s), "1/10")]
)
def test_more_noise_never_costs_more(make: Callable[[Fraction], Event]) -> None:
    found = [compose([make(F(s, 2))] * 10 + [events.Pure("1/3")]).epsilon("1e-6") for s in range(2, 8)]
    assert all(noisier.lower <= quieter.upper for quieter, noisier in itertools.pairwise(found))
    assert all(noisier.upper < quieter.lower for quieter, noisier in itertools.pairwise(found))


@pytest.mark.slow
def test_epsilon_and_delta_are_inverse_to_each_other() -> None:
    for work in ([SGD_B], [events.Laplace(2)] * 30, mixed(30)):
        cost = compose(work)
        for delta in ("1e-2", "1e-9"):
            bound = cost.epsilon(delta)
            assert cost.delta(bound.upper).lower <= F(delta)
            assert cost.delta(bound.lower).upper >= F(delta)


@pytest.mark.slow
def test_smaller_deltas_cost_more() -> None:
    cost = compose(mixed(12))
    found = [cost.epsilon(F(1, 10**k)) for k in (1, 3, 6, 12, 30, 100)]
    assert all(a.lower <= b.upper for a, b in itertools.pairwise(found))
    assert all(b.width < 1e-3 for b in found)


# --- edges --------------------------------------------------------------------------------------------------------


def test_nothing_costs_nothing() -> None:
    for none in ([], [events.Composed([])], [events.Parallel([])], [events.Pure(0)] * 3):
        cost = compose(none)
        assert cost.epsilon("1e-6").upper <= 1e-9
        assert cost.delta(0).upper <= 1e-9
        assert 0.5 in cost.tradeoff("1/2")


def test_delta_zero_is_the_sum_of_the_largest_losses() -> None:
    cost = compose([events.Laplace(3), events.Pure("1/3"), events.RandomizedResponse("1/3", 5)])
    assert cost.epsilon(0) == Bound(1.0, 1.0)
    assert cost.delta(1) == Bound(0.0, 0.0)
    assert compose([events.Gaussian(1)]).epsilon(0) == Bound(math.inf, math.inf)
    assert compose([events.Gaussian(1), events.Pure(1)]).epsilon(0).lower == math.inf
    assert compose([events.DiscreteGaussian(1)]).epsilon(0).lower == math.inf
    sampled = compose([events.Subsampled(events.Pure(1), "1/2")]).epsilon(0)
    assert sampled.lower <= math.log(0.5 + 0.5 * math.e) <= sampled.upper
    assert sampled.width < 1e-12


def test_mass_at_infinity_is_exact_at_its_edge() -> None:
    one = compose([events.Approx(1, "1e-6")])
    assert one.epsilon("1e-6") == Bound(1.0, 1.0)
    assert one.epsilon("0.9e-6").lower == math.inf
    assert one.epsilon("1.1e-6").upper < 1
    assert one.delta(1) == Bound.outwards(F(1, 10**6), F(1, 10**6))
    many = compose([events.Repeat(events.Approx("1e-4", "1e-10"), 100_000)])
    assert many.delta(50).lower <= 1e-5 <= many.delta(50).upper * 1.001
    assert many.epsilon("1e-6").lower == math.inf


@pytest.mark.parametrize("epsilon", [700, 746, 5000])
def test_huge_losses(epsilon: int) -> None:
    bound = compose([events.Pure(epsilon), events.Laplace(F(1, epsilon)), events.Gaussian("1/40")]).epsilon("1e-6")
    assert 2 * epsilon + 800 < bound.lower <= bound.upper < 2 * epsilon + 1000
    assert bound.width < 1e-4 * bound.upper


def test_many_gaussians_beside_something_small() -> None:
    """5474.3655 for the Gaussians alone; a thousandth of pure loss beside it can add at most that."""
    bound = compose([events.Repeat(events.Gaussian(1), 10_000), events.Pure("0.001")]).epsilon("1e-6")
    assert bound.upper > 5474.36
    assert bound.lower < 5474.3655 + 0.001 + 1e-6


def test_tiny_and_large_deltas_stay_sound() -> None:
    cost = compose([events.Laplace(1)] * 50)
    assert cost.epsilon("1e-300").upper <= 50.0
    assert cost.epsilon(F(1, 10**1000)).upper <= 50.0
    assert cost.epsilon("0.999999").upper <= 0.1
    assert cost.delta(49).upper < 1e-9


def test_wide_discrete_noise_is_close_to_its_limit() -> None:
    """On a fine grid discrete noise has the cost of the continuous one."""
    scale = 2**40
    pairs: list[tuple[Event, Event]] = [
        (events.DiscreteLaplace(10 * scale, scale), events.Laplace(10)),
        (events.DiscreteGaussian(5 * scale, scale), events.Gaussian(5)),
    ]
    for wide, limit in pairs:
        a, b = compose([wide] * 100).epsilon("1e-6"), compose([limit] * 100).epsilon("1e-6")
        assert abs(float(a.upper) - float(b.upper)) < 1e-3
        assert a.width < 1e-3


@dataclass(frozen=True, slots=True, repr=False)
class Unheard(Event):
    """An event of some other package."""


# --- events made of events ----------------------------------------------------------------------------------------


def test_parallel_parts_cost_the_worst_of_them() -> None:
    parts = events.Parallel([events.Laplace(1), events.Laplace(3), events.Gaussian(2)])
    both = [compose([e]).epsilon("1e-3") for e in (events.Laplace(1), events.Gaussian(2))]
    bound = compose([parts]).epsilon("1e-3")
    assert bound == Bound(max(b.lower for b in both), max(b.upper for b in both))
    twice = compose([events.Repeat(parts, 2)]).epsilon("1e-3")
    by_hand = [
        compose(pick).epsilon("1e-3")
        for pick in ([events.Laplace(1)] * 2, [events.Laplace(1), events.Gaussian(2)], [events.Gaussian(2)] * 2)
    ]
    assert twice.upper == max(b.upper for b in by_hand)


def test_parallel_parts_that_differ_in_too_many_ways_are_refused() -> None:
    parts = events.Parallel([events.Laplace(1), events.Gaussian(2), events.Approx("0.1", "1e-9")])
    with pytest.raises(NoPrice, match="too many ways"):
        compose([events.Repeat(parts, 100)])


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (events.ZCDP("0.1"), "zCDP"),
        (events.DiscreteGaussian(3, sensitivity_squared=2, dimension=2), "several coordinates"),
        (events.Subsampled(events.Gaussian(1), "0.1", Sampling.WITHOUT_REPLACEMENT), "without replacement"),
        (events.Subsampled(events.Gaussian(1), "0.1", neighbours=Neighbours.CHANGE_ONE), "changing"),
        (events.Subsampled(events.Composed([events.Gaussian(1), events.Laplace(1)]), "0.1"), "one secret sample"),
        (events.Subsampled(events.ZCDP("0.1"), "0.1"), "zCDP"),
        (Unheard(), "no dominating pair"),
    ],
)
def test_what_has_no_pair_is_refused(event: Event, why: str) -> None:
    with pytest.raises(NoPrice, match=why):
        compose([event])


@pytest.mark.parametrize("delta", [-1, 1, 2, "nan", "x", float("nan"), float("inf"), None])
def test_bad_deltas(delta: Any) -> None:
    with pytest.raises(BadParameter):
        compose([events.Laplace(1)]).epsilon(delta)


@pytest.mark.parametrize("epsilon", [-1, "-0.1", float("inf"), float("nan"), None])
def test_bad_epsilons(epsilon: Any) -> None:
    with pytest.raises(BadParameter):
        compose([events.Laplace(1)]).delta(epsilon)


@pytest.mark.parametrize("alpha", [-1, "1.1", float("nan")])
def test_bad_alphas(alpha: Any) -> None:
    with pytest.raises(BadParameter):
        compose([events.Laplace(1)]).tradeoff(alpha)


@pytest.mark.parametrize("given_", [5, "events", [5], None, [events.Laplace(1), "x"]])
def test_bad_events(given_: Any) -> None:
    with pytest.raises(BadParameter):
        compose(given_)


def test_extreme_parameters_are_refused_or_sound() -> None:
    with pytest.raises(BadParameter):
        compose([events.Laplace(F(1, 2**600))])
    assert compose([events.Laplace(2**100), events.Laplace(1)]).epsilon("1e-3").upper < 1.0
    assert compose([events.Laplace(2**400)]).epsilon("1e-3").upper <= 1e-9


# --- what is left to an attacker ----------------------------------------------------------------------------------


def test_the_tradeoff_of_known_pairs() -> None:
    ctx.prec = 100
    for alpha in (F(1, 100), F(1, 10), F(1, 2), F(9, 10)):
        a = ref.ball(alpha)
        e = arb(1).exp()
        boxed = (1 - e * a).max((1 - a) / e).max(arb(0))
        found = compose([events.Pure(1)]).tradeoff(alpha)
        assert not ref.ball(found.lower) > boxed
        assert not ref.ball(found.upper) < boxed
        assert found.width < 1e-6
        # Laplace noise: f(α) = 1 - e^μ α below e^{-μ}/2, e^{-μ}/(4α) up to 1/2, e^{-μ}(1 - α) beyond
        lines = [1 - e * a, 1 / (4 * e * a), (1 - a) / e]
        exact = lines[0 if alpha < 1 / (2 * math.e) else 1 if alpha <= F(1, 2) else 2]
        found = compose([events.Laplace(1)]).tradeoff(alpha)
        assert not ref.ball(found.lower) > exact
        assert not ref.ball(found.upper) < exact
        assert found.width < 2e-4


def test_the_tradeoff_of_gaussians_is_that_of_one_gaussian() -> None:
    alone = compose([events.Gaussian(2)] * 4).tradeoff("0.05")
    beside = compose([*[events.Gaussian(2)] * 4, events.Pure("1e-12")]).tradeoff("0.05")
    assert alone.width < 1e-9
    assert beside.lower <= alone.upper
    assert alone.lower - 1e-6 <= beside.upper
    assert beside.width < 1e-3


@pytest.mark.slow
def test_the_tradeoff_is_a_tradeoff() -> None:
    cost = compose([SGD_B])
    band = cost.tradeoff_band([0, "1e-6", "1e-3", "0.1", "1/2", "0.9", 1])
    assert band[0][1].upper == 1.0
    assert band[-1][1] == Bound(0.0, 0.0)
    assert all(b.width <= 1e-3 for _, b in band)
    assert all(x.upper >= y.lower for (_, x), (_, y) in itertools.pairwise(band))
    rate = cost.true_positive_rate("0.001")
    left = cost.tradeoff("0.001")
    assert rate.lower <= 1 - left.upper <= rate.upper
    assert 0.001 < rate.lower <= rate.upper < 0.3


def test_the_profile_is_data_for_a_plot() -> None:
    cost = compose([events.Laplace(1)] * 4)
    points = cost.profile(["1e-1", "1e-3"])
    assert [d for _, d in points] == [0.1, 0.001]
    assert points[0][0].upper < points[1][0].lower
    assert len(compose([events.Pure(1)]).profile()) == 12
    assert len(compose([events.Pure(1)]).tradeoff_band()) == 21


def test_answers_are_remembered() -> None:
    cost = compose([events.Laplace(1)] * 4)
    assert cost.epsilon("1e-3") is cost.epsilon(F(1, 1000))


def test_masses_on_one_spot_of_the_lattice_add_up() -> None:
    """A sampled box with a large ε: the void atom and the lowest loss nearly coincide."""
    assert Fraction(7, 8) in exactly(compose([events.Subsampled(events.Approx(50, "0.001"), "0.5")] * 3).delta(1))
    assert Fraction("0.0199") in exactly(compose([events.Subsampled(events.Approx(30, "0.001"), "0.01")] * 2).delta(0))


def exactly(bound: Bound) -> Bound:
    """The bound, widened by what e^-30 may move."""
    return Bound(Fraction(bound.lower) - Fraction(1, 10**9), Fraction(bound.upper) + Fraction(1, 10**9))


def test_at_the_edge_of_what_is_lost_each_side_is_true() -> None:
    sampled = compose(events.Subsampled(events.Approx("0.1", "0.01"), "0.9"))
    just_above = sampled.epsilon("0.0090001")
    assert sampled.epsilon("0.009").lower <= just_above.upper + 1e-5
    assert compose([events.Approx(1, "1e-330")] * 100).epsilon(0).lower == math.inf
    assert compose([events.RandomizedResponse("0.5", 5)] * 600).epsilon("1e-330").upper >= 300 - 1e-8


@pytest.mark.parametrize(
    "event",
    [
        events.RandomizedResponse(1, 10**400),
        events.Subsampled(events.Gaussian(1), Fraction(1, 2**1100)),
        events.Subsampled(events.Gaussian(sigma="0.06"), 1 - Fraction(3, 10**9)),
        events.Subsampled(events.Exponential(528), "0.9985"),
    ],
    ids=range(4),
)
def test_numbers_beyond_the_floats_are_answered_or_refused(event: Event) -> None:
    try:
        bound = compose(event).delta(1)
    except NoPrice:
        return
    assert 0 <= bound.lower <= bound.upper <= 1


def test_a_bad_effort_is_refused() -> None:
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(BadParameter):
            Effort(absolute=bad)


@pytest.mark.parametrize(
    ("sigma", "rate", "times", "near"),
    [("0.2", "1e-4", 100, 22.0501), ("0.3", "2e-4", 220, 10.1417), ("0.5", "1e-4", 100_000, 2.8775)],
)
def test_little_noise_on_rare_samples_has_narrow_bounds(sigma: str, rate: str, times: int, near: float) -> None:
    """The upper bound was 1.2 to ten times the lower one; ``near`` is what dp-accounting says."""
    sample = events.Subsampled(events.Gaussian(sigma=sigma), rate)
    found = compose([events.Repeat(sample, times)], effort=Effort(absolute=0.05)).epsilon(delta="1e-6")
    assert found.lower - 1e-3 <= near <= found.upper + 1e-3
    assert found.upper <= 1.01 * found.lower


def test_events_for_different_neighbours_are_not_composed() -> None:
    added, changed = (events.Pure("0.1").about(relation) for relation in Neighbours)
    assert (
        compose([added, events.Pure("0.1"), added]).epsilon(0).upper
        == compose([events.Pure("0.1")] * 3).epsilon(0).upper
    )
    with pytest.raises(BadParameter, match="stated for"):
        compose([added, changed])
    with pytest.raises(BadParameter, match="stated for"):
        compose([events.Subsampled(events.Gaussian(1), "0.1"), changed])
