"""chain.py and state.py: canonical text, links, and that every change of any entry is seen."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadParameter
from discreet.ledger.entries import (
    BEFORE_ALL,
    Broken,
    Entry,
    amounts_text,
    canonical,
    digest,
    follows,
    read_amounts,
    read_entry,
    write_entry,
)
from discreet.ledger.records import apply_entry
from discreet.ledger.state import State
from tests.helpers.ledger_places import Place, answered, prepared

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(plain)
@settings(max_examples=200, deadline=None)
def test_canonical_text_is_read_back(value: Any) -> None:
    text = canonical(value)
    assert text.isascii()
    assert json.loads(text) == value
    assert canonical(json.loads(text)) == text


@pytest.mark.parametrize("value", [0.5, {"a": 1.0}, {1: "x"}, b"x", {1, 2}, object(), float("nan")])
def test_what_has_no_one_text_is_refused(value: Any) -> None:
    with pytest.raises(BadParameter):
        canonical(value)


def test_what_is_too_deep_or_too_long_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(BadParameter):
        canonical(deep)
    with pytest.raises(BadParameter):
        canonical(10**5000)


@given(st.lists(st.fractions(min_value=0), max_size=4))
@settings(max_examples=100, deadline=None)
def test_amounts_are_read_back(amounts: list[Fraction]) -> None:
    assert read_amounts(amounts_text(tuple(amounts))) == tuple(amounts)


@pytest.mark.parametrize(
    "texts", ["1", ["-1"], ["2/4"], ["1/0"], ["0.1"], [" 1"], ["1/1"], ["+1"], ["1_0"], [1], ["٣"]]
)
def test_amounts_have_one_way_to_be_written(texts: Any) -> None:
    with pytest.raises(Broken):
        read_amounts(texts)


def entry(after: Entry | None = None, **changes: Any) -> Entry:
    before = {"sequence": 1, "previous": BEFORE_ALL} if after is None else _next(after)
    fields = {"ledger": "x", "kind": "a.b", "by": "owner", "time": "", "body": {}}
    return write_entry(**{**fields, **before, **changes})


def _next(after: Entry) -> dict[str, Any]:
    return {"sequence": after.sequence + 1, "previous": after.hash}


def test_links() -> None:
    first = entry()
    second = entry(first)
    follows(second, sequence=1, previous=first.hash, ledger="x")
    for bad in (entry(first, sequence=3), entry(first, previous=BEFORE_ALL), entry(first, ledger="y"), entry(second)):
        with pytest.raises(Broken):
            follows(bad, sequence=1, previous=first.hash, ledger="x")
    assert first.hash == digest(first.text)
    assert entry().hash != entry().hash  # the salt: nobody can guess an entry from its hash


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "x", '{"sequence": 1}', "[" * 100_000])
def test_what_is_no_entry(text: str) -> None:
    with pytest.raises(Broken):
        read_entry(text)


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


def test_kinds_that_are_not_known(lines: list[str]) -> None:
    state = replayed(lines)
    last = read_entry(lines[-1])
    for kind in ("unheard", "ledger", "population"):
        with pytest.raises(Broken):
            apply_entry(state, entry(last, kind=kind, ledger=last.ledger, body={}))
    with pytest.raises(Broken, match="first"):
        apply_entry(State(), entry(kind="a.b"))
