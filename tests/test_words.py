"""The field's own words: how often older idiom stands in what people read. The counts may only fall."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "discreet"
AVOIDED = {
    "query": r"questions?",
    "privacy cost, spend": r"prices?|priced|money|pay|pays|paid|buys?|bought",
    "confidence interval": r"error bars?",
    "integer": r"whole numbers?",
    "distinct values": r"different values",
    "undeclared, no unit": r"nobody|somebody|whoever",
    "true-positive rate": r"guilty|innocent|accus\w+",
    "leaves out": r"what is beyond|in vain",
}
"""What to write -> what to avoid."""
MOST = {
    "messages": {
        "query": 0,
        "privacy cost, spend": 46,
        "confidence interval": 0,
        "integer": 0,
        "distinct values": 0,
        "undeclared, no unit": 1,
        "true-positive rate": 0,
        "leaves out": 0,
    },
    "docs": {
        "query": 10,
        "privacy cost, spend": 22,
        "confidence interval": 2,
        "integer": 0,
        "distinct values": 0,
        "undeclared, no unit": 3,
        "true-positive rate": 3,
        "leaves out": 1,
    },
    "page": {
        "query": 0,
        "privacy cost, spend": 0,
        "confidence interval": 0,
        "integer": 0,
        "distinct values": 0,
        "undeclared, no unit": 1,
        "true-positive rate": 0,
        "leaves out": 0,
    },
}
"""How often each stands there now. Lower a number when it has fallen; raise none."""


def messages() -> list[str]:
    """The texts in the source that are not docstrings and have several words: errors, notes, help."""
    texts = []
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts += [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in bare
                  and isinstance(node.value, str) and " " in node.value]  # fmt: skip
    return texts


def docs() -> list[str]:
    """README and docs without code and addresses; exercises of lectures may ask questions."""
    pages = [ROOT / "README.md", *(page for page in (ROOT / "docs").rglob("*.md") if "lectures" not in page.parts)]
    return [re.sub(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", "", page.read_text("utf-8"), flags=re.DOTALL) for page in pages]


def page() -> list[str]:
    """The page of a curator: its texts of several words stand between quotes; comments are not read."""
    parts = re.compile(r'//[^\n]*|/\*.*?\*/|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`', re.DOTALL)
    files = (SOURCE / "curator" / "web").glob("*.js")
    matches = (match for file in files for match in parts.finditer(file.read_text("utf-8")))
    texts = (re.sub(r"\$\{[^}]*\}", "", match[1] or match[2] or "") for match in matches)
    return [text for text in texts if " " in text]


def counted(texts: list[str]) -> dict[str, int]:
    """How often each idiom stands in some texts."""
    return {
        better: sum(len(re.findall(rf"\b(?:{avoided})\b", text, re.IGNORECASE)) for text in texts)
        for better, avoided in AVOIDED.items()
    }


@pytest.mark.parametrize(("place", "texts"), [("messages", messages), ("docs", docs), ("page", page)])
def test_older_idiom_only_becomes_rarer(place: str, texts: object) -> None:
    assert callable(texts)
    now = counted(texts())
    assert {better: now[better] for better in now if now[better] > MOST[place][better]} == {}


def test_a_planted_idiom_is_counted() -> None:
    assert counted(["nobody listed the error bars of this question"]) == {
        **dict.fromkeys(AVOIDED, 0), "query": 1, "confidence interval": 1, "undeclared, no unit": 1,
    }  # fmt: skip
