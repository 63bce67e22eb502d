"""An answer as a Parquet, CSV or Excel file, piece by piece: what is in memory at one time does not grow with it.

Promise: nothing that is there already is written over, and a file that could not be finished is taken away again. In a
CSV file there is an apostrophe before what a spreadsheet would take for a formula, so that it stays text: where a text
begins, and within it after what may end a cell in another country's settings. What is
said about the rows (cost, confidence, notes) is kept with them: in the metadata of a Parquet file, on a second sheet of
an Excel file, and beside a CSV file in a file of the same name with ``-metadata.json`` after it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from importlib.util import find_spec
from typing import IO, Any, BinaryIO

import pyarrow as pa

from discreet.errors import BadParameter, MissingExtra
from discreet.shown import visible

PIECE = 50_000
"""Rows that are Python objects at one time."""
IN_FOLDER = "answer.parquet"
"""The file in a folder that is written."""
BESIDE = "-metadata.json"
"""What is put after the name of a CSV file for the file about it."""
ABOUT = "discreet"
"""The name of what is said about the rows, in the metadata of a Parquet file."""
_FORMULA = r"(^|[;\t\r\n])([=+\-@＝＋－＠])"
_BLANK = r"^([\t\r\n])"
_SHEET = 1 << 20
"""Rows that a sheet of Excel holds."""

Pieces = Callable[[], Iterator[pa.Table]]
"""The rows, to be gone through twice: for their common types, and to be written."""


_INT64 = 1 << 63
_DECIMAL = 10**38


def as_array(values: list[Any]) -> pa.Array:
    """Released values as a column, of one type. Whole numbers beyond 64 bits are decimals; beside fractions, or beyond
    38 digits, all numbers are floats; values of several kinds, such as a CASE may have, are text.

    >>> as_array([1, 10**21]).type, as_array([0.5, 10**21]).type, as_array([10**40, None]).type
    (Decimal128Type(decimal128(38, 0)), DataType(double), DataType(double))
    """
    kinds = {type(v) for v in values} - {type(None)}
    if kinds == {int, float}:
        values = [None if v is None else float(v) for v in values]
    elif kinds == {int} and not all(v is None or -_INT64 <= v < _INT64 for v in values):
        if max(abs(v) for v in values if v is not None) >= _DECIMAL:
            return pa.array([None if v is None else float(v) for v in values], type=pa.float64())
        return pa.array([None if v is None else Decimal(v) for v in values], type=pa.decimal128(38, 0))
    elif len(kinds) > 1:
        values = [None if v is None else str(v) for v in values]
    return pa.array(values)


def write_rows(path: str | os.PathLike[str], pieces: Pieces, about: Mapping[str, Any] | None = None) -> None:
    """One file with all pieces: Parquet, CSV or Excel by the ending of its name; without one, a folder of Parquet."""
    place = os.fspath(path).rstrip("/" + os.sep)
    ending = os.path.splitext(os.path.basename(place))[1].lower()
    match ending:
        case ".csv" if about is not None:
            _write_beside(place + BESIDE, about, lambda: _write(place, pieces, _csv))
        case ".csv":
            _write(place, pieces, _csv)
        case ".parquet":
            write_parquet(place, pieces, about)
        case ".xlsx":
            check_ending("xlsx")
            _write(place, pieces, _Xlsx, {} if about is None else {ABOUT: json.dumps(about)})
        case "":
            _write_folder(place, pieces, about)
        case _:
            raise BadParameter(
                "path", place, "must end in .parquet, .csv, .xlsx, .html or .tex, or be a new folder without an ending"
            )


def check_ending(ending: str) -> None:
    """Refuse Excel files where what writes them is missing: to be called before anything is paid for them."""
    if ending == "xlsx" and find_spec("openpyxl") is None:
        raise MissingExtra("Excel files", extra="formats")


def write_parquet(path: str | os.PathLike[str], pieces: Pieces, about: Mapping[str, Any] | None = None) -> None:
    """One Parquet file with all pieces."""
    _write(os.fspath(path), pieces, _parquet, {} if about is None else {ABOUT: json.dumps(about)})


def _write_folder(place: str, pieces: Pieces, about: Mapping[str, Any] | None) -> None:
    _made(place, lambda: os.mkdir(place))
    try:
        write_parquet(os.path.join(place, IN_FOLDER), pieces, about)
    except BaseException:
        os.rmdir(place)
        raise


def _write_beside(place: str, about: Mapping[str, Any], then: Callable[[], None]) -> None:
    """A text about another file, which is written then."""
    with new_file(place, text=True) as file:
        json.dump(about, file, indent=2, ensure_ascii=False)
        file.write("\n")
        then()


def _write(
    place: str,
    pieces: Pieces,
    writer: Callable[[Any, pa.Schema], Any],
    metadata: Mapping[str, str] | None = None,
) -> None:
    with new_file(place) as file:
        schema = pa.unify_schemas([piece.schema for piece in pieces()], promote_options="permissive")
        with writer(file, schema.with_metadata(metadata or None)) as to:
            for piece in pieces():
                to.write_table(_as(piece, to.schema))


@contextmanager
def new_file(place: str, *, text: bool = False) -> Iterator[IO[Any]]:
    """A file that was not there, taken away again if what is done with it fails."""
    mode, encoding = ("x", "utf-8") if text else ("xb", None)
    file: IO[Any] = _made(place, lambda: open(place, mode, encoding=encoding))  # noqa: SIM115 - closed below
    try:
        with file:
            yield file
    except BaseException:
        os.unlink(place)
        raise


def _made(place: str, make: Callable[[], Any]) -> Any:
    """A file or folder that was not there."""
    try:
        return make()
    except FileExistsError:
        raise BadParameter("path", place, "must not be there yet: nothing is written over") from None
    except OSError:
        raise BadParameter("path", place, "must be in a folder where files can be written") from None


def _as(piece: pa.Table, schema: Any) -> pa.Table:
    """Whole numbers beside fractions become floats, as they do in one piece."""
    return piece.cast(schema, safe=False)


def _parquet(file: BinaryIO, schema: pa.Schema) -> Any:
    import pyarrow.parquet as pq  # heavy, and it waits for its first use

    return pq.ParquetWriter(file, schema)


class _Xlsx:
    """A writer of one sheet with the rows, and one with what is said about them. Text is never a formula."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        from openpyxl import Workbook

        self.schema = schema
        self._file, self._book, self._rows = file, Workbook(write_only=True), 0
        self._sheet = self._book.create_sheet("rows")
        self._append(self._sheet, schema.names)

    def __enter__(self) -> _Xlsx:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        about = self._book.create_sheet("about")
        for name, value in json.loads((self.schema.metadata or {}).get(ABOUT.encode(), b"{}")).items():
            self._append(about, [name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)])
        if kind is None:
            self._book.save(self._file)
        else:  # sheets that were begun leave a file of their own unless they are ended
            for sheet in self._book.worksheets:
                sheet.close()
                sheet._writer.cleanup()

    def write_table(self, piece: pa.Table) -> None:
        """Append some rows to the sheet."""
        self._rows += piece.num_rows
        if self._rows >= _SHEET:
            raise BadParameter("path", "an Excel file", f"must have fewer than {_SHEET:,} rows: write .parquet or .csv")
        for row in zip(*(column.to_pylist() for column in piece.columns), strict=True):
            self._append(self._sheet, row)

    def _append(self, sheet: Any, values: Iterable[Any]) -> None:
        from openpyxl.cell import WriteOnlyCell

        cells = []
        for value in values:
            cell = WriteOnlyCell(sheet, visible(value) if isinstance(value, str) else value)
            if isinstance(value, str):
                cell.data_type = "s"
            cells.append(cell)
        sheet.append(cells)


def _csv(file: BinaryIO, schema: pa.Schema) -> Any:
    return _Csv(file, schema)


class _Csv:
    """A writer of CSV in which no text is a formula. NULL is empty; an empty text is quoted."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        import pyarrow.compute as pc
        from pyarrow import csv

        self._pc = pc
        self.schema = schema
        self._names = [self._text(pa.array([name]))[0].as_py() for name in schema.names]
        named = pa.schema([f.with_name(name) for f, name in zip(schema, self._names, strict=True)])
        self._writer = csv.CSVWriter(file, named)

    def __enter__(self) -> _Csv:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def write_table(self, piece: pa.Table) -> None:
        """Some rows more."""
        columns = [self._text(c) if pa.types.is_string(c.type) else c for c in piece.columns]
        self._writer.write_table(pa.table(columns, names=self._names))

    def _text(self, column: Any) -> Any:
        begun = self._pc.replace_substring_regex(column, pattern=_FORMULA, replacement=r"\1'\2")
        return self._pc.replace_substring_regex(begun, pattern=_BLANK, replacement=r"'\1")
