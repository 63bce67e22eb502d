"""A release is a program: steps in their order, one payment for all of them, and the one place that runs and resumes.

Guarantee: a program is paid as a whole, in one transaction, before its first step reads data. What each step costs is
fixed before that, whatever earlier steps will release; each runs under its own part of the payment, which is good for
one release. Where the engine fails, what was released stays released: going on pays nothing and draws nothing twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Protocol

from discreet.answer import CONFIDENCE
from discreet.errors import EngineFailed, EngineUnreachable, OverBudget, ReceiptRefused
from discreet.exact import Number
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.privacy.promises.receipt import Receipt
from discreet.progress import Progress
from discreet.query.answer import serialize
from discreet.query.answer.agreeing_tables import made_to_agree
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.explain import story, tell
from discreet.query.answer.preview import Preview, preview
from discreet.query.answer.several import Explanation
from discreet.query.choose.choosing import Kept
from discreet.query.front.sql.constants import together
from discreet.query.plan.nodes import Outcome
from discreet.query.run import Answers, Quote, release
from discreet.session.backend import Backend
from discreet.session.payment import CountsTimes, Payment
from discreet.session.price import composed


class Step(Protocol):
    """A part of a program, with its own share of the price."""

    @property
    def price(self) -> Event | Measure:
        """What is charged for it, fixed before the program is paid."""

    @property
    def cost(self) -> Measure:
        """The same as an amount."""

    def run(self, backend: Backend, pay: PartPayment, kept: Kept, earlier: Sequence[Any]) -> Any:
        """What it releases, by what earlier steps have released.

        ``kept`` is what was drawn for this step before the engine failed; ``kept.answered`` says that it is used up.
        """


@dataclass(frozen=True, slots=True)
class QueryStep:
    """Queries that are answered together. With ``fill``, they are known when earlier steps were released."""

    quote: Quote
    outcomes: tuple[Outcome, ...]
    sizes: tuple[int, ...] = ()
    """How many of the queries make up each answer; one each if empty."""
    agree: bool = False
    """Whether counts of the answers are made to agree with each other."""
    fill: Callable[[Sequence[Any]], QueryStep] | None = None
    """The step with what earlier steps released, at the same price; until then it is planned for made-up values."""

    @property
    def price(self) -> Event | Measure:
        """What is charged."""
        return self.quote.plan.price

    @property
    def cost(self) -> Measure:
        """What is charged, as an amount."""
        return self.quote.price

    def run(self, backend: Backend, pay: PartPayment, kept: Kept, earlier: Sequence[Any]) -> tuple[TableAnswer, ...]:
        """Pay, run the engine, add noise."""
        if self.fill is not None:
            return self.fill(earlier).run(backend, pay, kept, earlier)
        with Progress(backend.progress) as progress:
            quote, released, receipt = release(
                self.quote, backend.engine, backend.schemas, pay, report=progress.step, kept=kept
            )
        answers = answers_of(quote, self.outcomes, released, receipt)
        return gathered(self.sizes, made_to_agree(answers) if self.agree else answers)

    def previews(self, *, remaining: str, affordable: bool, rows: int | None, confidence: Number) -> list[Preview]:
        """Cost and error bars of each answer."""
        each = [
            preview(self.quote, question.parts[0], remaining=remaining, affordable=affordable, rows=rows,
                    confidence=confidence)
            for question in self.quote.questions
        ]  # fmt: skip
        return gathered_previews(self.sizes, each)

    def story(self) -> list[list[str]]:
        """How each answer would be made; where several queries make one, of all of them."""
        lines = [story(self.quote, question) for question in self.quote.questions]
        return [[line for part in some for line in part] for some in _in_groups(self.sizes, lines)]


def written(answers: Sequence[TableAnswer], confidence: Number) -> bytes:
    """Answers as a ledger keeps them."""
    parts = [serialize.answer(answer, confidence) for answer in answers]
    return serialize.dump(parts[0] if len(parts) == 1 else {"answers": parts})


@dataclass(frozen=True, slots=True)
class Program:
    """Steps with their prices. Making one touches no data and spends nothing; most have one step."""

    steps: tuple[Any, ...]
    text: Callable[[], str] = str
    """What is asked, as a ledger keeps it."""
    confidence: Number = CONFIDENCE
    join: Callable[[Sequence[Any], Receipt], Any] = lambda released, _: released[-1]
    """What all steps together release, with the receipt of the whole."""
    write: Callable[[Any, Number], bytes] | None = written
    """That as a ledger keeps it; None if it is not kept."""

    @property
    def price(self) -> Event | Measure:
        """What is charged, once for all steps."""
        return composed([step.price for step in self.steps])

    @property
    def cost(self) -> Measure:
        """What is charged, as an amount."""
        costs: list[Any] = [step.cost for step in self.steps]
        if len(costs) == 1:
            alone: Measure = costs[0]
            return alone
        delta = sum(getattr(cost, "delta", 0) for cost in costs)
        if isinstance(costs[-1], ZCDP):
            return ZCDP(sum(cost.rho for cost in costs), delta)
        epsilon = sum(cost.epsilon for cost in costs)
        return Approx(epsilon, delta) if delta else Pure(epsilon)

    @property
    def allowance(self) -> Measure:
        """What it may cost; of several steps, what it costs."""
        return self.steps[0].quote.allowance if len(self.steps) == 1 else self.cost

    @property
    def answer(self) -> Any:
        """The last step, which makes the answer."""
        return self.steps[-1]

    @property
    def questions(self) -> tuple[Any, ...]:
        """What is asked, however it was written: equal for programs of which one answer is good for both, but for costs
        and data. Values of subqueries are not known yet, so there the text counts.
        """
        lowered = [prepared.asked for step in self.steps for prepared in step.quote.questions]
        made = [(step.outcomes, step.agree, step.quote.plan.noise) for step in self.steps]
        return tuple(lowered), tuple(made), self.text() if len(self.steps) > 1 else "", str(self.confidence)

    @property
    def tables(self) -> frozenset[str]:
        """The tables that it reads."""
        return frozenset(name for lowered in self.questions[0] for name in lowered.tables)

    def previews(self, backend: Backend, rows: int | None = None) -> tuple[Preview, ...]:
        """Cost and error bars of each answer; ``rows``: in a group of how many. Free."""
        price, store = self.price, backend.budget_store
        fits = store.fits(price)
        more = store.times(price) - 1 if fits and isinstance(store, CountsTimes) else None
        left = str(store.after(price) if fits else store.remaining)
        *first, answers = [
            step.previews(remaining=left, affordable=fits, rows=rows, confidence=self.confidence) for step in self.steps
        ]
        if first:
            before = [shown for some in first for shown in some]
            answers = [together(shown, replace(shown, cost=str(self.cost)), before) for shown in answers]
        return tuple(replace(shown, more=more) for shown in answers)

    def stories(self) -> list[list[str]]:
        """How each answer would be made, after what comes before it."""
        *first, answers = [step.story() for step in self.steps]
        before = [line for some in first for lines in some for line in lines]
        return [[*before, *lines] for lines in answers]

    def explain(self) -> Explanation:
        """The plan of each query, with its noise."""
        return Explanation(
            "\n".join(tell(question, step.quote) for step in self.steps for question in step.quote.questions)
        )


def run(
    program: Program,
    backend: Backend,
    shown: Callable[[Any], Any] = lambda released: released,
    payment: Payment | None = None,
) -> Any:
    """Pay for a program, then run its steps: what ``shown`` makes of what they release together.

    If the engine fails after the payment, ``again`` of the error goes on under it. A ledger keeps what is released
    before it is shown.
    """
    if not backend.budget_store.fits(program.price):
        raise OverBudget(asked=program.cost, left=backend.budget_store.remaining)
    return Run(program, backend, shown, payment or backend.payment(program.text)).go_on()


@dataclass(slots=True)
class Run:
    """A program that is being run: what pays for it, and what its steps have released."""

    program: Program
    backend: Backend
    shown: Callable[[Any], Any]
    payment: Payment
    released: list[Any] = field(default_factory=list)
    kept: Kept = field(default_factory=Kept)
    """What was drawn for the step under way."""
    parts: list[Receipt] = field(default_factory=list)
    rest_of_step: Callable[[], Any] | None = None
    """How a step goes on that can do so by itself."""
    over: bool = False
    _running: Lock = field(default_factory=Lock)
    _process: int = field(default_factory=os.getpid)

    def go_on(self) -> Any:
        """Run what is left to be run, under the one payment."""
        with self._one_at_a_time():
            try:
                while len(self.released) < len(self.program.steps):
                    self.released.append(self._step())
                    self.kept, self.rest_of_step = Kept(), None
            except EngineFailed as failed:
                self._failed(failed)
                raise
            except EngineUnreachable:
                if self.payment.receipt is None:
                    raise
                away = EngineFailed()  # before a later step: what is paid and released is not lost
                away.again = self.rest_of_step
                self._failed(away)
                raise away from None
            except ReceiptRefused:
                raise
            except BaseException:
                self.payment.failed(may_go_on=False)
                raise
            return self._finished()

    def _step(self) -> Any:
        if self.rest_of_step is not None:
            return self.rest_of_step()
        place = len(self.released)
        step: Step = self.program.steps[place]
        return step.run(self.backend, PartPayment(self, place), self.kept, tuple(self.released))

    def _failed(self, failed: EngineFailed) -> None:
        """Whether the program may go on: a step does so by itself, or nothing of its answer was drawn yet."""
        self.rest_of_step = failed.again
        paid = self.payment.receipt is not None
        goes_on = paid and (self.rest_of_step is not None or not self.kept.answered)
        failed.again = self.go_on if self.payment.failed(may_go_on=goes_on) else None

    def _finished(self) -> Any:
        self.over = True
        assert self.payment.receipt is not None  # noqa: S101
        released = self.program.join(self.released, self.payment.receipt)
        if self.backend.ledger is not None and self.program.write is not None:
            self.backend.ledger.store_bytes(
                self.payment.budget_store, self.program.write(released, self.program.confidence)
            )
        return self.shown(released)

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Held while the payment is used: whoever goes on twice, in two threads, or in a fork, is refused."""
        if os.getpid() != self._process:  # its receipt may be in use by now, and then checks no more who holds it
            raise ReceiptRefused("a query goes on in the process that began it; ask again here")
        if not self._running.acquire(blocking=False):
            raise ReceiptRefused("this payment is being used; one payment is good for one release")
        try:
            if self.over:
                raise ReceiptRefused("this receipt was used already; one payment is good for one release")
            yield
        finally:
            self._running.release()


class PartReceipt(Receipt):
    """A part of a receipt. The first part that is redeemed uses the whole up: it is good for its parts alone."""

    __slots__ = ("_whole",)

    def __init__(self, whole: Receipt, what: Event | Measure, cost: Measure) -> None:
        super().__init__(what, number=whole.number, price=cost, left=whole.left)
        self._whole = whole

    def redeem(self, event: Event | Measure) -> None:
        """Use this part for its release, once."""
        if self._whole.ended:
            raise ReceiptRefused("what this receipt was paid for has been closed; pay again")
        if not self._whole.used:
            self._whole.redeem(self._whole.what)
        Receipt.redeem(self, event)


@dataclass(frozen=True, slots=True)
class PartPayment:
    """What pays for one step: the payment of the whole program, which the first step makes, taken apart."""

    run: Run
    place: int

    def __call__(self, price: Event | Measure) -> Receipt:
        """The receipt of this step; the whole is paid before the first step reads data."""
        run, steps = self.run, self.run.program.steps
        whole = run.payment(run.program.price)
        if len(steps) == 1:
            return whole
        if not run.parts:
            run.parts = [PartReceipt(whole, step.price, step.cost) for step in steps]
        return run.parts[self.place]

    @property
    def receipt(self) -> Receipt | None:
        """The receipt of the whole, once it is paid."""
        return self.run.payment.receipt


# --- what the queries of a step make together -------------------------------------------------------------------------


def answers_of(
    quote: Quote, outcomes: Sequence[Outcome], released: Answers, receipt: Receipt
) -> tuple[TableAnswer, ...]:
    """The answers to the questions of a quote."""
    return tuple(
        TableAnswer(
            outcome=outcome,
            released=parts,
            event=quote.plan.event,
            cost=str(receipt.price if receipt.price is not None else quote.plan.price),
            story=story(quote, prepared),
            receipt=receipt,
        )
        for prepared, outcome, parts in zip(quote.questions, outcomes, released, strict=True)
    )


def _in_groups(sizes: Sequence[int], values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The values in groups of these sizes; one each, if there are none."""
    start = 0
    for size in sizes or [1] * len(values):
        yield values[start : start + size]
        start += size


def _once(parts: Sequence[Any], name: str) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(line for part in parts for line in getattr(part, name)))


def gathered(sizes: Sequence[int], answers: Sequence[TableAnswer]) -> tuple[TableAnswer, ...]:
    """The answers of a step, those of further queries with the one whose outcome uses them."""
    return tuple(
        some[0]
        if len(some) == 1
        else replace(some[0], beside=tuple(some[1:]), story=_once(some, "story"), own_notes=_once(some, "own_notes"))
        for some in _in_groups(sizes, answers)
    )


def gathered_previews(sizes: Sequence[int], previews: Sequence[Preview]) -> list[Preview]:
    """The previews of a step in the same way: one for each answer, with the columns of all its queries."""
    return [
        some[0]
        if len(some) == 1
        else replace(
            some[0],
            columns=tuple(shown for part in some for shown in part.columns),
            shares=tuple(share for part in some for share in part.shares),
            notes=_once(some, "notes"),
        )
        for some in _in_groups(sizes, previews)
    ]
