"""Notebooks of the lectures run from top to bottom in Jupyter's kernel, and print what their pages show."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.run_page import differs
from tools.site import notebooks
from tools.site.cells import Cell, cells

LECTURES = [page for page in notebooks.pages() if page.parent.name == "lectures"]
RUN = """
import sys, warnings
warnings.simplefilter("ignore")
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], 4)
nbformat.validate(notebook)
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[1])
"""


def printed(cell: dict[str, Any]) -> str:
    """What a cell that was run shows below it, in words."""
    parts = []
    for output in cell["outputs"]:
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        if output["output_type"] == "error":
            text = f"Traceback (most recent call last):\n    ...\n{output['ename']}: {output['evalue']}"
        if output["output_type"] != "display_data" and output.get("name") != "stderr":
            parts.append("".join(text))
    return "\n".join(part.strip("\n") for part in parts)


def as_named_there(cell: Cell) -> Cell:
    """Jupyter names errors without their module."""
    return (
        replace(cell, output=re.sub(r"^[\w.]+\.(\w+: )", r"\1", cell.output, flags=re.MULTILINE))
        if cell.raises
        else cell
    )


def run(notebook: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """The cells of code of a notebook, after they have been run."""
    file = folder / "page.ipynb"
    file.write_text(json.dumps(notebook))
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(file)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [cell for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.mark.slow
@pytest.mark.parametrize("page", LECTURES, ids=lambda page: page.stem)
def test_a_notebook_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    made = notebooks.notebook(page.read_text(), page)
    run_cells = run(made, tmp_path)
    shown = [cell for cell in cells(page.read_text()) if cell.kind != "text"]
    assert [cell["execution_count"] for cell in run_cells] == list(range(1, len(shown) + 1))
    wrong = "\n".join(filter(None, map(differs, map(as_named_there, shown), map(printed, run_cells))))
    if wrong:
        pytest.fail(wrong)


@pytest.mark.slow
def test_a_cell_that_fails_or_prints_something_else_is_seen(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        run(notebooks.notebook("# A\n```python\n1 / 0\n```\n"), tmp_path)
    (cell,) = run(notebooks.notebook("# A\n```python\nprint(1)\n1 + 1\n```\n"), tmp_path)
    assert not differs(Cell("python", "", "1\n2\n"), printed(cell))
    assert differs(Cell("python", "", "1\n3\n"), printed(cell))
