"""What typing claims of an expression, held against its value on a row."""

from datetime import date, datetime
from random import Random
from typing import Any

from discreet.engines.memory import row as memory_row
from discreet.errors import BadQuestion
from discreet.query.functions.typed_values import is_wide
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Call, Column, Expression, Literal, walk
from discreet.query.plan.primitives import PRIMITIVES
from discreet.query.plan.types import LARGEST, Boolean, Date, Number, Text, Timestamp
from discreet.query.typing.infer import Typed, typed
from tests.helpers.surface import FIELDS, MEANING, Row, meaning

WIDEST = 1 << 63


def call(function: str, *arguments: Any) -> Call:
    return Call(function, tuple(a if isinstance(a, (Call, Column, Literal)) else Literal(a) for a in arguments))


def col(name: str) -> Column:
    return Column(name)


def value(x: Typed, values: Row) -> Any:
    """The value that a row has: for numbers as a Fraction."""
    found = evaluate(x.lowered, values)
    return found * x.kind.step if isinstance(x.kind, Number) and found is not None else found


def is_in_claim(x: Typed, found: Any) -> bool:
    if found is None:
        return x.nullable
    match x.kind:
        case Number(low=low, high=high):
            return type(found) is int and low <= found <= high
        case Date(low=low, high=high):
            return type(found) is date and low <= found <= high
        case Timestamp(low=low, high=high):
            return type(found) is datetime and low <= found <= high
        case Boolean():
            return type(found) is bool
        case Text():
            return type(found) is str
    return False


def check_range(asked: Expression, values: Row) -> None:
    try:
        x = typed(asked, FIELDS)
    except BadQuestion:
        return
    found = evaluate(x.lowered, values)
    assert is_in_claim(x, found)
    parts = list(walk(x.lowered))
    for part in parts if len(parts) <= 200 else Random(len(parts)).sample(parts, 200):
        assert not isinstance(part, Call) or part.function in PRIMITIVES
        inner = evaluate(part, values)
        assert memory_row.evaluate(part, values) == inner, "two evaluators that share no code"
        assert not isinstance(inner, int) or -WIDEST <= inner < WIDEST
    if x.keys is not None and found is not None:
        assert found in x.keys


def check_meaning(asked: Expression, values: Row) -> None:
    """Each call alone, on the values that its arguments have: exact, or as far off as the documentation says."""
    for part in walk(asked):
        if not isinstance(part, Call) or part.function not in MEANING:
            continue
        try:
            x = typed(part, FIELDS)
            arguments = [typed(a, FIELDS) for a in part.arguments]
        except BadQuestion:
            continue
        if all(isinstance(a.kind, Number) for a in arguments):
            inner = [value(a, values) for a in arguments]
            _compare(x, part.function, arguments, inner, value(x, values))


def _compare(x: Typed, function: str, arguments: list[Typed], values: list[Any], found: Any) -> None:
    exact = meaning(function, values)
    if exact is None or isinstance(exact, bool):
        assert found is exact
        return
    assert found is not None
    assert isinstance(x.kind, Number)
    kinds = [a.kind for a in arguments if isinstance(a.kind, Number)]
    if any(is_wide(a) for a in arguments):
        limit = LARGEST // 2**20 * min(k.step for k in [*kinds, x.kind])
        if max(abs(v) for v in [*values, exact] if v is not None) > limit:
            return  # saturated; the range was checked elsewhere
    step = x.kind.step
    match function:
        case "div" if not isinstance(arguments[1].lowered, Literal):
            assert found == int(exact / step) * step  # towards zero
            assert (
                step * LARGEST <= 2 * kinds[0].step / kinds[1].step * max(abs(kinds[0].low), abs(kinds[0].high), 1) * 2
            )
        case "mul" if not any(isinstance(a.lowered, Literal) for a in arguments):
            a, b = kinds
            if step == a.step * b.step:
                assert found == exact
            else:  # rounded to make room: at most one step of each rounded factor
                off_a, off_b = step / b.step, step / a.step
                assert abs(found - exact) <= abs(values[0]) * off_b + abs(values[1]) * off_a + off_a * off_b
                assert max(abs(x.kind.low), abs(x.kind.high)) >= 1 << 58, "rounded without need"
        case "add" | "sub" | "least" | "greatest":
            reach = max(abs(end) for k in kinds for end in k.ends)
            coarse = any(max(abs(k.low), abs(k.high)).bit_length() > 31 for k in kinds)
            assert abs(found - exact) <= (reach / (1 << 29) if coarse else 0)
        case _:
            assert found == exact, function
