"""ledger_budget.py: a question is charged once, durably, and a key that comes back is charged no more."""

from __future__ import annotations

import pytest

from discreet.errors import OverBudget
from discreet.ledger import Ledger
from discreet.privacy.promises.measures import Pure
from discreet.session.ledger_budget import AlreadyCharged, LedgerBudget, RetryBudget
from discreet.session.payment import BudgetStore
from tests.helpers.ledger_places import Place, prepared


def budget(ledger: Ledger, key: str, kind: type[LedgerBudget] = LedgerBudget) -> LedgerBudget:
    return kind(ledger, "visits", "ann", key=key, query="q", parameters={})


def test_it_pays_from_the_ledger(lite: Place) -> None:
    with prepared(lite, Pure(1), cap=Pure("0.5")) as ledger:
        one = budget(ledger, "one")
        stored: BudgetStore = one
        assert stored.remaining == Pure("0.5")
        assert stored.fits(Pure("0.5"))
        assert not stored.fits(Pure("0.6"))
        assert stored.after(Pure("0.2")) == Pure("0.3")
        assert stored.after(Pure("0.6")) == Pure("0.5")  # it cannot be paid, so nothing changes
        assert budget(ledger, "other").charge is None
        receipt = stored.spend(Pure("0.2"))
        assert receipt.left == stored.remaining == ledger.standing("town", "ann").remaining == Pure("0.3")
        assert one.charge is not None
        assert one.charge.sequence == ledger.head.sequence == receipt.number
        with pytest.raises(OverBudget):
            budget(ledger, "two").spend(Pure("0.4"))


def test_a_key_is_charged_once(lite: Place) -> None:
    with prepared(lite, Pure("0.2")) as ledger:
        first = budget(ledger, "k")
        first.spend(Pure("0.2"))
        assert first.charge is not None
        ledger.store_answer(first.charge, b"42")
        again = budget(ledger, "k", RetryBudget)
        assert again.fits(Pure("0.2"))  # although nothing is left: only spend can tell
        with pytest.raises(AlreadyCharged) as caught:
            again.spend(Pure("0.2"))
        assert (caught.value.charge.answer, caught.value.charge.fresh) == (b"42", False)
        assert again.charge is None
        assert ledger.standing("town").charged == Pure("0.2")
