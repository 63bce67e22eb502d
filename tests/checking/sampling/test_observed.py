"""Outputs of a black box as plain data, stored and read back exactly; failures are outcomes too."""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.checking.sampling.observed import Raised, as_json, from_json, observe, plain, runner
from discreet.errors import BadData
from discreet.mechanisms.additive.laplace import laplace


class Thing:
    def __repr__(self) -> str:
        return "a thing"


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        (None, None), (True, True), (np.bool_(False), False), (np.int8(3), 3), (2**100, 2**100), (np.float32(0.5), 0.5),
        (Fraction(1, 3), Fraction(1, 3)), ("text", "text"), ([1, [2.5]], (1, (2.5,))),
        (np.eye(2), ((1.0, 0.0), (0.0, 1.0))),
        ({"a": np.int64(1), 2: "b"}, {"a": 1, "2": "b"}), ({3, 1, 2}, (1, 2, 3)), (Thing(), "a thing"),
        (laplace(sensitivity=1, epsilon=60).release(7).then(lambda _: 7), 7),
    ],
)  # fmt: skip
def test_an_output_as_plain_data(output: Any, outcome: Any) -> None:
    found = plain(output)
    assert found == outcome
    assert type(found) is type(outcome)


@pytest.mark.parametrize(
    "outcome",
    [None, True, 3, -(2**100), 0.1, -0.0, 5e-324, math.inf, -math.inf, Fraction(-1, 3), "text", "raised", (),
     (1, (2.5, None)), {"a": (1,), "float": 0.5}, Raised("ValueError"), {}],
)  # fmt: skip
def test_what_was_stored_is_read_back(outcome: Any) -> None:
    found = from_json(json.loads(json.dumps(as_json(outcome))))
    assert found == outcome
    assert type(found) is type(outcome)
    if isinstance(outcome, float):
        assert math.copysign(1, found) == math.copysign(1, outcome)


def test_not_a_number_is_read_back() -> None:
    assert math.isnan(from_json(json.loads(json.dumps(as_json(math.nan)))))


def test_a_kind_that_is_not_known_is_refused() -> None:
    with pytest.raises(BadData, match="known kind"):
        from_json({"mystery": 1})


def test_a_failure_is_an_outcome_and_holds_no_message() -> None:
    def fails(data: Any) -> Any:
        raise ValueError(f"a secret: {data}")

    def leaves(data: Any) -> Any:
        raise SystemExit(data)

    assert observe(fails, 987654321) == Raised("ValueError")
    assert type(observe(fails, 1)) is Raised
    assert observe(leaves, 1) == Raised("SystemExit")
    assert observe(abs, -3) == 3

    def interrupted(data: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        observe(interrupted, 1)


def test_what_can_be_run() -> None:
    assert runner(abs) is abs
    drawn = runner(laplace(sensitivity=1, epsilon=60))(42)  # noise beyond 0 has probability below 2^-80
    assert drawn == 42
    with pytest.raises(BadData, match="read and draw"):
        runner(42)
