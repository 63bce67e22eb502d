"""Excel files, through openpyxl: the first sheet, its first row as the names of columns, every cell as text.

A cell is read as a spreadsheet shows it without its format: 34, 2.5, TRUE, 2025-01-31, 2025-01-31 10:00:00; an empty
one is NULL. As with CSV, a query decides what is a number or a time. Cells beside the named columns are left out.

The whole file is read when a session opens it, and again when it has changed: always before anything is paid.

Promise: all columns are text, whatever a row holds; what cannot be read is refused with ``BadData``, whose message
holds no value.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any

from discreet.engines.sources import UNTYPED
from discreet.errors import BadData, MissingExtra


def read_workbook(path: str) -> Any:
    """The rows of the first sheet as an Arrow table of text."""
    import pyarrow as pa  # heavy, and not needed for other files

    try:
        rows = _rows(path)
        head = next(rows, ())
        body = list(rows)
    except MissingExtra:
        raise
    except Exception:  # its message may hold values
        raise BadData(f"the file {path} must be an Excel file that can be read") from None
    names = [_text(cell) for cell in head]
    while names and names[-1] is None:
        names.pop()
    if not names or not all(names) or len({name.lower() for name in names if name}) != len(names):
        raise BadData(f"the first row of {path} must name its columns, with different names whatever their case")
    columns = [[_text(row[i]) if i < len(row) else None for row in body] for i in range(len(names))]
    fields = [pa.field(name, pa.string(), metadata={UNTYPED: b""}) for name in names]
    return pa.table([pa.array(column, pa.string()) for column in columns], schema=pa.schema(fields))


def _rows(path: str) -> Iterator[tuple[Any, ...]]:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtra("Excel files", extra="formats") from None
    book = load_workbook(path, read_only=True, data_only=True)
    try:
        yield from book.worksheets[0].iter_rows(values_only=True)
    finally:
        book.close()


def _text(cell: Any) -> str | None:
    r"""A cell as text.

    >>> _text(34.0), _text(True), _text(datetime(2025, 1, 31)), _text(None)
    ('34', 'TRUE', '2025-01-31', None)
    """
    match cell:
        case None:
            return None
        case bool():
            return str(cell).upper()
        case float() if cell.is_integer() and abs(cell) < 1 << 53:
            return str(int(cell))
        case datetime():
            return str(cell.date() if cell.time() == time() else cell)
        case date() | time():
            return cell.isoformat()
        case _:
            return str(cell)
