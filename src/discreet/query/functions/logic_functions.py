"""Comparisons, logic and choices, one record each; ``comparison.py`` says how two values meet."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from discreet.query.functions.arithmetic import call, made
from discreet.query.functions.comparison import compare, is_in, truth_of, unify
from discreet.query.functions.record import (
    AND,
    ATOM,
    COMPARED,
    NOT,
    OR,
    Arguments,
    Build,
    Function,
    Reading,
    T,
    Written,
    chained,
    pattern,
    placed,
)
from discreet.query.functions.released_values import compared, value_or_null
from discreet.query.functions.typed_values import Typed, bound, expect, is_null_literal, plain, refuse
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.types import Boolean, Real, Value

# --- type rules -------------------------------------------------------------------------------------------------------


def _logic(name: str, *parts: Typed) -> Typed:
    """AND, OR of any number: paired up as a balanced tree, so that a long list stays shallow."""
    parts = tuple(map(truth_of, parts))
    for x in parts:
        expect(x, Boolean, name.upper(), "true or false")
    level = [x.lowered for x in parts]
    while len(level) > 1:
        pairs: list[Expression] = [call(name, *level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
        level = pairs + ([level[-1]] if len(level) % 2 else [])
    return Typed(Boolean(), any(x.nullable for x in parts), lowered=level[0])


def _not(x: Typed) -> Typed:
    x = truth_of(x)
    expect(x, Boolean, "NOT", "true or false")
    return Typed(Boolean(), x.nullable, lowered=call("not", x.lowered))


def _is_null(x: Typed) -> Typed:
    return Typed(Boolean(), nullable=False, lowered=call("is_null", present(x).lowered))


def present(x: Typed) -> Typed:
    """Something that is NULL exactly where x is: for a raw float, NaN counts as NULL."""
    if not isinstance(x.kind, Real):
        return x
    return made(Fraction(1), 0, 0, call("read_real", x.lowered, 0, 0, 0), x)


def _case(*parts: Typed) -> Typed:
    if len(parts) % 2 == 0:
        refuse("CASE takes pairs of a condition and a value, and one value for the rest")
    whens = [truth_of(x) for x in parts[:-1:2]]
    for when in whens:
        expect(when, Boolean, "WHEN", "true or false")
    kind, values = unify((*parts[1::2], parts[-1]), "CASE")
    lowered: list[Expression] = []
    for when, then in zip(whens, values, strict=False):
        lowered += [when.lowered, then.lowered]
    null = any(v.nullable or is_null_literal(v) for v in values)
    return Typed(kind, null, _united(values), lowered=Call("case", (*lowered, values[-1].lowered)))


def _coalesce(*parts: Typed) -> Typed:
    kind, values = unify(parts, "COALESCE")
    null = all(v.nullable or is_null_literal(v) for v in values)
    keys = _united(values)
    if keys is not None and (not null or None not in (values[-1].keys or ())):
        keys = tuple(k for k in keys if k is not None)
    if len(values) == 1:
        return plain(values[0])
    return Typed(kind, null, keys, lowered=Call("coalesce", tuple(v.lowered for v in values)))


def _united(values: Sequence[Typed]) -> tuple[Value, ...] | None:
    """The keys of all values together, if all have a list; the word NULL is a key."""
    united: dict[Value, None] = {}
    for value in values:
        if value.keys is None:
            return None
        united.update(dict.fromkeys(value.keys))
    return tuple(united)


def _nullif(x: Typed, y: Typed) -> Typed:
    if isinstance(x.kind, Real):
        refuse("NULLIF needs a number with bounds", bound(x))
    same = compare("eq", x, y)
    return Typed(x.kind, True, lowered=Call("case", (same.lowered, Literal(None), x.lowered)))


# --- on plain values --------------------------------------------------------------------------------------------------


def _decided(by: bool, *values: object) -> bool | None:
    """AND is decided by one false, OR by one true; otherwise NULL wins over the rest."""
    if any(value is by for value in values):
        return by
    return (not by) if all(value is (not by) for value in values) else None


def _chosen(*values: Any) -> Any:
    """CASE."""
    return next((then for when, then in zip(values[:-1:2], values[1::2], strict=True) if when is True), values[-1])


def _one_of(x: Any, *listed: Any) -> bool | None:
    equal = [compared("eq", value_or_null(x), value_or_null(candidate)) for candidate in listed]
    return True if True in equal else None if None in equal else False


def _unless(x: Any, y: Any) -> Any:
    """NULLIF."""
    value = value_or_null(x)
    return None if compared("eq", value, value_or_null(y)) is True else value


# --- printed forms ----------------------------------------------------------------------------------------------------


def _in_form(_: Arguments, inside: list[Written]) -> Written:
    x, *listed = inside
    return f"{placed(ATOM, x)} IN ({', '.join(text for text, _ in listed)})", COMPARED


def _case_form(_: Arguments, inside: list[Written]) -> Written:
    *pairs, otherwise = [text for text, _ in inside]
    whens = " ".join(f"WHEN {when} THEN {then}" for when, then in zip(pairs[::2], pairs[1::2], strict=True))
    return f"CASE {whens} ELSE {otherwise} END", ATOM


# --- records ----------------------------------------------------------------------------------------------------------


def _comparing(name: str, sign: str, method: str, doc: str, shown: bool) -> Function:
    return Function(name, f"x {sign} y", doc, partial(compare, name), (f"1 {sign} 2", shown), (2, 2),
                    partial(compared, name), sql=(), sign=(sign, COMPARED), method=method)  # fmt: skip


LOGIC = (
    _comparing("eq", "=", "__eq__", "The same; text by code point.", False),
    _comparing("ne", "<>", "__ne__", "Not the same.", True),
    _comparing("lt", "<", "__lt__", "Below.", True),
    _comparing("le", "<=", "__le__", "Not above.", True),
    _comparing("gt", ">", "__gt__", "Above.", False),
    _comparing("ge", ">=", "__ge__", "Not below.", False),
    Function("in", "x IN (a, b, ...)", "One of the constants.", is_in, ("1 IN (2, 1)", True), (2, None), _one_of,
             strict=False, sql=(), form=_in_form, method="is_in"),
    Function("is_null", "x IS NULL", "NULL.", _is_null, ("1 + 1 IS NULL", False),
             meaning=lambda x: value_or_null(x) is None, strict=False, sql=(), form=pattern("{0} IS NULL", COMPARED),
             method="is_null()"),
    Function("and", "x AND y", "Both are true.", partial(_logic, "and"), ("TRUE AND FALSE", False), (1, None),
             partial(_decided, False), strict=False, sql=(), sign=("AND", AND), form=chained("AND", AND, NOT),
             method="__and__"),
    Function("or", "x OR y", "One is true.", partial(_logic, "or"), ("TRUE OR FALSE", True), (1, None),
             partial(_decided, True), strict=False, sql=(), sign=("OR", OR), form=chained("OR", OR, AND),
             method="__or__"),
    Function("not", "NOT x", "Not true.", _not, ("NOT TRUE", False),
             meaning=lambda x: not x if isinstance(x, bool) else None, strict=False, sql=(),
             form=pattern("NOT {0}", NOT), method="__invert__"),
    Function("case", "CASE WHEN x THEN a ELSE b END", "The value of the first condition that is true.", _case,
             ("CASE WHEN FALSE THEN 1 ELSE 2 END", 2), (3, None), _chosen, strict=False, sql=(), form=_case_form,
             method="case"),
    Function("coalesce", "COALESCE(x, y, ...)", "The first that is not NULL.", _coalesce, ("COALESCE(NULL, 2)", 2),
             (1, None), lambda *values: next((v for v in map(value_or_null, values) if v is not None), None),
             strict=False, method="or_else(*others: Self | Plain)"),
    Function("nullif", "NULLIF(x, y)", "NULL where it equals the other.", _nullif, ("NULLIF(1, 2)", 1), (2, 2),
             _unless, strict=False, method="null_if(other: Self | Plain)"),
)  # fmt: skip


def _if(apply: Build[T], when: T, then: T, *otherwise: T) -> T:
    return apply("case", when, then, *(otherwise or (Literal(None),)))


def _decode(apply: Build[T], x: T, *rest: T) -> T:
    """The value beside the constant that x is; NULL is one of them."""
    given: list[T | Literal] = [*rest, *([] if len(rest) % 2 else [Literal(None)])]
    pairs, otherwise = given[:-1], given[-1]
    branches: list[T | Literal] = []
    for when, then in zip(pairs[::2], pairs[1::2], strict=True):
        branches += [apply("is_null", x) if when == Literal(None) else apply("eq", x, when), then]
    return apply("case", *branches, otherwise)


LOGIC_READINGS = {
    "if": Reading("IF(x, a, b)", "CASE WHEN x THEN a ELSE b END; without b, NULL.", (2, 3), _if),
    "iif": Reading("IIF(x, a, b)", "The same.", (2, 3), _if),
    "iff": Reading("IFF(x, a, b)", "The same.", (2, 3), _if),
    "nvl2": Reading(
        "NVL2(x, a, b)",
        "a where x is not NULL, else b.",
        (3, 3),
        lambda apply, x, a, b: apply("case", apply("is_null", x), b, a),
    ),
    "decode": Reading("DECODE(x, v, a, ..., b)", "CASE of constants: a where x is v, else b.", (3, None), _decode),
    "nvl": Reading("NVL(x, y)", "COALESCE(x, y).", (2, 2), lambda apply, x, y: apply("coalesce", x, y)),
    "isnull": Reading(
        "ISNULL(x, y)",
        "COALESCE(x, y); without y, x IS NULL.",
        (1, 2),
        lambda apply, x, *y: apply("coalesce", x, *y) if y else apply("is_null", x),
    ),
    "ifnull": Reading("IFNULL(x, y)", "COALESCE(x, y).", (2, 2), lambda apply, x, y: apply("coalesce", x, y)),
}
