"""A private profile of a table: what planning needs, released once, with an error bar on every number.

Promise: a value. Reading it, printing it, plotting it and choosing caps from it costs nothing: all follow from numbers
that were paid for.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.answer import CONFIDENCE, confidence_level, how_many
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, significant
from discreet.picture import new_figure
from discreet.query.answer.answer import TableAnswer
from discreet.query.profile.histogram import UnitHistogram
from discreet.query.profile.questions import About, HistogramQuery
from discreet.query.profile.sizes import RowsCut, UnitSizes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_SHOWN = 12
_IN_A_ROW = 3
"""So many classes that do not stand out are shown one by one, between others that do."""


@dataclass(frozen=True, slots=True, repr=False)
class Profile:
    """Histograms of a table in which each unit weighs one: rows per unit, groups per unit, keys and values.

    ``profile.sizes`` are the rows per unit, ``profile.cut(cap)`` is what a cap would leave out.
    """

    table: str
    histograms: tuple[UnitHistogram, ...]
    cost: str

    @classmethod
    def of(cls, table: str, questions: Sequence[HistogramQuery], answers: Sequence[TableAnswer]) -> Profile:
        """What was released."""
        histograms = tuple(
            UnitHistogram.of(question, answer) for question, answer in zip(questions, answers, strict=True)
        )
        return cls(table, histograms, answers[0].cost)

    @classmethod
    def read(cls, table: str, questions: Sequence[HistogramQuery], stored: Sequence[Mapping[str, Any]]) -> Profile:
        """From answers as a ledger keeps them and a curator sends them; older ones have no numbers of keys.

        ``BadData`` if they are of a table that was declared otherwise.
        """
        if len(questions) != len(stored):
            questions = [question for question in questions if question.about is not About.DISTINCT]
        if len(questions) != len(stored):
            raise BadData("this profile was stored for a table with other columns: release a new one")
        histograms = tuple(
            UnitHistogram.read(question, answer) for question, answer in zip(questions, stored, strict=True)
        )
        return cls(table, histograms, str(stored[0]["cost"]))

    def _find(self, about: About, column: str = "") -> UnitHistogram | None:
        return next((h for h in self.histograms if (h.about, h.column) == (about, column)), None)

    @property
    def sizes(self) -> UnitSizes:
        """How many rows units have."""
        rows = self._find(About.ROWS)
        assert rows is not None  # noqa: S101 - every profile has it
        return UnitSizes(rows)

    def groups(self, column: str) -> UnitSizes | None:
        """In how many groups of a column units have rows; None if that was not asked."""
        histogram = self._find(About.GROUPS, column)
        return None if histogram is None else UnitSizes(histogram)

    def keys(self, column: str) -> UnitHistogram | None:
        """How units are spread over the listed keys of a column; None if that was not asked."""
        return self._find(About.KEYS, column)

    def different_keys(self, column: str, confidence: Number = CONFIDENCE) -> tuple[float, float]:
        """How many different keys a column has at least, and the error bar: each unit names one of its own."""
        histogram = self._find(About.DISTINCT, column)
        if histogram is None:
            raise BadParameter("column", column, "must be a column in this profile whose keys are not listed")
        return histogram.total(confidence)

    def values(self, column: str) -> UnitHistogram | None:
        """How the values of a column are spread over public classes; None if that was not asked."""
        return self._find(About.VALUES, column)

    def units(self, confidence: Number = CONFIDENCE) -> tuple[float, float]:
        """The number of units, and its error bar."""
        return self.sizes.histogram.total(confidence)

    def nulls(self, column: str, confidence: Number = CONFIDENCE) -> tuple[float, float]:
        """The share of NULL in a column (each unit weighs the same), and its error bar."""
        histogram = self.values(column)
        if histogram is None:
            raise BadParameter("column", column, "must be a column of numbers, dates or times in this profile")
        many = max(float(histogram.values.sum()), 1.0)
        share = float(histogram.values[-1]) / many
        weights = np.full(len(histogram.counts), -share)
        weights[-1] += 1
        error = histogram.error(weights, float(1 - confidence_level(confidence))) / many
        return min(max(share, 0.0), 1.0), min(error, 1.0)

    def cut(self, cap: int, confidence: Number = CONFIDENCE) -> RowsCut:
        """What a cap on the rows of one unit would cut."""
        return self.sizes.cut(cap, confidence)

    # --- words and pictures -------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        (many, error), (least, most) = self.units(), self.sizes.rows_between()
        lines = [
            f"profile of {self.table}; spent {self.cost}; confidence intervals 95 %",
            f"{many:,.0f} ± {error:,.0f} units; those of up to {how_many(self.sizes.reach, 'rows')} have "
            f"{least:,.0f} to {most:,.0f} rows together",
        ]
        for histogram in self.histograms:
            lines += ["", *_lines(histogram)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def plot(self) -> Figure:
        """A picture: one panel of bars for each histogram, with error bars."""
        drawn = [panel for panel in self.histograms if panel.about is not About.DISTINCT]
        figure = new_figure(8, 2.4 * len(drawn))
        rows = figure.subplots(len(drawn), 1, squeeze=False)
        for axes, histogram in zip(rows[:, 0], drawn, strict=True):
            shown = _shown(histogram) or [0]
            places = [i for i in shown if isinstance(i, int)]
            at = [k for k, i in enumerate(shown) if isinstance(i, int)]
            bar = histogram.error([1.0], 0.05)
            axes.bar(at, [histogram.counts[i] for i in places], yerr=bar, capsize=2, color="#4477aa")
            labels = [histogram.label(i) if isinstance(i, int) else "…" for i in shown]
            axes.set_xticks(range(len(shown)), labels, rotation=60, ha="right", fontsize="small")
            axes.set_title(histogram.title)
            axes.set_ylabel("units")
        return figure


@dataclass(frozen=True, slots=True)
class _Gap:
    """Classes in a row of which none stands out."""

    many: int


def _shown(histogram: UnitHistogram) -> list[int | _Gap]:
    """The classes that are shown; of many in a row that do not stand out, only how many they are."""
    places, error = _interesting(histogram), _stands_out(histogram)
    shown: list[int | _Gap] = []
    for out, some in groupby(places, lambda i: histogram.counts[i] > error):
        run = list(some)
        shown += run if out or len(run) <= _IN_A_ROW else [_Gap(len(run))]
    return shown


def _stands_out(histogram: UnitHistogram) -> float:
    """What a class must hold to stand out from the noise, all classes of a histogram together."""
    return histogram.error([1.0], 0.01 / len(histogram.counts))


def _interesting(histogram: UnitHistogram) -> list[int]:
    """From the first to the last class that stands out; of keys, the largest."""
    error = _stands_out(histogram)
    there = [i for i, n in enumerate(histogram.counts) if n > error]
    if histogram.about is About.KEYS:
        return sorted(there, key=lambda i: -histogram.counts[i])[:_SHOWN]
    null = len(histogram.counts) - 1 if histogram.about is About.VALUES else -1
    between = [i for i in there if i != null]
    return [*(range(between[0], between[-1] + 1) if between else []), *(i for i in there if i == null)]


def _lines(histogram: UnitHistogram) -> list[str]:
    error = histogram.error([1.0], 0.05)
    if histogram.about is About.DISTINCT:
        return [f"{histogram.title}: at least {round(histogram.counts[0]):,} ± {significant(error, 3)}"]
    shown = _shown(histogram)
    lines = [f"{histogram.title} (units, ± {significant(error, 3)} each)"]
    if not shown:
        return [*lines, "  nothing stands out from the noise"]
    places = [i for i in shown if isinstance(i, int)]
    widest = max(len(histogram.label(i)) for i in places)
    most = max(histogram.counts[i] for i in places)
    for i in shown:
        if isinstance(i, _Gap):
            lines.append(f"  {'…'.rjust(widest)}  {i.many} classes of which none stands out")
            continue
        count = histogram.counts[i]
        bar = "█" * round(24 * max(count, 0.0) / most)
        lines.append(f"  {histogram.label(i).rjust(widest)}  {round(count):>12,}  {bar}".rstrip())
    return lines
