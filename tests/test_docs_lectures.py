"""Lectures: each page is listed, has a picture or a table, and exercises with solutions, which test_docs.py runs."""

import re
from pathlib import Path

import pytest

LECTURES = Path(__file__).resolve().parent.parent / "docs" / "lectures"
PAGES = sorted(page for page in LECTURES.glob("*.md") if page.name != "README.md")
HEAVIEST = 60_000  # bytes of one picture


def faults(text: str) -> list[str]:
    """What a page lacks."""
    found = []
    if not re.search(r"^\|---|^!\[", text, re.MULTILINE):
        found.append("a picture or a table")
    exercises = text.partition("\n## Exercises\n")[2]
    asked = re.split(r"^\*\*\d+\.\*\*", exercises, flags=re.MULTILINE)[1:]
    if len(asked) < 2:
        found.append("two exercises")
    solved = re.compile(r"^```python\n# Solution.*?^\s*assert .*?^```$", re.MULTILINE | re.DOTALL)
    found += [f"a solution that asserts, in exercise {i}" for i, one in enumerate(asked, 1) if not solved.search(one)]
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "companion.md"], ids=lambda p: p.name)
def test_a_page_has_something_to_look_at_and_solved_exercises(page: Path) -> None:
    assert not faults(page.read_text())


def test_a_page_without_them_is_found() -> None:
    solved = "**1.** Why?\n\n```python\n# Solution\nassert True\n```\n"
    page = f"text\n|---|\n\n## Exercises\n{solved}\n{solved.replace('1.', '2.')}"
    assert not faults(page)
    assert faults(page.replace("|---|", "")) == ["a picture or a table"]
    assert faults(page.replace("## Exercises", "## More")) == ["two exercises"]
    assert faults(page.replace("assert True", "print(1)", 1)) == ["a solution that asserts, in exercise 1"]


def test_every_page_is_listed_once() -> None:
    index, _, course = (LECTURES / "README.md").read_text().partition("\n## A course of twelve weeks\n")
    listed, weekly = (sorted(re.findall(r"\]\(([\w-]+\.md)\)", text)) for text in (index, course))
    assert listed == [page.name for page in PAGES]
    assert weekly == [name for name in listed if name != "companion.md"]
    assert len(re.findall(r"^\| \d+ \|", course, re.MULTILINE)) == 12


def test_every_lecture_has_a_plot() -> None:
    bare = [page.name for page in PAGES if page.name != "companion.md" and "](pictures/" not in page.read_text()]
    assert bare == []


def test_every_picture_is_small_shown_and_drawn_by_the_code() -> None:
    pictures = {path.stem: path.stat().st_size for path in (LECTURES / "pictures").iterdir()}
    shown = {name for page in PAGES for name in re.findall(r"\]\(pictures/([\w-]+)\.png\)", page.read_text())}
    code = (LECTURES / "pictures.py").read_text()
    drawn = set(re.findall(r"save\(figure, \"([\w-]+)\"\)|_boxes\(\s*plt,\s*\"([\w-]+)\"", code))
    in_pages = {name for page in PAGES for name in re.findall(r"savefig\(\"([\w-]+)\.png\"", page.read_text())}
    drawn = {name for pair in drawn for name in pair if name} | in_pages
    assert set(pictures) == shown == drawn
    assert max(pictures.values()) < HEAVIEST
