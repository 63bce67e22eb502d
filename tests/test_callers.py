"""tools.callers: which test calls what, also through fixtures that are made once, and kept from run to run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools import callers
from tools.callers import Callers

TESTS = """
import pytest

from small_package.ends import Kept, high, low


@pytest.fixture(scope="module")
def made():
    return low(1)


@pytest.mark.parametrize("n", [10, 11])
def test_high(n):
    assert [high(m) for m in (n,)] == [True]


def test_first(made):
    assert made


def test_second(made):
    assert Kept().inner()


def test_broken():
    assert high(3)
"""


@pytest.mark.slow
def test_calls_are_recorded_by_test_and_function(tmp_path: Path) -> None:
    (tmp_path / "small_package").mkdir()
    (tmp_path / "small_package/ends.py").write_text(
        "def low(x):\n    return x < 3\n\n\ndef high(x):\n    return (lambda: x > 9)()\n\n\n"
        "class Kept:\n    def inner(self):\n        return True\n"
    )
    (tmp_path / "test_ends.py").write_text(TESTS)
    program = (
        "import sys, pytest; from pathlib import Path; from tools.callers import Recorder\n"
        f"sys.path.insert(0, {str(tmp_path)!r}); one = Recorder(Path({str(tmp_path / 'small_package')!r}))\n"
        f"pytest.main(['-q', '--rootdir', {str(tmp_path)!r}, {str(tmp_path / 'test_ends.py')!r}], plugins=[one])\n"
        f"one.callers.without(one.failed).write(Path({str(tmp_path / 'out/found.json')!r}))"
    )
    subprocess.run([sys.executable, "-c", program], cwd=callers.ROOT, capture_output=True, check=True)
    found = Callers.read(tmp_path / "out/found.json")
    assert {name.removeprefix("test_ends.py::") for name in found.seconds} == {"test_high", "test_first", "test_second"}
    assert {place: {name.removeprefix("test_ends.py::") for name in names} for place, names in found.tests.items()} == {
        "ends.py:low": {"test_first", "test_second"},
        "ends.py:high": {"test_high"},
        "ends.py:Kept.inner": {"test_second"},
    }


def test_nothing_was_recorded(tmp_path: Path) -> None:
    assert Callers.read(tmp_path / "none.json") == Callers()
