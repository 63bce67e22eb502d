"""Bounds chosen within declared ones, for one question: where values mostly lie far below their bound, clipping more of
them costs less than the noise of the wide bound.

Promise: a function of released numbers, the price and public metadata alone. Chosen bounds never reach beyond declared
ones, so what is proven of declared bounds holds. What is clipped is stated: in words, and in the share that bounds cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

from discreet.errors import NoEstimate
from discreet.exact import significant
from discreet.query.estimate.prepare import Prepared
from discreet.query.functions.typed_values import Typed
from discreet.query.lower.lower import LoweredMeasure
from discreet.query.plan.expressions import Call, Literal
from discreet.query.plan.nodes import Aggregate
from discreet.query.plan.types import Number
from discreet.query.profile.choose_bounds import choose_bounds, typical_size
from discreet.query.profile.histogram import Histogram

WORTH = Fraction(2, 3)
"""Bounds that are not narrower than this share of the declared ones are left as they were declared."""


def clipped(
    asked: Prepared, values: Mapping[tuple[str, str], Histogram], noise: Callable[[int], float]
) -> tuple[Prepared, tuple[str, ...]]:
    """The question with sums and means of columns clipped where that is predicted to be nearer; and how to say it.

    ``noise``: of the measure in this place, one deviation for each row of a typical group.
    """
    measures: list[LoweredMeasure] = []
    words: dict[str, list[str]] = {}
    for place, measure in enumerate(asked.asked.measures):
        narrower = _narrower(measure, values, noise, place)
        measures.append(measure if narrower is None else narrower)
        if narrower is not None:
            text = _told(measure.arguments[0], narrower.arguments[0])
            words.setdefault(text, []).append(measure.measure.name)
    if not words:
        return asked, ()
    every = tuple(measures)
    parts = tuple(part.asking(every) for part in asked.parts)
    return replace(asked, asked=replace(asked.asked, measures=every), parts=parts), tuple(
        f"{text} (for {', '.join(names)})" for text, names in words.items()
    )


def _narrower(
    measure: LoweredMeasure, values: Mapping[tuple[str, str], Histogram], noise: Callable[[int], float], place: int
) -> LoweredMeasure | None:
    """The measure with a tighter range, if its argument is a column whose values are known and that is worth it."""
    match measure:
        case LoweredMeasure(arguments=(Typed(kind=Number() as kind, origin=(table, column)) as x,)):
            seen = values.get((table, column))
        case _:
            return None
    if measure.measure.aggregate not in (Aggregate.SUM, Aggregate.AVG) or measure.span is not None or seen is None:
        return None
    wide = float((kind.high - kind.low) * kind.step)
    try:
        found = choose_bounds(seen, noise=noise(place) / max(wide, 1e-300) / typical_size(seen)).declared
    except NoEstimate:
        return None
    assert isinstance(found.low, Fraction) and isinstance(found.high, Fraction)  # noqa: S101, PT018 - of numbers
    low, high = max(kind.low, floor(found.low / kind.step)), min(kind.high, ceil(found.high / kind.step))
    if low >= high or high - low > WORTH * (kind.high - kind.low):
        return None
    read = x.lowered.arguments[0] if isinstance(x.lowered, Call) and x.lowered.function == "read_integer" else x.lowered
    inside = Call("read_integer", (read, Literal(low), Literal(high)))
    return replace(measure, arguments=(replace(x, kind=replace(kind, low=low, high=high), lowered=inside),))


def _told(was: Typed, now: Typed) -> str:
    column = "" if was.origin is None else was.origin[1]
    return (
        f"{column} is clipped to {_ends(now)} (within {_ends(was)}): chosen from the profile, noise and what is cut "
        "together are predicted to be least"
    )


def _ends(x: Typed) -> str:
    assert isinstance(x.kind, Number)  # noqa: S101
    return f"{significant(float(x.kind.low * x.kind.step), 6)} to {significant(float(x.kind.high * x.kind.step), 6)}"
