"""Receipts and release cards: signed texts that an analyst can keep and check without the curator.

Promise: a receipt that ``verify_receipt`` accepts shows that the ledger held this charge, as this entry of its chain;
if the ledger is later rolled back or edited, the receipt and ``verify_ledger`` show it. A card that ``verify_card``
accepts is the ledger's own account of one release.
Believes: signing.py. Nothing here shows how long an answer took, or when it was ready.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from discreet.errors import BadSignature
from discreet.ledger.entries import (
    Broken,
    Entry,
    amounts_text,
    read_amounts,
    read_entry,
    read_measure,
    write_event,
)
from discreet.ledger.records import ChargeRecord
from discreet.ledger.signing import Key, read_signed
from discreet.ledger.state import Population
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.record import show


@dataclass(frozen=True, slots=True)
class SignedReceipt:
    """The content of a receipt, checked: the entry, as it stands in the ledger."""

    ledger: str
    sequence: int
    hash: str
    analyst: str
    dataset: str
    query: str
    parameters: Mapping[str, Any]
    event: Mapping[str, Any]
    price: tuple[str, ...]
    entry: str


def write_receipt(entry: Entry, key: Key) -> str:
    """The signed receipt of a charge; the same each time it is asked for."""
    return key.sign("receipt", {"entry": entry.text, "hash": entry.hash})


def verify_receipt(text: str, public_key: str) -> SignedReceipt:
    """The content of a receipt, if the ledger with this public key signed it; else BadSignature. Needs no ledger."""
    body = read_signed(text, "receipt", public_key)
    try:
        entry = read_entry(body["entry"])
        charge = ChargeRecord.read(entry)
        if entry.hash != body["hash"]:
            raise BadSignature("this receipt does not name a charge")
        return SignedReceipt(
            ledger=entry.ledger,
            sequence=entry.sequence,
            hash=entry.hash,
            analyst=entry.by,
            dataset=charge.dataset,
            query=charge.query,
            parameters=charge.parameters,
            event=charge.event,
            price=tuple(amounts_text(charge.price)),
            entry=entry.text,
        )
    except (Broken, KeyError, TypeError):
        raise BadSignature("this receipt does not name a charge") from None


def write_card(
    entry: Entry, population: Population, key: Key, *, answer: bytes, accuracy: Any, versions: Mapping[str, str]
) -> str:
    """The signed release card of an answer: what was asked, what it cost, what was promised to whom."""
    charge, money = ChargeRecord.read(entry), population.currency

    return key.sign(
        "card",
        {
            "ledger": entry.ledger,
            "charge": {"sequence": entry.sequence, "hash": entry.hash},
            "analyst": entry.by,
            "dataset": charge.dataset,
            "population": population.name,
            "unit": population.unit,
            "neighbours": population.neighbours.name,
            "budget": write_event(population.budget),
            "rule": None if population.rule is None else population.rule.name,
            "currency": money.name,
            "query": charge.query,
            "parameters": charge.parameters,
            "event": charge.event,
            "price": write_event(money.shown(charge.price)),
            "total": {
                "before": write_event(money.charged(charge.total.before)),
                "after": write_event(money.charged(charge.total.after)),
                "limit": write_event(_limit(population, charge)),
            },
            "accuracy": accuracy,
            "answer": hashlib.sha256(answer).hexdigest(),
            "versions": dict(versions),
        },
    )


def _limit(population: Population, charge: ChargeRecord) -> Measure:
    """The limit at the time of a charge, in the currency of the budget; where two sums are kept, the budget itself."""
    money = population.currency
    return population.budget if money.by_account else money.shown(charge.total.limit or population.limits.most)


def verify_card(text: str, public_key: str, answer: bytes | None = None) -> dict[str, Any]:
    """The content of a release card, if this key of a ledger signed it, for this answer; else BadSignature."""
    body = read_signed(text, "card", public_key)
    if answer is not None and body.get("answer") != hashlib.sha256(answer).hexdigest():
        raise BadSignature("this card was signed for another answer")
    return body


def verify_paper(text: str, public_keys: Iterable[str]) -> dict[str, Any]:
    """What a receipt or release card says, if one of these keys signed it; else BadSignature."""
    try:
        kind = json.loads(text)["discreet"]
    except (ValueError, KeyError, TypeError, RecursionError):
        kind = None
    if kind not in ("card", "receipt"):
        raise BadSignature("this is neither a receipt nor a release card")
    for key in public_keys:
        with suppress(BadSignature):
            return {"kind": kind} | (_card_says(text, key) if kind == "card" else _receipt_says(text, key))
    raise BadSignature(f"this {kind} was changed, or was signed by another key")


def paper_price(says: Mapping[str, Any]) -> str:
    """The price on a receipt or release card, for people."""
    if says["kind"] == "card":
        return str(read_measure(says["price"]))
    amounts = ", ".join(show(amount) for amount in read_amounts(says["price"]))
    return f"{amounts}, as the ledger counts; its release card has it in words"


def _card_says(text: str, public_key: str) -> dict[str, Any]:
    body = verify_card(text, public_key)
    charge = {"number": body["charge"]["sequence"], "hash": body["charge"]["hash"]}
    return {"dataset": body["dataset"], "query": body["query"], "price": body["price"], **charge}


def _receipt_says(text: str, public_key: str) -> dict[str, Any]:
    receipt = verify_receipt(text, public_key)
    charge = {"number": receipt.sequence, "hash": receipt.hash}
    return {"dataset": receipt.dataset, "query": receipt.query, "price": list(receipt.price), **charge}


def is_genuine(card: str, public_keys: Iterable[str], answer: bytes, sequence: int, hash_: str) -> bool:
    """Whether one of these keys signed this card, for this answer to this charge."""
    for key in public_keys:
        with suppress(BadSignature):
            return bool(verify_card(card, key, answer)["charge"] == {"sequence": sequence, "hash": hash_})
    return False
