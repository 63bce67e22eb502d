"""Which test functions are sampled: ``tests/sampled_tests.txt``. ``make test`` runs a part, ``make audit`` all cases.

A line ``4 tests/x/test_y.py::test_z`` keeps about one of 4 cases, chosen by their names, and always the first one;
``audit tests/x/test_y.py::test_z`` leaves the function to ``make audit`` whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

LIST = Path(__file__).resolve().parent.parent / "tests" / "sampled_tests.txt"
NONE = "audit"


def listed() -> dict[str, int]:
    """Functions, and one of how many of their cases is kept; 0: none."""
    lines = (line.split(" ", 1) for line in LIST.read_text().splitlines())
    return {function: 0 if every == NONE else int(every) for every, function in lines}


def left_out(nodeids: Iterable[str], every: dict[str, int]) -> set[str]:
    """Those of the tests that a sample does not run: the same ones on every run, whatever else there is.

    >>> cases = [f"a.py::f[{n}]" for n in range(100)]
    >>> len(left_out([*cases, "a.py::g", "a.py::h"], {"a.py::f": 4, "a.py::g": 0}))
    74
    >>> left_out(["a.py::f[1]"], {"a.py::f": 1000})
    set()
    """
    seen: set[str] = set()
    left = set()
    for nodeid in nodeids:
        function = nodeid.split("[", 1)[0]
        if (one_of := every.get(function)) is None:
            continue
        first = function not in seen
        seen.add(function)
        if one_of == 0 or not (first or crc32(nodeid.encode()) % one_of == 0):
            left.add(nodeid)
    return left
