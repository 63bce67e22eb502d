"""Which event tells two inputs apart best? Search on samples; nothing is certified here.

An event is a question about one outcome, with its text. Tried are: thresholds in both directions on every
number that an outcome holds, value classes (is it whole, which bits of it are set, NaN, infinite, minus zero), equality
with frequent outcomes, sets of outcomes by their likelihood ratio, which keys are there, failures, and a linear
classifier over all numbers of a vector.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.checking.exact.outputs import frozen
from discreet.checking.sampling.binomial import lower, upper
from discreet.checking.sampling.observed import Outcome, Raised

_THRESHOLDS = 400
_FREQUENT = 24
_MOST_OUTCOMES = 4000
_MOST_NUMBERS = 64
_MOST_CLASSES = 8
_SHIFTS = (0, 1, 2, 10, 20, 30, 40, 45, 50, 51, 52, 53, 54, 55, 60, 70)

CAUTIONS = (0.1, 1e-3, 1e-6)
"""One-sided errors at which the search sample is read; each leads to one event that is certified."""


@dataclass(frozen=True, slots=True)
class Question:
    """An event, as text and as a function of one outcome."""

    words: str
    holds: Callable[[Outcome], bool] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """The question that separates best, and which side shows it more often."""

    question: Question
    swapped: bool
    """Whether the event is more likely on the second input."""
    target: int
    """Which of the claimed (ε, δ) it speaks against."""
    margin: float
    """By how much the lower bound of ε that it is expected to certify exceeds that ε."""


def best_questions(
    first: Sequence[Outcome],
    second: Sequence[Outcome],
    targets: Sequence[tuple[float, float]],
    *,
    fresh: int,
    failure: float,
) -> list[Choice]:
    """For each way of reading the samples, the question that exceeds one of the (ε, δ) by most.

    Read boldly, a rare event may look best that is so by luck; read with caution, only a frequent one does.
    """
    candidates, counted = zip(*_candidates(first, second), strict=True)
    held = np.array(counted, dtype=np.float64)
    sizes = (len(first), len(second))
    plainly = np.array([_effort(question.words) for question in candidates])
    choices = [_best(held, sizes, targets, plainly, (caution, fresh, failure)) for caution in CAUTIONS]
    return [
        Choice(negation(candidates[i]) if negated else candidates[i], swapped, target, margin)
        for margin, i, swapped, negated, target in dict.fromkeys(choices)
    ]


def _best(
    held: Floats,
    sizes: tuple[int, int],
    targets: Sequence[tuple[float, float]],
    effort: Floats,
    reading: tuple[float, int, float],
) -> tuple[float, int, bool, bool, int]:
    best = (-math.inf, 0, False, False, 0)
    for swapped in (False, True):
        for negated in (False, True):
            counts = np.array(sizes) - held if negated else held
            p, q = (1, 0) if swapped else (0, 1)
            p_low, q_up = expected((counts[:, p], sizes[p]), (counts[:, q], sizes[q]), reading)
            for target, (epsilon, delta) in enumerate(targets):
                margins = epsilon_from(p_low, q_up, delta) - epsilon - effort - (0.001 if negated else 0.0)
                i = int(np.argmax(margins))
                if margins[i] > best[0] + 1e-9:
                    best = (float(margins[i]), i, swapped, negated, target)
    return best


def expected(
    likely: tuple[Floats, int], other: tuple[Floats, int], reading: tuple[float, int, float]
) -> tuple[Floats, Floats]:
    """The bounds that fresh samples would give if the truth were a little worse for us than what was seen."""
    caution, fresh, failure = reading
    p, q = lower(*likely, caution), upper(*other, caution)
    return lower(np.floor(p * fresh), fresh, failure), upper(np.ceil(q * fresh), fresh, failure)


def _effort(words: str) -> float:
    """What an event that is hard to say must gain over a plain one: a threshold is worth more than a list."""
    return 0.02 if "likelier on" in words else 0.01 if "linear" in words else 0.0


def nested_questions(first: Sequence[Outcome], second: Sequence[Outcome], points: int) -> list[Question]:
    """At most so many events, each within the next: thresholds on the number that separates best, or sets of outcomes.

    The first side shows each of them more often than the second, as far as the samples can tell.
    """
    names = _numbers_in([*first, *second])
    line = _classifier(names, first, second)
    families = [_thresholds(name, first, second)[::2] for name in (*names, *((line,) if line is not None else ()))]
    families.append([each for each in _equalities(first, second) if "likelier on" in each[0].words])

    def reach(family: list[Candidate]) -> float:
        return max((abs(a / len(first) - b / len(second)) for _, (a, b) in family), default=0.0)

    family = max(families, key=reach)
    leans = sum(a / len(first) - b / len(second) for _, (a, b) in family) >= 0
    step = max(1, len(family) // points)
    questions = [question for question, _ in family[::step]]
    return questions if leans else [negation(question) for question in questions]


def epsilon_from(p_low: Floats, q_up: Floats, delta: float) -> Floats:
    """log((p - δ)/q); minus infinity where p does not exceed δ."""
    with np.errstate(divide="ignore", invalid="ignore"):
        epsilons: Floats = np.log(np.maximum(p_low - delta, 0.0) / q_up)
    return np.nan_to_num(epsilons, nan=-np.inf, neginf=-np.inf, posinf=np.inf)


def negation(question: Question) -> Question:
    """The opposite event."""
    words = f"not ({question.words})"
    return Question(words, lambda outcome: not question.holds(outcome))


# --- candidates -----------------------------------------------------------------------------------------------------


Candidate = tuple[Question, tuple[int, int]]
"""A question, and how often it held on each side."""


def _candidates(first: Sequence[Outcome], second: Sequence[Outcome]) -> list[Candidate]:
    both = [*first, *second]
    names = _numbers_in(both)
    questions = [Question("anything", lambda _: True), *_failures(both), *_keys(both)]
    for name in [name for name in names if name[0].startswith("x")][:_MOST_CLASSES]:
        questions += _classes(name, both)
    candidates = [(question, _held(question, first, second)) for question in questions]
    candidates += _equalities(first, second)
    for name in names:
        candidates += _thresholds(name, first, second)
    if (line := _classifier(names, first, second)) is not None:
        candidates += _thresholds(line, first, second)
    return candidates


def _held(question: Question, first: Sequence[Outcome], second: Sequence[Outcome]) -> tuple[int, int]:
    return sum(map(question.holds, first)), sum(map(question.holds, second))


def _failures(both: Sequence[Outcome]) -> list[Question]:
    kinds = sorted({str(x) for x in both if isinstance(x, Raised)})
    failures = [Question(f"it raises {kind}", _raises(kind)) for kind in kinds]
    return [*failures, Question("it raises", lambda x: isinstance(x, Raised))] if kinds else []


def _raises(kind: str) -> Callable[[Outcome], bool]:
    return lambda x: isinstance(x, Raised) and str(x) == kind


def _equalities(first: Sequence[Outcome], second: Sequence[Outcome]) -> list[Candidate]:
    """Frequent outcomes, and the sets of the outcomes that are likeliest on one side."""
    in_first, in_second = (Counter(map(_same, side)) for side in (first, second))
    total = in_first + in_second
    candidates: list[Candidate] = [
        (Question(f"x = {_shown(x)}", _equals(x)), (in_first[x], in_second[x]))
        for x, n in total.most_common(_FREQUENT)
        if n > 1
    ]
    if 2 < len(total) <= _MOST_OUTCOMES:
        candidates += _leaning_sets(first, second)
    return candidates


def _leaning_sets(first: Sequence[Outcome], second: Sequence[Outcome]) -> list[Candidate]:
    """Sets by likelihood ratio: sorted by one half of the samples and counted on the other, lest they fit by chance."""
    sort_by = [Counter(map(_same, side[::2])) for side in (first, second)]
    count_on = [Counter(map(_same, side[1::2])) for side in (first, second)]
    lean = sorted(sort_by[0] + sort_by[1], key=lambda x: (sort_by[0][x] + 0.5) / (sort_by[1][x] + 0.5))
    candidates: list[Candidate] = []
    for cut in sorted({max(1, round(len(lean) * part / 20)) for part in range(1, 20)}):
        some = frozenset(lean[:cut])
        words = f"x is one of {len(some)} outcomes likelier on one side" if cut > 1 else f"x = {_shown(lean[0])}"
        question = Question(words, _is_among(some))
        held = [
            min(len(side), 2 * sum(seen[x] for x in some)) for side, seen in zip((first, second), count_on, strict=True)
        ]
        candidates.append((question, (held[0], held[1])))
    return candidates


def _same(outcome: Outcome) -> Hashable:
    """What makes an outcome the same: content and kind, the sign of zero included."""
    if isinstance(outcome, float):
        return "float", outcome.hex()
    if isinstance(outcome, Raised):
        return "raised", str(outcome)
    return type(outcome).__name__, frozen(outcome)


def _shown(same: Any) -> str:
    kind, what = same
    return repr(float.fromhex(what)) if kind == "float" and what not in {"nan", "inf", "-inf"} else f"{what!r}"


def _equals(wanted: Hashable) -> Callable[[Outcome], bool]:
    return lambda x: _same(x) == wanted


def _is_among(some: frozenset[Hashable]) -> Callable[[Outcome], bool]:
    return lambda x: _same(x) in some


# --- numbers --------------------------------------------------------------------------------------------------------

Getter = tuple[str, Callable[[Outcome], Any]]


def _numbers_in(both: Sequence[Outcome]) -> list[Getter]:
    """Every place where outcomes hold a number, with its name: x, x[3], x['a'], the sum, the length, ..."""
    getters: list[Getter] = []
    if any(_is_number(x) for x in both):
        getters.append(("x", lambda x: x if _is_number(x) else None))
    longest = max((len(x) for x in both if isinstance(x, tuple)), default=0)
    if longest:
        getters += [(f"x[{i}]", _entry(i)) for i in range(min(longest, _MOST_NUMBERS))]
        getters += [
            ("the sum of x", _of_vector(sum)),
            ("the largest of x", _of_vector(max)),
            ("the least of x", _of_vector(min)),
            ("the place of the largest", _of_vector(lambda v: v.index(max(v)))),
            ("the length", lambda x: len(x) if isinstance(x, tuple) else None),
        ]
    keys = Counter(key for x in both if isinstance(x, dict) for key in x)
    getters += [(f"x[{key!r}]", _under(key)) for key, _ in keys.most_common(_MOST_NUMBERS)]
    if keys:
        getters.append(("the number of keys", lambda x: len(x) if isinstance(x, dict) else None))
    if any(isinstance(x, str) and not isinstance(x, Raised) for x in both):
        getters.append(("the length of the text", lambda x: len(x) if isinstance(x, str) else None))
    return getters


def _entry(i: int) -> Callable[[Outcome], Any]:
    return lambda x: x[i] if isinstance(x, tuple) and i < len(x) and _is_number(x[i]) else None


def _under(key: str) -> Callable[[Outcome], Any]:
    return lambda x: x[key] if isinstance(x, dict) and key in x and _is_number(x[key]) else None


def _of_vector(f: Callable[[Any], Any]) -> Callable[[Outcome], Any]:
    return lambda x: f(x) if isinstance(x, tuple) and x and all(map(_is_number, x)) else None


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, Fraction))


def _thresholds(name: Getter, first: Sequence[Outcome], second: Sequence[Outcome]) -> list[Candidate]:
    words, get = name
    in_first, in_second = (sorted(v for x in side if not _absent(v := get(x))) for side in (first, second))
    values = sorted({*in_first, *in_second})
    candidates: list[Candidate] = []
    for v in values[:: max(1, len(values) // _THRESHOLDS)]:
        below = bisect_left(in_first, v), bisect_left(in_second, v)
        above = len(in_first) - below[0], len(in_second) - below[1]
        candidates.append((Question(f"{words} ≥ {_short(v)}", _at_least(get, v)), above))
        candidates.append((Question(f"{words} < {_short(v)}", _below(get, v)), below))
    return candidates


def _absent(v: Any) -> bool:
    return v is None or (isinstance(v, float) and math.isnan(v))


def _at_least(get: Callable[[Outcome], Any], value: Any) -> Callable[[Outcome], bool]:
    def holds(x: Outcome) -> bool:
        v = get(x)
        return v is not None and bool(v >= value)

    return holds


def _below(get: Callable[[Outcome], Any], value: Any) -> Callable[[Outcome], bool]:
    def holds(x: Outcome) -> bool:
        v = get(x)
        return not _absent(v) and bool(v < value)

    return holds


def _classes(name: Getter, both: Sequence[Outcome]) -> list[Question]:
    words, get = name
    floats = [v for x in both[:2000] if isinstance(v := get(x), float)]
    classes: list[Question] = []
    if floats:
        classes += [
            Question(f"{words} is NaN", _class(get, math.isnan)),
            Question(f"{words} is infinite", _class(get, lambda v: v in (math.inf, -math.inf))),
            Question(f"{words} is minus zero", _class(get, lambda v: v == 0 and math.copysign(1, v) < 0)),
        ]
        classes += [
            Question(f"{words}·2^{shift} is an integer" if shift else f"{words} is an integer", _on_grid(get, shift))
            for shift in _SHIFTS
        ]
    else:
        classes += [Question(f"{words} is a multiple of {1 << k}", _multiple(get, 1 << k)) for k in (1, 2, 3, 10)]
    return classes


def _class(get: Callable[[Outcome], Any], test: Callable[[float], bool]) -> Callable[[Outcome], bool]:
    return lambda x: isinstance(v := get(x), float) and test(v)


def _on_grid(get: Callable[[Outcome], Any], shift: int) -> Callable[[Outcome], bool]:
    def holds(x: Outcome) -> bool:
        v = get(x)
        if not isinstance(v, float) or not math.isfinite(v):
            return False
        return v.as_integer_ratio()[1] <= 1 << shift

    return holds


def _multiple(get: Callable[[Outcome], Any], of: int) -> Callable[[Outcome], bool]:
    return lambda x: isinstance(v := get(x), int) and v % of == 0


def _keys(both: Sequence[Outcome]) -> list[Question]:
    keys = Counter(key for x in both if isinstance(x, dict) for key in x)
    return [Question(f"{key!r} is among the keys", _has(key)) for key, _ in keys.most_common(_MOST_NUMBERS)]


def _has(key: str) -> Callable[[Outcome], bool]:
    return lambda x: isinstance(x, dict) and key in x


# --- a linear classifier --------------------------------------------------------------------------------------------


def _classifier(names: Sequence[Getter], first: Sequence[Outcome], second: Sequence[Outcome]) -> Getter | None:
    """The direction that separates the two sides best (Fisher's), over all numbers of an outcome."""
    entries = [get for words, get in names if words.startswith("x[")]
    if len(entries) < 2:
        return None
    sides = [np.array([_row(entries, x) for x in side]) for side in (first, second)]
    both = np.concatenate(sides)
    centre = np.median(both, axis=0)
    spread = np.maximum(np.median(np.abs(both - centre), axis=0), 1e-12)
    scaled = [np.clip((side - centre) / spread, -50, 50) for side in sides]
    gap = scaled[0].mean(axis=0) - scaled[1].mean(axis=0)
    covariance = np.cov(scaled[0], rowvar=False) + np.cov(scaled[1], rowvar=False) + 1e-3 * np.eye(len(entries))
    direction = np.linalg.solve(covariance, gap)

    def score(x: Outcome) -> float:
        return float(np.clip((_row(entries, x) - centre) / spread, -50, 50) @ direction)

    return "a linear score of all numbers", score


def _row(entries: Sequence[Callable[[Outcome], Any]], x: Outcome) -> Floats:
    values = [get(x) for get in entries]
    return np.array([_finite(v) for v in values])


def _finite(v: Any) -> float:
    if _absent(v):
        return 0.0
    return float(max(-1e300, min(1e300, v)))  # an int may be beyond the floats


def _short(v: Any) -> str:
    if isinstance(v, float):
        return f"{v:.6g}"
    if v.numerator.bit_length() + v.denominator.bit_length() < 90:
        return str(v)
    return f"{Decimal(v.numerator) / Decimal(v.denominator):.6g}"  # a float may be too small for it
