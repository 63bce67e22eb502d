"""What is written from the records of ``query/functions``: methods of ``Expr`` and tables of ``sql-functions.md``.

``python -m tools.functions`` writes both; ``tests/query/functions/test_catalogue.py`` compares.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from pathlib import Path
from typing import Any

from discreet.query.functions.aggregates import AGGREGATES
from discreet.query.functions.catalogue import FAMILIES, FUNCTIONS, READINGS
from discreet.query.functions.record import Function

ROOT = Path(__file__).resolve().parent.parent
METHODS = ROOT / "src" / "discreet" / "query" / "front" / "methods.py"
PAGE = ROOT / "docs" / "reference" / "sql-functions.md"
BEGIN, END = "<!-- written by python -m tools.functions -->\n", "<!-- end -->\n"
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "eq": "==",
             "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "&", "or": "|", "neg": "-x",
             "invert": "~x"}  # fmt: skip
HEAD = '''"""The methods of ``Expr``, one for each function. Written by ``python -m tools.functions``: do not edit."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Self, TypeAlias

Plain: TypeAlias = int | float | Fraction | Decimal | str | bool | date | None
"""What may stand beside an operator, besides another expression."""


class Methods:
    """Functions of one expression; the records in ``query/functions`` say what they mean."""

    __slots__ = ()

    def _call(self, function: str, *arguments: object) -> Self:
        raise NotImplementedError
'''


def methods() -> str:
    """The text of ``front/methods.py``."""
    return HEAD + "".join(_method(one) for one in FUNCTIONS.values() if "(" in one.method)


def _method(one: Function) -> str:
    name, parameters = one.method.removesuffix(")").split("(", 1)
    each = [p for p in parameters.split(", ") if p]
    passed = [p.split(":")[0] for p in each]
    optional = each[-1].split(":")[0] if each and each[-1].endswith("= None") else None
    if optional:
        passed[-1] = f"*(() if {optional} is None else ({optional},))"
    return (
        f"\n    def {name}({', '.join(['self', *each])}) -> Self:\n"
        f'        """{one.doc}"""\n'
        f"        return self._call({', '.join([repr(one.name).replace(chr(39), chr(34)), *passed])})\n"
    )


def tables() -> str:
    """The tables of all functions and aggregates."""
    found = []
    for title, family in FAMILIES.items():
        found += [f"## {title}\n", "| SQL | verb | what it gives | example |\n|---|---|---|---|\n"]
        found += [f"| {_sql(one)} | {_verb(one.method)} | {one.doc} | {_example(*one.example)} |\n" for one in family]
        found.append("\n")
    found += ["## Short for others\n", "| SQL | what it gives |\n|---|---|\n"]
    found += [f"| {_code(one.usage)} | {one.doc} |\n" for one in READINGS.values()]
    found += ["\n## Aggregates\n", "| SQL | also | verb | what it gives |\n|---|---|---|---|\n"]
    for total in AGGREGATES:
        also = ", ".join(_code(name.upper()) for name in total.sql if not total.usage.startswith(f"{name.upper()}("))
        found.append(f"| {_code(total.usage)} | {also} | `dp.agg.{total.method}` | {total.doc} |\n")
    return "".join(found)


def _sql(one: Function) -> str:
    own = [name for name in one.names if not one.usage.startswith(f"{name.upper()}(")]
    return ", ".join(_code(text) for text in (one.usage, *(name.upper() for name in own)))


def _verb(method: str) -> str:
    if method.startswith("__"):
        return _code(OPERATORS[method.strip("_")])
    name, _, parameters = method.removesuffix(")").partition("(")
    named = re.sub(r"(\w+):[^,]*", r"\1", parameters)
    return _code(f".{name}({named})" if "(" in method else "dp.case(...)" if name == "case" else f".{name}(...)")


def _example(text: str, value: Any) -> str:
    shown = f"'{value}'" if isinstance(value, str) else str(value).upper() if isinstance(value, bool) else str(value)
    if isinstance(value, date):
        shown = value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    return f"{_code(text)} is {_code(shown)}"


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def page(text: str) -> str:
    """The page with its tables as they should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{tables()}{END}{after}"


if __name__ == "__main__":
    METHODS.write_text(methods())
    PAGE.write_text(page(PAGE.read_text()))
