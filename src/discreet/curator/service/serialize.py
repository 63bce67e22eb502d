"""Answers, budgets and entries as JSON: what the service sends.

Promise: exact numbers are sent as text; floats are finite or null. Of an answer, what was released is sent, and
nothing of how long it took.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.curator.amounts import write_amount
from discreet.curator.error_replies import log, where
from discreet.errors import BadParameter, NotATheorem
from discreet.exact import Number
from discreet.ledger.charges import Charge
from discreet.ledger.records import ChargeRecord
from discreet.ledger.standing import Standing
from discreet.ledger.state import Population
from discreet.ledger.store import Line
from discreet.privacy.accountants.conversions import zcdp_to_approx
from discreet.privacy.budgets.either import slack_of
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.preview import Preview
from discreet.query.answer.serialize import answer, answer_parts, plain
from discreet.session.program import Program


def standing(stands: Standing, population: Population) -> dict[str, Any]:
    """Where a budget stands: exact, as a share of the whole, and in the epsilon that people think in."""
    return {
        "population": stands.population,
        "analyst": stands.analyst,
        "unit": population.unit,
        "neighbours": population.neighbours.name,
        "rule": None if population.rule is None else population.rule.name,
        "budget": write_amount(stands.budget),
        "charged": write_amount(stands.charged),
        "remaining": write_amount(stands.remaining),
        "accounts": [write_amount(account) for account in stands.accounts],
        "share": float(stands.share),
        "gone": float(stands.gone),
        "charged_epsilon": epsilon_of(stands.charged, population),
        "remaining_epsilon": epsilon_of(stands.remaining, population),
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


def previews(shown: Sequence[Preview], program: Program, left: Measure) -> list[dict[str, Any]]:
    """The error bars that each answer of a program would have, and how it would be made."""
    both = zip(shown, program.stories(), strict=True)
    return [_preview(each, left) | {"story": [*lines, *map(str, each.notes)]} for each, lines in both]


def _preview(shown: Preview, left: Measure) -> dict[str, Any]:
    written = replace(shown, remaining=str(left)).as_dict()
    return written | {"columns": [column | {"error": plain(column["error"])} for column in written["columns"]]}


# --- answers --------------------------------------------------------------------------------------------------------


def answer_for_client(released: TableAnswer, confidence: Number) -> dict[str, Any]:
    """The same for somebody who has only this: ``consistent`` has what is different in the numbers that agree.

    They follow from what was released and public things, and cost nothing; should they not be released, the answer is
    good without them.
    """
    sent = answer(released, confidence)
    return sent | {"consistent": _consistent(released, confidence, sent)}


def _consistent(answer: TableAnswer, confidence: Number, sent: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return {
            name: values
            for name, values in answer_parts(answer.consistent(), confidence).items()
            if values != sent[name]
        }
    except Exception as error:
        log.error("an answer could not be made consistent: %s", where(error))
        return None


def library_line(charge: Charge) -> dict[str, Any]:
    """An answer that is there: what was asked, when it was paid for and how much, and of which data it is."""
    record = charge.record
    return {
        "number": charge.sequence,
        "by": charge.entry.by,
        "time": charge.entry.time,
        "query": record.query,
        "cost": str(charge.price),
        "data": record.parameters["same_as"]["data"],
    }


# --- ledger ---------------------------------------------------------------------------------------------------------


def entry(line: Line, people: Mapping[str, Population]) -> dict[str, Any]:
    """An entry of the ledger, with its own text: whoever has the lines can check the chain; and what was paid."""
    recorded, price = line.entry, None
    if recorded.kind == ChargeRecord.KIND:
        record = ChargeRecord.read(recorded)
        price = str(people[record.population].currency.shown(record.price))
    return {
        "sequence": recorded.sequence,
        "kind": recorded.kind,
        "by": recorded.by,
        "time": recorded.time,
        "hash": recorded.hash,
        "previous": recorded.previous,
        "answered": line.answered,
        "price": price,
        "body": recorded.body,
        "text": recorded.text,
    }
