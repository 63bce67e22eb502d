"""Notebooks from pages: text becomes cells of text, blocks of code become cells of code with the output shown.

The tests run the pages cell by cell, so the notebooks are run.
"""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any

from tools.site.cells import SHELL, Cell, cells

DOCS = Path(__file__).resolve().parents[2] / "docs"
SOURCE = DOCS.parent / "src" / "discreet"
PICTURE = re.compile(r"!\[(?P<alt>[^]]*)\]\((?P<to>[^)\s]+)\)")
LINK = re.compile(r"(?<!attachment)\]\((?P<to>[^):#\s]+)(?P<anchor>#[^)\s]*)?\)")


def pages() -> list[Path]:
    """Pages that are worth a notebook: tutorials and lectures with code."""
    found = [*sorted((DOCS / "tutorials").glob("*.md")), *sorted((DOCS / "lectures").glob("*.md"))]
    return [page for page in found if page.name != "README.md" and "```python" in page.read_text()]


def notebook(text: str, page: Path | None = None) -> dict[str, Any]:
    r"""A page as a notebook, in the format of Jupyter; with its file, pictures are embedded and links lead to the site.

    >>> [cell["cell_type"] for cell in notebook("# A\n```python\n1 + 1\n```\nend\n")["cells"]]
    ['markdown', 'code', 'markdown']
    """
    made = [{"id": f"cell-{number}", **_written(cell, page)} for number, cell in enumerate(cells(text))]
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def _written(cell: Cell, page: Path | None) -> dict[str, Any]:
    if cell.kind == "text":
        source, attachments = (cell.source, {}) if page is None else _embedded(cell.source, page)
        held = {"attachments": attachments} if attachments else {}
        return {"cell_type": "markdown", "metadata": {}, **held, "source": _lines(source)}
    shown = {"output_type": "stream", "name": "stdout", "text": _lines(cell.output)}
    return {
        "cell_type": "code",
        "metadata": {"tags": ["raises-exception"]} if cell.raises else {},
        "source": _lines(SHELL + cell.source if cell.kind == "bash" else cell.source),
        "execution_count": None,
        "outputs": [shown] if cell.output else [],
    }


def _embedded(source: str, page: Path) -> tuple[str, dict[str, Any]]:
    """The text with its pictures as attachments, and with links from the folder of notebooks to pages of the site."""
    attachments = {}

    def picture(match: re.Match[str]) -> str:
        file = page.parent / match["to"]
        if file.suffix != ".png" or not file.exists():
            return match[0]
        attachments[file.name] = {"image/png": base64.b64encode(file.read_bytes()).decode()}
        return f"![{match['alt']}](attachment:{file.name})"

    def link(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(page.parent / match["to"]))
        if target.is_relative_to(DOCS) and target.exists():
            inside = target.relative_to(DOCS)
        elif target.is_relative_to(SOURCE) and target.exists():
            inside = Path("explanation/proofs") / target.relative_to(SOURCE)
        else:
            return match[0]
        place = re.sub(r"README\.md$", "index.md", inside.as_posix())
        return f"](../{re.sub(r'[.]md$', '.html', place)}{match['anchor'] or ''})"

    return LINK.sub(link, PICTURE.sub(picture, source)), attachments


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
        target.write_text(json.dumps(notebook(page.read_text(), page), indent=1, ensure_ascii=False))
