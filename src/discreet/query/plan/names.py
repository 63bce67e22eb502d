"""Names as they stand in SQL and in messages: in quotes where they need them, so that a hint can be pasted."""

from __future__ import annotations

SQL_WORDS = frozenset({
    "all", "alter", "and", "any", "as", "between", "case", "create", "cross", "cube", "current_catalog",
    "current_date", "current_time", "current_timestamp", "current_user", "distinct", "drop", "else", "end",
    "except", "false", "fetch", "for", "force", "from", "glob", "grant", "group", "having", "if", "ilike",
    "in", "inner", "insert", "install", "intersect", "into", "is", "join", "lateral", "left", "like", "limit",
    "localtime", "localtimestamp", "lock", "map", "connect_by_root", "natural", "not", "notnull", "null",
    "offset", "on", "only", "operator", "or", "order", "outer", "partitioned_by", "positional", "qualify",
    "regexp", "returning", "revoke", "right", "rlike", "rollback", "rollup", "select", "session_user",
    "summarize", "table", "tablesample", "then", "true", "uncache", "union", "using", "when", "where",
    "window", "with", "xor",
})  # fmt: skip
"""Words that are no names unless they stand in quotes."""


_OURS = frozenset({"__unit", "__bin", "__cells", "__class", "__n", "__whose"})


def is_ours(name: str) -> bool:
    """Whether a name is one of those that lowered plans give to columns of their own.

    >>> is_ours("__unit"), is_ours("__timestamp")
    (True, False)
    """
    return name.startswith("#") or name.casefold() in _OURS


def quoted(name: str) -> str:
    """A name as it is written in SQL.

    >>> quoted("clinic"), quoted("order"), quoted("total cost")
    ('clinic', '"order"', '"total cost"')
    """
    plain = name.isascii() and name.isidentifier() and name.lower() not in SQL_WORDS
    return name if plain else '"' + name.replace('"', '""') + '"'
