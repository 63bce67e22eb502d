"""The audit: its intervals, its power, its words, and that a mechanism which keeps its claim is left alone.

False alarms: each audit of an honest mechanism refutes it with probability at most 1e-8, by its guarantee.
"""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

from discreet import stable
from discreet.checking.exact.laws import prices
from discreet.checking.sampling.audit import SEARCHED, AuditReport, audit, consequences, epsilon_at
from discreet.checking.sampling.binomial import lower, tail, upper
from discreet.checking.sampling.distinguishers import CAUTIONS
from discreet.checking.sampling.observed import Raised, as_json, from_json, plain
from discreet.checking.sampling.samples import Samples, draw
from discreet.errors import BadParameter
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Pure, Renyi
from tests.contracts.cases import CASES, Case
from tests.helpers.extent import extent

EACH = 1e-8 / (2 * len(CAUTIONS))


# --- intervals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seen", "of"), [(0, 10), (1, 10), (5, 10), (10, 10), (37, 15_000), (11_000, 15_000)])
@pytest.mark.parametrize("failure", [0.05, 5e-9])
def test_the_intervals_are_those_of_the_exact_binomial_tail(seen: int, of: int, failure: float) -> None:
    low, high = float(lower(seen, of, failure)), float(upper(seen, of, failure))
    assert low <= seen / of <= high
    if seen:
        assert tail(seen, of, low) <= failure < tail(seen, of, low * 1.0001 + 1e-9)
    if seen < of:
        assert binom.cdf(seen, of, high) <= failure < binom.cdf(seen, of, high * 0.9999 - 1e-9)


def test_the_intervals_cover_exactly() -> None:
    """P[truth < lower] and P[truth > upper], summed over every outcome, for many truths."""
    of, failure = 60, 0.01
    low, high = lower(np.arange(of + 1), of, failure), upper(np.arange(of + 1), of, failure)
    for truth in np.linspace(0.01, 0.99, 37):
        chances = binom.pmf(np.arange(of + 1), of, truth)
        assert chances[low > truth].sum() <= failure
        assert chances[high < truth].sum() <= failure


# --- power ----------------------------------------------------------------------------------------------------------


def missed(p: float, q: float, samples: int, claim: float) -> float:
    """The exact probability that the certifying step does not refute the claim, for an event with these chances."""
    of = samples - samples // SEARCHED
    likely, other = np.arange(of + 1), np.arange(of + 1)
    low, high = lower(likely, of, EACH), upper(other, of, EACH)
    # for each number on the likely side: the most that the other side may show
    most = np.searchsorted(high, np.maximum(low * math.exp(-claim), 0), side="left") - 1
    return float(1 - np.sum(binom.pmf(likely, of, p) * binom.cdf(most, of, q)))


def not_chosen(searched: int) -> float:
    """How likely x >= 2 looks better than x >= 1 at the greatest caution, by the normal law of the two log-ratios."""
    r, of = math.exp(-1.2), 15_000
    z, z_fresh = norm.isf(CAUTIONS[-1]), norm.isf(EACH)
    chances = ((1 / (1 + r), r / (1 + r)), (r / (1 + r), r * r / (1 + r)))
    spreads = [[math.sqrt((1 - p) / p) for p in both] for both in chances]
    scores = [1.2 - sum(s * (z / math.sqrt(searched) + z_fresh / math.sqrt(of)) for s in both) for both in spreads]
    # the events are nested: on each side the rarer one is a share r of the wider one, with n/(1+r) and rn/(1+r) counts
    apart = math.sqrt((1 - r) / r * (1 + r) / searched * (1 + 1 / r))
    return float(norm.sf((scores[0] - scores[1]) / apart))


@pytest.mark.slow
def test_20_000_samples_refute_a_true_epsilon_of_1_2_where_1_is_claimed() -> None:
    """The best event is x >= 1 (or x < 1, the other way round): its chances are 1/(1+r) and r/(1+r), r = e^-1.2.

    The audit fails if it is not among those that are certified, or if its count is unlucky. The rivals are x >= 2 and
    x < 0, of the same ratio but rarer: at the greatest caution they look better only by luck beyond 7 standard
    deviations.
    """
    r = math.exp(-1.2)
    unlucky = missed(1 / (1 + r), r / (1 + r), 20_000, 1.0)
    assert unlucky < 2e-7
    assert 2 * not_chosen(5000) < 3e-7
    report = audit(laplace(sensitivity=1, epsilon="1.2"), pair=(0, 1), claim=Pure(1))
    assert report.refuted
    assert 1 < report.epsilon_lower <= 1.2


def test_the_exact_power_agrees_with_simulation() -> None:
    of = 2000 - 2000 // SEARCHED
    choose = np.random.default_rng(3)
    p, q = 0.8, 0.2
    low = lower(choose.binomial(of, p, 4000), of, EACH)
    high = upper(choose.binomial(of, q, 4000), of, EACH)
    seen = float(np.mean(np.log(low / high) <= 1.0))
    exact = missed(p, q, 2000, 1.0)
    assert 0.05 < exact < 0.95
    assert abs(seen - exact) < 6 * math.sqrt(0.25 / 4000)


# --- honest mechanisms ----------------------------------------------------------------------------------------------

FEW = 2000


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_alarm_on_the_mechanisms(case: Case) -> None:
    for claim in prices(case.mechanism.event)[: extent(1, 100)]:
        assert not audit(case.mechanism, pair=case.pairs[0], claim=claim, samples=FEW).refuted


@pytest.mark.slow
@pytest.mark.parametrize("claim", [Pure(1), Approx(1, "1e-6"), ZCDP("1/2"), Renyi({2: 1, 4: 2}), GDP("1.24")], ids=str)
def test_every_kind_of_promise_can_be_audited(claim: Measure) -> None:
    assert not audit(laplace(sensitivity=1, epsilon=1), pair=(0, 1), claim=claim, samples=FEW).refuted
    report = audit(laplace(sensitivity=1, epsilon=6), pair=(0, 1), claim=claim, samples=4 * FEW)
    assert report.refuted
    assert report.trade_off(20).refuted


@pytest.mark.slow
def test_releases_are_audited_as_they_are() -> None:
    release = stable.count() >> laplace(epsilon=1)
    assert not audit(release, pair=([1, 2], [1]), claim=Pure(1), samples=FEW).refuted
    assert audit(release, pair=([1] * 9, [1]), claim=Pure(1), samples=FEW).refuted


# --- words, and other ways in ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_verdict_in_words() -> None:
    refuted = audit(laplace(sensitivity=1, epsilon=4), pair=(0, 1), claim=Pure(1), samples=4 * FEW)
    assert refuted.verdict.startswith("claimed ε ≤ 1; refuted: ε ≥ ")
    assert f"with confidence 1−1e-8, by the event {refuted.event}" in refuted.verdict
    fine = audit(laplace(sensitivity=1, epsilon=1), pair=(0, 1), claim=Pure(1), samples=FEW)
    assert fine.verdict.startswith("not refuted; certified ≥ 0.")
    assert json.loads(refuted.to_json())["refuted"] is True
    assert "refuted" in refuted.to_html()


def test_failures_are_outcomes() -> None:
    report = audit(lambda x: 1 // x, pair=(0, 1), claim=Pure(1), samples=400)
    assert report.event == "it raises ZeroDivisionError"
    assert report.likely_on == "first"


def test_of_several_pairs_the_worst_is_certified() -> None:
    m = laplace(sensitivity=1, epsilon=1)
    assert audit(m, pairs=[(0, 0), (0, 9), (1, 1)], claim=Pure(1), samples=FEW).refuted


class Interrupting:
    """Stops the operator's patience after so many runs, once."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, value: int) -> int:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return value % 7


def test_an_audit_goes_on_where_it_was_interrupted() -> None:
    state, box = Samples(), Interrupting(after=1700)
    with pytest.raises(KeyboardInterrupt):
        audit(box, pair=(0, 1), claim=Pure(1), samples=2000, state=state)
    assert 0 < len(state.first) < 2000
    state = Samples.from_lines(list(state.to_lines()))
    before = len(state.first) + len(state.second)
    report = audit(box, pair=(0, 1), claim=Pure(1), samples=2000, state=state)
    assert report.refuted
    assert 1700 - box.left == 1700 + 4000 - before  # no run was made twice
    assert len(state.first) == len(state.second) == 2000


@pytest.mark.slow
def test_processes_and_a_progress_bar() -> None:
    drawn = draw(
        abs, (-8, 9), 1500, processes=2, progress=True
    )  # not a function of this file, which takes long to read
    assert drawn == Samples([8] * 1500, [9] * 1500)


@pytest.mark.parametrize(
    "output",
    [0, -3, 2**70, 0.1, -0.0, math.inf, Fraction(1, 3), True, None, "x", (1, (2.5, None)), {"a": 1.0}, Raised("E")],
)
def test_outcomes_are_stored_exactly(output: Any) -> None:
    back = from_json(json.loads(json.dumps(as_json(plain(output) if not isinstance(output, Raised) else output))))
    assert repr(back) == repr(output)
    assert type(back) is type(output)


def test_bad_calls_are_refused() -> None:
    m = laplace(sensitivity=1, epsilon=1)
    with pytest.raises(BadParameter, match="pair"):
        audit(m, claim=Pure(1))
    with pytest.raises(BadParameter, match="samples"):
        audit(m, pair=(0, 1), claim=Pure(1), samples=10)
    with pytest.raises(BadParameter, match="samples"):
        audit(m, pair=(0, 1), claim=Pure(1), samples=200, state=Samples([0] * 300, [0] * 300))
    with pytest.raises(BadParameter, match="claim"):
        consequences(1)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_bound_uses_the_event_and_its_opposite() -> None:
    assert epsilon_at(0.5, 0.1, 0.0) == pytest.approx(math.log(5))
    assert epsilon_at(0.9, 0.5, 0.0) == pytest.approx(math.log(5))
    assert epsilon_at(0.5, 0.1, 0.1) == pytest.approx(math.log(4))
    assert isinstance(audit(gaussian(sensitivity=1, rho=1), pair=(0, 1), claim=ZCDP(1), samples=FEW), AuditReport)


@pytest.mark.parametrize("claim", [ZCDP(1, "0.1"), ZCDP(1, "0.9"), ZCDP("1/2")], ids=str)
def test_every_promise_has_a_consequence_to_look_at(claim: ZCDP) -> None:
    """A promise whose own δ is above all that the audit tries has one, too."""
    assert all(epsilon >= 0 and claim.delta < delta < 1 for epsilon, delta in consequences(claim))
    assert not audit(laplace(sensitivity=1, epsilon="1/2"), pair=(0, 1), claim=claim, samples=400).refuted
