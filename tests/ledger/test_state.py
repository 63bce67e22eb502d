"""state.py: it follows from the entries alone, and every change of any of them is seen."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.ledger.entries import (
    BEFORE_ALL,
    Broken,
    canonical,
    digest,
    read_entry,
)
from discreet.ledger.records import apply_entry
from discreet.ledger.state import State, counted, limits_of
from discreet.privacy.budgets.currency import Limits
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import Approx, Pure
from tests.helpers.ledger_places import Place, answered, prepared


def replayed(lines: list[str]) -> State:
    state = State()
    for line in lines:
        apply_entry(state, read_entry(line))
    return state


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("lines")
    place = Place(str(folder / "l"), str(folder / "k"), str(folder / "h"))
    with prepared(place) as ledger:
        for i in range(3):
            answered(ledger, f"k{i}")
        ledger.owner.record("access.token", {"hash": "x"})
        return list(ledger.export())


@pytest.mark.slow
@given(st.data())
@settings(max_examples=200, deadline=None)
def test_any_change_breaks_the_chain_or_its_head(lines: list[str], data: st.DataObject) -> None:
    """Change one character, drop, repeat or swap entries: Broken, or at least another head than was remembered."""
    head = replayed(lines).hash
    changed = list(lines)
    i = data.draw(st.integers(0, len(lines) - 1))
    match data.draw(st.sampled_from(["character", "drop", "repeat", "swap"])):
        case "character":
            at = data.draw(st.integers(0, len(lines[i]) - 1))
            changed[i] = lines[i][:at] + data.draw(st.sampled_from("09af,x ")) + lines[i][at + 1 :]
        case "drop":
            del changed[i]
        case "repeat":
            changed.insert(i, lines[i])
        case _:
            j = data.draw(st.integers(0, len(lines) - 1))
            changed[i], changed[j] = changed[j], changed[i]
    if changed == lines:
        return
    try:
        state = replayed(changed)
    except Broken:
        return
    assert state.hash != head


def forged(lines: list[str], i: int, **body: Any) -> list[str]:
    """Entry i with another body, and all after it hashed anew: a chain that is whole, and lies."""
    result = lines[:i]
    for line in lines[i:]:
        said = json.loads(line)
        if len(result) == i:
            said["body"] |= body
        said["previous"] = digest(result[-1]) if result else BEFORE_ALL
        result.append(canonical(said))
    return result


def test_sums_are_checked_even_in_a_chain_that_is_whole(lines: list[str]) -> None:
    kinds = [read_entry(line).kind for line in lines]
    charge = kinds.index("charge")
    grants = [i for i, kind in enumerate(kinds) if kind == "grant"]
    wrong: list[tuple[int, dict[str, Any]]] = [
        (charge, {"price": ["0"]}),
        (charge, {"price": ["1/20"]}),
        (charge, {"total": {"before": ["0"], "after": ["0"], "limit": ["1"]}}),
        (charge, {"total": {"before": ["0"], "after": ["1/10"], "limit": ["2"]}}),
        (charge, {"population": "nowhere"}),
        (charge, {"dataset": "nothing"}),
        (charge, {"price": "1/10"}),
        (kinds.index("population"), {"limits": ["1/5"]}),
        (kinds.index("population"), {"limits": ["1", "1"]}),
        (kinds.index("population"), {"rule": "NONE"}),
        (grants[0], {"limits": ["1/5"]}),
        (0, {"format": 2}),
    ]
    for i, body in wrong:
        with pytest.raises(Broken):
            replayed(forged(lines, i, **body))
    replayed(forged(lines, charge, query="another"))  # only the head file and receipts can know


def test_caps_are_checked_even_in_a_chain_that_is_whole(lines: list[str]) -> None:
    """All entries say that the limit is 1/5, and the third charge of 1/10 goes over it."""
    lying = [line.replace('"limit":["1"]', '"limit":["1/5"]') for line in lines]
    population = [read_entry(line).kind for line in lines].index("population")
    with pytest.raises(Broken, match="over a cap"):
        replayed(forged(lying, population, limits=["1/5"]))
    enough = [line.replace('"limit":["1"]', '"limit":["3/10"]') for line in lines]
    replayed(forged(enough, population, limits=["3/10"]))


def test_what_was_used_and_what_may_be(lines: list[str]) -> None:
    state = replayed(lines)
    tenths = (Fraction(3, 10),)
    assert state.used("town") == state.used("town", "ann") == tenths
    assert state.used("town", "bob") == (Fraction(0),)
    assert state.limit("town") == Limits((Fraction(1),))
    assert state.limit("town", "ann") is None
    assert (state.charges, state.sequence, len(state.acts["access.token"])) == (3, len(lines), 1)
    with pytest.raises(KeyError):
        state.limit("town", "eve")


def test_the_limits_of_a_budget_stay_what_they_were_set_to(lines: list[str]) -> None:
    """A later version may convert a promise more tightly; the amounts that were recorded count."""
    population = replace(replayed(lines).populations["town"], limits=Limits((Fraction(1, 2),)))
    assert population.currency.limits == Limits((Fraction(1, 2),))
    assert counted(population.budget, population.rule, population.reserve).limits == Limits((Fraction(1),))


def test_a_copy_shares_nothing_that_can_change() -> None:
    """Whatever fields there are: a reader must not see what is not durable yet."""
    whole = State(acts={"kind": []})
    copy = whole.copied()
    assert copy == whole
    for one in fields(State):
        mine, other = getattr(whole, one.name), getattr(copy, one.name)
        assert not isinstance(mine, (dict, list, set)) or mine is not other, one.name
    assert whole.acts["kind"] is not copy.acts["kind"]


def test_two_sums_are_kept_for_a_promise_that_is_counted_either_way() -> None:
    """A first charge of the whole promise fits; sums in two pairs; any other rule has its amounts as they are."""
    promise, most = Approx(1, "1e-6"), tuple(map(Fraction, ("1", "1/2000000", "1/30", "1/3000000")))
    found = limits_of(promise, Rule.EITHER, most)
    assert found == Limits(most, together=2, alone=(Fraction(1), Fraction(1, 10**6)))
    assert limits_of(promise, Rule.BASIC, most[:2]) == Limits(most[:2])
    assert limits_of(None, Rule.EITHER, most) == limits_of(Pure(1), Rule.EITHER, most) == Limits(most)
