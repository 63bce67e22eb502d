"""tools.mutate: every kind of change, the tests that mirror a module, and a score that is true of a small project."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import mutate
from tools.callers import Callers
from tools.mutate import mirror_of, modules_of, mutants

SOURCE = '''"""Not 7."""
import os

LIMIT: int = 3


class Thing(Base):
    """Not 8."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < 0 and not self.free:
            raise ValueError(f"{1 + 1} is no size")

    def far(self, x, *, endless=True):
        return -x + 1 if x in (LIMIT, None) else x is not None

    def both(self, x, y):
        return zip(x, y, strict=True)
'''
CHANGES = [
    "4: 3 -> 4",
    "11: super().__post_init__() -> pass",
    '12: if self.size < 0 and not self.free: raise ValueError(f"{1 + 1} is n... -> pass',
    "12: self.size < 0 and not self.free -> (self.size < 0 or not self.free)",
    "12: self.size < 0 -> self.size <= 0",
    "12: 0 -> 1",
    "12: not self.free -> (self.free)",
    "15: True -> False",
    "16: -x + 1 -> (-x - 1)",
    "16: -x -> (x)",
    "16: 1 -> 2",
    "16: x in (LIMIT, None) -> x not in (LIMIT, None)",
    "16: x is not None -> x is None",
]


def test_every_kind_of_change_is_made_and_nothing_else_is_touched() -> None:
    """Annotations, docstrings, imports and messages stay: a test that fails by them says nothing."""
    changes = mutants(Path("thing.py"), SOURCE)
    assert [str(change).removeprefix("thing.py:") for change in changes] == CHANGES
    for change in changes:
        changed = change.apply(SOURCE)
        ast.parse(changed)
        assert changed != SOURCE
        assert len(changed) - len(SOURCE) == len(change.after) - len(change.before)


def test_places_are_counted_in_bytes() -> None:
    (change, *_) = mutants(Path("a.py"), 's = "\u00e9\U0001d11e"; x = 1 < y')
    assert change.apply('s = "\u00e9\U0001d11e"; x = 1 < y') == 's = "\u00e9\U0001d11e"; x = 1 <= y'


def test_the_tests_of_a_module_are_those_that_mirror_it() -> None:
    assert Path("tests/query/test_run_batches.py") in mirror_of(Path("query/run.py"))
    dbapi = mirror_of(Path("curator/client/client.py"))
    assert Path("tests/curator/client/test_client_plans.py") in dbapi
    assert Path("tests/curator/client/test_dbapi.py") not in dbapi
    assert modules_of("ledger/standing.py") == modules_of("ledger/standing") == [Path("ledger/standing.py")]
    assert Path("privacy/pld/total.py") in modules_of("privacy")
    assert modules_of("no_such_package") == []


def test_a_change_is_known_by_its_function() -> None:
    """That is how it is looked up among the functions that tests call; what runs on import is in none."""
    source = (
        "a = 1\n\n\nclass C:\n    b = 2\n\n    def f(self, x=3):\n        def g():\n            return 4\n\n"
        "        return g\n\n\n@cache\ndef kept():\n    return 5\n"
    )
    assert [(one.before, one.place) for one in mutants(Path("a.py"), source)] == [
        ("1", ""), ("2", ""), ("3", ""), ("4", "C.f"), ("5", ""),
    ]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package with one module whose test knows one of its two ends; tests that are not its mirror."""
    root = tmp_path / "root"
    (root / "src/small_package").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "src/small_package/ends.py").write_text(
        "def low(x):\n    return x < 3\n\n\ndef high(x):\n    return x > 9\n"
    )
    (root / "tests/test_ends.py").write_text(
        "from small_package.ends import high, low\n\n\n"
        "def test_ends():\n    assert low(2) and not low(3) and high(11) and not high(1)\n"
    )
    (root / "tests/test_others.py").write_text(
        "from small_package.ends import high\n\n\n"
        "def test_one():\n    assert high(10)\n\n\ndef test_broken():\n    assert not high(10)\n"
    )
    return root


def run(project: Path, *arguments: str, callers: Callers | None = None) -> tuple[int, str]:
    """The command on a small project, in a process of its own: it forks."""
    if callers is not None:
        callers.write(project / "out/callers.json")
    program = (
        "import sys; from pathlib import Path; from tools import mutate\n"
        "mutate.PACKAGE, mutate._LARGE = Path('src/small_package'), ()\n"
        f"sys.exit(mutate.main({list(arguments)}, Path({str(project)!r})))"
    )
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # quick to start
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=mutate.ROOT, env=environment, capture_output=True, text=True, check=False)
    assert not done.stderr
    assert (project / "src/small_package/ends.py").read_text().count("x > 9") == 1, "the working tree is not touched"
    return done.returncode, done.stdout


@pytest.mark.slow
def test_a_change_that_no_test_notices_is_counted(project: Path) -> None:
    code, said = run(project, "ends.py", "--lines", "6", "--at-least", "92")
    assert code == 1
    assert "missed  ends.py:6: x > 9 -> x >= 9\n" in said
    assert "missed  ends.py:6: 9 -> 10\n" in said
    assert said.endswith("ends.py: 0 of 2 changes were noticed (0 %)\n")


@pytest.mark.slow
def test_a_change_that_a_test_notices_is_counted(project: Path) -> None:
    code, said = run(project, "ends.py", "--lines", "1-3", "--sample", "1", "--seed", "7", "--at-least", "92")
    assert (code, said.splitlines()[-1]) == (0, "ends.py: 1 of 1 changes were noticed (100 %)")


@pytest.mark.slow
def test_other_tests_that_call_the_function_are_asked_and_one_that_fails_anyway_is_not(project: Path) -> None:
    others = [f"tests/test_others.py::{name}" for name in ("test_broken", "test_one")]
    callers = Callers({"tests/test_ends.py::test_ends": 0.1} | dict.fromkeys(others, 0.1), {"ends.py:high": {*others}})
    code, said = run(project, "ends.py", "--lines", "6", callers=callers)
    assert code == 0
    assert said == (
        "tests/test_others.py::test_broken fails without any change; left out\n"
        "missed  ends.py:6: x > 9 -> x >= 9\n"
        "ends.py: 1 of 2 changes were noticed (50 %)\n"
    )
