"""Which test functions are slow: ``tests/slow_tests.txt``, by which ``make check`` leaves them out.

``python -m tools.slow_tests`` runs all tests and writes the list. With arguments for pytest (``tests/noise``, or
``-n auto -m 'not slow'`` for what has become slow since) only the functions that ran are written anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "slow_tests.txt"
ONE, ALL = 0.1, 0.5  # seconds of one test, and of all tests of a function, from which the function is slow
EVERYTHING = ("-n", "auto", "--dist", "loadgroup")


def function_of(nodeid: str) -> str:
    """The function of a test, without its parameters.

    >>> function_of("tests/noise/test_grid.py::test_a_cell[1-x]")
    'tests/noise/test_grid.py::test_a_cell'
    """
    return nodeid.split("[", 1)[0]


def listed() -> set[str]:
    """The functions in the list."""
    return set(LIST.read_text().splitlines())


class Recorder:
    """A plugin that adds up the seconds of each test: setting up, running, tearing down."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count one of the three phases of a test; a test that is skipped takes its time as well."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration


def slow(seconds: Mapping[str, float]) -> set[str]:
    """The functions of those tests that are slow.

    >>> sorted(slow({"a.py::f[1]": 0.3, "a.py::f[2]": 0.3, "a.py::g": 0.05, "b.py::h": 0.2}))
    ['a.py::f', 'b.py::h']
    """
    total: dict[str, float] = {}
    for nodeid, each in seconds.items():
        total[function_of(nodeid)] = total.get(function_of(nodeid), 0.0) + each
    return {name for name, whole in total.items() if whole >= ALL} | {
        function_of(nodeid) for nodeid, each in seconds.items() if each >= ONE
    }


def renewed(known: Iterable[str], seconds: Mapping[str, float]) -> list[str]:
    """The list after a run: what did not run stays as it was.

    >>> renewed(["a.py::f", "c.py::k"], {"a.py::f": 0.01, "b.py::h": 0.2})
    ['b.py::h', 'c.py::k']
    """
    ran = {function_of(nodeid) for nodeid in seconds}
    return sorted((set(known) - ran) | slow(seconds))


def main() -> int:
    """Run the tests, and write the list if they pass."""
    recorder = Recorder()
    code = pytest.main(sys.argv[1:] or list(EVERYTHING), plugins=[recorder])
    if code == pytest.ExitCode.OK:
        known = listed() if sys.argv[1:] else set()
        LIST.write_text("".join(f"{name}\n" for name in renewed(known, recorder.seconds)))
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
