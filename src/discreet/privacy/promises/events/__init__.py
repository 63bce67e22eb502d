"""What ran, written down: one frozen record per kind of release. Accountants price them; they know no price.

Promise: the meaning of an event never changes. A new meaning is a new class.
Believes: whoever writes an event down ran a mechanism whose pair of laws is at most as far apart as the event's.

P and Q are the laws of the output on two neighbouring inputs. A sensitivity is how far the exact answer moves between
them, and the event holds for the neighbours that it was worked out for. ``neighbours`` names these where that is known:
prices of events that are stated for different neighbours are never added up.
"""

from discreet.privacy.promises.events.additive import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from discreet.privacy.promises.events.base import Event, stated_for
from discreet.privacy.promises.events.black_boxes import ZCDP, Approx, Biased, Pure, TradeOff
from discreet.privacy.promises.events.choices import (
    AboveThreshold,
    Exponential,
    MaxNoise,
    NoisyMax,
    PermuteAndFlip,
    RandomizedResponse,
    Threshold,
)
from discreet.privacy.promises.events.combined import (
    Composed,
    Interactive,
    Parallel,
    Repeat,
    Sampling,
    Stated,
    Subsampled,
)

__all__ = [
    "ZCDP",
    "AboveThreshold",
    "Approx",
    "Biased",
    "Composed",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Event",
    "Exponential",
    "Gaussian",
    "Interactive",
    "Laplace",
    "MaxNoise",
    "NoisyMax",
    "Parallel",
    "PermuteAndFlip",
    "Pure",
    "RandomizedResponse",
    "Repeat",
    "Sampling",
    "Stated",
    "Subsampled",
    "Threshold",
    "TradeOff",
    "stated_for",
]
