"""Subqueries that speak of the row around them: EXISTS, IN, values and LATERAL, as joins below the bounding.

A subquery becomes rows with the columns that its equalities pair with the row outside; of private tables these must
name the unit, so nobody's row is found, kept or valued by another person's rows. Conditions that read both sides are
asked after that join; then each row outside has a place of its own within its pairs, and what is found is for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.clauses import SELECT, checked, condition_of, limit_of, order_of
from discreet.query.front.sql.expressions import output, said
from discreet.query.front.sql.from_clause import Item, Lookup, alias_of, conjuncts, from_clause, pair_of
from discreet.query.front.sql.syntax_tree import chain
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Aggregate, How, Measure, Order, Window
from discreet.query.resolve.build import (
    Rows,
    conjunction,
    filtered,
    fresh,
    joined,
    joined_names,
    per_unit,
    projected,
    windowed,
)
from discreet.query.resolve.resolve import Scope, Source, grouped, output_names, rowwise, summarised
from discreet.query.resolve.unresolved import Apply, Name, Output, Said, Total, over_parts, parts_of

_FORM = (
    "this subquery in a condition",
    "write EXISTS (SELECT * FROM b WHERE b.k = a.k AND ...), or a.k IN (SELECT k FROM b)",
)
_UNTIED = (
    "a subquery inside an expression without a pair of equal columns",
    "tie it to the row outside: WHERE b.k = a.k AND ...",
)
_KEYS = "row outside"
_VALUE = "value of "
"""How the source of a value is called: by the text of its subquery, so that equal ones are one."""
_COUNTS = frozenset({Aggregate.COUNT, Aggregate.COUNT_DISTINCT})
_EMPTY = Literal(None)


@dataclass(frozen=True, slots=True)
class _Found:
    """The rows of a subquery, and which of their columns are equal to which ones of the row outside."""

    outer: Item
    rows: Rows
    scope: Scope
    on: tuple[tuple[str, str], ...]

    @property
    def keys(self) -> list[str]:
        return list(dict.fromkeys(b for _, b in self.on))


def _found(select: exp.Expr, outer: Item, lookup: Lookup, value: tuple[str, Said] | None = None) -> _Found:
    """FROM and WHERE of a subquery; ``value``: a column outside, and what of the subquery must be equal to it."""
    conditions, nested = split_where(select)
    inner, left = from_clause(select, conditions, lookup)
    for one in nested:
        inner = semi_joined(inner, one, lookup)
    pairs = [(part, pair) for part in left if (pair := pair_of(part, outer, inner)) is not None]
    rest = [part for part in left if part not in [one for one, _ in pairs]]
    own = [e for part in rest if (e := _own(part, inner.scope)) is not None]
    both = [part for part in rest if _own(part, inner.scope) is None]
    rows = filtered(inner.rows, conjunction(*own)) if own else inner.rows
    on = [pair for _, pair in pairs]
    if not both:
        return _Found(outer, rows, inner.scope, tuple(on))
    if not on:
        raise Unsupported(*_UNTIED)
    place = fresh("row", outer.rows.columns)
    parts = tuple(Column(a) for a, _ in on)
    outer = Item(windowed(outer.rows, [Window(place, "row_number", (), parts)]), outer.scope)
    names = dict(zip(rows.columns, joined_names(outer.rows.columns, rows.columns), strict=True))
    mine = tuple(Source(s.name, {c: names[p] for c, p in s.columns.items()}) for s in inner.scope.sources)
    shadowed = {s.name for s in mine}
    scope = Scope((*mine, *(s for s in outer.scope.sources if s.name not in shadowed)))
    together = joined(outer.rows, rows, on, How.INNER)
    together = filtered(together, conjunction(*(rowwise(part, scope, "WHERE") for part in both)))
    keys = dict.fromkeys([*(a for a, _ in on), place])
    return _Found(outer, together, scope, tuple((key, key) for key in keys))


def _own(part: Said, scope: Scope) -> Expression | None:
    """A condition of the subquery's own rows; None if it reads the row outside."""
    if any(isinstance(one, Name) and scope.has(one) is None for one in parts_of(part)):
        return None
    return rowwise(part, scope, "WHERE")


# --- conditions -------------------------------------------------------------------------------------------------------


def split_where(node: exp.Expr) -> tuple[list[Said], list[exp.Expr]]:
    """The conditions of WHERE, and those that are EXISTS or IN (SELECT ...)."""
    where = node.args.get("where")
    if where is None:
        return [], []
    parts = [_bare(part) for part in (chain(where.this) if type(where.this) is exp.And else [where.this])]
    asking = [part for part in parts if _subquery(part) is not None]
    if not asking:
        found = condition_of(node, "where")
        return ([] if found is None else conjuncts(found)), []
    plain = [one for part in parts if part not in asking for one in conjuncts(said(part))]
    return plain, asking


def _bare(node: exp.Expr) -> exp.Expr:
    while type(node) is exp.Paren:
        node = node.this
    return node


def _subquery(node: exp.Expr) -> exp.Expr | None:
    """EXISTS or IN with a subquery, perhaps after NOT."""
    inner = _bare(node.this) if type(node) is exp.Not else node
    asks = type(inner) is exp.Exists or (type(inner) is exp.In and inner.args.get("query") is not None)
    return inner if asks else None


def semi_joined(item: Item, node: exp.Expr, lookup: Lookup) -> Item:
    """The rows that a subquery in WHERE keeps."""
    inner = _subquery(node)
    assert inner is not None  # noqa: S101
    negated = type(node) is exp.Not or bool(node.args.get("negate"))
    if type(inner) is exp.In:
        return _in(item, inner, lookup, negated=negated)
    select = _select(inner.this)
    checked(select, *SELECT)
    if type(select) is not exp.Select or _summarises(select) or select.args.get("limit") is not None:
        raise Unsupported(*_FORM)
    return _kept(_found(select, item, lookup), negated=negated)


def _select(node: exp.Expr) -> exp.Expr:
    while type(node) is exp.Subquery:
        node = node.this
    return node


def _summarises(select: exp.Expr) -> bool:
    """Whether it is more than rows that pass a condition."""
    clauses = ("group", "having", "with_", "offset", "distinct", "qualify")
    return any(select.args.get(part) is not None for part in clauses)


def _kept(found: _Found, *, negated: bool) -> Item:
    """The rows outside that have a partner, or none; each once."""
    if not found.on:
        raise Unsupported(*_FORM)
    return Item(kept_rows(found.outer.rows, found.rows, found.on, negated=negated), found.outer.scope)


def kept_rows(rows: Rows, other: Rows, pairs: Sequence[tuple[str, str]], *, negated: bool) -> Rows:
    """Joined with one row for each unit and key; the names stay those that were there."""
    keys = list(dict.fromkeys(b for _, b in pairs))
    if not keys:
        raise BadQuestion("a subquery in a condition needs a column that is equal to one outside")
    once = per_unit(other, [(key, Column(key)) for key in keys], [])
    found = joined(rows, once, list(pairs), How.LEFT if negated else How.INNER)
    if not negated:
        return found
    return filtered(found, Call("is_null", (Column(joined_names(rows.columns, once.columns)[0]),)))


def _in(item: Item, node: exp.Expr, lookup: Lookup, *, negated: bool) -> Item:
    """``x IN (SELECT y ...)``: EXISTS with x = y. With NOT, a NULL among the y or as x keeps nothing, as SQL says."""
    select, (item, x) = _select(node.args["query"]), _with_column(item, said(node.this))
    outputs = [] if isinstance(select, exp.SetOperation) else [o for o in select.expressions if type(o) is not exp.Star]
    if isinstance(select, exp.SetOperation) or _summarises(select) or not outputs or _totals(output(outputs[0]).said):
        rows = lookup.subquery(select)
        found, y = _Found(item, rows, Scope.of(rows), ()), rows.columns[0]
        many = len(rows.columns)
    else:
        checked(select, *SELECT)
        if select.args.get("limit") is not None:
            raise Unsupported(*_FORM)
        found = _found(select, item, lookup)
        many = len(select.expressions)
        inner, y = _with_column(Item(found.rows, found.scope), output(outputs[0]).said)
        found = replace(found, rows=inner.rows)
    if many != 1:
        raise Unsupported(*_FORM)
    matches = replace(found, on=(*found.on, (x, y)))
    if not negated or not (found.on or lookup.is_public(found.rows)):  # nobody is without a unit: no NULL among these
        return _kept(matches, negated=negated)
    return _kept_by_not_in(found, matches, x, y)


def _kept_by_not_in(found: _Found, matches: _Found, x: str, y: str) -> Item:
    if not found.on:  # one list for all rows
        (outer, a), (inner, b) = (_with_column(Item(rows, found.scope), Literal(True)) for rows in
                                  (found.outer.rows, found.rows))  # fmt: skip
        found = _Found(replace(outer, scope=found.outer.scope), inner.rows, found.scope, ((a, b),))
        matches = replace(found, on=((x, y),))
    keys = [(key, Column(key)) for key in found.keys]
    many, known = fresh("many", found.keys), fresh("known", found.keys)
    counts = [Measure(many, Aggregate.COUNT), Measure(known, Aggregate.COUNT, (Column(y),))]
    listed, once = (
        per_unit(found.rows, keys, counts),
        per_unit(matches.rows, [(k, Column(k)) for k in matches.keys], []),
    )
    rows = found.outer.rows
    for other, on in ((listed, found.on), (once, matches.on)):
        names = joined_names(rows.columns, other.columns)
        rows = joined(rows, other, list(on), How.LEFT)
        if other is listed:
            many, known = names[-2:]
    none_there, none_equal, x_there = (Call("is_null", (Column(c),)) for c in (many, names[0], x))
    all_known = Call("eq", (Column(many), Column(known)))
    passes = Call("or", (none_there, Call("and", (Call("not", (x_there,)), none_equal, all_known))))
    return Item(filtered(rows, passes), found.outer.scope)


def _with_column(item: Item, value: Said) -> tuple[Item, str]:
    """The rows with a value among their columns, and its place."""
    if isinstance(value, Name):
        return item, item.scope.find(value)
    place = fresh("value", item.rows.columns)
    same = [(name, Column(name)) for name in item.rows.columns]
    return Item(projected(item.rows, [*same, (place, rowwise(value, item.scope, "IN"))]), item.scope), place


# --- values -----------------------------------------------------------------------------------------------------------


def lateral(item: Item, node: exp.Expr, lookup: Lookup, *, left: bool) -> Item:
    """JOIN LATERAL (SELECT ...) AS t: the first rows, or one summary, for each row of the other side."""
    name, columns = alias_of(node.args.get("alias"))
    select = _select(node.this)
    if type(select) is not exp.Select or name is None or columns:
        raise Unsupported("this form of LATERAL", "write JOIN LATERAL (SELECT ... WHERE b.k = a.k LIMIT 1) t")
    return beside(item, select, lookup, name, left=left, most=limit_of(select))


def with_values(node: exp.Expr) -> list[exp.Expr]:
    """The subqueries that stand where a value of this SELECT does; a column takes the place of each."""
    found: list[exp.Expr] = []
    waiting: list[exp.Expr] = []
    for part in ("expressions", "where", "group", "having", "order", "qualify"):
        clause = node.args.get(part)
        waiting += clause if isinstance(clause, list) else [] if clause is None else [clause]
    while waiting:
        at = waiting.pop()
        if type(at) is exp.Column and "subquery" in at.meta:
            found.append(at)
        elif type(at) is exp.Subquery and type(at.parent) not in (exp.In, exp.Exists):
            name = exp.to_identifier(f"{_VALUE}{at.sql()}", quoted=True)
            made = exp.Column(this=exp.to_identifier("value", quoted=True), table=name)
            made.meta["subquery"] = at.copy()
            at.replace(made)
            found.append(made)
        elif type(at) not in (exp.Select, exp.Subquery) and not isinstance(at, exp.SetOperation):
            waiting += list(at.iter_expressions())
    return found


def with_value(item: Item, column: exp.Expr, lookup: Lookup) -> Item:
    """The rows with the value of a subquery beside each."""
    name = column.args["table"].this
    if any(source.name == name for source in item.scope.sources):
        return item
    select = _select(column.meta["subquery"])
    many = [] if type(select) is not exp.Select else select.expressions
    if len(many) != 1 or type(many[0]) is exp.Star or limit_of(select) not in (None, 1):
        raise BadQuestion("a subquery in the place of a value has one column, and at most one row")
    if type(many[0]) is exp.Alias:
        many[0].replace(many[0].this)
    select.set("expressions", [exp.alias_(select.expressions[0].copy(), "value", quoted=True)])
    return beside(item, select, lookup, name, left=True, most=1)


def beside(item: Item, select: exp.Expr, lookup: Lookup, name: str, *, left: bool, most: int | None) -> Item:
    """The rows with what a subquery about each of them gives: its first rows, or one summary of all."""
    checked(select, *SELECT)
    if _summarises(select):
        raise Unsupported("GROUP BY in a subquery about each row", "join with a subquery grouped by that column")
    found = _found(select, item, lookup)
    if not found.on:
        raise Unsupported(*_UNTIED)
    outputs = [output(one) for one in select.expressions if type(one) is not exp.Star]
    if len(outputs) != len(select.expressions):
        raise Unsupported("SELECT * in a subquery about each row", "name its columns")
    sums = [_totals(one.said) for one in outputs]
    called = [fresh(one, found.keys) for one in output_names(outputs, found.scope)]
    own = Source(_KEYS, {key: key for key in found.keys})
    scope = replace(found.scope, sources=(*found.scope.sources, own), hidden=found.scope.hidden | {*found.keys})
    keys = [Output(Name(key, _KEYS), key) for key in found.keys]
    if any(sums):
        given = [*keys, *(Output(one.said, called[i]) for i, one in enumerate(outputs))]
        rows = summarised(found.rows, grouped(scope, keys=[key.said for key in keys], outputs=given))
    else:
        order = [(rowwise(by, found.scope, "ORDER BY"), down) for by, down in order_of(select, outputs)]
        rows = _first(found, order, most)
        values = [(called[i], rowwise(one.said, found.scope, "a subquery")) for i, one in enumerate(outputs)]
        rows = projected(rows, [*((key, Column(key)) for key in found.keys), *values])
    always = any(sums)
    outer = found.outer.rows
    names = dict(zip(rows.columns, joined_names(outer.columns, rows.columns), strict=True))
    both = joined(outer, rows, list(found.on), How.LEFT if left or always else How.INNER)
    missing = Call("is_null", (Column(names[found.keys[0]]),))
    shown: list[tuple[str, Expression]] = [(c, Column(c)) for c in (*outer.columns, *names.values())]
    for i, one in enumerate(outputs):
        if always and any(isinstance(p, Total) and p.aggregate in _COUNTS for p in parts_of(one.said)):
            value, of = names[called[i]], rowwise(_of_nothing(one.said), Scope(()), "a subquery")
            at = next(j for j, (c, _) in enumerate(shown) if c == value)
            shown[at] = value, Call("case", (missing, of, Column(value)))
    both = projected(both, shown) if any(e != Column(c) for c, e in shown) else both
    spelled = dict(zip(output_names(outputs, found.scope), (names[c] for c in called), strict=True))
    hidden = item.scope.hidden | (frozenset(spelled.values()) if name.startswith(_VALUE) else frozenset())
    return Item(both, Scope((*found.outer.scope.sources, Source(name, spelled)), hidden))


def _first(found: _Found, order: Sequence[tuple[Expression, bool]], most: int | None) -> Rows:
    if most is None:
        return found.rows
    place = fresh("place", found.rows.columns)
    parts = tuple(Column(key) for key in found.keys)
    by = tuple(Order(e, down) for e, down in order)
    rows = windowed(found.rows, [Window(place, "row_number", (), parts, by)])
    return filtered(rows, Call("le", (Column(place), Literal(Fraction(most)))))


def _totals(part: Said) -> bool:
    return any(isinstance(one, Total) for one in parts_of(part))


def _of_nothing(part: Said) -> Said:
    """What an aggregate is of no rows: a count is 0, all else NULL."""
    match part:
        case Total(aggregate=aggregate):
            return Literal(Fraction(0)) if aggregate in _COUNTS else _EMPTY
        case Apply():
            return over_parts(part, _of_nothing)
        case _:
            return part
