"""The DataFrame interface: the questions of SQL as chained verbs. Each verb builds the plan and computes nothing.

>>> from discreet.query.front import verbs as dp
>>> visits = Frame.of("visits", {"visits": ["patient_id", "clinic", "cost"]}, lambda question: question)
>>> asked = visits.filter("cost > 0").group_by("clinic").agg(n=dp.count(), mean_cost=dp.mean("cost"))
>>> [measure.name for measure in asked.measures]
['n', 'mean_cost']
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NoReturn, Self, TypeVar, cast

from discreet.errors import BadParameter, BadQuestion, Unsupported
from discreet.query.front.sql.clauses import cube, rollup
from discreet.query.front.sql.correlated import kept_rows
from discreet.query.front.sql.nested_select import join_of, named_rows, over_released, set_of
from discreet.query.front.verbs import Expr, output
from discreet.query.plan.expressions import Column, Expression, Literal, columns
from discreet.query.plan.nodes import How, Order, Question
from discreet.query.plan.schema import EACH_ROW, Schema
from discreet.query.resolve.build import (
    Rows,
    conjunction,
    filtered,
    joined,
    joined_names,
    match,
    projected,
    scan,
    united,
    unknown,
)
from discreet.query.resolve.resolve import (
    Scope,
    Source,
    ask,
    called,
    check_after,
    grouped,
    grouping,
    output_names,
    rowwise,
    summarised,
)
from discreet.query.resolve.unresolved import Apply, Name, Output, Said, Total, Windowed

Q = TypeVar("Q")
On = str | Sequence[str | tuple[str, str]]


def _not_here(what: str, hint: str) -> Callable[..., NoReturn]:
    """A verb that somebody may try here: refused by name, with what to write instead."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise Unsupported(what, hint)

    refuse.__doc__ = f"Refused: {hint}."
    return refuse


_AFTER = "rows have no order and none is shown; order what is released: frame.group_by(...).agg(...).order_by(...)"
_AGG = 'say first what to ask of the rows: .agg(n=dp.agg.count(), total=dp.agg.sum("cost"))'


@dataclass(frozen=True, slots=True)
class Frame(Generic[Q]):
    """Rows of a table, or made from them. Verbs return a new frame; ``agg`` asks a question."""

    rows: Rows
    units: frozenset[str]
    """The columns that are the unit, under whatever name: grouping by one of them summarises each unit."""
    asking: Callable[[Question], Q]

    @staticmethod
    def of(
        name: str, tables: Mapping[str, Iterable[str]], asking: Callable[[Question], Q], *, unit: str | None = None
    ) -> Frame[Q]:
        """A table of a session; ``unit`` is the column that names the unit, if it is one of this table."""
        if name not in tables:
            raise unknown("table", name, tables)
        return Frame(scan(name, tables[name]), frozenset() if unit is None else frozenset({unit}), asking)

    @staticmethod
    def about(name: str, schemas: Mapping[str, Schema], asking: Callable[[Question], Q]) -> Frame[Q]:
        """A table of a session whose tables are known."""
        if name not in schemas:
            raise BadParameter("table", name, f"must be one of {', '.join(schemas)}")
        given = schemas[name].table
        unit = given.unit if given.through is None and given.unit != EACH_ROW else None
        return Frame.of(name, {n: tuple(s.fields) for n, s in schemas.items()}, asking, unit=unit)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.rows.columns

    def __repr__(self) -> str:
        return f"Frame({', '.join(self.columns)})"

    @property
    def _scope(self) -> Scope:
        return Scope.of(self.rows)

    def _row(self, given: Expr | str, verb: str) -> Expression:
        return rowwise(output(given).said, self._scope, verb)

    # --- rows ---------------------------------------------------------------------------------------------------------

    def filter(self, *conditions: Expr | str) -> Frame[Q]:
        """The rows for which all conditions are true."""
        rows = self.rows
        for condition in conditions:
            rows = filtered(rows, self._row(condition, "filter"))
        return replace(self, rows=rows)

    def select(self, *columns: Expr | str, **named: Expr | str) -> Frame[Q]:
        """These columns and no others; computed ones by name: ``select("clinic", half="cost / 2")``."""
        outputs = _outputs(columns, named)
        names = output_names(outputs, self._scope)
        return self._projected(
            [(name, rowwise(one.said, self._scope, "select")) for name, one in zip(names, outputs, strict=True)]
        )

    def with_column(self, name: str, value: Expr | str) -> Frame[Q]:
        """All columns and one more; a column of that name is replaced."""
        return self.with_columns(**{name: value})

    def with_columns(self, **named: Expr | str) -> Frame[Q]:
        """All columns and some more; columns of these names are replaced."""
        new = {name: self._row(value, "with_columns") for name, value in named.items()}
        kept: list[tuple[str, Expression]] = [(column, new.pop(column, Column(column))) for column in self.columns]
        return self._projected([*kept, *new.items()])

    def rename(self, names: Mapping[str, str]) -> Frame[Q]:
        """The same columns, some under other names: ``rename({"old": "new"})``."""
        new = {self._scope.find(Name(old)): name for old, name in names.items()}
        return self._projected([(new.get(column, column), Column(column)) for column in self.columns])

    def drop(self, *columns: str) -> Frame[Q]:
        """All columns but these."""
        gone = {self._scope.find(Name(column)) for column in columns}
        return self._projected([(column, Column(column)) for column in self.columns if column not in gone])

    def _projected(self, columns: Sequence[tuple[str, Expression]]) -> Frame[Q]:
        units = frozenset(name for name, e in columns if isinstance(e, Column) and e.name in self.units)
        return replace(self, rows=projected(self.rows, columns), units=units)

    def join(self, other: Frame[Q], on: On | None = None, how: str = "inner") -> Frame[Q]:
        """Rows of both with equal columns: ``on="id"``, or ``on=[("patient_id", "id")]`` where names differ.

        ``how`` is ``inner`` or ``left``. A column of the other whose name is taken gets ``_2`` appended. With ``semi``
        or ``anti`` the rows stay as they are: those with a partner among the other's, or those without one.
        """
        _check_frames("join", other)
        pairs = _pairs(on)
        found = [(self._scope.find(Name(left)), other._scope.find(Name(right))) for left, right in pairs]
        if how in ("semi", "anti"):
            kept = kept_rows(self.rows, other.rows, found, negated=how == "anti")
            return replace(self, rows=projected(kept, [(column, Column(column)) for column in self.columns]))
        kind = _how(how)
        names = dict(zip(other.columns, joined_names(self.columns, other.columns), strict=True))
        theirs = {names[unit] for unit in other.units} if how == "inner" else set()
        rows = joined(self.rows, other.rows, found, kind)
        return replace(self, rows=rows, units=frozenset(self.units | theirs))

    def union_all(self, *others: Frame[Q]) -> Frame[Q]:
        """The rows of all, which must have the same columns in the same order."""
        _check_frames("union_all", *others)
        if not others:
            return self
        if any(other.columns != self.columns for other in others):
            raise BadQuestion("union_all needs frames with the same columns in the same order; select them first")
        units = self.units.intersection(*(other.units for other in others))
        return replace(self, rows=united([self.rows, *(other.rows for other in others)]), units=units)

    # --- groups -------------------------------------------------------------------------------------------------------

    def group_by(self, *keys: Expr | str, **named: Expr | str) -> Grouped[Q]:
        """Groups of rows with equal keys; computed ones by name: ``group_by("clinic", half="cost / 2")``.

        Grouping by the unit (and perhaps more) summarises each unit: ``agg`` then gives a frame with a row for each,
        which can be asked about in turn. ``per_unit`` says the same so that a type checker understands it.
        """
        return Grouped(self, tuple(_outputs(keys, named)))

    def per_unit(self, *keys: Expr | str, **named: Expr | str) -> PerUnit[Q]:
        """A summary of each unit's own rows; one of the keys is the unit."""
        found = Grouped(self, tuple(_outputs(keys, named)))
        if not found.by_unit:
            raise BadQuestion("per_unit needs the unit among its keys")
        return PerUnit(found)

    def rollup(self, *keys: Expr | str, **named: Expr | str) -> Grouped[Q]:
        """Groups by all keys, by all but the last, and so on, and all rows together; keys as for ``group_by``."""
        outputs = _outputs(keys, named)
        return Grouped(self, tuple(outputs), rollup([[i] for i in range(len(outputs))]))

    def cube(self, *keys: Expr | str, **named: Expr | str) -> Grouped[Q]:
        """Groups by every choice of the keys; keys as for ``group_by``."""
        outputs = _outputs(keys, named)
        return Grouped(self, tuple(outputs), cube([[i] for i in range(len(outputs))]))

    def agg(self, *outputs: Expr | str, **named: Expr | str) -> Q:
        """A question about all rows together."""
        return Grouped(self, ()).agg(*outputs, **named)

    groupby = _not_here("groupby", 'write .group_by("clinic").agg(n=dp.agg.count())')
    value_counts = _not_here("value_counts", 'write .group_by("clinic").agg(n=dp.agg.count())')
    merge = _not_here("merge", 'write .join(other, on="patient_id")')
    describe = _not_here("describe of rows", "write session.profile(...), which is private")
    where = _not_here("where", 'write .filter("cost > 5")')
    count = _not_here("count of rows", "write .agg(n=dp.agg.count())")
    __getitem__ = _not_here("frame[...]", 'write .select("clinic", "cost"), or .filter("cost > 5") for rows')
    sort = _not_here("sort of rows", _AFTER)
    order_by = _not_here("order_by of rows", _AFTER)
    limit = _not_here("limit of rows", _AFTER)
    head = _not_here("head of rows", _AFTER)
    having = _not_here("having of rows", "filter rows with .filter(...), what is released with .agg(...).having(...)")
    preview = _not_here("preview of rows", _AGG)
    release = _not_here("release of rows", _AGG)
    explain = _not_here("explain of rows", _AGG)


@dataclass(frozen=True, slots=True)
class Grouped(Generic[Q]):
    """A frame in groups, waiting for ``agg``."""

    frame: Frame[Q]
    keys: tuple[Output, ...]
    sets: Sequence[Sequence[int]] | None = None

    @property
    def by_unit(self) -> bool:
        """Whether one of the keys is the unit."""
        scope = Scope.of(self.frame.rows)
        return any(isinstance(key.said, Name) and scope.find(key.said) in self.frame.units for key in self.keys)

    def agg(self, *outputs: Expr | str, **named: Expr | str) -> Q:
        """A question: these aggregates of each group, ``agg(n=count(), total=sum("cost"))``, after the keys.

        Without any, it asks only which groups there are.
        """
        if self.sets is None and self.by_unit:
            return cast("Q", PerUnit(self).agg(*outputs, **named))  # the one place where a verb answers in another type
        given = [*self.keys, *_outputs(outputs, named)]
        groups = grouped(Scope.of(self.frame.rows), keys=[key.said for key in self.keys], outputs=given)
        return self.frame.asking(ask(self.frame.rows, groups, sets=self.sets))

    sort = _not_here("sort before agg", _AGG)
    order_by = _not_here("order_by before agg", _AGG)
    limit = _not_here("limit before agg", _AGG)
    having = _not_here("having before agg", _AGG)
    filter = _not_here("filter before agg", "filter rows before group_by, and groups with .agg(...).having(...)")
    preview = _not_here("preview before agg", _AGG)
    release = _not_here("release before agg", _AGG)
    explain = _not_here("explain before agg", _AGG)


@dataclass(frozen=True, slots=True)
class PerUnit(Generic[Q]):
    """A frame in groups of one unit each, waiting for ``agg``."""

    groups: Grouped[Q]

    def agg(self, *outputs: Expr | str, **named: Expr | str) -> Frame[Q]:
        """One row for each group of each unit: the keys, then these aggregates."""
        frame, keys = self.groups.frame, self.groups.keys
        found = grouped(
            Scope.of(frame.rows), keys=[key.said for key in keys], outputs=[*keys, *_outputs(outputs, named)]
        )
        units = frozenset(
            k.name for k in found.keys if isinstance(k.expression, Column) and k.expression.name in frame.units
        )
        return replace(frame, rows=summarised(frame.rows, found), units=units)

    preview = _not_here("preview before agg", _AGG)
    release = _not_here("release before agg", _AGG)


def _check_frames(verb: str, *given: object) -> None:
    if not all(isinstance(one, Frame) for one in given):
        raise BadQuestion(f'{verb} needs a table of the session, such as {verb}(session["patients"], ...)')


def _pairs(on: object) -> list[tuple[str, str]]:
    """The columns that must be equal, left and right."""
    found = [on] if isinstance(on, str) else on
    pairs = [(one, one) if isinstance(one, str) else one for one in found] if isinstance(found, list | tuple) else [on]
    if not all(isinstance(p, tuple) and len(p) == 2 and all(isinstance(name, str) for name in p) for p in pairs):
        raise BadQuestion('join needs on="id" or on=["id", "day"], or on=[("patient_id", "id")] where names differ')
    return cast("list[tuple[str, str]]", pairs)


def _outputs(given: Iterable[Expr | str], named: Mapping[str, Expr | str]) -> list[Output]:
    return [*(output(one) for one in given), *(output(one, name) for name, one in named.items())]


# --- after the question -----------------------------------------------------------------------------------------------


class Asked:
    """The verbs of a query object that holds a plan: what happens to released rows. They cost nothing."""

    __slots__ = ()
    plan: Question

    @abstractmethod
    def again(self, plan: Question) -> Self:
        """The same query with another plan."""

    def having(self, *conditions: Expr | str) -> Self:
        """Only released rows for which all conditions are true: ``having("n > 100")``."""
        return self.again(having(self.plan, *conditions))

    def order_by(self, *by: Expr | str, descending: bool = False) -> Self:
        """Released rows in this order: ``order_by("n DESC", "clinic")``."""
        return self.again(order_by(self.plan, *by, descending=descending))

    sort = _not_here("sort", "say order_by(...)")

    def agg(self, *outputs: Expr | str, by: Expr | str | Sequence[Expr | str] = (), **named: Expr | str) -> Self:
        """Aggregates of released rows, perhaps by group: ``agg(most=dp.max("n"), by="region")``. Free."""
        keys = [by] if isinstance(by, Expr | str) else list(by)
        return self.again(aggregated(self.plan, _outputs(keys, {}), _outputs(outputs, named)))

    def union_all(self, *others: Asked) -> Self:
        """The released rows of this question and of others, which share one price."""
        return self.again(set_of([self.plan, *(other.plan for other in others)], in_both=None, distinct=False))

    def join(self, other: Asked, on: On | None = None, how: str = "inner") -> Self:
        """The released rows of two questions with equal columns, beside each other; they share one price.

        ``on="clinic"``, or ``on=[("clinic", "name")]`` where names differ; ``how`` is ``inner`` or ``left``. A column
        of the other whose name is taken gets ``_2`` appended.
        """
        if not isinstance(other, Asked):
            raise BadParameter("other", type(other).__name__, "must be a query of the same session")
        return self.again(joined_questions(self.plan, other.plan, _pairs(on), _how(how)))

    def limit(self, rows: int) -> Self:
        """The first so many of the released rows."""
        return self.again(limit(self.plan, rows))


def aggregated(question: Question, keys: Sequence[Output], outputs: Sequence[Output]) -> Question:
    """Aggregates over the released rows of a question."""
    scope = Scope((Source(None, {name: name for name, _ in question.outcome.columns}),))
    groups = grouped(scope, keys=[key.said for key in keys], outputs=[*keys, *outputs])
    return over_released(groups, question)


def joined_questions(left: Question, right: Question, on: Sequence[tuple[str, str]], how: How) -> Question:
    """The released rows of two questions with equal columns; a column that both have in common is shown once."""
    first, second = named_rows(left, "a", ()), named_rows(right, "b", ())
    pairs = [(first.scope.find(Name(a)), second.scope.find(Name(b))) for a, b in on]
    ours, theirs = (tuple(name for name, _ in one.outcome.columns) for one in (left, right))
    same = {a for a, b in pairs if a == b}
    kept = [name for name in theirs if name not in same]
    names = zip(kept, joined_names(ours, kept), strict=True)
    outputs = [Output(Name(name, "a"), name) for name in ours] + [Output(Name(old, "b"), new) for old, new in names]
    rows = join_of(first, second, pairs, how)
    found = grouped(rows.scope, keys=[one.said for one in outputs], outputs=outputs)
    return over_released(found, rows.question, regroup=False)


def _how(how: str) -> How:
    if how not in ("inner", "left"):
        raise Unsupported("a join that is neither inner nor left", 'say how="inner" or how="left"; of rows also "anti"')
    return How(how)


def having(question: Question, *conditions: Expr | str) -> Question:
    """HAVING over the outputs of a question."""
    if question.outcome.limit is not None:
        raise BadQuestion("having comes before limit")
    kept = question.outcome.having
    for condition in conditions:
        found = _released(output(condition).said, question)
        kept = found if kept is None else conjunction(kept, found)
    return replace(question, outcome=replace(question.outcome, having=kept))


_DIRECTION = re.compile(r"(.*\S)\s+(asc|desc)", re.IGNORECASE | re.DOTALL)


def order_by(question: Question, *by: Expr | str, descending: bool = False) -> Question:
    """ORDER BY over the outputs of a question; an order given before is forgotten."""
    if question.outcome.limit is not None:
        raise BadQuestion("order_by comes before limit")
    found = []
    for one in by:
        said = _DIRECTION.fullmatch(one) if isinstance(one, str) else None
        down = descending if said is None else said[2].lower() == "desc"
        what = one if said is None else said[1]
        found.append(Order(_released(output(what).said, question), down))
    return _only_seen(replace(question, outcome=replace(question.outcome, order=tuple(found))))


def _only_seen(question: Question) -> Question:
    """Without aggregates that were only in an order that is forgotten: nobody should pay for them."""
    outcome = question.outcome
    if outcome.is_nested:
        return question
    said = [*(e for _, e in outcome.columns), *(order.expression for order in outcome.order)]
    used = frozenset().union(*map(columns, said if outcome.having is None else [*said, outcome.having]))
    kept = tuple(measure for measure in question.measures if measure.name in used)
    return replace(question, measures=kept) if kept or question.keys else question


def limit(question: Question, rows: int) -> Question:
    """The first rows of a question's outcome."""
    if isinstance(rows, bool) or not isinstance(rows, int) or not 0 <= rows < 10**9:
        raise BadQuestion("limit needs an integer of rows")
    before = question.outcome.limit
    return replace(question, outcome=replace(question.outcome, limit=rows if before is None else min(rows, before)))


def _released(said: Said, question: Question) -> Expression:
    """An expression over the outputs of a question, by their names."""
    found = _over_outputs(said, question)
    check_after(found)
    return found


def _over_outputs(said: Said, question: Question) -> Expression:
    match said:
        case Name(column=column):
            inner = [*(key.name for key in question.keys), *(measure.name for measure in question.measures)]
            inner = [] if question.outcome.is_nested else inner
            named = {**{name: Column(name) for name in inner}, **dict(question.outcome.columns)}
            found = match(column, named)
            if len(found) != 1:
                raise unknown("output", column, named)
            return named[found[0]]
        case Literal():
            return said
        case Apply(function="grouping", arguments=arguments):
            return grouping([_over_outputs(a, question) for a in arguments], (key.name for key in question.keys))
        case Apply(function=function, arguments=arguments):
            return called(function, [_over_outputs(a, question) for a in arguments])
        case Total() | Windowed():
            raise Unsupported("an aggregate here", "give it a name in agg(...) first, and use the name")
