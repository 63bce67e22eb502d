"""The answer to a question about tables: rows of released values, each with its error bar, cost and story.

Promise: an answer is a value: reading it again draws nothing and costs nothing. An error bar speaks of the noise: the
exact bounded aggregate lies within it with the stated confidence; what bounding left out of heavy units is not in it.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.answer import CONFIDENCE, confidence_level
from discreet.errors import BadParameter, MissingExtra
from discreet.exact import Number
from discreet.privacy.events import Event
from discreet.privacy.receipt import Receipt
from discreet.table.agreeing import agreeing
from discreet.table.expressions import Call, Column, Expression, walk
from discreet.table.kinds import Number as NumberKind
from discreet.table.kinds import Value
from discreet.table.outcome import apply, evaluate
from discreet.table.plan import Outcome
from discreet.table.recipes import Dated, Fitted, Recipe
from discreet.table.run import Released

AT = "#"
"""The hidden column that says which released row a row came from."""
_MONOTONE = frozenset({"add", "sub", "mul", "div", "neg", "round", "floor", "ceil", "least", "greatest", "sqrt"})
_SHOWN = 40
Row = dict[str, Any]


@dataclass(frozen=True, repr=False)
class TableAnswer:
    """Rows sorted by key (or as ORDER BY says), with error bars.

    ``answer["n"]`` is a column, ``answer.rows`` all rows; ``answer.errors(0.95)`` are the error bars, and with
    ``simultaneous=True`` all of them hold at once.
    """

    outcome: Outcome
    released: tuple[Released, ...]
    event: Event
    cost: str
    story: tuple[str, ...]
    receipt: Receipt | None = field(default=None, compare=False)

    # --- values -----------------------------------------------------------------------------------------------------

    @cached_property
    def _kept(self) -> list[Row]:
        """The rows after HAVING, ORDER BY and LIMIT, each with its place among the released ones."""
        rows: list[Row] = []
        for s, part in enumerate(self.released):
            recipes = dict(_recipes(part))
            values = {name: r.value(part.estimates) for name, r in recipes.items()}
            for i, key in enumerate(part.keys):
                row: Row = {AT: (s, i)}
                row.update(_key_values(self.released, part, key))
                row.update({name: _plain(recipes[name], v[i]) for name, v in values.items()})
                rows.append(row)
        shown = Outcome(
            (*self.outcome.columns, (AT, Column(AT))), self.outcome.having, self.outcome.order, self.outcome.limit
        )
        return apply(shown, rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _ in self.outcome.columns)

    @property
    def rows(self) -> list[Row]:
        """All rows, as dictionaries."""
        return [{name: row[name] for name in self.columns} for row in self._kept]

    @property
    def value(self) -> Any:
        """The one number, if the answer is one number."""
        if len(self) != 1 or len(self.columns) != 1:
            raise BadParameter("answer", f"{len(self)} rows of {len(self.columns)} columns", "must be one number here")
        return self._kept[0][self.columns[0]]

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self.columns:
            raise BadParameter("column", name, f"must be one of {', '.join(self.columns)}")
        return [row[name] for row in self._kept]

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    # --- error bars -------------------------------------------------------------------------------------------------

    def intervals(
        self, confidence: Number = CONFIDENCE, *, simultaneous: bool = False
    ) -> dict[str, list[tuple[Any, Any] | None]]:
        """For each column of numbers (or dates), an interval per row that holds the exact value with this confidence.

        With ``simultaneous``, all intervals of the answer hold together with this confidence.
        """
        miss = float(1 - confidence_level(confidence))
        numeric = [(name, e) for name, e in self.outcome.columns if self._measures(e)]
        if simultaneous:
            miss /= max(1, len(numeric) * len(self._all_rows()))
        return {name: [self._interval(e, row, miss) for row in self._kept] for name, e in numeric}

    def errors(self, confidence: Number = CONFIDENCE, *, simultaneous: bool = False) -> dict[str, list[float | None]]:
        """For each column of numbers, how far each value may be off, with this confidence; dates and times: in days."""
        found = self.intervals(confidence, simultaneous=simultaneous)
        return {
            name: [_error(row[name], ends) for row, ends in zip(self._kept, column, strict=True)]
            for name, column in found.items()
        }

    def _all_rows(self) -> list[tuple[Value, ...]]:
        return [key for part in self.released for key in part.keys]

    def _measures(self, expression: Expression) -> tuple[str, ...]:
        names = {name for name, _ in _recipes(self.released[0])}
        return tuple(p.name for p in walk(expression) if isinstance(p, Column) and p.name in names)

    def _interval(self, expression: Expression, row: Row, miss: float) -> tuple[Any, Any] | None:
        """The range of an expression when its measures move within their errors.

        Exact where each measure stands once and all functions are monotone in each argument; None otherwise.
        """
        used = self._measures(expression)
        dated = self._dated(used)
        if dated is not None:
            return self._moments(dated, row, used[0], miss) if isinstance(expression, Column) else None
        calls = {p.function for p in walk(expression) if isinstance(p, Call)}
        if len(set(used)) != len(used) or not calls <= _MONOTONE or len(used) > 6:
            return None
        s, i = row[AT]
        part = self.released[s]
        ends = {name: self._ends(s, name, miss / len(used)) for name in used}
        if "div" in calls and any(e[0][i] <= 0 <= e[1][i] for e in ends.values()):
            return None if len(used) > 1 else (-math.inf, math.inf)
        base = {**_key_values(self.released, part, part.keys[i])}
        corners = []
        for choice in product((0, 1), repeat=len(used)):
            point = {name: float(ends[name][c][i]) for name, c in zip(used, choice, strict=True)}
            value = evaluate(expression, {**base, **point})
            if value is None:
                return None
            corners.append(float(value))
        return min(corners), max(corners)

    def _dated(self, names: tuple[str, ...]) -> Dated | None:
        recipes = dict(_recipes(self.released[0]))
        return next((r for name in names if isinstance(r := recipes[name], Dated)), None)

    def _moments(self, recipe: Dated, row: Row, name: str, miss: float) -> tuple[Any, Any] | None:
        s, i = row[AT]
        low, high = self._ends(s, name, miss)
        ends = recipe.moment(low[i], math.floor), recipe.moment(high[i], math.ceil)
        return None if None in ends else ends

    def _ends(self, s: int, name: str, miss: float) -> tuple[Any, Any]:
        cache: dict[Any, tuple[Any, Any]] = self.__dict__.setdefault("_cached_ends", {})
        if (s, name, miss) not in cache:
            part = self.released[s]
            cache[s, name, miss] = dict(_recipes(part))[name].ends(part.estimates, miss)
        return cache[s, name, miss]

    # --- post-processing ----------------------------------------------------------------------------------------------

    def consistent(self) -> TableAnswer:
        """The same answer with values that can be true together; costs nothing.

        Counts are not below 0, sums and averages are what so many values within their bounds can make; and in a ROLLUP,
        CUBE or other grouping sets below a finest one, totals are the sums of their parts, exactly: by least squares
        over all of them, so each is also less noisy (counts are then no longer whole numbers). Left as they are:
        groups that nobody listed, caps of one row in a group, numbers of different values or units, and quantiles.
        """
        if any(isinstance(e, Fitted) for part in self.released for e in part.estimates.values()):
            return self
        released, told = agreeing(self.released)
        return TableAnswer(self.outcome, released, self.event, self.cost, (*self.story, *told), self.receipt)

    # --- doors out ----------------------------------------------------------------------------------------------------

    def to_arrow(self, *, errors: bool = True, confidence: Number = CONFIDENCE) -> pa.Table:
        """An Arrow table; with ``errors``, each column of numbers is followed by its error bars."""
        bars = self.errors(confidence) if errors else {}
        columns: dict[str, pa.Array] = {}
        for name in self.columns:
            columns[name] = pa.array(self[name])
            if name in bars:
                columns[f"{name}_error"] = pa.array(bars[name], type=pa.float64())
        return pa.table(columns)

    def to_pandas(self, *, errors: bool = True, confidence: Number = CONFIDENCE) -> Any:
        """A pandas DataFrame."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise MissingExtra("pandas frames", extra="frames") from None
        return self.to_arrow(errors=errors, confidence=confidence).to_pandas()

    def to_polars(self, *, errors: bool = True, confidence: Number = CONFIDENCE) -> Any:
        """A Polars DataFrame."""
        try:
            import polars
        except ImportError:
            raise MissingExtra("Polars frames", extra="frames") from None
        return polars.from_arrow(self.to_arrow(errors=errors, confidence=confidence))

    def write(self, path: str, *, errors: bool = True, confidence: Number = CONFIDENCE) -> None:
        """The answer as a Parquet file."""
        import_parquet().write_table(self.to_arrow(errors=errors, confidence=confidence), path)

    def plot(self, column: str | None = None, *, confidence: Number = CONFIDENCE) -> Any:
        """A picture: one bar for each row, with its error bar."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise MissingExtra("plots", extra="plot") from None
        bars = self.errors(confidence)
        name = column or next(iter(bars), None)
        if name is None or name not in bars:
            raise BadParameter("column", column, f"must be a column of numbers: {', '.join(bars) or 'there is none'}")
        labels = [", ".join(str(row[c]) for c in self.columns if c not in bars) for row in self._kept]
        figure, axes = plt.subplots(figsize=(max(4.0, 0.35 * len(self)), 3.5))
        if any(isinstance(v, date) for v in self[name]):
            points = [
                (i, v, timedelta(days=e or 0)) for i, (v, e) in enumerate(zip(self[name], bars[name], strict=True)) if v
            ]
            x, y, error = zip(*points, strict=True)
            axes.errorbar(x, y, yerr=error, fmt="o", capsize=3, color="#4477aa")
        else:
            values = [math.nan if v is None else float(v) for v in self[name]]
            axes.bar(range(len(self)), values, yerr=[e or 0.0 for e in bars[name]], capsize=3, color="#4477aa")
        axes.set_xticks(range(len(self)), labels, rotation=60, ha="right")
        axes.set_ylabel(name)
        axes.set_title(f"{name}, error bars {float(confidence_level(confidence)):.0%}")
        figure.tight_layout()
        return figure

    # --- words --------------------------------------------------------------------------------------------------------

    def explain(self) -> str:
        """How it was made, step by step."""
        steps = (*self.story, f"spent {self.cost}")
        return "\n".join(f"{i}. {step}" for i, step in enumerate(steps, 1))

    def __str__(self) -> str:
        table = self._cells()
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        lines = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in table]
        more = f"\n... {len(self) - _SHOWN} more rows" if len(self) > _SHOWN else ""
        return "\n".join(lines) + f"{more}\nspent {self.cost}; error bars 95 %"

    __repr__ = __str__

    def _cells(self) -> list[list[str]]:
        bars = self.errors()
        head = list(self.columns)
        body = [
            [self._cell(row[name], bars[name][i] if name in bars else None, name in bars) for name in self.columns]
            for i, row in enumerate(self._kept[:_SHOWN])
        ]
        return [head, *body]

    @staticmethod
    def _cell(value: Any, error: float | None, measured: bool) -> str:
        shown = _shown(value) if measured or value is None else str(value)
        if error is None or value is None:
            return shown
        return f"{shown} ± {error:.3g}{' days' if isinstance(value, date) else ''}"

    def _repr_html_(self) -> str:
        head, *body = [[html.escape(cell) for cell in row] for row in self._cells()]
        lines = "".join(f"<tr>{''.join(f'<td>{c}</td>' for c in row)}</tr>" for row in body)
        steps = "".join(f"<li>{html.escape(step)}</li>" for step in self.story)
        return (
            f"<table><thead><tr>{''.join(f'<th>{c}</th>' for c in head)}</tr></thead><tbody>{lines}</tbody></table>"
            f"<small>spent {html.escape(self.cost)}; error bars 95 %</small><details><ol>{steps}</ol></details>"
        )


def import_parquet() -> Any:
    """The Parquet part of Arrow, which waits for its first use."""
    import pyarrow.parquet

    return pyarrow.parquet


def _recipes(part: Released) -> list[tuple[str, Recipe]]:
    return list(zip(part.part.names, part.part.recipes, strict=True))


def _plain(recipe: Recipe, value: float) -> int | float | date | None:
    if isinstance(recipe, Dated):
        return recipe.moment(value)
    if math.isnan(value):
        return None
    return int(value) if recipe.whole else float(value)


def _key_values(released: tuple[Released, ...], part: Released, key: tuple[Value, ...]) -> Mapping[str, Any]:
    """All keys of the question; those that this grouping set does not have are NULL."""
    names: dict[str, Any] = {k.name: None for r in released for k in r.part.keys}
    for typed, value in zip(part.part.keys, key, strict=True):
        kind = typed.typed.kind
        names[typed.name] = value
        if isinstance(kind, NumberKind) and isinstance(value, int):
            names[typed.name] = int(value * kind.step)
    return names


def _error(value: Any, ends: tuple[Any, Any] | None) -> float | None:
    if ends is None or value is None:
        return None
    if isinstance(value, date):
        return float(max(ends[1] - value, value - ends[0]) / timedelta(days=1))
    return float(max(ends[1] - float(value), float(value) - ends[0]))


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float | np.floating):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
