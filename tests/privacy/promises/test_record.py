"""How numbers are shown and shortened: never below the truth, and as they were written where that is short."""

from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Approx, Pure, Renyi
from discreet.privacy.promises.record import brief, short_down, short_up, show


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (Fraction(0), "0"), (Fraction(7), "7"), (Fraction(-7), "-7"), (Fraction(999_999), "999999"),
        (Fraction(1, 3), "1/3"), (Fraction(-2, 3), "-2/3"), (Fraction(1, 999), "1/999"),
        (Fraction(49, 20), "2.45"), (Fraction(1, 10**6), "1e-06"), (Fraction(1, 2**20), repr(2.0**-20)),
        (Fraction(100, 3), "33.3334"), (Fraction(-100, 3), "-33.3333"), (Fraction(1, 3001), "0.000333223"),
        (Fraction(1, 3 * 10**999), "3.33334e-1000"), (Fraction(10**999, 3), "3.33334e+998"),
    ],
)  # fmt: skip
def test_numbers_for_people(x: Fraction, shown: str) -> None:
    assert show(x) == shown


@pytest.mark.slow
@given(st.fractions(min_value=0))
@example(Fraction(10**40 + 1, 10**40))
def test_what_is_shown_is_never_too_small_and_close(x: Fraction) -> None:
    shown = Fraction(show(x))
    assert x <= shown <= x * (1 + Fraction(1, 10**5))


@pytest.mark.parametrize(
    "x", [Fraction(0), Fraction(1, 3), Fraction(-5), Fraction(1, 2**1024), Fraction(7, 2**1024 + 1)]
)
def test_short_fractions_stay_as_they_are(x: Fraction) -> None:
    assert short_up(x) == short_down(x) == x


@pytest.mark.parametrize(
    "x", [Fraction(1, 3**700), Fraction(-1, 3**700), Fraction(10**400, 3**700), Fraction(5**900, 7**700)]
)
def test_long_fractions_are_rounded_outwards_by_less_than_a_cell(x: Fraction) -> None:
    cell = Fraction(1, 2**1024)
    assert x < short_up(x) < x + cell
    assert x - cell < short_down(x) < x
    for short in (short_up(x), short_down(x)):
        assert (short / cell).denominator == 1


def test_a_record_is_shown_as_python_writes_it() -> None:
    assert repr(Approx(1, "1e-6")) == "Approx(epsilon=1, delta='1/1000000')"
    assert repr(events.Composed([events.Pure(1), events.NoisyMax("1/2", events.MaxNoise.LAPLACE)])) == (
        "Composed(events=[Pure(epsilon=1), NoisyMax(epsilon='1/2', noise=MaxNoise.LAPLACE)])"
    )
    assert eval(repr(Renyi({2: "1/3"}))) == Renyi({2: "1/3"})  # noqa: S307


def test_in_a_sentence_it_is_cut_short() -> None:
    assert brief(Pure(1)) == "Pure(epsilon=1)"
    long = brief(events.Composed([events.Pure(1)] * 50))
    assert len(long) == 103
    assert long.endswith("...")


def test_a_record_is_never_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Pure(1).epsilon = Fraction(2)  # type: ignore[misc]
