"""The SQL interface: one SELECT becomes a plan. The text goes no further than this; no engine ever sees it.

What may stand in a question: SELECT with aggregates, FROM tables, subqueries and CTEs, INNER and LEFT JOIN on equal
columns, WHERE, GROUP BY (also ROLLUP, CUBE, GROUPING SETS), HAVING, ORDER BY, LIMIT, and UNION ALL inside FROM.
A GROUP BY inside a subquery summarises each unit; whether its keys hold the unit is checked where types are.
Everything else is refused by name. Names are found by scope, and lineage by plan: an alias or a CTE may be called
whatever it likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.clauses import (
    SELECT,
    after_where,
    checked,
    having_of,
    is_distinct,
    keys_of,
    limit_of,
    order_of,
)
from discreet.query.front.sql.expressions import identifier, output, said
from discreet.query.front.sql.refusals import only, refusal
from discreet.query.front.sql.syntax_tree import chain, read_select
from discreet.query.plan.expressions import Column, Expression
from discreet.query.plan.nodes import How, Question
from discreet.query.plan.schema import Schema, unusable
from discreet.query.resolve.build import (
    Rows,
    conjunction,
    filtered,
    joined,
    joined_names,
    match,
    projected,
    scan,
    show,
    united,
    unknown,
)
from discreet.query.resolve.resolve import Scope, Source, ask, grouped, output_names, rowwise, summarised
from discreet.query.resolve.unresolved import Apply, Name, Said, has_total

Tables = Mapping[str, Iterable[str]]
"""The tables that a question may name, each with the names of its columns."""


def question(text: str, tables: Tables) -> Question:
    """The plan of a question in SQL.

    >>> plan = question("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic", {"visits": ["clinic", "cost"]})
    >>> plan.keys
    (Key(name='clinic', expression=Column(name='clinic')),)
    >>> plan.measures
    (Measure(name='n', aggregate=<Aggregate.COUNT: 'count'>, arguments=(), where=None, level=None),)
    """
    node = read_select(text, [column for columns in tables.values() for column in columns])
    while type(node) is exp.Subquery:
        if any(value for part, value in node.args.items() if part != "this"):
            raise Unsupported("a clause after the closing parenthesis of a question", "put it inside")
        node = node.this
    if type(node) is exp.Union:
        raise Unsupported("UNION of whole questions", "put it into FROM: SELECT ... FROM (... UNION ALL ...) AS t")
    if type(node) is not exp.Select:
        raise BadQuestion("a question must be one SELECT")
    return _question(node, _Known(tables))


def question_about(text: str, schemas: Mapping[str, Schema]) -> Question:
    """The plan of a question in SQL about tables whose columns are known, also those that cannot be used."""
    try:
        return question(text, {name: schema.fields for name, schema in schemas.items()})
    except BadQuestion as error:
        why = None if error.column is None else unusable(error.column, schemas)
        if why is None:
            raise
    raise BadQuestion(why)


@dataclass(frozen=True, slots=True)
class _Known:
    """What FROM may name: tables of the session, and before them the CTEs in sight."""

    tables: Tables
    ctes: tuple[tuple[str, Rows], ...] = ()

    def find(self, name: str) -> tuple[str, Rows]:
        for among in (dict(self.ctes), self.tables):
            found = match(name, among)
            if len(found) > 1:
                raise BadQuestion(f"the table {show(name)} is ambiguous; spell it exactly")
            if found and among is self.tables:
                return found[0], scan(found[0], self.tables[found[0]])
            if found:
                return found[0], dict(self.ctes)[found[0]]
        raise unknown("table", name, [*dict(self.ctes), *self.tables])

    def with_ctes(self, node: exp.Expr | None) -> _Known:
        if node is None:
            return self
        if node.args.get("recursive"):
            raise Unsupported("a recursive CTE", "write the steps out, each as a CTE of its own")
        only(node, "expressions", "recursive")
        known, names = self, set[str]()
        for cte in node.expressions:
            only(cte, "this", "alias", "materialized")
            name, columns = _alias(cte.args["alias"])
            if name is None or name in names:
                raise BadQuestion("each CTE needs a name of its own")
            names.add(name)
            rows = _renamed(_rows(cte.this, known), columns)
            kept = [(other, old) for other, old in known.ctes if other != name]
            known = _Known(self.tables, (*kept, (name, rows)))
        return known


# --- a question -------------------------------------------------------------------------------------------------------


def _question(node: exp.Expr, known: _Known) -> Question:
    checked(node, *SELECT)
    known = known.with_ctes(node.args.get("with_"))
    rows, scope = _from(node, known)
    rows = after_where(node, rows, scope)
    if any(type(one) is exp.Star for one in node.expressions):
        raise Unsupported("SELECT *", "ask for aggregates such as COUNT(*), by columns in GROUP BY")
    outputs = [output(one) for one in node.expressions]
    having, order, limit = having_of(node), order_of(node, outputs), limit_of(node)
    grouping = node.args.get("group") is not None
    totals = having is not None or any(has_total(one.said) for one in outputs)
    if is_distinct(node):
        if totals or grouping:
            raise Unsupported(*_DISTINCT)
        groups = grouped(scope, keys=[one.said for one in outputs], outputs=outputs, order=order)
        return ask(rows, groups, limit=limit)
    if not grouping and not totals:
        raise Unsupported("a SELECT that returns rows", "ask for aggregates such as COUNT(*), or use GROUP BY")
    keys, sets = keys_of(node, outputs, scope)
    groups = grouped(scope, keys=keys, outputs=outputs, having=having, order=order)
    return ask(rows, groups, sets=sets, limit=limit)


_DISTINCT = ("SELECT DISTINCT together with aggregates", "leave DISTINCT out: each group is one row")


# --- FROM -------------------------------------------------------------------------------------------------------------


def _from(node: exp.Expr, known: _Known) -> tuple[Rows, Scope]:
    """The rows of FROM and its joins, and the names that they bring."""
    clause = node.args.get("from_")
    if clause is None:
        raise Unsupported("a SELECT without FROM", "name a table: SELECT COUNT(*) FROM t")
    only(clause, "this")
    name, rows = _source(clause.this, known)
    scope = Scope.of(rows, name)
    for join in node.args.get("joins") or []:
        rows, scope = _join(join, rows, scope, known)
    return rows, scope


def _source(node: exp.Expr, known: _Known) -> tuple[str | None, Rows]:
    """A table, CTE or subquery in FROM, with its name there."""
    if type(node) is exp.Subquery:
        checked(node, "this", "alias")
        name, columns = _alias(node.args.get("alias"))
        return name, _renamed(_rows(node.this, known), columns)
    if type(node) is not exp.Table:
        raise refusal(node)
    if type(node.this) is not exp.Identifier:
        raise Unsupported("a table function", "name a table of the session")
    if node.args.get("db") is not None or node.args.get("catalog") is not None:
        raise Unsupported("a table with a schema or a database before it", "tables of a session have plain names")
    checked(node, "this", "alias")
    own, rows = known.find(identifier(node.this))
    name, columns = _alias(node.args.get("alias"))
    return name or own, _renamed(rows, columns)


def _alias(node: exp.Expr | None) -> tuple[str | None, list[str]]:
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


def _rows(node: exp.Expr, known: _Known) -> Rows:
    """A subquery: rows, or one row for each unit."""
    if type(node) is exp.Subquery:
        checked(node, "this")
        return _rows(node.this, known)
    if type(node) is exp.Union:
        return _union(node, known)
    if isinstance(node, exp.SetOperation):
        raise Unsupported(type(node).__name__.upper(), "only UNION ALL can; or use WHERE")
    if type(node) is not exp.Select:
        raise refusal(node)
    if node.args.get("limit") is not None or node.args.get("order") is not None:
        raise Unsupported("ORDER BY or LIMIT in a subquery", "use them at the end, over released values")
    checked(node, *SELECT)
    known = known.with_ctes(node.args.get("with_"))
    rows, scope = _from(node, known)
    rows = after_where(node, rows, scope)
    having, distinct, grouping = having_of(node), is_distinct(node), node.args.get("group") is not None
    if having is None and not distinct and not grouping:
        found = _selected(node, rows, scope)
        if found is not None:
            return found
    outputs = [output(one) for one in node.expressions]
    totals = having is not None or any(has_total(one.said) for one in outputs)
    if distinct and (totals or grouping):
        raise Unsupported(*_DISTINCT)
    if distinct:
        return summarised(rows, grouped(scope, keys=[one.said for one in outputs], outputs=outputs))
    if not grouping:
        raise Unsupported(
            "an aggregate over all units in a subquery", "group it by the unit, or ask it as a question of its own"
        )
    keys, sets = keys_of(node, outputs, scope)
    if sets is not None:
        raise Unsupported("ROLLUP, CUBE or GROUPING SETS in a subquery", "use them at the end")
    return summarised(rows, grouped(scope, keys=keys, outputs=outputs, having=having))


def _union(node: exp.Union, known: _Known) -> Rows:
    known = known.with_ctes(node.args.get("with_"))
    waiting: list[exp.Expr] = [node]
    while waiting:
        part = waiting.pop()
        if type(part) is not exp.Union:
            continue
        if part.args.get("distinct"):
            raise Unsupported("UNION", "use UNION ALL")
        if part.args.get("limit") is not None or part.args.get("order") is not None:
            raise Unsupported("ORDER BY or LIMIT in a subquery", "use them at the end, over released values")
        checked(part, "this", "expression", "distinct", *(["with_"] if part is node else []))
        waiting += [part.this, part.expression]
    return united([_rows(part, known) for part in chain(node)])


def _selected(node: exp.Expr, rows: Rows, scope: Scope) -> Rows | None:
    """Columns computed row by row; None if there are aggregates among them."""
    given = [output(one) for one in node.expressions if type(one) is not exp.Star]
    if any(has_total(one.said) for one in given):
        return None
    if not given and len(node.expressions) == 1 and not scope.hidden:  # SELECT *
        only(node.expressions[0])
        return rows
    named = list(zip(output_names(given, scope), given, strict=True))
    computed = iter([(name, rowwise(one.said, scope, "a subquery")) for name, one in named])
    columns: list[tuple[str, Expression]] = []
    for one in node.expressions:
        if type(one) is exp.Star:
            only(one)
            columns += [(column, Column(column)) for column in rows.columns if column not in scope.hidden]
        else:
            columns.append(next(computed))
    return projected(rows, columns)


# --- JOIN -------------------------------------------------------------------------------------------------------------

_JOINS = "join with JOIN or LEFT JOIN, on equal columns"


def _join(node: exp.Expr, left: Rows, scope: Scope, known: _Known) -> tuple[Rows, Scope]:
    how = _how(node)
    name, right = _source(node.this, known)
    if name is not None and any(source.name == name for source in scope.sources):
        raise BadQuestion(f"two tables are called {show(name)} here; give one another name with AS")
    names = dict(zip(right.columns, joined_names(left.columns, right.columns), strict=True))
    wide = Scope((*scope.sources, Source(name, names)), scope.hidden)
    using, on = node.args.get("using"), node.args.get("on")
    if using:
        pairs, hidden = [], set(scope.hidden)
        for column in using:
            wanted = Name(identifier(column))
            theirs = Scope.of(right).find(wanted)
            pairs.append((scope.find(wanted), theirs))
            hidden.add(names[theirs])
        return joined(left, right, pairs, how), Scope(wide.sources, frozenset(hidden))
    if on is None:
        raise Unsupported("CROSS JOIN or a comma in FROM", _JOINS)
    pairs, rest = _pairs(said(on), wide, set(left.columns), {plan: own for own, plan in names.items()})
    rows = joined(left, right, pairs, how)
    if rest and how is How.LEFT:
        raise Unsupported("a LEFT JOIN on more than equal columns", "filter in a subquery before the join")
    return (filtered(rows, conjunction(*rest)) if rest else rows), wide


def _how(node: exp.Expr) -> How:
    only(node, "this", "on", "using", "side", "kind", "method")
    side, kind, method = (str(node.args.get(part) or "").upper() for part in ("side", "kind", "method"))
    if method or side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER") or (kind == "OUTER" and not side):
        raise Unsupported(f"{' '.join(word for word in (method, side, kind) if word)} JOIN", _JOINS)
    return How.LEFT if side else How.INNER


def _pairs(
    on: Said, scope: Scope, left: set[str], right: Mapping[str, str]
) -> tuple[list[tuple[str, str]], list[Expression]]:
    """Pairs of equal columns, one of each side, and what else ON asks for."""
    pairs, rest = [], []
    both = isinstance(on, Apply) and on.function == "and"
    for part in on.arguments if both and isinstance(on, Apply) else (on,):
        match part:
            case Apply(function="eq", arguments=(Name() as a, Name() as b)):
                x, y = scope.find(a), scope.find(b)
                if x in right and y in left:
                    x, y = y, x
                if x in left and y in right:
                    pairs.append((x, right[y]))
                    continue
        rest.append(rowwise(part, scope, "ON"))
    if not pairs:
        raise Unsupported("a join without a pair of equal columns", _JOINS)
    return pairs, rest
