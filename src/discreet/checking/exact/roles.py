"""What can be checked, by what it has: users' own classes may play these roles too, so they are protocols.

A role is asked for with ``isinstance``; the first that fits in ``check`` counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from discreet.privacy.promises.events import Event
from discreet.randomness import Bits


@runtime_checkable
class Reads(Protocol):
    """Whatever turns a user's value into its exact input first."""

    def read(self, value: Any) -> Any:
        """The exact input."""


@runtime_checkable
class Draws(Protocol):
    """Whatever draws an output for an exact input."""

    def draw(self, value: Any, bits: Bits) -> Any:
        """An output, from these bits."""


@runtime_checkable
class OfRows(Protocol):
    """Whatever is a function of rows, and says which of them are neighbours."""

    input_metric: Any


@runtime_checkable
class HasMap(Protocol):
    """Whatever applies a map before anything else."""

    map: Any


@runtime_checkable
class HasRelease(Protocol):
    """Whatever holds a release, or has a method of this name."""

    release: Any


@runtime_checkable
class ReadsAndDraws(Reads, Draws, Protocol):
    """A black box: an input is read, then an output is drawn."""


@runtime_checkable
class ClaimsPrivacy(Reads, Protocol):
    """A mechanism: it reads its input, and its event says what a release costs."""

    event: Event


@runtime_checkable
class DrawsOfRows(OfRows, Draws, Protocol):
    """A release: a randomized function of rows."""


@runtime_checkable
class MapThenMechanism(HasMap, Protocol):
    """A release of one mechanism after a map."""

    mechanism: Any


@runtime_checkable
class HasReleases(Protocol):
    """Several releases of the same data, in a tuple."""

    releases: Any


@runtime_checkable
class HasParts(Protocol):
    """Releases of disjoint parts of the data: keys and releases in a tuple, and what a row's key is."""

    parts: Any
    by: Any


@runtime_checkable
class DrawsIndependently(Protocol):
    """Whatever gives parts of its exact input to mechanisms that draw independently of each other."""

    def independent(self, value: Any) -> Sequence[tuple[Any, Any]]:
        """Each mechanism with its part; what is made of their outputs is post-processing."""


@runtime_checkable
class AdditiveNoise(Protocol):
    """Noise on whole numbers, with its law."""

    dimension: int

    def pmf(self, x: int) -> Any:
        """Bounds of the probability of a value."""


@runtime_checkable
class HasScale(Protocol):
    """Noise of Laplace's kind."""

    scale: Any
