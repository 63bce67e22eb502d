"""The bits of a float sum show what it was added to; noise on a grid does not. Audited rows fail with 1e-8 at most."""

import random

import pytest

from discreet.checking import attacks

pytestmark = pytest.mark.slow


def test_precision() -> None:
    table = attacks.precision(samples=8000)
    assert table.row("float").success > 2
    assert table.row("exact").success <= 1
    assert "2^" in table.note


def test_a_mechanism_of_the_caller_takes_the_textbooks_place() -> None:
    """One that gives the value away, and one that says nothing at all."""
    assert attacks.precision(samples=2000, noisy=lambda value: value).row("float").success > 4
    assert attacks.precision(samples=2000, noisy=lambda value: random.random()).row("float").success <= 1
