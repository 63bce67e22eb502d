"""receipts.py: receipts and release cards can be checked without the ledger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import (
    BadSignature,
)
from discreet.ledger import verify_card, verify_receipt
from discreet.ledger.entries import canonical, digest
from discreet.ledger.receipts import is_genuine, paper_price, verify_paper, write_receipt
from discreet.ledger.signing import make_key, open_key
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Approx
from tests.helpers.ledger_places import Place, answered, ask, prepared


@pytest.mark.slow
def test_receipts_and_cards_can_be_checked_offline(place: Place) -> None:
    with prepared(place, Approx(1, "1e-6"), rule=Rule.ZCDP) as ledger:
        ask(ledger, "before", events.Gaussian(sigma=20))
        charge = ledger.store_answer(
            ask(ledger, "k", events.Gaussian(sigma=20)), b"42", accuracy="within 40 with 95 %", versions={"engine": "2"}
        )
        receipt = verify_receipt(charge.proof, ledger.public_key)
        assert (receipt.sequence, receipt.hash) == (charge.sequence, charge.entry.hash)
        assert (receipt.analyst, receipt.dataset, receipt.query) == ("ann", "visits", "q")
        assert charge.card is not None
        card = verify_card(charge.card, ledger.public_key, b"42")
        assert (card["unit"], card["neighbours"], card["rule"]) == ("one person", "ADD_REMOVE", "ZCDP")
        rho = [card["total"][when]["promise"]["rho"] for when in ("before", "after")]
        assert rho == ["1/800", "1/400"]
        assert card["price"]["promise"]["rho"] == "1/800"
        assert card["event"]["event"] == {"kind": "Gaussian", "sigma_squared": "400", "sensitivity_squared": "1"}
        assert card["accuracy"] == "within 40 with 95 %"
        assert {"discreet", "python", "engine"} == card["versions"].keys()
        assert "time" not in card  # how long an answer took is nobody's business
        with pytest.raises(BadSignature):
            verify_card(charge.card, ledger.public_key, b"43")
        with pytest.raises(BadSignature):
            verify_receipt(charge.card, ledger.public_key)
        for kind, text in (("receipt", charge.proof), ("card", charge.card)):
            says = verify_paper(text, [make_key(Path(place.key).with_name(f"older {kind}")).public, ledger.public_key])
            assert (says["kind"], says["number"], says["hash"]) == (kind, charge.sequence, charge.entry.hash)
            assert paper_price(says).startswith("0.00125" if kind == "receipt" else "rho 0.00125")
            with pytest.raises(BadSignature, match="another key"):
                verify_paper(text, [])
        another = make_key(Path(place.key).with_name("another")).public
        for text, check in ((charge.proof, verify_receipt), (charge.card, verify_card)):
            for changed, key in ((text.replace("ann", "eve"), ledger.public_key), (text, another)):
                with pytest.raises(BadSignature):
                    check(changed, key)


def test_only_charges_have_receipts(lite: Place) -> None:
    """A signed text that names another entry, or another hash, is no receipt; nor is one that a later version wrote."""
    with prepared(lite) as ledger:
        charge = ask(ledger, "k")
        key = open_key(Path(lite.key))
        grant = ledger.entries(kind="grant")[0].entry
        newer = canonical(json.loads(charge.entry.text) | {"body": charge.entry.body | {"version": 2}})
    for entry, hash_ in ((grant.text, grant.hash), (charge.entry.text, grant.hash), (newer, digest(newer)), ("", "")):
        with pytest.raises(BadSignature, match="does not name a charge"):
            verify_receipt(key.sign("receipt", {"entry": entry, "hash": hash_}), key.public)
    assert write_receipt(charge.entry, key) == charge.proof


def test_a_card_is_for_one_answer_to_one_charge(lite: Place) -> None:
    with prepared(lite) as ledger:
        charge = answered(ledger, "k")
        assert charge.card is not None
        right = (charge.card, [ledger.public_key], b"answer to k", charge.sequence, charge.entry.hash)
        assert is_genuine(*right)
        for at, wrong in ((1, []), (1, ["00" * 32]), (2, b"answer"), (3, charge.sequence + 1), (4, "00")):
            changed: Any = [*right[:at], wrong, *right[at + 1 :]]
            assert not is_genuine(*changed)
