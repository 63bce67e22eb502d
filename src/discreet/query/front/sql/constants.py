"""Subqueries that are one value: ``x > (SELECT AVG(x) FROM t)``, and CTEs of one row that stand beside a table in FROM;
and those that are a list of released groups: ``x IN (SELECT x FROM t GROUP BY x ORDER BY COUNT(*) DESC LIMIT 5)``, or a
JOIN with such a subquery.

What is asked of private tables is released first, for a part of the price, and the rest of the question is asked with
the released value in its place, a public constant like any other. What is asked of public tables is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, TypeAlias

from sqlglot import exp

from discreet.answer import GivenValue
from discreet.errors import BadQuestion, Unsupported
from discreet.messages import Message, message
from discreet.query.front.sql.expressions import identifier, output
from discreet.query.front.sql.parse import public_relation, question_of
from discreet.query.front.sql.syntax_tree import chain, read_expression
from discreet.query.lower.lower import LoweredQuestion, sorts_shown
from discreet.query.plan.expressions import Column, Expression
from discreet.query.plan.nodes import Aggregate, Question, Relation
from discreet.query.plan.schema import Schema
from discreet.query.plan.types import Boolean, Kind, Temporal, Text, Value
from discreet.query.plan.types import Number as NumberKind
from discreet.query.resolve.unresolved import has_total
from discreet.query.typing.released import Sort, sort_of_kind

MOST_CONSTANTS = 8
_BITS = 40
"""A released number becomes a constant of so many bits: all that noise leaves of it, and no more."""
_LARGEST = 10**57
"""What a number beyond it becomes: a constant has at most 60 digits, and what was paid for is not refused for them."""
_FROM = (exp.From, exp.Join, exp.CTE, exp.Union, exp.Intersect, exp.Except, exp.Subquery, exp.In, exp.Exists, exp.Any,
         exp.All, exp.Lateral)  # fmt: skip
_NESTED = ("a subquery inside a subquery that is one value", "release the inner one first, and write its value")


@dataclass(frozen=True, slots=True)
class Missing:
    """NULL in the place of a value of a known kind, of which one is given."""

    like: Value
    nobody: bool = False
    """Whether there is no row with it: as a list, it is empty."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Released groups, as the rows of a list: each has as many values as there are columns before IN."""

    rows: tuple[tuple[Value, ...], ...]


Known: TypeAlias = Value | Missing | Listed


@dataclass(frozen=True, slots=True)
class Constant:
    """A subquery that is one value: a question to be released, or public rows that have it."""

    question: Question | None
    public: tuple[Relation, str] | None
    """A relation of public tables, and the column with the value."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A question that needs values of others first."""

    constants: tuple[Constant, ...]
    node: exp.Expr
    schemas: Mapping[str, Schema]

    def fill(self, values: Sequence[Known]) -> Question:
        """The question with these values for the constants, in their order."""
        tree = self.node.copy()
        for mark in list(tree.find_all(exp.Placeholder)):
            value = values[int(mark.this)]
            if type(mark.parent) is exp.In and mark.arg_key == "expressions":
                _fill_list(mark.parent, value)
            else:
                assert not isinstance(value, Listed)  # noqa: S101
                mark.replace(_written(value))
        return question_of(tree, self.schemas)


def staged_question(node: exp.Expr, schemas: Mapping[str, Schema]) -> Staged | Question:
    """The plan of a question's syntax tree; with subqueries that are one value, what must be known first."""
    node = _with_lists(node)
    lists = _lists(node)
    if not lists and not _scalars(node):
        try:
            return question_of(node, schemas)
        except BadQuestion:
            tree = _without_one_row_tables(node.copy(), schemas)
            lists = _lists(node, grouped=True)
            if tree is None and not lists:
                raise
            node = tree or node
    tree = node.copy()
    lists = _lists(tree, grouped=bool(lists))
    found = [one for one in _scalars(tree) if not any(_within(one, other) for other in lists)]
    if len(found) + len(lists) > MOST_CONSTANTS:
        raise BadQuestion(f"at most {MOST_CONSTANTS} subqueries can be one value or a list each")
    constants = tuple(_constant(_alone(one), schemas) for one in found)
    constants += tuple(Constant(question_of(_alone(one), schemas), None) for one in lists)
    for i, one in enumerate([*found, *lists]):
        mark = exp.Placeholder(this=str(i))
        if one in lists and one.parent is not None:
            one.parent.set("expressions", [mark])
            one.parent.set("query", None)
        else:
            one.replace(mark)
    _drop_unused_ctes(tree)
    return Staged(constants, tree, schemas)


def _scalars(node: exp.Expr) -> list[exp.Expr]:
    """The subqueries that stand where a value does."""
    found: list[exp.Expr] = [
        one
        for one in node.find_all(exp.Subquery)
        if one is not node and type(one.parent) not in _FROM and _is_alone(_alone(one))
    ]
    inside = [one for one in found if any(other is not one and _within(one, other) for other in found)]
    if inside:
        raise Unsupported(*_NESTED)
    return found


def _lists(node: exp.Expr, *, grouped: bool = False) -> list[exp.Expr]:
    """The subqueries after IN that are the first few of released groups; with ``grouped``, also those that are all."""
    found: list[exp.Expr] = []
    for one in node.find_all(exp.In):
        query = one.args.get("query")
        inner = query
        while type(inner) is exp.Subquery:
            inner = inner.this
        if query is None or type(inner) is not exp.Select:
            continue
        few = inner.args.get("limit") is not None or (grouped and inner.args.get("group") is not None)
        if few and _is_alone(_alone(query)):
            found.append(query)
    return found


def _with_lists(tree: exp.Expr) -> exp.Expr:
    """The tree with ``x IN (SELECT k ...)`` for each JOIN with the first few of released groups, on their keys."""
    for select in list(tree.find_all(exp.Select)):
        for join in list(select.args.get("joins") or []):
            condition = _as_list(join)
            if condition is not None:
                select.set("joins", [one for one in select.args["joins"] if one is not join])
                select.where(condition, copy=False)
    return tree


def _as_list(join: exp.Expr) -> exp.Expr | None:
    subquery, on = join.this, join.args.get("on")
    if type(subquery) is not exp.Subquery or type(subquery.this) is not exp.Select or on is None:
        return None
    select, alias = subquery.this, subquery.args.get("alias")
    limited = select.args.get("limit") is not None and select.args.get("group") is not None
    if not limited or any(join.args.get(part) for part in ("side", "using", "method")) or alias is None:
        return None
    name, own = identifier(alias.this).casefold(), {one.alias_or_name.casefold() for one in select.expressions}
    ours, theirs = [], []
    for part in chain(on) if type(on) is exp.And else [on]:
        sides = [part.this, part.expression] if type(part) is exp.EQ else []
        keys = [x for x in sides if type(x) is exp.Column and _names(x, name, own)]
        if len(keys) != 1:
            return None
        theirs.append(exp.Column(this=keys[0].this.copy()))
        ours.append(next(x for x in sides if x is not keys[0]).copy())
    # What else the subquery gives may be named elsewhere: then it is no list.
    names = [c for c in join.root().find_all(exp.Column) if c.args.get("table") is not None and _names(c, name, own)]
    if any(not _inside(c, join) for c in names):
        return None
    rows = exp.Select(expressions=theirs, from_=exp.From(this=subquery.copy()))
    value = ours[0] if len(ours) == 1 else exp.Tuple(expressions=ours)
    rows.set("limit", select.args["limit"].copy())  # as the subquery below has it: so it is seen to be a list
    return exp.In(this=value, query=exp.Subquery(this=rows))


def _names(column: exp.Expr, table: str, columns: set[str]) -> bool:
    """Whether a column is one of these, of this table."""
    of = column.args.get("table")
    named = type(column.this) is exp.Identifier and identifier(column.this).casefold() in columns
    return named and (of is None or identifier(of).casefold() == table)


def _inside(node: exp.Expr, other: exp.Expr) -> bool:
    return node is other or _within(node, other)


def _within(node: exp.Expr, other: exp.Expr) -> bool:
    at = node.parent
    while at is not None and at is not other:
        at = at.parent
    return at is other


def _constant(node: exp.Expr, schemas: Mapping[str, Schema]) -> Constant:
    tables, ctes = _tables(node), {_cte_name(one) for one in node.find_all(exp.CTE)}
    known = {name.casefold(): schema for name, schema in schemas.items()}
    if all(name in ctes or (name in known and known[name].table.public) for name in tables):
        return Constant(None, public_relation(node, schemas))
    asked = question_of(node, schemas)
    if len(asked.outcome.columns) != 1 or not _one_row(asked):
        raise Unsupported("a subquery of more than one value here", "ask for one aggregate, without GROUP BY")
    return Constant(asked, None)


def _one_row(asked: Question | LoweredQuestion) -> bool:
    outcome = asked.outcome
    if outcome.limit == 1:
        return True
    return not outcome.regroup.keys if outcome.regroup is not None else outcome.below is None and asked.sets == ((),)


def _is_alone(node: exp.Expr) -> bool:
    """Whether a subquery names no table of the question around it."""
    own = {identifier(one.args["alias"].this).casefold() for one in node.find_all(exp.Table, exp.Subquery, exp.CTE)
           if one.args.get("alias") is not None and one.args["alias"].args.get("this") is not None}  # fmt: skip
    known = own | _tables(node, aliased=False)
    named = [one.args["table"] for one in node.find_all(exp.Column) if one.args.get("table") is not None]
    return all(identifier(one).casefold() in known for one in named)


# --- CTEs -------------------------------------------------------------------------------------------------------------


def _alone(node: exp.Expr) -> exp.Expr:
    """The SELECT of a subquery with the CTEs that it names."""
    select: exp.Expr = node.this.copy()
    seen: list[exp.Expr] = []
    below, at = node, node.parent
    while at is not None:
        if type(at) is exp.With:
            seen = [*at.expressions[: at.expressions.index(below)], *seen]
        elif at.args.get("with_") is not None and below is not at.args["with_"]:
            seen = [*at.args["with_"].expressions, *seen]
        below, at = at, at.parent
    needed: list[exp.Expr] = []
    wanted = _tables(select)
    for cte in reversed(seen):
        if _cte_name(cte) in wanted:
            needed.insert(0, cte.copy())
            wanted |= _tables(cte)
    if needed:
        own = select.args.get("with_")
        select.set("with_", exp.With(expressions=[*needed, *([] if own is None else own.expressions)]))
    return select


def _cte_name(cte: exp.Expr) -> str:
    return identifier(cte.args["alias"].this).casefold()


def _tables(node: exp.Expr, *, aliased: bool = True) -> set[str]:
    """The names of tables in it; without those that have another name."""
    every = [one for one in node.find_all(exp.Table) if type(one.this) is exp.Identifier]
    return {identifier(one.this).casefold() for one in every if aliased or one.args.get("alias") is None}


def _drop_unused_ctes(tree: exp.Expr) -> None:
    """CTEs that only a constant used."""
    for clause in list(tree.find_all(exp.With)):
        kept = list(clause.expressions)
        for cte in reversed(list(kept)):
            others = [one for one in kept if one is not cte]
            body = [part for name, part in clause.parent.args.items() if name != "with_"] if clause.parent else []
            nodes = [n for part in body for n in (part if isinstance(part, list) else [part])]
            used = set().union(*(_tables(n) for n in [*nodes, *others] if isinstance(n, exp.Expr)))
            if _cte_name(cte) not in used:
                kept = others
        if not kept and clause.parent is not None:
            clause.parent.set("with_", None)
        else:
            clause.set("expressions", kept)


def _without_one_row_tables(tree: exp.Expr, schemas: Mapping[str, Schema]) -> exp.Expr | None:
    """The tree with subqueries in place of the columns of CTEs that are one row of aggregates; None without any."""
    ctes = {_cte_name(one): one for one in tree.find_all(exp.CTE) if _is_one_row(one.this)}
    found = False
    for select in list(tree.find_all(exp.Select)):
        for join in list(select.args.get("joins") or []):
            table = join.this
            plain = not any(join.args.get(part) for part in ("on", "using", "side", "method"))
            if not plain or type(table) is not exp.Table or identifier(table.this).casefold() not in ctes:
                continue
            cte = ctes[identifier(table.this).casefold()]
            alias = table.args.get("alias")
            name = identifier(table.this if alias is None else alias.this)
            _put_values(select, join, name, table, cte, schemas)
            found = True
    return tree if found else None


def _is_one_row(node: exp.Expr) -> bool:
    if type(node) is not exp.Select or node.args.get("group") is not None:
        return False
    return bool(node.expressions) and all(
        type(one) is not exp.Star and has_total(output(one).said) for one in node.expressions
    )


def _put_values(  # noqa: PLR0917 - one step of the walk above
    select: exp.Expr, join: exp.Expr, name: str, table: exp.Expr, cte: exp.Expr, schemas: Mapping[str, Schema]
) -> None:
    own = {identifier(one.args["alias"]).casefold() for one in cte.this.expressions if type(one) is exp.Alias}
    stored = {column.casefold() for schema in schemas.values() for column in schema.fields}
    select.set("joins", [one for one in select.args["joins"] if one is not join])
    for column in list(select.find_all(exp.Column)):
        of = column.args.get("table")
        spelled = identifier(column.this).casefold() if type(column.this) is exp.Identifier else ""
        bare = of is None and spelled in own and spelled not in stored
        if bare or (of is not None and identifier(of).casefold() == name.casefold()):
            value = exp.Select(expressions=[exp.Column(this=column.this.copy())],
                               from_=exp.From(this=exp.Table(this=table.this.copy())))  # fmt: skip
            column.replace(exp.Subquery(this=value))


# --- values -----------------------------------------------------------------------------------------------------------


def as_constant(value: object) -> Value:
    """A released value as a constant: a float as the nearest number of few bits.

    >>> as_constant(54.5), as_constant(0.1) == Fraction(0.1), as_constant(None)
    (Fraction(109, 2), False, None)
    """
    if value is None or isinstance(value, bool | str | date):
        return value
    if not isinstance(value, int | float | Fraction):
        raise BadQuestion("a released value is a number, text, a date, a time, or true or false")
    exact = min(max(Fraction(value), Fraction(-_LARGEST)), Fraction(_LARGEST))
    if isinstance(value, int):
        return exact
    whole = abs(exact.numerator) // exact.denominator
    step = Fraction(1, 1 << max(0, min(30, _BITS - whole.bit_length())))
    return Fraction(round(exact / step)) * step


def _written(value: Value | Missing) -> exp.Expr:
    """A constant as the tree of its text."""
    match value:
        case Missing(like=like):
            both = _written(like)
            return exp.Case(ifs=[exp.If(this=exp.Boolean(this=False), true=both)])
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case str():
            return exp.Literal.string(value)
        case datetime():
            return read_expression(f"TIMESTAMP '{value.isoformat(sep=' ')}'")
        case date():
            return read_expression(f"DATE '{value.isoformat()}'")
        case _:
            return exp.Paren(this=read_expression(_decimal(Fraction(value))))


def _decimal(value: Fraction) -> str:
    """A number whose denominator divides a power of ten, as a decimal.

    >>> _decimal(Fraction(-109, 8))
    '-13.625'
    """
    digits = next(n for n in range(80) if 10**n % value.denominator == 0)
    cells = abs(value.numerator) * 10**digits // value.denominator
    whole, rest = divmod(cells, 10**digits)
    text = f"{whole}.{rest:0{digits}d}" if digits else str(whole)
    return f"-{text}" if value < 0 else text


def _fill_list(node: exp.Expr, value: Known) -> None:
    """IN with released groups: an empty list has nobody, and whether NULL is among others is not known."""
    match value:
        case Listed(rows=rows):
            pass
        case Missing(nobody=nobody):
            rows = () if nobody else ((None,),)
        case _:
            rows = ((value,),)
    whole = [[_written(one) for one in row] for row in rows if None not in row]
    node.set("expressions", [row[0] if len(row) == 1 else exp.Tuple(expressions=row) for row in whole])
    plain = node.copy() if whole else exp.Boolean(this=False)
    negated = bool(node.args.get("negate"))
    plain.set("negate", None)
    parts = [] if _only_kept(node) else [_unknown(node.this, row) for row in dict.fromkeys(rows) if None in row]
    for part in parts:
        plain = exp.Or(this=plain, expression=part)
    made = exp.Paren(this=plain) if parts else plain
    node.replace(exp.Not(this=made) if negated else made)


def _only_kept(node: exp.Expr) -> bool:
    """Whether rows are kept where it is true, and false is as good as NULL."""
    if node.args.get("negate"):
        return False
    at = node.parent
    while isinstance(at, exp.And | exp.Or | exp.Paren):
        at = at.parent
    return type(at) is exp.Where


def _unknown(value: exp.Expr, row: Sequence[Value]) -> exp.Expr:
    """Whether a value is equal to a row with NULL in it: false where another cell differs, else NULL."""
    ours = value.expressions if type(value) is exp.Tuple else [value]
    made = _written(Missing(True))
    for one, cell in zip(ours, row, strict=True):
        if cell is not None:
            made = exp.And(this=exp.EQ(this=one.copy(), expression=_written(cell)), expression=made)
    return exp.Paren(this=made)


# --- before and after they are released -------------------------------------------------------------------------------


def some_value(kind: Kind) -> Value:
    """Any value of a kind."""
    match kind:
        case Text():
            return ""
        case Boolean():
            return True
        case Temporal(low=low):
            return low
        case _:
            return Fraction(1)


def stand_in(asked: LoweredQuestion) -> Any:
    """A value that a released one could have: what a question is planned with before it is known."""
    if not _one_row(asked):
        sorts = sorts_shown(asked)
        return Listed((tuple(_some_shown(e, sorts[name], asked) for name, e in asked.outcome.columns),))
    (_, shown), *_ = asked.outcome.columns
    found = [m for m in asked.measures if isinstance(shown, Column) and m.measure.name == shown.name]
    if not found:
        is_key = isinstance(shown, Column) and shown.name in [key.name for key in asked.keys]
        return _some_key(shown.name, asked) if is_key and isinstance(shown, Column) else Fraction(1)
    one = found[0]
    kinds = [x.kind for x in one.arguments if isinstance(x.kind, NumberKind)]
    if any(abs(end) > _LARGEST for kind in kinds for end in kind.ends):
        raise BadQuestion("a value beyond 10^57 in size cannot be released first: declare narrower bounds, or CLAMP it")
    if one.span is not None:
        first, days = one.span.first, one.arguments[0].kind
        half = days.high * days.step / 2 if isinstance(days, NumberKind) else Fraction(0)
        middle = datetime(first.year, first.month, first.day) + timedelta(days=float(half))
        return middle if one.measure.aggregate is Aggregate.AVG or isinstance(first, datetime) else middle.date()
    if one.measure.aggregate in (Aggregate.AVG, Aggregate.QUANTILE, Aggregate.MIN, Aggregate.MAX):
        kind = one.arguments[0].kind
        return as_constant(float(sum(kind.ends) / 2)) if isinstance(kind, NumberKind) else Fraction(1)
    return Fraction(1000)


def _some_shown(value: Expression, sort: Sort, asked: LoweredQuestion) -> Value:
    """A value of a released column: of a key one that it can have, else one of its sort."""
    names = [key.name for key in asked.keys if sort_of_kind(key.typed.kind) is sort]
    if isinstance(value, Column) and value.name in names:
        return _some_key(value.name, asked)
    return _SOME[sort]


_SOME: Mapping[Sort, Value] = {
    Sort.NUMBER: Fraction(1), Sort.TEXT: "", Sort.BOOLEAN: True, Sort.DATE: date(2000, 1, 1),
    Sort.TIME: datetime(2000, 1, 1), Sort.NULL: None,
}  # fmt: skip


def _some_key(name: str, asked: LoweredQuestion) -> Value:
    """A value of a released column: of a key, one of its kind."""
    key = next((key.typed for key in asked.keys if key.name == name), None)
    if key is None:
        return some_value(asked.keys[0].typed.kind) if asked.keys else Fraction(1)
    first = next((one for one in key.keys or () if one is not None), None)
    if first is None:
        return some_value(key.kind)
    return first * key.kind.step if isinstance(key.kind, NumberKind) and isinstance(first, int) else first


def value_of(answer: Any, like: Any) -> Known:
    """The one value of an answer of one row, as a constant, NULL as one of the kind of ``like``; a list of groups."""
    rows = answer.rows
    if isinstance(like, Listed):
        return Listed(tuple(tuple(map(as_constant, row.values())) for row in rows))
    found = as_constant(next(iter(rows[0].values()))) if rows else None
    return Missing(like, nobody=not rows) if found is None else found


def given_note(answer: Any, value: Known) -> Message:
    """What was released, for a note beside the answer: with its own interval, which the answer's leave out."""
    name = next(iter(answer.columns))
    if isinstance(value, Listed):
        groups = "; ".join(", ".join(map(str, row)) for row in value.rows)
        return GivenValue(", ".join(answer.columns), groups, None, answer.cost).note
    shown = None if isinstance(value, Missing) else float(value) if isinstance(value, Fraction) else value
    bars = answer.errors().get(name) or [None]
    return GivenValue(name, shown, bars[0], answer.cost).note


def together(main: Any, whole: Any, first: Sequence[Any]) -> Any:
    """The preview of an answer, with what the values that are released first cost and how far off they are."""
    values = tuple(
        message("first_value", name=column.name, cost=str(one.cost), error=column.error)
        for one in first
        for column in one.columns
    )
    return replace(main, cost=whole.cost, remaining=whole.remaining, affordable=whole.affordable,
                   notes=(*values, message("main_cost", cost=str(main.cost)), *main.notes))  # fmt: skip
