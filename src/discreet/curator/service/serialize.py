"""Answers, budgets and entries as JSON: what the service sends.

Promise: exact numbers are sent as text; floats are finite or null. Of an answer, what was released is sent, and
nothing of how long it took.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any

from discreet.curator.amounts import write_amount
from discreet.curator.error_replies import log, where
from discreet.errors import BadParameter, NotATheorem
from discreet.exact import Number
from discreet.ledger.records import ChargeRecord
from discreet.ledger.standing import Standing
from discreet.ledger.state import Population
from discreet.ledger.store import Line
from discreet.privacy.accountants.conversions import zcdp_to_approx
from discreet.privacy.budgets.either import slack_of
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.explain import story
from discreet.query.answer.preview import Preview
from discreet.query.answer.serialize import answer, answer_parts, plain
from discreet.session.query import Order


def standing(found: Standing, population: Population) -> dict[str, Any]:
    """Where a budget stands: exact, as a share of the whole, and in the epsilon that people think in."""
    return {
        "population": found.population,
        "analyst": found.analyst,
        "unit": population.unit,
        "neighbours": population.neighbours.name,
        "rule": None if population.rule is None else population.rule.name,
        "budget": write_amount(found.budget),
        "charged": write_amount(found.charged),
        "remaining": write_amount(found.remaining),
        "accounts": [write_amount(one) for one in found.accounts],
        "share": float(found.share),
        "gone": float(found.gone),
        "charged_epsilon": epsilon_of(found.charged, population),
        "remaining_epsilon": epsilon_of(found.remaining, population),
    }


def epsilon_of(amount: Measure, population: Population) -> float | None:
    """An amount as the ε of one question that costs as much, under the budget's δ; None if there is none."""
    budget = population.budget
    try:
        if isinstance(amount, ZCDP) and isinstance(budget, Approx) and population.rule in (Rule.ZCDP, Rule.EITHER):
            of_rest = (1 - population.reserve) * budget.delta
            slack = of_rest if population.rule is Rule.ZCDP else slack_of(budget.delta, population.reserve)
            return _epsilon(amount.rho, slack) if amount.rho else 0.0
        return float(amount.epsilon) if isinstance(amount, Pure | Approx) else None
    except (BadParameter, NotATheorem, OverflowError):
        return None


@lru_cache(maxsize=4096)
def _epsilon(rho: Fraction, slack: Fraction) -> float:
    """Remembered: the conversion takes a search."""
    return float(zcdp_to_approx(ZCDP(rho), delta=slack).epsilon)


# --- previews --------------------------------------------------------------------------------------------------------


def previews(found: Sequence[Preview], order: Order, left: Measure) -> list[dict[str, Any]]:
    """The error bars that each answer of an order would have, and how it would be made."""
    both = zip(found, _stories(order), strict=True)
    return [_preview(one, left) | {"story": [*lines, *map(str, one.notes)]} for one, lines in both]


def _preview(one: Preview, left: Measure) -> dict[str, Any]:
    found = replace(one, remaining=str(left)).as_dict()
    return found | {"columns": [column | {"error": plain(column["error"])} for column in found["columns"]]}


def _stories(order: Order) -> list[list[str]]:
    """How each answer would be made; where several questions make one, of all of them."""
    each = iter([story(order.quote, question) for question in order.quote.questions])
    sizes = order.sizes or [1] * len(order.quote.questions)
    return [[line for lines in islice(each, size) for line in lines] for size in sizes]


# --- answers --------------------------------------------------------------------------------------------------------


def answer_for_client(found: TableAnswer, confidence: Number) -> dict[str, Any]:
    """The same for somebody who has only this: ``consistent`` has what is different in the numbers that agree.

    They follow from what was released and public things, and cost nothing; should they not be found, the answer is
    good without them.
    """
    sent = answer(found, confidence)
    return sent | {"consistent": _consistent(found, confidence, sent)}


def _consistent(found: TableAnswer, confidence: Number, sent: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return {name: one for name, one in answer_parts(found.consistent(), confidence).items() if one != sent[name]}
    except Exception as error:
        log.error("an answer could not be made consistent: %s", where(error))
        return None


# --- ledger ---------------------------------------------------------------------------------------------------------


def entry(found: Line, people: Mapping[str, Population]) -> dict[str, Any]:
    """An entry of the ledger, with its own text: whoever has the lines can check the chain; and what was paid."""
    one, price = found.entry, None
    if one.kind == ChargeRecord.KIND:
        record = ChargeRecord.read(one)
        price = str(people[record.population].currency.shown(record.price))
    return {
        "sequence": one.sequence,
        "kind": one.kind,
        "by": one.by,
        "time": one.time,
        "hash": one.hash,
        "previous": one.previous,
        "answered": found.answered,
        "price": price,
        "body": one.body,
        "text": one.text,
    }
