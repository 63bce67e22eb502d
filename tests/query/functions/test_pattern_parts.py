"""REGEXP_EXTRACT and REGEXP_REPLACE: what Python's ``re`` says, which takes the first way as RE2 does."""

import re
from random import Random

import pytest

from discreet.engines.memory import row
from discreet.errors import BadQuestion
from discreet.query.functions import pattern_parts as module
from discreet.query.functions.pattern_parts import pattern_parts
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Call, Literal


def written(dice: Random, depth: int = 0) -> str:
    """A pattern at random."""

    def item() -> str:
        kind = dice.random()
        if kind < 0.6:
            return dice.choice("abc1-")
        if kind < 0.8 or depth == 2:
            return dice.choice(["[ab]", "[^a]", r"\d", "[a-c]", "."])
        return dice.choice(["(", "(?:"]) + written(dice, depth + 1) + ")"

    parts = [item() + dice.choice(["", "", "", "?", "+", "*", "{2}", "{1,2}", "{2,}"]) for _ in range(3)]
    ways = ["".join(parts[: dice.randint(1, 3)]) for _ in range(dice.choice([1, 1, 1, 2, 3]))]
    text = "|".join(ways)
    return dice.choice(["", "^"]) + text + dice.choice(["", "$"]) if depth == 0 and len(ways) == 1 else text


def texts(dice: Random, many: int) -> list[str]:
    return ["".join(dice.choices("aabbc11-\nx", k=dice.randint(0, 9))) for _ in range(many)]


def evaluated(function: str, *arguments: str | bool) -> set[object]:
    """By the primitive and by the oracle's own."""
    return {
        evaluate(Call(function, tuple(Literal(value) for value in arguments)), {}),
        getattr(row, function)(*arguments),
    }


def differences(patterns: int, seed: int) -> list[str]:
    """The patterns whose parts or replacements are not those of Python; and how many were taken, at the end."""
    dice, wrong, taken = Random(seed), list[str](), 0
    while taken < patterns:
        pattern = written(dice)
        try:
            parts = pattern_parts(pattern)
            group = dice.randint(0, parts.captures)
            form = parts.extracting(group)
        except BadQuestion:
            continue
        taken += 1
        python = re.compile(pattern.replace("$", r"\Z"), re.DOTALL)
        for every in (False, True):
            try:
                old, new = parts.replacing(f"<\\{group}>", every=every)
            except BadQuestion:
                continue
            for text in texts(dice, 5):
                right = python.sub(lambda m, g=group: f"<{m[g] or ''}>", text, count=0 if every else 1)
                wrong += [] if evaluated("regexp_replace", text, old, new, every) == {right} else [pattern]
        for text in texts(dice, 10):
            match = python.search(text)
            right = match[group] or "" if match else ""
            wrong += [] if evaluated("regexp_extract", text, form) == {right} else [pattern]
    return wrong


@pytest.mark.slow
def test_parts_are_those_of_python() -> None:
    assert differences(400, seed=1) == []


@pytest.mark.slow
def test_a_pattern_that_can_be_read_in_several_ways_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.PatternParts, "_lead", lambda self: None)
    monkeypatch.setattr(module, "_check", lambda *_: None)
    assert differences(400, seed=1) != []


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (".*@", "several ways"), ("(a|ab)c?", "shorter"), ("a*", "empty text"), ("(ab)*c", "repeats a group"),
        ("a+b?b", "several ways"), ("([a-z]|ab?)x", "begin alike"), ("[a-c]*a", "several ways"), ("a^b", "stands at"),
        ("[0-9]?[a-z]+[0-9]$", "begin anywhere"), ("[ab]{99}" * 9, "too long"), ("(^a|b)", "stands at"),
        ("(?:(?:a{99}){99}){99}", "too long"), ("x{3,1}", "smaller number"),
    ],
)  # fmt: skip
def test_refused(pattern: str, why: str) -> None:
    with pytest.raises(BadQuestion, match=why):
        pattern_parts(pattern).extracting(0)


@pytest.mark.parametrize(
    ("pattern", "new", "why"),
    [("a", "\\1", "0 groups"), ("[a-z]+-", "", "all places"), ("a", "\\n", "backslash"),
     ("(a)(b)(c)(d)(e)(f)(g)(h)(i)", "\\1\\2\\3\\4\\5\\6\\7\\8\\9", "at most 8")],
)  # fmt: skip
def test_replacements_refused(pattern: str, new: str, why: str) -> None:
    with pytest.raises(BadQuestion, match=why):
        pattern_parts(pattern).replacing(new, every=True)


def test_what_alternatives_share_is_read_once() -> None:
    form = pattern_parts("(gmail|gmx|web)[.](?:de|dk)$").extracting(1)
    assert evaluated("regexp_extract", "a@gmx.dk", form) == {"gmx"}


def test_a_search_in_vain_reads_a_text_once() -> None:
    """Every run of digits is tried from its beginning alone, so no engine tries each place of it."""
    assert pattern_parts("[0-9]+-").extracting(0).startswith("(?:^|[^0-9])")
