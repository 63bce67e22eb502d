"""records.py: each kind is read as it was written, by this version and by a later one; what is not known is refused."""

from __future__ import annotations

import json
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.ledger import import_ledger
from discreet.ledger.entries import BEFORE_ALL, Broken, Entry, canonical, digest, read_entry, write_entry
from discreet.ledger.head_file import Head
from discreet.ledger.record_base import CustomRecord
from discreet.ledger.records import (
    KINDS,
    AcknowledgeRecord,
    AnalystRecord,
    CappedSums,
    ChargeRecord,
    Expected,
    GrantRecord,
    LedgerRecord,
    RevokeRecord,
    Sums,
    _adds_up,
    apply_entry,
    read_record,
)
from discreet.ledger.state import Analyst, Population, State
from discreet.privacy.budgets.currency import Limits, add
from discreet.privacy.promises.measures import Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours
from tests.helpers.ledger_places import Place

STORED = ["ledger_v1.jsonl", "ledger_streams.jsonl"]
"""One ledger for each set of kinds that was ever published, as it was written then. They never change."""
V1, *LATER = [(Path(__file__).parent / name).read_text().splitlines() for name in STORED]
ENTRIES = [read_entry(line) for lines in (V1, *LATER) for line in lines]


# --- what was written before --------------------------------------------------------------------------------------


def test_every_kind_is_in_the_stored_ledger() -> None:
    assert {entry.kind for entry in ENTRIES if "." not in entry.kind} == set(KINDS)
    assert all(name == kind.KIND for name, kind in KINDS.items())


@pytest.mark.parametrize("number", range(len(ENTRIES)))
def test_a_record_gives_back_the_bytes_that_were_read(number: int) -> None:
    """The body that a record writes, in the place of the one that was read, makes the very same line and hash."""
    entry = ENTRIES[number]
    line = json.loads(entry.text) | {"body": read_record(entry).body()}
    assert canonical(line) == entry.text
    assert digest(canonical(line)) == entry.hash


def test_records_are_typed() -> None:
    head = Head("42a652a96df43f43a460f46b36e6ce5b", 51, ENTRIES[50].hash)
    (told,) = [read_record(entry) for entry in ENTRIES if entry.kind == "acknowledge"]
    assert isinstance(told, AcknowledgeRecord)
    assert (told.found, told.expected) == (head, Expected(file=None, memory=head))
    charge = next(ChargeRecord.read(entry) for entry in ENTRIES if entry.kind == "charge")
    assert charge.own == CappedSums(before=(Fraction(0),), after=charge.price, limit=(Fraction(1),))
    custom = next(read_record(entry) for entry in ENTRIES if entry.kind == "access.token")
    assert custom == CustomRecord("access.token", {"analyst": "ann", "hash": "00ff"})


# --- what is refused ----------------------------------------------------------------------------------------------


def first_of(kind: str) -> Entry:
    return next(entry for entry in ENTRIES if entry.kind == kind)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_fields_that_are_missing_or_not_known_are_refused(kind: str) -> None:
    body = first_of(kind).body
    assert KINDS[kind].from_body(body).body() == body
    for name in body:
        with pytest.raises(Broken, match=f"of kind {kind}"):
            KINDS[kind].from_body({key: value for key, value in body.items() if key != name})
    with pytest.raises(Broken, match=f"of kind {kind}"):
        KINDS[kind].from_body(body | {"only_for": "one query"})


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_fields_of_another_type_are_refused(kind: str) -> None:
    body = first_of(kind).body
    for name in body:
        wrongs: list[Any] = [True, 7.0, [[]], {"x": 1}]
        for wrong in wrongs:
            changed = body | {name: wrong}
            if type(body[name]) is dict and wrong == {"x": 1}:
                continue  # a mapping that is only kept; those that are read are below
            with pytest.raises(Broken):
                KINDS[kind].from_body(changed)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("charge", {"own": {"before": ["0"], "after": ["1"]}}),
        ("charge", {"own": {"before": ["0"], "after": ["1"], "limit": ["1"], "more": ["1"]}}),
        ("charge", {"price": ["2/4"]}),
        ("write_off", {"total": {"before": ["0"], "after": ["1"], "limit": ["1"]}}),
        ("population", {"rule": "NONE"}),
        ("population", {"neighbours": None}),
        ("population", {"reserve": "0.5"}),
        ("population", {"budget": {"version": 2, "promise": {"kind": "Pure", "epsilon": "1"}}}),
        ("grant", {"cap": {"version": 1, "promise": {"kind": "Unheard"}}}),
        ("acknowledge", {"expected": {"file": None, "memory": None}}),
        ("dataset", {"marks": ["x", 1]}),
    ],
)
def test_parts_are_read_strictly(kind: str, changes: dict[str, Any]) -> None:
    with pytest.raises(Broken):
        KINDS[kind].from_body(first_of(kind).body | changes)


def test_another_kind_is_not_read() -> None:
    with pytest.raises(Broken, match="kind charge"):
        ChargeRecord.read(first_of("grant"))


def newer_lines(kind: str, body: dict[str, Any]) -> list[str]:
    last = read_entry(V1[-1])
    more = write_entry(
        sequence=last.sequence + 1, previous=last.hash, ledger=last.ledger, kind=kind, by="owner", time="", body=body
    )
    return [*V1, more.text]


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("unheard", {}, "kind 'unheard', which is not known here"),
        ("retire", {"dataset": "pure data", "reason": "x", "version": 2}, "version 2"),
        ("retire", {"dataset": "pure data", "reason": "x", "until": "May"}, "does not read as an entry of kind retire"),
    ],
)
def test_a_ledger_with_what_is_not_known_is_not_taken(lite: Place, kind: str, body: dict[str, Any], words: str) -> None:
    with pytest.raises(LedgerError, match=f"entry {len(V1) + 1} is bad: .*{words}"):
        import_ledger(newer_lines(kind, body), lite.location)
    assert not lite.file.exists()


# --- what a record does -------------------------------------------------------------------------------------------


def test_the_first_entry_opens_the_ledger_and_no_other() -> None:
    state = State()
    early = write_entry(sequence=1, previous=BEFORE_ALL, ledger="x", kind="a.b", by="o", time="", body={})
    with pytest.raises(Broken, match="first"):
        apply_entry(state, early)
    body = LedgerRecord(1, "00", {}).body()
    first = write_entry(sequence=1, previous=BEFORE_ALL, ledger="x", kind="ledger", by="o", time="", body=body)
    apply_entry(state, first)
    assert (state.ledger, state.public_key, state.sequence, state.hash) == ("x", "00", 1, first.hash)
    again = write_entry(sequence=2, previous=first.hash, ledger="x", kind="ledger", by="o", time="", body=body)
    with pytest.raises(Broken, match="second time"):
        apply_entry(state, again)
    assert state.sequence == 1


def test_an_entry_that_is_refused_changes_nothing() -> None:
    """Charges, and what may be there once, applied a second time under a new number."""
    state = State()
    for line in V1:
        apply_entry(state, read_entry(line))
    before = dict(state.spent), state.charges
    for entry in map(read_entry, V1):
        if entry.kind in ("charge", "write_off", "population", "analyst", "ledger"):
            again = write_entry(
                sequence=state.sequence + 1,
                previous=state.hash,
                ledger=state.ledger,
                kind=entry.kind,
                by=entry.by,
                time="",
                body=entry.body,
            )
            with pytest.raises(Broken):
                apply_entry(state, again)
    assert (dict(state.spent), state.charges) == before


def test_capped_sums_are_sums_with_a_limit() -> None:
    assert [field.name for field in fields(CappedSums)] == [*(field.name for field in fields(Sums)), "limit"]


def amounts(*texts: str) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, texts))


@pytest.fixture
def state() -> State:
    """Of a town's budget of 1, 3/10 are spent: 1/10 by ann, whose cap is 1/2, and 1/5 by bob, who has none."""
    town = Population("town", Pure(1), None, Fraction(1, 2), Limits(amounts("1")), Neighbours.ADD_REMOVE, "one person")
    made = State(populations={"town": town}, analysts={"ann": Analyst("ann"), "bob": Analyst("bob")})
    made.caps |= {("town", "ann"): Limits(amounts("1/2")), ("town", "bob"): None}
    made.spent |= {("town", None): amounts("3/10"), ("town", "ann"): amounts("1/10"), ("town", "bob"): amounts("1/5")}
    return made


@pytest.mark.parametrize(
    ("who", "before", "price", "after", "limit", "words"),
    [
        ("ann", "1/10", "2/5", "1/2", "1/2", None),  # all of the cap
        ("ann", "1/10", "2/5", "1/2", "1", "names another one"),
        ("ann", "1/10", "2/5", "1/2", None, "names another one"),
        ("ann", "1/10", "41/100", "51/100", "1/2", "goes over a cap"),
        ("ann", "0", "2/5", "2/5", "1/2", "sums are wrong"),  # adds up, but not from what was spent
        ("ann", "1/10", "2/5", "2/5", "1/2", "sums are wrong"),  # from what was spent, but does not add up
        ("bob", "1/5", "9", "46/5", None, None),  # the town's budget is another account
        ("bob", "1/5", "9", "46/5", "1", "names another one"),
        (None, "3/10", "7/10", "1", "1", None),
        (None, "3/10", "8/10", "11/10", "1", "goes over a cap"),
    ],
)
def test_sums_are_the_states_own_and_within_the_limit_that_holds(  # noqa: PLR0917 - a column of the table each
    state: State, who: str | None, before: str, price: str, after: str, limit: str | None, words: str | None
) -> None:
    sums = CappedSums(amounts(before), amounts(after), None if limit is None else amounts(limit))
    if words is None:
        sums.check(state, ("town", who), amounts(price))
        Sums(sums.before, sums.after).check(state, ("town", who), amounts(price))
    else:
        with pytest.raises(Broken, match=words):
            sums.check(state, ("town", who), amounts(price))


def test_a_sum_that_was_rounded_up_is_no_more_than_its_own_rounding() -> None:
    """Fractions that would grow for ever are a hair more, always the same; a hair less is no sum."""
    before, price = amounts("1/3"), (Fraction(1, 3**40),)
    sum_of_both = add(before, price)
    assert _adds_up(before, price, sum_of_both)
    assert _adds_up(before, price, (before[0] + price[0],))
    assert not _adds_up(before, price, (sum_of_both[0] + Fraction(1, 10**40),))
    assert not _adds_up(before, price, (before[0],))


def test_what_acts_about_people_do(state: State) -> None:
    entry = read_entry(V1[0])
    RevokeRecord("ann", "left").apply(state, entry)
    assert [analyst.revoked for analyst in state.analysts.values()] == [True, False]
    GrantRecord("bob", "town", Pure("1/4"), amounts("1/4")).apply(state, entry)
    assert state.caps["town", "bob"] == Limits(amounts("1/4"))
    assert state.analysts["bob"].caps == {"town": Pure("1/4")}
    with pytest.raises(Broken, match="another currency"):
        GrantRecord("bob", "town", Approx("1/4", "1e-9"), amounts("1/4", "1/1000000000")).apply(state, entry)
    with pytest.raises(Broken, match="a second time"):
        AnalystRecord("bob").apply(state, entry)
    AnalystRecord("zoe").apply(state, entry)
    assert state.analysts["zoe"] == Analyst("zoe")
