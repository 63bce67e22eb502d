"""Pages of documentation, run cell by cell as a notebook would be, and their output compared with what they show."""

from __future__ import annotations

import ast
import doctest
import io
import re
import subprocess
import traceback
from contextlib import redirect_stdout
from typing import Any

from tools.site.cells import Cell

NUMBER = re.compile(r"[-+]?\d[\d,.]*(?:e[-+]?\d+)?")
LINES = re.compile("[─━═]+")
CHECK = doctest.OutputChecker()


def run_cell(cell: Cell, names: dict[str, Any], where: str) -> str:
    """What a cell prints, and the value of its last line."""
    if cell.kind == "bash":
        bash = ["bash", "-euc", cell.source]
        done = subprocess.run(
            bash, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, f"{where}\n{cell.source}\n{done.stdout}"
        return str(done.stdout)
    tree = ast.parse(cell.source)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    printed = io.StringIO()
    with redirect_stdout(printed):
        try:
            exec(compile(tree, where, "exec"), names)  # noqa: S102 - our own pages
            value = None
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), where, "eval"), names)  # noqa: S307 - the same
        except Exception as error:
            if not cell.raises:
                raise
            return "".join(["Traceback (most recent call last):\n    ...\n", *traceback.format_exception_only(error)])
        if value is not None:
            print(repr(value))
    assert not cell.raises, f"{where} raises nothing:\n{cell.source}"
    return printed.getvalue()


def differs(cell: Cell, got: str) -> str:
    """How the output differs from the one on the page; nothing, if it does not."""
    if not cell.output:
        return ""
    want = cell.output
    if cell.vary:
        want, got = (NUMBER.sub("0", text) for text in (want, got))
    want, got = (LINES.sub("─", text.strip()) + "\n" for text in (want, got))
    if CHECK.check_output(want, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE):
        return ""
    return f"the page shows\n{want}\nand this was printed:\n{got}"
