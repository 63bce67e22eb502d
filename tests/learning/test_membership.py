"""Membership trials: planted faults are refuted, the real thing is not."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.checking import audit_one_run
from discreet.errors import BadData
from discreet.learning.membership import MembershipTrial, membership_trial
from discreet.learning.models.naive_bayes import CategoricalNB
from discreet.learning.preprocessing.columns import Categorical
from discreet.learning.preprocessing.scaling import StandardScaler
from discreet.learning.sums import ExactSums, release
from discreet.privacy.promises.measures import GDP, Approx

SIZE = 400
BUDGET = Approx("2.2", "1e-15")


def trial(noise: float) -> MembershipTrial:
    """Each canary has a key of its own; the model is the noisy histogram of keys."""

    def learn(rows: Any, labels: Any) -> Any:
        counts = np.bincount(rows[:, 0], minlength=SIZE).astype(np.int64)
        return release(ExactSums(counts, 1), Fraction(1, 16) / Fraction(noise) ** 2)[0]

    keys = np.arange(SIZE)[:, None]
    return membership_trial(
        learn, keys[:0], np.zeros(0), canary_rows=keys, canary_labels=np.zeros(SIZE),
        score=lambda model, row, label: float(model[row[0]]),
    )  # fmt: skip


def test_noise_as_promised_is_not_refuted_and_much_less_of_it_is() -> None:
    """mu = 1/4 keeps (2.2, 1e-15): a false alarm below 1e-8, by the audit's own confidence."""
    good, bad = (trial(noise) for noise in (1.0, 0.05))
    assert audit_one_run(good.mechanism, good.canaries, score=good.score, claim=BUDGET).ok
    assert audit_one_run(bad.mechanism, bad.canaries, score=bad.score, claim=BUDGET, guesses=200).refuted


def test_a_classifier_is_not_refuted() -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.integers(0, 50, (2000, 2)), rng.integers(0, 2, 2000)
    canary_rows, canary_labels = rng.integers(0, 50, (100, 2)), rng.integers(0, 2, 100)

    def learn(x: Any, y: Any) -> Any:
        return CategoricalNB(columns=[Categorical(50)] * 2, classes=[0, 1], budget=GDP("1/4")).fit(x, y)

    made = membership_trial(learn, rows, labels, canary_rows=canary_rows, canary_labels=canary_labels)
    assert audit_one_run(made.mechanism, made.canaries, score=made.score, claim=BUDGET).ok


@pytest.mark.parametrize("declared", [True, False])
def test_bounds_that_are_taken_from_the_data_are_refuted(declared: bool) -> None:
    """Each canary reaches far in a column of its own. With declared bounds the claim stands (false alarm below 1e-8);
    the planted fault reads bounds off the rows, and the scale of a column tells whether its canary is there: 70 right
    guesses (at least 35 of 200 canaries are in and out, but for 9 deviations), allowed with a chance of 0.732^70.
    """
    size = 200
    promise = Approx(1, "1e-10")

    def learn(x: Any, y: Any) -> Any:
        found = [(float(low), float(high)) for low, high in zip(x.min(axis=0), x.max(axis=0), strict=True)]
        return StandardScaler(bounds=(0, 100) if declared else found, budget=promise).fit(x)

    made = membership_trial(
        learn, np.repeat([[0.0], [1.0]], 20, axis=0) * np.ones(size), np.zeros(40), canary_rows=100 * np.eye(size),
        canary_labels=np.zeros(size), score=lambda model, row, label: float(model.scale_[int(row.argmax())]),
    )  # fmt: skip
    report = audit_one_run(made.mechanism, made.canaries, score=made.score, claim=promise, guesses=70)
    assert report.refuted is not declared


def test_lengths_must_agree() -> None:
    with pytest.raises(BadData):
        membership_trial(lambda x, y: None, [[1]], [1, 2], canary_rows=[[1]], canary_labels=[1])
