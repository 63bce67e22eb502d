"""Keys that nobody listed: which of the groups get a name, and what stays of the others (nothing).

Guarantee: each group's number of units gets noise of its own, drawn once; what leaves are the groups whose noisy number
reaches the threshold, with that number. Where the noise is drawn makes no difference: here, batch by batch, or where
an engine keeps the groups, by the same rule. Proof: key_selection.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EngineFailed
from discreet.mechanisms.statistics.budget import Noise
from discreet.query.engine import Staged
from discreet.query.estimate.prepare import Job
from discreet.query.plan.types import Value
from discreet.query.plan.work import Exact
from discreet.randomness import Bits

ExactIntegers: TypeAlias = NDArray[Any]
Found: TypeAlias = tuple[Job, Iterable[Exact] | Staged]
"""A job and its numbers: in one piece; in batches of groups, each group in one of them; or kept by the engine."""
_SAFE = 1 << 62


@dataclass(frozen=True, slots=True)
class Threshold:
    """The rule: public numbers only, so it may travel to wherever the groups are.

    >>> from fractions import Fraction
    >>> from discreet.mechanisms.additive.laplace import Laplace
    >>> from discreet.randomness import SystemBits
    >>> rule = Threshold(Laplace(scale=Fraction(1, 100), moves=1), least=10)
    >>> rule(np.array([3, 10, 2000]), SystemBits())  # at this scale there is no noise to speak of
    (array([1, 2]), array([  10, 2000]))
    """

    noise: Noise
    least: int
    cell: int = 0

    def __call__(self, units: ExactIntegers, bits: Bits) -> tuple[NDArray[np.intp], ExactIntegers]:
        """Which of these exact numbers of units get a name, and their noisy numbers."""
        noisy = add(units, self.noise, bits)
        named = np.flatnonzero(np.asarray(noisy >= self.least, dtype=np.bool_))
        return named, noisy[named]

    def of(self, exact: Exact, bits: Bits) -> Exact:
        """The groups of a piece that get a name, with their noisy number of units."""
        named, noisy = self(exact.numbers[self.cell], bits)
        kept = _rows(exact, named)
        return Exact(kept.keys, tuple(noisy if i == self.cell else n for i, n in enumerate(kept.numbers)))


def add(exact: ExactIntegers, noise: Noise, bits: Bits) -> ExactIntegers:
    """Exact integers plus exact noise, never wrapping."""
    drawn = noise.noise(len(exact), bits)
    assert isinstance(drawn, np.ndarray)  # noqa: S101
    small = exact.dtype == np.int64 and drawn.dtype == np.int64 and _below(exact, _SAFE) and _below(drawn, _SAFE)
    if small:
        return np.asarray(np.add(exact, drawn))
    return np.asarray(np.add(exact.astype(object), drawn.astype(object)))


def _below(values: ExactIntegers, limit: int) -> bool:
    return len(values) == 0 or (int(values.max()) < limit and int(values.min()) > -limit)


def select(answered: Sequence[Found], rule: Threshold, bits: Bits) -> list[tuple[Job, Exact]]:
    """The groups that get a name: the first job has their noisy number of units, all else is exact still."""
    (job, pieces), *others = answered
    named = pieces.named(rule) if isinstance(pieces, Staged) else (rule.of(exact, bits) for exact in pieces)
    first = _joined(list(checked(named)), len(job.statistics))
    names = set(first.keys)
    if len(names) != len(first.keys) or (first.numbers[rule.cell] < rule.least).any():
        raise EngineFailed  # a group in two pieces would have been counted twice; one below the threshold has no name
    rest = [(other, _joined(list(_of(more, first.keys, names)), len(other.statistics))) for other, more in others]
    return [(job, first), *rest]


def _of(
    pieces: Iterable[Exact] | Staged, groups: Sequence[tuple[Value, ...]], names: Set[tuple[Value, ...]]
) -> Iterator[Exact]:
    """The rows of named groups: an engine that keeps them sends no others, or so it says."""
    for exact in checked(pieces.of(groups)) if isinstance(pieces, Staged) else pieces:
        yield _named(exact, names)


def checked(pieces: Iterable[Exact]) -> Iterator[Exact]:
    """The same; the engine is not trusted to keep to its shape."""
    for exact in pieces:
        if any(numbers.dtype not in (np.int64, object) for numbers in exact.numbers):
            raise EngineFailed
        yield exact


def _named(exact: Exact, names: Set[tuple[Value, ...]]) -> Exact:
    """The rows of named groups; a row may have a split beside the keys of its group."""
    width = len(next(iter(names), ()))
    return _rows(exact, np.array([i for i, key in enumerate(exact.keys) if key[:width] in names], dtype=np.intp))


def _rows(exact: Exact, at: NDArray[np.intp]) -> Exact:
    return Exact(tuple(exact.keys[i] for i in at.tolist()), tuple(numbers[at] for numbers in exact.numbers))


def _joined(pieces: Sequence[Exact], cells: int) -> Exact:
    keys = tuple(key for piece in pieces for key in piece.keys)
    nothing = np.zeros(0, dtype=np.int64)
    numbers = (np.concatenate([nothing, *(piece.numbers[i] for piece in pieces)]) for i in range(cells))
    return Exact(keys, tuple(numbers))
