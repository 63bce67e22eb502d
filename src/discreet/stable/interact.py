"""Ask release after release, each chosen after seeing the earlier answers, until the budget is used up.

Promise: all answers together keep the budget, however they were chosen. A question is paid before the data are looked
at; one that does not fit is refused, and nothing is drawn or spent. Nothing is ever given back. Any number of threads
may ask.
Believes: privacy/budgets/filters.py for the theorem behind each kind of budget.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from discreet.answer import Answer
from discreet.errors import BadParameter
from discreet.privacy.budgets.filters import Filter, Rule
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.receipt import Receipt
from discreet.stable.core.domains import Rows, read_rows
from discreet.stable.core.metrics import ADD_REMOVE, Relation, RowMetric, as_metric, relation_name
from discreet.stable.core.release import Release


@dataclass(frozen=True, slots=True)
class Asked:
    """One question that was paid: what it cost, what was done, and the answer, if it got that far."""

    receipt: Receipt
    story: tuple[str, ...]
    answer: Answer | None


class Interaction:
    """Data with a budget, open for questions. Made by ``interact``.

    Guarantee: for inputs one step apart in ``metric``, all answers together keep ``budget``.

    >>> from discreet.mechanisms.additive.laplace import laplace
    >>> from discreet.privacy.promises.measures import Pure
    >>> from discreet.stable.maps.counting import count
    >>> session = interact([3, 1, 4, 1, 5], Pure(1))
    >>> question = count() >> laplace(epsilon="0.4")
    >>> one, two = session.ask(question), session.ask(question)
    >>> session.charged, session.remaining
    (Pure(epsilon='4/5'), Pure(epsilon='1/5'))
    >>> session.ask(question)
    Traceback (most recent call last):
        ...
    discreet.errors.OverBudget: asked for epsilon 0.4, and epsilon 0.2 is left; ask for less, or accept more error
    """

    __slots__ = ("_data", "_filter", "_history", "_lock", "_metric")

    def __init__(self, data: Any, spending: Filter, metric: RowMetric) -> None:
        self._data = tuple(read_rows(data))  # a copy: later changes of the caller's list are other data
        spending.hold_for(relation_name(metric))
        self._filter = spending
        self._metric = metric
        self._history: list[Asked] = []
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Interaction(budget={self.budget!r}, remaining={self.remaining!r}, asked={len(self.history)})"

    @property
    def metric(self) -> RowMetric:
        """What one step between inputs is."""
        return self._metric

    @property
    def budget(self) -> Measure:
        """The promise that all answers together keep."""
        return self._filter.budget

    @property
    def charged(self) -> Measure:
        """The sum of what was charged so far; what is promised is ``budget``, as ``Filter.charged`` explains."""
        return self._filter.charged

    @property
    def remaining(self) -> Measure:
        """What one further question may cost."""
        return self._filter.remaining

    @property
    def remaining_by_account(self) -> tuple[Measure, ...]:
        """What is left of each sum that is counted: under Rule.EITHER of (ε, δ) and of ρ, else of one."""
        return self._filter.remaining_by_account

    @property
    def history(self) -> tuple[Asked, ...]:
        """What was asked, in the order in which the answers came."""
        with self._lock:
            return tuple(self._history)

    def ask(self, release: Release) -> Answer:
        """Pay for a release, then make it; or raise OverBudget and change nothing."""
        self._check(release)
        event, story = release.event(), release.story()
        receipt = self._filter.spend(event)  # refuses here, before anything is drawn
        answer: Answer | None = None
        try:
            answer = release(list(self._data), receipt)
        finally:
            with self._lock:
                self._history.append(Asked(receipt, story, answer))
        return answer

    def _check(self, release: Release) -> None:
        given: object = release
        if not isinstance(given, Release):
            raise BadParameter(
                "release",
                type(given).__name__,
                "must be a release: a map >> a mechanism; pay for others with Filter(budget).spend(m.event)",
            )
        if given.input_metric != self._metric:
            raise BadParameter(
                "release",
                f"priced for {given.input_metric}",
                f"must be priced for {self._metric}, as the budget: build it with that as neighbours=",
            )
        if not isinstance(given.input_domain, Rows):
            raise BadParameter("release", f"of {given.input_domain}", "must take rows")


def interact(
    data: Any, budget: Measure | Filter, *, neighbours: Relation = None, rule: Rule | None = None
) -> Interaction:
    """Open data for questions that may be chosen as one goes.

    ``neighbours`` says for whom the budget is meant: rows added or removed unless it is given; ``units("person")`` for
    people with many rows. A filter that is given is held for these neighbours from then on, and refused if it was held
    for others. ``rule`` chooses the theorem behind an (ε, δ) budget; see ``dp.Filter``.
    """
    given: object = budget
    if isinstance(given, Filter):
        if rule is not None:
            raise BadParameter("rule", rule.name, "must be left out: the filter has one")
        return Interaction(data, given, as_metric(neighbours) or ADD_REMOVE)
    return Interaction(data, Filter(budget, rule), as_metric(neighbours) or ADD_REMOVE)  # type: ignore[arg-type]
