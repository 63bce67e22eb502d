import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet.biased.randomized_response import BiasedResponse, biased_randomized_response
from discreet.biased.sources import Biased, worst_against
from discreet.errors import BadData, BadParameter, NotATheorem
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure
from discreet.randomness import Bits, Replay, exact_law
from discreet.randomness.replay import TapeEnded
from tests.helpers.biased import frontier, law_under, proven_loss


def draws(m: BiasedResponse, truth: int) -> Callable[[Bits], int]:
    return lambda bits: m.draw(truth, bits)


def strings(m: BiasedResponse, truth: int, told: int, depth: int) -> list[int]:
    """Which strings of so many bits surely lead to a report: from the sampler itself."""
    law = []
    for r in range(1 << depth):
        try:
            law.append(int(m.draw(truth, Replay(value=r, length=depth)) == told))
        except TapeEnded:
            law.append(0)
    return law


@pytest.mark.parametrize("categories", [2, 3, 5])
def test_the_law_on_every_bit_path(categories: int) -> None:
    m = biased_randomized_response(1, "0.1", categories=categories)
    for truth in range(categories):
        found, undecided = exact_law(draws(m, truth), depth=12)
        for told, (p, _) in m.law(truth).items():
            assert found[told] <= p <= found[told] + undecided
        assert sum(p for p, _ in m.law(truth).values()) == 1


def test_fair_bits_give_ordinary_randomized_response() -> None:
    m = biased_randomized_response(1, 0)
    assert math.e / (1 + math.e) - 1e-4 < m.truth_fair <= math.e / (1 + math.e)
    assert m.truth_at_least <= m.truth_fair < m.truth_at_least + Fraction(1, 1 << 40)


@pytest.mark.slow
@pytest.mark.parametrize(("categories", "gamma"), [(2, "0.1"), (2, "0.5"), (3, "0.3"), (4, "0.1")])
def test_no_source_on_short_strings_beats_the_price(categories: int, gamma: str) -> None:
    """All sources on 7 bits, by the frontier: strings that are open then count for nobody, so P and Q are too small by
    at most the largest mass of the few open strings; the loss that is left must keep the price.
    """
    m = biased_randomized_response(1, gamma, categories=categories)
    depth, g = 7, Fraction(gamma)
    open_mass = 4 * categories * ((1 + g) / 2) ** depth
    for told in range(categories):
        for other in range(categories):
            if other != told:
                p, q = strings(m, told, told, depth), strings(m, other, told, depth)
                assert all(a <= b + open_mass for a, b in frontier(q, p, g))  # nested sets
                for a, b in frontier(p, q, g):
                    assert a <= math.exp(1) * (b + open_mass)


@pytest.mark.slow
def test_the_worst_source_comes_close_and_samples_prove_no_more() -> None:
    m, n, depth = biased_randomized_response(1, "0.3"), 3000, 60
    half, share = Fraction(1, 2), m.share / 2
    low, high = (int(x * (1 << depth)) for x in (half - share, half + share))
    strategy = worst_against([(0, high)], [(0, low)], math.e, m.model, depth=depth)
    laws = [law_under(draws(m, x), strategy, m.model.gamma, depth=14) for x in (0, 1)]
    loss = math.log(laws[0][0][0] / laws[1][0][0])
    assert 0.97 < loss <= 1.001
    source = Biased(m.model, strategy)
    seen = []
    for truth in (0, 1):
        count = 0
        for _ in range(n):
            source.restart()
            count += m.draw(truth, source) == 0
        seen.append(count)
    assert proven_loss(seen[0], seen[1], n) <= 1


def test_the_twin_that_flips_the_coin_in_the_usual_order_is_refuted() -> None:
    """Telling the truth below a threshold: the strings of the two truths share nothing, and bias alone breaks it."""
    gamma = Fraction(3, 10)
    m = biased_randomized_response("0.1", gamma)
    keep = int(m.truth_fair * 256)
    told_0 = [int(r < keep) for r in range(256)]  # truth 0 reports 0 below the threshold, truth 1 above it
    loss = max(math.log(p / q) for p, q in frontier(told_0, [1 - x for x in told_0], gamma))
    assert loss > 5 * 0.1


def test_event_price_accuracy_and_story() -> None:
    m = biased_randomized_response("0.5", "0.1", categories=3)
    answer = m.release(2)
    assert answer.value in {0, 1, 2}
    assert answer.event == events.Biased("0.5")
    assert answer.accuracy is None
    assert "3 categories" in answer.explain()
    assert m.truth_at_least < m.truth_fair


@pytest.mark.parametrize("value", [True, -1, 2, 1.0, "0", None])
def test_only_categories_are_read(value: object) -> None:
    with pytest.raises(BadData, match="from 0 to 1"):
        biased_randomized_response(1, "0.1").read(value)


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon": 0, "gamma": "0.1"},
        {"epsilon": 1, "gamma": 1},
        {"epsilon": 1, "gamma": -1},
        {"epsilon": 1, "gamma": "0.1", "categories": 1},
        {"epsilon": 1, "gamma": "0.1", "categories": 1000},
        {"epsilon": "1e-9", "gamma": "0.9"},
    ],
)
def test_bad_parameters_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(BadParameter):
        biased_randomized_response(**arguments)  # type: ignore[arg-type]


# --- several reports ------------------------------------------------------------------------------------------------


def game(payoffs: list[tuple[int, int, Fraction]], gamma: Fraction, depth: int) -> Fraction:
    """The most that a source can expect: a payoff for each stretch of strings, nothing elsewhere; by backward steps."""

    def value(start: int, end: int) -> Fraction:
        inside = [(a, b, paid) for a, b, paid in payoffs if a < end and b > start]
        if not inside:
            return Fraction(0)
        if len(inside) == 1 and inside[0][0] <= start and end <= inside[0][1]:
            return inside[0][2]
        middle = (start + end) // 2
        low, high = sorted((value(start, middle), value(middle, end)))
        return ((1 - gamma) * low + (1 + gamma) * high) / 2

    return value(0, 1 << depth)


def test_two_reports_from_one_source_cost_more_than_twice_one() -> None:
    """Both report 0, of somebody who holds 0 or 1, each priced at 1: the source makes the loss 2.0503 and not 2.

    After first bits that report 0 for either truth it plays against the second report; after first bits that report 0
    for the truth alone it makes the second report likely. So a filter may not add them up, and does not.
    """
    m = biased_randomized_response(1, "0.1")
    gamma, depth = m.model.gamma, 17
    always, if_true = ((1 - m.share) / 2 * 2**depth, ((1 - m.share) / 2 + m.share) * 2**depth)
    assert always.denominator == if_true.denominator == 1  # so 17 bits decide every report
    base, whole = int(always), int(if_true)
    told = strings(m, 0, 0, 8)  # the stretches are those of the sampler, but for two strings that 8 bits leave open
    assert [i for i in range(256) if told[i] != ((i + 1) << 9 <= whole)] == [base >> 9]

    def gain(factor: Fraction) -> Fraction:
        """max over sources of P[0, 0 | truth 0] - factor P[0, 0 | truth 1]."""
        either = game([(0, base, 1 - factor), (base, whole, Fraction(1))], gamma, depth)
        alone = game([(0, whole, Fraction(1))], gamma, depth)
        return game([(0, base, either), (base, whole, alone)], gamma, depth)

    def gain_of_one(factor: Fraction) -> Fraction:
        return game([(0, base, 1 - factor), (base, whole, Fraction(1))], gamma, depth)

    assert gain_of_one(Fraction(math.e) + Fraction(1, 10**9)) <= 0  # one report keeps its price
    assert gain(Fraction(math.exp(2.0503))) > 0 >= gain(Fraction(math.exp(2.0505)))
    planted = Filter(Pure(2))  # as a filter once saw them: anything that is ε-differentially private
    planted.spend(events.Pure(m.epsilon))
    planted.spend(events.Pure(m.epsilon))
    spending = Filter(Pure(2))
    spending.spend(m.event)
    with pytest.raises(NotATheorem, match="biased bits"):
        spending.spend(m.event)
    spending.spend(events.Pure(1))  # fair bits, of another source
    assert spending.remaining == Pure(0)
