"""All functions that a question may use, by name: what they need, what they give, how they are lowered.

Every one is total: on every row it gives a value or NULL, never an error; a cast that does not fit gives NULL. What is
not in ``FUNCTIONS`` is refused by name. Names are those of the primitives where these exist, and
``clamp(x, low, high)  nullif(x, y)  round(x, digits)  floor  ceil  trunc  quotient(x, y)  power(x, n)  ilike
width_bucket(x, low, high, n)  cast_integer  cast_decimal(x, digits)  cast_real  cast_text  cast_date  cast_timestamp
cast_boolean  date_diff(unit, x, y)  left(x, n)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from functools import partial

from discreet.errors import Unsupported
from discreet.query.functions import arithmetic, dates
from discreet.query.functions.arithmetic import call, made
from discreet.query.functions.comparison import as_timestamp, compare, is_in, unify
from discreet.query.functions.typed_values import (
    Typed,
    bound,
    expect,
    integer_literal,
    is_null_literal,
    plain,
    refuse,
    text_literal,
    words,
)
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.types import LARGEST, Boolean, Date, Number, Real, Text, Timestamp, Value

MOST_PERCENT = 8
LONGEST_TEXT = 1 << 31
"""LENGTH says no more than this; no engine holds a longer text."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A function of typed arguments, with the least and largest number of them (None: any)."""

    apply: Callable[..., Typed]
    fewest: int
    most: int | None


def apply(name: str, arguments: Sequence[Typed]) -> Typed:
    """The typed result of a function; refuses unknown names and wrong numbers of arguments."""
    rule = FUNCTIONS.get(name)
    if rule is None:
        near = get_close_matches(name, FUNCTIONS, n=1)
        raise Unsupported(
            f"the function {name}", f"did you mean {near[0]}?" if near else "the SQL page lists those that can"
        )
    if len(arguments) < rule.fewest or (rule.most is not None and len(arguments) > rule.most):
        wanted = str(rule.fewest) if rule.fewest == rule.most else f"{rule.fewest} to {rule.most or 'any number'}"
        refuse(f"{name} takes {wanted} arguments, not {len(arguments)}")
    return rule.apply(*arguments)


# --- logic ----------------------------------------------------------------------------------------------------------


def _logic(name: str, *parts: Typed) -> Typed:
    """AND, OR of any number: paired up as a balanced tree, so that a long list stays shallow."""
    for x in parts:
        expect(x, Boolean, name.upper(), "true or false")
    level = [x.lowered for x in parts]
    while len(level) > 1:
        pairs: list[Expression] = [call(name, *level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
        level = pairs + ([level[-1]] if len(level) % 2 else [])
    return Typed(Boolean(), any(x.nullable for x in parts), lowered=level[0])


def _not(x: Typed) -> Typed:
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
    whens = parts[:-1:2]
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
    found: dict[Value, None] = {}
    for value in values:
        if value.keys is None:
            return None
        found.update(dict.fromkeys(value.keys))
    return tuple(found)


def _nullif(x: Typed, y: Typed) -> Typed:
    if isinstance(x.kind, Real):
        refuse(f"NULLIF needs a number with bounds; {bound(x)}")
    same = compare("eq", x, y)
    return Typed(x.kind, True, lowered=Call("case", (same.lowered, Literal(None), x.lowered)))


# --- text -----------------------------------------------------------------------------------------------------------


def _text(name: str, x: Typed) -> Typed:
    expect(x, Text, name.upper(), "text")
    return Typed(Text(), x.nullable, lowered=call(name, x.lowered))


def _length(x: Typed) -> Typed:
    expect(x, Text, "LENGTH", "text")
    return made(Fraction(1), 0, LONGEST_TEXT, call("least", call("length", x.lowered), LONGEST_TEXT), x)


def _substring(x: Typed, start: Typed, count: Typed | None = None) -> Typed:
    expect(x, Text, "SUBSTRING", "text")
    first = integer_literal(start, "the start of SUBSTRING", 1, 1_000_000_000)
    many = 1_000_000_000 if count is None else integer_literal(count, "the length of SUBSTRING", 0, 1_000_000_000)
    return Typed(Text(), x.nullable, lowered=call("substring", x.lowered, first, many))


def _left(x: Typed, count: Typed) -> Typed:
    many = integer_literal(count, "the length of LEFT", 0, 1_000_000_000)
    expect(x, Text, "LEFT", "text")
    return Typed(Text(), x.nullable, lowered=call("substring", x.lowered, 1, many))


def _concat(*parts: Typed) -> Typed:
    for x in parts:
        expect(x, Text, "CONCAT", "text (CAST others AS TEXT)")
    lowered = parts[0].lowered
    for x in parts[1:]:
        lowered = call("concat", lowered, x.lowered)
    return Typed(Text(), any(x.nullable for x in parts), lowered=lowered)


def _pattern(x: Typed, pattern: Typed, what: str) -> str:
    expect(x, Text, what, "text")
    text = text_literal(pattern, f"the pattern of {what}")
    if text.count("%") > MOST_PERCENT:
        refuse(f"a pattern of {what} has at most {MOST_PERCENT} percent signs")
    return text


def _like(x: Typed, pattern: Typed) -> Typed:
    text = _pattern(x, pattern, "LIKE")
    return Typed(Boolean(), x.nullable, lowered=Call("like", (x.lowered, Literal(text))))


def _ilike(x: Typed, pattern: Typed) -> Typed:
    text = evaluate(Call("lower", (Literal(_pattern(x, pattern, "ILIKE")),)), {})
    return Typed(Boolean(), x.nullable, lowered=Call("like", (call("lower", x.lowered), Literal(text))))


def _search(name: str, x: Typed, part: Typed) -> Typed:
    expect(x, Text, name.upper(), "text")
    text = text_literal(part, f"the second argument of {name.upper()}")
    return Typed(Boolean(), x.nullable, lowered=Call(name, (x.lowered, Literal(text))))


# --- casts ----------------------------------------------------------------------------------------------------------


def _no_cast(x: Typed, target: str) -> Typed:
    if is_null_literal(x):
        refuse(f"CAST of NULL AS {target} is always NULL; leave it out")
    if isinstance(x.kind, Real):
        refuse(f"CAST AS {target} needs a number with bounds; {bound(x)}")
    raise Unsupported(f"CAST of {words(x)} AS {target}", "compare it, or aggregate it as it is")


def _cast_integer(x: Typed) -> Typed:
    match x.kind:
        case Text() if not is_null_literal(x):
            # The digits allowed stay below 10^18; claimed is what marks a number that nobody bounded.
            return made(Fraction(1), -LARGEST, LARGEST, call("text_to_integer", x.lowered), nullable=True)
        case Boolean() if not is_null_literal(x):
            return as_integer(x)
        case Number():
            return arithmetic.whole(x, "CAST AS INTEGER")
        case _:
            return _no_cast(x, "INTEGER")


def as_integer(x: Typed) -> Typed:
    """True as 1, false as 0."""
    return made(Fraction(1), 0, 1, call("boolean_to_integer", x.lowered), x)


def _cast_decimal(x: Typed, digits: Typed | None = None) -> Typed:
    """Exact numbers stay exact; with digits, they are rounded to as many."""
    if isinstance(x.kind, Boolean) and not is_null_literal(x):
        return as_integer(x)
    if not isinstance(x.kind, Number):
        return _no_cast(x, "DECIMAL")
    return plain(x) if digits is None else arithmetic.rounded(x, digits)


def _cast_real(x: Typed) -> Typed:
    if isinstance(x.kind, Real):
        return plain(x)
    return _cast_decimal(x)


def _cast_text(x: Typed) -> Typed:
    match x.kind:
        case Text() if not is_null_literal(x):
            return plain(x)
        case Number(step=step) if step == 1:
            return Typed(Text(), x.nullable, lowered=call("integer_to_text", x.lowered))
        case Date():
            return Typed(Text(), x.nullable, lowered=call("date_to_text", x.lowered))
        case Boolean() if not is_null_literal(x):
            texts = (x.lowered, Literal("true"), call("is_null", x.lowered), Literal(None), Literal("false"))
            return Typed(Text(), x.nullable, lowered=Call("case", texts))
        case _:
            return _no_cast(x, "TEXT")


def _cast_date(x: Typed) -> Typed:
    match x.kind:
        case Date():
            return plain(x)
        case Timestamp():
            return dates.date_of(x)
        case Text() if not is_null_literal(x):
            return Typed(Date(), True, lowered=call("text_to_date", x.lowered))
        case _:
            return _no_cast(x, "DATE")


def _cast_timestamp(x: Typed) -> Typed:
    if isinstance(x.kind, (Date, Timestamp)):
        return plain(as_timestamp(x))
    return _no_cast(x, "TIMESTAMP")


def _cast_boolean(x: Typed) -> Typed:
    match x.kind:
        case Boolean() if not is_null_literal(x):
            return plain(x)
        case Number():
            return compare("ne", x, Typed(Number(Fraction(1), 0, 0), False, lowered=Literal(0)))
        case _:
            return _no_cast(x, "BOOLEAN")


def _clamp(x: Typed, low: Typed, high: Typed) -> Typed:
    if isinstance(x.kind, (Date, Timestamp)):
        return dates.clamp_date(x, low, high)
    return arithmetic.clamp(x, low, high)


def _add(x: Typed, y: Typed) -> Typed:
    """A sum; of a date and a number of days, a date."""
    if isinstance(y.kind, Date) and isinstance(x.kind, Number):
        x, y = y, x
    return dates.later(x, y) if isinstance(x.kind, Date) else arithmetic.add(x, y)


def _sub(x: Typed, y: Typed) -> Typed:
    """A difference; of two dates in days, of a date and a number of days a date."""
    if isinstance(x.kind, Date) and isinstance(y.kind, Date):
        return dates.days_between(y, x)
    return dates.later(x, arithmetic.neg(y)) if isinstance(x.kind, Date) else arithmetic.sub(x, y)


# --- the list -------------------------------------------------------------------------------------------------------

_COMPARING = {name: Rule(partial(compare, name), 2, 2) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_SHAPING = {name: Rule(partial(_text, name), 1, 1) for name in ("lower", "upper", "trim", "ltrim", "rtrim")}
_SEARCHING = {name: Rule(partial(_search, name), 2, 2) for name in ("starts_with", "ends_with", "contains")}
_PARTS = {
    name: Rule(dates.part(name, low, high, clock=clock), 1, 1)
    for name, low, high, clock in (
        ("quarter", 1, 4, False),
        ("month", 1, 12, False),
        ("day", 1, 31, False),
        ("day_of_week", 1, 7, False),
        ("day_of_year", 1, 366, False),
        ("hour", 0, 23, True),
        ("minute", 0, 59, True),
        ("second", 0, 59, True),
    )
}
FUNCTIONS: dict[str, Rule] = {
    "add": Rule(_add, 2, 2),
    "sub": Rule(_sub, 2, 2),
    "mul": Rule(arithmetic.mul, 2, 2),
    "div": Rule(arithmetic.div, 2, 2),
    "quotient": Rule(arithmetic.quotient, 2, 2),
    "mod": Rule(arithmetic.mod, 2, 2),
    "power": Rule(arithmetic.power, 2, 2),
    "neg": Rule(arithmetic.neg, 1, 1),
    "abs": Rule(arithmetic.absolute, 1, 1),
    "sign": Rule(arithmetic.sign, 1, 1),
    "least": Rule(arithmetic.least, 1, None),
    "greatest": Rule(arithmetic.greatest, 1, None),
    "round": Rule(arithmetic.rounded, 1, 2),
    "floor": Rule(arithmetic.floored, 1, 1),
    "ceil": Rule(arithmetic.ceiled, 1, 1),
    "trunc": Rule(arithmetic.truncated, 1, 1),
    "clamp": Rule(_clamp, 3, 3),
    "width_bucket": Rule(arithmetic.width_bucket, 4, 4),
    **_COMPARING,
    "in": Rule(is_in, 2, None),
    "is_null": Rule(_is_null, 1, 1),
    "and": Rule(partial(_logic, "and"), 1, None),
    "or": Rule(partial(_logic, "or"), 1, None),
    "not": Rule(_not, 1, 1),
    "case": Rule(_case, 3, None),
    "coalesce": Rule(_coalesce, 1, None),
    "nullif": Rule(_nullif, 2, 2),
    **_SHAPING,
    "length": Rule(_length, 1, 1),
    "substring": Rule(_substring, 2, 3),
    "left": Rule(_left, 2, 2),
    "concat": Rule(_concat, 1, None),
    "like": Rule(_like, 2, 2),
    "ilike": Rule(_ilike, 2, 2),
    **_SEARCHING,
    "cast_integer": Rule(_cast_integer, 1, 1),
    "cast_decimal": Rule(_cast_decimal, 1, 2),
    "cast_real": Rule(_cast_real, 1, 1),
    "cast_text": Rule(_cast_text, 1, 1),
    "cast_date": Rule(_cast_date, 1, 1),
    "cast_timestamp": Rule(_cast_timestamp, 1, 1),
    "cast_boolean": Rule(_cast_boolean, 1, 1),
    "year": Rule(dates.year, 1, 1),
    **_PARTS,
    "week": Rule(dates.week, 1, 1),
    "date_trunc": Rule(dates.trunc, 2, 2),
    "date_diff": Rule(dates.date_diff, 3, 3),
    "days_between": Rule(dates.days_between, 2, 2),
    "seconds_between": Rule(dates.seconds_between, 2, 2),
    "add_days": Rule(dates.later, 2, 2),
}
