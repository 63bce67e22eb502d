"""The options of ``discreet ask`` that describe a table: ``--unit``, ``--bounds``, ``--keys`` and the like.

Promise: mistakes are refused with our own messages; of the file, only names and types of columns are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from discreet.engines.duckdb.engine import duckdb
from discreet.errors import BadParameter
from discreet.query.plan.evaluate import text_to_moment
from discreet.query.plan.schema import (
    AUTO,
    NEVER,
    Declared,
    Stored,
    StoredKind,
    Table,
    bounds,
    keys,
    resolve,
    table,
    unknown_keys,
)

_KEY = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<bare>[^",]*?))\s*(?:,|$)')


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The options that describe a table."""

    file: str
    unit: str
    name: str
    bounds: Sequence[str]
    keys: Sequence[str]
    unknown: Sequence[str]
    max_rows: str
    """A whole number, "auto", or empty for the default."""

    @property
    def table_name(self) -> str:
        """How the SQL calls the table: the file's stem unless named."""
        name = self.name or Path(self.file.rstrip("/")).name.partition(".")[0]
        if not name.isidentifier():
            raise BadParameter("table", name, "must be a name of letters, digits and _: give one with --table")
        return name

    def table(self) -> Table:
        """The table, declared, if that fits the columns of the file."""
        stored = duckdb().columns(self.file)
        columns: dict[str, Declared] = {}
        for name, text in _pairs(self.bounds, "bounds"):
            columns[name] = bounds(text) if text in (AUTO, NEVER) else bounds(*read_ends(name, text))
        for name, text in _pairs(self.keys, "keys"):
            columns[name] = keys(_key(key_text, stored.get(name)) for key_text in read_keys(text))
        for name in self.unknown:
            columns[name] = unknown_keys()
        declared = table(self.file, unit=self.unit, columns=columns, max_rows=read_cap(self.max_rows))
        resolve(self.table_name, declared, stored)
        return declared


def read_cap(text: str) -> int | str | None:
    """A cap: a whole number, "auto", or nothing.

    >>> read_cap("12"), read_cap("auto"), read_cap("")
    (12, 'auto', None)
    """
    if text in ("", AUTO):
        return text or None
    if not re.fullmatch("[0-9]{1,9}", text):
        raise BadParameter("max-rows", text, "must be an integer, or auto")
    return int(text)


def _pairs(given: Sequence[str], option: str) -> Iterator[tuple[str, str]]:
    for option_text in given:
        name, equals, text = option_text.partition("=")
        if not equals or not name or not text:
            raise BadParameter(option, option_text, "must be column=..., such as cost=0:5000 or clinic=North,South")
        yield name, text


def read_ends(name: str, text: str) -> tuple[str, str]:
    """The two ends of bounds, with : or .. between them; times have colons of their own.

    >>> read_ends("cost", "0:5000"), read_ends("cost", "0..5000")
    (('0', '5000'), ('0', '5000'))
    >>> read_ends("arrived", "2024-01-01 00:00:00:2024-12-31 23:59:59")
    ('2024-01-01 00:00:00', '2024-12-31 23:59:59')
    """
    low, dots, high = text.partition("..")
    if dots:
        return low.strip(), high.strip()
    cuts = [(text[:i].strip(), text[i + 1 :].strip()) for i, mark in enumerate(text) if mark == ":"]
    moments = [cut for cut in cuts if all(text_to_moment(end) is not None for end in cut)]
    ends = moments or cuts
    if len(ends) != 1:
        raise BadParameter(
            "bounds",
            f"{name}={text}",
            "must be the least and the largest value, such as cost=0:5000 or day=2024-01-01..2024-12-31; or auto",
        )
    return ends[0]


def read_keys(text: str) -> list[str | None]:
    """Keys between commas; blanks around them do not count, unless they are inside quotes. NULL is the missing value.

    >>> read_keys('North, South ," East ","a, b",NULL,"NULL"')
    ['North', 'South', ' East ', 'a, b', None, 'NULL']
    """
    found_keys: list[str | None] = []
    at = 0
    while True:
        key = _KEY.match(text, at)
        if key is None or (key["quoted"] is None and not key["bare"]):
            raise BadParameter("keys", text, 'must be keys between commas; "quote" those with commas, quotes or blanks')
        bare = None if key["bare"] == "NULL" else key["bare"]
        found_keys.append(bare if key["quoted"] is None else key["quoted"].replace('""', '"'))
        at = key.end()
        if not key[0].endswith(","):
            return found_keys


def _key(text: str | None, stored: Stored | None) -> Any:
    if text is None:
        return None
    match None if stored is None else stored.kind:
        case StoredKind.INTEGER:
            if not re.fullmatch(r"-?[0-9]+", text):
                raise BadParameter("keys", text, "must be integers: that is how the column is stored")
            return int(text)
        case StoredKind.DATE:
            return _date(text)
        case StoredKind.BOOLEAN:
            if text.lower() not in ("true", "false"):
                raise BadParameter("keys", text, "must be true or false: that is how the column is stored")
            return text.lower() == "true"
    return text


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise BadParameter("date", text, "must be a date such as 2025-01-31") from None
