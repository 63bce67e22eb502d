"""The companion to the five texts: every item has its row, its page and a call that prints what the row says."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tools.site.cells import cells

LECTURES = Path(__file__).resolve().parent.parent / "docs" / "lectures"
PAGE = LECTURES / "companion.md"
ITEMS = {"1": 15, "2": 19, "3": 46, "4": 44, "5": 47}
ROW = re.compile(r"^\| (?P<first>[^|]+) \|.*\| `(?P<call>[^`]+)` \| `(?P<prints>[^`]+)` \|$", re.MULTILINE)
LINK = re.compile(r"\]\(([\w-]+\.md)\)")


def sections() -> dict[str, str]:
    """The text below each heading."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@cache
def names() -> dict[str, Any]:
    """What the page defines before its tables."""
    made: dict[str, Any] = {}
    for cell in cells(PAGE.read_text()):
        if cell.kind == "python":
            exec(cell.source, made)  # noqa: S102 - our own page
    return made


def wrong(text: str) -> list[str]:
    """The calls that print something else."""
    faults = []
    for row in ROW.finditer(text):
        printed = repr(eval(row["call"], names()))  # noqa: S307 - our own page
        if printed != row["prints"]:
            faults.append(f"{row['call']} prints {printed}, and the page has {row['prints']}")
    return faults


@pytest.mark.slow
@pytest.mark.parametrize("title", [title for title in sections() if title[0].isdigit() or title == "Errata"])
def test_every_call_prints_what_the_row_says(title: str) -> None:
    assert not wrong(sections()[title])


@pytest.mark.parametrize("number", sorted(ITEMS))
def test_every_item_has_a_row_and_a_page(number: str) -> None:
    text = next(text for title, text in sections().items() if title.startswith(f"{number}."))
    lines = [line for line in text.splitlines() if re.match(r"\| \d", line)]
    assert [int(row["first"]) for row in ROW.finditer(text)] == list(range(1, ITEMS[number] + 1))
    assert len(lines) == ITEMS[number]
    for line in lines:
        pages = LINK.findall(line)
        assert pages, line
        assert all((LECTURES / page).exists() for page in pages), line


def test_the_five_texts_have_171_items_and_every_slip_a_check() -> None:
    assert sum(ITEMS.values()) == 171
    errata = sections()["Errata"]
    assert len(ROW.findall(errata)) == len(re.findall(r"^\| (?!text|-)", errata, re.MULTILINE)) >= 20


def test_a_wrong_row_is_seen() -> None:
    assert not wrong("| 1 | a | [b](b.md) | `1 + 1` | `2` |")
    assert wrong("| 1 | a | [b](b.md) | `1 + 1` | `3` |") == ["1 + 1 prints 2, and the page has 3"]
