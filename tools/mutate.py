"""Would a test notice? Change one thing in a module, run the module's own tests, and count the changes that they miss.

    python -m tools.mutate noise privacy/pld                 # every change in two packages; takes hours
    python -m tools.mutate ledger/standing.py --lines 120-130
    python -m tools.mutate noise ledger --sample 20          # 20 changes of each, drawn anew; --seed 7 repeats a draw

A change flips a comparison, a sign, a flag or ``and`` and ``or``, moves an integer by one, or removes a check (an
``if`` that only raises) or a call whose result is not used. First the tests that mirror the module are run
(tests/test_mirror.py) and its doctests; with ``--quick`` without the slow ones. If ``python -m tools.callers`` has
recorded which tests call which function, those alone of them that call the changed one are run, and then other tests
that do, the quickest first, twenty seconds of them at most. A change that all miss is listed: write a test that fails
with it, unless the changed program does the same. The working tree is never touched: changes are made in a copy of
``src``.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from random import Random

import pytest

from tools.callers import Callers

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
_UNKNOWN = 150.0
"""Seconds for tests of which nothing was recorded."""
_OTHERS = 20.0
"""Seconds of tests that do not mirror a module."""
_COLLECTED = 0.5
"""Seconds for one more file of them."""
_LARGE = ("numpy", "hypothesis.strategies", "duckdb", "pyarrow", "pandas", "scipy.stats")
"""What takes long to import, once for all runs."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the text from ``start`` to ``end`` of a module becomes another."""

    module: Path
    line: int
    start: int
    end: int
    before: str
    after: str
    place: str = ""
    """The function or method that is changed; empty if it is none, or one whose values are kept."""

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
    changes, tree = [], ast.parse(text)
    for node, after in _changes(tree):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = text.encode()[start:end].decode()
        changes.append(Mutant(module, node.lineno, start, end, before, after, _place(tree.body, node.lineno)))
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
        case ast.Call(func=func, args=args, keywords=keywords):  # a zip that is not strict does the same
            return [func, *args, *(keyword.value for keyword in keywords if keyword.arg != "strict")]
        case _:
            return list(ast.iter_child_nodes(node))


def _place(body: Sequence[ast.stmt], line: int) -> str:
    """The function around a line, as a code object calls itself; functions inside functions belong to the outer one."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.body[0].lineno <= line <= (node.end_lineno or 0):
            if isinstance(node, ast.ClassDef):
                inner = _place(node.body, line)
                return inner and f"{node.name}.{inner}"
            return "" if any("cache" in ast.unparse(one) for one in node.decorator_list) else node.name
    return ""


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


class _Without:
    """A plugin of pytest: all tests but some, the slow ones last, and the name of the one that failed."""

    def __init__(self, without: Collection[str], report: Path) -> None:
        self._without, self._report = without, report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = [item for item in items if _function(item.nodeid) not in self._without]
        items[:] = sorted(kept, key=lambda item: item.get_closest_marker("slow") is not None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._report.write_text(_function(report.nodeid))


def _function(nodeid: str) -> str:
    return nodeid.split("[", 1)[0]


class Copy:
    """A copy of the sources in which one module at a time is changed, beside the tests of the working tree."""

    def __init__(
        self,
        folder: Path,
        root: Path = ROOT,
        options: Sequence[str] = (),
        callers: Callers | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        self.folder, self._root, self._options, self._say = folder, root, tuple(options), say
        self._callers = Callers() if callers is None else callers
        self._sound: set[str] = set()
        self._broken: set[str] = set()
        shutil.copytree(root / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for name in _LINKED:
            if (root / name).exists():
                (folder / name).symlink_to(root / name)

    def _failing(self, paths: Sequence[str], without: Collection[str], limit: float) -> str | None:
        """The test that fails, ``""`` for a module that cannot be imported or tests that take too long, or None.

        They run in a process of their own that has the large packages already, but nothing of this one.
        """
        report = self.folder / "failing.txt"
        report.write_text("")
        if not (child := os.fork()):
            os.setsid()
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nowhere, stream)
            os.chdir(self.folder)
            sys.path.insert(0, str(self.folder / "src"))
            os.environ |= {"PYTHONPATH": str(self.folder / "src")}
            known = ["-W", "ignore:Module already imported"]  # what is large
            command = ["-p", "no:cacheprovider", "-x", "-q", *known, *self._options, *paths]
            status = 3
            try:
                status = int(pytest.main(command, plugins=[_Without({*without, *self._broken}, report)]))
            finally:  # no exception goes on from here: the folder belongs to the parent
                os._exit(status)
        until = time.monotonic() + limit
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() > until:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return ""
            time.sleep(0.02)
        good = os.waitstatus_to_exitcode(ended[1]) in (0, 5)  # 5: there was nothing to run
        return None if good else report.read_text()

    def _groups(self, mutant: Mutant) -> Iterator[tuple[Sequence[str], Collection[str], float]]:
        """Files, the tests of them that are not run, and how long all others may take."""
        module, seconds = mutant.module, self._callers.seconds
        own = [*map(str, mirror_of(module, self._root)), str(PACKAGE / module)]
        exactly = self._callers.tests.get(f"{module}:{mutant.place}") if mutant.place else None
        anywhere = (tests for place, tests in self._callers.tests.items() if place.startswith(f"{module}:"))
        calling = set().union(*anywhere) if exactly is None else exactly
        others: list[str] = []
        files: set[str] = set()
        total = 0.0
        for test in sorted(calling, key=seconds.__getitem__):
            file = test.split("::", 1)[0]
            if file in own:
                continue
            total += seconds[test] + _COLLECTED * (file not in files)
            if total > _OTHERS:
                break
            others.append(test)
            files.add(file)
        # what is not recorded, such as a new test, may call it
        yield own, seconds.keys() - calling if exactly else (), _UNKNOWN
        if others:
            yield sorted(files), seconds.keys() - {*others}, _PATIENCE * total + 30

    def survives(self, mutant: Mutant) -> bool:
        """Whether the tests miss a change, which is taken back. A test that fails without it is not asked again."""
        path = self.folder / PACKAGE / mutant.module
        text = path.read_text(encoding="utf-8")
        for paths, without, limit in self._groups(mutant):
            while True:
                self._write(path, mutant.apply(text))
                try:
                    failing = self._failing(paths, without, limit)
                finally:
                    self._write(path, text)
                if failing is None:
                    break
                name = failing or str(mutant.module)
                if name in self._sound or self._fine(failing, paths, without, limit):
                    self._sound.add(name)
                    return False
                self._say(f"{failing or mutant} fails without any change; left out")
                if not failing:
                    return True
                self._broken.add(failing)
        return True

    def _fine(self, test: str, paths: Sequence[str], without: Collection[str], limit: float) -> bool:
        """Whether a test, or all of some files if none is named, passes without a change."""
        return self._failing([test] if test else paths, () if test else without, limit) is None

    @staticmethod
    def _write(path: Path, text: str) -> None:
        """A module without its bytecode: that counts as good if sizes agree and both were written in one second."""
        path.write_text(text, encoding="utf-8")
        Path(cache_from_source(path)).unlink(missing_ok=True)


def survivors(copy: Copy, chosen: Sequence[Mutant], say: Callable[[str], None] = print) -> list[Mutant]:
    """Those of the changes that no test noticed."""
    missed = []
    for mutant in chosen:
        if copy.survives(mutant):
            missed.append(mutant)
            say(f"missed  {mutant}")
    return missed


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
        callers = Callers.read(root / "out" / "callers.json")
        if not callers.seconds:
            print("python -m tools.callers was not run: only the tests that mirror a module are asked")
        copy = Copy(Path(folder), root, ("-m", "not slow") if given.quick else (), callers)
        for name in filter(find_spec, _LARGE):
            import_module(name)
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
            noticed = len(chosen) - len(survivors(copy, chosen))
            score = 100 * noticed / max(len(chosen), 1)
            print(f"{package}: {noticed} of {len(chosen)} changes were noticed ({score:.0f} %)", flush=True)
            low |= score < given.at_least
    return int(low)


if __name__ == "__main__":
    sys.exit(main())
