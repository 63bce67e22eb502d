"""Files of Stata, SPSS and SAS, through pyreadstat: columns by the types that the file states, codes by their labels.

  numbers     whole where Stata states a whole type, otherwise doubles; what the file calls missing is NULL
  labels      a column with value labels is text: the label of each code, and a code without one as it is written
  times       days and moments where the format of the column says so, in the years 1 to 9999; others are NULL
  text        in the encoding that the file states; what is none there is NULL, and half of a last character is left out

The whole file is read when a session opens it, and again when it has changed: always before anything is paid.

Promise: the type of a column follows from the header of the file, never from a row, and no text of a row decides
whether the file can be read (so there is no .por, whose reader stops at some). What cannot be read is refused with
``BadData``, whose message holds no value.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from discreet.engines.sources import UNTYPED
from discreet.errors import BadData, MissingExtra
from discreet.query.plan.schema import MOST_KEYS, Declared, keys

READERS = {
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".sav": "read_sav",
    ".xpt": "read_xport",
    ".zsav": "read_sav",
}
"""What reads files of each ending."""
_DAY = 86_400
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
"""The first and the last second of the years 1 to 9999, from 1970 on."""
_NAME_OF_FORMAT = re.compile(r"[A-Z0-9]*[A-Z]")
_STATA_UNICODE = 118
"""The first release of Stata's files whose text is UTF-8."""
_WHOLE = frozenset({"int8", "int16", "int32"})


@dataclass(frozen=True, slots=True)
class _Clock:
    """How a program writes days and moments as numbers: from when on, and which formats of columns are such."""

    start: int
    """In seconds from 1970 on."""
    day_length: int
    """What a day counts, where a column holds days."""
    per_second: int
    """What a second counts, where a column holds moments."""
    is_day: Callable[[str], bool]
    is_moment: Callable[[str], bool]


def _named(text: str) -> Callable[[str], bool]:
    """Whether a format, without its width, is one of these.

    >>> _named("DATE ADATE")("DATE11"), _named("DATE ADATE")("F8.2")
    (True, False)
    """
    names = frozenset(text.split())
    return lambda kind: (match := _NAME_OF_FORMAT.match(kind)) is not None and match[0] in names


_SPSS = _Clock(-141_428 * _DAY, _DAY, 1, _named("DATE ADATE EDATE JDATE SDATE"), _named("DATETIME YMDHMS"))
_SAS = _Clock(
    -3653 * _DAY, 1, 1,
    _named("DATE DDMMYY DDMMYYB DDMMYYC DDMMYYD DDMMYYN DDMMYYP DDMMYYS MMDDYY MMDDYYB MMDDYYC MMDDYYD MMDDYYN MMDDYYP "
           "MMDDYYS YYMMDD YYMMDDB YYMMDDD YYMMDDN YYMMDDP YYMMDDS WEEKDATE WEEKDATX B8601DA E8601DA IS8601DA"),
    _named("DATETIME DATEAMPM MDYAMPM B8601DT E8601DT IS8601DT"),
)  # fmt: skip
_STATA = _Clock(-3653 * _DAY, 1, 1000, lambda kind: kind.startswith(("%td", "%d")), lambda kind: kind.startswith("%tc"))
_CLOCKS = {".dta": _STATA, ".sas7bdat": _SAS, ".xpt": _SAS}


@dataclass(frozen=True, slots=True)
class _Header:
    """What a file states of its columns."""

    types: Mapping[str, str]
    formats: Mapping[str, str | None]
    labels: Mapping[str, Mapping[Any, str]] = field(default_factory=lambda: MappingProxyType({}))
    encoding: str = "utf-8"
    """Of the text in the rows."""


def read_labelled(path: str) -> Any:
    """The rows of a file as an Arrow table."""
    import pyarrow as pa  # heavy, and not needed for other files

    header = _header(path)
    values, _ = _read(path, output_format="dict", disable_datetime_conversion=True, encoding="LATIN1")  # byte by byte
    clock = _CLOCKS.get(_ending(path), _SPSS)
    columns = {
        name: _column(listed, name, header, clock) for name, listed in zip(header.types, values.values(), strict=True)
    }
    fields = [
        pa.field(name, column.type, metadata={UNTYPED: b""} if name in header.labels else None)
        for name, column in columns.items()
    ]
    return pa.table(list(columns.values()), schema=pa.schema(fields))


def value_labels(path: str) -> dict[str, Declared]:
    """The value labels of a Stata, SPSS or SAS file as proposed keys, by column: ``columns=`` of ``dp.table``.

    Only the header is read, and nothing is declared by this. Look at the lists first: they are public if they come
    from a questionnaire or code book, and not if a program made them from the rows, as Stata's ``encode`` does.
    Columns with labels for missing values alone have no list.

    ``path``: a file that ends in .dta, .sav, .zsav, .sas7bdat or .xpt.

    >>> value_labels("survey.sav")  # doctest: +SKIP
    {'sex': dp.keys(['female', 'male'])}
    """
    named = {name: tuple(dict.fromkeys(labels.values())) for name, labels in _header(path).labels.items()}
    return {name: keys(labels) for name, labels in named.items() if 0 < len(labels) <= MOST_KEYS}


def _ending(path: str) -> str:
    return f".{path.lower().rpartition('.')[2]}"


def _read(path: str, **options: Any) -> tuple[Any, Any]:
    ending = _ending(path)
    if ending not in READERS:
        raise BadData(f"the file {path} must end in one of {', '.join(READERS)}")
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtra("files of Stata, SPSS and SAS", extra="formats") from None
    try:
        values, about = getattr(pyreadstat, READERS[ending])(path, **options)
    except Exception:  # its message may hold values
        raise BadData(f"the file {path} must be a file of Stata, SPSS or SAS that can be read") from None
    return values, about


def _header(path: str) -> _Header:
    own_missing = {} if _ending(path) == ".xpt" else {"user_missing": True}
    _, about = _read(path, metadataonly=True, **own_missing)
    names = list(about.column_names)
    if not names or "" in names or len({name.lower() for name in names}) != len(names):
        raise BadData(f"the columns of {path} must have different names, whatever their case")
    labels = {
        name: {code: str(label) for code, label in named.items() if not _is_missing(code, about, name)}
        for name, named in about.variable_value_labels.items()
    }
    return _Header(
        {name: about.readstat_variable_types[name] for name in names},
        about.original_variable_types,
        {name: named for name, named in labels.items() if named},
        _encoding(path, about.file_encoding),
    )


def _encoding(path: str, stated: str | None) -> str:
    """In what the rows of a file are written; older files of Stata do not say it."""
    if stated is None and _ending(path) == ".dta":
        with open(path, "rb") as file:
            begins = file.read(100)
        release = re.search(rb"<release>(\d+)", begins)
        return "utf-8" if int(release[1] if release else begins[0]) >= _STATA_UNICODE else "cp1252"
    try:
        return codecs.lookup(stated or "utf-8").name
    except LookupError:
        raise BadData(f"the file {path} must be in an encoding that Python knows") from None


def _decoded(text: Any, encoding: str) -> str | None:
    """A text of which each character stands for a byte."""
    try:
        decoder = codecs.getincrementaldecoder(encoding)()  # which keeps back what is cut off
        return decoder.decode(text.encode("latin-1")) if isinstance(text, str) else None
    except UnicodeError:
        return None


def _is_missing(code: Any, about: Any, name: str) -> bool:
    """Whether a code stands for a missing value, as the file says."""
    if isinstance(code, str) and about.readstat_variable_types[name] != "string":
        return True  # .a to .z of Stata, A to Z of SAS
    if code in about.missing_user_values.get(name, ()):
        return True
    ranges = about.missing_ranges.get(name, ())
    return any(type(code) is type(ends["lo"]) and ends["lo"] <= code <= ends["hi"] for ends in ranges)


def _column(values: Any, name: str, header: _Header, clock: _Clock) -> Any:
    import pyarrow as pa  # heavy, and not needed for other files

    kind, written, labels = header.types[name], header.formats.get(name) or "", header.labels.get(name)
    if kind == "string":
        texts = (_decoded(value, header.encoding) for value in values)
        return pa.array([text if labels is None else labels.get(text, text) for text in texts], pa.string())
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    if labels is not None:
        return _labelled(numbers, labels)
    if clock.is_day(written):
        days, dated = _within(np.floor(numbers / clock.day_length), _FIRST // _DAY, _LAST // _DAY, clock.start // _DAY)
        return pa.array(days.astype(np.int32), pa.date32(), mask=~dated)
    if clock.is_moment(written):
        seconds, dated = _within(np.floor(numbers / clock.per_second), _FIRST, _LAST, clock.start)
        rest = np.where(dated, np.mod(numbers, clock.per_second) * (1_000_000 // clock.per_second), 0)
        return pa.array(seconds * 1_000_000 + rest.astype(np.int64), pa.timestamp("us"), mask=~dated)
    if kind in _WHOLE:
        return pa.array(np.where(np.isnan(numbers), 0, numbers).astype(np.int64), pa.int64(), mask=np.isnan(numbers))
    return pa.array(numbers, pa.float64(), mask=np.isnan(numbers))


def _within(numbers: Any, first: int, last: int, start: int) -> tuple[Any, Any]:
    """Whole numbers counted from 1970 on, and which of them lie between the first and the last one."""
    inside = np.isfinite(numbers) & (numbers >= first - start) & (numbers <= last - start)
    return np.where(inside, numbers, 0).astype(np.int64) + start, inside


def _labelled(codes: Any, labels: Mapping[Any, str]) -> Any:
    """The label of each code; what has none is written as a number."""
    import pyarrow as pa  # heavy, and not needed for other files

    distinct, places = np.unique(codes, return_inverse=True)
    by_code = {float(code): label for code, label in labels.items()}
    texts = pa.array([None if np.isnan(code) else by_code.get(code, _written(code)) for code in distinct], pa.string())
    return texts.take(pa.array(places))


def _written(number: float) -> str:
    """A number as text.

    >>> _written(34.0), _written(2.5)
    ('34', '2.5')
    """
    return str(int(number)) if number.is_integer() and abs(number) < 1 << 53 else repr(float(number))
