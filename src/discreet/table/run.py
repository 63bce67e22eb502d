"""How an answer is made. This file reads as that sentence: take the priced plan, pay, run the engine once, check what
came back, add exact noise, name the keys that may be named, and hand back estimates.

Guarantee: nothing is read before it is paid, nothing is paid twice, and what leaves this module is a function of noisy
integers and public metadata. A failure of the engine after the payment changes nothing about the charge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EngineFailed
from discreet.privacy.events import Event
from discreet.privacy.measures import Approx
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.receipt import Receipt
from discreet.randomness import Bits, SystemBits
from discreet.table.kinds import Value
from discreet.table.noising import Allowance, Noised, NoisePlan, Selection, plan_noise, tree_of
from discreet.table.prepare import Job, Part, Prepared, jobs
from discreet.table.recipes import Estimate, Estimates, Floats
from discreet.table.schema import Schema
from discreet.table.spread import Share
from discreet.table.statistics import Bins, Statistic, Units
from discreet.table.work import AnyWork, Engine, Exact

Integers: TypeAlias = NDArray[Any]
Pay: TypeAlias = Callable[[Event | Approx], Receipt]
_SAFE = 1 << 62


@dataclass(frozen=True, slots=True)
class Quote:
    """Questions with their noise and their price. Making one touches no data and spends nothing."""

    questions: tuple[Prepared, ...]
    """With the recipes that they have together."""
    parts: tuple[Part, ...]
    """The grouping sets of all questions; what several questions need is there once."""
    plan: NoisePlan
    allowance: Allowance

    def noised(self, part: Part) -> Mapping[Statistic, Noised]:
        """The statistics of a question's grouping set, with their noise."""
        return self.plan.sets[self.place(part)]

    def selection(self, part: Part) -> Selection | None:
        """How the keys of a grouping set are selected, if they are."""
        return self.plan.selections[self.place(part)]

    def place(self, part: Part) -> int:
        """Which of ``parts`` answers this grouping set."""
        return next(i for i, shared in enumerate(self.parts) if shared.same_groups(part))


def quote(questions: Sequence[Prepared], allowance: Allowance, neighbours: Neighbours) -> Quote:
    """What these questions cost together, and how noisy their answers will be."""
    parts: list[Part] = []
    for part in (part for question in questions for part in question.parts):
        for i, other in enumerate(parts):
            if other.same_groups(part):
                parts[i] = other.joined(part)
                break
        else:
            parts.append(part)
    plan = plan_noise(tuple(part.need for part in parts), allowance, neighbours)
    planned = tuple(replace(q, parts=tuple(_of(part, parts) for part in q.parts)) for q in questions)
    return Quote(planned, tuple(parts), plan, allowance)


def _of(part: Part, joint: Sequence[Part]) -> Part:
    """A question's grouping set, made of what all questions share."""
    return part.of(next(shared for shared in joint if shared.same_groups(part)))


@dataclass(frozen=True, slots=True)
class Released:
    """One grouping set after the noise: its keys, in order, and its estimates."""

    part: Part
    keys: tuple[tuple[Value, ...], ...]
    estimates: Estimates


Answers: TypeAlias = tuple[tuple[Released, ...], ...]
"""For each question, its grouping sets."""


def release(
    asked: Quote, engine: Engine, schemas: Mapping[str, Schema], pay: Pay, told: Callable[[str], None] = lambda _: None
) -> tuple[Answers, Receipt]:
    """Pay, run the engine once, add noise. ``told`` hears which of it is being done."""
    bits = SystemBits()
    plan = asked.plan
    sets = tuple(zip(asked.parts, plan.sets, plan.selections, strict=True))
    todo = [jobs(part, noised, selection, _salt(bits)) for part, noised, selection in sets]
    before_payment(engine, [job.work for some in todo for job in some], schemas)
    receipt = pay(plan.price)
    selected = [selection is not None for _, _, selection in sets]
    told("reading the data")
    found = _found(engine, todo, selected, schemas)
    receipt.redeem(plan.price)  # from here on noise is drawn: one payment, one release
    told("reading the data and adding noise" if any(selected) else "adding noise")
    released = [
        _noisy(part, noised, selection, exact, bits)
        for (part, noised, selection), exact in zip(sets, found, strict=True)
    ]
    answers = tuple(
        tuple(replace(released[asked.place(part)], part=part) for part in question.parts)
        for question in asked.questions
    )
    return answers, receipt


def before_payment(engine: Engine, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> None:
    """A server that is away, and what an engine cannot compute, are found before the payment."""
    ready, check = getattr(engine, "ready", None), getattr(engine, "check", None)
    if ready is not None:
        ready()
    if check is not None:
        check(works, schemas)


def works_of(asked: Quote, salt: str) -> tuple[AnyWork, ...]:
    """All that an engine is asked for these questions."""
    sets = zip(asked.parts, asked.plan.sets, asked.plan.selections, strict=True)
    return tuple(job.work for part, noised, selection in sets for job in jobs(part, noised, selection, salt))


Found: TypeAlias = tuple[Job, Iterable[Exact]]
"""A job and its numbers: in one piece, or in batches of groups, each group in one of them."""


def _found(
    engine: Engine, todo: Sequence[tuple[Job, ...]], selected: Sequence[bool], schemas: Mapping[str, Schema]
) -> list[list[Found]]:
    """The exact numbers of each job. Where keys are selected, an engine that has ``batches`` need not send all groups
    at once: only those that get a name stay in memory.
    """
    batches = getattr(engine, "batches", None)
    streamed = [batches is not None and some for some in selected]
    works = [job.work for some, later in zip(todo, streamed, strict=True) if not later for job in some]
    whole = iter(_checked(engine.run(works, schemas), len(works)) if works else ())
    return [
        [(job, _begun(_batches(engine, job, schemas)) if later else [next(whole)]) for job in some]
        for some, later in zip(todo, streamed, strict=True)
    ]


def _begun(batches: Iterator[Exact]) -> Iterable[Exact]:
    """The same, the first of them computed: most that can go wrong has gone wrong by then, before any noise."""
    first = next(batches, None)
    return [] if first is None else chain([first], batches)


def _batches(engine: Any, job: Job, schemas: Mapping[str, Schema]) -> Iterator[Exact]:
    for exact in engine.batches(job.work, schemas):
        yield from _checked([exact], 1)


def _salt(bits: Bits) -> str:
    """Fresh for each release and never shown: which rows of a heavy unit count is nobody's choice."""
    return f"{bits.below(1 << 128):032x}"


def _checked(found: Sequence[Exact], wanted: int) -> Sequence[Exact]:
    """The engine is not trusted to keep to its shape."""
    if len(found) != wanted or any(n.dtype not in (np.int64, object) for e in found for n in e.numbers):
        raise EngineFailed
    return found


# --- one grouping set -------------------------------------------------------------------------------------------------


def _noisy(
    part: Part,
    noised: Mapping[Statistic, Noised],
    selection: Selection | None,
    found: Sequence[Found],
    bits: Bits,
) -> Released:
    estimates: Estimates = {}
    if selection is None:
        some = [(job, exact) for job, pieces in found for exact in pieces]
        places = _places(part, some)
    else:
        some, estimates[Units()] = _select(found, noised[Units()], selection, bits)
        places = {key: i for i, key in enumerate(some[0][1].keys)}
    for job, exact in some:
        for i, statistic in enumerate(job.statistics):
            if statistic in estimates:
                continue
            one = noised[statistic]
            if isinstance(statistic, Bins):
                estimates[statistic] = _noisy_bins(statistic, one, exact, places, bits)
            else:
                values = _add(_spread(exact.keys, exact.numbers[i], places), one, bits)
                estimates[statistic] = as_estimate(_as_floats(values, one), one)
    return _in_order(Released(part, tuple(places), estimates))


def _places(part: Part, found: list[tuple[Job, Exact]]) -> dict[tuple[Value, ...], int]:
    """Where each group stands: all listed keys; or the groups that exist, as the first job has them."""
    domain = part.domain()
    keys = found[0][1].keys if domain is None else domain
    return {key: i for i, key in enumerate(keys)}


def _spread(keys: Sequence[tuple[Value, ...]], numbers: Integers, places: Mapping[tuple[Value, ...], int]) -> Integers:
    """The numbers in the order of the places; 0 where a group is absent, nothing from groups that have no place."""
    out = np.zeros(len(places), dtype=numbers.dtype)
    at = [places.get(key, -1) for key in keys]
    index = np.array(at, dtype=np.intp)
    known = index >= 0
    out[index[known]] = numbers[known]
    return out


def _add(exact: Integers, one: Noised, bits: Bits) -> Integers:
    """Exact integers plus exact noise, never wrapping."""
    noise = one.noise.noise(len(exact), bits)
    assert isinstance(noise, np.ndarray)  # noqa: S101
    small = exact.dtype == np.int64 and noise.dtype == np.int64 and _below(exact, _SAFE) and _below(noise, _SAFE)
    if small:
        return np.asarray(np.add(exact, noise))
    return np.asarray(np.add(exact.astype(object), noise.astype(object)))


def _below(values: Integers, limit: int) -> bool:
    return len(values) == 0 or (int(values.max()) < limit and int(values.min()) > -limit)


def as_estimate(values: Floats, one: Noised) -> Estimate:
    """Noisy numbers with the law of their noise."""
    return Estimate(values, one.error, one, () if isinstance(one.statistic, Bins) else (Share(one, 1.0, 1),))


def _as_floats(noisy: Integers, one: Noised) -> Floats:
    """Noisy cells in the statistic's own units: floats only from here on."""
    return np.asarray(noisy.astype(np.float64) * float(one.unit), dtype=np.float64)


def _select(
    found: Sequence[Found], one: Noised, selection: Selection, bits: Bits
) -> tuple[list[tuple[Job, Exact]], Estimate]:
    """The groups whose noisy number of units reaches the threshold, with that number. The noise of a group is its own,
    so it does not matter which groups are looked at together.
    """
    (job, pieces), *others = found
    kept, noisy = [], [np.zeros(0, dtype=np.int64)]
    for exact in pieces:
        sums = _add(exact.numbers[job.statistics.index(Units())], one, bits)
        named = np.flatnonzero(np.asarray(sums >= selection.threshold, dtype=np.bool_))
        kept.append(_rows(exact, named))
        noisy.append(sums[named])
    first = _joined(kept, len(job.statistics))
    names = set(first.keys)
    if len(names) != len(first.keys):
        raise EngineFailed  # a group in two pieces would have been counted twice
    rest = [
        (other, _joined([_named(exact, names) for exact in batch], len(other.statistics))) for other, batch in others
    ]
    return [(job, first), *rest], as_estimate(_as_floats(np.concatenate(noisy), one), one)


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


def _noisy_bins(bins: Bins, one: Noised, exact: Exact, places: Mapping[tuple[Value, ...], int], bits: Bits) -> Estimate:
    """Bins of each group, as the least-squares fit of a noisy tree over them."""
    tree = tree_of(bins)
    leaves = np.zeros((len(places), bins.bins), dtype=np.int64)
    rows = np.array([places.get(key[:-1], -1) for key in exact.keys], dtype=np.intp)
    columns = np.array([split if isinstance(split := key[-1], int) else -1 for key in exact.keys], dtype=np.int64)
    known = (rows >= 0) & (columns >= 0) & (columns < bins.bins)
    leaves[rows[known], columns[known]] = exact.numbers[0][known]
    fitted = np.zeros((len(places), bins.bins))
    for i, counts in enumerate(leaves):
        noisy = _add(tree.nodes(counts), one, bits)
        fitted[i] = tree.consistent(noisy.astype(np.float64))
    return as_estimate(fitted * float(one.unit), one)


def _in_order(released: Released) -> Released:
    """Rows sorted by key, NULL last: the order says nothing."""
    order = sorted(range(len(released.keys)), key=lambda i: [(v is None, v) for v in released.keys[i]])
    estimates = {s: replace(e, values=e.values[order]) for s, e in released.estimates.items()}
    return Released(released.part, tuple(released.keys[i] for i in order), estimates)
