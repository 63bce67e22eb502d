"""Expressions of SQL, read from a syntax tree node by node. What is not handled here by name is refused by name.

Promise: the default is no; see ``refusals.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime
from fractions import Fraction
from functools import partial

from sqlglot import exp

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.functions import (
    REFUSED,
    aggregate,
    filtered,
    function,
    part,
    quantile,
    rows_counted,
    unknown,
)
from discreet.query.front.sql.opaque_names import spelled
from discreet.query.front.sql.refusals import only, refusal
from discreet.query.front.sql.syntax_tree import CASTS, chain, read_expression
from discreet.query.functions.aggregates import NAMES
from discreet.query.functions.catalogue import FUNCTIONS
from discreet.query.functions.date_functions import INTERVALS
from discreet.query.functions.times_of_day import constant_time
from discreet.query.plan.expressions import Literal
from discreet.query.resolve.unresolved import Name, Output, Said, Windowed, apply, checked_number, limited

_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,3}))?", re.ASCII)
_LONGEST_NUMBER = 60
_WORD = re.compile(r"[^\W\d]\w*")
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?", re.ASCII)


def expression(text: str) -> Output:
    """An expression of SQL as text, perhaps with a name after AS; a lone word is a column, whatever the word.

    >>> expression("cost / 2 AS half").name
    'half'
    """
    if isinstance(text, str) and _WORD.fullmatch(text):
        return Output(Name(text))
    return output(read_expression(text))


def output(node: exp.Expr) -> Output:
    """One item of a SELECT list."""
    if type(node) is exp.Alias:
        only(node, "this", "alias")
        return Output(said(node.this), identifier(node.args["alias"]))
    return Output(said(node))


def said(node: object) -> Said:
    """What an expression says."""
    if not isinstance(node, exp.Expr):
        raise BadQuestion("this is not SQL that we understand: an expression is missing")
    reader = _READERS.get(type(node))
    if reader is None:
        raise refusal(node)
    return reader(node)


def identifier(node: object) -> str:
    """The text of a name."""
    if type(node) is not exp.Identifier or not isinstance(node.this, str) or not node.this:
        raise BadQuestion("this is not SQL that we understand: a name is missing")
    return spelled(node.this)


# --- constants --------------------------------------------------------------------------------------------------------


def number(text: str) -> Fraction:
    """A number as it is written in SQL, exactly.

    >>> number("1.50")
    Fraction(3, 2)
    """
    found = _NUMBER.fullmatch(text) if len(text) <= _LONGEST_NUMBER else None
    if found is None or abs(int(found[1] or 0)) > _LONGEST_NUMBER:
        raise BadQuestion("a number here is not one that we can read; numbers have at most 60 digits")
    return checked_number(Fraction(text))


def _literal(node: exp.Expr) -> Said:
    only(node, "this", "is_string")
    text = node.this
    if node.args.get("is_string"):
        return Literal(text)
    return Literal(number(text))


def _boolean(node: exp.Expr) -> Said:
    only(node, "this")
    return Literal(bool(node.this))


def _null(node: exp.Expr) -> Said:
    only(node)
    return Literal(None)


def _constant_date(text: str) -> Literal:
    try:
        if not _DAY.fullmatch(text):
            raise ValueError
        return Literal(date.fromisoformat(text))
    except ValueError:
        raise BadQuestion("a date must be written as DATE '2024-12-31', and be a real day") from None


def _constant_moment(text: str) -> Literal:
    try:
        if not _MOMENT.fullmatch(text):
            raise ValueError
        return Literal(datetime.fromisoformat(text))
    except ValueError:
        raise BadQuestion("a time must be written as TIMESTAMP '2024-12-31 23:59:59'") from None


# --- names and operators ----------------------------------------------------------------------------------------------


def _column(node: exp.Expr) -> Said:
    if type(node.this) is exp.Star:
        raise refusal(node.this)
    only(node, "this", "table", "db", "catalog")  # the schema of a table says nothing here
    table = node.args.get("table")
    return Name(identifier(node.this), None if table is None else identifier(table))


def _inside(node: exp.Expr) -> Said:
    only(node, "this")
    return said(node.this)


def _unary(name: str, node: exp.Expr) -> Said:
    only(node, "this")
    return apply(name, said(node.this))


def _binary(name: str, node: exp.Expr) -> Said:
    only(node, "this", "expression", "typed", "safe")
    return apply(name, said(node.this), said(node.expression))


def _together(name: str, node: exp.Expr) -> Said:
    """AND, OR and ||, however many they join."""
    assert isinstance(node, exp.Binary)  # noqa: S101
    only(node, "this", "expression", "safe")
    return apply(name, *(said(one) for one in chain(node)))


def _sum(name: str, node: exp.Expr) -> Said:
    """+ and -, also of a date and an interval."""
    only(node, "this", "expression")
    x, other = node.this, node.expression.unnest()
    if type(other) is exp.Interval and type(x.unnest()) is not exp.Interval:
        return _later(said(x), other, 1 if name == "add" else -1)
    return _binary(name, node)


def _amounts(node: exp.Expr) -> list[tuple[str, Fraction]]:
    """The units of INTERVAL '1 day 2 hours' or INTERVAL 3 MONTH, and how many of each; whole ones."""
    only(node, "this", "unit")
    amount, unit = node.this, node.args.get("unit")
    sign = -1 if type(amount) is exp.Neg else 1
    amount = amount.this if type(amount) is exp.Neg else amount
    if type(amount) is not exp.Literal:
        raise refusal(node)
    text = amount.this if unit is None else f"{amount.this} {unit.name}"
    found = [(word.lower(), sign * number(digits) * (-1 if minus else 1))
             for minus, digits, word in _PART.findall(text)]  # fmt: skip
    clock = _CLOCK.fullmatch(text) if not found else None
    if clock is not None:
        found = [
            (word, Fraction(part)) for word, part in zip(("hour", "minute", "second"), clock.groups(), strict=True)
        ]
    elif not found or _PART.sub("", text).strip() or any(many.denominator != 1 for _, many in found):
        raise refusal(node)
    return found


_PART = re.compile(rf"(-?)\s*(\d{{1,9}})\s*({'|'.join(INTERVALS)})s?\b", re.IGNORECASE | re.ASCII)
_CLOCK = re.compile(r"(\d{1,4}):(\d\d):(\d\d)", re.ASCII)


def _interval(node: exp.Expr) -> Said:
    """A duration."""
    first, *others = [apply("interval", Literal(word), Literal(many)) for word, many in _amounts(node)]
    for one in others:
        first = apply("add", first, one)
    return first


def _later(x: Said, node: exp.Expr, sign: int) -> Said:
    if isinstance(x, Literal) and isinstance(x.value, str):  # a text beside an interval is a day or a time
        x = _constant_date(x.value) if _DAY.fullmatch(x.value) else _constant_moment(x.value)
    for word, many in _amounts(node):
        x = function("dateadd", (Literal(word), Literal(many * sign), x))
    return x


# --- conditions -------------------------------------------------------------------------------------------------------


def _unless_negated(node: exp.Expr, found: Said) -> Said:
    return apply("not", found) if node.args.get("negate") else found


def _like(name: str, node: exp.Expr) -> Said:
    only(node, "this", "expression", "negate")
    return _unless_negated(node, apply(name, said(node.this), said(node.expression)))


def _regex(small: bool, node: exp.Expr) -> Said:
    """x ~ pattern, and ~* of small and capital letters."""
    only(node, "this", "expression", "flag", "full_match")
    x, given = said(node.this), said(node.expression)
    if small and isinstance(given, Literal) and isinstance(given.value, str):
        given = Literal(f"(?i){given.value.removeprefix('(?i)')}")
    return apply("regexp_matches", x, given)


def _similar(node: exp.Expr) -> Said:
    """x SIMILAR TO pattern of the whole text: % and _ as in LIKE, all else as in a regular expression."""
    only(node, "this", "expression", "negate")
    given = said(node.expression)
    text = given.value if isinstance(given, Literal) else None
    if not isinstance(text, str) or set(text) & set(".^$\\"):
        raise refusal(node)
    words = {"%": ".*", "_": "."}
    pattern = "".join(words.get(letter, letter) for letter in text)
    return _unless_negated(node, function("regexp_full_match", (said(node.this), Literal(pattern))))


def _null_safe(same: bool, node: exp.Expr) -> Said:
    """IS NOT DISTINCT FROM: equal, or both NULL; never NULL itself."""
    only(node, "this", "expression")
    x, y = said(node.this), said(node.expression)
    null = Literal(None)
    if null in (x, y):
        found = apply("is_null", y if x == null else x)
    else:
        found = apply("coalesce", apply("eq", x, y), apply("and", apply("is_null", x), apply("is_null", y)))
    return limited(found if same else apply("not", found))


def _rows_in(node: exp.Expr) -> Said:
    """(a, b) IN (('x', 1), ('y', 2)): the columns one by one."""
    ways = [one.expressions if type(one) is exp.Tuple else [] for one in node.expressions]
    if any(len(way) != len(node.this.expressions) for way in ways):
        raise BadQuestion("each row of IN needs as many values as there are columns before it")
    parts = [said(one) for one in node.this.expressions]
    tests = [
        apply("and", *(apply("eq", x, said(y)) for x, y in zip(parts, way, strict=True)))
        if len(parts) > 1
        else apply("eq", parts[0], said(way[0]))
        for way in ways
    ]
    return apply("or", *tests) if len(tests) > 1 else tests[0]


def _in(node: exp.Expr) -> Said:
    if node.args.get("query") is not None:
        raise Unsupported("IN (SELECT ...)", "join with the table instead, or list the values")
    if node.args.get("field") is not None or not node.expressions:
        raise BadQuestion("IN needs a list of constants in parentheses")
    only(node, "this", "expressions", "negate")
    if type(node.this) is exp.Tuple:
        return _unless_negated(node, _rows_in(node))
    return _unless_negated(node, apply("in", said(node.this), *(said(one) for one in node.expressions)))


def _between(node: exp.Expr) -> Said:
    if node.args.get("symmetric"):
        raise Unsupported("BETWEEN SYMMETRIC", "write BETWEEN with the smaller value first")
    only(node, "this", "low", "high", "negate", "symmetric")
    x = said(node.this)
    both = limited(apply("and", apply("ge", x, said(node.args["low"])), apply("le", x, said(node.args["high"]))))
    return _unless_negated(node, both)


def _is(node: exp.Expr) -> Said:
    only(node, "this", "expression", "negate")
    x, what = said(node.this), node.expression
    if type(what) is exp.Null:
        return _unless_negated(node, apply("is_null", x))
    if type(what) is not exp.Boolean:
        raise Unsupported("IS with something else than NULL, TRUE or FALSE", "use = or IS NULL")
    found = x if what.this else apply("not", x)
    return _unless_negated(node, apply("coalesce", found, Literal(False)))


def _case(node: exp.Expr) -> Said:
    only(node, "this", "ifs", "default")
    subject = None if node.args.get("this") is None else said(node.this)
    parts: list[Said] = []
    for branch in node.args["ifs"]:
        only(branch, "this", "true")
        when = said(branch.this)
        parts += [when if subject is None else apply("eq", subject, when), said(branch.args["true"])]
    default = node.args.get("default")
    return limited(apply("case", *parts, Literal(None) if default is None else said(default)))


# --- functions --------------------------------------------------------------------------------------------------------


def _cast(node: exp.Expr) -> Said:
    """All casts are tries: what does not fit is NULL."""
    if node.args.get("format") is not None:
        raise Unsupported("CAST ... FORMAT", "dates are read as 2024-12-31")
    only(node, "this", "to", "safe")
    kind = node.args["to"]
    if type(kind) is not exp.DataType or not isinstance(kind.this, exp.DType):
        raise Unsupported("a cast to this type", CASTS)
    only(kind, "this", "expressions", "nested")
    sizes, name, constant = kind.expressions, kind.this.name, node.this
    if type(constant) is exp.Literal and constant.args.get("is_string"):
        if name == "DATE":
            return _constant_date(constant.this)
        if name == "TIME":
            return apply("cast_time", Literal(constant_time(constant.this)))
        if _TARGETS.get(name) == "cast_timestamp":
            return _constant_moment(constant.this)
    if name == "DECIMAL" and sizes:
        digits, precision = _checked_digits(sizes)
        sized = () if precision >= 38 else (Literal(precision),)
        return apply("cast_decimal", said(constant), Literal(digits), *sized)
    if name in ("VARCHAR", "TEXT") and len(sizes) == 1:
        return apply("left", apply("cast_text", said(constant)), Literal(_digits(sizes)[1]))
    if name not in _TARGETS or sizes:
        raise Unsupported(f"CAST AS {name}{'(...)' if sizes else ''}", CASTS)
    return apply(_TARGETS[name], said(constant))


_TARGETS = {kind: one.name for one in FUNCTIONS.values() for kind in one.types}


def _digits(sizes: list[exp.Expr]) -> tuple[Fraction, Fraction]:
    """The digits after the point of DECIMAL(p, s), and all of them."""
    found = []
    for size in sizes:
        only(size, "this")
        if type(size) is not exp.DataTypeParam or type(size.this) is not exp.Literal:
            raise Unsupported("a cast to this type", CASTS)
        found.append(number(size.this.this))
    if len(found) > 2:
        raise Unsupported("a cast to this type", CASTS)
    digits, precision = (found[1] if len(found) == 2 else Fraction(0)), found[0]
    return digits, precision


def _checked_digits(sizes: list[exp.Expr]) -> tuple[Fraction, Fraction]:
    digits, precision = _digits(sizes)
    if not 0 <= digits <= precision <= 38 or precision == 0:
        raise BadQuestion("DECIMAL(p, s) needs p from 1 to 38 digits, s of them after the point")
    return digits, precision


def _extract(node: exp.Expr) -> Said:
    only(node, "this", "expression")
    if type(node.this) not in (exp.Var, exp.Literal, exp.Column, exp.Identifier):
        raise BadQuestion("EXTRACT needs a part, as in EXTRACT(year FROM d)")
    return part(spelled(node.this.name), said(node.expression))


def _substring(node: exp.Expr) -> Said:
    only(node, "this", "start", "length")
    rest = [node.args[name] for name in ("start", "length") if node.args.get(name) is not None]
    return function("substring", (said(node.this), *(said(one) for one in rest)))


def _trim(node: exp.Expr) -> Said:
    of = node.args.get("expression")
    if of is not None and not (type(of) is exp.Literal and of.args.get("is_string") and of.this == " "):
        raise Unsupported("TRIM of other characters than spaces", "write TRIM(x), LTRIM(x) or RTRIM(x), or REPLACE")
    only(node, "this", "position", "expression")
    sides = {"LEADING": "ltrim", "TRAILING": "rtrim"}
    return apply(sides.get(str(node.args.get("position") or "BOTH"), "trim"), said(node.this))


def _called(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    only(node, "this", "expressions")
    name = spelled(node.this) if isinstance(node.this, str) else identifier(node.this)
    return name, node.expressions


def _function(node: exp.Expr) -> Said:
    name, given = _called(node)
    sign = {"date_add": 1, "date_sub": -1}.get(name.lower())
    if sign and len(given) == 2 and type(given[1]) is exp.Interval:
        return _later(said(given[0]), given[1], sign)
    if name.lower() not in NAMES:
        if name.lower() in REFUSED:  # whatever is in its brackets, as POSITION('a' IN x)
            raise unknown(name)
        return function(name, tuple(said(one) for one in given))
    if len(given) == 1 and type(given[0]) is exp.Star:
        only(given[0])
        return aggregate(name, (), star=True)
    if len(given) == 1 and type(given[0]) is exp.Distinct:
        only(given[0], "expressions")
        inside = given[0].expressions
        if len(inside) == 1 and type(inside[0]) is exp.Tuple and name.lower() in ("count", "count_big"):
            return rows_counted(_plain(inside[0].expressions))
        star = len(inside) == 1 and type(inside[0]) is exp.Star
        return aggregate(name, () if star else _plain(inside), distinct=True, star=star)
    return aggregate(name, _plain(given))


def _plain(nodes: Iterable[exp.Expr]) -> tuple[Said, ...]:
    return tuple(said(one) for one in nodes)


def _of_json(node: exp.Expr) -> Said:
    """x ->> 'key', of one key."""
    only(node, "this", "expression")
    path = node.expression
    parts = path.expressions if type(path) is exp.JSONPath else []
    if [type(part) for part in parts] != [exp.JSONPathRoot, exp.JSONPathKey]:
        raise refusal(path)
    return function("json_value", (said(node.this), Literal(f'$."{parts[1].this}"')))


def _filter(node: exp.Expr) -> Said:
    only(node, "this", "expression")
    where = node.expression
    only(where, "this")
    found = filtered(said(node.this), said(where.this)) if type(where) is exp.Where else None
    if found is None:
        raise BadQuestion("FILTER (WHERE ...) must follow an aggregate")
    return found


def _within_group(node: exp.Expr) -> Said:
    only(node, "this", "expression")
    order = node.expression
    if type(node.this) is not exp.Anonymous or type(order) is not exp.Order:
        raise refusal(node)
    name, given = _called(node.this)
    if name.lower() != "percentile_cont":
        return function(name, _plain(given))  # refused there, by name
    only(order, "expressions")
    if len(given) != 1 or len(order.expressions) != 1:
        raise BadQuestion("write PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)")
    by = order.expressions[0]
    only(by, "this", "desc", "nulls_first")
    return quantile(said(by.this), said(given[0]), descending=bool(by.args.get("desc")))


def _quantile_of(node: exp.Expr) -> Said:
    """APPROX_QUANTILES(x, 100)[OFFSET(50)] of BigQuery."""
    only(node, "this", "expressions")
    call, places = node.this, node.expressions
    if type(call) is not exp.Anonymous or len(places) != 1 or type(places[0]) is not exp.Anonymous:
        raise refusal(node)
    (name, given), (word, at) = _called(call), _called(places[0])
    numbers = [number(one.this) for one in (*given[1:], *at) if type(one) is exp.Literal]
    if name.lower() != "approx_quantiles" or (len(given), len(at), len(numbers)) != (2, 1, 2) or not numbers[0]:
        raise refusal(node)
    many, place = numbers
    return quantile(said(given[0]), Literal((place - (word.upper() == "ORDINAL")) / many))


_WINDOWS = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead",
                      "first_value", "last_value", "nth_value", "count", "sum", "avg", "min", "max"})  # fmt: skip


def _window(node: exp.Expr) -> Said:
    """A window function: over released rows, whatever is in it."""
    only(node, "this", "partition_by", "order", "spec", "over")
    if str(node.args.get("over") or "OVER").upper() != "OVER" or type(node.this) is not exp.Anonymous:
        raise refusal(node)
    name, given = _called(node.this)
    word = {"mean": "avg", "ratio_to_report": "sum"}.get(name.lower(), name.lower())
    if word not in _WINDOWS:
        raise Unsupported(f"{name.upper()} OVER (...)", f"use one of {', '.join(sorted(_WINDOWS)).upper()}")
    star = len(given) == 1 and type(given[0]) is exp.Star
    if star and word != "count":
        raise BadQuestion(f"{name.upper()} needs a column, not *")
    partition = node.args.get("partition_by") or []
    order = node.args.get("order")
    by: list[tuple[Said, bool]] = []
    for one in [] if order is None else order.expressions:
        if type(one) is not exp.Ordered:
            raise refusal(one)
        if one.args.get("nulls_first"):
            raise Unsupported("NULLS FIRST", "NULLs come last")
        by.append((said(one.this), bool(one.args.get("desc"))))
    arguments = () if star else _plain(given)
    window = Windowed(word, arguments, _plain(partition), tuple(by), _frame(node.args.get("spec")))
    return apply("div", *arguments, window) if name.lower() == "ratio_to_report" else window


def _frame(spec: exp.Expr | None) -> tuple[int | None, int | None] | None:
    """ROWS BETWEEN ... AND ..., as offsets from the row; the default frame is None."""
    if spec is None:
        return None
    only(spec, "kind", "start", "start_side", "end", "end_side")
    ends = (_edge(spec, "start"), _edge(spec, "end"))
    if spec.args.get("kind") != "ROWS":
        if ends == (None, 0) and spec.args.get("start_side") == "PRECEDING":
            return None
        raise Unsupported("this frame of a window", "use ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, or none")
    return ends


def _edge(spec: exp.Expr, name: str) -> int | None:
    value, side = spec.args.get(name), spec.args.get(f"{name}_side")
    if value is None or value == "CURRENT ROW":
        return 0
    if value == "UNBOUNDED":
        if (name == "start") != (side == "PRECEDING"):
            raise Unsupported("this frame of a window", "use ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, or none")
        return None
    many = number(value.this) if type(value) is exp.Literal else Fraction(1, 2)
    if many.denominator != 1 or many > 10**6:
        raise BadQuestion("a frame of a window needs an integer of rows")
    return int(-many if side == "PRECEDING" else many)


_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.Mul: "mul",
    exp.Div: "div",
    exp.IntDiv: "quotient",
    exp.Mod: "mod",
}
_READERS: dict[type[exp.Expr], Callable[[exp.Expr], Said]] = {
    **{kind: partial(_binary, name) for kind, name in _OPERATORS.items()},
    exp.NullSafeEQ: partial(_null_safe, True),
    exp.NullSafeNEQ: partial(_null_safe, False),
    exp.Add: partial(_sum, "add"),
    exp.And: partial(_together, "and"),
    exp.Anonymous: _function,
    exp.Between: _between,
    exp.Boolean: _boolean,
    exp.Bracket: _quantile_of,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.Column: _column,
    exp.DPipe: partial(_together, "concat"),
    exp.Extract: _extract,
    exp.Filter: _filter,
    exp.ILike: partial(_like, "ilike"),
    exp.In: _in,
    exp.Interval: _interval,
    exp.Is: _is,
    exp.JSONExtractScalar: _of_json,
    exp.Like: partial(_like, "like"),
    exp.Literal: _literal,
    exp.Neg: partial(_unary, "neg"),
    exp.Not: partial(_unary, "not"),
    exp.Null: _null,
    exp.Or: partial(_together, "or"),
    exp.RegexpILike: partial(_regex, True),
    exp.RegexpLike: partial(_regex, False),
    exp.Paren: _inside,
    exp.SimilarTo: _similar,
    exp.Sub: partial(_sum, "sub"),
    exp.Substring: _substring,
    exp.Trim: _trim,
    exp.TryCast: _cast,
    exp.Window: _window,
    exp.WithinGroup: _within_group,
}
