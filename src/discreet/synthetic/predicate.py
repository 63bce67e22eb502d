"""Conditions in SQL over the columns of a domain, as tables of yes and no over the codes.

Promise: a condition never sees data. It becomes a table over the codes of the columns it names, with SQL's logic of
three values: NULL compared with anything is neither true nor false, and only what is true counts. A comparison that
would cut through a bin is refused. Arithmetic and patterns (``age % 10 = 0``, ``name LIKE 'A%'``) are computed for
every value of a column that has a code for each.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import sqlglot
from numpy.typing import NDArray
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.errors import BadParameter, BadQuestion, Unsupported
from discreet.exact import number
from discreet.query.plan.evaluate import like
from discreet.shown import brief
from discreet.synthetic.domain import Domain

LONGEST = 10_000
LARGEST = 1 << 24
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Predicate:
    """Which combinations of the columns in ``clique`` (ascending places) count: ``table`` has the shape of the clique.

    ``factors``: for a conjunction, the table of each column by itself, whose product ``table`` is.
    """

    __repr__ = brief

    clique: tuple[int, ...]
    table: Booleans
    factors: tuple[Booleans, ...] | None = None
    text: str = ""

    def count(self, marginal: NDArray[Any]) -> Any:
        """The sum of a marginal of the clique over what counts."""
        return marginal[self.table].sum() if self.table.ndim else marginal.sum()


@dataclass(frozen=True, eq=False)
class _Truth:
    """Where a condition is true and where it is false, over some columns; elsewhere it is neither."""

    clique: tuple[int, ...]
    true: Booleans
    false: Booleans
    conjuncts: dict[int, Booleans] | None  # where true, column by column, if it is a conjunction


def predicate(domain: Domain, where: str | Predicate) -> Predicate:
    """A condition such as ``"age < 30 AND clinic IN ('North', 'South')"`` over the columns of a domain.

    >>> p = predicate(Domain({"age": range(3), "sex": ["f", "m"]}), "age >= 1 AND sex = 'f'")
    >>> p.clique, p.table.astype(int).tolist()
    ((0, 1), [[0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]])
    """
    if isinstance(where, Predicate):
        return _fitting(domain, where)
    if not isinstance(where, str) or not where.strip() or len(where) > LONGEST:
        raise BadQuestion(f'a condition must be text of at most {LONGEST} characters, such as "age < 30"')
    try:
        tree = sqlglot.parse_one(where, into=exp.Condition, dialect="duckdb")
    except (SqlglotError, RecursionError, ValueError):
        raise BadQuestion("this condition cannot be read; write it as after WHERE, such as age < 30") from None
    truth = _truth(domain, tree)
    factors = None
    if truth.conjuncts is not None:
        factors = tuple(truth.conjuncts[c] for c in truth.clique)
    return Predicate(truth.clique, truth.true, factors, where)


def _fitting(domain: Domain, given: Predicate) -> Predicate:
    """A condition that was made before, if it is one over this domain: each cell counts once or not at all."""
    own_columns = tuple(sorted({c for c in given.clique if c in range(len(domain))})) == given.clique
    factors = given.factors or ()
    if (
        not own_columns
        or not _yes_or_no(given.table, domain.shape(given.clique))
        or len(factors) not in {0, len(given.clique)}
        or not all(_yes_or_no(factor, domain.shape((c,))) for factor, c in zip(factors, given.clique, strict=False))
    ):
        raise BadQuestion("a condition must hold True or False for each combination of its columns in this domain")
    return given


def _yes_or_no(table: object, shape: tuple[int, ...]) -> bool:
    return isinstance(table, np.ndarray) and table.dtype == bool and table.shape == shape


def question(domain: Domain, text: str | Predicate) -> Predicate:
    """The condition of ``SELECT COUNT(*) FROM ... WHERE condition``, or a condition by itself.

    >>> question(Domain({"x": range(2)}), "SELECT COUNT(*) FROM t WHERE x = 1").table.tolist()
    [False, True, False]
    """
    if not isinstance(text, str) or text.lstrip()[:6].upper() != "SELECT" or len(text) > LONGEST:
        return predicate(domain, text)
    try:
        tree = sqlglot.parse_one(text, dialect="duckdb")
    except (SqlglotError, RecursionError, ValueError):
        raise BadQuestion("this query cannot be read; write SELECT COUNT(*) FROM ... WHERE ...") from None
    if (
        not isinstance(tree, exp.Select)
        or [type(e) for e in tree.expressions] != [exp.Count]
        or not isinstance(tree.expressions[0].this, exp.Star)
        or {key for key, value in tree.args.items() if value} - {"expressions", "from", "from_", "where", "kind"}
    ):
        raise Unsupported("anything but SELECT COUNT(*) FROM ... WHERE ...", "ask for one count at a time")
    where = tree.args.get("where")
    return predicate(domain, where.this.sql(dialect="duckdb") if where else "TRUE")


def _truth(domain: Domain, node: Any) -> _Truth:
    match node:
        case exp.Paren():
            return _truth(domain, node.this)
        case exp.And():
            return _joined(domain, _truth(domain, node.left), _truth(domain, node.right), conjunction=True)
        case exp.Or():
            return _joined(domain, _truth(domain, node.left), _truth(domain, node.right), conjunction=False)
        case exp.Not():
            inner = _truth(domain, node.this)
            single = {inner.clique[0]: inner.false} if len(inner.clique) == 1 else None
            return _Truth(inner.clique, inner.false, inner.true, single)
        case exp.Boolean():
            yes = np.array(bool(node.this))
            return _Truth((), yes, ~yes, {} if node.this else None)
        case exp.Is():
            return _is(domain, node)
        case exp.In():
            if node.args.get("query") or node.args.get("unnest") or not node.expressions:
                raise Unsupported("IN with anything but a list", "write a list of values")
            return _any(domain, node.this, [_value(v) for v in node.expressions])
        case exp.Between():
            low = _compared(domain, node.this, ">=", _value(node.args["low"]))
            high = _compared(domain, node.this, "<=", _value(node.args["high"]))
            return _joined(domain, low, high, conjunction=True)
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            left, right, test = node.left, node.right, _TESTS[type(node)]
            if left.find(exp.Column) is None:
                left, right, test = right, left, _TURNED[test]
            return _compared(domain, left, test, _value(right))
        case exp.Like() | exp.ILike():
            return _alike(domain, node)
        case exp.Column():
            return _compared(domain, node, "=", True)
    raise Unsupported(
        f"{type(node).__name__.upper()} in a condition", "use comparisons, IN, BETWEEN, LIKE, IS NULL, AND, OR, NOT"
    )


_TESTS = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Neg, exp.Abs)
_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _column(domain: Domain, node: Any) -> tuple[int, Any, str]:
    if not isinstance(node, exp.Column) or node.table:
        raise Unsupported("this comparison", "compare a column with a value")
    folded = {name.casefold(): name for name in domain}
    name = node.name if node.name in domain.columns else folded.get(node.name.casefold(), node.name)
    return domain.places([name])[0], domain[name], name


def _each(domain: Domain, node: Any) -> tuple[int, Any, str, list[Any]]:
    """The one column of an expression, and its values, one for each code."""
    columns = list(node.find_all(exp.Column))
    if len({each.name.casefold() for each in columns}) != 1:
        raise Unsupported("a comparison of columns with each other", "compare one column with a value")
    place, column, name = _column(domain, columns[0])
    labels = column.labels
    if isinstance(labels[0], tuple):
        raise Unsupported(f"arithmetic on {name}, which has bins", "compare it with an edge of its bins")
    return place, column, name, labels


def _true_for(place: int, column: Any, yes: Sequence[bool]) -> _Truth:
    """True for these values, false for the others, neither for NULL."""
    true, null = np.zeros(column.size, dtype=bool), np.arange(column.size) >= column.values
    true[: column.values] = yes
    return _Truth((place,), true, ~true & ~null, {place: true})


def _alike(domain: Domain, node: Any) -> _Truth:
    """LIKE with % and _, over text categories."""
    place, column, name, labels = _each(domain, node.this)
    pattern = _value(node.expression)
    if not isinstance(node.this, exp.Column) or not isinstance(labels[0], str) or not isinstance(pattern, str):
        raise Unsupported(f"LIKE of {name}", "use it for a column of text and a pattern in quotes")
    if isinstance(node, exp.ILike):
        pattern, labels = pattern.lower(), [label.lower() for label in labels]
    turned = bool(node.args.get("negate"))  # NOT LIKE
    return _true_for(place, column, [like(label, pattern) is not turned for label in labels])


def _computed(domain: Domain, node: Any, test: str, value: Any) -> _Truth:
    """Arithmetic on one column of whole numbers, compared with a number."""
    place, column, name, labels = _each(domain, node)
    if isinstance(labels[0], bool) or not isinstance(labels[0], int) or not isinstance(value, int | Fraction):
        raise Unsupported(f"arithmetic on {name}", "use it for integers that have a code each, and a number")
    results = [_arithmetic(node, Fraction(label)) for label in labels]
    return _true_for(place, column, [_COMPARE[test](x, value) for x in results])


def _arithmetic(node: Any, x: Fraction) -> Fraction:
    """Exact; the sign of a remainder is that of the number, as in SQL."""
    match node:
        case exp.Column():
            return x
        case exp.Paren():
            return _arithmetic(node.this, x)
        case exp.Neg():
            return -_arithmetic(node.this, x)
        case exp.Abs():
            return abs(_arithmetic(node.this, x))
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Mod():
            a, b = _arithmetic(node.left, x), _arithmetic(node.right, x)
            if isinstance(node, exp.Mod) and not b:
                raise BadQuestion("a remainder of a division by 0 is no number")
            if isinstance(node, exp.Mod):
                return a - b * int(a / b)
            return {exp.Add: a + b, exp.Sub: a - b, exp.Mul: a * b}[type(node)]
    value = _value(node)
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise Unsupported("this arithmetic", "use numbers, +, -, *, % and ABS")
    return Fraction(value)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def _compared(domain: Domain, node: Any, test: str, value: Any) -> _Truth:
    node = node.unnest()
    if isinstance(node, _ARITHMETIC) and value is not None:
        return _computed(domain, node, test, value)
    place, column, name = _column(domain, node)
    null = np.zeros(column.size, dtype=bool)
    null[column.values :] = True
    if value is None:
        return _Truth((place,), null & False, null & False, {place: null & False})
    read = value if not isinstance(value, str) or isinstance(column.labels[0], str) else _moment(value, name)
    plain: Callable[[str], Booleans] = lambda t: column.places(t, read, name)  # noqa: E731 - read below, once
    inside = {
        "=": lambda: plain("="),
        "<>": lambda: ~plain("="),
        "<": lambda: plain("<"),
        "<=": lambda: plain("<="),
        ">": lambda: ~plain("<="),
        ">=": lambda: ~plain("<"),
    }[test]()
    true = np.zeros(column.size, dtype=bool)
    true[: column.values] = inside
    return _Truth((place,), true, ~true & ~null, {place: true})


def _moment(value: str, name: str) -> Any:
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise BadParameter(name, value, "must be compared with a value of its own kind") from None


def _any(domain: Domain, node: Any, values: list[Any]) -> _Truth:
    parts = [_compared(domain, node, "=", value) for value in values]
    true = np.any([p.true for p in parts], axis=0)
    false = np.all([p.false for p in parts], axis=0)
    return _Truth(parts[0].clique, true, false, {parts[0].clique[0]: true})


def _is(domain: Domain, node: Any) -> _Truth:
    if isinstance(node.expression, exp.Null):
        place, column, _ = _column(domain, node.this)
        true = np.arange(column.size) >= column.values
        return _Truth((place,), true, ~true, {place: true})
    if isinstance(node.expression, exp.Boolean):
        inner = _truth(domain, node.this)
        true = inner.true if node.expression.this else inner.false
        single = {inner.clique[0]: true} if len(inner.clique) == 1 else None
        return _Truth(inner.clique, true, ~true, single)
    raise Unsupported("IS with anything but NULL, TRUE or FALSE", "compare with =")


def _joined(domain: Domain, a: _Truth, b: _Truth, *, conjunction: bool) -> _Truth:
    clique = tuple(sorted({*a.clique, *b.clique}))
    if domain.size(clique) > LARGEST:
        raise BadQuestion(f"a condition over {domain.size(clique):,} combinations is too large; name fewer columns")
    a_true, a_false, b_true, b_false = (
        _spread(domain, table, have, clique)
        for table, have in ((a.true, a.clique), (a.false, a.clique), (b.true, b.clique), (b.false, b.clique))
    )
    if not conjunction:
        return _Truth(clique, a_true | b_true, a_false & b_false, _union(a, b))
    single = None
    if a.conjuncts is not None and b.conjuncts is not None:
        single = dict(a.conjuncts)
        for place, table in b.conjuncts.items():
            single[place] = single[place] & table if place in single else table
    return _Truth(clique, a_true & b_true, a_false | b_false, single)


def _union(a: _Truth, b: _Truth) -> dict[int, Booleans] | None:
    """OR within one column is still a condition on that column alone."""
    if len(a.clique) == 1 and a.clique == b.clique:
        return {a.clique[0]: a.true | b.true}
    return None


def _spread(domain: Domain, table: Booleans, have: tuple[int, ...], want: tuple[int, ...]) -> Booleans:
    shape = [domain.sizes[c] if c in have else 1 for c in want]
    return np.broadcast_to(table.reshape(shape), domain.shape(want))


def _value(node: Any) -> Any:
    match node:
        case exp.Paren():
            return _value(node.this)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.Literal():
            if node.is_string:
                return str(node.this)
            exact = number(str(node.this), "value")
            return int(exact) if exact.denominator == 1 else exact
        case exp.Neg():
            value = _value(node.this)
            if value is not None and not isinstance(value, (str, bool, date)):
                return -value
        case exp.Cast() if node.to.this == exp.DataType.Type.DATE:
            return _moment(str(_value(node.this)), "date")
        case exp.Date():
            return _moment(str(_value(node.this)), "date")
    raise Unsupported("this value", "compare columns with plain values")
