"""Gaussian accounting: squares of μ add up, exactly.

Promise: the price is a true μ of the event; for Gaussian noise it is the least.
Believes: Dong, Roth and Su 2022 (Corollary 2: composition), and the proof in ``pure_to_gdp``. The discrete Gaussian is
refused: its curve is not above the Gaussian one. So is any box with δ > 0: no μ covers it.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import NoPrice
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.conversions import pure_to_gdp
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import GDP, Pure
from discreet.privacy.promises.record import brief, short_up


def price_gdp(event: Event) -> GDP:
    """The μ of an event.

    Guarantee: sensitivity/σ for Gaussian noise; -2 Φ⁻¹(1/(1+e^ε)) for anything ε-DP; squares add up.

    >>> price_gdp(events.Repeat(events.Gaussian(sigma=10), times=100))
    GDP(mu_squared=1)
    """
    match event:
        case events.Gaussian(mu_squared=m):
            return GDP(mu_squared=m)
        case events.DiscreteGaussian():
            raise NoPrice("the discrete Gaussian is not Gaussian-differentially private; price it in zCDP")
        case events.ZCDP():
            raise NoPrice("a zCDP bound says nothing about mu")
        case events.Stated(event=inner):
            return price_gdp(inner)
        case events.Repeat(event=inner, times=k):
            return GDP(mu_squared=short_up(k * price_gdp(inner).mu_squared))
        case events.Composed(events=parts):
            return GDP(mu_squared=short_up(sum((price_gdp(part).mu_squared for part in parts), Fraction(0))))
        case events.Parallel(events=parts):
            return GDP(mu_squared=max((price_gdp(part).mu_squared for part in parts), default=Fraction(0)))
        case _:
            box = price_basic(event)
            if box.delta:
                raise NoPrice(f"no mu covers an event with delta above 0: {brief(event)}")
            return pure_to_gdp(Pure(box.epsilon))
