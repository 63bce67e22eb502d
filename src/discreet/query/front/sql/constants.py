"""Subqueries that are one value: ``x > (SELECT AVG(x) FROM t)``, and CTEs of one row that stand beside a table in FROM.

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
from discreet.exact import significant
from discreet.query.front.sql.expressions import identifier, output
from discreet.query.front.sql.parse import public_relation, question_of, select_of
from discreet.query.front.sql.syntax_tree import read_expression
from discreet.query.lower.lower import LoweredQuestion
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import Aggregate, Question, Relation
from discreet.query.plan.schema import Schema
from discreet.query.plan.types import Boolean, Date, Kind, Text, Timestamp, Value
from discreet.query.plan.types import Number as NumberKind
from discreet.query.resolve.unresolved import has_total

MOST_CONSTANTS = 8
_BITS = 40
"""A released number becomes a constant of so many bits: all that noise leaves of it, and no more."""
_FROM = (exp.From, exp.Join, exp.CTE, exp.Union, exp.Intersect, exp.Except, exp.Subquery, exp.In, exp.Exists, exp.Any,
         exp.All, exp.Lateral)  # fmt: skip
_NESTED = ("a subquery inside a subquery that is one value", "release the inner one first, and write its value")


@dataclass(frozen=True, slots=True)
class Missing:
    """NULL in the place of a value of a known kind, of which one is given."""

    like: Value


Known: TypeAlias = Value | Missing


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
            mark.replace(_written(values[int(mark.this)]))
        return question_of(tree, self.schemas)


def staged_question(text: str, schemas: Mapping[str, Schema]) -> Staged | Question:
    """The plan of a question in SQL; with subqueries that are one value, what must be known first."""
    node = select_of(text, schemas)
    if not _scalars(node):
        try:
            return question_of(node, schemas)
        except BadQuestion:
            tree = _without_one_row_tables(node.copy(), schemas)
            if tree is None:
                raise
            node = tree
    tree = node.copy()
    found = _scalars(tree)
    if len(found) > MOST_CONSTANTS:
        raise BadQuestion(f"at most {MOST_CONSTANTS} subqueries can be one value each")
    alone = [_alone(one) for one in found]
    constants = tuple(_constant(one, schemas) for one in alone)
    for i, one in enumerate(found):
        one.replace(exp.Placeholder(this=str(i)))
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
    outcome = asked.outcome
    one_row = outcome.limit == 1 or (
        not outcome.regroup.keys if outcome.regroup is not None else outcome.below is None and asked.sets == ((),)
    )
    if len(outcome.columns) != 1 or not one_row:
        raise Unsupported("a subquery of more than one value here", "ask for one aggregate, without GROUP BY")
    return Constant(asked, None)


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
    if isinstance(value, int):
        return Fraction(value)
    if not isinstance(value, float | Fraction):
        raise BadQuestion("a released value is a number, text, a date, a time, or true or false")
    exact = Fraction(value)
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


# --- before and after they are released -------------------------------------------------------------------------------


def some_value(kind: Kind) -> Value:
    """Any value of a kind."""
    match kind:
        case Text():
            return ""
        case Boolean():
            return True
        case Date(low=low) | Timestamp(low=low):
            return low
        case _:
            return Fraction(1)


def stand_in(asked: LoweredQuestion) -> Value:
    """A value that a released one could have: what a question is planned with before it is known."""
    (_, shown), *_ = asked.outcome.columns
    found = [m for m in asked.measures if isinstance(shown, Column) and m.measure.name == shown.name]
    if not found:
        return Fraction(1)
    one = found[0]
    if one.span is not None:
        first, days = one.span.first, one.arguments[0].kind
        half = days.high * days.step / 2 if isinstance(days, NumberKind) else Fraction(0)
        middle = datetime(first.year, first.month, first.day) + timedelta(days=float(half))
        return middle if one.measure.aggregate is Aggregate.AVG or isinstance(first, datetime) else middle.date()
    if one.measure.aggregate in (Aggregate.AVG, Aggregate.QUANTILE, Aggregate.MIN, Aggregate.MAX):
        kind = one.arguments[0].kind
        return as_constant(float(sum(kind.ends) / 2)) if isinstance(kind, NumberKind) else Fraction(1)
    return Fraction(1000)


def value_of(answer: Any, like: Value) -> Known:
    """The one value of an answer of one row, as a constant; NULL as one of the kind of ``like``."""
    rows = answer.rows
    found = as_constant(next(iter(rows[0].values()))) if rows else None
    return Missing(like) if found is None else found


def in_words(answer: Any, value: Known) -> GivenValue:
    """What was released, for a note beside the answer: with its own error bar, which the answer's do not hold."""
    name = next(iter(answer.columns))
    shown = None if isinstance(value, Missing) else float(value) if isinstance(value, Fraction) else value
    bars = answer.errors().get(name) or [None]
    return GivenValue(name, shown, bars[0], answer.cost)


def together(main: Any, whole: Any, first: Sequence[Any]) -> Any:
    """The preview of an answer, with what the values that are released first cost and how far off they are."""
    words = tuple(f"released first, for {one.cost}: {column.name} ± {significant(column.error, 4)}; error bars of the "
                  "answer are about the query with the released value, and do not hold this one"
                  for one in first for column in one.columns)  # fmt: skip
    return replace(main, cost=whole.cost, remaining=whole.remaining, affordable=whole.affordable,
                   notes=(*words, f"the answer itself costs {main.cost}", *main.notes))  # fmt: skip
