"""Where the guides use a name: the statement of the first block that does. All blocks run in the tests.

Python in a block of text is run by a test that has the server which it needs.
"""

from __future__ import annotations

import ast
import doctest
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.site.cells import BLOCK

DOCS = Path(__file__).resolve().parents[2] / "docs"
ORDER = ("how-to", "tutorials", "explanation", "lectures", "reference")


@dataclass(frozen=True, slots=True)
class Example:
    """A piece of a page."""

    page: str
    title: str
    code: str
    kind: str  # "python", or "pycon" with prompts


@dataclass(frozen=True, slots=True)
class _Statement:
    page: str
    title: str
    code: str
    kind: str
    used: frozenset[str]


@cache
def _statements() -> tuple[_Statement, ...]:
    pages = sorted(DOCS.rglob("*.md"), key=lambda page: (_rank(page), page))
    found = []
    for page in pages:
        text = page.read_text()
        title = text.split("\n", 1)[0].removeprefix("# ")
        for block in BLOCK.finditer(text):
            python = block["kind"] == "python" or block["code"].startswith("import discreet")
            parts = _parts(block["code"]) if python else []
            found += [_Statement(str(page.relative_to(DOCS)), title, *one) for one in parts]
    return tuple(found)


def _rank(page: Path) -> int:
    folder = page.relative_to(DOCS).parts[0]
    return ORDER.index(folder) if folder in ORDER else len(ORDER)


def _parts(code: str) -> list[tuple[str, str, frozenset[str]]]:
    if ">>>" in code:
        each = [(example.source, example.want) for example in doctest.DocTestParser().get_examples(code)]
        return [(_prompted(source) + want, "pycon", _used(source)) for source, want in each]
    tree = ast.parse(code)
    lines = code.split("\n")
    return [
        ("\n".join(lines[node.lineno - 1 : node.end_lineno]), "python", _used(ast.unparse(node))) for node in tree.body
    ]


def _prompted(source: str) -> str:
    first, *others = source.rstrip("\n").split("\n")
    return "\n".join([f">>> {first}", *(f"... {line}" for line in others)]) + "\n"


def _used(source: str) -> frozenset[str]:
    """Names with their dots, and the last part of what is called."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Attribute, ast.Name)):
            found.add(ast.unparse(node))
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)):
            found.add(ast.unparse(node.func).rsplit(".", 1)[-1] + "()")
    return frozenset(found)


def _imports(code: str) -> bool:
    return code.removeprefix(">>> ").startswith(("import ", "from "))


@cache
def _imported() -> frozenset[str]:
    """Names that pages import from sub-packages."""
    lines = " ".join(one.code for one in _statements() if _imports(one.code))
    return frozenset(lines.replace(",", " ").split())


def find_example(shown: str, name: str, is_class: bool, makers: frozenset[str] = frozenset()) -> Example | None:
    """The shortest statement of the first page that uses the whole name; else one that names the class, or makes it."""
    bare = {name} if is_class or name in _imported() else set()
    makers |= _imported() & {maker.rsplit(".", 1)[-1] for maker in makers}
    for wanted in ({shown, shown.replace("dp.", "attacks.", 1)}, bare, makers):
        hits = [one for one in _statements() if wanted & one.used and not _imports(one.code)]
        if hits:
            best = min((one for one in hits if one.page == hits[0].page), key=lambda one: len(one.code))
            return Example(best.page, best.title, best.code.rstrip(), best.kind)
    return None
