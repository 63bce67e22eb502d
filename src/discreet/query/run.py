"""How an answer is made. This file reads as that sentence: take the priced plan, pay, run the engine once, check what
came back, add exact noise, name the keys that may be named, and hand back estimates.

Guarantee: nothing is read before it is paid, nothing is paid twice, and what leaves this module is a function of noisy
integers and public metadata. A failure of the engine after the payment changes nothing about the charge.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from discreet.arrays import Floats
from discreet.errors import EngineFailed
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.events import Event, Stated
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from discreet.query.choose.choosing import Choosing, Kept, choose, choosing, stand_in
from discreet.query.engine import ChecksReachable, ChecksWork, Engine, InBatches, Staged, Staging
from discreet.query.estimate.error_bounds import Share
from discreet.query.estimate.estimators import Estimate, Estimates
from discreet.query.estimate.noise_plan import Allowance, Noised, NoisePlan, Selection, badness, plan_noise, tree_of
from discreet.query.estimate.prepare import Job, Part, Prepared, jobs
from discreet.query.estimate.quantile_search import edges, most_cells
from discreet.query.estimate.searched_quantile import packed
from discreet.query.estimate.selected import Selected
from discreet.query.estimate.statistics import Bins, QuantileCells, Statistic, Units
from discreet.query.interruption import check_interrupted
from discreet.query.key_selection import ExactIntegers, Found, Threshold, add, checked, select
from discreet.query.lower.bounding import Noise
from discreet.query.plan.schema import Schema
from discreet.query.plan.types import Value
from discreet.query.plan.work import AnyWork, Exact
from discreet.randomness import Bits, SystemBits
from discreet.shown import brief

_NODES = 1 << 20
"""Nodes of trees that get their noise at one time."""
Pay: TypeAlias = Callable[[Event], Receipt]


@dataclass(frozen=True, slots=True)
class Quote:
    """Questions with their noise and their price. Making one touches no data and spends nothing."""

    questions: tuple[Prepared, ...]
    """With the recipes that they have together."""
    parts: tuple[Part, ...]
    """The grouping sets of all questions; what several questions need is there once."""
    plan: NoisePlan
    allowance: Allowance
    choosing: Choosing | None = None
    """The steps before the answer, where something is open; then ``questions`` and ``plan`` are for what stands in."""

    __repr__ = brief

    @property
    def price(self) -> Measure:
        """What will be charged, in the terms of the allowance: never more than it, and no delta that nothing needs."""
        what = self.plan.price
        if isinstance(self.allowance, ZCDP) and not isinstance(what, Stated):
            return price_zcdp(what)
        price = price_basic(what)
        return Pure(price.epsilon) if isinstance(self.allowance, Pure) else price

    def noised(self, part: Part) -> Mapping[Statistic, Noised]:
        """The statistics of a question's grouping set, with their noise."""
        return self.plan.sets[self.place(part)]

    def selection(self, part: Part) -> Selection | None:
        """How the keys of a grouping set are selected, if they are."""
        return self.plan.selections[self.place(part)]

    def planned(self, part: Part) -> Part:
        """A question's grouping set with the recipes that its measures have here."""
        joint = self.parts[self.place(part)]
        return part.made_by(dict(zip(joint.measures, joint.recipes, strict=True)))

    def place(self, part: Part) -> int:
        """Which of ``parts`` answers this grouping set."""
        return _place(part, self.parts)


@dataclass(frozen=True, slots=True)
class Choice:
    """Questions with their allowance, and the steps that choose what is open in them, if anything is."""

    questions: tuple[Prepared, ...]
    allowance: Allowance
    neighbours: Neighbours
    steps: Choosing | None


def choose_steps(questions: Sequence[Prepared], allowance: Allowance, neighbours: Neighbours) -> Choice:
    """How what is open will be chosen, and how the allowance is split over that and the answer."""
    check_interrupted()

    def noise(
        some: Sequence[Prepared], allowed: Allowance
    ) -> tuple[Noise, Callable[[Part], Mapping[Statistic, Noised]]]:
        made = closed_quote(some, allowed, neighbours)
        return made.plan.noise, made.noised

    return Choice(tuple(questions), allowance, neighbours, choosing(questions, allowance, neighbours, noise))


def priced(choice: Choice) -> Quote:
    """The noise of each statistic, and the price of all together."""
    steps = choice.steps
    if steps is None:
        return closed_quote(choice.questions, choice.allowance, choice.neighbours)
    made = closed_quote(stand_in(steps.questions, steps.parts), steps.answering, choice.neighbours)
    plan = replace(made.plan, event=steps.event, price=steps.event)
    return replace(made, plan=plan, allowance=choice.allowance, choosing=steps)


def quote(questions: Sequence[Prepared], allowance: Allowance, neighbours: Neighbours) -> Quote:
    """What these questions cost together, and how noisy their answers will be."""
    return priced(choose_steps(questions, allowance, neighbours))


def closed_quote(questions: Sequence[Prepared], allowance: Allowance, neighbours: Neighbours) -> Quote:
    """The same where nothing is open."""
    parts = _joint(questions, gaussian=isinstance(allowance, ZCDP))
    ways = {parts}
    if isinstance(allowance, Approx) and allowance.delta:  # nobody knows yet which noise it will be
        ways.add(tuple(part.with_trees() for part in parts))
    needs = [tuple(part.need for part in some) for some in ways]
    plans = [(some, plan_noise(need, allowance, neighbours), need) for some, need in zip(ways, needs, strict=True)]
    parts, plan, _ = plans[0] if len(plans) == 1 else min(plans, key=lambda way: badness(way[1], way[2]))
    chosen = [dict(zip(part.measures, part.recipes, strict=True)) for part in parts]
    planned = tuple(
        replace(q, parts=tuple(part.made_by(chosen[_place(part, parts)]) for part in q.parts)) for q in questions
    )
    return Quote(planned, parts, plan, allowance)


def _joint(questions: Sequence[Prepared], *, gaussian: bool) -> tuple[Part, ...]:
    """The grouping sets of all questions; what several questions need is there once."""
    alike: list[list[Part]] = []
    for declared in (part for question in questions for part in question.parts):
        part = declared.with_gaussian_noise() if gaussian else declared
        same = next((some for some in alike if some[0].same_groups(part)), None)
        if same is None:
            alike.append([part])
        else:
            same.append(part)
    return tuple(some[0].joined(some[1:]) for some in alike)


def _place(part: Part, joint: Sequence[Part]) -> int:
    """Which of these has the groups of a question's part."""
    return next(i for i, shared in enumerate(joint) if shared.same_groups(part))


@dataclass(frozen=True, slots=True)
class Released:
    """One grouping set after the noise: its keys, in order, and its estimates."""

    part: Part
    keys: tuple[tuple[Value, ...], ...]
    estimates: Estimates


Answers: TypeAlias = tuple[tuple[Released, ...], ...]
"""For each question, its grouping sets."""


def release(
    quote: Quote,
    engine: Engine,
    schemas: Mapping[str, Schema],
    pay: Pay,
    *,
    report: Callable[[str], None] = lambda _: None,
    kept: Kept | None = None,
) -> tuple[Quote, Answers, Receipt]:
    """Pay, choose what is open, run the engine once, add noise. ``report`` is called with what is being done.

    ``kept``: what was drawn for this payment before the engine failed. Returns the quote with what was chosen.
    """
    kept = kept or Kept()
    with kept.one_at_a_time():
        return _paid(quote, engine, schemas, pay, report, kept)


def _paid(  # noqa: PLR0917
    quote: Quote,
    engine: Engine,
    schemas: Mapping[str, Schema],
    pay: Pay,
    report: Callable[[str], None],
    kept: Kept,
) -> tuple[Quote, Answers, Receipt]:
    bits, price = SystemBits(), quote.plan.price
    before_payment(engine, works_of(quote, _salt(bits)), schemas)
    receipt = pay(price)

    def begin() -> None:
        """From here on noise is drawn: one payment, one release."""
        if not kept.begun:
            receipt.redeem(price)
            kept.begun = True

    def begin_answer() -> None:
        begin()
        kept.answered = True
        report("adding noise")

    report("reading the data")
    if quote.choosing is not None:
        closed = _closed(quote.choosing, engine, schemas, bits, begin, kept)
        plan = replace(closed.plan, event=quote.plan.event, price=price)  # what was charged, choices included
        quote = replace(closed, plan=plan, allowance=quote.allowance, choosing=quote.choosing)
    released = _drawn(quote, engine, schemas, bits, begin_answer)
    answers = tuple(
        tuple(replace(released[quote.place(part)], part=part) for part in question.parts)
        for question in quote.questions
    )
    return quote, answers, receipt


def _closed(  # noqa: PLR0917
    steps: Choosing,
    engine: Engine,
    schemas: Mapping[str, Schema],
    bits: Bits,
    begin: Callable[[], None],
    kept: Kept,
) -> Quote:
    """The quote of the answer, when all that is open was chosen under the same payment."""

    def compute(works: Sequence[AnyWork]) -> Sequence[Exact]:
        exact = _whole(engine.run(works, schemas), len(works))
        begin()
        return exact

    def draw(
        questions: Sequence[Prepared], allowance: Allowance
    ) -> Sequence[tuple[Released, Mapping[Statistic, Noised]]]:
        planned = within(closed_quote(questions, allowance, steps.neighbours), allowance)
        drawn = _drawn(planned, engine, schemas, bits, begin)
        parts = [question.parts[0] for question in planned.questions]
        return [(drawn[planned.place(part)], planned.noised(part)) for part in parts]

    questions = choose(steps, compute, draw, bits, kept)
    return within(closed_quote(questions, steps.answering, steps.neighbours), steps.answering)


def within(planned: Quote, allowance: Allowance) -> Quote:
    """The same: a step that would cost more than was paid for it must never draw noise."""
    price = planned.price
    if isinstance(price, ZCDP):
        assert isinstance(allowance, ZCDP)  # noqa: S101
        fits = price.rho <= allowance.rho and price.delta <= allowance.delta
    else:
        box = price_basic(planned.plan.price)
        fits = box.epsilon <= allowance.epsilon and box.delta <= getattr(allowance, "delta", 0)  # type: ignore[union-attr]
    if not fits:
        raise AssertionError("a step costs more than was charged for it")
    return planned


def _drawn(
    quote: Quote, engine: Engine, schemas: Mapping[str, Schema], bits: Bits, begin: Callable[[], None]
) -> list[Released]:
    """The grouping sets of a quote with noise: the engine runs once, then ``begin`` is called, then noise is drawn."""
    plan = quote.plan
    sets = tuple(zip(quote.parts, plan.sets, plan.selections, strict=True))
    todo = [jobs(part, noised, selection, _salt(bits)) for part, noised, selection in sets]
    selected = [selection is not None for _, _, selection in sets]
    with ExitStack() as held:  # whatever happens, the engine keeps nothing
        exact = _answered(engine, todo, selected, schemas, held)
        begin()
        return [
            _noisy(part, noised, selection, numbers, bits)
            for (part, noised, selection), numbers in zip(sets, exact, strict=True)
        ]


def before_payment(engine: Engine, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> None:
    """A server that is away, and what an engine cannot compute, are found before the payment."""
    if isinstance(engine, ChecksReachable):
        engine.ready()
    if isinstance(engine, ChecksWork):
        engine.check(works, schemas)


def works_of(quote: Quote, salt: str) -> tuple[AnyWork, ...]:
    """All that an engine is asked for these questions."""
    sets = zip(quote.parts, quote.plan.sets, quote.plan.selections, strict=True)
    before = () if quote.choosing is None else quote.choosing.works()
    return (*before, *(job.work for part, noised, selection in sets for job in jobs(part, noised, selection, salt)))


def _answered(
    engine: Engine,
    todo: Sequence[tuple[Job, ...]],
    selected: Sequence[bool],
    schemas: Mapping[str, Schema],
    held: ExitStack,
) -> list[list[Found]]:
    """The exact numbers of each job. Where keys are selected, an engine ``InBatches`` need not send all groups at once:
    only those that get a name stay in memory. One with ``Staging`` may keep the groups, and send nothing but those.
    """
    streamed = [some and isinstance(engine, InBatches) for some in selected]
    works = [job.work for some, later in zip(todo, streamed, strict=True) if not later for job in some]
    whole = iter(_whole(engine.run(works, schemas), len(works)) if works else ())
    answered: list[list[Found]] = []
    for some, later in zip(todo, streamed, strict=True):
        pieces = [_begun(engine, job, schemas, held) if later else [next(whole)] for job in some]
        answered.append(list(zip(some, pieces, strict=True)))
    return answered


def _begun(engine: Any, job: Job, schemas: Mapping[str, Schema], held: ExitStack) -> Iterable[Exact] | Staged:
    """The groups of a job, computed as far as can be without noise: most that can go wrong has gone wrong by then."""
    staged = engine.staged(job.work, schemas) if isinstance(engine, Staging) else None
    if staged is not None:
        held.callback(staged.close)
        return staged
    batches: Generator[Exact] = engine.batches(job.work, schemas)
    held.callback(batches.close)
    pieces = checked(batches)
    first = next(pieces, None)
    return [] if first is None else chain([first], pieces)


def _salt(bits: Bits) -> str:
    """Fresh for each release and never shown: which rows of a heavy unit count is nobody's choice."""
    return f"{bits.below(1 << 128):032x}"


def _whole(answers: Sequence[Exact], wanted: int) -> Sequence[Exact]:
    if len(answers) != wanted:
        raise EngineFailed
    return list(checked(answers))


# --- one grouping set -------------------------------------------------------------------------------------------------


def _noisy(
    part: Part,
    noised: Mapping[Statistic, Noised],
    selection: Selection | None,
    answered: Sequence[Found],
    bits: Bits,
) -> Released:
    estimates: Estimates = {}
    if selection is None:
        some = [(job, exact) for job, pieces in answered if not isinstance(pieces, Staged) for exact in pieces]
        places = _places(part, some)
    else:
        units = noised[Units()]
        rule = Threshold(units.noise, selection.threshold, answered[0][0].statistics.index(Units()))
        some = select(answered, rule, bits)
        named = some[0][1]
        values = _as_floats(named.numbers[rule.cell], units)
        estimates[Units()] = Selected(values, units.error, units, threshold=selection.threshold)
        places = {key: i for i, key in enumerate(named.keys)}
    for job, exact in some:
        for i, statistic in enumerate(job.statistics):
            if statistic in estimates:
                continue
            drawn = noised[statistic]
            if isinstance(statistic, Bins):
                estimates[statistic] = _noisy_bins(statistic, drawn, exact, places, bits)
            elif isinstance(statistic, QuantileCells):
                estimates[statistic] = as_estimate(
                    noisy_cells(statistic, drawn, _leaves(statistic.bins, exact, places), bits), drawn
                )
            else:
                values = add(_spread(exact.keys, exact.numbers[i], places), drawn.noise, bits)
                estimates[statistic] = as_estimate(_as_floats(values, drawn), drawn)
    if not estimates:  # nothing can be known here: still, there are groups
        estimates[Units()] = Estimate(np.zeros(len(places)), lambda _: 0.0)
    return in_order(Released(part, tuple(places), estimates))


def _places(part: Part, answered: list[tuple[Job, Exact]]) -> dict[tuple[Value, ...], int]:
    """Where each group stands: all listed keys; or the groups that exist, as the first job has them."""
    domain = part.domain()
    keys = answered[0][1].keys if domain is None else domain
    return {key: i for i, key in enumerate(keys)}


def _spread(
    keys: Sequence[tuple[Value, ...]], numbers: ExactIntegers, places: Mapping[tuple[Value, ...], int]
) -> ExactIntegers:
    """The numbers in the order of the places; 0 where a group is absent, nothing from groups that have no place."""
    out = np.zeros(len(places), dtype=numbers.dtype)
    at = [places.get(key, -1) for key in keys]
    index = np.array(at, dtype=np.intp)
    has_place = index >= 0
    out[index[has_place]] = numbers[has_place]
    return out


def as_estimate(values: Floats, noised: Noised) -> Estimate:
    """Noisy numbers with the law of their noise."""
    several = isinstance(noised.statistic, (Bins, QuantileCells))
    return Estimate(values, noised.error, noised, () if several else (Share(noised, 1.0, 1),))


def _as_floats(noisy: ExactIntegers, noised: Noised) -> Floats:
    """Noisy cells in the statistic's own units: floats only from here on."""
    return np.asarray(noisy.astype(np.float64) * float(noised.unit), dtype=np.float64)


def _noisy_bins(
    bins: Bins, noised: Noised, exact: Exact, places: Mapping[tuple[Value, ...], int], bits: Bits
) -> Estimate:
    """Bins of each group, as the least-squares fit of a noisy tree over them."""
    tree = tree_of(bins, noised.noise)
    leaves = _leaves(bins, exact, places)
    fitted = np.zeros((len(places), bins.bins))
    at_once = max(1, _NODES // tree.size)
    for start in range(0, len(places), at_once):
        nodes = tree.nodes(leaves[start : start + at_once])
        noisy = add(nodes.reshape(-1), noised.noise, bits).astype(np.float64).reshape(nodes.shape)
        fitted[start : start + at_once] = tree.consistent(noisy)
    return as_estimate(fitted * float(noised.unit), noised)


def _leaves(bins: Bins, exact: Exact, places: Mapping[tuple[Value, ...], int]) -> ExactIntegers:
    """The exact counts: groups × bins."""
    leaves = np.zeros((len(places), bins.bins), dtype=np.int64)
    many, groups = len(exact.keys), map(itemgetter(slice(None, -1)), exact.keys)
    rows = np.fromiter(map(places.get, groups, repeat(-1)), dtype=np.intp, count=many)
    splits = (split if isinstance(split, int) else -1 for split in map(itemgetter(-1), exact.keys))
    columns = np.fromiter(splits, dtype=np.int64, count=many)
    has_place = (rows >= 0) & (columns >= 0) & (columns < bins.bins)
    leaves[rows[has_place], columns[has_place]] = exact.numbers[0][has_place]
    return leaves


def noisy_cells(cells: QuantileCells, noised: Noised, groups: ExactIntegers, bits: Bits) -> Floats:
    """For each group the noisy counts of its cells, and which they are: that was chosen with noise of its own."""
    assert len(noised.searches) == len(cells.levels)  # noqa: S101
    noisy = np.zeros((len(groups), 2 * most_cells(len(cells.levels)) + 1))
    for row, leaves in zip(noisy, groups, strict=True):
        borders = edges([search.stretch(leaves, bits) for search in noised.searches], len(leaves))
        counts = np.diff(np.concatenate([[0], np.cumsum(leaves)])[borders])
        row[:] = packed(_as_floats(add(counts, noised.noise, bits), noised), borders.astype(np.float64), cells)
    return noisy


def in_order(released: Released) -> Released:
    """Rows sorted by key, NULL last: the order says nothing."""
    order = sorted(range(len(released.keys)), key=lambda i: [(v is None, v) for v in released.keys[i]])
    estimates = {s: replace(e, values=e.values[order]) for s, e in released.estimates.items()}
    return Released(released.part, tuple(released.keys[i] for i in order), estimates)
