"""No default biases an estimate: with next to no noise every estimator is what scikit-learn fits, but for rounding."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn.cluster
import sklearn.decomposition
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.preprocessing

import discreet.learning
from discreet.learning import (
    PCA,
    CategoricalNB,
    GaussianNB,
    HistogramTree,
    KMeans,
    LinearRegression,
    LogisticRegression,
    Logit,
    Numeric,
    PoissonRegression,
    QuantileBinner,
    StandardScaler,
    TabularClassifier,
    TabularRegressor,
)
from discreet.learning.estimator import Estimator
from discreet.learning.preprocessing.columns import codes_of
from discreet.privacy.promises.measures import GDP

NEARLY_NONE = GDP(10**6)
RNG = np.random.default_rng(12)
N = 6000
X = np.clip(RNG.normal(size=(N, 1)) * 0.3 + RNG.normal(size=(N, 3)) * 0.25, -1, 1)
SCORE = 0.4 + X @ [3.0, -2.0, 1.0]
LINE = 1 + X @ [1.5, -1.0, 0.5] + RNG.normal(0, 0.5, N)
LABELS = (RNG.random(N) < 1 / (1 + np.exp(-SCORE))).astype(int)
COUNTS = RNG.poisson(np.exp(0.3 + X @ [0.8, -0.5, 0.2])).clip(0, 20)
COLUMNS = [Numeric(-1, 1, bins=6)] * 3
CODES = codes_of(X, COLUMNS)
ONE_HOT = np.concatenate([np.eye(6)[column] for column in CODES.T], axis=1)
FLAT: Any = {"bounds": (-1, 1), "budget": NEARLY_NONE}
BINNED: Any = {"columns": COLUMNS, "budget": NEARLY_NONE}
Found = list[tuple[Any, Any, float]]
"""What was estimated, what scikit-learn says, and how far apart they may be."""


def linear() -> Found:
    ours = LinearRegression(target_bounds=(-6, 8), **FLAT).fit(X, LINE)
    theirs = sklearn.linear_model.LinearRegression().fit(X, LINE)
    return [(ours.coef_, theirs.coef_, 2e-3), (ours.intercept_, theirs.intercept_, 2e-3)]


def logit() -> Found:
    ours = Logit(classes=[0, 1], **FLAT).fit(X, LABELS)
    theirs = sklearn.linear_model.LogisticRegression(C=np.inf, tol=1e-10).fit(X, LABELS)
    return [(ours.coef_, theirs.coef_[0], 5e-3), (ours.intercept_, theirs.intercept_[0], 2e-3)]


def poisson() -> Found:
    ours = PoissonRegression(most=20, **FLAT).fit(X, COUNTS)
    theirs = sklearn.linear_model.PoissonRegressor(alpha=0, tol=1e-10).fit(X, COUNTS)
    return [(ours.coef_, theirs.coef_, 5e-3), (ours.intercept_, theirs.intercept_, 5e-3)]


def logistic() -> Found:
    ours = LogisticRegression(classes=[0, 1], **FLAT).fit(X, LABELS)
    theirs = sklearn.linear_model.LogisticRegression(C=np.inf, tol=1e-10).fit(X, LABELS)
    return [(ours.predict_proba(X), theirs.predict_proba(X), 5e-3)]


def tabular_classes() -> Found:
    ours = TabularClassifier(classes=[0, 1], **BINNED).fit(X, LABELS)
    theirs = sklearn.linear_model.LogisticRegression(C=1e4, tol=1e-10, max_iter=5000).fit(ONE_HOT, LABELS)
    return [(ours.predict_proba(X), theirs.predict_proba(ONE_HOT), 1e-2)]


def tabular_numbers() -> Found:
    ours = TabularRegressor(target_bounds=(-6, 8), **BINNED).fit(X, LINE)
    theirs = sklearn.linear_model.LinearRegression().fit(ONE_HOT, LINE)
    shapes = ours.intercept_ + sum(shape[CODES[:, j]] for j, shape in enumerate(ours.shapes_))
    return [(ours.predict(X), theirs.predict(ONE_HOT), 2e-2), (shapes, ours.predict(X), 1e-9)]


def gaussian() -> Found:
    ours = GaussianNB(classes=[0, 1], **FLAT).fit(X, LABELS)
    theirs = sklearn.naive_bayes.GaussianNB().fit(X, LABELS)
    return [(ours.theta_, theirs.theta_, 1e-3), (ours.var_, theirs.var_, 1e-3)]


def categories() -> Found:
    ours = CategoricalNB(classes=[0, 1], **BINNED).fit(X, LABELS)
    theirs = sklearn.naive_bayes.CategoricalNB(alpha=1).fit(CODES, LABELS)
    return [(ours.predict_proba(X), theirs.predict_proba(CODES), 1e-3)]


def tree() -> Found:
    """One leaf is naive Bayes; the classes of all leaves are those of the rows."""
    ours = HistogramTree(classes=[0, 1], depth=0, **BINNED).fit(X, LABELS)
    theirs = sklearn.naive_bayes.CategoricalNB(alpha=1).fit(CODES, LABELS)
    grown = HistogramTree(classes=[0, 1], **BINNED).fit(X, LABELS)
    return [
        (ours.predict_proba(X), theirs.predict_proba(CODES), 1e-3),
        (grown.class_count_ / N, np.bincount(LABELS) / N, 1e-3),
    ]


def clusters() -> Found:
    """Two clusters that are far apart, wherever it starts."""
    rows = np.concatenate([X[: N // 2] * 0.2 + 0.7, X[N // 2 :] * 0.2 - 0.7])
    ours = KMeans(n_clusters=2, **FLAT).fit(rows)
    theirs = sklearn.cluster.KMeans(2, n_init=3, random_state=0).fit(rows)
    order = [np.argsort(model.cluster_centers_[:, 0]) for model in (ours, theirs)]
    return [(ours.cluster_centers_[order[0]], theirs.cluster_centers_[order[1]], 1e-3)]


def components() -> Found:
    ours = PCA(**FLAT).fit(X)
    theirs = sklearn.decomposition.PCA().fit(X)
    return [
        (ours.mean_, theirs.mean_, 1e-3),
        (ours.explained_variance_, theirs.explained_variance_, 1e-3),
        (np.abs(ours.components_[0]), np.abs(theirs.components_[0]), 1e-2),
    ]


def scaler() -> Found:
    ours = StandardScaler(**FLAT).fit(X)
    theirs = sklearn.preprocessing.StandardScaler().fit(X)
    return [(ours.mean_, theirs.mean_, 1e-3), (ours.scale_, theirs.scale_, 1e-3)]


def bins() -> Found:
    ours = QuantileBinner(n_bins=4, **FLAT).fit(X)
    theirs = np.quantile(X, [0.25, 0.5, 0.75], axis=0).T
    return [(ours.edges_, theirs, 2 / 128)]  # edges are those of cells


COMPARED: dict[type[Estimator], Callable[[], Found]] = {
    LinearRegression: linear, Logit: logit, PoissonRegression: poisson, LogisticRegression: logistic,
    TabularClassifier: tabular_classes, TabularRegressor: tabular_numbers, GaussianNB: gaussian,
    CategoricalNB: categories, HistogramTree: tree, KMeans: clusters, PCA: components, StandardScaler: scaler,
    QuantileBinner: bins,
}  # fmt: skip


def test_every_estimator_is_compared() -> None:
    public = [getattr(discreet.learning, name) for name in discreet.learning.__all__ if not name.startswith("Private")]
    assert {c for c in public if inspect.isclass(c) and issubclass(c, Estimator)} == set(COMPARED)


def away(found: Found) -> list[float]:
    """How far, in what is allowed."""
    return [float(np.abs(np.asarray(a) - np.asarray(b)).max()) / most for a, b, most in found]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", COMPARED, ids=lambda e: e.__name__)
def test_without_noise_nothing_is_biased(estimator: type[Estimator]) -> None:
    assert max(away(COMPARED[estimator]())) < 1


@pytest.mark.slow
def test_a_default_that_cuts_rows_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault, which was ours: rows of more than half of the longest length were cut."""
    from discreet.learning.models import logistic as module

    monkeypatch.setattr(module, "longest", lambda features: max(1.0, (features + 1) ** 0.5 / 2))
    assert max(away(logistic())) > 1
