"""Randomized response that stays private when its coins are biased.

U in [0, 1) is read bit by bit. In the middle lies a stretch of length ``share`` where the true category is reported;
the rest is divided evenly among the categories, which are reported there whatever the truth is. So the strings that
lead to an output differ between two truths by the middle stretch alone, and no bias of single bits makes much of it.

Guarantee: a report is ε-differentially private for *every* γ-Santha-Vazirani source. Proof: laplace.md, part 4.
Believes: the bits of different reports are independent of each other.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.biased.bit_tree import Interval
from discreet.biased.certify import Pair, depth_for
from discreet.biased.sources import SanthaVazirani, largest_probability
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, integer, positive
from discreet.mechanisms.base.mechanism import Priced
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.record import show
from discreet.randomness import Bits

_SHARES = 1 << 16
_MOST = 256
_TRUTH = -1  # the stretch where the truth is reported

Stretch = tuple[Fraction, Fraction, int]


@dataclass(frozen=True, slots=True)
class BiasedResponse(Priced[int, int]):
    """Made by ``biased_randomized_response(...)``: that is where the price is certified."""

    lists_all_outputs = True
    share: Fraction
    categories: int
    model: SanthaVazirani
    epsilon: Fraction

    @property
    def price(self) -> Pure:
        """The price as a promise, under every source of the model."""
        return Pure(self.epsilon)

    @property
    def event(self) -> events.Biased:
        """What a report writes into the ledger."""
        return events.Biased(self.epsilon)

    def story(self) -> str:
        """One line on what was done."""
        return (
            f"randomized response over {self.categories} categories; private even if each bit is biased by gamma "
            f"{show(self.model.gamma)}"
        )

    @property
    def truth_fair(self) -> Fraction:
        """The probability that the truth is reported, if the bits are fair."""
        return self.share + (1 - self.share) / self.categories

    @property
    def truth_at_least(self) -> Fraction:
        """The least probability that the truth is reported, over all sources of the model and all truths."""
        depth = depth_for(self.model.gamma, Fraction(0))
        others = ([s for s in _stretches(self.share, self.categories) if s[2] not in {_TRUTH, truth}]
                  for truth in range(self.categories))  # fmt: skip
        return 1 - max(largest_probability(_outside(stretches, depth), self.model, depth=depth) for stretches in others)

    def read(self, value: Any) -> int:
        """The category, from 0 to categories - 1."""
        must = f"the value must be a category from 0 to {self.categories - 1}"
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise BadData(must)
        if not 0 <= int(value) < self.categories:
            raise BadData(must)
        return int(value)

    def draw(self, value: int, bits: Bits) -> int:
        """The category that is reported; the k-th bit drawn is the k-th bit of U."""
        stretches = _stretches(self.share, self.categories)
        u = n = 0
        while True:
            u, n = u << 1 | bits.bits(1), n + 1
            low, high = Fraction(u, 1 << n), Fraction(u + 1, 1 << n)
            for start, end, category in stretches:
                if start <= low and high <= end:
                    return value if category == _TRUTH else category

    def law(self, value: int) -> dict[Any, tuple[Fraction, Fraction]]:
        """The exact probability of each report if the bits are fair."""
        base = (1 - self.share) / self.categories
        exact = {category: base + (self.share if category == value else 0) for category in range(self.categories)}
        return {category: (p, p) for category, p in exact.items()}


@lru_cache(maxsize=256)
def _stretches(share: Fraction, categories: int) -> tuple[Stretch, ...]:
    """From 0 to 1: where U lies, and what is reported there."""
    half, base = Fraction(1, 2), (1 - share) / categories
    result: list[Stretch] = []
    for category in range(categories):
        start, end = category * base, (category + 1) * base  # as if the middle were taken out
        middle = (1 - share) / 2
        if end <= middle:
            result.append((start, end, category))
        elif start >= middle:
            result.append((start + share, end + share, category))
        else:
            result += [(start, middle, category), (middle + share, end + share, category)]
    result.append((half - share / 2, half + share / 2, _TRUTH))
    return tuple(result)


def _outside(stretches: list[Stretch], depth: int) -> list[Interval]:
    return [(int(a * (1 << depth)), -int(-b * (1 << depth) // 1)) for a, b, _ in stretches]


def _inside(stretches: list[Stretch], depth: int) -> list[Interval]:
    return [(-int(-a * (1 << depth) // 1), int(b * (1 << depth))) for a, b, _ in stretches]


def _keeps(share: Fraction, categories: int, epsilon: Fraction, gamma: Fraction) -> bool:
    """Whether the price is proven for every category, in the one direction that can be above 1."""
    depth = depth_for(gamma, Fraction(categories.bit_length()))
    stretches = _stretches(share, categories)
    for category in range((categories + 1) // 2):  # the others are mirror images
        always = [s for s in stretches if s[2] == category]
        if_true = [s for s in stretches if s[2] in {category, _TRUTH}]
        first = _inside(if_true, depth), _outside(if_true, depth)
        if not Pair(first, (_inside(always, depth), _outside(always, depth)), depth).surely_at_most(epsilon, gamma):
            return False
    return True


def biased_randomized_response(epsilon: Number, gamma: Number, *, categories: int = 2) -> BiasedResponse:
    """The response that tells the truth most often and is ε-DP for every γ-Santha-Vazirani source.

    >>> m = biased_randomized_response(epsilon=1, gamma="0.1")
    >>> m.cost, 0.6 < m.truth_fair < 0.74, m.truth_at_least < m.truth_fair
    ('epsilon 1', True, True)
    >>> m.release(1).value in {0, 1}
    True
    """
    wanted, model = positive(epsilon, "epsilon"), SanthaVazirani(gamma)
    count = integer(categories, "categories", at_least=2)
    if count > _MOST:
        raise BadParameter("categories", categories, f"must be at most {_MOST}")
    return BiasedResponse(_share(wanted, model.gamma, count), count, model, wanted)


@lru_cache(maxsize=256)
def _share(epsilon: Fraction, gamma: Fraction, categories: int) -> Fraction:
    low, high = 0, _SHARES
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _keeps(Fraction(middle, _SHARES), categories, epsilon, gamma) else (low, middle)
    if low == 0:
        raise BadParameter(
            "epsilon",
            float(epsilon),
            f"must be larger with gamma {float(gamma):g}: at this privacy cost the truth could be reported less than "
            f"once in {_SHARES} reports",
        )
    return Fraction(low, _SHARES)
