"""The small language of regular expressions: what Python's ``re`` says, with LIKE and comparisons only."""

import re
from random import Random

import pytest

from discreet.errors import BadQuestion
from discreet.query.functions import patterns
from discreet.query.functions.patterns import matched
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Call, Column, Expression, walk
from discreet.query.plan.primitives import PRIMITIVES

PATTERNS = [
    r"^\d{5}$", r"^[A-Z]{2}\d{1,3}", "a|b", "(cat|dog)s?$", r"@(a|N)\.c$", "a.*b", "(?i)n1", "^a.b", "%", "_x", "a.+c",
    "^[^a]b", "x?y", "^$", "", ".", "^%_", "[ab]c", r"\.$", "^a$|^b$", "^.{3}$", "a{0,2}b$", "^(?:a|b(c|x)?)y?", "^.*$",
    "a.*b.*c", r"^[\d_%]x", "[a-c].", r"^\w\s", "(?i)^[A-C].*X$", "(|a)b$", "^[a\\-]", "^[^N%].*1",
]  # fmt: skip
REFUSED = [
    "^a+b", "(ab)+", "(a|b)*", "(a", "a)", "[", "[b-a]", "a**", "a^", "$a", r"\w\w", "a.*?b", "*", r"\b", "\\",
    "[[:alpha:]]",
    r"[\d]{3}x.*[ab]{6}y", "a{2}{3}", "(?=a)", "((((((((((a))))))))))", "[^a]", "%.*a", "a.*" * 9, r"\1", "[]",
    "|".join(map(str, range(100))), "a" * 1001,
]  # fmt: skip


def found(pattern: str, texts: list[str]) -> list[bool]:
    lowered = matched(Column("x"), pattern)
    return [evaluate(lowered, {"x": text}) for text in texts]


def right(pattern: str, texts: list[str]) -> list[bool]:
    python = re.compile(pattern.replace("$", r"\Z"), re.DOTALL | re.ASCII)
    return [python.search(text) is not None for text in texts]


def texts(seed: int, many: int = 2000) -> list[str]:
    dice = Random(seed)
    return ["".join(dice.choices("aabbccxyN%_.1 @\nA-]é", k=dice.randint(0, 6))) for _ in range(many)]


@pytest.mark.slow
@pytest.mark.parametrize("pattern", PATTERNS)
def test_it_means_what_python_says(pattern: str) -> None:
    assert found(pattern, texts(1)) == right(pattern, texts(1))


@pytest.mark.slow
def test_both_answers_occur() -> None:
    """Else the test above would test little."""
    both = [p for p in PATTERNS if len(set(right(p, texts(1)))) == 2]
    assert len(both) >= len(PATTERNS) - 8


def test_a_planted_error_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_closed", lambda way: tuple(item for item in way if item != "the beginning"))
    patterns._ways.cache_clear()
    assert found("^a", texts(1)) != right("^a", texts(1))
    patterns._ways.cache_clear()


@pytest.mark.parametrize("pattern", REFUSED)
def test_all_else_is_refused(pattern: str) -> None:
    with pytest.raises(BadQuestion):
        matched(Column("x"), pattern)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_null_is_null(pattern: str) -> None:
    assert evaluate(matched(Column("x"), pattern), {"x": None}) is None


def test_its_size_is_bounded() -> None:
    dice = Random(2)
    for _ in range(3000):
        pattern = "".join(dice.choices(list("ab.*?|()[]^${}\\d12,-%_"), k=dice.randint(1, 30)))
        try:
            lowered: Expression = matched(Column("x"), pattern)
        except BadQuestion:
            continue
        assert sum(1 for _ in walk(lowered)) < 50_000
        assert {p.function for p in walk(lowered) if isinstance(p, Call)} <= PRIMITIVES
