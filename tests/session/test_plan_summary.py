"""What a plan gives each question comes back from JSON as it was sent, whatever its numbers are."""

from __future__ import annotations

import json
import math

import pytest

from discreet.session.plan_summary import PlannedQuestion, PlanSummary, TargetSummary, read_summary

QUESTIONS = (
    PlannedQuestion("SELECT 1", ("a", "b"), 0.25, 1200, 0.5),
    PlannedQuestion("SELECT 2", ("b",), math.inf, 1, math.inf),
)


@pytest.mark.parametrize("kind", [PlanSummary, TargetSummary])
def test_what_is_sent_is_read_as_the_same(kind: type[PlanSummary]) -> None:
    found = kind("epsilon 1", "Laplace", QUESTIONS, 0.7)
    sent = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert read_summary(sent) == found
    assert type(read_summary(sent)) is kind
    assert str(read_summary(sent)) == str(found)


def test_what_is_saved_is_said_last() -> None:
    text = str(PlanSummary("epsilon 1", "Laplace", (*QUESTIONS, *QUESTIONS), 0.7))
    assert text.endswith("on average 0.70 times the error of asking one by one")
    assert str(TargetSummary("epsilon 1", "Laplace", QUESTIONS, 0.7)).endswith(
        "0.70 times what asking one by one would cost"
    )
