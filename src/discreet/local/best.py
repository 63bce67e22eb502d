"""Which frequency oracle? The one with the least variance that is practical for k values and n people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.exact import Number, integer
from discreet.local.hadamard import hadamard
from discreet.local.hashing import local_hashing
from discreet.local.oracle import Oracle, read_domain
from discreet.local.response import response
from discreet.local.subset import subset_selection
from discreet.local.unary import basic_rappor, optimised_unary

LONGEST_REPORT = 1 << 10
"""Bytes: a randomizer whose reports are longer is not practical on a device."""
MOST_WORK = 1 << 33
"""Operations of the server: people times values, for those that look at each pair."""
_CLOSE = 1.02
_MAKERS: tuple[Callable[..., Oracle], ...] = (
    response,
    hadamard,
    optimised_unary,
    local_hashing,
    subset_selection,
    basic_rappor,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One oracle and its figures."""

    oracle: Oracle
    variance: float
    """Of the estimate of a rare value."""
    report_bytes: int
    work: int
    """Of the server, about."""

    @property
    def practical(self) -> bool:
        """Whether reports are short and counting them is quick."""
        return self.report_bytes <= LONGEST_REPORT and self.work <= MOST_WORK


def compare(k: int, epsilon: Number, n: int) -> list[Candidate]:
    """All oracles for k values and n people, the least variance first.

    >>> [c.oracle.name for c in compare(1000, 1, 1000)][0]
    'subset_selection'
    """
    size, e = read_domain(k, epsilon)
    people = integer(n, "n", at_least=1)
    candidates = []
    for make in _MAKERS:
        if make in {optimised_unary, basic_rappor} and size > 1 << 16:
            continue
        if make is subset_selection and size > 1 << 12:
            continue
        oracle = make(k=size, epsilon=e)
        work = people + size * size.bit_length() if make in {response, hadamard} else people * size
        candidates.append(Candidate(oracle, oracle.variance(people, 1 / size), oracle.width, work))
    return sorted(candidates, key=lambda c: c.variance)


def best(k: int, epsilon: Number, n: int) -> Oracle:
    """The practical oracle with the least variance; of those within 2 % of it, the one with the shortest reports.

    >>> best(2, 1, 10_000).name, best(64, 1, 10_000).name, best(100_000, 1, 1_000_000).name
    ('response', 'subset_selection', 'hadamard')
    """
    practical = [c for c in compare(k, epsilon, n) if c.practical]
    near = [c for c in practical if c.variance <= _CLOSE * practical[0].variance]
    return min(near, key=lambda c: (c.report_bytes, c.variance)).oracle
