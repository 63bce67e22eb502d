"""The role of an engine: what every engine does, and what some can do besides.

The abilities that only some engines have are protocols of their own, asked for with ``isinstance``. What each method
must compute is in ``plan/work.py``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.query.plan.schema import Schema, Stored
from discreet.query.plan.types import Value
from discreet.query.plan.work import AnyWork, Cells, Exact, GroupingSets, UnitSums, Work
from discreet.randomness import Bits


class Engine(Protocol):
    """Turns plans into exact numbers. It knows the data, and neither noise nor budget."""

    @property
    def name(self) -> str:
        """Such as "duckdb"."""
        ...

    def columns(self, source: object) -> dict[str, Stored]:
        """The names and stored types of a source's columns: metadata only. ``BadData`` if it cannot be opened."""

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        """The exact numbers of each work. Raises only ``EngineFailed``, whose text is always the same."""


@runtime_checkable
class ChecksReachable(Protocol):
    """An engine whose server may be away."""

    def ready(self) -> None:
        """Called before the payment: ``EngineUnreachable`` if the server does not answer. Looks at no data."""


@runtime_checkable
class ChecksWork(Protocol):
    """An engine that cannot compute everything."""

    def check(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> None:
        """Called before the payment: ``Unsupported`` for what it cannot compute. Looks at no data."""


@runtime_checkable
class CountsSets(Protocol):
    """An engine that counts many sets of keys in one pass; others are asked for one work after the other."""

    def grouping_sets(self, work: GroupingSets, schemas: Mapping[str, Schema]) -> tuple[Cells, ...]:
        """The numbers of each set. Raises only ``EngineFailed``."""


@runtime_checkable
class SumsByUnit(Protocol):
    """An engine that sends the numbers of many units as arrays; of others they come with a tuple for each key."""

    def by_unit(self, works: Sequence[Work], schemas: Mapping[str, Schema]) -> tuple[UnitSums, ...]:
        """The numbers of works whose last key is the unit, and whose other keys list all values, none of them NULL.
        Raises only ``EngineFailed``.
        """


@runtime_checkable
class InBatches(Protocol):
    """An engine that need not send all groups at once: where keys are selected, those without a name are not kept."""

    def batches(self, work: AnyWork, schemas: Mapping[str, Schema]) -> Generator[Exact]:
        """The numbers of one work piece by piece, each group in one piece."""


@runtime_checkable
class Staging(Protocol):
    """An engine that may keep the groups of a work, and send nothing but those that get a name."""

    def staged(self, work: AnyWork, schemas: Mapping[str, Schema]) -> Staged | None:
        """The groups, computed and kept; None where they had better be sent, in batches."""


class Naming(Protocol):
    """Which groups get a name, and with which noisy number of units. It can be pickled, and holds public numbers only:
    an engine may carry it to where the groups are, and calls it once for each group, with fresh ``SystemBits``.
    """

    @property
    def cell(self) -> int:
        """Which number of the work is that of the units."""

    def __call__(self, units: NDArray[Any], bits: Bits) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Where the groups stand that get a name, and their noisy numbers."""


@runtime_checkable
class Staged(Protocol):
    """The groups of a work, computed and kept by the engine, exact, until they are paid for and noise is due."""

    def named(self, rule: Naming) -> Iterator[Exact]:
        """The groups that get a name, with their noisy number of units; each group in one piece. Good for one call.
        Raises only ``EngineFailed``.
        """

    def of(self, groups: Sequence[tuple[Value, ...]]) -> Iterator[Exact]:
        """The exact rows of these groups, whatever their split; instead of ``named``. Raises only ``EngineFailed``."""

    def close(self) -> None:
        """Keep nothing any more."""
