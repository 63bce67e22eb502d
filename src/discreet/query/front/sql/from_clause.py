"""FROM: tables, subqueries and joins, however they are written, as one relation and the names that it brings.

A comma and CROSS JOIN wait for an equality in WHERE that ties them to the rest; without one, a join would pair
everybody with everybody, and is refused. RIGHT JOIN is LEFT JOIN from the other side. NATURAL and USING hide the column
of the side that may be NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.clauses import checked
from discreet.query.front.sql.expressions import identifier, said
from discreet.query.front.sql.opaque_names import spelled
from discreet.query.front.sql.refusals import only, refusal
from discreet.query.front.sql.restated import list_in
from discreet.query.plan.expressions import Column, Expression
from discreet.query.plan.nodes import Elements, How
from discreet.query.resolve.build import (
    Rows,
    conjunction,
    filtered,
    fresh,
    joined,
    joined_names,
    match,
    projected,
    show,
    unnested,
)
from discreet.query.resolve.resolve import Scope, Source, rowwise
from discreet.query.resolve.unresolved import Apply, Name, Said

JOINS = "join with JOIN or LEFT JOIN, on equal columns"
_UNTIED = ("a join without a pair of equal columns", f"{JOINS}, or write the equality in WHERE")
_SERIES = (
    "name a table of the session; in place of a series of days, "
    "COUNT(*) FILTER (WHERE first <= DATE '2025-03-01' AND last > DATE '2025-03-01') for each of them"
)


@dataclass(frozen=True, slots=True)
class Item:
    """A relation with the names that it brings."""

    rows: Rows
    scope: Scope


@dataclass(frozen=True, slots=True)
class Lookup:
    """How FROM finds what it names."""

    table: Callable[[str], tuple[str, Rows]]
    subquery: Callable[[exp.Expr], Rows]
    is_public: Callable[[Rows], bool]
    lateral: Callable[[Item, exp.Expr, bool], Item]
    """The rows of an item, each with what a LATERAL subquery gives for it; whether rows without any stay."""
    lists: Callable[[str], Iterable[str]] = lambda _: ()
    """The columns of a table that are lists."""


def from_clause(node: exp.Expr, where: Sequence[Said], lookup: Lookup) -> tuple[Item, list[Said]]:
    """What FROM and its joins say, and the parts of WHERE that are left: an equality that became a join is not."""
    clause = node.args.get("from_")
    if clause is None:
        raise Unsupported("a SELECT without FROM", "name a table: SELECT COUNT(*) FROM t")
    only(clause, "this")
    joins, lists = _without_lists(node.args.get("joins") or [])
    tied = _Tied(where, lists)
    item = _with_joins(_item(clause.this, lookup, tied), joins, lookup, tied)
    if tied.lists:
        raise BadQuestion(f"there is no column {show(tied.lists[0].column.column)} that is a list")
    return item, tied.left


# --- lists ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _ListItem:
    """UNNEST in FROM: the column that holds the lists, and what the item and its elements are called."""

    column: Name
    name: str | None
    element: str
    outer: bool


def _without_lists(joins: Sequence[exp.Expr]) -> tuple[list[exp.Expr], list[_ListItem]]:
    """The joins that are none of lists, and the lists."""
    lists = [_list_item(node) for node in joins]
    return [node for node, item in zip(joins, lists, strict=True) if item is None], [item for item in lists if item]


def _list_item(node: exp.Expr) -> _ListItem | None:
    """UNNEST(x) AS t(e), comma, CROSS JOIN or LEFT JOIN ... ON TRUE; also LATERAL VIEW EXPLODE(x) t AS e."""
    lateral = node.this if type(node.this) is exp.Lateral else None
    inner = node.this if lateral is None else lateral.this
    listed = list_in(inner)
    if listed is None:
        return None
    if type(listed) is not exp.Column:
        raise Unsupported("UNNEST of more than a column of a table", "write FROM visits, UNNEST(tags) AS t(tag)")
    column, side, on = said(listed), str(node.args.get("side") or ""), node.args.get("on")
    if side not in ("", "LEFT") or node.args.get("using") or (on is not None and on != exp.true()):
        raise Unsupported("this join with UNNEST", "write LEFT JOIN UNNEST(tags) AS t(tag) ON TRUE")
    name, columns = alias_of(inner.args.get("alias") or (lateral.args.get("alias") if lateral is not None else None))
    if name is None or len(columns) > 1 or not isinstance(column, Name):
        raise Unsupported("UNNEST without a name", "write UNNEST(tags) AS t(tag)")
    if type(inner) is exp.Anonymous and spelled(inner.this).lower() == "flatten":
        columns = columns or ["value"]
    outer = bool(side) or (lateral is not None and bool(lateral.args.get("outer")))
    return _ListItem(column, name if columns else None, columns[0] if columns else name, outer)


def _with_lists(item: Item, table: str, lookup: Lookup, tied: _Tied) -> Item:
    """The rows of a table, each once for each element of its lists that FROM takes apart."""
    twice = [taken.column for taken in tied.taken if taken.column.table is None]
    if any(match(column.column, lookup.lists(table)) for column in twice):
        raise BadQuestion(
            f"the column {show(twice[0].column)} is ambiguous here; write the name of its table before it"
        )
    for given in tied.lists:
        columns = match(given.column.column, lookup.lists(table))
        (source,) = item.scope.sources[:1]
        if len(columns) != 1 or given.column.table not in (None, source.name):
            continue
        tied.take(given)
        place = fresh(given.element, item.rows.columns)
        rows = unnested(item.rows, Elements(columns[0], place, given.outer))
        element = Source(given.name or source.name, {given.element: place})
        if given.name is None:
            element = replace(source, columns={**source.columns, given.element: place})
        sources = (*item.scope.sources, element) if given.name is not None else (element, *item.scope.sources[1:])
        item = Item(rows, replace(item.scope, sources=sources))
    return item


# --- one item ---------------------------------------------------------------------------------------------------------


def _item(node: exp.Expr, lookup: Lookup, tied: _Tied) -> Item:
    """A table, CTE, subquery, or joins in parentheses."""
    if type(node) is exp.Subquery:
        checked(node, "this", "alias", "joins")
        name, columns = alias_of(node.args.get("alias"))
        if type(node.this) in (exp.Table, exp.Subquery):
            inside = _item(node.this, lookup, tied)
            item = inside if name is None else _called(name, _renamed(_star(inside), columns))
        else:
            item = _called(name, _renamed(lookup.subquery(node.this), columns))
        return _with_joins(item, node.args.get("joins") or [], lookup, tied)
    if type(node) is not exp.Table:
        raise refusal(node)
    if type(node.this) is not exp.Identifier:
        raise Unsupported("a table function", _SERIES)
    checked(node, "this", "alias", "joins", "db", "catalog")  # a schema before the name of a table says nothing here
    own, rows = lookup.table(identifier(node.this))
    name, columns = alias_of(node.args.get("alias"))
    item = _with_lists(_called(name or own, _renamed(rows, columns)), own, lookup, tied)
    return _with_joins(item, node.args.get("joins") or [], lookup, tied)


def _called(name: str | None, rows: Rows) -> Item:
    return Item(rows, Scope.of(rows, name))


def _star(item: Item) -> Rows:
    """All columns that SELECT * shows, in the order of the tables."""
    names = visible(item.scope)
    if list(item.rows.columns) == names:
        return item.rows
    return projected(item.rows, [(name, Column(name)) for name in names])


def visible(scope: Scope) -> list[str]:
    """The columns of the plan that SELECT * stands for."""
    return [place for source in scope.sources for place in source.columns.values() if place not in scope.hidden]


def alias_of(node: exp.Expr | None) -> tuple[str | None, list[str]]:
    """The name after AS, and names for the columns."""
    if node is None:
        return None, []
    if type(node) is not exp.TableAlias:
        raise refusal(node)
    only(node, "this", "columns")
    name = node.args.get("this")
    return None if name is None else identifier(name), [identifier(one) for one in node.args.get("columns") or []]


def _renamed(rows: Rows, columns: Sequence[str]) -> Rows:
    """The columns under other names, as in t(a, b)."""
    if not columns:
        return rows
    if len(columns) != len(rows.columns):
        raise BadQuestion(f"{len(columns)} names are given for {len(rows.columns)} columns")
    return projected(rows, [(new, Column(old)) for new, old in zip(columns, rows.columns, strict=True)])


renamed = _renamed


# --- joins ------------------------------------------------------------------------------------------------------------


class _Tied:
    """The conditions of WHERE, of which equalities may become joins."""

    def __init__(self, where: Sequence[Said], lists: Sequence[_ListItem]) -> None:
        self.left = list(where)
        self.lists = list(lists)
        """The lists that no table has taken yet."""
        self.taken: list[_ListItem] = []

    def take(self, item: _ListItem) -> None:
        """A table has this list."""
        self.lists = [other for other in self.lists if other is not item]
        self.taken.append(item)

    def pairs(self, item: Item, other: Item) -> list[tuple[str, str]]:
        """Equal columns of the two, taken out of WHERE; one that all branches of an OR have stays there too."""
        found: list[tuple[str, str]] = []
        for part in list(self.left):
            for one in _in_every_branch(part):
                pair = pair_of(one, item, other)
                if pair is not None and pair not in found:
                    found.append(pair)
                    if one == part:
                        self.left.remove(part)
        return found


def _in_every_branch(part: Said) -> list[Said]:
    """The condition itself; of an OR, those that all its branches have."""
    if not isinstance(part, Apply) or part.function != "or":
        return [part]
    first, *others = [conjuncts(branch) for branch in part.arguments]
    return [one for one in first if all(one in branch for branch in others)]


def conjuncts(part: Said) -> list[Said]:
    """What AND joins."""
    return list(part.arguments) if isinstance(part, Apply) and part.function == "and" else [part]


def pair_of(part: Said, item: Item, other: Item) -> tuple[str, str] | None:
    """The columns of two items that a condition says are equal, one of each."""
    return equal_columns(part, item.scope, other.scope)


def equal_columns(part: Said, ours: Scope, theirs: Scope) -> tuple[str, str] | None:
    """The columns of two scopes that a condition says are equal, one of each."""
    match part:
        case Apply(function="eq", arguments=(Name() as a, Name() as b)):
            for x, y in ((a, b), (b, a)):
                left, right = _column(x, ours, theirs), _column(y, theirs, ours)
                if left is not None and right is not None:
                    return left, right
    return None


def _column(name: Name, scope: Scope, other: Scope) -> str | None:
    """The column of the one scope that is meant; None if it is of another, or of both."""
    found = scope.has(name)
    return None if name.table is None and other.has(name) is not None else found


def _with_joins(item: Item, joins: Sequence[exp.Expr], lookup: Lookup, tied: _Tied) -> Item:
    waiting: list[Item] = []
    for node in joins:
        only(node, "this", "on", "using", "side", "kind", "method")
        side, kind, method = (str(node.args.get(part) or "").upper() for part in ("side", "kind", "method"))
        if type(node.this) is exp.Lateral:
            item = _lateral(node, _settled(item, waiting, tied), lookup, side)
            waiting = []
            continue
        waiting_lists = tied.lists
        other = _item(node.this, lookup, tied)
        taken = tied.taken if side == "RIGHT" else [given for given in waiting_lists if given not in tied.lists]
        if side and any(not given.outer for given in taken):
            raise Unsupported("UNNEST of a table whose rows may be missing after a LEFT JOIN",
                              "use JOIN, or LEFT JOIN UNNEST(tags) AS t(tag) ON TRUE")  # fmt: skip
        plain = not side and kind in ("", "CROSS", "INNER") and not method
        if plain and not node.args.get("on") and not node.args.get("using"):
            waiting.append(other)
            continue
        if method not in ("", "NATURAL") or side not in ("", "LEFT", "RIGHT") or kind not in ("", "INNER", "OUTER"):
            raise Unsupported(f"{' '.join(word for word in (method, side, kind) if word)} JOIN", JOINS)
        item = _settled(item, waiting, tied)
        waiting = []
        item = _explicit(node, item, other, side, natural=bool(method))
    return _settled(item, waiting, tied)


def _lateral(node: exp.Expr, item: Item, lookup: Lookup, side: str) -> Item:
    on = node.args.get("on")
    if side not in ("", "LEFT") or node.args.get("using") or (on is not None and on != exp.true()):
        raise Unsupported("this join with LATERAL", "write LEFT JOIN LATERAL (SELECT ... WHERE b.k = a.k) t ON TRUE")
    return lookup.lateral(item, node.this, bool(side))


def _settled(item: Item, waiting: Sequence[Item], tied: _Tied) -> Item:
    """Joins those that wait for an equality in WHERE, in the order in which one ties them to the others."""
    order = [source.name for one in (item, *waiting) for source in one.scope.sources]
    left = list(waiting)
    while left:
        for one in left:
            _check_names(item, one)
            pairs = tied.pairs(item, one)
            if pairs:
                item = _join(item, one, pairs, How.INNER)
                left.remove(one)
                break
        else:
            raise Unsupported(*_UNTIED)
    sources = sorted(item.scope.sources, key=lambda source: order.index(source.name))
    return Item(item.rows, replace(item.scope, sources=tuple(sources)))


def _explicit(node: exp.Expr, item: Item, other: Item, side: str, *, natural: bool) -> Item:
    _check_names(item, other)
    using, on = node.args.get("using"), node.args.get("on")
    if side == "RIGHT":
        kept, brought = other, item
    else:
        kept, brought = item, other
    how = How.LEFT if side else How.INNER
    if using or natural:
        names = [Name(identifier(column)) for column in using] if using else _common(item, other)
        pairs = [(kept.scope.find(name), brought.scope.find(name)) for name in names]
        found = _join(kept, brought, pairs, how, hide=True)
    else:
        if on is None:
            raise Unsupported(*_UNTIED)
        found = _on(said(on), kept, brought, how)
    if side != "RIGHT":
        return found
    many = len(kept.scope.sources)
    sources = (*found.scope.sources[many:], *found.scope.sources[:many])
    return Item(found.rows, replace(found.scope, sources=sources))


def _common(item: Item, other: Item) -> list[Name]:
    """The columns that both sides of a NATURAL JOIN have."""
    ours = [c for s in item.scope.sources for c, place in s.columns.items() if place not in item.scope.hidden]
    theirs = [c for s in other.scope.sources for c in s.columns]
    found = [Name(c) for c in dict.fromkeys(ours) if match(c, theirs)]
    if not found:
        raise Unsupported("a NATURAL JOIN of tables without a common column", JOINS)
    return found


def _on(condition: Said, item: Item, other: Item, how: How) -> Item:
    """Pairs of equal columns; what else ON asks of an inner join is a filter, of the right side alone one before it."""
    pairs: list[tuple[str, str]] = []
    rest: list[Said] = []
    for part in conjuncts(condition):
        pair = pair_of(part, item, other)
        if pair is not None:
            pairs.append(pair)
        else:
            rest.append(part)
    if not pairs:
        pairs = [p for part in rest for one in _in_every_branch(part) if (p := pair_of(one, item, other)) is not None]
    if not pairs:
        raise Unsupported("a join without a pair of equal columns", JOINS)
    if how is How.LEFT and rest:
        return _join(item, Item(filtered(other.rows, _before(rest, item, other)), other.scope), pairs, how)
    found = _join(item, other, pairs, how)
    if not rest:
        return found
    return Item(filtered(found.rows, conjunction(*(rowwise(part, found.scope, "ON") for part in rest))), found.scope)


def _before(rest: Sequence[Said], item: Item, other: Item) -> Expression:
    """Conditions of the right side of a LEFT JOIN, which may be asked before it."""
    for name in (name for part in rest for name in _names(part)):
        if name.table is None and _is_in(name, item.scope) and _is_in(name, other.scope):
            raise BadQuestion(
                f"the column {show(name.column)} is ambiguous here; write the name of its table before it"
            )
    try:
        return conjunction(*(rowwise(part, other.scope, "ON") for part in rest))
    except BadQuestion:
        raise Unsupported(
            "a LEFT JOIN on more than equal columns and conditions of its right side",
            "filter in a subquery before the join, or in WHERE",
        ) from None


def _is_in(name: Name, scope: Scope) -> bool:
    try:
        scope.find(name)
    except BadQuestion:
        return False
    return True


def _names(part: Said) -> list[Name]:
    match part:
        case Name():
            return [part]
        case Apply(arguments=arguments):
            return [name for one in arguments for name in _names(one)]
        case _:
            return []


def _check_names(item: Item, other: Item) -> None:
    taken = {source.name for source in item.scope.sources}
    for source in other.scope.sources:
        if source.name is not None and source.name in taken:
            raise BadQuestion(f"two tables are called {show(source.name)} here; give one another name with AS")


def _join(item: Item, other: Item, pairs: Sequence[tuple[str, str]], how: How, *, hide: bool = False) -> Item:
    """The two joined; with ``hide``, columns of the second that equal one of the first are not shown twice."""
    rows = joined(item.rows, other.rows, pairs, how)
    names = dict(zip(other.rows.columns, joined_names(item.rows.columns, other.rows.columns), strict=True))
    sources = [Source(s.name, _moved(s.columns, names)) for s in other.scope.sources]
    hidden = {names[place] for place in other.scope.hidden} | ({names[b] for _, b in pairs} if hide else set())
    return Item(rows, Scope((*item.scope.sources, *sources), item.scope.hidden | hidden))


def _moved(columns: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    return {column: names[place] for column, place in columns.items()}
