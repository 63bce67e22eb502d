"""The list of sampled tests names functions that are there."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tools import sampled_tests

ROOT = Path(__file__).resolve().parent.parent


@cache
def defined_in(path: str) -> frozenset[str]:
    """What a file defines, names of classes as ``Class.method``; nothing if there is no file."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()

    def below(node: ast.AST, prefix: str) -> list[str]:
        named = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.FunctionDef | ast.ClassDef)]
        return [name for one in named for name in (prefix + one.name, *below(one, f"{prefix}{one.name}."))]

    tree = ast.parse(file.read_text())
    cases = [f"{ast.unparse(one.targets[0])}.runTest" for one in tree.body if isinstance(one, ast.Assign)]
    return frozenset([*below(tree, ""), *cases])  # hypothesis makes test cases of state machines


def is_there(function: str) -> bool:
    path, _, name = function.partition("::")
    if path.startswith("src/"):  # a doctest: of the module, or of something in it
        module = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return name == module or name.removeprefix(f"{module}.") in defined_in(path)
    return name.replace("::", ".") in defined_in(path)


def test_the_sampled_ones_are_there_in_order_and_none_of_them_is_a_promise_left_out() -> None:
    every = sampled_tests.listed()
    assert sorted(name for name in every if not is_there(name)) == [], "take these lines out of tests/sampled_tests.txt"
    assert list(every) == sorted(every)
    assert all(one_of == 0 or one_of >= 2 for one_of in every.values())
    promises = (ROOT / "docs" / "explanation" / "promises.md").read_text()
    assert [name for name, one_of in every.items() if one_of == 0 and f"`{name}`" in promises] == []


def test_a_function_that_is_gone_would_be_noticed() -> None:
    here = "tests/test_sampled_tests.py"
    assert is_there(f"{here}::is_there")
    assert not is_there(f"{here}::test_that_was_here")
    assert not is_there("tests/test_gone.py::is_there")
    assert is_there("src/discreet/exact.py::discreet.exact")
    assert is_there("src/discreet/exact.py::discreet.exact.number")
    assert not is_there("src/discreet/exact.py::discreet.exact.none_such")
