"""Logistic and Poisson tables: maximum likelihood without noise, coverage with it, refusals, sensitivities."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.arrays import Floats
from discreet.errors import BadData, BadParameter
from discreet.learning.inference.noise_law import Noise
from discreet.learning.models import generalized
from discreet.learning.models.generalized import Logit, PoissonRegression, newton_sums
from discreet.learning.unit_weights import Weights, unit_weights
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises.measures import GDP, ZCDP

RNG = np.random.default_rng(5)
TRUTH = np.array([0.3, 1.0, -0.5])


def data(rows: int, *, counts: bool) -> tuple[Floats, Any]:
    x = np.clip((RNG.normal(size=(rows, 1)) * 0.6 + 0.8 * RNG.normal(size=(rows, 2))) * 0.4, -1, 1)
    scores = TRUTH[0] + x @ TRUTH[1:]
    return x, RNG.poisson(np.exp(scores)) if counts else (RNG.random(rows) < 1 / (1 + np.exp(-scores))).astype(int)


def model_of(budget: Any, *, counts: bool) -> Any:
    return (
        PoissonRegression(bounds=(-1, 1), most=8, budget=budget)
        if counts
        else Logit(bounds=(-1, 1), classes=[0, 1], budget=budget)
    )


def likeliest(x: Floats, y: Any, *, counts: bool) -> tuple[Floats, Floats]:
    """Newton's method in doubles, and its standard errors: the oracle."""
    design = np.hstack([np.ones((len(x), 1)), x])
    at = np.zeros(3)
    for _ in range(50):
        mean = np.exp(design @ at) if counts else 1 / (1 + np.exp(-design @ at))
        curve = mean if counts else mean * (1 - mean)
        information = design.T @ (design * curve[:, None])
        at = at + np.linalg.solve(information, design.T @ (np.minimum(y, 8) - mean))
    return at, np.sqrt(np.diag(np.linalg.inv(information)))


@pytest.mark.parametrize("counts", [False, True])
def test_with_a_huge_budget_it_is_maximum_likelihood(counts: bool) -> None:
    """By default nothing biases it: no length cuts rows, nothing shrinks."""
    x, y = data(5000, counts=counts)
    model = model_of(GDP(10**5), counts=counts).fit(x, y)
    at, errors = likeliest(x, y, counts=counts)
    assert np.all(np.abs([model.intercept_, *model.coef_] - at) < errors / 50)
    assert model.standard_errors_ == pytest.approx(errors, rel=0.01)
    assert model.intervals().shape == (3, 2)
    assert (model.p_values_[1:] < 1e-6).all()
    assert "x2" in model.summary()


def test_it_agrees_with_statsmodels() -> None:
    sm = pytest.importorskip("statsmodels.api")
    x, y = data(5000, counts=False)
    model = model_of(GDP(10**5), counts=False).fit(x, y)
    theirs = sm.Logit(y, sm.add_constant(x)).fit(disp=0)
    assert [model.intercept_, *model.coef_] == pytest.approx(theirs.params, abs=2e-3)
    assert model.standard_errors_ == pytest.approx(theirs.bse, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [False, True])
def test_intervals_hold(monkeypatch: pytest.MonkeyPatch, counts: bool) -> None:
    """Of 180 intervals 9 miss on average; more than 42 with probability below 1e-6, even if the three of a fit move
    together (60 fits, 14 of them). The planted twin forgets the noise.
    """

    def missed() -> int:
        count = 0
        for _ in range(60):
            x, y = data(40_000 if counts else 10_000, counts=counts)
            low, high = model_of(GDP("1/10" if counts else "1/5"), counts=counts).fit(x, y).intervals().T
            assert np.isfinite(low).all()
            count += int(((low > TRUTH) | (high < TRUTH)).sum())
        return count

    assert missed() <= 42
    if counts:  # of classes the noise is too small beside the sampling for a twin to be seen
        monkeypatch.setattr("discreet.learning.models.generalized.Noise", lambda deviations: Noise(deviations / 1e6))
        assert missed() > 42


def test_people_with_several_rows() -> None:
    x, y = data(4000, counts=False)
    who = np.repeat(np.arange(4000), 3)
    once = model_of(GDP(100), counts=False).fit(x, y)
    thrice = model_of(GDP(100), counts=False).fit(np.repeat(x, 3, axis=0), np.repeat(y, 3), unit=who)
    assert thrice.standard_errors_ == pytest.approx(once.standard_errors_, rel=0.05)
    assert thrice.coef_ == pytest.approx(once.coef_, abs=0.1)


@pytest.mark.parametrize("counts", [False, True])
def test_where_nothing_can_be_known_nothing_is_said(counts: bool) -> None:
    """Few rows, one class or no counts, a constant column, two that are the same."""
    x, y = data(3000, counts=counts)
    same = np.stack([x[:, 0], x[:, 0]], axis=1)
    constant = np.stack([x[:, 0], np.full(3000, 0.5)], axis=1)
    for rows, target in ((x[:3], y[:3]), (same, y), (constant, y), (x, np.zeros(3000, dtype=int))):
        model = model_of(GDP(5), counts=counts).fit(rows, target)
        assert np.isinf(model.intervals()).all()
        assert np.isfinite(model.coef_).all()
        assert "nothing known" in model.summary()


def sums(rows: Any, residuals: Any, curves: Any, units: Any) -> Any:
    weights = unit_weights(list(units), len(rows))
    return newton_sums(
        np.array(rows, dtype=np.float64).reshape(-1, 2) * 4096, np.array(residuals, dtype=np.float64),
        np.array(curves, dtype=np.float64), weights,
    )  # fmt: skip


def test_no_unit_moves_the_sums_further_than_claimed() -> None:
    """Every extreme row, alone and beside another of the same person; the largest is as far as claimed."""
    largest = [0.0, 0.0]
    for x, residual, curve in product((-1.0, 0.25, 1.0), (-(2**14), 7, 2**14), (0, 3, 2**10)):
        for rows, r, h, units in (
            ([[1, x], [1, 0.5]], [residual, 5], [curve, 9], "ab"),
            ([[1, x], [1, -x], [1, 0.5]], [residual, -residual, 5], [curve, curve, 9], "aab"),
        ):
            whole, less = sums(rows, r, h, units), sums(rows[-1:], r[-1:], h[-1:], "b")
            for i in range(2):
                far = sum(int(d) ** 2 for d in (whole[i].values - less[i].values))
                assert far <= whole[i].moves_squared
                largest[i] = max(largest[i], far / whole[i].moves_squared)
    assert largest == [1.0, 1.0]


def test_many_rows_do_not_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generalized, "_PART", 2)
    hessian, gradient = sums([[1, 1]] * 5, [2**14] * 5, [2**10] * 5, range(5))
    assert hessian.values.tolist() == [5 * 2**34 * 1024] * 3
    assert gradient.values.tolist() == [5 * 2**26 * 1024] * 2


def test_a_row_by_itself() -> None:
    """What a row becomes does not depend on the others, to the last bit; NaN and what is no label have no effect."""
    x, y = data(999, counts=False)
    model = model_of(GDP(1), counts=False)
    weights = Weights(np.ones(999), 1)
    rows = np.hstack([np.full((999, 1), 4096.0), np.rint(x * 4096)])
    at = np.array([0.1, 1 / 3, -0.7])
    whole = model._terms(generalized._Data(rows, y.astype(float), weights), at)
    for i in (0, 500, 998):
        one = model._terms(generalized._Data(rows[i : i + 1], y[i : i + 1].astype(float), weights), at)
        assert (one[0][0], one[1][0]) == (whole[0][i], whole[1][i])


def test_refusals_come_before_payment() -> None:
    x, y = data(50, counts=False)
    ledger = Filter(GDP(1))
    good = Logit(bounds=(-1, 1), classes=[0, 1], budget=GDP(1))
    receipt = ledger.spend(good.event)
    for bad in (
        Logit(bounds=None, classes=[0, 1], budget=GDP(1)),
        Logit(bounds=(-1, 1), classes=[0, 1, 2], budget=GDP(1)),
        Logit(bounds=(-1, 1), budget=GDP(1)),
        PoissonRegression(bounds=(-1, 1), budget=GDP(1)),
        PoissonRegression(bounds=(-1, 1), most=0, budget=GDP(1)),
    ):
        with pytest.raises(BadParameter):
            bad.fit(x, y, receipt=receipt)
    with pytest.raises(BadData, match="person of each row"):
        good.fit(x, y, unit=[1, 2], receipt=receipt)
    good.fit(x, y, receipt=receipt)  # it is still good


def test_predictions() -> None:
    x, y = data(4000, counts=False)
    model: Any = model_of(GDP(50), counts=False).fit(x, y)
    assert model.predict_proba(x).sum(axis=1) == pytest.approx(np.ones(4000))
    assert model.score(x, y) > 0.55
    assert ((model.decision_function(x) > 0) == (model.predict(x) == 1)).all()
    x, y = data(4000, counts=True)
    counts: Any = model_of(GDP(50), counts=True).fit(x, y)
    assert 0.05 < counts.score(x, y) < 0.5


def test_rows_without_a_count_are_left_out() -> None:
    x, y = data(3000, counts=True)
    gone = np.where(np.arange(3000) % 3 == 0, np.nan, y)
    model = model_of(GDP(10**5), counts=True).fit(x, gone)
    at, errors = likeliest(x[~np.isnan(gone)], y[~np.isnan(gone)], counts=True)
    assert np.all(np.abs([model.intercept_, *model.coef_] - at) < errors / 50)
    assert model.standard_errors_ == pytest.approx(errors, rel=0.01)


@pytest.mark.parametrize(("columns", "unit"), [(61, True), (61, False), (1, False)])
def test_noise_that_no_draw_can_hold_is_refused_before_it_is_paid(columns: int, unit: bool) -> None:
    """With units and many columns that happens to a budget of everyday use, and the receipt is good afterwards."""
    ledger = Filter(ZCDP(1))
    budget = GDP("0.2") if unit else GDP("1e-15")
    model = Logit(bounds=(-1, 1), classes=[0, 1], budget=budget)
    receipt = ledger.spend(model.event)
    x, y = np.zeros((4, columns)), [0, 1, 0, 1]
    with pytest.raises(BadParameter, match="64 bits"):
        model.fit(x, y, unit=[1, 2, 3, 4] if unit else None, receipt=receipt)
    receipt.redeem(model.event)  # it was not used


@pytest.mark.parametrize("options", [{"most": 1e308}, {"bounds": (0, 1e200)}, {"bounds": (0, 1e-200)}])
def test_ranges_that_leave_the_doubles_are_refused_before_they_are_paid(options: dict[str, Any]) -> None:
    """Counts up to 1e308 made weights of NaN, and sums of NaN wrapped round by as many parts as there were rows."""
    ledger = Filter(ZCDP(1))
    given: dict[str, Any] = {"bounds": (0, 1), "most": 5} | options
    model = PoissonRegression(budget=GDP("1/4"), **given)
    receipt = ledger.spend(model.event)
    with pytest.raises(BadParameter):
        model.fit(np.zeros((4, 1)), [0, 1, 2, 3], receipt=receipt)
    receipt.redeem(model.event)
