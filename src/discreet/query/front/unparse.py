"""A plan as SQL text: the same question, written so that ``parse.py`` reads it back as the equal plan.

Promise: what comes back is read by ``sql.question`` as a plan equal to the one given. That is checked each time; a
plan that has no such text is refused by name, never changed. So a plan can be sent to somebody who reads only SQL.

Each step of the rows that does not fit into one SELECT becomes a CTE; nothing is nested, so that a deep plan stays
within what ``parse.py`` reads. Equal steps are written once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.parse import Tables, question, question_over_released
from discreet.query.front.unparse_expressions import Released, aggregated, expressed, group_by, identified, named, tail
from discreet.query.front.unparse_released import nested_sql
from discreet.query.plan.expressions import Expression
from discreet.query.plan.nodes import (
    Filter,
    How,
    Join,
    PerUnit,
    Project,
    Question,
    Relation,
    Scan,
    UnionAll,
    UnitWindows,
    scans,
)
from discreet.query.resolve.build import fresh, joined_names

_HINT = "ask it in SQL, in one text"


def as_sql(plan: Question, tables: Tables) -> str:
    """The question as SQL text; ``tables`` are those that it may name, each with the names of its columns.

    >>> tables = {"visits": ["clinic", "cost"]}
    >>> text = "SELECT clinic, AVG(cost) AS mean FROM visits WHERE cost > 0 GROUP BY clinic ORDER BY mean DESC LIMIT 3"
    >>> as_sql(question(text, tables), tables) == text
    True
    """
    known = {name: tuple(found) for name, found in tables.items()}
    plan = replace(plan, outcome=replace(plan.outcome, asked_at=None))  # it stands in the text as a constant
    nested = plan.outcome.is_nested

    def write(one: Question) -> str:
        return _Writer(known).question(one)

    text = nested_sql(plan, write) if nested else write(plan)
    read = question_over_released if nested else question
    try:
        same = read(text, tables, _lists(plan)) == plan
    except BadQuestion:
        same = False
    if not same:
        raise Unsupported("this plan as SQL text", _HINT)
    return text


def _lists(plan: Question) -> dict[str, list[str]]:
    """The columns that are lists, as far as the plan takes them apart."""
    lists: dict[str, list[str]] = {}
    for asked in (plan, *plan.beside):
        for reading in scans(asked.source):
            lists.setdefault(reading.table, []).extend(elements.column for elements in reading.lists)
    return lists


@dataclass(frozen=True, slots=True)
class _From:
    """What stands after FROM, and how each column of the plan is spelled there; ``full`` names its source, too."""

    text: str
    spelled: Mapping[str, str]
    full: Mapping[str, str]
    where: Expression | None = None

    @property
    def clauses(self) -> str:
        """FROM and WHERE."""
        return f"FROM {self.text}" + ("" if self.where is None else f" WHERE {expressed(self.where, self.spelled)}")


@dataclass(slots=True)
class _Writer:
    """Writes one plan. ``steps`` are the CTEs so far, by what they hold."""

    tables: Mapping[str, tuple[str, ...]]
    steps: dict[Relation, tuple[str, str]] = field(default_factory=dict)

    # --- the question -------------------------------------------------------------------------------------------------

    def question(self, plan: Question) -> str:
        """The whole text."""
        source = self._from(plan.source)
        outcome = plan.outcome
        released = Released.of(plan, source.spelled, source.spelled)
        selected = [named(released.write(e), name) for name, e in outcome.columns]
        text = f"SELECT {', '.join(selected)} {source.clauses}"
        text += group_by([expressed(key.expression, source.spelled) for key in plan.keys], _sets(plan))
        names = {name.casefold() for (name, _), one in zip(outcome.columns, selected, strict=True) if one != name}
        careful = {c: source.full[c] if c.casefold() in names else how for c, how in source.spelled.items()}
        after = Released.of(plan, careful, source.spelled)
        text += tail(outcome, after)
        steps = ", ".join(f"{identified(name)} AS ({body})" for name, body in self.steps.values())
        return f"WITH {steps} {text}" if steps else text

    # --- rows ---------------------------------------------------------------------------------------------------------

    def _from(self, relation: Relation) -> _From:
        """The rows as what stands after FROM, perhaps with WHERE."""
        if isinstance(relation, Filter):
            return replace(self._source(relation.source), where=relation.predicate)
        return self._source(relation)

    def _source(self, relation: Relation) -> _From:
        if isinstance(relation, Join):
            return self._joined(relation, set())
        name = self._name(relation)
        spelled = {column: identified(column) for column in self.columns(relation)}
        return _From(identified(name), spelled, {c: f"{identified(name)}.{how}" for c, how in spelled.items()})

    def _joined(self, join: Join, taken: set[str]) -> _From:
        """A join, and those to its left: every column with the name of its source."""
        left = self._joined(join.left, taken) if isinstance(join.left, Join) else self._called(join.left, taken)
        right = self._called(join.right, taken)
        on = " AND ".join(f"{left.spelled[a]} = {right.spelled[b]}" for a, b in join.on)
        word = "LEFT JOIN" if join.how is How.LEFT else "JOIN"
        names = joined_names(self.columns(join.left), self.columns(join.right))
        theirs = zip(names, right.spelled.values(), strict=True)
        spelled = {**left.spelled, **dict(theirs)}
        return _From(f"{left.text} {word} {right.text} ON {on}", spelled, spelled)

    def _called(self, relation: Relation, taken: set[str]) -> _From:
        """One side of a join, under a name that no other side has."""
        own = self._name(relation)
        name = fresh(own, _both_cases(own, taken))
        taken.add(name)
        text = identified(own) if name == own else f"{identified(own)} AS {identified(name)}"
        spelled = {column: f"{identified(name)}.{identified(column)}" for column in self.columns(relation)}
        return _From(text, spelled, spelled)

    def _name(self, relation: Relation) -> str:
        """A table by its name; anything else as a step with a name of its own."""
        if isinstance(relation, Scan) and not relation.lists:
            if relation.table not in self.tables:
                raise BadQuestion("a plan names a table that is not here")
            return relation.table
        if relation not in self.steps:
            body = self._select(relation)
            known = {name.casefold() for name in self.tables}
            self.steps[relation] = (fresh(f"step{len(self.steps) + 1}", known), body)
        return self.steps[relation][0]

    def _select(self, relation: Relation) -> str:
        """The rows as a SELECT of their own."""
        match relation:
            case Project(source=source, columns=made):
                rows = self._from(source)
                return f"SELECT {', '.join(named(expressed(e, rows.spelled), n) for n, e in made)} {rows.clauses}"
            case PerUnit(source=source, keys=keys, measures=measures):
                rows = self._from(source)
                written = [expressed(e, rows.spelled) for _, e in keys]
                outputs = [named(text, name) for text, (name, _) in zip(written, keys, strict=True)]
                outputs += [named(aggregated(m, rows.spelled), m.name) for m in measures]
                return f"SELECT {', '.join(outputs)} {rows.clauses}{group_by(written, None)}"
            case Scan(table=table, lists=lists) if lists:
                own, joined = self._name(Scan(table)), ""
                for i, elements in enumerate(lists):
                    item = identified(fresh(f"list{i + 1}", _both_cases(f"list{i + 1}", {own})))
                    word, on = ("LEFT", " ON TRUE") if elements.outer else ("CROSS", "")
                    unnest = f"UNNEST({identified(own)}.{identified(elements.column)})"
                    joined += f" {word} JOIN {unnest} AS {item}({identified(elements.name)}){on}"
                return f"SELECT * {_From(identified(own) + joined, {}, {}).clauses}"
            case UnitWindows():
                raise Unsupported("this window of one unit as SQL text", _HINT)
            case UnionAll(parts=parts):
                return " UNION ALL ".join(self._select(part) for part in parts)
            case _:
                return f"SELECT * {self._from(relation).clauses}"

    def columns(self, relation: Relation) -> tuple[str, ...]:
        """The names of the columns of a relation."""
        match relation:
            case Scan(table=table, lists=lists):
                return (*self.tables.get(table, ()), *(elements.name for elements in lists))
            case Filter(source=source):
                return self.columns(source)
            case Project(columns=made):
                return tuple(name for name, _ in made)
            case Join(left=left, right=right):
                first = self.columns(left)
                return (*first, *joined_names(first, self.columns(right)))
            case UnionAll(parts=parts):
                return self.columns(parts[0])
            case PerUnit(keys=keys, measures=measures):
                return (*(name for name, _ in keys), *(m.name for m in measures))
            case UnitWindows(source=source, windows=windows):
                return (*self.columns(source), *(w.name for w in windows))


def _both_cases(name: str, taken: Iterable[str]) -> set[str]:
    """The names that are taken, and this one too if another differs from it in upper and lower case only."""
    return {*taken, *([name] if name.casefold() in {one.casefold() for one in taken} else [])}


# --- clauses ----------------------------------------------------------------------------------------------------------


def _sets(plan: Question) -> list[list[int]] | None:
    """The grouping sets by the places of their keys; None for one with all of them."""
    names = [key.name for key in plan.keys]
    if plan.sets == (tuple(names),):
        return None
    return [[names.index(name) for name in one] for one in plan.sets]
