"""measures.py: order, groups, exactness."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadParameter, NotATheorem
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Pure, Renyi

small = st.fractions(min_value=0, max_value=5, max_denominator=1000)
deltas = st.fractions(min_value=0, max_value=Fraction(99, 100), max_denominator=10**6)
promises = st.one_of(
    st.builds(Pure, small),
    st.builds(Approx, small, deltas),
    st.builds(ZCDP, small, deltas),
    st.builds(lambda m: GDP(mu_squared=m), small),
    st.builds(Renyi, st.dictionaries(small.map(lambda x: x + 2), small, min_size=1, max_size=4)),
)


@pytest.fixture(autouse=True, scope="module")
def _precise() -> Iterator[None]:
    before, ctx.prec = ctx.prec, 300
    yield
    ctx.prec = before


def ball(x: Fraction) -> Any:
    return arb(fmpq(x.numerator, x.denominator))


def test_ten_tenths_are_one() -> None:
    total = Pure(0)
    for _ in range(10):
        total = Pure(total.epsilon + Pure("0.1").epsilon)
    assert total == Pure(1)
    assert Pure("0.1").group(10) == Pure(1)


@pytest.mark.slow
@given(promises)
def test_what_is_shown_is_what_is_meant(promise: Any) -> None:
    names = {"Pure": Pure, "Approx": Approx, "ZCDP": ZCDP, "GDP": GDP, "Renyi": Renyi}
    assert eval(repr(promise), names) == promise  # noqa: S307
    assert hash(eval(repr(promise), names)) == hash(promise)  # noqa: S307


@pytest.mark.slow
@given(promises, promises, promises)
def test_the_order_is_one(a: Any, b: Any, c: Any) -> None:
    assert a.implies(a)
    if type(a) is type(b):
        assert (a < b) == (a <= b and not b <= a)
        assert (a >= b) == (b <= a)
        if type(b) is type(c) and a <= b <= c:
            assert a <= c
    else:
        with pytest.raises(TypeError):
            assert a <= b


def test_incomparable_promises() -> None:
    a, b = Approx(1, "1e-6"), Approx(2, "1e-9")
    assert not a <= b
    assert not b <= a
    assert Renyi({8: 1}) <= Renyi({2: 1})
    assert not Renyi({2: 1}) <= Renyi({8: 1})
    assert Renyi({2: 1, 8: 3}).epsilon("2.5") == 3


@pytest.mark.slow
@given(promises, st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=50)
def test_larger_groups_are_promised_less(promise: Any, k: int, more: int) -> None:
    try:
        small_group, large_group = promise.group(k), promise.group(k + more)
    except NotATheorem:
        return
    assert promise <= small_group
    assert small_group <= large_group


@pytest.mark.slow
@given(small, st.integers(1, 6))
def test_a_group_of_an_approximate_promise(epsilon: Fraction, k: int) -> None:
    """Against ball arithmetic; a constant one per cent too good would be below the truth."""
    delta = Fraction(1, 10**30)
    group = Approx(epsilon, delta).group(k)
    truth = ball(delta) * sum(((ball(epsilon) * i).exp() for i in range(k)), arb(0))
    assert group.epsilon == k * epsilon
    assert ball(group.delta) > truth * (1 - arb(2) ** -200)
    assert ball(group.delta) * 0.99 < truth
    assert ball(group.delta) < truth * (1 + arb(2) ** -100)


def test_the_group_bound_is_attained() -> None:
    """A coin whose bias moves as far as (ε, δ) allows at each of three steps."""
    epsilon, delta = Fraction(1, 3), Fraction(1, 1000)
    e = ball(epsilon).exp()
    biases = [arb(1) / 100]
    for _ in range(3):
        biases.append(e * biases[-1] + ball(delta))
        # the other set, and the other direction, hold too
        assert (1 - biases[-2]) < e * (1 - biases[-1]) + ball(delta)
        assert biases[-2] < e * biases[-1] + ball(delta)
    needed = biases[3] - (3 * ball(epsilon)).exp() * biases[0]
    promised = ball(Approx(epsilon, delta).group(3).delta)
    assert promised > needed * (1 - arb(2) ** -200)
    assert promised * 0.99 < needed


@pytest.mark.parametrize("k", [2, 3, 4])
def test_renyi_groups_cover_gaussian_noise(k: int) -> None:
    """N(0,1) against N(k,1) has D_α = αk²/2, and N(0,1) against N(1,1) has α/2."""
    group = Renyi({order: Fraction(order, 2) for order in range(2, 65)}).group(k)
    for order, epsilon in group.bounds:
        assert epsilon >= order * k * k / 2


def test_renyi_group_formula() -> None:
    assert Renyi({8: 1}).group(2) == Renyi({4: Fraction(7, 6) + 1})
    assert Renyi({8: 1}).group(1) == Renyi({8: 1})
    with pytest.raises(NotATheorem, match="higher"):
        Renyi({2: 1}).group(2)


def test_no_theorem_no_group() -> None:
    with pytest.raises(NotATheorem):
        ZCDP(1, "1e-6").group(2)
    assert ZCDP(1, "1e-6").group(1) == ZCDP(1, "1e-6")
    assert ZCDP("0.5").group(3) == ZCDP("4.5")
    assert GDP("0.5").group(3).mu == Fraction(3, 2)
    with pytest.raises(NotATheorem):
        Approx(10, "0.1").group(5)


@pytest.mark.parametrize("bad", [-1, math.nan, math.inf, "x", None, True])
def test_bad_parameters(bad: Any) -> None:
    for make in (Pure, ZCDP, GDP, lambda b: Approx(b, 0), lambda b: Approx(1, b), lambda b: Renyi({2: b})):
        with pytest.raises(BadParameter):
            make(bad)


@pytest.mark.parametrize("delta", [1, "1.5", -1e-9])
def test_delta_is_below_one(delta: Any) -> None:
    for make in (lambda: Approx(1, delta), lambda: ZCDP(1, delta)):
        with pytest.raises(BadParameter, match="delta"):
            make()


@pytest.mark.parametrize("orders", [{}, {1: 1}, {"0.5": 1}, None, [2], {math.inf: 1}])
def test_bad_orders(orders: Any) -> None:
    with pytest.raises(BadParameter):
        Renyi(orders)
    with pytest.raises(BadParameter, match="highest"):
        Renyi({2: 1}).epsilon(3)


@pytest.mark.parametrize("k", [0, -1, 1.0, "2", True])
def test_bad_groups(k: Any) -> None:
    for promise in (Pure(1), Approx(1, 0), ZCDP(1), Renyi({8: 1}), GDP(1)):
        with pytest.raises(BadParameter):
            promise.group(k)


def test_frozen_and_slotted() -> None:
    promise: Any = Pure(1)
    with pytest.raises(AttributeError):
        promise.epsilon = Fraction(0)
    with pytest.raises((AttributeError, TypeError)):
        promise.epsylon = Fraction(0)
    with pytest.raises(BadParameter):
        GDP()
    with pytest.raises(BadParameter):
        GDP(1, mu_squared=1)


@pytest.mark.parametrize(
    ("promise", "text"),
    [
        (Approx("1/2", 1e-6), "epsilon 0.5, delta 1e-06"),
        (Approx("0.1", "1e-6"), "epsilon 0.1, delta 1e-06"),
        (Pure(0.1), "epsilon 0.1"),
        (Pure(Fraction(10**9 + 1, 3 * 10**9)), "epsilon 0.333334"),
        (ZCDP("0.125", "1e-9"), "rho 0.125, delta 1e-09"),
        (GDP(2), "mu 2"),
        (Pure(Fraction(10) ** 400), "epsilon 1e+400"),
        (Pure(Fraction(1, 10**400)), "epsilon 1e-400"),
    ],
)
def test_text(promise: Any, text: str) -> None:
    assert str(promise) == text
