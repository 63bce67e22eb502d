"""One suite for every mechanism: its law against every price, its sampler against its law, its receipts."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from discreet.checking.exact.laws import Law, Refutation, refutations
from discreet.errors import BadData, BadParameter, NoPrice, ReceiptRefused
from discreet.local.hadamard import hadamard
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.selection.randomized_response import randomized_response
from discreet.mechanisms.statistics.sums import bounded_sum, count
from discreet.privacy.attacker.loss import privacy_loss
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event, stated_for
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import SystemBits
from tests.contracts.cases import CASES, Case
from tests.helpers.extent import extent
from tests.helpers.gates import distance

DRAWS = 20_000
every_mechanism = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def both_ways(event: Event, p: Law, q: Law) -> list[Refutation]:
    return [*refutations(event, p, q), *refutations(event, q, p)]


@pytest.mark.slow
@every_mechanism
def test_no_price_is_refuted_by_neighbours(case: Case) -> None:
    for a, b in case.pairs:
        p, q = (case.mechanism.law(case.mechanism.read(x)) for x in (a, b))
        assert not both_ways(case.mechanism.event, p, q)


@pytest.mark.slow
@every_mechanism
def test_the_law_is_a_law(case: Case) -> None:
    for value, _ in case.pairs:
        law = case.mechanism.law(case.mechanism.read(value))
        low, high = (sum((bounds[side] for bounds in law.values()), Fraction(0)) for side in (0, 1))
        assert 1 - Fraction(1, 1 << 80) <= low <= 1 <= high + Fraction(1, 1 << 80)


@pytest.mark.slow
@every_mechanism
def test_the_privacy_loss_is_the_one_of_both_laws(case: Case) -> None:
    """Added up in doubles from the two laws. Where other outputs than moved noise are left out, there is no mean."""
    finite = 0
    known = case.mechanism.lists_all_outputs or case.mechanism.adds_noise
    for a, b in case.pairs:
        loss = privacy_loss(case.mechanism, on=(a, b))
        p, q = (
            {y: float(low + high) / 2 for y, (low, high) in case.mechanism.law(case.mechanism.read(x)).items()}
            for x in (a, b)
        )
        for place in (0.0, 0.3, 1.7):
            delta = sum(max(0.0, chance - math.exp(place) * q.get(y, 0.0)) for y, chance in p.items())
            tail = sum(chance for y, chance in p.items() if chance > math.exp(place) * q.get(y, 0.0) * (1 + 1e-9))
            assert loss.delta(place).lower - 1e-9 <= delta <= loss.delta(place).upper + 1e-9
            assert loss.tail(place).lower - 1e-9 <= tail <= loss.tail(place).upper + 1e-9
            assert loss.delta(place).width < 1e-9
        if not known:
            with pytest.raises(NoPrice, match="not listed"):
                _ = loss.variance
        elif case.mechanism.adds_noise or p.keys() <= q.keys():
            pairs = [(chance, math.log(chance / q[y])) for y, chance in p.items() if chance and q.get(y)]
            mean = sum(chance * value for chance, value in pairs)
            for bound, exact in (
                (loss.mean, mean),
                (loss.variance, sum(chance * (value - mean) ** 2 for chance, value in pairs)),
            ):
                assert bound.lower - 1e-9 <= exact <= bound.upper + 1e-9
                assert bound.width < 1e-9
            finite += 1
    assert finite or not known or case.name.startswith("optimal")


def test_the_loss_of_two_values_of_one_mechanism() -> None:
    noise = laplace(sensitivity=1, epsilon=1)
    apart = privacy_loss(noise, on=(3, 5))
    assert apart.largest.upper == 2
    assert apart.mean == privacy_loss(events.DiscreteLaplace(scale=1, sensitivity=2)).mean
    assert privacy_loss(noise, on=(3, 3)).largest.upper == 0
    assert privacy_loss(randomized_response(epsilon=1), on=(1, 0)).largest.upper == pytest.approx(1, abs=1e-12)
    normal = privacy_loss(gaussian(sensitivity=1, rho="1/2"), on=(0, 1))
    assert normal.largest.upper == math.inf
    assert normal.mean.upper == 0.5
    stated = gaussian(sensitivity=1, epsilon=1, delta="1e-3")  # its event states both
    assert privacy_loss(stated, on=(7, 8)).mean.upper == pytest.approx(float(stated.rho))
    far = privacy_loss(gaussian(sensitivity=1, sigma="1/2"), on=(0, 10**6))
    assert far.tail(100).upper == 1
    fine = privacy_loss(gaussian(sensitivity=1, rho="1/2", real=True), on=(0, 1))
    assert fine.mean.upper == pytest.approx(0.5)
    assert fine.delta(1).upper == pytest.approx(0.12693673750664394, abs=1e-9)
    for statistic in (count(rho="1/2"), bounded_sum(low=0, high=1, rho="1/2")):
        assert privacy_loss(statistic, on=([1, 1], [1])).mean.upper == pytest.approx(0.5, abs=1e-9)
    assert privacy_loss(count(epsilon=1), on=([1, 1], [1])).largest.upper == 1
    report = hadamard(k=4, epsilon=1)
    assert privacy_loss(report, on=(0, 1)).mean == privacy_loss(report.law(0), report.law(1)).mean
    with pytest.raises(BadData, match="from 0 to 3"):
        privacy_loss(report, on=(0, 4))
    for wrong in (None, 3, (3,), (3, 4, 5)):
        with pytest.raises(BadParameter, match="two values"):
            privacy_loss(noise, on=wrong)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="goes with a mechanism"):
        privacy_loss(noise.event, on=(3, 4))
    with pytest.raises(BadData):
        privacy_loss(noise, on=(3, "4"))
    with pytest.raises(NoPrice, match="cells apart"):
        privacy_loss(laplace(sensitivity=1, epsilon=1, real=True), on=(0, 1))


def surprise(case: Case, value: Any, draws: int = DRAWS) -> float:
    """Above 1 is an alarm; a sampler that keeps its law raises it with probability 1e-9."""
    exact = case.mechanism.read(value)
    law = {outcome: float(low) for outcome, (low, _) in case.mechanism.law(exact).items()}
    bits = SystemBits()
    seen = Counter(case.outcome(case.mechanism.draw(exact, bits)) for _ in range(draws))
    assert seen.keys() <= law.keys()
    total = sum(law.values())
    return distance([seen[x] for x in law], [p / total for p in law.values()])


@pytest.mark.slow
@every_mechanism
def test_the_sampler_keeps_the_law(case: Case) -> None:
    value = case.pairs[0][0]
    law = case.mechanism.law(case.mechanism.read(value))
    rare = 1 - max(low for low, _ in law.values())  # where one outcome is nearly certain, few draws say nothing
    assert surprise(case, value, extent(8_000, DRAWS) if rare > Fraction(1, 4) else DRAWS) < 1


@every_mechanism
def test_a_receipt_works_once_and_for_its_event_only(case: Case) -> None:
    value = case.pairs[0][0]
    receipt = Receipt(case.mechanism.event, number=1)
    answer = case.mechanism.release(value, receipt)
    assert answer.receipt is receipt
    assert answer.event == case.mechanism.event
    with pytest.raises(ReceiptRefused, match="used already"):
        case.mechanism.release(value, receipt)
    other = Receipt(laplace(sensitivity=1, scale=12345).event, number=2)
    with pytest.raises(ReceiptRefused, match="was paid for"):
        case.mechanism.release(value, other)
    assert not other.used


@every_mechanism
def test_bad_input_is_refused_before_the_receipt_is_used(case: Case) -> None:
    receipt = Receipt(case.mechanism.event, number=1)
    with pytest.raises((BadData, BadParameter)):
        case.mechanism.release(case.bad, receipt)
    assert not receipt.used


@every_mechanism
def test_the_answer_tells_its_story(case: Case) -> None:
    answer = case.mechanism.release(case.pairs[0][0])
    assert case.mechanism.cost in str(answer)
    assert answer.story
    assert "spent" in answer.explain()
    assert answer._repr_html_()


BARS = [case for case in CASES if case.mechanism.accuracy is not None and isinstance(case.pairs[0][0], int)]


def covered(case: Case, error: float) -> Fraction:
    """The probability, at least, that an answer lies within so much of the exact value; by the law, not by samples."""
    exact = case.pairs[0][0]
    law = case.mechanism.law(case.mechanism.read(exact))
    return sum((low for outcome, (low, _) in law.items() if abs(outcome - exact) <= error), Fraction(0))


@pytest.mark.parametrize("case", BARS, ids=lambda case: case.name)
@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(19, 20)])
def test_the_error_bar_covers_what_it_says(case: Case, confidence: Fraction) -> None:
    assert case.mechanism.accuracy is not None
    assert covered(case, case.mechanism.accuracy.error_at(confidence)) >= confidence - Fraction(1, 1 << 80)


def test_an_error_bar_that_is_one_too_short_is_seen() -> None:
    assert len(BARS) >= 6
    plain = next(case for case in BARS if case.name == "laplace")
    assert plain.mechanism.accuracy is not None
    assert covered(plain, plain.mechanism.accuracy.error_at("0.95") - 1) < Fraction(19, 20)


# --- planted bugs: the same gates must catch them -------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("honest", "planted"),
    [
        (laplace(sensitivity=1, epsilon=1), laplace(sensitivity=1, scale="0.7")),
        (laplace(sensitivity=1, epsilon=1), laplace(sensitivity=1, scale="0.99")),
        (gaussian(sensitivity=1, rho="1/2"), gaussian(sensitivity=1, sigma="0.7")),
        (gaussian(sensitivity=1, rho="1/2"), gaussian(sensitivity=1, sigma="0.99")),
        (gaussian(sensitivity=1, epsilon=1, delta="1e-3"), gaussian(sensitivity=1, sigma=2)),
    ],
)
def test_too_little_noise_is_refuted(honest: Any, planted: Any) -> None:
    assert both_ways(honest.event, planted.law(0), planted.law(1))


@pytest.mark.slow
@pytest.mark.parametrize("honest", [laplace(sensitivity=1, epsilon=1), gaussian(sensitivity=1, rho="1/2")])
def test_a_larger_move_than_declared_is_refuted(honest: Any) -> None:
    assert both_ways(honest.event, honest.law(0), honest.law(2))


@pytest.mark.slow
def test_a_sampler_with_another_law_is_caught() -> None:
    case = CASES[0]
    wrong = replace(case.mechanism, scale=Fraction(110, 100))  # type: ignore[type-var]

    class Planted:
        read = case.mechanism.read
        law = case.mechanism.law
        draw = wrong.draw

    assert surprise(replace(case, mechanism=Planted()), 0) > 1  # type: ignore[arg-type]


@every_mechanism
def test_an_event_is_stated_for_the_neighbours_of_its_mechanism(case: Case) -> None:
    """What knows its neighbours names them; a price for one relation is then never added to one for another."""
    relation = getattr(case.mechanism, "neighbours", None)
    if relation is not None:
        assert stated_for(case.mechanism.event) is relation
