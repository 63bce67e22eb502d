"""Advanced composition: ε grows with the square root of the number of uses, for a little more δ.

Promise: the price is a true (ε, δ) of the whole, for parameters fixed in advance.
Believes: Dwork, Rothblum and Vadhan 2010, Theorem III.3: k uses of (ε, δ) are
(ε√(2k log(1/δ')) + kε(e^ε - 1), kδ + δ'). For unlike parts the same proof (Azuma: losses within ±ε_i, whose means are
at most ε_i(e^{ε_i} - 1)) gives √(2 log(1/δ') Σε_i²) + Σ ε_i(e^{ε_i} - 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from discreet.errors import BadParameter, NoPrice
from discreet.exact import Number, exp_up, log_up, sqrt_up
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import HUGE, Approx, small_probability
from discreet.privacy.promises.record import short_up, show


def price_advanced(event: Event, slack: Number) -> Approx:
    """The (ε, δ) of the parts of an event together, where ``slack`` is the δ' that is spent on top of their δ's.

    >>> price = price_advanced(events.Repeat(events.Pure("0.1"), times=100), slack=1e-6)
    >>> float(price.epsilon), price.delta == small_probability(1e-6)
    (6.3082..., True)
    """
    spare = small_probability(slack, "slack")
    if not spare:
        raise BadParameter("slack", slack, "must be above 0")
    mean = squares = deltas = Fraction(0)
    for each, times in _parts(event):
        if each.epsilon > HUGE:
            raise NoPrice(f"advanced composition is for small epsilons, not for {show(each.epsilon)}; use basic")
        mean += times * each.epsilon * (exp_up(each.epsilon) - 1)
        squares += times * each.epsilon**2
        deltas += times * each.delta
    if deltas + spare >= 1:
        raise NoPrice("the deltas add up to 1 or more: no promise is left")
    return Approx(short_up(mean + sqrt_up(2 * squares * log_up(1 / spare))), short_up(deltas + spare))


def _parts(event: Event, times: int = 1) -> Iterator[tuple[Approx, int]]:
    """The (ε, δ) of each part that ran one after another, and how often it ran."""
    match event:
        case events.Repeat(event=inner, times=k):
            yield from _parts(inner, times * k)
        case events.Composed(events=parts):
            for part in parts:
                yield from _parts(part, times)
        case _:
            yield price_basic(event), times
