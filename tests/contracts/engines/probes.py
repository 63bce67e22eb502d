"""For every primitive, expressions over the table ``wide`` that ask for its corners. Each is a key beside ``id``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from discreet.query.functions.pattern_parts import pattern_parts
from discreet.query.plan.expressions import Column, Expression, Literal
from tests.contracts.engines.lab import READ, f

BIG = 1 << 62
HALF = 1 << 61


def clamped(name: str, bound: int) -> Expression:
    """An integer column within ±bound."""
    return f("read_integer", Column(name), -bound, bound)


X, Y = clamped("i", HALF), clamped("j", HALF)
BOUNDED, OTHER = clamped("i", BIG), clamped("j", BIG)
T, S, B, C, D, E, M, N = (READ[name] for name in "tsbcdemn")
Z = READ["zoned"]
WORDS = (
    "",
    "a",
    "A",
    "a ",
    " ",
    "\u00e9",
    "e\u0301",
    "日本",
    "%",
    "_",
    "\\",
    "a\\b",
    "7",
    "';--",
    "|",
    "\U00010000",
    "\uffff",
)
PATTERNS = (
    "", "%", "_", "__", "a%", "%a", "%b%", "a_b", "a__b", "a\\%b", "\\", "\\\\", "a\\b", "%\\%", "\u00e9", "_\u0301",
    "日_",
    "[a]", "a.b", "(", "*", "%%", "_%", "%_%", "7%", "A%", "';--", "%\n%", "{}", "$1", "^a", "a$", "%'%",
)  # fmt: skip
PARTS = (
    ("a", 0), (".", 0), ("^.", 0), (".$", 0), ("[^a]", 0), ("[0-9]+", 0), ("[^a-z]+$", 0), ("a(.?)", 1), ("\\\\", 0),
    ("(a|b)(\\s|é)?", 2), ("(?i)\\s[a-z]+é", 0), ("(?i)A{1,2}", 0), ("[^b]+b", 0), ("^(.)(.*)$", 2), ("\\||%|_", 0),
    ("'(;)-", 1), ("\U00010000|日|\\+", 0), ("\n|[\\]\\[\\-&~^]", 0),
)  # fmt: skip
"""Patterns with one way to read a text, and the group to extract."""
DAYS = (date.min, date(1970, 1, 1), date(2024, 2, 29), date.max)
TIMES = (datetime.min, datetime(1970, 1, 1), datetime(2024, 2, 29, 23, 59, 59, 999999), datetime.max)


def _compared(function: str) -> list[Expression]:
    pairs = [f(function, X, Y), f(function, T, S), f(function, B, C), f(function, D, E), f(function, M, N)]
    pairs += [f(function, BOUNDED, n) for n in (0, 2**53, 2**53 + 1, BIG, -BIG)]
    pairs += [f(function, T, word) for word in WORDS]
    pairs += [f(function, D, day) for day in DAYS] + [f(function, M, time) for time in TIMES]
    return [
        *pairs,
        f(function, Z, N),
        f(function, B, True),
        f(function, X, Literal(None)),
        f(function, READ["coded"], S),
    ]


def _of_days(function: str) -> list[Expression]:
    return [f(function, D), f(function, M), f(function, Z), f(function, READ["nanos"])]


CURVE = (
    *(-5, -9, 0, 0, 1, 1), *(-4, 7, 8, 3, 2, 1), *(-2, 9, 5000, 4, 7, 2), *(998, 10**6, 1 << 23, 0, 3, 4),
    *(1 << 40, 1 << 60, 1 << 40, 1 << 18, 1 << 41, 1 << 41), *(BIG - 9, 1 << 61, 0, 0, 1, 1),
)  # fmt: skip
"""Pieces of one cell, of few, and of so many that x counts by 4 or by 2^41; what is divided stays within 63 bits."""
SMALL, FACTOR = clamped("i", 1 << 31), clamped("j", 1 << 31)
PROBES: dict[str, Sequence[Expression]] = {
    "read_integer": [
        f("read_integer", Column(name), low, high)
        for name in ("i", "tiny", "unsigned")
        for low, high in ((-BIG, BIG), (0, 10), (-5, -5), (-(1 << 63), (1 << 63) - 1), (3, BIG), (-BIG, -100))
    ],
    "read_decimal": [
        f("read_decimal", Column(name), scale, low, high)
        for name, scale in (("cents", 2), ("digits", 10), ("whole", 0))
        for low, high in ((-BIG, BIG), (0, 500), (-1, 1), (7, 7))
    ],
    "read_coarse": [
        f("read_coarse", Column(name), scale, power, low, high)
        for name, scale, powers in (
            ("i", 0, (1,)), ("unsigned", 0, (2,)), ("cents", 2, (-1, 0)), ("digits", 10, (-3, 3)),
            ("whole", 0, (1, 20)),
        )
        for power in powers
        for low, high in ((-(10**17), 10**17), (0, 500), (-1, 1))
    ],
    "read_real": [
        f("read_real", Column(name), exponent, low, high)
        for name in ("f", "single")
        for exponent in (-1104, -1074, -1044, -60, -53, -30, -24, -1, 0, 1, 3, 30, 62, 500, 970, 994)
        for low, high in ((-(1 << 31), 1 << 31), (0, 1 << 30), (-BIG, BIG), (-7, -2))
    ],
    "read_whole": [f("read_whole", Column("f")), f("read_whole", Column("single"))],
    "read_text": [T, S, READ["coded"]],
    "read_boolean": [B, C],
    "read_date": [D, E],
    "read_timestamp": [READ[name] for name in ("m", "n", "seconds", "millis", "nanos", "zoned")],
    "read_float": [f("is_null", READ["f"]), f("is_null", READ["single"])],
    "add": [f("add", X, Y), f("add", X, 1), f("add", X, Literal(None))],
    "sub": [f("sub", X, Y), f("sub", Y, X), f("sub", 0, BOUNDED)],
    "mul": [f("mul", SMALL, FACTOR), f("mul", BOUNDED, -1), f("mul", X, 2), f("mul", BOUNDED, 0)],
    "neg": [f("neg", BOUNDED), f("neg", f("neg", BOUNDED))],
    "abs": [f("abs", BOUNDED), f("abs", f("sub", SMALL, FACTOR))],
    "sign": [f("sign", BOUNDED), f("sign", f("sub", SMALL, FACTOR))],
    "least": [f("least", BOUNDED, OTHER), f("least", X, Y, 5), f("least", X, 5), f("least", X, Literal(None))],
    "greatest": [f("greatest", BOUNDED, OTHER), f("greatest", X, Y, 5), f("greatest", X, 5, -5)],
    "div": [f("div", BOUNDED, OTHER), f("div", SMALL, FACTOR), f("div", BOUNDED, -1), f("div", BOUNDED, 7), f("div",
    X, 0),
            f("div", -7, FACTOR), f("div", X, BIG)],
    "mod": [f("mod", BOUNDED, OTHER), f("mod", SMALL, FACTOR), f("mod", BOUNDED, -1), f("mod", BOUNDED, 7),
            f("mod", BOUNDED, -7), f("mod", X, 0)],
    "round_div": [f("round_div", x, n) for x in (BOUNDED, SMALL) for n in (1, 2, 3, 7, 10, 2**53 + 1, HALF, BIG - 1,
    BIG)],
    "floor_div": [f("floor_div", x, n) for x in (BOUNDED, SMALL) for n in (1, 2, 3, 7, 10, 2**53 + 1, HALF, BIG - 1,
    BIG)],
    "ceil_div": [f("ceil_div", x, n) for x in (BOUNDED, SMALL) for n in (1, 2, 3, 7, 10, 2**53 + 1, HALF, BIG - 1,
    BIG)],
    "root": [f("root", f("read_integer", Column(name), 0, high)) for name in "ij" for high in (10, 2**53 + 1, BIG - 1)]
    + [f("root", f("mul", f("read_integer", Column("i"), 0, 1 << 30), 1 << 31))],
    "curve": [f("curve", f("read_integer", Column("i"), -5, BIG), *CURVE),
              f("curve", clamped("j", 4), -4, 9, 0, 0, 1, 1)],
    **{function: _compared(function) for function in ("eq", "ne", "lt", "le", "gt", "ge")},
    "in": [f("in", T, *WORDS), f("in", T, "a"), f("in", BOUNDED, 0, 2**53 + 1, BIG, -1), f("in", D, *DAYS), f("in", M,
    *TIMES),
           f("in", B, True), f("in", B, True, False), f("not", f("in", T, "a", "\u00e9"))],
    "is_null": [f("is_null", READ[name]) for name in ("i", "t", "b", "d", "m", "f", "single", "zoned", "coded")]
    + [f("is_null", f("div", X, Y)), f("is_null", Literal(None)), f("is_null", f("read_real", Column("f"), 0, 0, 1))],
    "and": [f("and", B, C), f("and", B, C, f("is_null", X)), f("and", B, Literal(None)), f("and", B, False)],
    "or": [f("or", B, C), f("or", B, C, f("is_null", X)), f("or", B, Literal(None)), f("or", B, True)],
    "not": [f("not", B), f("not", f("and", B, C)), f("not", f("lt", X, Y))],
    "case": [
        f("case", B, X, C, Y, 0),
        f("case", B, T, Literal(None)),
        f("case", f("eq", X, 0), -1, f("is_null", X), -2, f("div", 100, SMALL)),
        f("case", f("lt", X, Y), D, E),
        f("case", B, M, Z),
        f("case", B, C, f("is_null", T)),
    ],
    "coalesce": [f("coalesce", X, Y), f("coalesce", T, S, "none"), f("coalesce", B, False), f("coalesce", D, E),
                 f("coalesce", M, Z), f("coalesce", Literal(None), X), f("coalesce", f("div", X, Y), 0)],
    "like": [f("like", T, pattern) for pattern in PATTERNS],
    "lower": [f("lower", T), f("lower", S)],
    "upper": [f("upper", T), f("upper", READ["coded"])],
    "trim": [f("trim", T), f("trim", S)],
    "ltrim": [f("ltrim", T)],
    "rtrim": [f("rtrim", T)],
    "length": [f("length", T), f("length", S), f("length", READ["coded"])],
    "substring": [f("substring", T, start, count) for start in (1, 2, 3, 400) for count in (0, 1, 2, 10**6)],
    "split_part": [f("split_part", T, word, n) for word in WORDS if word for n in (1, 2, 3, 10_000)],
    "right": [f("right", T, count) for count in (0, 1, 2, 10**6)],
    "regexp_extract": [f("regexp_extract", T, pattern_parts(pattern).extracting(group)) for pattern, group in PARTS],
    "regexp_replace": [
        f("regexp_replace", T, *pattern_parts(pattern).replacing(new, every=every), every)
        for pattern, _ in PARTS
        for new in ("", "it's\\\\$1", "<\\0$>")
        for every in (False, True)
        if not every or pattern != "[^b]+b"
    ],
    "replace": [f("replace", T, word, new) for word in WORDS if word for new in ("", "|", "it's\\", word + word)],
    "concat": [f("concat", T, S), f("concat", T, ""), f("concat", "|", T), f("concat", T, Literal(None))],
    **{function: [f(function, T, word) for word in WORDS] for function in ("starts_with", "ends_with", "contains")},
    "text_to_integer": [f("text_to_integer", T), f("text_to_integer", f("trim", S))],
    "integer_to_text": [f("integer_to_text", READ["i"]), f("integer_to_text", SMALL)],
    "date_to_text": [f("date_to_text", D), f("date_to_text", E)],
    "boolean_to_integer": [f("boolean_to_integer", B), f("boolean_to_integer", f("lt", X, Y))],
    "text_to_date": [f("text_to_date", T), f("text_to_date", f("trim", S)), f("text_to_date", f("date_to_text", D))],
    "text_to_decimal": [
        f("read_coarse", f("text_to_decimal", x), 20, power, -BIG, BIG)
        for x in (T, f("trim", S))
        for power in (-6, -1, -18)
    ],
    "text_to_timestamp": [f("text_to_timestamp", T), f("text_to_timestamp", f("trim", S))],
    "timestamp_to_date": [f("timestamp_to_date", M), f("timestamp_to_date", Z), f("timestamp_to_date", READ["nanos"])],
    "date_to_timestamp": [f("date_to_timestamp", D), f("date_to_timestamp", E)],
    **{
        function: _of_days(function)
        for function in ("year", "quarter", "month", "day", "day_of_week", "day_of_year")
    },
    **{function: [f(function, M), f(function, Z), f(function, READ["nanos"])] for function in ("hour", "minute",
    "second")},
    "date_trunc": [f("date_trunc", unit, x) for unit in ("year", "quarter", "month", "week", "day") for x in (D, M, Z)]
    + [f("date_trunc", unit, x) for unit in ("hour", "minute") for x in (M, Z)],
    "days_between": [f("days_between", D, E), f("days_between", E, D), f("days_between", D, date(2000, 1, 1))],
    "add_days": [f("add_days", D, n) for n in (0, 1, -1, 366, -400, 4_000_000, -4_000_000, 2**31, -(2**31) - 1, BIG,
    -BIG)],
    "seconds_between": [f("seconds_between", M, N), f("seconds_between", N, M), f("seconds_between", Z, M),
                        f("seconds_between", M, datetime(1970, 1, 1))],
    "add_seconds": [f("add_seconds", x, n) for x in (M, Z) for n in (0, 1, -1, 86_399, -90_061, 2**31, -(2**40), BIG)],
}  # fmt: skip
