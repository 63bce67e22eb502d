"""Classifiers: they learn, with several classes too, and their note of the noise is of the right size."""

import numpy as np
import pytest

from discreet.learning.models.logistic import LogisticRegression, TabularClassifier, default_length
from discreet.learning.preprocessing.columns import Categorical, Numeric
from discreet.privacy.promises.measures import Approx

RNG = np.random.default_rng(11)
X = RNG.uniform(0, 1, (6000, 4))
BUDGET = Approx(1, "1e-5")


@pytest.mark.slow
@pytest.mark.usefixtures("fixed_noise")
def test_two_classes() -> None:
    y = (X[:, 0] + X[:, 1] > 1).astype(int)
    assert LogisticRegression(bounds=(0, 1), classes=[0, 1], budget=BUDGET).fit(X, y).score(X, y) > 0.9
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


def test_lengths() -> None:
    assert default_length(1) == 1.0
    with pytest.raises(ValueError, match="features"):
        default_length(0)
