"""What a plan gives each question comes back from JSON as it was sent, whatever its numbers are."""

from __future__ import annotations

import json
import math

import pytest

from discreet.query.profile.predict import Predicted
from discreet.session.plan_summary import PlannedQuestion, PlanSummary, TargetSummary, read_summary

QUESTIONS = (
    PlannedQuestion("SELECT 1", ("a", "b"), Predicted(3, 0.25, 0.15, 0.2), True, 1200, 0.5),
    PlannedQuestion("SELECT 2", ("b",), Predicted(1, math.inf, math.inf), False, 1, math.inf),
)


@pytest.mark.parametrize("kind", [PlanSummary, TargetSummary])
def test_what_is_sent_is_read_as_the_same(kind: type[PlanSummary]) -> None:
    found = kind("epsilon 1", "Laplace", QUESTIONS, 0.7).noting(("a tenth buys first",))
    sent = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert read_summary(sent) == found
    assert type(read_summary(sent)) is kind
    assert str(read_summary(sent)) == str(found)
    assert "a tenth buys first" in str(found)


def test_what_is_unknown_of_which_tables_is_said_once() -> None:
    text = str(PlanSummary("epsilon 1", "Laplace", (*QUESTIONS, *QUESTIONS), 0.7))
    assert text.count("what caps cut of b is unknown") == 1
    assert "20.0%, corrected" in text
    assert text.endswith("on average 0.70 times the error of asking one by one")
    assert str(TargetSummary("epsilon 1", "Laplace", QUESTIONS, 0.7)).endswith(
        "0.70 times what asking one by one would cost"
    )
