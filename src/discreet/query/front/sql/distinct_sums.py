"""SUM(DISTINCT x) and its like: the sum over the different values that there are, as a SELECT over SELECT DISTINCT.

    SELECT g, SUM(DISTINCT x) FROM t GROUP BY g
    SELECT g, SUM(x) FROM (SELECT DISTINCT g, x FROM t) AS d GROUP BY g

Promise: nothing but the inner SELECT is released: a noisy number of rows for every listed pair (g, x), at the price of
counts by group (``lower/bounding.md``). Which values there are, and their sum, is computed from these numbers, so it is
post-processing and costs nothing. The rewriting looks at the text alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.opaque_names import spelled
from discreet.query.functions.aggregates import NAMES

_SAME = frozenset({"min", "max"})
"""DISTINCT changes nothing here."""
_MOVED = ("from_", "joins", "where", "laterals")


def unfolded(node: exp.Expr, columns: Iterable[str]) -> exp.Expr:
    """The same question with such a sum written as a subquery; as it is, if there is none.

    ``columns`` are the names of all columns of tables: GROUP BY finds them before aliases.
    """
    if type(node) is not exp.Select:
        return node
    calls = [part for one in _parts(node) for part in _aggregates(one)]
    for call in calls:
        if _name(call) in _SAME and (inside := _distinct(call)) is not None:
            call.set("expressions", inside.expressions)
    if all(_distinct(call) is None or _name(call) == "count" for call in calls):
        return node
    values = {one.sql() for call in calls for one in getattr(_distinct(call), "expressions", [])}
    if any(_distinct(call) is None or type(call.parent) is exp.Filter for call in calls) or len(values) != 1:
        raise Unsupported(
            "an aggregate of DISTINCT values beside others, of several columns, or with FILTER",
            "run it as a query of its own",
        )
    return _around(node, calls, {column.lower() for column in columns})


def _parts(node: exp.Expr) -> Iterator[exp.Expr]:
    yield from node.expressions
    for name in ("having", "order", "qualify"):
        if node.args.get(name) is not None:
            yield node.args[name]


def _aggregates(node: exp.Expr) -> list[exp.Anonymous]:
    """The aggregates of this SELECT, without those of subqueries inside it."""
    found = node.walk(prune=lambda part: isinstance(part, exp.Query | exp.Window))
    return [part for part in found if type(part) is exp.Anonymous and _name(part) in NAMES]


def _name(call: exp.Anonymous) -> str:
    return spelled(call.this).lower() if isinstance(call.this, str) else ""


def _distinct(call: exp.Anonymous) -> exp.Distinct | None:
    given = call.expressions
    return given[0] if len(given) == 1 and type(given[0]) is exp.Distinct else None


def _around(node: exp.Select, calls: list[exp.Anonymous], columns: set[str]) -> exp.Expr:
    (value,) = _distinct(calls[0]).expressions[:1]  # type: ignore[union-attr]
    keys = [_meant(key, node, columns) for key in _group(node)]
    names = list[str]()
    for i, one in enumerate([*keys, value], 1):
        own = one.name if type(one) is exp.Column else f"key {i}"
        names.append(own if own not in names else f"key {i}")
    inner = exp.Select(expressions=[exp.alias_(one.copy(), name, quoted=True) for one, name in zip(
        [*keys, value], names, strict=True)], distinct=exp.Distinct())  # fmt: skip
    for part in _MOVED:
        if node.args.get(part) is not None:
            inner.set(part, node.args[part].pop() if isinstance(node.args[part], exp.Expr) else node.args[part])
            node.set(part, None)
    for call in calls:
        call.set("expressions", [_column(names[-1])])
    outputs = [one if isinstance(one, exp.Alias) else exp.alias_(one, one.output_name, quoted=True) if (
        one.output_name) else one for one in node.expressions]  # fmt: skip
    node.set("expressions", outputs)
    places = {key.sql(): name for key, name in zip(keys, names, strict=False)}

    def placed(part: exp.Expr) -> exp.Expr:
        name = None if isinstance(part, exp.Identifier) else places.get(part.sql())
        return part if name is None else _column(name)

    for one in list(_parts(node)):
        one.transform(placed, copy=False)
    if keys:
        node.set("group", exp.Group(expressions=[_column(name) for name in names[:-1]]))
    below = exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("distinct values", quoted=True)))
    node.set("from_", exp.From(this=below))
    return node


def _group(node: exp.Select) -> list[exp.Expr]:
    group = node.args.get("group")
    if group is None:
        return []
    if any(value for part, value in group.args.items() if part != "expressions"):
        raise Unsupported("an aggregate of DISTINCT values with ROLLUP, CUBE, GROUPING SETS or GROUP BY ALL",
                          "group by plain columns")  # fmt: skip
    return list(group.expressions)


def _meant(key: exp.Expr, node: exp.Select, columns: set[str]) -> exp.Expr:
    """What GROUP BY 1, or an alias there, stands for."""
    if type(key) is exp.Literal and not key.args.get("is_string"):
        place = int(key.this) if key.this.isdigit() else 0
        if not 1 <= place <= len(node.expressions):
            raise BadQuestion("GROUP BY has a number that is no place in SELECT")
        found: exp.Expr = node.expressions[place - 1].unalias()
        return found
    if type(key) is not exp.Column or spelled(key.name).lower() in columns:
        return key
    for one in node.expressions:
        if type(one) is exp.Alias and key.sql() == one.args["alias"].sql():
            key = one.this
            break
    return key


def _column(name: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(name, quoted=True))
