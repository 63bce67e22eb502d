"""One table at the end of each attack: without protection, with it, and what theory allows at most."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.errors import BadParameter
from discreet.picture import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Row:
    """One setting: how well the attack did, and the most that theory allows (None: no promise was made)."""

    setting: str
    success: float
    bound: float | None = None


@dataclass(frozen=True, slots=True)
class AttackTable:
    """What an attack achieved, row by row.

    >>> print(AttackTable("a test", "guesses that were right", (Row("no noise", 1.0), Row("noise", 0.5, 0.75))))
    a test: guesses that were right
      setting    attack   at most
      no noise   1.000    no promise
      noise      0.500    0.750
    """

    title: str
    measure: str
    rows: tuple[Row, ...]
    note: str = ""
    picture: Callable[[Any], None] | None = field(default=None, repr=False, compare=False)

    def row(self, start: str) -> Row:
        """The row whose setting starts with this text."""
        for row in self.rows:
            if row.setting.startswith(start):
                return row
        raise BadParameter("start", start, f"must be how one of these starts: {[row.setting for row in self.rows]}")

    def __str__(self) -> str:
        cells = [("setting", "attack", "at most")]
        cells += [(row.setting, f"{row.success:.3f}", _bound(row)) for row in self.rows]
        widths = [max(len(line[i]) for line in cells) for i in range(3)]
        lines = [f"{self.title}: {self.measure}"]
        lines += [
            "  " + "   ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in cells
        ]
        if self.note:
            lines.append(f"  {self.note}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data."""
        return {
            "title": self.title,
            "measure": self.measure,
            "rows": [{"setting": r.setting, "attack": r.success, "at_most": r.bound} for r in self.rows],
            "note": self.note,
        }

    def to_html(self) -> str:
        """The table as a piece of HTML."""
        body = "".join(
            f"<tr><td>{html.escape(r.setting)}</td><td>{r.success:.3f}</td><td>{_bound(r)}</td></tr>" for r in self.rows
        )
        return (
            f"<table><caption>{html.escape(self.title)}: {html.escape(self.measure)}</caption>"
            f"<tr><th>setting</th><th>attack</th><th>at most</th></tr>{body}</table><p>{html.escape(self.note)}</p>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def plot(self) -> Figure:
        """The picture: bars of what the attack achieved, with a mark where theory ends; or the attack's own picture."""
        figure = new_figure(6, 0.6 * len(self.rows) + 1.5)
        axes = figure.subplots()
        axes.set_title(self.title)
        if self.picture is not None:
            self.picture(axes)
            return figure
        names = [row.setting for row in self.rows]
        axes.barh(names, [row.success for row in self.rows])
        for place, row in enumerate(self.rows):
            if row.bound is not None:
                axes.plot([min(row.bound, 1.0)] * 2, [place - 0.4, place + 0.4], color="black")
        axes.set_xlabel(self.measure)
        axes.invert_yaxis()
        return figure


def _bound(row: Row) -> str:
    return "no promise" if row.bound is None else f"{row.bound:.3f}"
