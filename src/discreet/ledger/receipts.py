"""Receipts and release cards: signed texts that an analyst can keep and check without the curator.

Promise: a receipt that ``verify_receipt`` accepts shows that the ledger held this charge, as this entry of its chain;
if the ledger is later rolled back or edited, the receipt and ``verify_ledger`` find it out. A card that ``verify_card``
accepts is the ledger's own account of one release.
Believes: signing.py. Nothing here tells how long an answer took, or when it was ready.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from discreet.errors import BadSignature
from discreet.ledger.entries import Broken, Entry, read_amounts, read_entry
from discreet.ledger.signing import Key, read_signed
from discreet.ledger.state import Population, write_measure


@dataclass(frozen=True, slots=True)
class SignedReceipt:
    """What a receipt says, checked: the entry, as it stands in the ledger."""

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
    """What a receipt says, if the ledger with this public key signed it; else BadSignature. Needs no ledger."""
    body = read_signed(text, "receipt", public_key)
    try:
        entry = read_entry(body["entry"])
        said = entry.body
        if entry.hash != body["hash"] or entry.kind != "charge":
            raise BadSignature("this receipt does not name a charge")
        return SignedReceipt(
            ledger=entry.ledger,
            sequence=entry.sequence,
            hash=entry.hash,
            analyst=entry.by,
            dataset=said["dataset"],
            query=said["query"],
            parameters=said["parameters"],
            event=said["event"],
            price=tuple(said["price"]),
            entry=entry.text,
        )
    except (Broken, KeyError, TypeError):
        raise BadSignature("this receipt does not name a charge") from None


def write_card(
    entry: Entry, population: Population, key: Key, *, answer: bytes, accuracy: Any, versions: Mapping[str, str]
) -> str:
    """The signed release card of an answer: what was asked, what it cost, what was promised to whom."""
    said, money = entry.body, population.currency

    def promise(amounts: Any) -> dict[str, Any]:
        return write_measure(money.shown(read_amounts(amounts)))

    return key.sign(
        "card",
        {
            "ledger": entry.ledger,
            "charge": {"sequence": entry.sequence, "hash": entry.hash},
            "analyst": entry.by,
            "dataset": said["dataset"],
            "population": population.name,
            "unit": population.unit,
            "neighbours": population.neighbours.name,
            "budget": write_measure(population.budget),
            "rule": None if population.rule is None else population.rule.name,
            "currency": money.name,
            "query": said["query"],
            "parameters": said["parameters"],
            "event": said["event"],
            "price": promise(said["price"]),
            "total": {when: promise(said["total"][when]) for when in ("before", "after", "limit")},
            "accuracy": accuracy,
            "answer": hashlib.sha256(answer).hexdigest(),
            "versions": dict(versions),
        },
    )


def verify_card(text: str, public_key: str, answer: bytes | None = None) -> dict[str, Any]:
    """What a release card says, if the ledger with this public key signed it, for this answer; else BadSignature."""
    body = read_signed(text, "card", public_key)
    if answer is not None and body.get("answer") != hashlib.sha256(answer).hexdigest():
        raise BadSignature("this card was signed for another answer")
    return body


def is_genuine(card: str, public_keys: Iterable[str], answer: bytes, sequence: int, hash_: str) -> bool:
    """Whether one of these keys signed this card, for this answer to this charge."""
    for key in public_keys:
        with suppress(BadSignature):
            return bool(verify_card(card, key, answer)["charge"] == {"sequence": sequence, "hash": hash_})
    return False
