"""A picture of released rows: bars with their intervals. One key is an axis, two are grouped bars, whole numbers are
drawn where they lie, so that a histogram looks like one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from discreet.picture import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")
_MOST_COLOURS = 12
_MOST_LETTERS = 30
"""So many of all names together stand below the axis side by side."""


@dataclass(frozen=True, slots=True)
class Bars:
    """The numbers of one column, the ends of their intervals below and above, and the keys of their rows."""

    name: str
    values: Sequence[Any]
    sides: Sequence[tuple[Any, Any]]
    keys: Mapping[str, Sequence[Any]]
    labels: Sequence[str]
    """The keys of each row as text."""
    bins: Mapping[str, float]
    """How wide the bins are whose lower ends a key holds."""
    too_low: tuple[float, float, float] | None = None
    """Which share of all rows together clipping took, about, and its interval."""


def draw(bars: Bars, title: str) -> Figure:
    """The Figure."""
    width = min(max(4.0, 0.35 * len(bars.values)), 24.0)
    if bars.too_low is None:
        figure = new_figure(width, 3.5)
        axes = figure.subplots()
    else:
        figure = new_figure(width + 1.2, 3.5)
        axes, beside = figure.subplots(1, 2, width_ratios=[width, 1.2])
        _all_together(beside, *bars.too_low)
    if any(isinstance(v, date) for v in bars.values):
        _moments(axes, bars)
    elif (groups := _groups(bars)) is not None:
        _grouped(axes, bars, *groups)
    elif (places := _places(bars)) is not None:
        _histogram(axes, bars, places)
    else:
        axes.bar(range(len(bars.values)), _heights(bars), **_whiskers(bars), color=_COLOURS[0])
        _name_ticks(axes, bars.labels)
    axes.set_ylabel(bars.name)
    if bars.keys and not axes.get_xlabel():
        axes.set_xlabel(", ".join(bars.keys))
    axes.set_title(title)
    return figure


def _all_together(axes: Any, share: float, low: float, high: float) -> None:
    """All groups together: what was released, and hatched what clipping took of it, with its interval."""
    axes.bar([0], [1 - share], color=_COLOURS[0])
    axes.bar([0], [share], bottom=[1 - share], color="white", edgecolor=_COLOURS[0], hatch="///")
    axes.errorbar([0], [1 - share], yerr=[[high - share], [share - low]], color="black", capsize=3)
    axes.set_xticks([0], ["all\ngroups"])
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.set_title("clipped", fontsize="small")


def _heights(bars: Bars, rows: Sequence[int] | None = None) -> list[float]:
    chosen = range(len(bars.values)) if rows is None else rows
    return [math.nan if bars.values[i] is None else float(bars.values[i]) for i in chosen]


def _whiskers(bars: Bars, rows: Sequence[int] | None = None) -> dict[str, Any]:
    chosen = range(len(bars.values)) if rows is None else rows
    both = [bars.sides[i] for i in chosen]
    return {"yerr": [*zip(*both, strict=True)] or None, "capsize": 3}


def _name_ticks(axes: Any, labels: Sequence[str]) -> None:
    if sum(map(len, labels)) > _MOST_LETTERS:
        axes.set_xticks(range(len(labels)), labels, rotation=60, ha="right")
    else:
        axes.set_xticks(range(len(labels)), labels)


def _moments(axes: Any, bars: Bars) -> None:
    """Dates and times, as points."""
    points = [(i, v, *pair) for i, (v, pair) in enumerate(zip(bars.values, bars.sides, strict=True)) if v]
    x, y, *both = zip(*points, strict=True)
    axes.errorbar(x, y, yerr=both, fmt="o", capsize=3, color=_COLOURS[0])
    _name_ticks(axes, bars.labels)


def _places(bars: Bars) -> list[float] | None:
    """Where the bars of a histogram stand: the values of the one key, if all are numbers."""
    if len(bars.keys) != 1:
        return None
    (key,) = bars.keys.values()
    numbers = [float(v) for v in key if isinstance(v, int | float) and not isinstance(v, bool)]
    return numbers if len(numbers) == len(key) > 1 and len(set(numbers)) == len(numbers) else None


def _histogram(axes: Any, bars: Bars, places: list[float]) -> None:
    """Each bar covers its bin; of other numbers, it is as wide as the least distance of two keys."""
    (key,) = bars.keys
    width = bars.bins.get(key) or min(b - a for a, b in pairwise(sorted(places)))
    middles = [place + width / 2 for place in places] if key in bars.bins else places
    axes.bar(middles, _heights(bars), width=width, **_whiskers(bars), color=_COLOURS[0], edgecolor="white")


def _groups(bars: Bars) -> tuple[list[Any], list[Any]] | None:
    """The values of two keys, if each pair is there once at most and there are colours for the second."""
    if len(bars.keys) != 2:
        return None
    pairs = list(zip(*bars.keys.values(), strict=True))
    first, second = (list(dict.fromkeys(column)) for column in bars.keys.values())
    whole = len(set(pairs)) == len(pairs) and not any(None in pair for pair in pairs)
    return (first, second) if whole and len(second) <= _MOST_COLOURS else None


def _grouped(axes: Any, bars: Bars, first: list[Any], second: list[Any]) -> None:
    """One colour for each value of the second key."""
    outer, inner = bars.keys
    places = list(zip(*bars.keys.values(), strict=True))
    width = 0.8 / len(second)
    for k, value in enumerate(second):
        rows = [i for i, pair in enumerate(places) if pair[1] == value]
        x = [first.index(places[i][0]) + (k - (len(second) - 1) / 2) * width for i in rows]
        colour = _COLOURS[k % len(_COLOURS)]
        axes.bar(x, _heights(bars, rows), width=width, **_whiskers(bars, rows), color=colour, label=str(value))
    _name_ticks(axes, [str(value) for value in first])
    axes.set_xlabel(outer)
    axes.legend(title=inner, loc="upper left", bbox_to_anchor=(1.01, 1))  # beside the bars, which begin at 0
