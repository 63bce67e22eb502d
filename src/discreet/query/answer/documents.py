"""Released rows as a document: a page of HTML, a LaTeX table or an Excel workbook, each number with its interval.

Promise: nothing here draws, spends or looks at data. What the rows hold stays text: no key is markup, a command of
LaTeX or a formula of a spreadsheet.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from discreet.errors import BadParameter, MissingExtra
from discreet.exact import significant
from discreet.query.answer.export import new_file
from discreet.shown import visible

ENDINGS = (".html", ".tex", ".xlsx")
"""The endings of the names of files that are documents."""
HIDDEN = "–"
"""What stands in a cell whose number is not shown."""
_GREY = "808080"
_MOST_ROWS = 1_048_575
"""Rows of a sheet of Excel below its head."""
_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$",
    "ε": r"$\varepsilon$", "δ": r"$\delta$", "ρ": r"$\rho$", **{mark: "\\" + mark for mark in "&%$#_{}"},
})  # fmt: skip
_STYLE = """:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { border-bottom: 1px solid #8884; padding: .3rem .8rem; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
.wide { color: #808080 }
p { margin: .3rem 0 }"""


@dataclass(frozen=True, slots=True)
class Cell:
    """One value as it is printed; of a released number also its value and interval."""

    text: str
    value: Any
    ends: tuple[Any, Any] | None = None
    is_wide: bool = False

    @property
    def hidden(self) -> Cell:
        """The same place without a number."""
        return Cell(HIDDEN, None)


@dataclass(frozen=True, slots=True)
class Document:
    """A table of an answer, and what is said of it."""

    head: tuple[str, ...]
    measured: frozenset[str]
    """The columns of released numbers."""
    rows: Callable[[], Iterator[list[Cell]]]
    lines: tuple[str, ...]
    """What stands under the table."""
    about: Mapping[str, Any]


def write_document(place: str, document: Document) -> None:
    """A new file with the document, of the kind that the ending of its name says."""
    if place.lower().endswith(".xlsx"):
        with new_file(place) as file:
            _workbook(document).save(file)
        return
    parts = as_html(document) if place.lower().endswith(".html") else as_latex(document)
    with new_file(place, text=True) as file:
        _write_all(file, parts)


def _write_all(file: IO[Any], parts: Iterator[str]) -> None:
    for part in parts:
        file.write(part + "\n")


def as_html(document: Document) -> Iterator[str]:
    """The lines of a page that needs nothing else; readable in light and dark mode and on a phone."""
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Answer</title>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<style>{_STYLE}</style></head><body><table>"
    yield f"<thead><tr>{''.join(f'<th>{html.escape(name)}</th>' for name in document.head)}</tr></thead><tbody>"
    for row in document.rows():
        yield f"<tr>{''.join(map(_html_cell, row))}</tr>"
    yield "</tbody></table>"
    yield from (f"<p>{html.escape(line)}</p>" for line in document.lines)
    steps = "".join(f"<li>{html.escape(step)}</li>" for step in (*document.about["how_it_was_made"],
                                                                 *document.about["notes"]))  # fmt: skip
    yield f"<details><summary>How it was made</summary><ol>{steps}</ol></details></body></html>"


def _html_cell(cell: Cell) -> str:
    interval = "" if cell.ends is None else html.escape(" to ".join(map(_short, cell.ends)))
    marks = (' class="wide"' if cell.is_wide else "") + (f' title="{interval}"' if interval else "")
    return f"<td{marks}>{html.escape(cell.text)}</td>"


def _short(end: Any) -> str:
    return significant(end, 6) if isinstance(end, float) else str(end)


def as_latex(document: Document) -> Iterator[str]:
    """The lines of a table for a paper; grey cells need the package xcolor."""
    columns = "".join("r" if name in document.measured else "l" for name in document.head)
    yield rf"\begin{{tabular}}{{{columns}}}"
    yield r"\hline"
    yield " & ".join(map(_latex, document.head)) + r" \\"
    yield r"\hline"
    for row in document.rows():
        texts = (_latex(cell.text) for cell in row)
        grey = (rf"\textcolor{{gray}}{{{t}}}" if cell.is_wide else t for cell, t in zip(row, texts, strict=True))
        yield " & ".join(grey) + r" \\"
    yield r"\hline"
    yield r"\end{tabular}"
    yield from (f"% {_one_line(note)}" for note in document.about["notes"])
    lines = r" \\ ".join(map(_latex, document.lines))
    yield rf"{{\footnotesize {lines}}}"


def _latex(text: str) -> str:
    """A text as LaTeX prints it."""
    return _one_line(text).translate(_LATEX)


def _one_line(text: str) -> str:
    """Without line breaks, after which a comment of LaTeX has ended, and without control characters."""
    return visible(" ".join(text.split()))


def _finite(end: Any) -> Any:
    return None if isinstance(end, float) and not math.isfinite(end) else end


def _workbook(document: Document) -> Any:
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
        from openpyxl.styles import Font
    except ImportError:
        raise MissingExtra("Excel files", extra="formats") from None
    rows = list(document.rows())  # a sheet that is begun must be finished
    if len(rows) > _MOST_ROWS:
        raise BadParameter("path", "a name that ends in .xlsx", f"must be .csv or .parquet above {_MOST_ROWS:,} rows")
    book = Workbook(write_only=True)
    sheet = book.create_sheet("answer")

    def place(value: Any, is_wide: bool = False) -> Any:
        text = isinstance(value, str)
        cell = WriteOnlyCell(sheet, value=ILLEGAL_CHARACTERS_RE.sub("�", value) if text else value)
        if text:
            cell.data_type = "s"  # also of what would be a formula
        if isinstance(value, int) and not isinstance(value, bool):
            cell.number_format = "#,##0"
        if is_wide:
            cell.font = Font(color=_GREY)
        return cell

    def spread(name: str) -> tuple[str, ...]:
        return (name, f"{name}_low", f"{name}_high") if name in document.measured else (name,)

    sheet.append([place(name) for column in document.head for name in spread(column)])
    for row in rows:
        values: list[Any] = []
        for name, cell in zip(document.head, row, strict=True):
            values.append(place(cell.text if cell.text == HIDDEN else cell.value, cell.is_wide))
            if name in document.measured:
                values += [place(_finite(end), cell.is_wide) for end in cell.ends or (None, None)]
        sheet.append(values)
    about = book.create_sheet("about")
    for line in document.lines:
        about.append([place("under the table"), place(line)])
    for name, value in document.about.items():
        for item in value if isinstance(value, list) else [value]:
            about.append([place(name), place(item if isinstance(item, str) else json.dumps(item, default=str))])
    return book
