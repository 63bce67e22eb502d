"""Preview: what an answer would cost and how far off it would be. Free: it knows the plan and public metadata only."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from discreet.answer import CONFIDENCE, confidence_level
from discreet.arrays import Floats
from discreet.exact import Number, significant
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.messages import Message, message, worst_first
from discreet.privacy.promises.measures import ZCDP
from discreet.privacy.promises.record import show
from discreet.query.answer.explain import shares
from discreet.query.choose.choosing import Choosing, goals, histograms_of_values, scale_of, selecting_question
from discreet.query.choose.histograms import COUNTED, ReleasedHistogram
from discreet.query.choose.open_parts import OpenPart, may_be_unknown
from discreet.query.choose.shares import selecting_allowance
from discreet.query.estimate.estimators import Dated, Estimate, Recipe
from discreet.query.estimate.noise_plan import Allowance
from discreet.query.estimate.prepare import Part
from discreet.query.estimate.remarks import without_use
from discreet.query.estimate.statistics import Statistic, Units
from discreet.query.lower.bounding import Noise
from discreet.query.lower.lower import LoweredMeasure
from discreet.query.plan.schema import MAX_ROWS
from discreet.query.run import Quote, as_estimate, closed_quote
from discreet.shown import visible

TYPICAL = 1000
"""Rows in a group, where an error depends on them and nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class ColumnPreview:
    """One output column: its error bar, and for how many rows in a group that is said (None: however many)."""

    name: str
    error: float
    rows: int | None
    unit: str = ""
    """"days" for dates and times."""
    evenly: bool = False
    """The error bar is for values that are spread evenly over their bounds; for others it may be many times longer."""
    relative: float | None = None
    """The error bar beside the number itself in a group of ``rows`` (of 1,000 if None), where its size can be said."""

    @property
    def bar(self) -> str:
        """The error bar as text."""
        return f"± {significant(self.error, 2)}{self.unit and f' {self.unit}'}" if isfinite(self.error) else "not known"

    @property
    def when(self) -> str:
        """What the error bar is for."""
        group = "" if self.rows is None else f"in a group of {self.rows:,} rows"
        spread = "with values spread evenly over their bounds; else it may be far longer" if self.evenly else ""
        return " ".join(filter(None, (group, spread)))


@dataclass(frozen=True, slots=True, repr=False)
class Preview:
    """What a release would cost, and the error bars that it would have."""

    columns: tuple[ColumnPreview, ...]
    confidence: float
    cost: str
    remaining: str
    affordable: bool
    noise: str
    named_from: int | None
    """Keys that nobody listed: a key is named, more likely than not, from so many units on."""
    advice: str
    notes: tuple[Message, ...] = ()
    """What there is to know before it is paid, worst first."""
    shares: tuple[tuple[str, float], ...] = ()
    """Where the price goes: each released statistic and its share, where there are several."""
    more: int | None = None
    """How many more like this the budget would cover after it; None if it is not known."""

    def error(self, name: str) -> float:
        """The error bar of a column."""
        return next(c.error for c in self.columns if c.name == name)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "columns": [
                {
                    "name": c.name,
                    "error": c.error if isfinite(c.error) else None,
                    "rows": c.rows,
                    "unit": c.unit,
                    "evenly": c.evenly,
                    "relative": c.relative,
                }
                for c in self.columns
            ],
            "confidence": self.confidence,
            "cost": self.cost,
            "remaining": self.remaining,
            "affordable": self.affordable,
            "more": self.more,
            "noise": self.noise,
            "named_from": self.named_from,
            "notes": [note.as_json() for note in self.notes],
            "shares": [{"what": what, "share": share} for what, share in self.shares],
            "advice": self.advice,
        }

    def __str__(self) -> str:
        bars = [
            f"{column.name}: {column.bar} ({self.confidence:.0%}){column.when and f' {column.when}'}"
            for column in self.columns
        ]
        return visible("\n".join([*self._head(), *bars, *self._remarks()]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = f"<th></th><th>confidence interval ({self.confidence:.0%})</th><th></th>"
        rows = ((column.name, column.bar, column.when) for column in self.columns)
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        remarks = "<br>".join(html.escape(line) for line in (*self._head(), *self._remarks()))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><small>{remarks}</small>"

    def _price(self) -> str:
        if not self.affordable:
            return f"costs {self.cost}, which is more than is left ({self.remaining})"
        return f"costs {self.cost}; {self.remaining} would be left"

    def _head(self) -> list[str]:
        more = [] if self.more is None else [f"then about {self.more:,} more like this fit into the budget"]
        return [self._price(), *more]

    def _remarks(self) -> list[str]:
        lines = []
        if self.named_from is not None:
            lines.append(f"a key is named from about {self.named_from:,} units on")
        if len(self.shares) > 1 or any(share < 0.999 for _, share in self.shares):
            lines += [f"{share:.0%} of the cost: {what}" for what, share in self.shares]
        return [*lines, *map(str, self.notes), self.advice]


def preview(
    quote: Quote,
    part: Part,
    *,
    remaining: str,
    affordable: bool,
    rows: int | None = None,
    confidence: Number = CONFIDENCE,
    at_most: bool = False,
) -> Preview:
    """The error bars of one grouping set (the finest) of a quoted question; ``at_most``: wherever the values lie."""
    level, part = confidence_level(confidence), quote.planned(part)
    noised = quote.noised(part)

    def noise(statistic: Statistic, values: Floats) -> Estimate:
        return as_estimate(values, noised[statistic])

    open_names = _open_names(quote, part)
    columns = tuple(
        ColumnPreview(name, inf, None)
        if name in open_names
        else _column(name, recipe, noise, rows, float(1 - level), at_most=at_most)
        for name, recipe in zip(part.names, part.recipes, strict=True)
    )
    useless = (
        without_use(name, recipe, column.error)
        for name, recipe, column in zip(part.names, part.recipes, columns, strict=True)
        if name not in open_names
    )
    notes = list(part.all_notes) if quote.choosing is None else [_choosing_note(quote.choosing)]
    notes += [*_null_below(quote, part), *(note for note in useless if note is not None)]
    if rows is None and any(column.rows is not None for column in columns):
        notes.append(message("other_sizes", rows=TYPICAL))
    return Preview(
        columns=columns,
        confidence=float(level),
        cost=str(quote.price),
        remaining=remaining,
        affordable=affordable,
        noise=_noise(quote, part),
        named_from=_named_from(quote, part),
        notes=worst_first(notes),
        advice=_advice(quote.allowance),
        shares=shares(quote, part),
    )


def _open_names(quote: Quote, part: Part) -> frozenset[str]:
    """The columns whose error depends on what is chosen when they are released."""
    if quote.choosing is None:
        return frozenset()
    return frozenset(
        measure.measure.name
        for opened in _open_here(quote.choosing, part)
        for place, measure in enumerate(opened.part.measures)
        if measure.open or place in opened.clipped
    )


def _open_here(choosing: Choosing, part: Part) -> list[OpenPart]:
    """What is open of a grouping set."""
    return [opened for opened in choosing.parts if (opened.part.whole, opened.part.keys) == (part.whole, part.keys)]


def _named_from(quote: Quote, part: Part) -> int | None:
    """From how many units on a key that nobody listed is named, more likely than not."""
    planned, steps = quote, quote.choosing
    if steps is not None:
        selecting = [part_open for part_open in steps.parts if part_open.selects]
        if (
            opened := next((part_open for part_open in _open_here(steps, part) if part_open.selects), None)
        ) is not None:
            share = steps.shares[steps.parts.index(opened)].selecting
            allowance = selecting_allowance(steps.allowance, share, len(selecting))
            planned = closed_quote([selecting_question(steps, opened)], allowance, steps.neighbours)
            part = planned.parts[0]
    selection = planned.selection(part)
    return None if selection is None else -(-selection.threshold // planned.noised(part)[Units()].scale)


def _null_below(quote: Quote, part: Part) -> list[Message]:
    """For columns whose clip or bounds are chosen: with fewer units there is likely nothing to choose them by."""
    steps, enough_units = quote.choosing, dict[LoweredMeasure, float]()
    if steps is None:
        return []
    for opened in _open_here(steps, part):
        place = steps.parts.index(opened)
        sure = {m for m in opened.part.measures if not may_be_unknown(m)}
        if opened.clips:
            enough_units |= {
                m: reached.enough for m, reached, _ in goals(steps, place)[0] if m is not None and m not in sure
            }
        if opened.values:
            question, budget = next(iter(histograms_of_values(steps, place).values()))
            noise = closed_quote([question], budget, steps.neighbours).plan.sets[0][COUNTED]
            few = ReleasedHistogram(np.zeros(0), *scale_of(noise)).least(1, question.parts[0].group_count or 1)
            clamped = [opened.part.measures[at] for at in opened.values]
            enough_units |= {
                measure: max(few, enough_units.get(measure, 0.0)) for measure in clamped if measure not in sure
            }
    names = dict[int, list[str]]()
    for measure, many in enough_units.items():
        names.setdefault(max(1, round(float(f"{many:.1e}"))), []).append(measure.measure.name)
    return [message("null_below", units=units, columns=tuple(some)) for units, some in names.items()]


def _choosing_note(choosing: Choosing) -> Message:
    return message("choosing", share=float(sum(split.together for split in choosing.shares)), rows=MAX_ROWS)


def _noise(quote: Quote, part: Part) -> str:
    """Which noise; where keys are selected, that of the numbers of units may be another one."""
    noise, units = f"discrete {quote.plan.noise.value} noise", quote.noised(part).get(Units())
    if units is not None and isinstance(units.noise, Gaussian) and quote.plan.noise is Noise.LAPLACE:
        noise += ", discrete Gaussian noise on numbers of units"
    return noise


def _advice(allowance: Allowance) -> str:
    """What would halve the error: noise falls with 1/ε and with 1/√ρ."""
    if isinstance(allowance, ZCDP):
        return f"half the error would take four times the privacy cost: rho {show(4 * allowance.rho)}"
    return f"half the error would take about twice the privacy cost: epsilon {show(2 * allowance.epsilon)}"


def _column(
    name: str,
    recipe: Recipe,
    noise: Callable[[Statistic, Floats], Estimate],
    rows: int | None,
    miss: float,
    *,
    at_most: bool,
) -> ColumnPreview:
    many = (rows or TYPICAL) if recipe.depends_on_rows else None
    unit = "days" if isinstance(recipe, Dated) else ""
    error = (recipe.error_at_most if at_most else recipe.error_if)(noise, float(many or TYPICAL), miss)
    size = recipe.size_if(noise, float(rows or TYPICAL))
    relative = error / size if isfinite(size) and size > 0 else None
    return ColumnPreview(name, error, many, unit, recipe.depends_on_values, relative)
