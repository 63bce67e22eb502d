"""Spellings of other databases: how they quote, and what they call today. A text goes in, one in our own spelling out.

Promise: quotes and the clock, nothing else; places stay where they are wherever the new text fits into the old one.
What decides a value and is spelled alike elsewhere (the first day of a week) is in ``translate.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from discreet.errors import BadParameter


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a database writes SQL."""

    text_in_double_quotes: bool = False
    backslashes: bool = False
    """Whether a backslash in a text begins an escape."""
    hash_comments: bool = False
    brackets: bool = True
    """Whether [x] is a name."""
    from_sunday: bool = False
    """Whether weeks begin on Sunday."""
    days_from: int = 0
    """What DAYOFWEEK calls Sunday."""
    later_first: bool = False
    """Whether DATEDIFF(x, y) of two dates is x - y."""
    paths: bool = False
    """Whether x:key is a value of JSON."""
    first_group: bool = False
    """Whether REGEXP_EXTRACT gives the first group of the pattern, if it has one."""
    null_if_none: bool = False
    """Whether REGEXP_EXTRACT is NULL where nothing matches."""
    every_match: bool = False
    """Whether REGEXP_REPLACE changes every match."""
    dollar_groups: bool = False
    """Whether $1 is a group in the new text of REGEXP_REPLACE."""


DUCKDB = Spelling()
DIALECTS = {
    "duckdb": DUCKDB,
    "postgres": DUCKDB,
    "redshift": DUCKDB,
    "snowflake": Spelling(backslashes=True, paths=True, every_match=True),
    "tsql": Spelling(from_sunday=True, days_from=1),
    "bigquery": Spelling(text_in_double_quotes=True, backslashes=True, hash_comments=True, brackets=False,
                         from_sunday=True, days_from=1, first_group=True, null_if_none=True, every_match=True),
    "mysql": Spelling(text_in_double_quotes=True, backslashes=True, hash_comments=True, brackets=False,
                      from_sunday=True, days_from=1, later_first=True, every_match=True, dollar_groups=True),
    "spark": Spelling(text_in_double_quotes=True, backslashes=True, brackets=False, days_from=1, later_first=True,
                      first_group=True, every_match=True, dollar_groups=True),
}  # fmt: skip
_OTHER_NAMES = {"postgresql": "postgres", "sqlserver": "tsql", "mssql": "tsql", "databricks": "spark"}


def spelling_of(dialect: str | None) -> Spelling:
    """The spelling of a dialect by its name; DuckDB's with the unmistakable ones of others if there is none."""
    if dialect is None:
        return DUCKDB
    word = dialect.lower() if isinstance(dialect, str) else ""
    found = DIALECTS.get(_OTHER_NAMES.get(word, word))
    if found is None:
        raise BadParameter("dialect", dialect, f"must be one of {', '.join(DIALECTS)}")
    return found


# --- quotes -----------------------------------------------------------------------------------------------------------

# What does not end goes on to the end of the text: nothing is read twice.
_PLAIN_TEXT, _ESCAPED_TEXT = r"'(?:[^']|'')*(?:'|\Z)", r"'(?:[^'\\]|\\.|'')*(?:'|\\?\Z)"
_PLAIN_NAME, _ESCAPED_NAME = r'"(?:[^"]|"")*(?:"|\Z)', r'"(?:[^"\\]|\\.|"")*(?:"|\\?\Z)'
_COMMENTS = r"--[^\n]*|/\*.*?(?:\*/|\Z)"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "%": r"\%", "_": r"\_"}


class OwnSpelling(str):
    """A text that is spelled as ours already."""

    __slots__ = ()


def respelled(text: str, dialect: str | None = None) -> str:
    r"""The text with quotes as we write them: names in double ones, constants in single ones.

    >>> respelled("SELECT [clinic], `a` FROM t WHERE b = N'x'")
    'SELECT "clinic", "a" FROM t WHERE b =  \'x\''
    >>> respelled(r'SELECT "it\'s"', "bigquery")
    "SELECT 'it''s'"
    """
    spelling = spelling_of(dialect)
    if not isinstance(text, str) or isinstance(text, OwnSpelling):
        return text
    return _parts(spelling).sub(lambda found: _respelled(found, spelling), text)


def _parts(spelling: Spelling) -> re.Pattern[str]:
    text = _ESCAPED_TEXT if spelling.backslashes else _PLAIN_TEXT
    double = _ESCAPED_NAME if spelling.text_in_double_quotes and spelling.backslashes else _PLAIN_NAME
    comments = _COMMENTS + (r"|\#[^\n]*" if spelling.hash_comments else "")
    prefixed = rf"(?<![\w$])(?:[rR]{_PLAIN_TEXT}|[nN]{text})"
    brackets = r"|(?<![\w\])\"`])\[[^\W\d][\w $#.\-]*\]" if spelling.brackets else ""
    raw = rf"|(?<![\w$])[rR]{_PLAIN_NAME}" if spelling.text_in_double_quotes else ""
    return re.compile(rf"{comments}|{prefixed}{raw}|{text}|{double}|`[^`\"]+`{brackets}", re.DOTALL)


def _respelled(found: re.Match[str], spelling: Spelling) -> str:
    part = found[0]
    open_end = part[0] in "'\"nNrR" and (part[-1] not in "'\"" or len(part.lstrip("nNrR")) < 2)
    if part[0] in "-/" or open_end:
        return part
    if part[0] == "#":
        return " " * len(part)
    if part[0] == "`":  # of a path, each step is a name
        return '"' + part[1:-1].replace(".", '"."') + '"'
    if part[0] == "[":
        return f'"{part[1:-1]}"'
    if part[0] in "rR":
        return " " + _quoted(part[2:-1].replace(part[1] * 2, part[1]))
    if part[0] in "nN":
        return " " + (_constant(part[1:], spelling) if spelling.backslashes else part[1:])
    if part[0] == "'":
        return _constant(part, spelling) if spelling.backslashes else part
    return _constant(part, spelling) if spelling.text_in_double_quotes else part


def _constant(part: str, spelling: Spelling) -> str:
    """A text in quotes of another database, in ours and as long."""
    inside = part[1:-1].replace(part[0] * 2, part[0])
    if spelling.backslashes:
        inside = re.sub(r"\\(.)", lambda one: _ESCAPES.get(one[1], one[1]), inside, flags=re.DOTALL)
    return _quoted(inside).ljust(len(part))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# --- the clock --------------------------------------------------------------------------------------------------------

_TODAY = ("CURRENT_DATE", "CURDATE", "TODAY", "UTC_DATE")
_NOW = ("CURRENT_TIMESTAMP", "CURRENT_DATETIME", "LOCALTIMESTAMP", "NOW", "GETDATE", "GETUTCDATE", "SYSDATE",
        "SYSDATETIME", "SYSUTCDATETIME", "SYSTIMESTAMP", "UTC_TIMESTAMP", "STATEMENT_TIMESTAMP",
        "TRANSACTION_TIMESTAMP")  # fmt: skip
_WITHOUT_BRACKETS = ("CURRENT_DATE", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP")
_CLOCK = re.compile(
    rf"{_PLAIN_TEXT}|{_PLAIN_NAME}|{_COMMENTS}|"
    rf"(?<![\w.$])(?:(?P<today>{'|'.join(_TODAY)})|(?P<now>{'|'.join(_NOW)}))(?![\w.])"
    r"(?P<brackets>\s*\(\s*(?:'(?:UTC|GMT|Z)'|\d)?\s*\))?(?!\s*\()",
    re.DOTALL | re.IGNORECASE,
)


def utc_now() -> datetime:
    """This second, without a zone: times are read as UTC."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)


def frozen(text: str, now: Callable[[], datetime] = utc_now) -> tuple[str, datetime | None]:
    """The text with the moment at which it is asked for CURRENT_DATE, NOW() and the like; and that moment, if it is.

    >>> frozen("SELECT COUNT(*) FROM t WHERE day > CURRENT_DATE - 7", lambda: datetime(2025, 3, 1, 12))[0]
    "SELECT COUNT(*) FROM t WHERE day > DATE '2025-03-01' - 7"
    """
    seen: list[datetime] = []

    def constant(found: re.Match[str]) -> str:
        word = found["today"] or found["now"]
        if word is None or (found["brackets"] is None and word.upper() not in _WITHOUT_BRACKETS):
            return found[0]
        seen[:] = seen or [now()]
        if found["today"]:
            return f"DATE '{seen[0].date().isoformat()}'"
        return f"TIMESTAMP '{seen[0].isoformat(sep=' ', timespec='seconds')}'"

    fixed = _CLOCK.sub(constant, text) if isinstance(text, str) else text
    return fixed, seen[0] if seen else None
