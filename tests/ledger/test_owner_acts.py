"""owner_acts.py: budgets belong to people, and nothing is given back."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import (
    AlreadyProtected,
    BadParameter,
    DiscreetError,
    LedgerUnsafe,
    NotRegistered,
    OverBudget,
)
from discreet.ledger import replace_key, verify_receipt
from discreet.ledger.owner_acts import Owner, check_name, check_reason
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
    assert check_reason("x" * 10_000)
    with pytest.raises(BadParameter, match="at most 10,000 characters"):
        check_reason("x" * 10_001)


@pytest.mark.parametrize("name", ["", " ", "x ", " x", "a\nb", "\x1b[2J", "x" * 101, 7, None])
def test_a_name_fits_one_line(name: Any) -> None:
    with pytest.raises(BadParameter):
        check_name(name, "analyst")
    assert [check_name(good, "analyst") for good in ("x", "x" * 100, "Zoë B.")] == ["x", "x" * 100, "Zoë B."]


Refusal = tuple[type[DiscreetError], str, Callable[[Owner], object]]
REFUSED: dict[str, Refusal] = {
    "a population twice": (AlreadyProtected, "already", lambda o: o.protect("town", Pure(1))),
    "neighbours": (BadParameter, "neighbours", lambda o: o.protect("x", Pure(1), neighbours="ADD_REMOVE")),  # type: ignore[arg-type]
    "a unit of no end": (BadParameter, "unit", lambda o: o.protect("x", Pure(1), unit="x" * 10_001)),
    "a share": (BadParameter, "reserve", lambda o: o.protect("x", Approx(1, "1e-6"), reserve=2)),
    "another kind": (BadParameter, "same kind", lambda o: o.set_budget("town", Pure(1), reason="why")),
    "no such budget": (NotRegistered, "no budget", lambda o: o.set_budget("x", Pure(1), reason="why")),
    "no reason": (BadParameter, "must say why", lambda o: o.set_budget("town", Approx(1, "1e-6"), reason=" ")),
    "no such population": (NotRegistered, "no budget", lambda o: o.register("x", "x", marks=["x"])),
    "no decision": (BadParameter, "decision", lambda o: o.register("x", "town", marks=["x"], decision="")),
    "no such data": (NotRegistered, "no data set", lambda o: o.retire("x", reason="why")),
    "no reason to retire": (BadParameter, "must say why", lambda o: o.retire("visits", reason="")),
    "an analyst twice": (BadParameter, "for good", lambda o: o.add_analyst("ann")),
    "no such analyst": (NotRegistered, "no analyst", lambda o: o.grant("x", "town")),
    "nobody's population": (NotRegistered, "no budget", lambda o: o.grant("ann", "x")),
    "a cap of another kind": (BadParameter, "kind of the budget", lambda o: o.grant("ann", "town", Pure("0.1"))),
    "a cap above": (BadParameter, "above", lambda o: o.grant("ann", "town", Approx("0.5", "2e-6"))),
    "revoked without a reason": (BadParameter, "must say why", lambda o: o.revoke_analyst("ann", reason="")),
    "nobody to revoke": (NotRegistered, "no analyst", lambda o: o.revoke_analyst("x", reason="why")),
    "nothing to write off": (NotRegistered, "no budget", lambda o: o.write_off("x", Pure(1), reason="why")),
    "no reason to write off": (BadParameter, "must say why", lambda o: o.write_off("town", Pure(1), reason="")),
    "no kind": (BadParameter, "dot", lambda o: o.record("token", {})),
    "a kind in capitals": (BadParameter, "dot", lambda o: o.record("Access.token", {})),
}


def test_a_refused_act_is_not_recorded(lite: Place) -> None:
    with prepared(lite, Approx(1, "1e-6")) as ledger:
        before = ledger.head
        for error, words, act in REFUSED.values():
            with pytest.raises(error, match=words):
                act(ledger.owner)
        assert ledger.head == before
    assert lite.verify().good


def test_whoever_was_revoked_and_data_that_were_retired_are_no_more(lite: Place) -> None:
    with prepared(lite) as ledger:
        ledger.owner.revoke_analyst("ann", reason="left")
        with pytest.raises(NotRegistered, match="no analyst"):
            ask(ledger, "a")
        with pytest.raises(NotRegistered, match="no analyst"):
            ledger.owner.grant("ann", "town")
        ledger.owner.add_analyst("zoe")
        with pytest.raises(NotRegistered, match="no permission"):
            ask(ledger, "a", analyst="zoe")
        assert ask(ledger, "b", analyst="bob").fresh
        ledger.owner.retire("visits", reason="old")
        with pytest.raises(NotRegistered, match="no data set"):
            ask(ledger, "c", analyst="bob")
        with pytest.raises(NotRegistered, match="no data set"):
            ledger.spend("x", "bob", Pure("0.1"), key="d", query="q")
        assert ledger.standing("town").charged == Pure("0.1")


def test_data_are_recognised_by_one_mark_or_where_nothing_is_known(lite: Place) -> None:
    with prepared(lite) as ledger:
        asked = [("visits", ["/data/visits"]), ("visits", ["x", "/data/visits"]), ("visits", ["x"]), ("visits", []),
                 ("unknown", ["x"])]  # fmt: skip
        assert [ledger.owner.recognises(name, marks) for name, marks in asked] == [True, True, False, True, True]
        ledger.owner.check_unprotected("new", "town", marks=["/data/visits"])
        ledger.owner.check_unprotected("new", "village", marks=["/data/new"])
        for name, marks in (("new", ["/data/visits"]), ("visits", ["/data/new"])):
            with pytest.raises(AlreadyProtected, match="holds"):
                ledger.owner.check_unprotected(name, "village", marks=marks)
