"""Events to and from Google's dp_accounting (the extra ``accounting``).

Promise: the event on the other side costs at least as much: floats are rounded towards less noise. An event without a
counterpart of the same meaning is refused.
Believes: the docstrings of dp_accounting.dp_event.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.errors import MissingExtra, NoPrice
from discreet.exact import exp_up, float_down, float_up, log_up, measured, sqrt_down
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event, Sampling
from discreet.privacy.promises.measures import HUGE
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.record import brief


def to_dp_accounting(event: Event) -> Any:
    """The DpEvent of the same meaning.

    >>> to_dp_accounting(events.Gaussian(sigma=10, sensitivity=2))
    GaussianDpEvent(noise_multiplier=5.0)
    """
    theirs = _their_events()
    match event:
        case events.Gaussian(mu_squared=m):
            return theirs.GaussianDpEvent(float_down(sqrt_down(1 / m)))
        case events.Laplace(scale=b, sensitivity=d):
            return theirs.LaplaceDpEvent(float_down(b / d))
        case events.DiscreteLaplace(scale=b, sensitivity=d):
            return theirs.DiscreteLaplaceDpEvent(float_up(1 / b), int(d))
        case events.RandomizedResponse(epsilon=e, categories=k) if e <= HUGE:
            return theirs.RandomizedResponseDpEvent(float_down(k / (exp_up(e) + k - 1)), k)
        case events.ZCDP(rho=rho, delta=delta) if not delta:
            return theirs.ZCDpEvent(float_up(rho))
        case events.Stated(event=inner):
            return to_dp_accounting(inner)
        case events.Repeat(event=inner, times=k):
            return theirs.SelfComposedDpEvent(to_dp_accounting(inner), k)
        case events.Composed(events=parts):
            return theirs.ComposedDpEvent([to_dp_accounting(part) for part in parts])
        case events.Subsampled(event=inner, rate=q, how=Sampling.POISSON, neighbours=Neighbours.ADD_REMOVE):
            return theirs.PoissonSampledDpEvent(float_up(q), to_dp_accounting(inner))
        case events.Subsampled(event=inner, rate=q, how=Sampling.WITHOUT_REPLACEMENT, neighbours=Neighbours.CHANGE_ONE):
            return theirs.SampledWithoutReplacementDpEvent(q.denominator, q.numerator, to_dp_accounting(inner))
        case _:
            raise NoPrice(f"dp_accounting has no event with the meaning of {brief(event)}")


def from_dp_accounting(event: Any) -> Event:
    """The event of the same meaning; its floats are binary numbers, as it computes with them.

    >>> from_dp_accounting(to_dp_accounting(events.Laplace(scale=3)))
    Laplace(scale=3, sensitivity=1)
    """
    theirs = _their_events()
    match event:
        case theirs.GaussianDpEvent(noise_multiplier=z):
            return events.Gaussian(sigma=measured(z))
        case theirs.LaplaceDpEvent(noise_multiplier=z):
            return events.Laplace(scale=measured(z))
        case theirs.DiscreteLaplaceDpEvent(noise_parameter=a, sensitivity=d) if a > 0:
            return events.DiscreteLaplace(scale=1 / Fraction(a), sensitivity=d)
        case theirs.RandomizedResponseDpEvent(noise_parameter=p, num_buckets=k) if p > 0:
            each = Fraction(p) / k  # the rest of the mass is on the true value
            return events.RandomizedResponse(log_up((1 - Fraction(p) + each) / each), k)
        case theirs.ZCDpEvent(rho=rho, xi=0):
            return events.ZCDP(measured(rho))
        case theirs.NoOpDpEvent():
            return events.Composed([])
        case theirs.SelfComposedDpEvent(event=inner, count=k):
            return events.Repeat(from_dp_accounting(inner), k)
        case theirs.ComposedDpEvent(events=parts):
            return events.Composed([from_dp_accounting(part) for part in parts])
        case theirs.PoissonSampledDpEvent(sampling_probability=q, event=inner):
            return events.Subsampled(from_dp_accounting(inner), measured(q))
        case theirs.SampledWithoutReplacementDpEvent(source_dataset_size=n, sample_size=m, event=inner) if n > 0:
            return events.Subsampled(from_dp_accounting(inner), Fraction(m, n), Sampling.WITHOUT_REPLACEMENT)
        case _:
            raise NoPrice(f"there is no event here with the meaning of {type(event).__name__}")


def _their_events() -> Any:
    try:
        import dp_accounting.dp_event
    except ImportError:
        raise MissingExtra("events of dp_accounting", extra="accounting") from None
    return dp_accounting.dp_event
