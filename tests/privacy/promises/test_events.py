"""events.py and records.py: checked at birth, frozen, written down and read back exactly."""

import json
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadParameter
from discreet.privacy.promises import events, measures
from discreet.privacy.promises.events import MaxNoise, Sampling
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.serialize import _EVENTS, _PROMISES, event_from_json, measure_from_json, to_json

numbers = st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=1000)
deltas = st.fractions(min_value=0, max_value=Fraction(1, 2), max_denominator=10**9)
wholes = st.integers(1, 50)


def agreeing(make: Any) -> Any:
    """The same, with nothing inside where the parts name relations that do not agree."""

    def made(first: Any, *rest: Any) -> Any:
        try:
            return make(first, *rest)
        except BadParameter:
            return make([] if isinstance(first, list) else events.Pure(1), *rest)

    return made


leaves: Any = st.one_of(
    st.builds(events.Laplace, numbers, numbers),
    st.builds(events.DiscreteLaplace, numbers, wholes),
    st.builds(lambda s, d: events.Gaussian(sigma_squared=s, sensitivity_squared=d), numbers, numbers),
    st.builds(lambda s, d: events.DiscreteGaussian(sigma_squared=s, sensitivity=d), numbers, wholes),
    st.builds(lambda s, d: events.DiscreteGaussian(s, dimension=9, sensitivity_squared=d), numbers, wholes),
    st.builds(events.RandomizedResponse, numbers, st.integers(2, 9)),
    st.builds(events.NoisyMax, numbers, st.sampled_from(MaxNoise)),
    *(
        st.builds(kind, numbers)
        for kind in (events.Exponential, events.PermuteAndFlip, events.AboveThreshold, events.Pure)
    ),
    *(st.builds(kind, numbers, deltas) for kind in (events.Threshold, events.Approx, events.ZCDP)),
)
trees: Any = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(events.Repeat, inner, wholes),
        st.builds(agreeing(events.Composed), st.lists(inner, max_size=3)),
        st.builds(agreeing(events.Parallel), st.lists(inner, max_size=3)),
        st.builds(
            agreeing(events.Subsampled), inner, st.just("1/7"), st.sampled_from(Sampling), st.sampled_from(Neighbours)
        ),
    ),
    max_leaves=6,
)


@given(trees)
@settings(max_examples=200)
def test_json_and_repr_round_trip(event: Any) -> None:
    assert event_from_json(to_json(event)) == event
    names = vars(events) | {"Neighbours": Neighbours}
    assert eval(repr(event), dict(names)) == event  # noqa: S307
    assert hash(event_from_json(to_json(event))) == hash(event)


@pytest.mark.parametrize(
    "promise",
    [
        measures.Pure("0.1"), measures.Approx(1, 1e-6), measures.ZCDP("1/3", "1e-9"), measures.GDP(mu_squared=2),
        measures.Renyi({2: "1/3", "2.5": 1}),
    ],
)  # fmt: skip
def test_promises_round_trip(promise: Any) -> None:
    assert measure_from_json(to_json(promise)) == promise


def test_the_written_form_is_fixed() -> None:
    """Old ledgers must stay readable: this text may never change its meaning."""
    text = (
        '{"version": 1, "event": {"kind": "Subsampled", "event": {"kind": "DiscreteGaussian", "sigma_squared": "25/4", '
        '"sensitivity_squared": "1", "dimension": 1}, "rate": "1/100", "how": "POISSON", "neighbours": "ADD_REMOVE"}}'
    )
    event = events.Subsampled(events.DiscreteGaussian(sigma="2.5"), rate="0.01")
    assert to_json(event) == text
    assert event_from_json(text) == event


def test_every_class_can_be_written() -> None:
    kinds = {k for k in vars(events).values() if isinstance(k, type) and issubclass(k, events.Event)}
    assert set(_EVENTS.values()) == kinds - {events.Event}
    promises = {k for k in vars(measures).values() if isinstance(k, type) and issubclass(k, measures.Promise)}
    assert set(_PROMISES.values()) == promises - {measures.Promise}


GOOD = {"kind": "Laplace", "scale": "1", "sensitivity": "1"}


@pytest.mark.parametrize(
    "event",
    [
        GOOD | {"kind": "Mystery"}, GOOD | {"kind": 3}, GOOD | {"extra": 1}, {"kind": "Laplace", "scale": "1"}, [],
        GOOD | {"scale": 1}, GOOD | {"scale": "0"}, GOOD | {"scale": "nan"}, GOOD | {"scale": 0.1}, None,
        {"kind": "Composed", "events": GOOD}, {"kind": "Composed", "events": [1]}, {"kind": "Event"},
        {"kind": "Repeat", "event": GOOD, "times": "3"}, {"kind": "Repeat", "event": GOOD, "times": True},
        {"kind": "NoisyMax", "epsilon": "1", "noise": "CAUCHY"}, {"kind": "NoisyMax", "epsilon": "1", "noise": 1},
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(event: Any) -> None:
    with pytest.raises(BadParameter):
        event_from_json(json.dumps({"version": 1, "event": event}))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"version": 2, "event": {}}', '{"event": {}}', '{"version": 1, "promise": {}}', "[" * 10**5, None],
)
def test_other_texts_are_refused(text: Any) -> None:
    with pytest.raises(BadParameter):
        event_from_json(text)
    with pytest.raises(BadParameter):
        to_json(text)


def test_a_promise_is_not_an_event() -> None:
    with pytest.raises(BadParameter):
        event_from_json(to_json(measures.Pure(1)))
    with pytest.raises(BadParameter):
        measure_from_json(to_json(events.Pure(1)))
    with pytest.raises(BadParameter):
        measure_from_json('{"version": 1, "promise": {"kind": "Renyi", "bounds": [["2", 1]]}}')


PURE: Any = events.Pure(1)
ONE: Any = 1
HALF: Any = 0.5
WORD: Any = "laplace"
POSITIVE: list[Any] = [
    events.Laplace, lambda x: events.Laplace(1, x), events.DiscreteLaplace,
    lambda x: events.DiscreteLaplace(1, x), events.Gaussian, lambda x: events.Gaussian(1, x),
    lambda x: events.Gaussian(sigma_squared=x), lambda x: events.Gaussian(1, sensitivity_squared=x),
    events.DiscreteGaussian, lambda x: events.DiscreteGaussian(1, x), lambda x: events.Subsampled(PURE, x),
    events.RandomizedResponse, events.Exponential, events.PermuteAndFlip,
    events.NoisyMax, events.AboveThreshold, lambda x: events.Repeat(PURE, x),
    lambda x: events.RandomizedResponse(1, x), lambda x: events.DiscreteGaussian(1, dimension=x),
]  # fmt: skip


@pytest.mark.parametrize("make", POSITIVE)
@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "zero", None.__class__, True, "1e9999999"])
def test_no_noise_no_event(make: Any, bad: Any) -> None:
    with pytest.raises(BadParameter):
        make(bad)


@pytest.mark.parametrize(
    "make",
    [
        lambda: events.Pure(-1), lambda: events.Approx(1, 1), lambda: events.Approx(1, -1), lambda: events.ZCDP(-1),
        lambda: events.Threshold(1, 1), lambda: events.DiscreteLaplace(1, "0.5"), lambda: events.Subsampled(PURE, 2),
        lambda: events.DiscreteGaussian(1, "1.5"), lambda: events.DiscreteGaussian(1, sensitivity_squared=2),
        lambda: events.DiscreteGaussian(1, dimension=2, sensitivity_squared="1.5"), events.Gaussian,
        lambda: events.Gaussian(1, sigma_squared=1), lambda: events.Gaussian(1, 1, sensitivity_squared=1),
        lambda: events.Composed(PURE), lambda: events.Composed([ONE]), lambda: events.Composed(WORD),
        lambda: events.Repeat(ONE, 1), lambda: events.NoisyMax(1, WORD), lambda: events.Repeat(PURE, HALF),
        lambda: events.Subsampled(PURE, 1, WORD), lambda: events.RandomizedResponse(1, 1),
    ],
)  # fmt: skip
def test_bad_events(make: Any) -> None:
    with pytest.raises(BadParameter):
        make()


def test_squares_allow_roots() -> None:
    assert events.Gaussian(sigma=10) == events.Gaussian(10, 1) == events.Gaussian(sigma_squared=100)
    assert events.Gaussian(sigma=1, sensitivity_squared=2).mu_squared == 2
    assert events.DiscreteGaussian(sigma=1, dimension=2, sensitivity_squared=2).shift is None
    assert events.DiscreteGaussian(sigma=1, dimension=5).shift == 1
    assert events.DiscreteGaussian(sigma=1, sensitivity=3).shift == 3
    assert events.DiscreteGaussian(sigma_squared=2).sigma ** 2 >= 2


def test_defaults_of_sampling() -> None:
    assert events.Subsampled(PURE, 1).neighbours is Neighbours.ADD_REMOVE
    assert events.Subsampled(PURE, 1, Sampling.WITHOUT_REPLACEMENT).neighbours is Neighbours.CHANGE_ONE


def test_laplace_on_the_line_dominates_any_direction() -> None:
    """Discrete Laplace in two coordinates, moved by (1, 1), against one coordinate moved by 2: exact enumeration."""
    a, cut = Fraction(1, 2), 40  # P(z) ∝ a^|z|, tails lumped at ±cut
    weight = {z: a ** abs(z) for z in range(-cut, cut + 1)}
    total = sum(weight.values())
    p = {z: w / total for z, w in weight.items()}

    def ratio(x: int, shift: int) -> Fraction:
        return Fraction(1) / a ** (abs(x - shift) - abs(x))  # Q/P as a power of a

    for x in (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3)):
        one = sum(p[z] * max(Fraction(0), 1 - x / ratio(z, 2)) for z in p)
        two = sum(p[y] * p[z] * max(Fraction(0), 1 - x / (ratio(y, 1) * ratio(z, 1))) for y in p for z in p)
        assert two <= one + Fraction(1, 2**30)


def test_relations_do_not_mix() -> None:
    """A price for one relation says nothing under another, so parts that name different ones are refused."""
    added = events.Subsampled(events.Pure(1), "1/2")
    changed = events.Subsampled(events.Pure(1), "1/2", Sampling.WITHOUT_REPLACEMENT)
    parts = events.Parallel([events.Pure(1), events.Pure(1)])
    for relation, event in (
        (None, events.Pure(1)), (Neighbours.ADD_REMOVE, added), (Neighbours.CHANGE_ONE, events.Repeat(changed, 2)),
        (Neighbours.ADD_REMOVE, events.Composed([events.Pure(1), parts, added])), (None, events.Composed([])),
    ):  # fmt: skip
        assert events.stated_for(event) is relation
    bad_calls: list[Any] = [
        lambda: events.Composed([added, events.Repeat(changed, 3)]),
        lambda: events.Composed([changed, parts]),
        lambda: events.Parallel([changed]),
        lambda: events.Subsampled(added, "1/2", Sampling.WITHOUT_REPLACEMENT),
        lambda: events.Subsampled(changed, "1/2"),
        # under a change a unit may leave one part and enter the other: max(ε) would be half of the truth
        lambda: events.Subsampled(parts, "1/2", Sampling.WITHOUT_REPLACEMENT),
    ]
    for call in bad_calls:
        with pytest.raises(BadParameter, match="stated for"):
            call()
