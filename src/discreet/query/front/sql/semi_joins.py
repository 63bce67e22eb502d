"""EXISTS and IN (SELECT ...) in WHERE, as joins with one row for each unit and key: they never repeat a row.

Only of private tables about the same unit: whether one person's row stays never depends on another's. NOT EXISTS keeps
the rows without a partner; NOT IN (SELECT ...) is refused, since one NULL there would empty the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.clauses import SELECT, checked, where_of
from discreet.query.front.sql.expressions import said
from discreet.query.front.sql.from_clause import Item, Lookup, conjuncts, from_clause, pair_of
from discreet.query.front.sql.syntax_tree import chain
from discreet.query.plan.expressions import Call, Column
from discreet.query.plan.nodes import How
from discreet.query.resolve.build import Rows, conjunction, filtered, joined, joined_names, per_unit
from discreet.query.resolve.resolve import rowwise
from discreet.query.resolve.unresolved import Name, Said

_FORM = (
    "this subquery in a condition",
    "write EXISTS (SELECT * FROM b WHERE b.k = a.k AND ...), or a.k IN (SELECT k FROM b)",
)


def split_where(node: exp.Expr) -> tuple[list[Said], list[exp.Expr]]:
    """The conditions of WHERE, and those that are EXISTS or IN (SELECT ...)."""
    where = node.args.get("where")
    if where is None:
        return [], []
    parts = [_bare(part) for part in (chain(where.this) if type(where.this) is exp.And else [where.this])]
    asking = [part for part in parts if _subquery(part) is not None]
    if not asking:
        found = where_of(node)
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


def semi_joined(item: Item, node: exp.Expr, lookup: Lookup, rows_of: Callable[[exp.Expr], Rows]) -> Item:
    """The rows that a subquery in WHERE keeps."""
    inner = _subquery(node)
    negated = type(node) is exp.Not or bool(node.args.get("negate"))
    if type(inner) is exp.In:
        if negated:
            raise Unsupported("NOT IN (SELECT ...)", "write NOT EXISTS (SELECT * FROM b WHERE b.k = a.k)")
        found = rows_of(_select(inner.args["query"]))
        key = said(inner.this)
        if not isinstance(key, Name) or len(found.columns) != 1:
            raise Unsupported(*_FORM)
        return _kept(item, found, [(item.scope.find(key), found.columns[0])], negated=False)
    assert inner is not None  # noqa: S101
    select = _select(inner.this)
    checked(select, *SELECT)
    if any(select.args.get(part) is not None for part in ("group", "having", "order", "limit", "offset", "with_")):
        raise Unsupported(*_FORM)
    where = where_of(select)
    other, left = from_clause(select, [] if where is None else conjuncts(where), lookup)
    pairs = [(part, pair) for part in left if (pair := pair_of(part, item, other)) is not None]
    rest = [rowwise(part, other.scope, "WHERE") for part in left if part not in [one for one, _ in pairs]]
    if not pairs:
        raise Unsupported(*_FORM)
    rows = filtered(other.rows, conjunction(*rest)) if rest else other.rows
    return _kept(item, rows, [pair for _, pair in pairs], negated=negated)


def _select(node: exp.Expr) -> exp.Expr:
    while type(node) is exp.Subquery:
        node = node.this
    if type(node) is not exp.Select:
        raise Unsupported(*_FORM)
    return node


def _kept(item: Item, other: Rows, pairs: Sequence[tuple[str, str]], *, negated: bool) -> Item:
    return Item(kept_rows(item.rows, other, pairs, negated=negated), item.scope)


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
