"""How the price of a query with something open is split: a part for choosing, the rest for the answer.

Guarantee: the shares add up to the price exactly; nothing here looks at data. Proof that all steps together keep the
price, though later ones depend on what earlier ones released: choosing.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.query.choose.open_parts import OpenPart
from discreet.query.estimate.noise_plan import Allowance
from discreet.query.plan.nodes import Aggregate

_PIECES = 1024
"""Shares are multiples of one part in so many."""
FEW, MANY = 0.35, 0.1
"""Of the price of one total, and of many groups: what choosing clips costs. With groups between, by their number."""
SIZES = 0.02
"""What the sizes of groups cost."""
VALUES, VALUES_OF_MEANS = 0.12, 0.05
"""What bounds of values cost, where some are open; where all are of means, about their middle is enough."""
DISTINCT = 0.1
"""What it costs to see whether one value of each unit is enough to count all distinct ones."""
SELECTING, REACH = 0.2, 0.04
"""What selecting keys costs, and finding out how many keys a unit has."""
GUESSED_GROUPS = 64
MOST_SIZED = 10_000
"""Listed groups beyond which their sizes are not looked at."""


@dataclass(frozen=True, slots=True)
class PriceShares:
    """Of the whole price: what each step of choosing gets for one grouping set."""

    reach: Fraction
    selecting: Fraction
    sizes: Fraction
    values: Fraction
    clips: Fraction
    distinct: Fraction

    @property
    def together(self) -> Fraction:
        """All that is spent before the answer."""
        return self.reach + self.selecting + self.sizes + self.values + self.clips + self.distinct


def shares(parts: Sequence[OpenPart], all_parts: int) -> tuple[PriceShares, ...]:
    """Of each open grouping set, where the question has so many in all: each takes an equal part of the price."""

    def share(of: float) -> Fraction:
        return Fraction(max(1, round(of * _PIECES / all_parts)), _PIECES) if of else Fraction(0)

    return tuple(
        PriceShares(
            share(REACH if part.groups else 0.0),
            share(SELECTING if part.selects else 0.0),
            share(SIZES if looks_at_sizes(part) else 0.0),
            share(_value_share(part)),
            share(clip_share(part) if part.clips else 0.0),
            share(DISTINCT if part.distinct else 0.0),
        )
        for part in parts
    )


def looks_at_sizes(opened: OpenPart) -> bool:
    """Whether the sizes of listed groups are looked at: clips depend on how large groups are."""
    many = opened.part.group_count
    return bool(opened.clips) and many is not None and 1 < many <= MOST_SIZED


def clip_share(opened: OpenPart) -> float:
    """What clips cost: a larger share where there are few groups, as there the clip decides all of the error."""
    return share_of_clips(1 if not opened.part.keys else opened.part.group_count or GUESSED_GROUPS)


def _value_share(opened: OpenPart) -> float:
    kinds = {opened.part.measures[place].measure.aggregate for place in opened.values}
    return VALUES_OF_MEANS if kinds == {Aggregate.AVG} else VALUES if kinds else 0.0


def share_of_clips(groups: int) -> float:
    """The same, by the number of groups."""
    return max(MANY, FEW / math.pow(max(1, groups), 0.35))


def portion(allowance: Allowance, share: Fraction) -> Pure | ZCDP:
    """A share of ε or ρ, without δ.

    >>> portion(Approx(1, "1e-9"), Fraction(1, 4))
    Pure(epsilon='1/4')
    """
    return ZCDP(share * allowance.rho) if isinstance(allowance, ZCDP) else Pure(share * allowance.epsilon)


def selecting_allowance(allowance: Allowance, share: Fraction, selecting: int) -> Allowance:
    """What selecting the keys of one grouping set may cost, of so many that do: with an equal part of half of δ."""
    match allowance:
        case ZCDP(rho=rho, delta=delta):
            return ZCDP(share * rho, delta / (2 * selecting))
        case Approx(epsilon=epsilon, delta=delta):
            return Approx(share * epsilon, delta / (2 * selecting))
        case _:
            return Pure(share * allowance.epsilon)


def answering_allowance(allowance: Allowance, share: Fraction, *, selects: bool, needs_delta: bool) -> Allowance:
    """What is left for the answer; δ only where it needs that, half of it where keys were selected before."""
    match allowance:
        case ZCDP(rho=rho, delta=delta):
            return ZCDP(share * rho, (delta / 2 if selects else delta) if needs_delta else Fraction(0))
        case Approx(epsilon=epsilon, delta=delta) if needs_delta and delta:
            return Approx(share * epsilon, delta / 2 if selects else delta)
        case _:
            return Pure(share * allowance.epsilon)


def as_event(allowance: Allowance) -> Event:
    """An event that stands for whatever keeps an allowance: its noise is known only when the choices are made."""
    match allowance:
        case Pure(epsilon=epsilon):
            return events.Pure(epsilon)
        case Approx(epsilon=epsilon, delta=delta):
            return events.Approx(epsilon, delta) if delta else events.Pure(epsilon)
        case ZCDP(rho=rho, delta=delta):
            return events.ZCDP(rho, delta)


def pure_epsilon(budget: Pure | ZCDP) -> Fraction:
    """The ε of a choice that keeps the budget: what is ε-DP is ε²/2-zCDP, so √(2ρ), rounded down.

    >>> pure_epsilon(Pure("1/4")), pure_epsilon(ZCDP("1/8"))
    (Fraction(1, 4), Fraction(1, 2))
    """
    if isinstance(budget, Pure):
        return budget.epsilon
    doubled = 2 * budget.rho
    fine = 1 << max(20, 40 + doubled.denominator.bit_length() - doubled.numerator.bit_length())
    return Fraction(isqrt(doubled.numerator * fine * fine // doubled.denominator), fine)
