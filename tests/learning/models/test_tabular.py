"""Additive models on bins: they learn shapes, with several classes too, and their note of the noise is of the right
size.
"""

from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.learning.models.tabular import TabularClassifier, TabularRegressor
from discreet.learning.preprocessing.columns import Categorical, Numeric
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises.measures import GDP, Approx

RNG = np.random.default_rng(11)
X = RNG.uniform(0, 1, (6000, 4))
BUDGET = Approx(1, "1e-5")


@pytest.mark.slow
@pytest.mark.usefixtures("fixed_noise")
def test_two_classes() -> None:
    y = (X[:, 0] + X[:, 1] > 1).astype(int)
    model = TabularClassifier(columns=[Numeric(0, 1)] * 4, classes=[0, 1], budget=BUDGET).fit(X, y)
    assert model.score(X, y) > 0.85  # 0.93 on average, with a deviation of 0.007
    assert model.decision_function(X).shape == (6000,)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.slow
@pytest.mark.usefixtures("fixed_noise")
def test_three_classes_by_name() -> None:
    y = np.array(["low", "middle", "high"])[np.minimum((X[:, 2] * 3).astype(int), 2)]
    model = TabularClassifier(columns=[Numeric(0, 1)] * 4, classes=["low", "middle", "high"], budget=Approx(3, "1e-5"))
    assert model.fit(X, y).score(X, y) > 0.8
    assert model.predict_proba(X).shape == (6000, 3)


@pytest.mark.usefixtures("fixed_noise")
def test_text_and_unseen_values() -> None:
    rows = [[i % 7, "ab"[i % 2]] for i in range(3000)]
    y = [int(word == "b") for _, word in rows]
    model = TabularClassifier(columns=[Numeric(0, 7), Categorical(["a", "b"])], classes=[0, 1], budget=BUDGET).fit(
        rows, y
    )
    assert model.predict([[3, "b"], [3, "a"], [99, "never seen"]])[:2].tolist() == [1, 0]


@pytest.mark.slow
def test_random_labels_teach_nothing() -> None:
    """Accuracy on 6000 fresh random labels is binomial: beyond 0.55 with a chance below 1e-13."""
    y = RNG.integers(0, 2, 6000)
    fresh = RNG.integers(0, 2, 6000)
    model = TabularClassifier(columns=[Numeric(0, 1)] * 4, classes=[0, 1], budget=BUDGET).fit(X, y)
    assert model.score(RNG.uniform(0, 1, (6000, 4)), fresh) < 0.55


@pytest.mark.slow
def test_the_note_on_noise_has_the_right_size() -> None:
    y = (X[:, 0] > 0.5).astype(int)
    fits = [TabularClassifier(columns=[Numeric(0, 1)] * 4, classes=[0, 1], budget=BUDGET).fit(X, y) for _ in range(8)]
    seen = float(np.std([m.decision_function(X[:200]) for m in fits], axis=0).mean())
    told = float(np.mean([m.score_error_ for m in fits]))
    assert told / 6 < seen < told * 6


@pytest.mark.slow
@pytest.mark.usefixtures("fixed_noise")
def test_shapes_of_numbers() -> None:
    """A parabola, a step of a category, and a column that says nothing, at ε = 1."""
    x = RNG.uniform(-1, 1, (8000, 2))
    kind = RNG.choice(["a", "b", "c"], 8000)
    y = 2 + 3 * x[:, 0] ** 2 + (kind == "b")
    rows = np.array([[*values, k] for values, k in zip(x.tolist(), kind, strict=True)], dtype=object)
    columns: list[Any] = [Numeric(-1, 1), Numeric(-1, 1), Categorical(["a", "b", "c"])]
    model = TabularRegressor(columns=columns, target_bounds=(0, 8), budget=BUDGET).fit(rows, y)
    assert model.score(rows, y) > 0.9
    parabola, nothing, step = model.shapes_
    assert parabola[0] - parabola[16] > 2
    assert np.abs(nothing[4:-4]).max() < 0.5
    assert step[1] - step[0] == pytest.approx(1, abs=0.3)
    assert model.intercept_ == pytest.approx(y.mean(), abs=0.3)
    assert len(model.plot(["x", "z", "kind"]).axes) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("fixed_noise")
def test_missing_values_have_an_effect_of_their_own() -> None:
    x = RNG.uniform(0, 1, (6000, 1))
    x[::3] = np.nan
    y = np.where(np.isnan(x[:, 0]), 5.0, x[:, 0])
    model = TabularRegressor(columns=[Numeric(0, 1, missing=True)], target_bounds=(0, 6), budget=BUDGET).fit(x, y)
    assert model.predict([[np.nan]])[0] == pytest.approx(5, abs=0.3)
    assert model.predict([[0.5]])[0] == pytest.approx(0.5, abs=0.5)


@pytest.mark.slow
@pytest.mark.usefixtures("fixed_noise")
def test_a_shape_for_each_of_several_classes() -> None:
    y = np.minimum((X[:, 2] * 3).astype(int), 2)
    model = TabularClassifier(columns=[Numeric(0, 1)] * 4, classes=[0, 1, 2], budget=BUDGET).fit(X, y)
    assert model.shapes_[2].shape[1] == 3
    assert model.intercept_.shape == (3,)
    scores = model.intercept_ + sum(
        shape[column.codes(X[:9, j])]
        for j, (shape, column) in enumerate(zip(model.shapes_, model.columns_, strict=True))
    )
    assert np.allclose(scores, model.decision_function(X[:9]))


@pytest.mark.slow
@pytest.mark.usefixtures("fixed_noise")
def test_a_target_that_is_no_number_is_left_out() -> None:
    y = np.where(np.arange(6000) % 2, np.nan, 3.0)
    model = TabularRegressor(columns=[Numeric(0, 1)] * 4, target_bounds=(0, 4), budget=BUDGET).fit(X, y)
    assert model.predict(X[:9]) == pytest.approx(3.0, abs=0.3)


def test_a_budget_whose_noise_no_draw_can_hold_costs_nothing() -> None:
    """Noise of a later step was refused when the first was paid, drawn and lost."""
    for budget in ("1e-6", "1e-9", "1e-14"):
        for unit in (None, np.arange(6000) // 2):
            model = TabularClassifier(columns=[Numeric(0, 1)] * 4, classes=[0, 1], budget=GDP(budget))
            receipt = Filter(GDP(1)).spend(model.event)
            try:
                model.fit(X, X[:, 0] > 0.5, unit=unit, receipt=receipt)
            except BadParameter:
                assert not receipt.used
            else:
                assert np.isfinite(model.coef_).all()
