"""zCDP accounting: ρ's add up.

Promise: the price is a true ρ of the event, exactly rational wherever it has a closed form.
Believes: Bun and Steinke 2016 (composition, also adaptive; δ's of approximate zCDP add up too), Canonne, Kamath and
Steinke 2020 (discrete Gaussian), Cesar and Rogers 2021 (bounded range), and the proof in ``pure_to_zcdp_tight``.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import NoPrice
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.conversions import bounded_range_to_zcdp, pure_to_zcdp_tight
from discreet.privacy.accountants.laplace_zcdp import discrete_laplace_rho, laplace_rho
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event, MaxNoise
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.record import short_up


def price_zcdp(event: Event) -> ZCDP:
    """The ρ of an event, with the δ of approximate zCDP where a part has one.

    Guarantee: sensitivity²/(2σ²) for both Gaussians; the least ρ of Laplace noise (ε - 1 + e^-ε on the line); ε²/8 for
    a loss of range ε; ε tanh(ε/2) for anything ε-DP; and
    an (ε, δ) box is δ-approximately ε tanh(ε/2), being the pure box except with probability δ. A sample is priced
    only where its inner event has an (ε, δ): a sampled Gaussian is not zCDP with a smaller ρ.

    >>> price_zcdp(events.Repeat(events.Gaussian(sigma=10), times=100))
    ZCDP(rho='1/2', delta=0)
    """
    match event:
        case (
            events.Gaussian(sigma_squared=s, sensitivity_squared=d)
            | events.DiscreteGaussian(sigma_squared=s, sensitivity_squared=d)
        ):
            return ZCDP(d / (2 * s))
        case events.Laplace(scale=b, sensitivity=d):
            return ZCDP(laplace_rho(d / b))
        case events.DiscreteLaplace(scale=b, sensitivity=d):
            return ZCDP(discrete_laplace_rho(b, int(d)))
        case events.Exponential(epsilon=e) | events.NoisyMax(epsilon=e, noise=MaxNoise.GUMBEL):
            return bounded_range_to_zcdp(e)
        case events.ZCDP(rho=rho, delta=delta):
            return ZCDP(rho, delta)
        case events.Stated(event=inner):
            try:
                return price_zcdp(inner)
            except NoPrice:
                return _boxed(event)
        case events.Interactive(event=inner):
            return price_zcdp(inner)
        case events.Repeat(event=inner, times=k):
            each = price_zcdp(inner)
            return _zcdp(k * each.rho, k * each.delta)
        case events.Composed(events=parts):
            prices = [price_zcdp(part) for part in parts]
            return _zcdp(sum((p.rho for p in prices), Fraction(0)), sum((p.delta for p in prices), Fraction(0)))
        case events.Parallel(events=parts):
            prices = [price_zcdp(part) for part in parts]
            return ZCDP(
                max((p.rho for p in prices), default=Fraction(0)), max((p.delta for p in prices), default=Fraction(0))
            )
        case _:
            return _boxed(event)


def _boxed(event: Event) -> ZCDP:
    """By the (ε, δ) of the event alone."""
    box = price_basic(event)
    return ZCDP(pure_to_zcdp_tight(Pure(box.epsilon)).rho, box.delta)


def _zcdp(rho: Fraction, delta: Fraction) -> ZCDP:
    if delta >= 1:
        raise NoPrice("the deltas add up to 1 or more: no promise is left")
    return ZCDP(short_up(rho), short_up(delta))
