"""A membership trial for ``dp.checking.audit_one_run``: canaries are put into the training rows or
left out, by fair coins.

A model that keeps its claim makes the two kinds of canaries look alike; one that does not is refuted with confidence.
The canaries are rows that stand out (random labels on rare rows are good ones); the score says how well the model
explains a canary's own label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import BadData

Learn = Callable[[Any, Any], Any]
Score = Callable[[Any, Any, Any], float]


@dataclass(frozen=True, slots=True)
class MembershipTrial:
    """What ``dp.checking.audit_one_run`` needs: ``mechanism``, ``canaries`` and ``score``."""

    learn: Learn
    rows: Any
    labels: Any
    canary_rows: Any
    canary_labels: Any
    explain: Score

    @property
    def canaries(self) -> range:
        """The canaries, by number."""
        return range(len(self.canary_rows))

    def mechanism(self, included: list[int]) -> Any:
        """The model that is learned from all rows and the canaries that are in."""
        rows = np.concatenate([self.rows, self.canary_rows[included]])
        labels = np.concatenate([self.labels, self.canary_labels[included]])
        return self.learn(rows, labels)

    def score(self, model: Any, canary: int) -> float:
        """Large where the canary looks included."""
        return float(self.explain(model, self.canary_rows[canary], self.canary_labels[canary]))


def membership_trial(
    learn: Learn, rows: Any, labels: Any, *, canary_rows: Any, canary_labels: Any, score: Score | None = None
) -> MembershipTrial:
    """A trial of ``learn(rows, labels)``, which returns a model.

    ``score(model, row, label)`` is by default the log-probability that the model gives to the canary's label.

    >>> trial = membership_trial(
    ...     lambda x, y: set(y.tolist()),
    ...     np.zeros((5, 1)),
    ...     np.zeros(5),
    ...     canary_rows=np.ones((4, 1)),
    ...     canary_labels=np.arange(1, 5),
    ...     score=lambda model, row, label: float(label in model),
    ... )
    >>> trial.score(trial.mechanism([0, 2]), 0), trial.score(trial.mechanism([0, 2]), 1)
    (1.0, 0.0)
    """
    x, y, canary_x, canary_y = (np.asarray(a) for a in (rows, labels, canary_rows, canary_labels))
    if len(x) != len(y) or len(canary_x) != len(canary_y):
        raise BadData("rows and labels must have the same length, and so must canaries and their labels")
    return MembershipTrial(learn, x, y, canary_x, canary_y, score or _log_probability)


def _log_probability(model: Any, row: Any, label: Any) -> float:
    place = int(np.searchsorted(model.classes_, label))
    return float(np.log(max(model.predict_proba(np.asarray(row)[None])[0, place], 1e-300)))
