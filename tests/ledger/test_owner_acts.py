"""owner_acts.py: budgets belong to people, and nothing is given back."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import (
    AlreadyProtected,
    BadParameter,
    LedgerUnsafe,
    OverBudget,
)
from discreet.ledger import replace_key, verify_receipt
from discreet.ledger.owner_acts import check_reason
from discreet.ledger.signing import make_key
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from tests.helpers.ledger_places import Place, answered, ask, prepared


def test_the_split_of_delta_is_fixed_when_the_budget_is_opened(lite: Place) -> None:
    with lite.open(create=True) as ledger:
        ledger.owner.protect("town", Approx(1, "1e-6"), reserve="1/4")
        _, by_rho = ledger.standing("town").accounts
        assert isinstance(by_rho, ZCDP)
        assert by_rho.delta == Fraction(3, 16 * 10**6)
        assert ledger.populations["town"].limits.most[1] == Fraction(1, 4 * 10**6)
        assert ledger.populations["town"].rule is Rule.EITHER


def test_the_owner_raises_a_budget_and_nothing_comes_back(lite: Place) -> None:
    with prepared(lite, Pure("0.1")) as ledger:
        ask(ledger, "k0")
        with pytest.raises(OverBudget):
            ask(ledger, "k1")
        ledger.owner.set_budget("town", Pure("0.2"), reason="a new year, and a new decision")
        ask(ledger, "k1")
        ledger.owner.set_budget("town", Pure("0.05"), reason="less after all")
        assert ledger.standing("town").remaining == Pure(0)
        assert ledger.standing("town").charged == Pure("0.2")
        with pytest.raises(BadParameter):
            ledger.owner.set_budget("town", ZCDP(1), reason="another kind")
        ledger.owner.write_off("town", Pure(3), reason="published elsewhere")
        assert ledger.standing("town").charged == Pure("3.2")
    assert lite.verify().good


@pytest.mark.slow
def test_the_same_data_under_another_name_takes_a_decision(place: Place) -> None:
    with prepared(place) as ledger:
        ledger.owner.protect("second", Pure(1))
        for name, marks in (("copy", ["/data/visits"]), ("copy", ["x", "/data/visits"]), ("visits", [])):
            with pytest.raises(AlreadyProtected):
                ledger.owner.register(name, "second", marks=marks)
        ledger.owner.register("copy", "town", marks=["/data/visits"])  # the same people, the same budget: fine
        ask(ledger, "k")
        ledger.spend("copy", "ann", Pure("0.2"), key="k2", query="q")
        assert ledger.standing("town").charged == Pure("0.3")
        ledger.owner.register("other", "second", marks=["/data/visits"], decision="they all agreed to a second study")
        (line,) = [line for line in ledger.entries(kind="dataset") if line.entry.body["dataset"] == "other"]
        assert line.entry.body["decision"] == "they all agreed to a second study"
        assert "/data/visits" not in line.entry.text  # what marks the data is hidden under the key


def test_a_data_set_can_be_described_anew(lite: Place) -> None:
    with prepared(lite) as ledger:
        ask(ledger, "k")
        ledger.owner.register("visits", "town", about={"columns": ["cost", "year"]}, marks=["/data/visits.2"])
        assert ledger.datasets["visits"].about == {"columns": ["cost", "year"]}
        assert ledger.standing("town").charged == Pure("0.1")


@pytest.mark.slow
def test_a_new_key_cannot_compare_old_marks_and_says_so(lite: Place, tmp_path: Path) -> None:
    with prepared(lite) as ledger:
        old = ledger.public_key
        charge = answered(ledger, "k")
    new = tmp_path / "new.key"
    make_key(new)
    with pytest.raises(LedgerUnsafe):
        Place(lite.location, str(new), lite.head).open()
    replace_key(lite.location, key=new, head=lite.head, reason="the old one was lost")
    with Place(lite.location, str(new), lite.head).open() as ledger:
        assert ledger.public_key != old
        assert verify_receipt(charge.proof, old).sequence == charge.sequence
        assert ask(ledger, "k").answer == b"answer to k"
        ledger.owner.protect("second", Pure(1))
        with pytest.raises(AlreadyProtected, match="may hold"):
            ledger.owner.register("anything", "second", marks=["anything"])
        ledger.owner.register("anything", "second", marks=["anything"], decision="other people: the staff")
    with pytest.raises(LedgerUnsafe):
        lite.open()


@pytest.mark.slow
def test_acts_of_others_are_kept(place: Place) -> None:
    with prepared(place) as ledger:
        ledger.owner.record("access.token", {"analyst": "ann", "hash": "ab"}, by="owner")
        ledger.owner.record("access.token", {"analyst": "bob", "hash": "cd"}, by="owner")
        with place.open() as other:
            assert [act.body["hash"] for act in other.owner.acts("access.token")] == ["ab", "cd"]
            ledger.owner.record("access.revoke", {"hash": "ab"})
            assert [act.body for act in other.owner.acts("access.revoke")] == [{"hash": "ab"}]
        assert ledger.owner.acts("access.other") == ()


def test_a_cap_above_the_budget_is_refused(lite: Place) -> None:
    with prepared(lite, Pure(1)) as ledger:
        ledger.owner.grant("ann", "town", Pure(1))
        with pytest.raises(BadParameter, match="must not be above the budget of all"):
            ledger.owner.grant("ann", "town", Pure("1.01"))


@pytest.mark.parametrize("reason", ["", " ", "\n\t "])
def test_a_reason_says_something(reason: str) -> None:
    with pytest.raises(BadParameter, match="must say why"):
        check_reason(reason)
    assert check_reason(" by law ") == " by law "
