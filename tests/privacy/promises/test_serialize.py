"""Events and promises as JSON: read back exactly, and refused where they are not understood."""

import json
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadParameter
from discreet.privacy.accountants.basic import price_basic
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
    st.just(events.TradeOff({0: "0.9", "1/7": "1/2", "0.2": "0.4"})),
)


trees: Any = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(events.Repeat, inner, wholes),
        st.builds(events.Interactive, inner),
        st.builds(agreeing(events.Composed), st.lists(inner, max_size=3)),
        st.builds(agreeing(events.Parallel), st.lists(inner, max_size=3)),
        st.builds(events.Stated, inner, numbers, st.just("1e-9")),
        st.builds(
            agreeing(events.Subsampled), inner, st.just("1/7"), st.sampled_from(Sampling), st.sampled_from(Neighbours)
        ),
    ),
    max_leaves=6,
)


@pytest.mark.slow
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


def test_deep_nesting() -> None:
    event: events.Event = events.Pure(1)
    for _ in range(200):
        event = events.Repeat(event, 1)
    assert event_from_json(to_json(event)) == event
    text = '{"kind": "Repeat", "times": 1, "event": ' * 900 + "null" + "}" * 900
    with pytest.raises(BadParameter):
        event_from_json(f'{{"version": 1, "event": {text}}}')
    assert math.isfinite(float(price_basic(event).epsilon))


@pytest.mark.parametrize("version", [True, 1.0, "1", None, 0])
def test_the_version_is_a_whole_number(version: Any) -> None:
    with pytest.raises(BadParameter, match=r'must be {"version": 1'):
        event_from_json(json.dumps({"version": version, "event": GOOD}))


def test_a_name_that_stands_twice_is_refused() -> None:
    """JSON's readers keep the last of two: a ledger must not depend on which."""
    with pytest.raises(BadParameter, match="twice"):
        event_from_json('{"version": 1, "event": {"kind": "Laplace", "scale": "9", "scale": "1", "sensitivity": "1"}}')


def test_what_was_stored_without_a_relation_is_read_as_it_was() -> None:
    """Bytes of the last version, and of an event that names none now."""
    old = '{"version": 1, "event": {"kind": "Laplace", "scale": "1/10", "sensitivity": "1"}}'
    assert event_from_json(old) == events.Laplace("1/10")
    assert event_from_json(old).neighbours is None
    assert to_json(events.Laplace("1/10")) == old


@pytest.mark.parametrize("relation", [*Neighbours, "one unit (by 'id') added or removed"])
def test_a_relation_is_stored_and_read(relation: Any) -> None:
    event = events.Composed([events.Pure(1).about(relation), events.Laplace(2)])
    text = to_json(event)
    assert event_from_json(text) == event
    assert f'"neighbours": "{relation.name if isinstance(relation, Neighbours) else relation}"' in text


@pytest.mark.parametrize("label", [None, "", 5, ["ADD_REMOVE"]])
def test_a_relation_that_is_not_understood_is_refused(label: Any) -> None:
    with pytest.raises(BadParameter):
        event_from_json(json.dumps({"version": 1, "event": {"kind": "Pure", "epsilon": "1", "neighbours": label}}))
