"""planning.py: a preview ends in time, leaves places to others, and ends with its client."""

from __future__ import annotations

import threading
from fractions import Fraction

import pytest

from discreet.curator.error_replies import Refusal
from discreet.curator.limits import Limits
from discreet.curator.planning import Planning
from discreet.errors import ServiceBusy
from discreet.query.interruption import check_interrupted
from tests.helpers.curator.town import Ticking


def test_planning_ends_after_its_time_and_says_what_to_do() -> None:
    clock = Ticking()
    planning = Planning(Limits(planning=Fraction(5)), clock)
    with planning.limited():
        clock.now += 5
        check_interrupted()
        clock.now += 0.1
        with pytest.raises(Refusal, match=r"more than 5 s of work .*nothing was spent: send fewer queries") as refused:
            check_interrupted()
    assert (refused.value.status, refused.value.kind) == (422, "TooLong")
    check_interrupted()
    with planning.limited():  # each has its own time
        check_interrupted()


def test_planning_ends_when_the_client_has_left() -> None:
    left = threading.Event()
    with Planning(Limits()).place("ann", left):
        check_interrupted()
        left.set()
        with pytest.raises(Refusal) as refused:
            check_interrupted()
    assert refused.value.kind == "ClientLeft"


def test_one_analyst_has_one_of_two_places_and_others_the_rest() -> None:
    planning = Planning(Limits(patience=Fraction(1, 100)))
    with planning.place("ann"):
        with pytest.raises(ServiceBusy, match="the last one is left to others"), planning.place("ann"):
            pass
        with planning.place("bob"), pytest.raises(ServiceBusy, match="are busy"), planning.place("cat"):
            pass
    with planning.place("ann"):
        pass
