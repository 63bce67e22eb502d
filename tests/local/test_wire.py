"""Messages: round trips, other parameters, and anything at all that somebody may send."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadData, BadParameter
from discreet.local.hadamard import hadamard
from discreet.local.hashing import local_hashing
from discreet.local.heavy_hitters import heavy_hitters
from discreet.local.means import mean
from discreet.local.oracle import Oracle
from discreet.local.response import response
from discreet.local.subset import subset_selection
from discreet.local.unary import optimised_unary
from discreet.local.wire import Server, payload_of, received, to_bytes, to_json

ORACLES: list[Oracle] = [
    make(k=11, epsilon=1) for make in (response, optimised_unary, local_hashing, hadamard, subset_selection)
]


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda o: o.name)
def test_both_formats_carry_a_report(oracle: Oracle) -> None:
    for value in range(11):
        payload = oracle.client(value)
        assert len(payload) == oracle.width
        assert payload_of(oracle, to_bytes(oracle, payload)) == payload
        assert payload_of(oracle, to_json(oracle, payload)) == payload
    assert len(to_bytes(oracle, payload)) == oracle.width + 6


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda o: o.name)
def test_reports_of_others_are_ignored_and_counted(oracle: Oracle) -> None:
    server = Server(oracle)
    for other in [*ORACLES, response(k=11, epsilon=2), response(k=12, epsilon=1)]:
        if other is not oracle:
            assert not server.add(to_bytes(other, other.client(3)))
            assert not server.add(to_json(other, other.client(3)))
    assert server.people == 0
    assert server.ignored > 8
    with pytest.raises(BadParameter):
        server.estimate()
    assert server.add(to_bytes(oracle, oracle.client(3)))
    assert server.people == 1


def test_means_and_common_texts_travel_the_same_way() -> None:
    """Round trips, and what others send: other parameters, damaged bytes, anything at all."""
    finder, ages = heavy_hitters(epsilon=4, length=2, alphabet=b"ab"), mean(low=0, high=100, epsilon=1)
    wider, older = heavy_hitters(epsilon=4, length=2, alphabet=b"abc"), mean(low=0, high=101, epsilon=1)
    foreign = [to_bytes(wider, wider.client(b"ab")), to_bytes(older, older.client(40))]
    for one, payload in ((finder, finder.client(b"ab")), (ages, ages.client(40))):
        good = to_bytes(one, payload)
        strange: list[Any] = [*foreign, good[:-1], good + b"x", good[:6] + b"\xff" * one.width, b"", "{", None, 3]
        found = received(one, [good, to_json(one, payload), *strange])
        assert (len(found.reports), found.ignored) == (2, len(strange))
        assert received(one, []).reports.shape == (0, one.width)
    made = finder.simulate([b"ab"] * 400)
    heard = received(finder, [to_bytes(finder, line.tobytes()) for line in made])
    assert finder.find(heard.reports) == finder.find(made)


@pytest.mark.slow
@settings(derandomize=True, max_examples=200)
@given(st.one_of(st.binary(max_size=40), st.text(max_size=60)))
def test_nothing_that_is_sent_makes_the_server_fail(message: Any) -> None:
    server = Server(ORACLES[0])
    assert server.add(message) in {True, False}
    assert server.people + server.ignored == 1


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda o: o.name)
def test_damaged_reports_are_ignored(oracle: Oracle) -> None:
    server = Server(oracle)
    good = to_bytes(oracle, oracle.client(0))
    body = json.loads(to_json(oracle, oracle.client(0)))
    wrong: list[Any] = [
        good[:-1], good + b"\x00", good[:1] + b"\x02" + good[2:], good[:6] + b"\xff" * oracle.width, b"", None, 3,
        json.dumps(body | {"version": 2}), json.dumps(body | {"report": "?"}), json.dumps(body | {"report": 3}),
        json.dumps([1, 2]), "[" * 100_000, "{", json.dumps({k: v for k, v in body.items() if k != "check"}),
    ]  # fmt: skip
    assert [server.add(message) for message in wrong] == [False] * len(wrong)
    assert server.ignored == len(wrong)


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda o: o.name)
def test_a_server_counts_as_the_oracle_does(oracle: Oracle) -> None:
    reports = oracle.simulate(np.arange(11).repeat(20))
    one, many = Server(oracle), Server(oracle)
    for line in reports:
        one.add(to_bytes(oracle, line.tobytes()))
    assert many.add_many(reports) == 220
    expected = oracle.estimate(reports).values
    assert np.array_equal(one.estimate().values, expected)
    assert np.array_equal(many.estimate().values, expected)
    spoiled = reports.copy()
    spoiled[0] = 255
    assert Server(oracle).add_many(spoiled) == 219
    with pytest.raises(BadData):
        many.add_many(reports[:, :0])
