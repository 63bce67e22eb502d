"""CSV without guesses: one line is one row, the first line names the columns, and every field is text.

A file is read as RFC 4180 says, in UTF-8, but for one thing: a line break inside quotes ends the row as any other does.
Where it did not, a quote that is never closed would take the rows of other people with it.

  delimiter   the first of comma, semicolon, tab and | that the header line holds; tab first for names with .tsv
  quotes      a field in double quotes may hold the delimiter, and quotes that are doubled
  empty       a field without a character is NULL; an empty text is written as ""
  left out    a line with more or fewer fields than the header, with quotes inside an unquoted field, with quotes that
              do not end, with bytes that are no UTF-8 (on Spark, each is U+FFFD), or, on DuckDB, of more than 2 MB.
              Of a line with the control character U+001F, what stands before it is read

Promise: what one line holds decides about that line alone, and never whether a query is answered.
"""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass
from typing import BinaryIO, cast

from discreet.errors import BadData

NEVER = "\x1f"
"""What separates fields for the reader of a database, so that it leaves lines whole. It stands for delimiters inside
quotes later on, since no line that is read holds it."""
LONGEST_HEADER = 1 << 16
_DELIMITERS = ",;\t|"
_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Header:
    """What the first line of a file says."""

    delimiter: str
    names: tuple[str, ...]


def read_header(path: str) -> Header:
    """The header of a file, of which nothing else is read."""
    try:
        with _opened(path) as file:
            line = file.readline(LONGEST_HEADER)
    except (OSError, EOFError):
        raise BadData(f"the file {path} must be a CSV file that can be read") from None
    return parse_header(line, path)


def parse_header(line: bytes, path: str) -> Header:
    r"""The header in a first line.

    >>> parse_header(b'patient,"cost, euros"\r\n', "visits.csv")
    Header(delimiter=',', names=('patient', 'cost, euros'))
    >>> parse_header(b"patient;cost\n", "visits.csv").names
    ('patient', 'cost')
    """
    must = f"the first line of {path} must name its columns"
    try:
        text = line.decode().removeprefix(_MARK).rstrip("\r\n")
    except UnicodeDecodeError:
        raise BadData(f"{must}, in UTF-8: save it in that encoding") from None
    if len(line) >= LONGEST_HEADER or "\r" in text or "\0" in text or NEVER in text or text.count('"') % 2:
        raise BadData(f"{must}, with at most {LONGEST_HEADER:,} bytes, quotes that end, and no control characters")
    bare = "".join(text.split('"')[::2])
    first = "\t" if ".tsv" in path.lower() else ","
    delimiter = next((mark for mark in (first, *_DELIMITERS) if mark in bare), first)
    names = tuple(next(csv.reader([text], delimiter=delimiter), []))
    if not names or "" in names:
        raise BadData(f"{must}, each with a name of its own")
    if len({name.lower() for name in names}) != len(names):
        raise BadData(f"{must}, with different names whatever their case")
    return Header(delimiter, names)


def _opened(path: str) -> BinaryIO:
    if path.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path))
    if path.lower().endswith(".zst"):
        import pyarrow as pa  # heavy, and other files do without it

        return io.BufferedReader(pa.CompressedInputStream(pa.OSFile(path), "zstd"))
    return open(path, "rb")
