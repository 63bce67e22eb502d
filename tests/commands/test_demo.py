"""``discreet demo``: the whole system on made-up data."""

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.commands.demo import QUESTIONS, hospital


@pytest.mark.slow
def test_demo_shows_the_law_beside_the_draws() -> None:
    command = Path(sys.executable).with_name("discreet")
    wide = os.environ | {"COLUMNS": "200"}
    done = subprocess.run([command, "demo"], capture_output=True, text=True, check=True, env=wide)
    assert "drawn" in done.stdout
    assert "exact" in done.stdout
    assert "refused" in done.stdout
    assert "mean_cost" in done.stdout
    assert "delta" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("0 ")]
    drawn, law = (float(x) for x in rows[0][-2:])
    assert abs(drawn - law) < 0.003  # 1e6 draws at p = 0.24: seven standard deviations, false alarm below 1e-11


def test_the_questions_of_the_demo_ask_for_more_than_its_budget_only_at_the_end() -> None:
    prices = [Fraction(epsilon) for _, epsilon in QUESTIONS]
    assert sum(prices[:-1]) == 2 == hospital(1).budget.epsilon  # type: ignore[union-attr]
    assert prices[-1] > 0


@pytest.mark.slow
def test_every_question_of_the_demo_can_be_asked() -> None:
    session = hospital(3)
    for question, epsilon in QUESTIONS:
        session.sql(question).preview(epsilon=epsilon)
    assert session.remaining == session.budget
