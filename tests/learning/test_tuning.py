"""Paid tuning: the price against another accountant, the law of the number of runs."""

import math
from fractions import Fraction
from itertools import product

import dp_accounting
import pytest
from dp_accounting.rdp import RdpAccountant

from discreet.errors import BadParameter, ReceiptRefused
from discreet.learning.tuning import _ORDERS, tune, tuning_event, tuning_price
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.privacy.accountants.conversions import zcdp_to_approx
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises.measures import GDP, ZCDP, Approx
from tests.helpers.laws import broken


@pytest.mark.slow
@pytest.mark.parametrize("stop", ["1/10", "1/50", "1/2"])
@pytest.mark.parametrize("mu", ["1/20", "1/4", "1"])
def test_the_price_is_that_of_another_accountant(mu: str, stop: str) -> None:
    """dp_accounting's repeat-and-select with a truncated negative binomial law of shape 1, more orders."""
    ours = tuning_price(GDP(mu), stop=stop, delta="1e-5").epsilon
    chance = eval(stop)  # noqa: S307 - our own fractions
    accountant = RdpAccountant(sorted({1 + k / 16 for k in range(1, 1200)} | {float(o) for o in _ORDERS}))
    base = dp_accounting.GaussianDpEvent(1 / eval(mu))  # noqa: S307
    accountant.compose(dp_accounting.dp_event.RepeatAndSelectDpEvent(base, 1 / chance, 1.0))
    theirs = accountant.get_epsilon(1e-5)
    assert theirs * 0.999 <= float(ours) <= theirs * 1.02


@pytest.mark.slow
def test_the_best_of_all_runs_keeps_the_price_and_that_of_one_run_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run shows a noisy number, which is its score: the law of the best of K of them, with K geometric, exactly.

    P[best <= s] = Σ γ(1-γ)^(k-1) F(s)^k = γ F(s) / (1 - (1-γ) F(s)), which grows with F, so bounds of F give bounds.
    """
    coins: list[bool] = []
    monkeypatch.setitem(tune.__globals__, "bernoulli", lambda chance: coins.pop(0))
    for runs in (1, 2, 3):
        for shown in product((0.0, 1.0, 2.0), repeat=runs):
            scores, coins[:] = list(shown), [False] * (runs - 1) + [True]
            assert tune(lambda s, scores=scores: (0, scores.pop(0)), [0], run=ZCDP("1/100")).score == max(shown)  # type: ignore[misc]
            assert not scores
    monkeypatch.undo()

    mechanism, delta = gaussian(sensitivity=1, rho="1/8"), Fraction(1, 1000)

    def best(value: int, gamma: Fraction) -> dict[int, tuple[Fraction, Fraction]]:
        law, found = mechanism.law(value), {}
        low = high = before_low = before_high = Fraction(0)
        for shown in sorted(law):
            low, high = low + law[shown][0], min(Fraction(1), high + law[shown][1])
            after_low, after_high = (gamma * f / (1 - (1 - gamma) * f) for f in (low, high))
            found[shown] = max(Fraction(0), after_low - before_high), after_high - before_low
            before_low, before_high = after_low, after_high
        return found

    for gamma in (Fraction(1, 2), Fraction(1, 10)):
        one, other = best(0, gamma), best(1, gamma)
        price = tuning_price(ZCDP("1/8"), stop=gamma, delta=delta).epsilon
        assert not broken(one, other, price, delta)
        assert not broken(other, one, price, delta)
    single = zcdp_to_approx(ZCDP("1/8"), delta=delta).epsilon
    assert broken(other, one, single, delta)


def test_the_best_of_the_runs_comes_back_and_nothing_else() -> None:
    seen: list[float] = []

    def base(setting: float) -> tuple[str, float]:
        seen.append(setting)
        return f"model {setting}", setting

    tuned = tune(base, [1.0, 5.0, 3.0], run=ZCDP("1/100"), stop="1/20")
    assert tuned.score == max(seen)
    assert tuned.model == f"model {max(seen)}"


@pytest.mark.slow
def test_the_number_of_runs_is_geometric() -> None:
    """3000 calls with stop 1/4: the share with one run is 1/4 within 6 deviations."""
    counts: list[int] = []
    for _ in range(3000):
        runs: list[int] = []
        tune(lambda s, runs=runs: (None, runs.append(1) or 0.0), [0], run=ZCDP("1/100"), stop="1/4")  # type: ignore[misc]
        counts.append(len(runs))
    for k in (1, 2, 5):
        p = 0.75 ** (k - 1)
        assert abs(sum(c >= k for c in counts) / 3000 - p) <= 6 * math.sqrt(p * (1 - p) / 3000)


def test_nan_never_wins() -> None:
    assert tune(lambda s: (s, float("nan")), [1], run=ZCDP("1/100")).score == -math.inf


def test_payment_and_bad_settings() -> None:
    event = tuning_event(ZCDP("1/1000"))
    receipt = Filter(Approx(2, "1e-4")).spend(event)
    tune(lambda s: (s, 0.0), [1], run=ZCDP("1/1000"), receipt=receipt)
    with pytest.raises(ReceiptRefused):
        tune(lambda s: (s, 0.0), [1], run=ZCDP("1/1000"), receipt=receipt)
    for settings, stop in (([], "1/10"), ([1], 0), ([1], 1)):
        with pytest.raises(BadParameter):
            tune(lambda s: (s, 0.0), settings, run=ZCDP("1/1000"), stop=stop)


def test_epsilon_and_delta_of_a_run_are_refused() -> None:
    """(ε, δ) bounds no Rényi divergence: a run that shows its data with chance δ keeps it, and repeating does not."""
    with pytest.raises(BadParameter, match="says too little"):
        tuning_price(Approx(1, "1e-5"))  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="says too little"):
        tune(lambda s: (s, 0.0), [1], run=Approx(1, "1e-5"))  # type: ignore[arg-type]
