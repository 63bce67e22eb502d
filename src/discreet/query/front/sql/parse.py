"""The SQL interface: one SELECT becomes a plan. The text goes no further than this; no engine ever sees it.

What may stand in a question: SELECT with aggregates, FROM tables, subqueries and CTEs, joins on equal columns however
they are written, WHERE, GROUP BY (also ROLLUP, CUBE, GROUPING SETS), HAVING, window functions and QUALIFY over released
groups, ORDER BY, LIMIT, OFFSET, and UNION ALL inside FROM. A GROUP BY inside a subquery summarises each unit; where its
keys do not hold the unit, its groups are released and what is around it is computed from them (``outer_select.py``).
Everything else is refused by name. Names are found by scope, and lineage by plan: an alias or a CTE may be called
whatever it likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from sqlglot import exp

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.clauses import (
    SELECT,
    checked,
    condition_of,
    first_of_each,
    is_distinct,
    keys_of,
    limit_of,
    offset_of,
    order_of,
    set_distinct,
    set_parts,
)
from discreet.query.front.sql.correlated import lateral, semi_joined, split_where, with_value, with_values
from discreet.query.front.sql.distinct_sums import unfolded
from discreet.query.front.sql.expressions import identifier, output
from discreet.query.front.sql.from_clause import Lookup, alias_of, from_clause, renamed, visible
from discreet.query.front.sql.nested_select import joined_rows, named_rows, nested_select, set_of
from discreet.query.front.sql.outer_select import Asked, NotFlat, outer_select
from discreet.query.front.sql.refusals import only, refusal
from discreet.query.front.sql.restated import KeysOf, restated
from discreet.query.front.sql.syntax_tree import asked_at, read_select
from discreet.query.lower.lower import lower_relation
from discreet.query.plan.expressions import Column, Expression
from discreet.query.plan.expressions import Literal as PlanLiteral
from discreet.query.plan.nodes import Key, PerUnit, Question, Relation, UnitWindows, parts_of, scans
from discreet.query.plan.schema import Schema, unusable
from discreet.query.resolve.build import (
    Rows,
    conjunction,
    distinct_rows,
    filtered,
    match,
    projected,
    rows_by_side,
    scan,
    show,
    united,
    unknown,
)
from discreet.query.resolve.resolve import Scope, ask, grouped, output_names, rowwise, summarised, with_windows
from discreet.query.resolve.unresolved import Apply, Name, Output, Said, Total, has_total, over_parts
from discreet.query.resolve.unresolved import parts_of as parts

Tables = Mapping[str, Iterable[str]]
"""The tables that a question may name, each with the names of its columns."""


def question(text: str, tables: Tables, lists: Tables = MappingProxyType({})) -> Question:
    """The plan of a question in SQL; ``lists`` are the columns of each table that are lists.

    >>> plan = question("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic", {"visits": ["clinic", "cost"]})
    >>> plan.keys
    (Key(name='clinic', expression=Column(name='clinic')),)
    >>> plan.measures
    (Measure(name='n', aggregate=<Aggregate.COUNT: 'count'>, arguments=(), where=None, level=None),)
    """
    node = _select(text, tables)
    if isinstance(node, exp.SetOperation):
        return _set_of_questions(node, _Known(tables, lists))
    return _question(node, _Known(tables, lists))


def question_over_released(text: str, tables: Tables, lists: Tables = MappingProxyType({})) -> Question:
    """The same of a text whose grouped subqueries are released, and none of them a summary of units."""
    node = _select(text, tables)
    found = _released(node, _Known(tables, lists))
    if found is None:
        raise BadQuestion("this is no SELECT over released rows")
    return _built(found)


def _select(text: str, tables: Tables, dialect: str | None = None, listed: KeysOf = lambda _: ()) -> exp.Expr:
    names = [column for columns in tables.values() for column in columns]
    node = read_select(text, names, dialect)
    moment = asked_at(node)
    node = restated(node, listed)
    while type(node) is exp.Subquery:
        if any(value for part, value in node.args.items() if part != "this"):
            raise Unsupported("a clause after the closing parenthesis of a query", "put it inside")
        node = node.this
    if type(node) is not exp.Select and not isinstance(node, exp.SetOperation):
        raise BadQuestion("a query must be one SELECT")
    node = unfolded(node, names)
    node.meta["asked at"] = moment
    return node


def question_about(text: str, schemas: Mapping[str, Schema]) -> Question:
    """The plan of a question in SQL about tables whose columns are known, also those that cannot be used.

    A grouped subquery summarises each unit if its keys say so; otherwise its groups are released, and what is around it
    is computed from them.
    """
    return question_of(select_of(text, schemas), schemas)


def select_of(text: str, schemas: Mapping[str, Schema], dialect: str | None = None) -> exp.Expr:
    """The tree of a question about these tables."""

    def listed(column: str) -> list[str]:
        """The listed texts of a column that one table has."""
        fields = [one for schema in schemas.values() for name, one in schema.fields.items() if match(column, [name])]
        return (
            sorted(key for one in fields for key in one.keys or () if isinstance(key, str)) if len(fields) == 1 else []
        )

    return _select(text, {name: schema.fields for name, schema in schemas.items()}, dialect, listed)


def question_of(node: exp.Expr, schemas: Mapping[str, Schema]) -> Question:
    """The plan of a question, from its tree."""
    try:
        found = _about(node, _known_of(schemas))
        moment = asked_at(node)
        return found if moment is None else replace(found, outcome=replace(found.outcome, asked_at=moment))
    except BadQuestion as error:
        why = None if error.column is None else unusable(error.column, schemas)
        if why is None:
            raise
    raise BadQuestion(why)


def public_relation(node: exp.Expr, schemas: Mapping[str, Schema]) -> tuple[Relation, str]:
    """What a subquery of public tables asks for: a relation, and its one column. An aggregate of all is one row."""
    known = _known_of(schemas)
    if type(node) is not exp.Select or any(node.args.get(part) is not None for part in ("limit", "order", "offset")):
        raise Unsupported("this subquery of public tables", "ask for one aggregate, or one value of one row")
    outputs = [output(one) for one in node.expressions if type(one) is not exp.Star]
    if len(outputs) != 1 or len(node.expressions) != 1:
        raise BadQuestion("a subquery in the place of a value has one column")
    if node.args.get("group") is None and has_total(outputs[0].said):
        inner = known.with_ctes(node.args.get("with_"))
        rows, scope = _from(node, inner)
        found = grouped(scope, keys=[], outputs=outputs, having=condition_of(node, "having"))
        one = replace(found, keys=(Key("one row", PlanLiteral(True)),))
        made = summarised(rows, one)
        return made.relation, made.columns[-1]
    made = _rows(node, known)
    return made.relation, made.columns[0]


def _about(node: exp.Expr, known: _Known) -> Question:
    try:
        if isinstance(node, exp.SetOperation):
            return _set_of_questions(node, known)
        return _built(_of_rows(node, known))
    except BadQuestion:
        over = _released(node, known)
        if over is None:
            raise
        return _built(over)


def _of_rows(node: exp.Expr, known: _Known) -> Asked:
    """A question whose subqueries are rows, or summaries of units: refused if one of them is not."""
    asked = _asked(node, known)
    if any(isinstance(part, PerUnit | UnitWindows) for part in parts_of(asked.rows.relation)):
        lower_relation(asked.rows.relation, known.schemas)
    return asked


@dataclass(frozen=True, slots=True)
class _Known:
    """What FROM may name: tables of the session, and before them the CTEs in sight."""

    tables: Tables
    lists: Tables
    ctes: tuple[tuple[str, Rows], ...] = ()
    nodes: tuple[tuple[str, _Cte], ...] = ()
    """The CTEs as they are written, for a SELECT over released rows."""
    schemas: Mapping[str, Schema] = field(default_factory=dict)

    def is_public(self, rows: Rows) -> bool:
        """Whether they are made of public tables alone."""
        tables = [scan.table for scan in scans(rows.relation)]
        return all(table in self.schemas and self.schemas[table].table.public for table in tables)

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
            name, columns = alias_of(cte.args["alias"])
            if name is None or name in names:
                raise BadQuestion("each CTE needs a name of its own")
            names.add(name)
            rows = renamed(_rows(cte.this, known), columns)
            kept = [(other, old) for other, old in known.ctes if other != name]
            known = replace(known, ctes=(*kept, (name, rows)))
        return known

    def with_nodes(self, node: exp.Expr | None) -> _Known:
        """The CTEs unread; those that are rows, or summaries of units, are read too."""
        known = self
        for cte in [] if node is None else node.expressions:
            name, columns = alias_of(cte.args["alias"])
            if name is None:
                continue
            written = _Cte(cte.this, known, tuple(columns))
            ctes = [one for one in known.ctes if one[0] != name]
            with suppress(BadQuestion):
                ctes.append((name, renamed(_rows(cte.this, known), columns)))
            nodes = (*(one for one in known.nodes if one[0] != name), (name, written))
            known = replace(known, ctes=tuple(ctes), nodes=nodes)
        return known


def _known_of(schemas: Mapping[str, Schema]) -> _Known:
    lists = {name: schema.lists for name, schema in schemas.items()}
    return _Known({name: schema.fields for name, schema in schemas.items()}, lists, schemas=schemas)


@dataclass(frozen=True, slots=True)
class _Cte:
    node: exp.Expr
    known: _Known
    columns: tuple[str, ...]


def _released(node: exp.Expr, known: _Known) -> Asked | Question | None:
    """A SELECT over grouped subqueries or CTEs, however many there are around them; None if it is none."""
    if isinstance(node, exp.SetOperation):
        return _set_of_questions(node, known)
    clause = node.args.get("from_")
    if type(node) is not exp.Select or clause is None:
        return None
    known = known.with_nodes(node.args.get("with_"))
    first = _released_item(clause.this, known)
    if first is None:
        return None
    below, name, columns = first
    joins = node.args.get("joins") or []
    if not joins:
        if isinstance(below, Asked):
            try:
                return outer_select(node, below, name, columns)
            except NotFlat:
                pass
        return nested_select(node, named_rows(_built(below), name, columns))
    others = []
    for join in joins:
        item = _released_item(join.this, known)
        if item is None:
            return None
        others.append((join, named_rows(_built(item[0]), *item[1:])))
    rows, left = joined_rows(node, named_rows(_built(below), name, columns), others)
    return nested_select(node, rows, left)


def _released_item(node: exp.Expr, known: _Known) -> tuple[Asked | Question, str | None, list[str]] | None:
    """What FROM names, if its rows are released: what is asked there, its name, and names of its columns."""
    inside = known
    if type(node) is exp.Subquery:
        name, columns = alias_of(node.args.get("alias"))
        inner = node.this
    elif type(node) is exp.Table and type(node.this) is exp.Identifier:
        name, columns = alias_of(node.args.get("alias"))
        found = match(identifier(node.this), dict(known.nodes))
        if len(found) != 1:
            return None
        written = dict(known.nodes)[found[0]]
        inner, inside, name = written.node, written.known, name or found[0]
        columns = columns or list(written.columns)
    else:
        return None
    while type(inner) is exp.Subquery:
        inner = inner.this
    if isinstance(inner, exp.SetOperation):
        return (_set_of_questions(inner, inside), name, columns) if _is_grouped(inner) else None
    if type(inner) is not exp.Select:
        return None
    grouped_here = _is_grouped(inner)
    if grouped_here and known.schemas:
        with suppress(BadQuestion):
            return _of_rows(inner, inside), name, columns
    below = _released(inner, inside)
    if below is None and grouped_here:
        below = _asked(inner, inside)
    return None if below is None else (below, name, columns)


def _is_grouped(node: exp.Expr) -> bool:
    """Whether a SELECT asks for aggregates, or each of a UNION, INTERSECT or EXCEPT does."""
    while type(node) is exp.Subquery:
        node = node.this
    if isinstance(node, exp.SetOperation):
        return set_distinct(node) or all(_is_grouped(part) for part in set_parts(node))
    outputs = [output(one) for one in node.expressions if not is_star(one)]
    grouping = node.args.get("group") is not None or is_distinct(node)
    return grouping or _aggregates(*(one.said for one in outputs))


def _aggregates(*said: Said) -> bool:
    """Whether there is an aggregate among them, be it inside a window function."""
    return any(isinstance(part, Total) for one in said for part in parts(one))


def _set_of_questions(node: exp.SetOperation, known: _Known) -> Question:
    """UNION, INTERSECT or EXCEPT of whole questions: all are released, and their rows put together."""
    known = known.with_nodes(node.args.get("with_"))
    parts = []
    for part in set_parts(node):
        while type(part) is exp.Subquery:
            part = part.this  # noqa: PLW2901 - without its parentheses
        if set_distinct(node) and type(part) is exp.Select and not _is_grouped(part):
            part.set("distinct", exp.Distinct())  # each row once, as it is in the whole
        found = _released(part, known)
        parts.append(_built(_asked(part, known) if found is None else found))
    combined = set_of(parts, in_both=None if type(node) is exp.Union else type(node) is exp.Intersect,
                      distinct=set_distinct(node))  # fmt: skip
    ends = {one: node.args.get(one) for one in ("order", "limit", "offset")}
    if not any(ends.values()):
        return combined
    around = exp.Select(expressions=[exp.Star()], **ends)
    return nested_select(around, named_rows(combined, None, ()))


# --- a question -------------------------------------------------------------------------------------------------------


def _question(node: exp.Expr, known: _Known) -> Question:
    return _built(_asked(node, known))


def _asked(node: exp.Expr, known: _Known) -> Asked:
    """What a SELECT asks for, clause by clause."""
    checked(node, *SELECT, "qualify")
    known = known.with_ctes(node.args.get("with_"))
    rows, scope = _from(node, known)
    outputs = [output(part) for part in node.expressions if not is_star(part)]
    having, order = condition_of(node, "having"), tuple(order_of(node, outputs))
    limit, offset, qualify = limit_of(node), offset_of(node), condition_of(node, "qualify")
    grouping = node.args.get("group") is not None
    totals = having is not None or any(has_total(one.said) for one in outputs)
    windowed = totals and having is None and not grouping
    if windowed and not _aggregates(*(one.said for one in outputs)):
        raise Unsupported("a window function over rows", "put it into a subquery, with the unit in PARTITION BY, and "
                          "aggregate outside; or aggregate with GROUP BY first")  # fmt: skip
    if len(outputs) < len(node.expressions):
        raise Unsupported("SELECT *", "ask for aggregates such as COUNT(*), by columns in GROUP BY")
    if first_of_each(node, outputs) is not None:
        raise Unsupported("DISTINCT ON", "put it into a subquery, ON the unit, and aggregate outside")
    keys: Sequence[Said]
    if is_distinct(node):
        if totals or grouping:
            raise Unsupported(*_DISTINCT)
        keys, sets = [one.said for one in outputs], None
    elif not grouping and not totals:
        raise Unsupported("a SELECT that returns rows", "ask for aggregates such as COUNT(*), or use GROUP BY")
    else:
        keys, sets = keys_of(node, outputs, scope)
    return Asked(rows=rows, scope=scope, outputs=tuple(outputs), keys=tuple(keys), sets=sets, having=having,
                 qualify=qualify, order=order, limit=limit, offset=offset)  # fmt: skip


def _built(asked: Asked | Question) -> Question:
    if isinstance(asked, Question):
        return asked
    groups = grouped(asked.scope, keys=asked.keys, outputs=asked.outputs, having=asked.having, order=asked.order,
                     qualify=asked.qualify)  # fmt: skip
    return ask(asked.rows, groups, sets=asked.sets, limit=asked.limit, offset=asked.offset)


_DISTINCT = ("SELECT DISTINCT together with aggregates", "leave DISTINCT out: each group is one row")


# --- FROM -------------------------------------------------------------------------------------------------------------


def _from(node: exp.Expr, known: _Known) -> tuple[Rows, Scope]:
    """The rows of FROM, its joins and WHERE, and the names that they bring."""
    values = with_values(node)
    conditions, subqueries = split_where(node)
    lookup = Lookup(known.find, lambda inner: _rows(inner, known), known.is_public,
                    lambda item, inner, left: lateral(item, inner, lookup, left=left),
                    lambda table: known.lists.get(table, ()))  # fmt: skip
    item, left = from_clause(node, conditions, lookup)
    for one in subqueries:
        item = semi_joined(item, one, lookup)
    for one in values:
        item = with_value(item, one, lookup)
    rows = item.rows
    if left:
        rows = filtered(rows, conjunction(*(rowwise(part, item.scope, "WHERE") for part in left)))
    return rows, item.scope


def _rows(node: exp.Expr, known: _Known) -> Rows:
    """A subquery: rows, or one row for each unit."""
    if type(node) is exp.Subquery:
        checked(node, "this")
        return _rows(node.this, known)
    if isinstance(node, exp.SetOperation):
        return _set_operation(node, known)
    if type(node) is not exp.Select:
        raise refusal(node)
    if any(node.args.get(part) is not None for part in ("limit", "offset")):
        raise Unsupported("LIMIT in a subquery of rows", "use it at the end, over released values")
    checked(node, *SELECT, "qualify")
    known = known.with_ctes(node.args.get("with_"))
    rows, scope = _from(node, known)
    having, distinct, grouping = condition_of(node, "having"), is_distinct(node), node.args.get("group") is not None
    if having is None and not grouping:
        found = _selected(node, rows, scope, distinct=distinct)
        if found is not None:
            return found
    outputs = [output(one) for one in node.expressions]
    totals = having is not None or _aggregates(*(one.said for one in outputs))
    if distinct and (totals or grouping):
        raise Unsupported(*_DISTINCT)
    if distinct:
        return summarised(rows, grouped(scope, keys=[one.said for one in outputs], outputs=outputs))
    if not grouping:
        raise Unsupported(
            "an aggregate over all units in a subquery", "group it by the unit, or run it as a query of its own"
        )
    keys, sets = keys_of(node, outputs, scope)
    if sets is not None:
        raise Unsupported("ROLLUP, CUBE or GROUPING SETS in a subquery", "use them at the end")
    passed = condition_of(node, "qualify")
    return summarised(rows, grouped(scope, keys=keys, outputs=outputs, having=having, qualify=passed))


def _set_operation(node: exp.SetOperation, known: _Known) -> Rows:
    """UNION, INTERSECT and EXCEPT: of the distinct rows of each unit, NULL equal to NULL. UNION ALL keeps all rows."""
    if any(node.args.get(one) is not None for one in ("limit", "offset")):
        raise Unsupported("LIMIT in a subquery of rows", "use it at the end, over released values")
    known, distinct = known.with_ctes(node.args.get("with_")), set_distinct(node)
    parts = [_rows(part, known) for part in set_parts(node)]
    if type(node) is exp.Union:
        return distinct_rows(united(parts)) if distinct else united(parts)
    return rows_by_side(parts, in_both=type(node) is exp.Intersect)


def is_star(node: exp.Expr) -> bool:
    """Whether it is * or t.*."""
    return type(node) is exp.Star or (type(node) is exp.Column and type(node.this) is exp.Star)


def _starred(node: exp.Expr, scope: Scope) -> list[str]:
    """The columns of * or of t.*."""
    if type(node) is exp.Star:
        only(node)
        return visible(scope)
    only(node.this)
    name = identifier(node.args["table"])
    found = [source for source in scope.sources if source.name is not None and match(name, [source.name])]
    if len(found) != 1:
        raise unknown("table", name, [source.name for source in scope.sources if source.name is not None])
    return [place for place in found[0].columns.values() if place not in scope.hidden]


def _selected(node: exp.Expr, rows: Rows, scope: Scope, *, distinct: bool) -> Rows | None:
    """Columns computed row by row, or from rows of the same unit; None if they are distinct, or aggregates."""
    given = [output(one) for one in node.expressions if not is_star(one)]
    passed = _passing(node, given, scope)
    if _aggregates(*(one.said for one in given), *passed):
        return None
    shown = visible(scope)
    inside, windows = with_windows(rows, scope, [*(one.said for one in given), *passed])
    if distinct and not windows and given:
        return None
    if passed:
        inside = filtered(inside, conjunction(*(rowwise(one, scope, "QUALIFY", windows) for one in passed)))
    if not given and len(node.expressions) == 1 and shown == list(inside.columns):  # SELECT *
        _starred(node.expressions[0], scope)
        return distinct_rows(inside) if distinct else inside
    named = list(zip(output_names(given, scope), given, strict=True))
    computed = iter([(name, rowwise(one.said, scope, "a subquery", windows)) for name, one in named])
    columns: list[tuple[str, Expression]] = []
    for one in node.expressions:
        if is_star(one):
            columns += [(column, Column(column)) for column in _starred(one, scope)]
        else:
            columns.append(next(computed))
    found = projected(inside, columns)
    return distinct_rows(found) if distinct else found


def _passing(node: exp.Expr, outputs: Sequence[Output], scope: Scope) -> list[Said]:
    """What QUALIFY and DISTINCT ON ask of a row; names of outputs stand for what they are."""
    aliases = {one.name: one.said for one in outputs if one.name is not None}

    def meant(part: Said) -> Said:
        match part:
            case Name(table=None) if scope.has(part) is None and len(found := match(part.column, aliases)) == 1:
                return aliases[found[0]]
            case Apply():
                return over_parts(part, meant)
            case _:
                return part

    return [meant(one) for one in (condition_of(node, "qualify"), first_of_each(node, outputs)) if one is not None]
