"""exact.py against python-flint's ball arithmetic, an independent implementation."""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet import exact
from discreet.errors import BadParameter
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises.measures import Pure

Bound = Callable[[Fraction, int], Fraction]

rationals = st.builds(
    lambda p, q, e: Fraction(p, q) * Fraction(2) ** e,
    st.integers(-(10**12), 10**12),
    st.integers(1, 10**12),
    st.integers(-60, 8),
)
precisions = st.sampled_from([8, 53, 128, 300])


def ball(x: Fraction) -> Any:
    return arb(fmpq(x.numerator, x.denominator))


def encloses(down: Bound, up: Bound, truth: Callable[[Any], Any], x: Fraction, bits: int) -> None:
    low, high = down(x, bits), up(x, bits)
    with_precision = ctx.prec
    ctx.prec = 2 * bits + 400
    try:
        t = truth(ball(x))
        assert ball(low) <= t or low == high
        assert t <= ball(high) or low == high
        assert high - low <= Fraction(2) ** -bits * max(abs(low), abs(high))
    finally:
        ctx.prec = with_precision


@pytest.mark.slow
@given(rationals, precisions)
@example(Fraction(0), 128)
@example(Fraction(700), 53)
@example(Fraction(-3000), 53)
@example(Fraction(1, 10**40), 128)
@example(Fraction(-1, 10**40), 128)
@settings(max_examples=300, deadline=None)
def test_exp_encloses(x: Fraction, bits: int) -> None:
    x %= 5000 if x > 0 else -5000
    encloses(exact.exp_down, exact.exp_up, lambda b: b.exp(), x, bits)


@pytest.mark.slow
@given(rationals, precisions)
@example(Fraction(1), 128)
@example(1 + Fraction(1, 10**60), 128)
@example(1 - Fraction(1, 10**60), 128)
@example(Fraction(4, 3), 128)
@example(Fraction(2, 3), 128)
@example(Fraction(2) ** 4000, 128)
@settings(max_examples=300, deadline=None)
def test_log_encloses(x: Fraction, bits: int) -> None:
    encloses(exact.log_down, exact.log_up, lambda b: b.log(), abs(x) + (x == 0), bits)


@pytest.mark.slow
@given(rationals, precisions)
@settings(max_examples=300, deadline=None)
def test_sqrt_encloses(x: Fraction, bits: int) -> None:
    x = abs(x)
    low, high = exact.sqrt_down(x, bits), exact.sqrt_up(x, bits)
    assert low * low <= x <= high * high
    assert high - low <= Fraction(2) ** -bits * high


@pytest.mark.slow
@given(rationals, precisions)
@settings(max_examples=300, deadline=None)
def test_exp_fixed_is_within_two_units(x: Fraction, bits: int) -> None:
    x = -abs(x)
    low, high = exact.exp_fixed(x, bits)
    assert 0 <= high - low <= 2
    assert Fraction(low, 2**bits) <= exact.exp_up(x, bits + 64) if x > -5000 else low == 0
    assert Fraction(high, 2**bits) >= exact.exp_down(x, bits + 64) if x > -5000 else high == 1


def test_squares_are_exact() -> None:
    assert exact.sqrt_up(Fraction(49, 81)) == exact.sqrt_down(Fraction(49, 81)) == Fraction(7, 9)


def test_a_bound_one_unit_too_good_would_be_caught() -> None:
    """The planted twin of the enclosure tests: swap the two sides and they must fail."""
    with pytest.raises(AssertionError):
        encloses(exact.exp_up, exact.exp_down, lambda b: b.exp(), Fraction(1), 128)
    with pytest.raises(AssertionError):
        encloses(exact.log_up, exact.log_down, lambda b: b.log(), Fraction(3), 128)


@pytest.mark.slow
@given(st.fractions())
def test_floats_round_outwards(x: Fraction) -> None:
    assert Fraction(exact.float_down(x)) <= x <= Fraction(exact.float_up(x))
    assert exact.float_up(x) <= math.nextafter(exact.float_down(x), math.inf)


def test_floats_beyond_range() -> None:
    huge = Fraction(10) ** 400
    assert exact.float_up(huge) == math.inf
    assert exact.float_down(huge) == np.finfo(float).max
    assert exact.float_down(-huge) == -math.inf
    assert exact.float_up(Fraction(10) ** -400) > 0
    assert exact.float_down(Fraction(10) ** -400) == 0


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (3, Fraction(3)),
        (0.1, Fraction(1, 10)),
        (1e-9, Fraction(1, 10**9)),
        (-2.5, Fraction(-5, 2)),
        (1e22, Fraction(10**22)),
        (5e-324, Fraction(5, 10**324)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("+.5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("-2.5e-3", Fraction(-1, 400)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (np.int64(7), Fraction(7)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.longdouble("0.1"), Fraction(1, 10)),
        (np.float64(0.25), Fraction(1, 4)),
    ],
)
def test_numbers_mean_what_is_written(written: Any, meant: Fraction) -> None:
    assert exact.number(written) == meant


def test_ten_questions_at_a_tenth_fit_a_budget_of_one() -> None:
    budget = Filter(Pure(1))
    for _ in range(10):
        budget.spend(Pure(0.1))
    assert budget.remaining == Pure(0)


BAD: list[Any] = [
    math.nan, math.inf, -math.inf, "nan", "inf", "", "one", "1/0", "1e999999999", "1e-999999999", "e", "1e",
    "1_0", " 1", "1 ", "１", "٣", "1e1_0", "1/-3", "1.5/2", "0x10", "1/3e2", "--1", "1e+", ".", "/2",
    "9" * 1000, 10**5000, Fraction(1, 10**5000), Decimal("NaN"), Decimal("Infinity"), None, True, [], b"1", 1j,
    np.float64("nan"), object(),
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=lambda b: repr(b)[:20] if not isinstance(b, (int, Fraction)) else "huge")
def test_bad_numbers_are_refused_by_name(bad: Any) -> None:
    with pytest.raises(BadParameter, match=r"^scale is .*, but it must") as caught:
        exact.positive(bad, "scale")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("bad", [0, -1, "-0.5", -1e-300])
def test_not_positive(bad: Any) -> None:
    with pytest.raises(BadParameter, match="above 0"):
        exact.positive(bad, "scale")


@pytest.mark.parametrize("bad", [1.0, "3", True, None, Fraction(3), 2])
def test_integers_are_integers(bad: Any) -> None:
    with pytest.raises(BadParameter):
        exact.integer(bad, "size", at_least=3)


def test_roots_and_logs_of_the_impossible() -> None:
    for call in (exact.sqrt_down, exact.log_up):
        with pytest.raises(BadParameter):
            call(Fraction(-1))
    with pytest.raises(BadParameter):
        exact.log_down(Fraction(0))


def test_numbers_for_people_are_written_by_one_function() -> None:
    """A format such as ``.3g`` makes 1.07e+03 of 1,070: it is only for what is small, or is read by machines."""
    root = Path(exact.__file__).parent
    found = {
        str(path.relative_to(root).with_suffix(""))
        for path in root.rglob("*.py")
        if re.search(r"\{[^{}\n]*:,?(\.\d+)?g\}", path.read_text(encoding="utf-8"))
    }
    probabilities = {
        "biased/laplace", "biased/randomized_response", "biased/weak_source", "checking/attacks/coins",
        "checking/attacks/membership", "checking/exact/interactive", "checking/exact/laws",
        "checking/sampling/distinguishers", "checking/sampling/audit", "checking/sampling/one_run",
        "continual/release", "local/means", "local/oracle", "mechanisms/base/law", "privacy/attacker/plots",
        "privacy/attacker/loss", "errors", "curator/service/reply_timing",
        "mechanisms/selection/randomized_response", "query/answer/answer_base", "query/resolve/unresolved",
    }  # fmt: skip
    machines = {"curator/http/metrics", "curator/planning", "curator/public_schema", "privacy/promises/record",
                "synthetic/direct"}  # fmt: skip
    assert found <= probabilities | machines
