"""Names that say nothing, in the source: how many there are, and that they only become fewer.

Four counts, each with the most that is allowed: bound names such as ``found``, docstrings of three words or fewer, and
classes and type aliases whose name another module defines as well. ``make check`` and ``make test`` run this. Where a
count has fallen, lower its number in ``MOST``; ``python -m tools.names src/discreet/query`` lists what is there.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "discreet"
EMPTY = frozenset({"asked", "found", "known", "one", "said", "this", "told"})
"""Local names, functions, parameters and fields that do not say what they hold."""
MOST = {"empty name": 437, "short docstring": 327, "class of several modules": 163, "type of several modules": 46}

Place = tuple[str, int, str]
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def empty_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Each empty name that a function, class or module binds, once."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        scope = waiting.pop()
        bound: dict[str, int] = {}
        inside = list(ast.iter_child_nodes(scope))
        while inside:
            node = inside.pop()
            if (name := _bound(node)) is not None and name.strip("_") in EMPTY:
                bound[name] = min(node.lineno, bound.get(name, node.lineno))  # type: ignore[attr-defined]
            if isinstance(node, Definition | ast.Lambda):
                waiting.append(node)
            else:
                inside += ast.iter_child_nodes(node)
        yield from ((line, name) for name, line in bound.items())


def _bound(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name
        case ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
    return None


def short_docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Docstrings of three words or fewer."""
    for node in ast.walk(tree):
        if isinstance(node, Definition) and 0 < len((ast.get_docstring(node) or "").split()) <= 3:
            yield node.lineno, node.name


def shared_nouns(trees: Iterable[tuple[str, ast.Module]]) -> tuple[list[Place], list[Place]]:
    """Classes, and type aliases, whose name was defined by an earlier module."""
    classes: dict[str, list[Place]] = defaultdict(list)
    aliases: dict[str, list[Place]] = defaultdict(list)
    for path, tree in trees:
        for node in tree.body:
            match node:
                case ast.ClassDef(name=name):
                    classes[name].append((path, node.lineno, name))
                case ast.Assign(targets=[ast.Name(id=name)]) if not name.isupper() and name.lstrip("_")[:1].isupper():
                    aliases[name].append((path, node.lineno, name))
    again = [[place for places in nouns.values() for place in places[1:]] for nouns in (classes, aliases)]
    return again[0], again[1]


def places(root: Path = SOURCE) -> dict[str, list[Place]]:
    """What is counted, and where it is."""
    trees = [(str(path), ast.parse(path.read_text("utf-8"))) for path in sorted(root.rglob("*.py"))]
    classes, types = shared_nouns(trees)
    return {
        "empty name": [(path, *place) for path, tree in trees for place in sorted(empty_names(tree))],
        "short docstring": [(path, *place) for path, tree in trees for place in sorted(short_docstrings(tree))],
        "class of several modules": classes,
        "type of several modules": types,
    }


def main(arguments: list[str]) -> int:
    """Compare the counts with ``MOST``, or list what is counted below a folder."""
    if arguments:
        for what, where in places(Path(arguments[0])).items():
            print(*(f"{path}:{line} {what} {name}" for path, line, name in where), sep="\n")
        return 0
    counts = {what: len(where) for what, where in places().items()}
    for what, count in counts.items():
        if count > MOST[what]:
            print(f"{what}: {count}, and at most {MOST[what]} are allowed; `python -m tools.names FOLDER` lists them")
    return int(any(count > MOST[what] for what, count in counts.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
