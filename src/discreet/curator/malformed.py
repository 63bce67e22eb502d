"""A request that cannot be read, told in a sentence: which part of it, and what it must be.

Promise: what was sent is not repeated, and no name of a Python type is shown to a person.
"""

from __future__ import annotations

from collections.abc import Sequence

_FIELDS = {
    "bounds": "Bounds of {of}: write two numbers, for example 0 and 5000.",
    "keys": "Keys of {of}: write a list, for example North, South.",
    "max_rows": "Rows per unit of {of}: write an integer above 0, or auto.",
    "max_groups": "Groups per unit of {of}: write an integer above 0.",
    "max_rows_per_group": "Rows per unit and group of {of}: write an integer above 0.",
    "epsilon": "Epsilon{in_of}: write a number above 0, for example 0.5.",
    "delta": "Delta{in_of}: write a small number, for example 1e-9.",
    "rho": "Rho{in_of}: write a number above 0, for example 0.1.",
}
_PARTS = frozenset({"body", "path", "query", "tables", "columns"})


def in_words(place: Sequence[object], message: str) -> str:
    """What is wrong with one part of a request; ``place`` and ``message`` are pydantic's.

    >>> in_words(("body", "tables", "visits", "columns", "cost", "bounds", "list[union[str,int]]"), "Input should be")
    'Bounds of `cost`: write two numbers, for example 0 and 5000.'
    >>> in_words(("body", "sql"), "Field required")
    '`sql`: Field required'
    """
    names = [part for part in place if isinstance(part, str) and not _is_type(part)]
    for i, name in reversed(list(enumerate(names))):
        if name in _FIELDS and i > 0:
            owner = next((one for one in reversed(names[:i]) if one not in _PARTS), None)
            of = "this table" if owner is None else f"`{owner}`"
            return _FIELDS[name].format(of=of, in_of="" if owner is None else f" of {of}")
    inside = " of ".join(f"`{name}`" for name in reversed(names) if name not in _PARTS)
    return f"{inside or 'the request'}: {message}"


def _is_type(part: str) -> bool:
    """Whether pydantic names one of several allowed types there, or a validator, and no part of the request.

    >>> [_is_type(part) for part in ("list[str]", "literal['auto']", "cost", "constrained-str")]
    [True, True, False, True]
    """
    return "[" in part or part.startswith(("constrained-", "function-", "lax-or-strict", "nullable"))
