"""Messages: every code has a text in every interface's words, short enough to read, and no code reads a sentence."""

from __future__ import annotations

import ast
import json
import re
from datetime import date
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from discreet.errors import BadParameter, BadQuestion, OverBudget
from discreet.messages import PLAIN, TEXTS, Interface, Message, message, template, worst_first
from discreet.privacy.promises.measures import Pure

SOURCE = Path(__file__).resolve().parent.parent / "src" / "discreet"
CODES = [code for code in TEXTS if code != PLAIN]
EXAMPLES: dict[str, Any] = {
    "": "cost",
    ",": 7,
    ".0%": 0.125,
    "value": 1.5,
    "±": 0.25,
    "and": ("a", "b"),
    "or": ("a", "b"),
    "options": ("a", "b"),
    "shares": (0.01, 0.006, 0.014),
}
OTHERS_WORDS = {
    Interface.COMMAND: ("dp.", "session.", "=...", "POST ", "answer."),
    Interface.HTTP: ("dp.", "session.", "=...", "--", "discreet ", "answer."),
    Interface.PAGE: ("dp.", "session.", "=...", "--", "discreet ", "POST ", "/api"),
    Interface.PYTHON: ("--", "POST "),
}


def places(code: str, interface: Interface) -> dict[str, str]:
    """The fields that a text names, each with how it is written."""
    return {name: how or "" for _, name, how, _ in Formatter().parse(template(code, interface)) if name}


def example(code: str) -> Message:
    every = {name: how for interface in Interface for name, how in places(code, interface).items()}
    return message(code, **{name: _value(how) for name, how in every.items()})


def _value(how: str) -> Any:
    return (1, 3) if how.startswith("of ") else 3 if how in {"groups", "rows", "units", "distinct values"} else (
        4.5 if how.isdigit() else EXAMPLES[how])  # fmt: skip


@pytest.mark.parametrize("code", CODES)
def test_each_code_has_a_short_text_in_the_words_of_each_interface(code: str) -> None:
    for interface in Interface:
        text = example(code).text(interface)
        assert not set("{}") & (set(text) - set("{dataset}")), text
        sentences = [one for one in re.split(r"(?<=[.;:]) (?=[A-Za-z±])", text) if one]
        assert len([one for one in re.split(r"\. ", text) if one]) <= 2, text
        assert max(len(one.split()) for one in sentences) <= 25, text
        assert not [word for word in OTHERS_WORDS[interface] if word in text], (interface, text)


@pytest.mark.parametrize("code", CODES)
def test_a_message_survives_being_stored(code: str) -> None:
    note = example(code)
    stored = json.loads(json.dumps(note.as_json()))
    assert stored["text"] == note.text(Interface.HTTP)
    assert Message.read(stored) == note
    assert hash(note) == hash(example(code))


def test_what_another_version_stored_is_shown_as_it_is() -> None:
    sentence = "what is beyond is not in the error bars"
    for stored in (
        sentence,
        {"code": "gone", "fields": {}, "text": sentence},
        {"code": "rows_scaled", "text": sentence},
    ):
        assert str(Message.read(stored)) == sentence


def test_values_are_written_as_people_write_them() -> None:
    given = message("given_value", name="first", value=date(2025, 1, 2), error=None, cost="epsilon 1")
    assert str(given).startswith("first = 2025-01-02 was released first, for epsilon 1.")
    assert given.as_json()["fields"]["value"] == "2025-01-02"
    assert "in 2 of 3 groups" in str(message("says_nothing", column="x", groups=(2, 3)))
    assert " in " not in str(message("null_quotient", column="x", rows=(1, 1))).partition(":")[0]


def test_the_worst_comes_first_and_nothing_twice() -> None:
    limit, null = message("rows_limited", rows=2), message("null_too_few", column="x")
    assert worst_first([limit, null, limit]) == (null, limit)


def test_a_refusal_speaks_the_words_of_whoever_reads_it() -> None:
    refused = BadQuestion("SUM needs a number with bounds", message("declare_bounds", column="cost", expression="cost"))
    assert "dp.bounds" in str(refused)
    assert "--bounds cost=low:high" in refused.text(Interface.COMMAND)
    assert "ask the owner" in refused.text(Interface.HTTP) == refused.text(Interface.PAGE)
    missing = BadParameter("max_rows", None, "must be given")
    assert missing.text(Interface.COMMAND) == "--max-rows is not given: it must be given"
    assert str(missing) == "max_rows is None, but it must be given"
    assert (
        missing.renamed("table.max_rows", " (in x.toml)").text(Interface.COMMAND).startswith("table.max_rows is None")
    )


def test_whether_a_budget_is_spent_is_read_from_its_numbers() -> None:
    assert "owner" in str(OverBudget(asked=Pure(1), left=Pure(0)))
    assert 'write "0.3"' in str(OverBudget(asked=Pure(0.1 * 3), left=Pure("0.3")))
    assert "ask for less" in str(OverBudget(asked="any words 0", left="0"))


# --- the source -------------------------------------------------------------------------------------------------------


def _calls() -> list[tuple[str, ast.Call]]:
    files = ((path.name, ast.parse(path.read_text("utf-8"))) for path in SOURCE.rglob("*.py"))
    calls = ((file, node) for file, tree in files for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [(file, call) for file, call in calls if isinstance(call.func, ast.Name) and call.func.id == "message"]


def test_every_message_that_is_made_has_a_text_with_its_fields() -> None:
    for file, call in _calls():
        constants = [part.value for part in ast.walk(call.args[0]) if isinstance(part, ast.Constant)]
        codes = [code for code in constants if isinstance(code, str) and code in TEXTS]
        assert codes or isinstance(call.args[0], ast.Name | ast.Attribute), (file, ast.unparse(call))
        names = {keyword.arg for keyword in call.keywords}
        for code in codes:
            for interface in Interface:
                assert set(places(code, interface)) <= names, (file, code, interface)


def test_every_text_is_used() -> None:
    source = "\n".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py") if path.name != "messages.py")
    assert [code for code in CODES if not re.search(rf"[\"']{code}[\"']", source)] == []


READS_A_SENTENCE = re.compile(
    r"""(\bin|==)\ str\((error|refused|refusal|failure|note|answer)\b
      |str\((error|refused|refusal|failure|note)\)\.(partition|startswith|endswith|removeprefix|find|index)
      |(error|refused|refusal|failure)\.args\[0\]\.
      |re\.\w+\([^)]*,\ str\((error|refused|refusal|failure|note)\)""",
    re.VERBOSE,
)


def test_no_code_reads_our_sentences() -> None:
    """Twice a sentence that was written anew changed what a program did."""
    assert READS_A_SENTENCE.search('if "bounds" in str(refused):')
    assert READS_A_SENTENCE.search('str(error).partition(" was spent")')
    hits = [f"{path.name}: {line.strip()}" for path in SOURCE.rglob("*.py")
            for line in path.read_text("utf-8").splitlines() if READS_A_SENTENCE.search(line)]  # fmt: skip
    assert hits == []
