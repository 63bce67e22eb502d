"""The names of arrays for type checkers: defined once."""

from __future__ import annotations

import re
from pathlib import Path

import discreet

SOURCE = Path(discreet.__file__).parent


def test_no_other_module_names_these_kinds_of_arrays_again() -> None:
    again = re.compile(r"^(Floats|Integers) = ", re.MULTILINE)
    assert [str(path) for path in SOURCE.rglob("*.py") if again.search(path.read_text("utf-8"))] == [
        str(SOURCE / "arrays.py")
    ]
