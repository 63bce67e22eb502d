"""The clauses of one SELECT besides FROM: checked, and handed on as what they say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import prod

from sqlglot import exp

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.expressions import said
from discreet.query.front.sql.refusals import only, refusal
from discreet.query.plan.expressions import Literal
from discreet.query.resolve.build import match
from discreet.query.resolve.resolve import MOST_SETS, Scope
from discreet.query.resolve.unresolved import Name, Output, Said, Windowed, apply, has_total

SELECT = ("with_", "expressions", "distinct", "from_", "joins", "where", "group", "having", "order", "limit",
          "offset")  # fmt: skip
"""The parts of a SELECT that somebody reads."""
_CLAUSES: dict[str, tuple[str, str]] = {
    "qualify": ("QUALIFY in a subquery", "use it at the end, over released values"),
    "windows": ("WINDOW", "write OVER (...) where it is used"),
    "sample": (
        "TABLESAMPLE",
        "ask about all rows: a sample of rows is none of people, and lowers no cost",
    ),
    "laterals": ("LATERAL", "join plain tables and subqueries"),
    "into": ("SELECT INTO", "an answer is returned, not stored"),
    "locks": ("FOR UPDATE", "leave it out"),
    "pivots": ("PIVOT", "write SUM(x) FILTER (WHERE k = 'a') AS a for each value of k"),
    "kind": ("SELECT AS STRUCT", "select plain columns"),
    "hint": ("a hint to the optimizer", "leave it out"),
    "match": ("MATCH_RECOGNIZE", "aggregate with GROUP BY instead"),
    "connect": ("CONNECT BY", "join plain tables and subqueries"),
}


def checked(node: exp.Expr, *known: str) -> None:
    """Refuses clauses that nobody reads, by name."""
    for part, refused in _CLAUSES.items():
        if part not in known and node.args.get(part):
            raise Unsupported(*refused)
    only(node, *known)


def is_distinct(node: exp.Expr) -> bool:
    """Whether it is SELECT DISTINCT."""
    found = node.args.get("distinct")
    if found is None:
        return False
    if found.args.get("on") is not None:
        return False
    only(found)
    return True


def first_of_each(node: exp.Expr, outputs: Sequence[Output]) -> Said | None:
    """DISTINCT ON (a) ... ORDER BY a, b: the condition that a row is the first of its part."""
    found = node.args.get("distinct")
    if found is None or found.args.get("on") is None:
        return None
    only(found, "on")
    by = found.args["on"]
    keys = tuple(said(one) for one in (by.expressions if type(by) is exp.Tuple else [by]))
    place = Windowed("row_number", (), keys, tuple(order_of(node, outputs)))
    return apply("eq", place, Literal(Fraction(1)))


def set_distinct(node: exp.SetOperation) -> bool:
    """Whether UNION, INTERSECT or EXCEPT is of distinct rows, as it is without ALL."""
    distinct = bool(node.args.get("distinct"))
    if not distinct and type(node) is not exp.Union:
        word = type(node).__name__.upper()
        raise Unsupported(f"{word} ALL", f"write {word}, which is about distinct rows")
    return distinct


def set_parts(node: exp.SetOperation) -> list[exp.Expr]:
    """What UNION puts together, from left to right, found without recursion; the two sides of INTERSECT or EXCEPT."""
    found: list[exp.Expr] = []
    waiting: list[exp.Expr] = [node]
    while waiting:
        part = waiting.pop()
        within = type(part) is exp.Union is type(node) and (set_distinct(node) or not set_distinct(part))
        if part is not node and (not within or any(part.args.get(one) for one in ("order", "limit", "with_"))):
            found.append(part)
            continue
        only(part, "this", "expression", "distinct", *(("with_", "order", "limit", "offset") if part is node else ()))
        waiting += [part.args["expression"], part.this]
    return found


def condition_of(node: exp.Expr, clause: str) -> Said | None:
    """What WHERE, HAVING or QUALIFY says, by its name in the tree."""
    condition = node.args.get(clause)
    if condition is None:
        return None
    only(condition, "this")
    return said(condition.this)


def order_of(node: exp.Expr, outputs: Sequence[Output]) -> list[tuple[Said, bool]]:
    """What ORDER BY says: expressions, and whether each is descending."""
    order = node.args.get("order")
    if order is None:
        return []
    only(order, "expressions")
    found = []
    for one in order.expressions:
        if type(one) is not exp.Ordered:
            raise refusal(one)
        if one.args.get("nulls_first"):
            raise Unsupported("NULLS FIRST", "NULLs come last")
        only(one, "this", "desc", "nulls_first")
        by = _by_number(one.this, outputs, "ORDER BY") or said(one.this)
        found.append((by, bool(one.args.get("desc"))))
    return found


def limit_of(node: exp.Expr) -> int | None:
    """The number of rows after LIMIT."""
    limit = node.args.get("limit")
    if limit is None:
        return None
    if type(limit) is exp.Fetch:
        if limit.args.get("limit_options") is not None and limit.args["limit_options"].args.get("percent"):
            raise Unsupported("FETCH FIRST with PERCENT", "give a number of rows")
        found = _whole(limit.args.get("count"))
        if found is None:
            raise BadQuestion("FETCH FIRST needs an integer of rows")
        return found
    if limit.args.get("limit_options") is not None:
        raise Unsupported("LIMIT with PERCENT or TIES", "give a number of rows")
    only(limit, "expression")
    found = _whole(limit.expression)
    if found is None:
        raise BadQuestion("LIMIT needs an integer of rows")
    return found


def offset_of(node: exp.Expr) -> int:
    """The number of rows after OFFSET."""
    offset = node.args.get("offset")
    if offset is None:
        return 0
    only(offset, "expression")
    found = _whole(offset.expression)
    if found is None:
        raise BadQuestion("OFFSET needs an integer of rows")
    return found


def _whole(node: object) -> int | None:
    """A whole number as it is written, below 10^9."""
    if type(node) is not exp.Literal or node.args.get("is_string"):
        return None
    text = node.this
    return int(text) if isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) < 10 else None


def _by_number(node: exp.Expr, outputs: Sequence[Output], clause: str) -> Said | None:
    """An output by its number, as in ORDER BY 2."""
    if type(node) is not exp.Literal or node.args.get("is_string"):
        return None
    place = _whole(node)
    if place is None or not 1 <= place <= len(outputs):
        raise BadQuestion(f"{clause} by number needs a number from 1 to {len(outputs)}, that of an output")
    return outputs[place - 1].said


# --- GROUP BY ---------------------------------------------------------------------------------------------------------

_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def keys_of(node: exp.Expr, outputs: Sequence[Output], scope: Scope) -> tuple[list[Said], list[list[int]] | None]:
    """The keys of GROUP BY, and the grouping sets (places of keys) unless there is just one with all of them."""
    group = node.args.get("group")
    if group is None:
        return [], None
    if group.args.get("all"):
        only(group, "all")
        return list(
            dict.fromkeys(o.said for o in outputs if not (has_total(o.said) or isinstance(o.said, Literal)))
        ), None
    if any(group.args.get(part) for part in ("rollup", "cube", "grouping_sets", "totals")):
        raise Unsupported("WITH ROLLUP, WITH CUBE or WITH TOTALS", "write GROUP BY ROLLUP(a, b)")
    only(group, "expressions")
    if not group.expressions:
        raise BadQuestion("GROUP BY needs keys")
    found = _Keys(outputs, scope)
    choices = [found.sets(one) for one in group.expressions]
    if prod(len(choice) for choice in choices) > MOST_SETS:
        raise BadQuestion(f"a query has at most {MOST_SETS} grouping sets")
    if all(type(one) not in _SETS for one in group.expressions):
        return found.keys, None
    return found.keys, [_flat(parts) for parts in product(*choices)]


class _Keys:
    """Collects the keys of one GROUP BY."""

    def __init__(self, outputs: Sequence[Output], scope: Scope) -> None:
        self._outputs = outputs
        self._scope = scope
        self.keys: list[Said] = []

    def sets(self, node: exp.Expr) -> list[list[int]]:
        """The grouping sets that one element stands for; a plain key stands for one."""
        if type(node) not in _SETS:
            return [[self._place(node)]]
        only(node, "expressions")
        inside = node.expressions
        if type(node) is exp.GroupingSets:
            return [one for part in inside for one in (self.sets(part) if type(part) in _SETS else [self._keys(part)])]
        keys = [self._keys(part) for part in inside]
        if not keys:
            raise BadQuestion("ROLLUP and CUBE need keys")
        return rollup(keys) if type(node) is exp.Rollup else cube(keys)

    def _keys(self, node: exp.Expr) -> list[int]:
        """Keys that come and go together: (a, b), or one."""
        if type(node) is exp.Tuple:
            only(node, "expressions")
            return [self._place(one) for one in node.expressions]
        if type(node) is exp.Paren:
            only(node, "this")
            return self._keys(node.this)
        return [self._place(node)]

    def _place(self, node: exp.Expr) -> int:
        key = _by_number(node, self._outputs, "GROUP BY") or said(node)
        if isinstance(key, Name) and key.table is None:
            key = self._named(key)
        if has_total(key):
            raise BadQuestion("GROUP BY needs keys of rows, not aggregates")
        if key not in self.keys:
            self.keys.append(key)
        return self.keys.index(key)

    def _named(self, name: Name) -> Said:
        """A column, or else the output of that name."""
        try:
            self._scope.find(name)
        except BadQuestion:
            named = {one.name: one.said for one in self._outputs if one.name is not None}
            found = match(name.column, named)
            if len(found) != 1:
                raise
            return named[found[0]]
        return name


def rollup(keys: Sequence[list[int]]) -> list[list[int]]:
    """All keys, then without the last, and so on down to none.

    >>> rollup([[0], [1]])
    [[0, 1], [0], []]
    """
    return [_flat(keys[:n]) for n in range(len(keys), -1, -1)]


def cube(keys: Sequence[list[int]]) -> list[list[int]]:
    """All choices of keys, the largest first.

    >>> cube([[0], [1]])
    [[0, 1], [0], [1], []]
    """
    if 1 << len(keys) > MOST_SETS:
        raise BadQuestion(f"a query has at most {MOST_SETS} grouping sets")
    return [_flat(part) for n in range(len(keys), -1, -1) for part in combinations(keys, n)]


def _flat(parts: Iterable[list[int]]) -> list[int]:
    return [key for part in parts for key in part]
