"""Notebooks from pages: text becomes cells of text, blocks of Python become cells of code.

The pages run in the tests, so the notebooks do; prompts and expected output of examples are left out.
"""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = "%%bash\n"


def pages() -> list[Path]:
    """Pages that are worth a notebook: tutorials and lectures with code."""
    found = [*sorted((DOCS / "tutorials").glob("*.md")), *sorted((DOCS / "lectures").glob("*.md"))]
    return [page for page in found if page.name != "README.md" and "```python" in page.read_text()]


def notebook(text: str) -> dict[str, Any]:
    r"""A page as a notebook, in the format of Jupyter.

    >>> [cell["cell_type"] for cell in notebook("# A\n```python\n1 + 1\n```\nend\n")["cells"]]
    ['markdown', 'code', 'markdown']
    """
    cells, at = [], 0
    for found in BLOCK.finditer(text):
        if found["kind"] not in {"python", "bash"}:
            continue
        cells += _text(text[at : found.start()])
        cells.append(_cell("code", source(found["kind"], found["code"])))
        at = found.end()
    cells += _text(text[at:])
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def source(kind: str, code: str) -> str:
    """The code of a cell: without prompts, and marked if it is for a shell."""
    if kind == "bash":
        return SHELL + code
    if ">>>" not in code:
        return code
    return "".join(example.source for example in doctest.DocTestParser().get_examples(code))


def _text(text: str) -> list[dict[str, Any]]:
    return [_cell("markdown", text.strip())] if text.strip() else []


def _cell(kind: str, text: str) -> dict[str, Any]:
    extra: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    lines = text.strip("\n").splitlines(keepends=True)
    return {"cell_type": kind, "metadata": {}, "source": lines, **extra}


def place(page: Path) -> str:
    """Where the notebook of a page is in the site."""
    return f"notebooks/{page.stem}.ipynb"


def listing() -> str:
    """A table of all notebooks."""
    rows = []
    for page in pages():
        title = page.read_text().split("\n", 1)[0].removeprefix("# ")
        where = page.relative_to(DOCS).as_posix()
        rows.append(f"| [{title}](../{where}) | [{page.stem}.ipynb](../{place(page)}) |")
    return "\n".join(["| page | notebook |", "|---|---|", *rows])


def write(folder: Path) -> None:
    """All notebooks, below the folder of the site's sources."""
    for page in pages():
        target = folder / place(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(notebook(page.read_text()), indent=1, ensure_ascii=False))
