"""What is refused in SQL, by name and with a hint: nodes of the syntax tree that nobody reads.

Promise: the default is no. A kind of node without a reader, or a part that its reader does not know, is
``Unsupported``; so nothing that a newer parser understands slips in unseen.
"""

from __future__ import annotations

import re

from sqlglot import exp

from discreet.errors import Unsupported

_SUBQUERY = ("a subquery inside an expression", "join with it, or run it as a query of its own")
_CLOCK = ("the time of asking", "write the date itself, such as DATE '2025-01-31'")
_REGEX = ("a regular expression", "use REGEXP_MATCHES(x, pattern), REGEXP_FULL_MATCH, LIKE or IN")
_BITS = ("an operator on bits", "use arithmetic; POWER(x, n) for powers")
_REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("Select", "Subquery", "Exists", "Union", "Except", "Intersect"), _SUBQUERY),
    **dict.fromkeys(
        ("Any", "All"),
        (
            "ANY or ALL",
            "list the values with IN; of a column that is a list, write FROM visits, UNNEST(tags) AS t(tag)",
        ),
    ),
    **dict.fromkeys(
        ("CurrentDate", "CurrentTime", "CurrentTimestamp", "CurrentDatetime", "Localtime", "Localtimestamp"), _CLOCK
    ),
    **dict.fromkeys(("RegexpLike", "RegexpILike", "RegexpFullMatch", "Glob"), _REGEX),
    "SimilarTo": (
        "SIMILAR TO with . ^ $ or a backslash, which databases read differently",
        "write REGEXP_FULL_MATCH(x, pattern)",
    ),
    **dict.fromkeys(
        ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitwiseLeftShift", "BitwiseRightShift"), _BITS
    ),
    **dict.fromkeys(("CurrentUser", "CurrentRole", "SessionUser"), ("the user of a database", "leave it out")),
    "Alias": ("a name inside an expression", "give names with AS only after a whole output"),
    "AtTimeZone": ("AT TIME ZONE", "times are read as UTC"),
    "Bracket": ("a list or an index", "use plain columns, constants, and IN (a, b) for ANY (ARRAY[a, b])"),
    "Collate": ("COLLATE", "texts are compared by code point; use LOWER(x)"),
    "Concat": ("two texts side by side", "write a || b"),
    "Distinct": ("DISTINCT here", "use SELECT DISTINCT or COUNT(DISTINCT x)"),
    "Dot": ("a field of a struct, or a function of a schema", "use plain columns and functions"),
    "Escape": ("LIKE ... ESCAPE", "only % and _ have a meaning in patterns; a backslash is a plain character"),
    "IgnoreNulls": ("IGNORE NULLS", "aggregates leave NULLs out anyway"),
    "Interval": ("an interval", "add whole seconds, minutes, hours, days, weeks, months, years: d + INTERVAL 1 MONTH"),
    "JSONPath": ("this path into JSON", "name one key of a flat object, as in JSON_VALUE(x, '$.key')"),
    "Lateral": ("LATERAL", "join plain tables and subqueries"),
    "National": ("a text with a prefix", "write 'text'"),
    "Pow": ("the operators ^ and **", "write POWER(x, n)"),
    "Order": ("ORDER BY inside an aggregate", "leave it out: the order of rows has no meaning"),
    "Star": ("SELECT *", "name the columns, or use COUNT(*)"),
    "Table": ("parentheses around a table or a join", "leave them out, or write a subquery"),
    "TableSample": (
        "TABLESAMPLE",
        "ask about all rows: a sample of rows is none of people, and lowers no cost",
    ),
    "Tuple": ("a row of several values", "compare the columns one by one"),
    **dict.fromkeys(("Unnest", "Explode"), ("UNNEST here", "write it in FROM: FROM visits, UNNEST(tags) AS t(tag)")),
    "Values": ("VALUES as a table", "name a table of the session"),
    "Var": ("a bare word, such as ORDER BY ALL", "name the columns"),
    "Window": ("this form of a window function", "write SUM(x) OVER (PARTITION BY a ORDER BY b)"),
}


def refusal(node: exp.Expr) -> Unsupported:
    """What to raise for a node that is not allowed where it stands."""
    name = type(node).__name__
    if name in _REFUSED:
        return Unsupported(*_REFUSED[name])
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).upper()
    return Unsupported(words, "the SQL page lists what can")


def _clause(node: exp.Expr, part: str) -> tuple[str, str]:
    word = part.rstrip("_").replace("_", " ").upper()
    return f"{word} in {type(node).__name__.upper()}", "leave it out"


def only(node: exp.Expr, *known: str) -> None:
    """Refuses a node that has a part nobody here knows."""
    for name, value in node.args.items():
        if name not in known and value is not None and value is not False and value != []:
            raise refusal(value) if isinstance(value, exp.Expr) else Unsupported(*_clause(node, name))
