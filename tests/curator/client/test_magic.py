"""Cells of SQL in a notebook."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import discreet as dp
from discreet.curator.client.magic import ask_cell
from discreet.errors import BadParameter

SQL = "SELECT COUNT(*) AS n FROM people"


@pytest.fixture
def names() -> dict[str, Any]:
    people = dp.table({"id": list(range(50))}, unit="id")
    return {"session": dp.Session(people=people, budget=dp.Pure(1000)), "number": 7}


def test_without_a_price_a_cell_shows_what_it_would_cost(names: dict[str, Any]) -> None:
    for line in ("session", "session --preview --epsilon 900", "session --delta 0.1"):
        assert "n" in str(ask_cell(line, SQL, names)) or line.endswith("0.1")
        assert names["session"].remaining == dp.Pure(1000)


def test_with_a_price_it_pays_and_keeps_the_answer(names: dict[str, Any]) -> None:
    answer = ask_cell("session --epsilon 900 --into found", SQL, names)
    assert answer.value == 50
    assert names["found"] is answer
    assert names["session"].remaining == dp.Pure(100)


@pytest.mark.parametrize("line", ["", "nobody --epsilon 1", "number --epsilon 1", "session --wrong 1"])
def test_what_cannot_be_read_is_refused(names: dict[str, Any], line: str) -> None:
    with pytest.raises(BadParameter):
        ask_cell(line, SQL, names)


def test_the_page_works_in_ipython(names: dict[str, Any]) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "notebook.md").read_text()
    (block,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    shell: Any = InteractiveShell.instance()
    try:
        shell.user_ns["session"] = dp.Session(visits=dp.table({"id": range(50)}, unit="id"), budget=dp.Pure(1))
        for cell in block.split("\n\n"):
            shell.run_cell(cell).raise_error()
        assert shell.user_ns["session"].remaining == dp.Pure("0.9")
    finally:
        InteractiveShell.clear_instance()


def test_in_ipython_itself(names: dict[str, Any]) -> None:
    shell: Any = InteractiveShell.instance()
    try:
        shell.user_ns.update(names)
        shell.run_line_magic("load_ext", "discreet")
        answer = shell.run_cell_magic("discreet", "session --epsilon 900 --into kept", SQL)
        assert answer.value == 50
        assert shell.user_ns["kept"] is answer
    finally:
        InteractiveShell.clear_instance()
