"""Basic accounting: ε's and δ's add up.

Promise: the price is a true (ε, δ) of the event, for parameters fixed in advance or chosen as one goes.
Believes: basic composition (Dwork, Kenthapadi, McSherry, Mironov and Naor 2006).
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import NoPrice
from discreet.exact import log_up
from discreet.privacy.accountants.amplification import amplified
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Approx
from discreet.privacy.promises.record import brief, short_up


def price_basic(event: Event) -> Approx:
    """The (ε, δ) of an event, δ being 0 for what is purely private.

    >>> price_basic(events.Composed([events.Laplace(scale=10), events.Approx("0.2", "1e-6")]))
    Approx(epsilon='3/10', delta='1/1000000')
    """
    match event:
        case events.Laplace(scale=b, sensitivity=d) | events.DiscreteLaplace(scale=b, sensitivity=d):
            return Approx(d / b, 0)
        case (
            events.RandomizedResponse(epsilon=e)
            | events.Exponential(epsilon=e)
            | events.PermuteAndFlip(epsilon=e)
            | events.NoisyMax(epsilon=e)
            | events.AboveThreshold(epsilon=e)
            | events.Pure(epsilon=e)
        ):
            return Approx(e, 0)
        case (
            events.Approx(epsilon=e, delta=delta)
            | events.Threshold(epsilon=e, delta=delta)
            | events.Stated(epsilon=e, delta=delta)
        ):
            return Approx(e, delta)
        case events.TradeOff(steepest=slope, lost=delta):
            return Approx(log_up(slope) if slope > 1 else 0, delta)
        case events.Subsampled(event=inner, rate=q, how=how, neighbours=relation):
            return amplified(price_basic(inner), q, how, relation)
        case events.Interactive(event=inner):
            return price_basic(inner)
        case events.Repeat(event=inner, times=k):
            each = price_basic(inner)
            return _approx(k * each.epsilon, k * each.delta)
        case events.Composed(events=parts):
            prices = [price_basic(part) for part in parts]
            return _approx(sum((p.epsilon for p in prices), Fraction(0)), sum((p.delta for p in prices), Fraction(0)))
        case events.Parallel(events=parts):
            prices = [price_basic(part) for part in parts]
            return Approx(
                max((p.epsilon for p in prices), default=Fraction(0)),
                max((p.delta for p in prices), default=Fraction(0)),
            )
        case _:
            raise NoPrice(f"basic accounting has no (epsilon, delta) for {brief(event)}")


def _approx(epsilon: Fraction, delta: Fraction) -> Approx:
    if delta >= 1:
        raise NoPrice("the deltas add up to 1 or more: no promise is left")
    return Approx(short_up(epsilon), short_up(delta))
