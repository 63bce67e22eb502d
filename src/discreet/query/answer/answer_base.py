"""Released rows: how they are read, exported and printed. An answer about tables is that, local or remote.

Promise: nothing here draws, spends or looks at data; all of it follows from the rows and their error bars.
"""

from __future__ import annotations

import html
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.answer import CONFIDENCE, GivenValue, confidence_level, how_many
from discreet.errors import BadParameter, MissingExtra
from discreet.exact import Number, non_negative, significant, with_bar
from discreet.messages import Interface, Message, message
from discreet.query.answer.documents import ENDINGS, HIDDEN, Cell, Document, write_document
from discreet.query.answer.export import as_array, write_rows
from discreet.query.answer.plots import Bars, draw
from discreet.query.answer.several import Explanation
from discreet.query.estimate.prepare import Clip
from discreet.shown import visible

_SHOWN = 40
TOTAL = "all"
"""What stands for a key in a row that is a total over it, where people read it; in data it is None."""
Row = dict[str, Any]


class Answered(ABC):
    """Rows with error bars. Whoever inherits says which: ``columns``, ``rows``, ``errors`` and ``_cost_and_story``."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    @abstractmethod
    def rows(self) -> list[Row]:
        """All rows, as dictionaries."""

    @abstractmethod
    def errors(self, confidence: Number | None = None, *, simultaneous: bool = False) -> dict[str, list[float | None]]:
        """For each column of numbers or dates, how far each value may be off, with this confidence; dates in days."""

    @abstractmethod
    def intervals(
        self, confidence: Number = CONFIDENCE, *, simultaneous: bool = False
    ) -> dict[str, list[tuple[Any, Any] | None]]:
        """For each column of numbers or dates, an interval per row that holds the exact value with this confidence."""

    @abstractmethod
    def _cost_and_story(self) -> tuple[str, tuple[str, ...]]:
        """What was paid, and how it was made."""

    @property
    def _kept(self) -> list[Row]:
        """The rows, perhaps with more in them than is shown."""
        return self.rows

    def _pieces(self) -> Iterator[Answered]:
        """The answer in pieces with some of the rows each, at least one."""
        yield self

    @property
    def _level(self) -> Number:
        """The confidence of error bars, unless another is given."""
        return CONFIDENCE

    def _bins(self) -> dict[str, float]:
        """Keys that are the lower ends of bins, and how wide these are, where that is known."""
        return {}

    def _is_total(self, row: Row, name: str) -> bool:
        """Whether a row is a total over this key, if that is known."""
        return False

    @property
    def clipped(self) -> tuple[Clip, ...]:
        """To what contributions of one unit were scaled down, where the query chose that."""
        return ()

    @property
    def notes(self) -> tuple[Message, ...]:
        """What a reader must know of the numbers, worst first."""
        return ()

    @property
    def given(self) -> tuple[GivenValue, ...]:
        """The values that were released first and stand in the query as constants: the error bars are about the query
        with these, not with the exact ones.
        """
        return GivenValue.of(self.notes)

    @property
    def totals(self) -> list[frozenset[str]]:
        """For each row, the keys over which it is a total: they are None in it, as a missing value is, too."""
        return [
            frozenset(name for name in self.columns if row[name] is None and self._is_total(row, name))
            for row in self._kept
        ]

    # --- values -----------------------------------------------------------------------------------------------------

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
        """Each row as a dictionary with its error bars, so that ``pandas.DataFrame(answer)`` has them."""
        bars = self.errors()
        for i, row in enumerate(self.rows):
            with_bars: Row = {}
            for name, value in row.items():
                with_bars[name] = value
                if name in bars:
                    with_bars[f"{name}_error"] = bars[name][i]
            yield with_bars

    # --- export -------------------------------------------------------------------------------------------------------

    def to_arrow(
        self, *, errors: bool = True, confidence: Number | None = None, hide_above: Number | None = None
    ) -> pa.Table:
        """An Arrow table; with ``errors``, each column of numbers is followed by its error bars.

        With ``hide_above="0.5"``, a number whose error bar is more than half of it is NULL.
        """
        bars = self.errors(confidence) if errors else {}
        hidden = {} if hide_above is None else self.too_wide(hide_above, confidence)
        columns: dict[str, pa.Array] = {}
        for name in self.columns:
            mask = hidden.get(name, [False] * len(self))
            columns[name] = as_array([None if hide else v for v, hide in zip(self[name], mask, strict=True)])
            if name in bars:
                errors_shown = [None if hide else bar for bar, hide in zip(bars[name], mask, strict=True)]
                columns[f"{name}_error"] = pa.array(errors_shown, type=pa.float64())
        return pa.table(columns)

    def too_wide(self, share: Number, confidence: Number | None = None) -> dict[str, list[bool]]:
        """For each column of numbers, which of them have an error bar of more than this share of them, or of no length.

        It follows from released numbers alone, so it costs nothing. NULL and dates are never too wide.
        """
        limit = float(non_negative(share, "share"))
        return {
            name: [_is_wide(value, bar, limit) for value, bar in zip(self[name], bars, strict=True)]
            for name, bars in self.errors(confidence).items()
        }

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows with their error bars, for ``pyarrow.table(answer)``, ``polars.DataFrame(answer)`` and others."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self, *, errors: bool = True, confidence: Number | None = None) -> Any:
        """A pandas DataFrame."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise MissingExtra("pandas frames", extra="frames") from None
        return self.to_arrow(errors=errors, confidence=confidence).to_pandas()

    def to_polars(self, *, errors: bool = True, confidence: Number | None = None) -> Any:
        """A Polars DataFrame."""
        try:
            import polars
        except ImportError:
            raise MissingExtra("Polars frames", extra="frames") from None
        return polars.from_arrow(self.to_arrow(errors=errors, confidence=confidence))

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        errors: bool = True,
        confidence: Number | None = None,
        grey_above: Number | None = None,
        hide_above: Number | None = None,
    ) -> None:
        """The rows with their confidence intervals as a new file; ``BadParameter`` if it is there.

        ``.csv`` is CSV, in which text that a spreadsheet would take for a formula begins with an apostrophe;
        ``.parquet`` is Parquet; a name without an ending is a new folder with one Parquet file. ``.xlsx`` is an Excel
        workbook with the ends of each interval in columns of their own, ``.html`` a page, ``.tex`` a LaTeX table.
        Other endings are refused. Writing again draws nothing: every copy holds the same released numbers. The cost,
        the confidence and the notes are in the file; beside a CSV file in ``NAME.csv-metadata.json``.

        ``grey_above="0.2"`` prints numbers in grey whose error bar is more than 20% of them, in .xlsx, .html and .tex;
        ``hide_above="0.5"`` leaves out those whose error bar is more than half of them.
        """
        place = os.fspath(path)
        is_document = place.lower().endswith(ENDINGS)
        if grey_above is not None and not is_document:
            raise BadParameter(
                "grey_above", grey_above, f"must be left out unless the name ends in {', '.join(ENDINGS)}"
            )
        if is_document:
            write_document(place, self._document(errors, confidence, grey_above, hide_above))
            return
        write_rows(
            place,
            lambda: (p.to_arrow(errors=errors, confidence=confidence, hide_above=hide_above) for p in self._pieces()),
            self._about(confidence),
        )

    def _about(self, confidence: Number | None) -> dict[str, Any]:
        """What a file says of the rows in it."""
        cost, story = self._cost_and_story()
        return {
            "spent": cost,
            "confidence_of_errors": _percent(self._level if confidence is None else confidence),
            "notes": [str(note) for note in self.notes],
            "clipped": [asdict(clip) for clip in self.clipped],
            "how_it_was_made": list(story),
        }

    def _document(
        self, errors: bool, confidence: Number | None, grey_above: Number | None, hide_above: Number | None
    ) -> Document:
        level = self._level if confidence is None else confidence
        lines = [self._first_line(level) if errors else f"spent {self._cost_and_story()[0]}", *map(str, self.notes[:1])]
        if grey_above is not None:
            lines.append(f"grey: ± is more than {_share(grey_above)} of the number")
        if hide_above is not None:
            lines.append(f"{HIDDEN}: not shown, since ± is more than {_share(hide_above)} of the number")

        def rows() -> Iterator[list[Cell]]:
            for piece in self._pieces():
                yield from piece._document_rows(errors, level, grey_above, hide_above)

        measured = frozenset(self.errors(level)) if errors else frozenset[str]()
        return Document(self.columns, measured, rows, tuple(lines), self._about(confidence))

    def _document_rows(
        self, errors: bool, level: Number, grey_above: Number | None, hide_above: Number | None
    ) -> Iterator[list[Cell]]:
        bars, ends = (self.errors(level), self.intervals(level)) if errors else ({}, {})
        grey = {} if grey_above is None else self.too_wide(grey_above, level)
        hidden = {} if hide_above is None else self.too_wide(hide_above, level)
        for i, row in enumerate(self._kept):
            cells = []
            for name in self.columns:
                value, text = row[name], self._cell(row, name, bars[name][i] if name in bars else None, name in bars)
                within = ends[name][i] if name in ends and value is not None else None
                cell = Cell(text, value, within, name in grey and grey[name][i])
                cells.append(cell.hidden if name in hidden and hidden[name][i] else cell)
            yield cells

    def plot(self, column: str | None = None, *, confidence: Number | None = None) -> Any:
        """A picture (a matplotlib Figure): a bar with its interval for each row; grouped bars for two keys. Beside it,
        hatched, what clipping took of all rows together, where that is estimated.
        """
        bars = self.errors(confidence)
        name = column or next(iter(bars), None)
        if name is None or name not in bars:
            raise BadParameter("column", column, f"must be a column of numbers: {', '.join(bars) or 'there is none'}")
        level = self._level if confidence is None else confidence
        ends = self.intervals(level).get(name)
        sides = [
            _sides(*bounds_of_bar)
            for bounds_of_bar in zip(self[name], bars[name], ends or [None] * len(self), strict=True)
        ]
        keys = [c for c in self.columns if c not in bars]
        labels = [", ".join(self._label(row, c) for c in keys) for row in self._kept]
        open_ = [
            math.inf in bounds_of_bar for bounds_of_bar in sides
        ]  # a bar of its height would look as if it were sure
        values = [None if bare else value for value, bare in zip(self[name], open_, strict=True)]
        too_low = next((clip.too_low for clip in self.clipped if clip.about == name), None)
        drawn = Bars(name, values, sides, {key: self[key] for key in keys}, labels, self._bins(), too_low)
        bare = f"; not drawn: {how_many(sum(open_), 'rows')} without" if any(open_) else ""
        return draw(drawn, f"{name}, confidence intervals {_percent(level)}{bare}")

    def _label(self, row: Row, name: str) -> str:
        return TOTAL if self._is_total(row, name) else "NULL" if row[name] is None else str(row[name])

    # --- words --------------------------------------------------------------------------------------------------------

    def explain(self) -> Explanation:
        """How it was made, step by step."""
        cost, story = self._cost_and_story()
        steps = (*story, f"spent {cost}", *map(str, self.notes))
        return Explanation("\n".join(f"{i}. {step}" for i, step in enumerate(steps, 1)))

    def __str__(self) -> str:
        table = self._cells()
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        lines = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in table]
        more = f"\n... {len(self) - _SHOWN} more rows" if len(self) > _SHOWN else ""
        return visible("\n".join(lines) + more + "\n" + "\n".join(self.footer()))

    __repr__ = __str__

    def footer(self, interface: Interface = Interface.PYTHON) -> tuple[str, ...]:
        """The lines under the table: what was spent and what ± means, and the worst note. ``explain()`` has all."""
        first = self._first_line(self._level)
        if not self.notes:
            return (first,)
        worst, *others = self.notes
        more = f" ({message('more_notes', many=len(others)).text(interface)})" if others else ""
        return first, f"{worst.text(interface)}{more}"

    def _first_line(self, confidence: Number) -> str:
        return f"spent {self._cost_and_story()[0]}; ± is a {_percent(confidence)} confidence interval for the noise"

    def _cells(self) -> list[list[str]]:
        bars = self.errors()
        head = list(self.columns)
        body = [
            [self._cell(row, name, bars[name][i] if name in bars else None, name in bars) for name in self.columns]
            for i, row in enumerate(self._kept[:_SHOWN])
        ]
        return [head, *body]

    def _cell(self, row: Row, name: str, error: float | None, measured: bool) -> str:
        value = row[name]
        if value is None and not measured and self._is_total(row, name):
            return TOTAL
        if error is None or value is None:
            return _shown(value) if measured or value is None else str(value)
        if isinstance(value, date):
            return f"{value} ± {significant(error, 2)} days"
        return " ± ".join(with_bar(value, error))

    def _repr_html_(self) -> str:
        head, *body = [[html.escape(cell) for cell in row] for row in self._cells()]
        lines = "".join(f"<tr>{''.join(f'<td>{c}</td>' for c in row)}</tr>" for row in body)
        steps = "".join(f"<li>{html.escape(step)}</li>" for step in (*self._cost_and_story()[1], *map(str, self.notes)))
        lines_below = "<br>".join(html.escape(line) for line in self.footer())
        return (
            f"<table><thead><tr>{''.join(f'<th>{c}</th>' for c in head)}</tr></thead><tbody>{lines}</tbody></table>"
            f"<small>{lines_below}</small>"
            f"<details><summary>how it was made</summary><ol>{steps}</ol></details>"
        )


def _sides(value: Any, error: float | None, ends: tuple[Any, Any] | None) -> tuple[Any, Any]:
    """How far an interval goes below and above a value; by its error bar where the interval was not stored."""
    if isinstance(value, date):
        around = timedelta(days=error or 0)
        return (
            (around, around) if ends is None else (max(value - ends[0], timedelta()), max(ends[1] - value, timedelta()))
        )
    if value is None and ends is not None and any(isinstance(end, float) and math.isinf(end) for end in ends):
        return math.inf, math.inf  # a quotient whose divisor may be 0
    if value is None or ends is None:
        return error or 0.0, error or 0.0
    if None in ends:
        return (math.inf, math.inf) if error is None else (error, error)
    return max(float(value) - ends[0], 0.0), max(ends[1] - float(value), 0.0)


def _is_wide(value: Any, bar: float | None, share: float) -> bool:
    """Whether a number has an error bar of more than this share of it.

    >>> _is_wide(100, 21.0, 0.2), _is_wide(100, 20.0, 0.2), _is_wide(100, None, 0.2), _is_wide(None, None, 0.2)
    (True, False, True, False)
    """
    if value is None or isinstance(value, date):
        return False
    return bar is None or bar > share * abs(float(value))


def _share(share: Number) -> str:
    return f"{significant(float(non_negative(share, 'share') * 100), 6)}%"


def _percent(confidence: Number) -> str:
    return f"{significant(float(confidence_level(confidence) * 100), 6)}%"


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float | np.floating):
        return significant(float(value), 6)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
