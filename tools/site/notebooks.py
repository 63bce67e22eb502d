"""Notebooks from pages: text becomes cells of text, blocks of code become cells of code with the output shown.

The tests run the pages cell by cell, so the notebooks are run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.site.cells import SHELL, Cell, cells

DOCS = Path(__file__).resolve().parents[2] / "docs"


def pages() -> list[Path]:
    """Pages that are worth a notebook: tutorials and lectures with code."""
    found = [*sorted((DOCS / "tutorials").glob("*.md")), *sorted((DOCS / "lectures").glob("*.md"))]
    return [page for page in found if page.name != "README.md" and "```python" in page.read_text()]


def notebook(text: str) -> dict[str, Any]:
    r"""A page as a notebook, in the format of Jupyter.

    >>> [cell["cell_type"] for cell in notebook("# A\n```python\n1 + 1\n```\nend\n")["cells"]]
    ['markdown', 'code', 'markdown']
    """
    made = [{"id": f"cell-{number}", **_written(cell)} for number, cell in enumerate(cells(text))]
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def _written(cell: Cell) -> dict[str, Any]:
    if cell.kind == "text":
        return {"cell_type": "markdown", "metadata": {}, "source": _lines(cell.source)}
    shown = {"output_type": "stream", "name": "stdout", "text": _lines(cell.output)}
    return {
        "cell_type": "code",
        "metadata": {"tags": ["raises-exception"]} if cell.raises else {},
        "source": _lines(SHELL + cell.source if cell.kind == "bash" else cell.source),
        "execution_count": None,
        "outputs": [shown] if cell.output else [],
    }


def _lines(text: str) -> list[str]:
    return text.strip("\n").splitlines(keepends=True)


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
