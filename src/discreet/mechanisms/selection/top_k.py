"""The k best candidates, one after the other, each chosen privately among those that are left.

Guarantee: a release is the composition of ``k`` choices, each with the event of the choice that is repeated: with an
epsilon of ε/k each it is ε-differentially private, and every accountant may price it as k choices. Proof: top_k.md.

``top_k`` repeats the exponential mechanism. That is also the law of the one-shot rule "add Gumbel noise once to every
score and name the k largest in order" (Durfee and Rogers 2019), so the one-shot rule has the same price. One shot of
Laplace or exponential noise is another law, with another price; it is not offered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.answer import Answer
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, integer, positive
from discreet.mechanisms.base.mechanism import Mechanism, Priced
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.shared import Scores, Selection, level_and_count, two_of
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import Bits

Ranking = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopK(Priced[Scores, Ranking]):
    """Made by ``top_k(...)`` or ``peel(...)``: indices in the order in which they were chosen."""

    lists_all_outputs = True
    each: Selection
    k: int

    @property
    def epsilon(self) -> Fraction:
        """The pure price of all k choices together."""
        return self.k * self.each.epsilon

    @property
    def price(self) -> Pure:
        """The price as a promise; as ``Repeat`` of a choice it may be less under another measure."""
        return Pure(self.epsilon)

    @property
    def event(self) -> events.Event:
        """What a release writes into the ledger."""
        return self.each.event if self.k == 1 else events.Repeat(self.each.event, self.k)

    def story(self) -> str:
        """One line on what was done."""
        return f"{self.k} choices among those left: {self.each.story()}"

    def read(self, value: Any) -> Scores:
        """The scores, exactly; at least k of them."""
        scores = self.each.read(value)
        if len(scores) < self.k:
            raise BadData(f"scores must be at least {self.k}, one for each candidate to be chosen")
        return scores

    def draw(self, value: Scores, bits: Bits) -> Ranking:
        """The chosen indices."""
        left = np.arange(len(value))
        chosen = []
        for _ in range(self.k):
            place = self.each.draw(value, bits)
            chosen.append(int(left[place]))
            left, value = np.delete(left, place), _without(value, place)
        return tuple(chosen)

    def law(self, value: Scores) -> dict[Ranking, tuple[Fraction, Fraction]]:
        """Bounds of each ranking's probability, by the chain rule."""
        return _chain(self.each, self.k, value, list(range(len(value))))

    def gap_at(self, confidence: Number, candidates: int) -> float:
        """With this confidence, for all j: the j-th chosen score is at most this far below the j-th best one.

        Each choice misses with probability at most (1 - confidence)/k, and the best one left is at least the j-th.

        >>> one, many = top_k(k=1, sensitivity=1, epsilon=1), top_k(k=5, sensitivity=1, epsilon=5)
        >>> one.gap_at(0.95, 100) < many.gap_at(0.95, 100)
        True
        """
        level, n = level_and_count(confidence, candidates)
        return self.each.gap_at(1 - (1 - level) / self.k, n)

    def release(self, value: Any, receipt: Receipt | None = None, *, candidates: Sequence[Any] | None = None) -> Answer:
        """The chosen indices in order, or the candidates at those places of a public list."""
        if candidates is None:
            return Mechanism.release(self, value, receipt)
        exact = self.read(value)
        if len(candidates) != len(exact):
            raise BadParameter("candidates", candidates, "must be as many as there are scores")
        answer = Mechanism.release(self, exact, receipt)
        return replace(answer, value=tuple(candidates[i] for i in answer.value))


def top_k(
    *,
    k: int,
    sensitivity: Number | None = None,
    epsilon: Number | None = None,
    rate: Number | None = None,
    monotone: bool = False,
) -> TopK:
    """The k best by the exponential mechanism, or by one shot of Gumbel noise, which is the same law.

    From two of sensitivity, epsilon (for all k together) and rate.

    >>> m = top_k(k=2, sensitivity=1, epsilon=1)
    >>> m.event, m.each.rate
    (Repeat(event=Exponential(epsilon='1/2'), times=2), Fraction(1, 4))
    >>> m.release([0, 1000, 0, 9000]).value
    (3, 1)
    """
    times = integer(k, "k", at_least=1)
    share = None if epsilon is None else positive(epsilon, "epsilon") / times
    return TopK(Exponential(*two_of("top_k", sensitivity, share, rate, monotone), monotone), times)


def peel(each: Selection, *, k: int) -> TopK:
    """The k best by any choice, repeated on those that are left.

    >>> from discreet.mechanisms.selection.permute_and_flip import permute_and_flip
    >>> peel(permute_and_flip(sensitivity=1, epsilon="1/2"), k=3).cost
    'epsilon 1.5'
    """
    given: object = each
    if not isinstance(given, Selection):
        raise BadParameter("each", given, "must be a choice, such as permute_and_flip(sensitivity=1, epsilon=1)")
    return TopK(given, integer(k, "k", at_least=1))


def _without(scores: Scores, place: int) -> Scores:
    if isinstance(scores, tuple):
        return scores[:place] + scores[place + 1 :]
    return np.delete(scores, place)


def _chain(each: Selection, k: int, scores: Scores, names: list[int]) -> dict[Ranking, tuple[Fraction, Fraction]]:
    if k == 0:
        return {(): (Fraction(1), Fraction(1))}
    law = {}
    for i, (low, high) in each.law(scores).items():
        rest = _chain(each, k - 1, _without(scores, i), names[:i] + names[i + 1 :])
        for tail, (a, b) in rest.items():
            law[(names[i], *tail)] = low * a, high * b
    return law
