"""What other databases call a function, as a call of our own: in the tree, before anybody reads it.

Promise: a call is rewritten only where its form tells what it means, or where a dialect was named. A unit that stands
last, as in ``DATE_TRUNC(x, MONTH)``, is BigQuery's: its weeks begin on Sunday. The functions of ``query/functions``
decide everything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from sqlglot import exp

from discreet.errors import Unsupported
from discreet.query.front.sql.dialects import Spelling
from discreet.query.front.sql.opaque_names import spelled

UNITS = frozenset({"year", "quarter", "month", "week", "isoweek", "isoyear", "day", "hour", "minute", "second"})
_SHORT = {"yy": "year", "yyyy": "year", "qq": "quarter", "q": "quarter", "mm": "month", "m": "month", "mon": "month",
          "ww": "week", "wk": "week", "w": "week", "dd": "day", "d": "day", "hh": "hour", "h": "hour", "mi": "minute",
          "n": "minute", "ss": "second", "s": "second"}  # fmt: skip
Call: TypeAlias = Callable[[str, list[exp.Expr], Spelling], exp.Expr | None]


def translated(tree: exp.Expr, spelling: Spelling) -> exp.Expr:
    """The tree with the calls of other databases as ours."""
    for node in reversed(list(tree.find_all(exp.Anonymous, exp.Like, exp.ILike, exp.Extract))):
        found: exp.Expr | None = None
        if isinstance(node, exp.Like | exp.ILike):
            _check_escapes(node, spelling)
        elif isinstance(node, exp.Extract):
            found = _of_part(spelled(node.this.name).lower(), node.expression, spelling)
        else:
            name = spelled(node.this).lower() if isinstance(node.this, str) else ""
            found = _CALLS[name](name, node.expressions, spelling) if name in _CALLS else None
        if found is not None and node is tree:
            tree = found
        elif found is not None:
            node.replace(found)
    return tree


def _check_escapes(node: exp.Expr, spelling: Spelling) -> None:
    pattern = node.expression
    if spelling.backslashes and type(pattern) is exp.Literal and "\\" in pattern.this:
        raise Unsupported("a backslash in a pattern of LIKE", "use CONTAINS, STARTS_WITH or REGEXP_LIKE")


# --- parts of calls ---------------------------------------------------------------------------------------------------


def _call(name: str, *given: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[one.copy() for one in given])


def _word(node: exp.Expr) -> str:
    """The unit that a text or a bare word is, in full and in small letters."""
    word = node.name.lower() if isinstance(node, exp.Literal | exp.Column | exp.Var) else ""
    return _SHORT.get(word, word)


def _unit(node: exp.Expr) -> str | None:
    """The unit of time that a bare word is, in small letters: WEEK(MONDAY) is an ISO week."""
    if type(node) is exp.Anonymous and len(node.expressions) == 1 and type(node.expressions[0]) is exp.Column:
        return "isoweek" if node.expressions[0].name.lower() == "monday" else None
    bare = type(node) is exp.Var or (type(node) is exp.Column and node.args.get("table") is None)
    return node.name.lower() if bare and node.name.lower() in UNITS else None


def _weeks(unit: str, *days: exp.Expr, sunday: bool) -> tuple[str, list[exp.Expr]]:
    """The unit, and the days by which it is counted: weeks from Sunday are those from Monday a day later."""
    if unit != "week" or not sunday:
        return unit.removeprefix("iso"), list(days)
    return unit, [_call("add_days", day, exp.Literal.number(1)) for day in days]


# --- beginnings and distances -----------------------------------------------------------------------------------------


def _trunc(name: str, given: list[exp.Expr], spelling: Spelling) -> exp.Expr | None:
    """DATE_TRUNC(x, MONTH) of BigQuery; TRUNC(x, 'MM') of Spark, Oracle and Snowflake."""
    if len(given) == 3 and type(given[2]) is exp.Literal and given[2].this.upper() in ("UTC", "GMT"):
        given = given[:2]
    if len(given) != 2:
        return None
    x, last = given
    unit = _unit(last)
    if name == "trunc":
        word = last.this.lower() if type(last) is exp.Literal and last.args.get("is_string") else ""
        unit = "isoweek" if word == "iw" else _SHORT.get(word, word if word in UNITS else None)
    elif (
        unit is None
        or type(x) is exp.Literal
        or (_unit(x) is not None and name == "date_trunc" and x.name.lower() != "day")
    ):
        return None
    if unit is None or unit == "isoyear":
        return None
    word, (day,) = _weeks(unit, x, sunday=name != "trunc")
    found = _call("date_trunc", exp.Literal.string(word), day)
    return found if day is x else _call("add_days", found, exp.Neg(this=exp.Literal.number(1)))


def _diff(name: str, given: list[exp.Expr], spelling: Spelling) -> exp.Expr | None:
    """DATE_DIFF(later, earlier, DAY) of BigQuery, DATEDIFF(later, earlier) of MySQL and Spark; weeks of T-SQL."""
    if len(given) == 2 and name == "datediff":
        return _call("date_diff", exp.Literal.string("day"), given[1], given[0])
    if len(given) != 3:
        return None
    last = _unit(given[2])
    if last is not None and (_word(given[0]) not in UNITS or _is_unit_last(given, spelling)):
        unit, (later, earlier) = _weeks(last, given[0], given[1], sunday=True)
    else:
        unit, (earlier, later) = _weeks(_word(given[0]), given[1], given[2], sunday=spelling.from_sunday)
    return _call("date_diff", exp.Literal.string(unit), earlier, later) if unit in UNITS else None


def _is_unit_last(given: list[exp.Expr], spelling: Spelling) -> bool:
    return spelling.text_in_double_quotes and type(given[0]) is exp.Column


def _elapsed(name: str, given: list[exp.Expr], spelling: Spelling) -> exp.Expr | None:
    """TIMESTAMP_DIFF(later, earlier, MINUTE) of BigQuery: whole units that have passed."""
    last = _unit(given[2]) if len(given) == 3 else None
    return None if last is None else _call("timestampdiff", exp.Literal.string(last), given[1], given[0])


def _added(name: str, given: list[exp.Expr], spelling: Spelling) -> exp.Expr | None:
    """DATEADD(dd, 1, x) with a short unit; DATE_ADD(x, 7) of days."""
    back = name.endswith("sub") or name == "subdate"
    if len(given) == 2 and type(given[1]) is exp.Interval:
        return _call("date_sub" if back else "date_add", *given)
    if len(given) == 2:
        return _call("add_days", given[0], exp.Neg(this=given[1].copy()) if back else given[1])
    if len(given) == 3 and _word(given[0]) in UNITS and not back:
        return _call("dateadd", exp.Literal.string(_word(given[0])), *given[1:])
    return None


def _part(name: str, given: list[exp.Expr], spelling: Spelling) -> exp.Expr | None:
    """DATEPART(dw, x) and other short units."""
    if len(given) != 2:
        return None
    word = _word(given[0])
    found = _of_part(word, given[1], spelling)
    return _call("date_part", exp.Literal.string(word), given[1]) if found is None and word in UNITS else found


def _of_part(word: str, x: exp.Expr, spelling: Spelling) -> exp.Expr | None:
    """A part of a time whose name means something else in ours, or an age of PostgreSQL."""
    inner = x.this if type(x) is exp.Paren else x
    if type(inner) is exp.Anonymous and spelled(inner.this).lower() == "age" and len(inner.expressions) == 2:
        return _of_age(word, *inner.expressions)
    if word in ("dw", "dayofweek", "weekday") and spelling.days_from:
        return exp.Paren(this=exp.Add(this=_call("dayofweek", x), expression=exp.Literal.number(1)))
    if word == "week" and spelling.from_sunday:
        raise Unsupported("the WEEK of a date, where weeks begin on Sunday", "use ISOWEEK")
    if word in ("isoweek", "iso_week", "isowk", "isoww"):
        return _call("week", x)
    if word == "date":
        return exp.Cast(this=x.copy(), to=exp.DataType(this=exp.DType.DATE))
    return _call("dayofyear", x) if word == "dy" else None


def _of_age(word: str, later: exp.Expr, earlier: exp.Expr) -> exp.Expr:
    """The years and months of AGE(later, earlier)."""
    if word in ("year", "years"):
        return _call("timestampdiff", exp.Literal.string("year"), earlier, later)
    if word in ("month", "months"):
        return _call("mod", _call("timestampdiff", exp.Literal.string("month"), earlier, later), exp.Literal.number(12))
    raise Unsupported("this part of AGE", "write DATE_DIFF('day', earlier, later) for days")


def _day_of_week(name: str, given: list[exp.Expr], spelling: Spelling) -> exp.Expr | None:
    """DAYOFWEEK(x) where Sunday is 1, and WEEKDAY(x) where Monday is 0."""
    if len(given) != 1 or not spelling.later_first:
        return None
    days = exp.Cast(this=given[0].copy(), to=exp.DataType(this=exp.DType.DATE))
    if name == "weekday":
        return exp.Paren(this=exp.Sub(this=_call("day_of_week", days), expression=exp.Literal.number(1)))
    moved = exp.Mod(this=_call("day_of_week", days), expression=exp.Literal.number(7))
    return exp.Paren(this=exp.Add(this=moved, expression=exp.Literal.number(1)))


# --- casts ------------------------------------------------------------------------------------------------------------

_TYPES = {"varchar": "TEXT", "nvarchar": "TEXT", "char": "TEXT", "string": "TEXT", "text": "TEXT", "int": "BIGINT",
          "integer": "BIGINT", "bigint": "BIGINT", "smallint": "BIGINT", "tinyint": "BIGINT", "float": "DOUBLE",
          "real": "DOUBLE", "decimal": "BIGDECIMAL", "numeric": "BIGDECIMAL", "date": "DATE", "datetime": "TIMESTAMP",
          "datetime2": "TIMESTAMP", "bit": "BOOLEAN"}  # fmt: skip
_STYLES = {"112": "%Y%m%d", "23": "%Y-%m-%d", "120": "%Y-%m-%d %H:%M:%S", "101": "%m/%d/%Y", "103": "%d/%m/%Y",
           "104": "%d.%m.%Y"}  # fmt: skip


def _convert(name: str, given: list[exp.Expr], spelling: Spelling) -> exp.Expr | None:
    """CONVERT(type, x, style) of T-SQL."""
    if len(given) not in (2, 3):
        return None
    kind, x = given[0], given[1]
    sizes = kind.expressions if type(kind) is exp.Anonymous else []
    to = _TYPES.get(spelled(kind.this).lower() if type(kind) is exp.Anonymous else kind.name.lower())
    if to is None:
        raise Unsupported("this CONVERT", "write CAST(x AS BIGINT), or another of the types that CAST has")
    if len(given) == 3:
        form = _STYLES.get(given[2].name)
        if form is None or to != "TEXT":
            raise Unsupported("this style of CONVERT", f"use one of {', '.join(_STYLES)}, or STRFTIME(x, '%Y-%m')")
        short = sizes and sizes[0].name in ("4", "7", "10") and form.startswith("%Y-%m-%d")
        made = _call("strftime", x, exp.Literal.string(form[:8] if short else form))
    elif to == "BIGDECIMAL" and sizes:
        parts = [exp.DataTypeParam(this=one.copy()) for one in sizes]
        made = exp.Cast(this=x.copy(), to=exp.DataType(this=exp.DType.DECIMAL, expressions=parts))
    else:
        made = exp.Cast(this=x.copy(), to=exp.DataType(this=exp.DType[to]))
    return _call("left", made, sizes[0]) if to == "TEXT" and len(sizes) == 1 else made


_ISO = re.compile(r"(?:%Y-%m-%d|YYYY-MM-DD)(?:[ T](?:%H:%M|HH24:MI)(?:(?::%S|:SS)(?:\.(?:US|FF\d?|MS|%f))?)?)?",
                  re.IGNORECASE)  # fmt: skip


def _written_day(name: str, given: list[exp.Expr], spelling: Spelling) -> exp.Expr | None:
    """TO_TIMESTAMP('2025-01-31 00:00:00', 'YYYY-MM-DD HH24:MI:SS'): a constant in the form in which all are read."""
    texts = [one for one in given if type(one) is exp.Literal and one.args.get("is_string")]
    if len(texts) != len(given) or not 1 <= len(given) <= 2:
        return None
    form = next((one for one in texts if _ISO.fullmatch(one.this)), None)
    text = next((one for one in texts if one is not form), None)
    if text is None or (len(given) == 2 and form is None):
        return None
    return exp.Cast(this=text.copy(), to=exp.DataType(this=exp.DType.DATE if "date" in name else exp.DType.TIMESTAMP))


def _position(name: str, given: list[exp.Expr], spelling: Spelling) -> exp.Expr | None:
    """POSITION('a' IN x)."""
    inside = given[0] if len(given) == 1 and type(given[0]) is exp.In else exp.In()
    return None if inside.args.get("field") is None else _call("strpos", inside.args["field"], inside.this)


def _extracted(name: str, given: list[exp.Expr], spelling: Spelling) -> exp.Expr | None:
    """REGEXP_EXTRACT(x, pattern) of BigQuery and Spark: of the first group if there is one."""
    if len(given) != 2 or not spelling.first_group or type(given[1]) is not exp.Literal:
        return None
    grouped = re.search(r"(?<!\\)(?:\\\\)*\((?!\?)", re.sub(r"\[\^?\]?[^\]]*\]", "", given[1].this)) is not None
    part = _call("regexp_extract", *given, exp.Literal.number(int(grouped)))
    if not spelling.null_if_none:
        return part
    return exp.Case(ifs=[exp.If(this=_call("regexp_matches", *given), true=part)])


def _replaced(name: str, given: list[exp.Expr], spelling: Spelling) -> exp.Expr | None:
    """REGEXP_REPLACE(x, pattern, new) of databases that change every match, perhaps with $1 for a group."""
    if len(given) != 3 or not (spelling.every_match and all(type(one) is exp.Literal for one in given[1:])):
        return None
    new = given[2].this
    text = re.sub(r"\$(\d)", r"\\\1", new.replace("\\", "\\\\")) if spelling.dollar_groups else new
    return _call("regexp_replace", *given[:2], exp.Literal.string(text), exp.Literal.string("g"))


def _first_part(name: str, given: list[exp.Expr], spelling: Spelling) -> exp.Expr | None:
    """REGEXP_SUBSTR(x, pattern, 1, 1): the first match from the first character on."""
    first = exp.Literal.number(1)
    return _call(name, *given[:2]) if given[2:] in ([first], [first, first]) else None


_CALLS: dict[str, Call] = {
    "regexp_substr": _first_part,
    "regexp_extract": _extracted,
    "regexp_replace": _replaced,
    "position": _position,
    **dict.fromkeys(("to_timestamp", "to_date", "parse_date", "parse_timestamp", "parse_datetime", "str_to_date",
                     "strptime"), _written_day),
    **dict.fromkeys(("date_trunc", "datetime_trunc", "timestamp_trunc", "trunc"), _trunc),
    **dict.fromkeys(("date_diff", "datediff", "datetime_diff"), _diff),
    **dict.fromkeys(("date_add", "date_sub", "dateadd", "adddate", "subdate", "datetime_add", "datetime_sub",
                     "timestamp_add", "timestamp_sub", "timestampadd"), _added),
    **dict.fromkeys(("datepart", "date_part"), _part),
    **dict.fromkeys(("dayofweek", "weekday"), _day_of_week),
    **dict.fromkeys(("convert", "try_convert"), _convert),
    "timestamp_diff": _elapsed,
}  # fmt: skip
