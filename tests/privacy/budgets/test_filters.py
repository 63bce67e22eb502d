"""filters.py: exact sums, refusals that change nothing, adaptive adversaries, threads, interleaving."""

import copy
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from discreet.errors import BadParameter, NoPrice, NotATheorem, OverBudget, ReceiptRefused
from discreet.privacy.accountants.conversions import zcdp_to_approx
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.budgets.currency import add
from discreet.privacy.budgets.filters import Filter, Rule, as_event, currency_of
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Pure, Renyi
from discreet.privacy.promises.neighbours import Neighbours

prices = st.fractions(min_value=0, max_value=1, max_denominator=60)


@pytest.fixture(autouse=True, scope="module")
def _precise() -> Iterator[None]:
    with mpmath.workdps(30):
        yield


def test_ten_tenths_are_one() -> None:
    spending = Filter(Pure(1))
    for left in range(9, -1, -1):
        assert spending.spend(Pure("0.1")).left == Pure(Fraction(left, 10))
    with pytest.raises(OverBudget) as caught:
        spending.spend(events.Pure("1e-300"))
    assert caught.value.left == Pure(0)
    assert spending.charged == Pure(1)


@pytest.mark.slow
@given(st.lists(st.tuples(prices, prices), max_size=30), prices, prices)
@settings(max_examples=100, deadline=None)
def test_against_a_model(asked: list[tuple[Fraction, Fraction]], first: Fraction, second: Fraction) -> None:
    """For every currency: accept exactly what still fits, change nothing otherwise."""
    small = Fraction(1, 1000)
    cases: list[tuple[Measure, Rule | None, Callable[[Fraction, Fraction], Measure]]] = [
        (Pure(3 * first), None, lambda a, _: Pure(a)),
        (Approx(3 * first, second * small), Rule.BASIC, lambda a, b: Approx(a, b * small)),
        (ZCDP(3 * first, second * small), None, lambda a, b: ZCDP(a, b * small)),
        (GDP(mu_squared=3 * first), None, lambda a, _: GDP(mu_squared=a)),
        (Renyi({2: 3 * first, 8: 3 * second}), None, lambda a, b: Renyi({2: a, 8: b}) if a <= b else Renyi({8: b})),
    ]
    for budget, rule, make in cases:
        spending = Filter(budget, rule)
        model = [Fraction(0), Fraction(0)]
        limits = {
            Pure: (3 * first, Fraction(0)),
            GDP: (3 * first, Fraction(0)),
            Renyi: (3 * first, 3 * second),
        }.get(type(budget), (3 * first, second * small))
        for a, b in asked:
            promise = make(a, b)
            cost = {
                Pure: (a, Fraction(0)),
                GDP: (a, Fraction(0)),
                Renyi: (min(a, b) if a <= b else b, b),
            }.get(type(budget), (a, b * small))
            fits = model[0] + cost[0] <= limits[0] and model[1] + cost[1] <= limits[1]
            assert spending.fits(promise) == fits
            before = spending.charged, spending.remaining
            if fits:
                spending.spend(promise)
                model = [model[0] + cost[0], model[1] + cost[1]]
            else:
                with pytest.raises(OverBudget):
                    spending.spend(promise)
                assert (spending.charged, spending.remaining) == before
            spent: Any = spending.charged
            assert spent <= budget
            assert spending.budget == budget


# --- an adversary who looks at the answers ------------------------------------------------------------------------


def views(filter_: Callable[[], Filter], choose: Callable[[tuple[int, ...]], Fraction], depth: int) -> list[Any]:
    """All views of an adversary who picks the ε of his next coin by what he saw, with both probabilities of each."""
    done = []
    open_views: list[tuple[tuple[int, ...], Any, Any]] = [((), mpf(1), mpf(1))]
    while open_views:
        seen, p, q = open_views.pop()
        spending = filter_()
        for i in range(len(seen)):
            spending.spend(Pure(choose(seen[:i])))
        epsilon = choose(seen)
        if len(seen) == depth or not spending.fits(Pure(epsilon)):
            done.append((p, q))
            continue
        r = 1 / (1 + mpmath.exp(mpf(epsilon.numerator) / epsilon.denominator))
        open_views += [((*seen, 0), p * (1 - r), q * r), ((*seen, 1), p * r, q * (1 - r))]
    return done


def greedy(seen: tuple[int, ...]) -> Fraction:
    """Ask more when things look good: the adversary that breaks filters which are none."""
    return Fraction(1, 2) if sum(seen) * 2 < len(seen) else Fraction(1, 8)


@pytest.mark.slow
def test_adaptive_pure() -> None:
    for p, q in views(lambda: Filter(Pure(2)), greedy, 9):
        assert abs(mpmath.log(p / q)) <= 2 + mpf(10) ** -20


@pytest.mark.slow
def test_adaptive_zcdp() -> None:
    rho = Fraction(1, 2)
    law = views(lambda: Filter(ZCDP(rho)), greedy, 9)
    assert abs(sum(p for p, _ in law) - 1) < mpf(10) ** -20
    for order in (mpf("1.1"), 2, 4, 16):
        divergence = mpmath.log(sum(p**order * q ** (1 - order) for p, q in law)) / (order - 1)
        assert divergence <= order / 2
    # planted: had the filter counted one eighth of the true price (as for bounded range), the promise would break
    loose = views(lambda: Filter(ZCDP(8 * rho)), lambda _: Fraction(3, 2), 7)
    worst = max(
        mpmath.log(sum(p**order * q ** (1 - order) for p, q in loose)) / (order - 1) / order
        for order in (mpf("1.01"), 2)
    )
    assert worst > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("rule", [Rule.BASIC, Rule.ADVANCED, Rule.ZCDP])
def test_adaptive_approx(rule: Rule) -> None:
    budget = Approx(2, "0.1")
    law = views(lambda: Filter(budget, rule), greedy, 9)
    factor = mpmath.exp(2)
    for direction in (law, [(q, p) for p, q in law]):
        assert sum(max(mpf(0), p - factor * q) for p, q in direction) <= mpf("0.1")


# --- rules for (ε, δ) ---------------------------------------------------------------------------------------------


def test_the_split_is_fixed() -> None:
    spending = Filter(Approx(1, "1e-6"), Rule.ZCDP, reserve="1/4")
    left = spending.remaining
    assert isinstance(left, ZCDP)
    assert left.delta == Fraction(1, 4 * 10**6)
    whole = zcdp_to_approx(left, epsilon=1)
    assert Fraction(99, 100) / 10**6 < whole.delta <= Fraction(1, 10**6)
    spending.spend(events.Gaussian(sigma=10))
    assert spending.charged == ZCDP("1/200")
    with pytest.raises(OverBudget):
        spending.spend(events.Approx(0, "3e-7"))


def test_advanced_counts_squares() -> None:
    spending = Filter(Approx(1, "1e-6"), Rule.ADVANCED)
    count = 0
    while spending.fits(events.Pure("0.01")):
        spending.spend(events.Pure("0.01"))
        count += 1
    log_inverse = mpmath.log(2 * 10**6)

    def total(k: int) -> Any:
        s = mpf(k) / 10**4
        return mpmath.sqrt(2 * log_inverse * s) + s / 2

    assert total(count) <= 1 < total(count + 1)
    assert count > 100  # which basic composition would allow
    many = Filter(Approx(1, "1e-6"), Rule.ADVANCED)
    many.spend(events.Repeat(events.Pure("0.01"), count))
    assert many.charged == spending.charged
    many = Filter(Approx(1, "1e-6"), Rule.ADVANCED)
    many.spend(events.Composed([events.Pure("0.01")] * count))
    assert many.remaining == spending.remaining


def test_gaussian_events_need_a_rule_that_prices_them() -> None:
    with pytest.raises(NoPrice):
        Filter(Approx(1, "1e-6"), Rule.BASIC).spend(events.Gaussian(sigma=10))
    with pytest.raises(NoPrice):
        Filter(Pure(1)).spend(events.Approx("0.1", "1e-9"))
    with pytest.raises(NoPrice):
        Filter(ZCDP(1)).spend(Renyi({2: "0.1"}))
    with pytest.raises(NoPrice):
        Filter(GDP(1)).spend(events.DiscreteGaussian(sigma=10))


@pytest.mark.parametrize("rule", [Rule.PLD, Rule.OPTIMAL])
@pytest.mark.parametrize("budget", [Pure(1), Approx(1, "1e-6"), ZCDP(1)])
def test_what_is_not_a_theorem(rule: Rule, budget: Any) -> None:
    with pytest.raises(NotATheorem, match="declare"):
        Filter(budget, rule)


def test_bad_filters() -> None:
    one: Any = 1
    calls: list[Callable[[], Any]] = [
        lambda: Filter(one), lambda: Filter(Pure(1), Rule.ZCDP), lambda: Filter(Approx(1, 0), Rule.ADVANCED),
        lambda: Filter(Approx(1, "1e-6"), Rule.ZCDP, reserve=1), lambda: Filter(Approx(1, "1e-6"), reserve=2),
        lambda: Filter(Pure(1)).spend(one), lambda: Filter(events.Pure(1)),  # type: ignore[arg-type]
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(BadParameter):
            call()


def test_a_failed_price_spends_nothing() -> None:
    spending = Filter(ZCDP(1))
    with pytest.raises(NoPrice):
        spending.spend(events.Subsampled(events.Gaussian(1), "0.1"))
    assert spending.charged == ZCDP(0)


def test_unlike_prices_stay_short() -> None:
    spending = Filter(Pure(10**6))
    for p in range(1000, 1400):
        spending.spend(Pure(Fraction(p, p + 1)))
    assert isinstance(spending.charged, Pure)
    truth = sum((Fraction(p, p + 1) for p in range(1000, 1400)), Fraction(0))
    assert truth <= spending.charged.epsilon < truth + Fraction(1, 2**1000)


# --- one relation between neighbours ------------------------------------------------------------------------------

ADDED = events.Parallel([events.Pure("0.1")])  # stated for ADD_REMOVE
CHANGED = events.Subsampled(events.Pure("0.1"), "1/2", events.Sampling.WITHOUT_REPLACEMENT)  # for CHANGE_ONE


@pytest.mark.parametrize(("first", "second"), [(ADDED, CHANGED), (CHANGED, ADDED)])
def test_charges_for_two_relations_are_not_added_up(first: events.Event, second: events.Event) -> None:
    spending = Filter(Pure(1))
    spending.spend(Pure("0.1"))  # names none
    assert spending.neighbours is None
    spending.spend(first)
    assert spending.neighbours is events.stated_for(first)
    before = spending.charged
    calls: list[Callable[[Any], Any]] = [spending.spend, spending.open, spending.fits]
    for wrapped in (second, events.Repeat(second, 2), events.Composed([events.Pure("0.1"), second])):
        for call in calls:
            with pytest.raises(NotATheorem, match="neighbours"):
                call(wrapped)
    assert spending.charged == before
    spending.spend(first)
    spending.spend(events.Pure("0.1"))


def test_a_refused_charge_fixes_no_relation() -> None:
    spending = Filter(Pure("0.01"))
    with pytest.raises(OverBudget):
        spending.spend(ADDED)
    assert spending.neighbours is None
    assert not spending.fits(CHANGED)
    small = events.Subsampled(events.Pure("0.001"), "1/2", events.Sampling.WITHOUT_REPLACEMENT)
    spending.spend(small)
    assert spending.neighbours is Neighbours.CHANGE_ONE


def test_a_currency_has_no_state() -> None:
    money = currency_of(Approx(1, "1e-6"), Rule.ZCDP)
    price = money.amounts(events.Gaussian(sigma=10))
    used = add(money.limits.nothing, price)
    assert add(money.limits.nothing, price) == used == (Fraction(1, 200), Fraction(0))
    assert money.limits.fits(used, price)
    assert money.shown(used) == ZCDP("1/200")
    assert money.name == currency_of(ZCDP(1)).name != currency_of(Approx(1, "1e-6")).name


# --- threads and interleaving -------------------------------------------------------------------------------------


def test_threads_do_not_overspend() -> None:
    spending = Filter(Pure(1))
    paid: list[int] = []
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        for _ in range(50):
            try:
                paid.append(spending.spend(Pure("0.01")).number)
            except OverBudget:
                return

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(paid) == list(range(1, 101))
    assert spending.remaining == Pure(0)


@pytest.mark.parametrize("budget", [Pure(1), Approx(1, "1e-6"), ZCDP(1), GDP(2), Renyi({2: 2})])
def test_interleaving_where_it_is_a_theorem(budget: Measure) -> None:
    spending = Filter(budget)
    with spending.open(events.AboveThreshold("0.1")) as first:
        spending.spend(events.Pure("0.1"))
        with spending.open(events.AboveThreshold("0.1")):
            spending.spend(events.Pure("0.1"))
    assert first.receipt.number == 1
    first.close()
    spending.spend(events.Pure("0.1"))


@pytest.mark.parametrize("make", [lambda: Filter(ZCDP(1, "1e-6")), lambda: Filter(Approx(1, "1e-6"), Rule.ZCDP)])
def test_one_at_a_time_for_approximate_zcdp(make: Callable[[], Filter]) -> None:
    spending = make()
    first = spending.open(events.AboveThreshold("0.01"))
    spent = spending.charged
    for call in (spending.spend, spending.open):
        with pytest.raises(NotATheorem, match="close"):
            call(events.Pure("0.01"))
    assert spending.charged == spent
    first.close()
    first.close()
    spending.spend(events.Pure("0.01"))
    without_reserve = Filter(Approx(1, "1e-6"), Rule.ZCDP, reserve=0)
    with without_reserve.open(events.AboveThreshold("0.01")):
        without_reserve.spend(events.Pure("0.01"))


def test_promises_as_events() -> None:
    assert as_event(GDP(0)) == events.Composed([])
    assert as_event(GDP(2)) == events.Gaussian(sigma=1, sensitivity=2)
    assert price_zcdp(as_event(ZCDP("0.1", "1e-6"))) == ZCDP("0.1", "1e-6")


def test_a_budget_and_its_receipts_are_there_once() -> None:
    """Copies would be spent, redeemed and closed in each other's place."""
    spending = Filter(Pure(1))
    held = spending.open(events.Pure("1/2"))
    for thing in (spending, spending.spend(events.Pure("1/4")), held):
        for double in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises((NotATheorem, ReceiptRefused)):
                double(thing)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_does_not_double_a_budget() -> None:
    spending = Filter(Pure(1))
    receipt = spending.spend(events.Pure("1/2"))

    def refused(use: Callable[[], object]) -> bool:
        try:
            use()
        except (NotATheorem, ReceiptRefused):
            return True
        return False

    child = os.fork()
    if child == 0:
        both = refused(lambda: spending.spend(events.Pure("1/2"))) and refused(
            lambda: receipt.redeem(events.Pure("1/2"))
        )
        os._exit(0 if both else 1)
    assert os.waitpid(child, 0)[1] == 0
    receipt.redeem(events.Pure("1/2"))
    spending.spend(events.Pure("1/2"))


def test_rounding_the_spend_up_leaves_nothing_not_less() -> None:
    price = Fraction(1, 3**700)
    spending = Filter(Pure(price))
    assert spending.spend(events.Pure(price)).left == Pure(0)
    assert spending.remaining == Pure(0)


def test_what_has_drawn_nothing_may_wait() -> None:
    spending = Filter(ZCDP(4, "1e-6"))
    held = spending.open(events.ZCDP(1))
    with pytest.raises(NotATheorem, match="still open"):
        spending.spend(events.ZCDP(1))
    held.wait()
    spending.spend(events.ZCDP(1))
    other = spending.open(events.ZCDP(1))
    with pytest.raises(NotATheorem, match="meanwhile"):
        held.go_on()
    other.close()
    held.go_on()
    assert spending.charged == ZCDP(3)
    held.receipt.redeem(events.ZCDP(1))
    with pytest.raises(NotATheorem, match="begun"):
        held.wait()
    with pytest.raises(NotATheorem, match="still open"):
        spending.spend(events.ZCDP(1))
    held.close()
    with pytest.raises(NotATheorem, match="closed"):
        held.go_on()
    spending.spend(events.ZCDP(1))


def test_threads_that_close_one_mechanism_close_it_once() -> None:
    spending = Filter(ZCDP(1, "1e-6"))
    held = spending.open(events.ZCDP("0.1"))
    threads = [threading.Thread(target=held.close) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    other = spending.open(events.ZCDP("0.1"))
    with pytest.raises(NotATheorem):
        spending.spend(events.ZCDP("0.1"))
    other.close()


@pytest.mark.parametrize(
    ("budget", "rule"),
    [
        (Pure(1), None),
        (ZCDP("1/2", "1e-6"), None),
        *((Approx(1, "1e-6"), rule) for rule in Rule if rule not in {Rule.PLD, Rule.OPTIMAL}),
    ],
)
@pytest.mark.parametrize("before", [(), ("1/7",), ("1/50", "1/50")])
@pytest.mark.parametrize("epsilon", ["1", "0.3", "1/9", "1/40", "9/10", "2"])
def test_how_often_something_fits_is_how_often_it_can_be_paid(
    budget: Measure, rule: Rule | None, before: tuple[str, ...], epsilon: str
) -> None:
    spending, event = Filter(budget, rule), events.Pure(epsilon)
    for earlier in before:
        spending.spend(events.Pure(earlier))
    promised = spending.times(event)
    for _ in range(promised):
        spending.spend(event)
    assert spending.times(event) == 0
    with pytest.raises(OverBudget):
        spending.spend(event)
