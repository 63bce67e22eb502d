"""Outcomes over outcomes as SQL text: SELECT over grouped subqueries, their joins and unions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from discreet.query.front.unparse_expressions import Released, expressed, group_by, identified, named, tail, tight
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import How, Outcome, Question, ReleasedJoin, ReleasedUnion, Window, outcomes_below
from discreet.query.resolve.build import joined_names

Write = Callable[[Question], str]


def nested_sql(plan: Question, write: Write) -> str:
    """The text of a question whose outcome is over others; ``write`` is for those that are not."""
    every = (plan, *plan.beside)

    def text(outcome: Outcome) -> str:
        if not outcome.is_nested:
            question = every[outcome.question]
            return write(replace(question, outcome=replace(outcome, question=0), beside=()))
        if isinstance(outcome.below, ReleasedUnion) and _is_plain(outcome):
            return " UNION ALL ".join(_part(one, text) for one in outcome.below.parts)
        return _select(outcome, text)

    return text(plan.outcome)


def _part(outcome: Outcome, text: Callable[[Outcome], str]) -> str:
    """A part of UNION ALL: in parentheses where its own clauses would be taken for those of the whole."""
    ends = bool(outcome.order or outcome.limit is not None or outcome.offset)
    union = isinstance(outcome.below, ReleasedUnion) and _is_plain(outcome)
    return f"({text(outcome)})" if ends or union else text(outcome)


def _is_plain(outcome: Outcome) -> bool:
    """Whether it shows what is below as it is."""
    same = all(isinstance(e, Column) and e.name == name for name, e in outcome.columns)
    below = outcomes_below(outcome)
    every = {
        name
        for i, one in enumerate(below)
        for name, _ in one.columns
        if i == 0 or not isinstance(outcome.below, ReleasedUnion)
    }
    whole = isinstance(outcome.below, ReleasedJoin) or len(every) == len(outcome.columns)
    return same and whole and outcome == Outcome(outcome.columns, below=outcome.below)


def _select(outcome: Outcome, text: Callable[[Outcome], str]) -> str:
    below, where = outcome.below, ""
    source = below
    if isinstance(below, Outcome) and below.having is not None and below.is_nested and below.regroup is None:
        source, where = below.below, "?"
    if isinstance(source, Outcome) and isinstance(source.below, ReleasedJoin) and _is_plain(source):
        source = source.below
    if isinstance(source, ReleasedJoin):
        spelled, clause = _joined(source, text)
    elif isinstance(source, ReleasedUnion):
        spelled = {name: identified(name) for name, _ in source.parts[0].columns}
        clause = f"({' UNION ALL '.join(_part(one, text) for one in source.parts)}) AS r"
    else:
        assert source is not None  # noqa: S101
        spelled = {name: identified(name) for name, _ in source.columns}
        clause = f"({text(source)}) AS r"
    if where and isinstance(below, Outcome) and below.having is not None:
        where = f" WHERE {expressed(below.having, spelled)}"
    return _around(outcome, spelled, f"FROM {clause}{where}")


def _joined(join: ReleasedJoin, text: Callable[[Outcome], str]) -> tuple[Mapping[str, str], str]:
    left, right = ([name for name, _ in one.columns] for one in (join.left, join.right))
    names = dict(zip(right, joined_names(tuple(left), tuple(right)), strict=True))
    on = " AND ".join(f"a.{identified(x)} = b.{identified(y)}" for x, y in join.on)
    word = "CROSS JOIN" if not on else {How.INNER: "JOIN", How.LEFT: "LEFT JOIN", How.FULL: "FULL JOIN"}[join.how]
    clause = f"({text(join.left)}) AS a {word} ({text(join.right)}) AS b" + (f" ON {on}" if on else "")
    spelled = {name: f"a.{identified(name)}" for name in left}
    return {**spelled, **{new: f"b.{identified(old)}" for old, new in names.items()}}, clause


def _around(outcome: Outcome, spelled: Mapping[str, str], clauses: str) -> str:
    """SELECT and what follows FROM."""
    again, grouping = outcome.regroup, ""
    known = Released(dict(spelled), dict(spelled))
    if again is not None:
        totals = {one.name: _aggregate(one, known) for one in again.measures}
        keys = [expressed(key, spelled) for _, key in again.keys]
        known = Released(
            {name: expressed(key, spelled) for name, key in again.keys} | totals,
            {name: tight(key, spelled) for name, key in again.keys} | totals,
        )
        distinct = bool(keys) and not totals and outcome.having is None and len(outcome.columns) == len(keys)
        grouping = "" if distinct else group_by(keys, None)
        word = "SELECT DISTINCT" if distinct else "SELECT"
    else:
        word = "SELECT"
    released = known.with_windows(outcome.windows)
    selected = ", ".join(named(released.write(e), name) for name, e in outcome.columns)
    return f"{word} {selected} {clauses}{grouping}{tail(outcome, released)}"


def _aggregate(measure: Window, known: Released) -> str:
    inside = [known.write(one) for one in measure.arguments]
    match measure.function:
        case "count_distinct":
            return f"COUNT(DISTINCT {inside[0]})"
        case "count" if not inside:
            return "COUNT(*)"
        case name:
            return f"{name.upper()}({', '.join(inside)})"
