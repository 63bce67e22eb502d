"""Which errors a function may raise: read from its code, and from that of the functions that it calls."""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from typing import Any

from discreet import errors

DEPTH = 2  # calls that are followed
NAMES = frozenset(name for name, what in vars(errors).items() if inspect.isclass(what))


def raised_by(what: object) -> list[str]:
    """Names of errors, in alphabetical order.

    >>> from discreet.exact import positive
    >>> raised_by(positive)
    ['BadParameter']
    """
    plain: Any = what if inspect.isclass(what) or inspect.isfunction(what) else type(what)
    if inspect.isclass(plain) and issubclass(plain, BaseException):
        return []
    return sorted(_raised(plain, DEPTH))


@cache
def _raised(what: Any, depth: int) -> frozenset[str]:
    found: set[str] = set()
    for part in _functions(what):
        named, called = _read(part)
        found |= named
        if depth:
            space = getattr(part, "__globals__", {})
            for name in called:
                target = space.get(name)
                if getattr(target, "__module__", "").startswith("discreet") and target is not what:
                    found |= _raised(target, depth - 1) if inspect.isfunction(target) else _made(target, depth - 1)
    return frozenset(found)


def _made(target: Any, depth: int) -> frozenset[str]:
    if not inspect.isclass(target) or issubclass(target, BaseException):
        return frozenset()
    made: Any = target
    return _raised(made, depth)


def _functions(what: Any) -> list[Any]:
    """A function itself; of a class, the functions that make it and those that are called from outside."""
    if inspect.isfunction(what):
        return [what]
    if not inspect.isclass(what):
        return []
    plain = [member.__func__ if isinstance(member, classmethod) else member for member in vars(what).values()]
    return [member for member in plain if inspect.isfunction(member)]


@cache
def _read(function: Any) -> tuple[frozenset[str], frozenset[str]]:
    """The errors that a function raises by name, and the names that it calls."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return frozenset(), frozenset()
    raised, called = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(made, ast.Name) and made.id in NAMES:
                raised.add(made.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
    return frozenset(raised), frozenset(called)
