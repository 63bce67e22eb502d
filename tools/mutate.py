"""Would a test notice? Change one thing in a module, run the module's own tests, and count the changes that they miss.

    python -m tools.mutate noise privacy/pld                 # every change in two packages; takes hours
    python -m tools.mutate ledger/standing.py --lines 120-130
    python -m tools.mutate noise ledger --sample 20          # 20 changes of each, drawn anew; --seed 7 repeats a draw

A change flips a comparison, a sign, a flag or ``and`` and ``or``, moves an integer by one, or removes a check (an
``if`` that only raises) or a call whose result is not used. The tests of a module are those that mirror it
(tests/test_mirror.py) and its doctests; with ``--quick`` without the slow ones. A change that they miss is listed:
write a test that fails with it, unless the changed program does the same. The working tree is never touched: changes
are made in a copy of ``src``.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/discreet")
_LINKED = ("conftest.py", "pyproject.toml", "tests", "tools", "docs", "deploy", "bench", "CHANGELOG.md", "README.md")
_COMPARISONS: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(), ast.LtE: ast.Lt(), ast.Gt: ast.GtE(), ast.GtE: ast.Gt(), ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(), ast.Is: ast.IsNot(), ast.IsNot: ast.Is(), ast.In: ast.NotIn(), ast.NotIn: ast.In(),
}  # fmt: skip
_SIGNS: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(), ast.Sub: ast.Add(), ast.LShift: ast.RShift(), ast.RShift: ast.LShift()
}  # fmt: skip
_PATIENCE = 5.0
"""Tests that take so many times longer than without the change (and half a minute) have noticed it."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the text from ``start`` to ``end`` of a module becomes another."""

    module: Path
    line: int
    start: int
    end: int
    before: str
    after: str

    def apply(self, text: str) -> str:
        """The changed module."""
        source = text.encode()
        return (source[: self.start] + self.after.encode() + source[self.end :]).decode()

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {_short(self.before)} -> {_short(self.after)}"


# --- changes ----------------------------------------------------------------------------------------------------------


def mutants(module: Path, text: str) -> list[Mutant]:
    """Every change of a module, in the order of its text.

    >>> [str(change) for change in mutants(Path("a.py"), "print(x < 1)")]
    ['a.py:1: print(x < 1) -> pass', 'a.py:1: x < 1 -> x <= 1', 'a.py:1: 1 -> 2']
    """
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    changes = []
    for node, after in _changes(ast.parse(text)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = text.encode()[start:end].decode()
        changes.append(Mutant(module, node.lineno, start, end, before, after))
    return sorted(changes, key=lambda change: (change.start, -change.end))


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """A node and the text that is put in its place; annotations, messages, docstrings and decorators are left out."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.If(body=[ast.Raise()], orelse=[]):
                yield node, "pass"
            case ast.Expr(value=ast.Call()):
                yield node, "pass"
            case ast.Compare(ops=[op], left=left, comparators=[right]):
                yield node, ast.unparse(ast.Compare(left, [_COMPARISONS[type(op)]], [right]))
            case ast.BoolOp(op=op, values=values):
                yield node, f"({ast.unparse(ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values))})"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
                yield node, f"({ast.unparse(ast.BinOp(left, _SIGNS[type(op)], right))})"
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
                yield node, f"({ast.unparse(operand)})"
            case ast.Constant(value=bool(value)):
                yield node, str(not value)
            case ast.Constant(value=int(value)):
                yield node, str(value + 1)
        waiting += _inside(node)


def _inside(node: ast.AST) -> list[ast.AST]:
    """What is looked at in a node."""
    match node:
        case ast.Raise() | ast.Import() | ast.ImportFrom() | ast.JoinedStr() | ast.Match():
            return [*ast.iter_child_nodes(node)] if isinstance(node, ast.Match) else []
        case ast.match_case(guard=guard, body=body):
            return [*([guard] if guard is not None else []), *body]
        case ast.FunctionDef(args=args, body=body):
            return [*args.defaults, *(one for one in args.kw_defaults if one is not None), *body]
        case ast.ClassDef(body=body):
            return list(body)
        case ast.AnnAssign(value=value):
            return [] if value is None else [value]
        case ast.Lambda(body=body):
            return [body]
        case _:
            return list(ast.iter_child_nodes(node))


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= 70 else f"{one_line[:67]}..."


# --- tests ------------------------------------------------------------------------------------------------------------


def modules_of(package: str, root: Path = ROOT) -> list[Path]:
    """The modules of a package, or one module, below ``src/discreet``."""
    place = root / PACKAGE / package
    found = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    return [path.relative_to(root / PACKAGE) for path in found if path.exists() and path.name != "__init__.py"]


def mirror_of(module: Path, root: Path = ROOT) -> list[Path]:
    """The files that mirror a module."""
    folder, name = root / "tests" / module.parent, module.stem
    siblings = {one.stem for one in (root / PACKAGE / module.parent).glob("*.py")} - {name}

    def is_own(path: Path) -> bool:
        tested = path.stem.removeprefix("test_")
        longer = (one for one in siblings if one.startswith(f"{name}_"))
        return tested == name or not any(tested == one or tested.startswith(f"{one}_") for one in longer)

    near = {*folder.glob(f"test_{name}.py"), *folder.glob(f"test_{name}_*.py")}
    return [path.relative_to(root) for path in sorted(near) if is_own(path)]


class Copy:
    """A copy of the sources in which one module at a time is changed, beside the tests of the working tree."""

    def __init__(self, folder: Path, root: Path = ROOT, options: Sequence[str] = ()) -> None:
        self.folder, self._root, self._options = folder, root, tuple(options)
        shutil.copytree(root / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for name in _LINKED:
            if (root / name).exists():
                (folder / name).symlink_to(root / name)

    def passes(self, module: Path, limit: float | None = None) -> bool:
        """Whether the tests of a module pass."""
        own = [str(path) for path in mirror_of(module, self._root)]
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-x", "-q", *self._options, *own]
        environment = os.environ | {"PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                [*command, str(PACKAGE / module)],
                cwd=self.folder, env=environment, timeout=limit, capture_output=True, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
        return done.returncode in (0, 5)  # 5: there was nothing to run

    def survives(self, mutant: Mutant, limit: float) -> bool:
        """Whether the tests miss a change, which is taken back."""
        path = self.folder / PACKAGE / mutant.module
        text = path.read_text(encoding="utf-8")
        path.write_text(mutant.apply(text), encoding="utf-8")
        try:
            return self.passes(mutant.module, limit)
        finally:
            path.write_text(text, encoding="utf-8")


def survivors(copy: Copy, chosen: Sequence[Mutant], say: Callable[[str], None] = print) -> tuple[int, list[Mutant]]:
    """How many of the changes were tried, and those that no test noticed."""
    tried, missed = 0, []
    limits: dict[Path, float | None] = {}
    for mutant in chosen:
        if mutant.module not in limits:
            began = time.monotonic()
            good = copy.passes(mutant.module)
            limits[mutant.module] = _PATIENCE * (time.monotonic() - began) + 30 if good else None
            if not good:
                say(f"{mutant.module}: its tests fail without any change; left out")
        limit = limits[mutant.module]
        if limit is None:
            continue
        tried += 1
        if copy.survives(mutant, limit):
            missed.append(mutant)
            say(f"missed  {mutant}")
    return tried, missed


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Print a score for each package; 1 if one is below ``--at-least``."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("packages", nargs="+", help="below src/discreet, such as noise or ledger/standing.py")
    parser.add_argument("--sample", type=int, help="so many changes of each package")
    parser.add_argument("--seed", help="draws the same sample again")
    parser.add_argument("--lines", help="of one module: 45, or 40-60")
    parser.add_argument("--quick", action="store_true", help="without the slow tests")
    parser.add_argument("--at-least", type=float, default=0.0, help="percent")
    given = parser.parse_args(arguments)
    first, _, last = (given.lines or "").partition("-")
    low = False
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder), root, ("-m", "not slow") if given.quick else ())
        for package in given.packages:
            modules = modules_of(package, root)
            if not modules:
                parser.error(f"there is no package {package} below {PACKAGE}")
            chosen = [
                mutant
                for module in modules
                for mutant in mutants(module, (root / PACKAGE / module).read_text(encoding="utf-8"))
                if not first or int(first) <= mutant.line <= int(last or first)
            ]
            if given.sample is not None and given.sample < len(chosen):
                kept = set(Random(given.seed).sample(range(len(chosen)), given.sample))  # noqa: S311 - not for noise
                chosen = [mutant for i, mutant in enumerate(chosen) if i in kept]
            tried, missed = survivors(copy, chosen)
            score = 100 * (tried - len(missed)) / max(tried, 1)
            print(f"{package}: {tried - len(missed)} of {tried} changes were noticed ({score:.0f} %)")
            low |= score < given.at_least
    return int(low)


if __name__ == "__main__":
    sys.exit(main())
