"""SQRT, LN, LOG, EXP and POWER of rows: total, inside their range, within 64 bits, near to the truth."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import mpmath
import pytest

import discreet as dp
from discreet.engines.memory.row import evaluate as oracle
from discreet.errors import BadQuestion
from discreet.query.functions.curves import ACCURACY, PIECES
from discreet.query.functions.typed_values import TypedColumn
from discreet.query.plan.evaluate import evaluate, program
from discreet.query.plan.expressions import Call, Literal, walk
from discreet.query.plan.types import Number
from discreet.query.typing.infer import Typed, typed
from tests.helpers.examples import read
from tests.helpers.extent import extent

KINDS = {
    "age": Number(Fraction(1), 0, 120),
    "income": Number(Fraction(1), 0, 10**6),
    "price": Number(Fraction(1, 100), -500, 10**9),
    "real": Number(Fraction(1, 1 << 20), 1, 1 << 31),
    "rate": Number(Fraction(1, 1000), -5000, 9000),
    "huge": Number(Fraction(1), -5, (1 << 62) - 1),
    "third": Number(Fraction(1, 3), 1, 900),
}
FIELDS = {name: TypedColumn(kind) for name, kind in KINDS.items()}
CASES: list[tuple[str, str, Callable[[Any], Any]]] = [
    *((f"LN({x})", x, lambda v: mpmath.log(v) if v > 0 else None) for x in KINDS),
    *((f"LOG10({x})", x, lambda v: mpmath.log10(v) if v > 0 else None) for x in ("income", "price")),
    ("LOG2(huge)", "huge", lambda v: mpmath.log(v, 2) if v > 0 else None),
    *((f"SQRT({x})", x, lambda v: mpmath.sqrt(v) if v >= 0 else None) for x in KINDS),
    *((f"EXP({x})", x, mpmath.exp) for x in ("age", "rate")),
    ("POWER(2, rate)", "rate", lambda v: mpmath.mpf(2) ** v),
    ("POWER(0.5, rate)", "rate", lambda v: mpmath.mpf(2) ** -v),
    ("POWER(1, rate)", "rate", lambda v: 1),
    ("POWER(income, 1.5)", "income", lambda v: v ** mpmath.mpf("1.5")),
    ("POWER(price, 1.5)", "price", lambda v: v ** mpmath.mpf("1.5") if v >= 0 else None),
    ("POWER(price, -0.5)", "price", lambda v: v ** mpmath.mpf("-0.5") if v > 0 else None),
    ("POWER(income, 0.25)", "income", lambda v: v ** mpmath.mpf("0.25")),
    ("POWER(rate, -3)", "rate", lambda v: v**-3 if v else None),
    ("POWER(age, 20)", "age", lambda v: v**20),
    ("LOG(3, income)", "income", lambda v: mpmath.log(v, 3) if v > 0 else None),
]


def look(text: str) -> Typed:
    return typed(read(text), FIELDS, keyed=False)


def mp(x: Fraction) -> Any:
    return mpmath.mpf(x.numerator) / x.denominator


def some(kind: Number, dice: Random) -> list[int]:
    """Cells at both ends, next to 0, and of all sizes between."""
    near = [kind.low, kind.low + 1, -1, 0, 1, 2, 3, 10, 35, 100, 999, 1000, kind.high - 1, kind.high]
    sizes = [dice.randrange(1 << dice.randrange(1, kind.high.bit_length() + 1)) for _ in range(extent(12, 300))]
    return [n for n in {*near, *sizes, *(-n for n in sizes)} if kind.low <= n <= kind.high]


@pytest.mark.parametrize(("text", "column", "truth"), CASES, ids=[case[0] for case in CASES])
def test_every_value_is_near_to_the_truth_inside_its_range_and_the_same_to_both_evaluators(
    text: str, column: str, truth: Callable[[Any], Any]
) -> None:
    x, kind = look(text), KINDS[column]
    assert isinstance(x.kind, Number)
    room = mp(ACCURACY * (x.kind.ends[1] - x.kind.ends[0]) + x.kind.step)
    run = program(x.lowered)
    for i, cells in enumerate(some(kind, Random(text))):
        found = run({column: cells})
        if i % extent(6, 1) == 0:
            assert found == oracle(x.lowered, {column: cells})
        right = truth(mp(kind.step * cells))
        assert (found is None) == (right is None), cells
        if found is None:
            assert x.nullable
            continue
        assert x.kind.low <= found <= x.kind.high
        assert abs(mp(found * x.kind.step) - right) <= room
    assert evaluate(x.lowered, {column: None}) is None


@pytest.mark.parametrize(("text", "column"), [("SQRT(price)", "price"), ("LN(rate)", "rate"), ("LN(huge)", "huge")])
def test_a_curve_is_never_asked_beyond_its_domain(text: str, column: str) -> None:
    """An engine may compute all branches of a CASE: the root of a number below 0 would be an error for everybody."""
    x, kind = look(text), KINDS[column]
    asked = [c for c in walk(x.lowered) if isinstance(c, Call) and c.function in ("root", "curve")]
    assert asked
    for call in asked:
        first = 0 if call.function == "root" else call.arguments[1].value  # type: ignore[union-attr]
        for cells in some(kind, Random(text)):
            assert evaluate(call.arguments[0], {column: cells}) >= first


def sound(pieces: list[tuple[int, ...]]) -> bool:
    """The premises of ``curves.md``: pieces follow each other, rise to the next one, and stay within 63 bits."""
    for (start, value, slope, bend, divisor, by), (then, after, *_) in pairwise(pieces):
        last = (then - 1 - start) // by
        rises = slope >= bend and slope - bend * (2 * last - 1) >= 0  # the first step and the last one
        small = max(abs(bend * last), last * (slope - bend * last), slope) < 1 << 62
        if not (start < then and rises and small and value + last * (slope - bend * last) // divisor <= after):
            return False
    return True


def pieces_of(text: str) -> list[list[tuple[int, ...]]]:
    calls = [part for part in walk(look(text).lowered) if isinstance(part, Call) and part.function == "curve"]
    tables = [tuple(one.value for one in call.arguments[1:] if isinstance(one, Literal)) for call in calls]
    return [[table[i : i + 6] for i in range(0, len(table), 6)] for table in tables]  # type: ignore[misc]


@pytest.mark.parametrize("text", [case[0] for case in CASES])
def test_pieces_rise_meet_and_stay_within_63_bits(text: str) -> None:
    for pieces in pieces_of(text):
        assert sound(pieces)
        assert len(pieces) <= PIECES + 200


def test_a_piece_that_bends_too_much_is_seen() -> None:
    (pieces,) = pieces_of("LN(income)")
    start, value, slope, bend, divisor, by = pieces[-2]
    width = -((start - pieces[-1][0]) // by)
    planted = bend * 100  # still through both ends
    assert not sound([*pieces[:-2], (start, value, slope + (planted - bend) * width, planted, divisor, by), pieces[-1]])


def test_whole_powers_have_whole_logarithms_and_squares_exact_roots() -> None:
    for base, text in ((10, "LOG10(huge)"), (2, "LOG2(huge)")):
        x = look(text)
        assert isinstance(x.kind, Number)
        for n in range(18):
            assert evaluate(x.lowered, {"huge": base**n}) * x.kind.step == n
    root = look("FLOOR(SQRT(huge))")
    for n in (0, 1, 7, 10**6, 2**30 + 1, 2**31 - 1):
        cells = [evaluate(root.lowered, {"huge": n * n + more}) for more in (0, 2 * n)]
        assert cells == [n, n]
    assert look("SQRT(income)").kind.step <= Fraction(1, 10**6)  # type: ignore[union-attr]


def test_few_values_are_exact_to_their_step() -> None:
    x = look("LN(age)")
    assert isinstance(x.kind, Number)
    for age in range(1, 121):
        assert abs(mp(evaluate(x.lowered, {"age": age}) * x.kind.step) - mpmath.log(age)) <= mp(x.kind.step)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("LN(price - 100000000)", "that is not above 0 has no value"),
        ("SQRT(-1 - age)", "below 0 has no value"),
        ("EXP(income)", "EXP of numbers this large"),
        ("POWER(age, income)", "EXP\\(y \\* LN\\(x\\)\\)"),
        ("POWER(-2, rate)", "a constant base above 0"),
        ("POWER(price, 9)", "needs a base of 0 or more"),
        ("LN('x')", "needs a number, and this is text"),
    ],
)
def test_what_has_no_value_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(BadQuestion, match=words):
        look(text)


def test_a_session_answers_them_whatever_is_stored() -> None:
    rows = {"id": [*range(8)], "v": [1000, 100, 10, 1, 0, -5, None, 10**15]}
    session = dp.Session(t=dp.table(rows, unit="id", columns={"v": dp.bounds(1, 1000)}), budget=dp.Approx(10**9, 0))
    answer = session.sql("SELECT SUM(LOG10(v)) AS s, COUNT(*) FILTER (WHERE SQRT(v) = 10) AS n, "
                         "COUNT(LN(v - 1)) AS m FROM t").release(epsilon=10**6)  # fmt: skip
    # stored values are moved into their bounds first: 3 + 2 + 1 + 0, 0 and -5 as 1, the last as 1000
    assert float(answer["s"][0]) == pytest.approx(9, abs=1e-3)
    assert round(float(answer["n"][0])) == 1
    assert round(float(answer["m"][0])) == 4


@pytest.mark.parametrize("n", ["1000000", "-1000000"])
@pytest.mark.parametrize("x", ["age + 2", "real", "third / 1000", "2", "0.5"])
def test_a_power_beyond_all_steps_is_refused_at_once(x: str, n: str) -> None:
    """It ended in ``decimal.Overflow`` or, for a constant, did not end."""
    with pytest.raises(BadQuestion, match="smaller exponent"):
        look(f"POWER({x}, {n})")
