"""From a question as asked to a lowered one: what an engine must group by and sum, and what is public about it.

Nothing here looks at data. A question is refused if it has no private table, if an aggregate gets an argument of the
wrong kind or without bounds, or if it groups by the unit itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction

from discreet.errors import BadQuestion, Unsupported
from discreet.messages import Message
from discreet.query.functions.comparison import as_integer
from discreet.query.functions.dates import Span, has_bounds, since
from discreet.query.functions.logic_functions import present
from discreet.query.functions.times_of_day import as_key
from discreet.query.functions.typed_values import Typed, bound, is_null_literal, is_wide, refuse, words
from discreet.query.lower.absent_rows import check_unchanged
from discreet.query.lower.key_tuples import tuple_test
from discreet.query.lower.narrow_keys import narrow_key
from discreet.query.lower.prune import prune
from discreet.query.lower.relation_facts import (
    ONE_ROW,
    UNIT,
    Catalog,
    Lowered,
    check_names,
    one_row_each,
    reads_lists,
    reads_numbered,
)
from discreet.query.lower.relations import lower_all, lower_relation
from discreet.query.lower.unit_windows import NOT_BY_UNIT, RANKED
from discreet.query.plan.expressions import Call, Column, Expression, Literal, Remembers, columns
from discreet.query.plan.key_sets import KeySet
from discreet.query.plan.names import quoted
from discreet.query.plan.nodes import (
    Aggregate,
    Filter,
    Join,
    Key,
    Measure,
    Outcome,
    Question,
    Relation,
    outcomes_below,
    parts_of,
    scans,
)
from discreet.query.plan.schema import Caps
from discreet.query.plan.types import Boolean, Kind, Number, Real, Temporal, TimeOfDay
from discreet.query.typing.declared_bounds import bounded, notes
from discreet.query.typing.infer import NEVER_HINT, predicate, reads_never, typed
from discreet.query.typing.refine import meet
from discreet.query.typing.released import Sort, check_outcome, sort_of_kind
from discreet.query.typing.untyped import as_cells, as_number

__all__ = ["UNIT", "Catalog", "Lowered", "LoweredKey", "LoweredMeasure", "LoweredQuestion", "lower_question",
           "lower_relation"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoweredKey:
    """A group key. Its keys are listed, or come from a public column (``keys_from``), or may be selected."""

    name: str
    typed: Typed


@dataclass(frozen=True, slots=True)
class LoweredMeasure(Remembers):
    """A measure: as asked (COUNT(DISTINCT unit) by that name), with typed arguments and a lowered condition."""

    measure: Measure
    arguments: tuple[Typed, ...]
    where: Expression | None
    span: Span | None = None
    """Of dates and times, whose aggregate is one too: what the days in ``arguments`` are counted from."""
    open: bool = False
    """Whether nobody bounded its arguments: they are clamped when it is released, to what is chosen then."""
    clip: int | None = None
    """Of a sum: the length, in cells of its argument, to which the totals of each unit are scaled down; of a mean, the
    totals of how far values lie from ``centre``. None: it is bounded by rows and values."""
    centre: int = 0
    """Of a mean with a clip, in cells: about where its values lie."""
    unknown: str = ""
    """Why nothing can be said: then no statistic is released for it, and its value is NULL."""
    never: bool = False
    """Whether nothing may be chosen by its arguments."""

    def __hash__(self) -> int:
        """Computed once: choices, recipes and shares are looked up by their measure again and again."""
        try:
            return self._hash
        except AttributeError:
            key = self.measure, self.arguments, self.where, self.open, self.clip, self.centre
            object.__setattr__(self, "_hash", hash(key))
            return self._hash


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweredQuestion:
    """A question whose source and expressions are lowered."""

    source: Relation
    """Reads what is used and no more."""
    whole: Relation
    """The same with all columns: equal for questions about the same rows."""
    keys: tuple[LoweredKey, ...]
    measures: tuple[LoweredMeasure, ...]
    outcome: Outcome
    sets: tuple[tuple[str, ...], ...]
    caps: Caps
    unit_kind: Kind
    tables: tuple[str, ...]
    notes: tuple[Message, ...] = ()
    """What whoever reads the answer should know: where stored values and declared bounds disagree."""
    beside: tuple[LoweredQuestion, ...] = ()
    """Further questions whose released rows the outcome uses."""
    key_sets: tuple[KeySet, ...] = ()
    """Which combinations of keys exist, by their names here."""


def lower_question(question: Question, catalog: Catalog) -> LoweredQuestion:
    """The question, typed and lowered; refuses by name what cannot be asked."""
    source = lower_all(question.source, catalog)
    if not source.private or source.caps is None or source.unit_kind is None:
        raise BadQuestion(
            "all tables of this query are public, so there is nothing to protect; ask them without privacy"
        )
    check_names([key.name for key in question.keys] + [m.name for m in question.measures])
    names_of_keys = {key.name for key in question.keys}
    if not question.sets or any(set(names) - names_of_keys or len(set(names)) != len(names) for names in question.sets):
        refuse("each grouping set must consist of keys of the query, each once")
    keys = tuple(_key(key, source, catalog, ranked=_has_windows(question.outcome)) for key in question.keys)
    measures = tuple(_measure(measure, source) for measure in question.measures)
    _check_numbered(source.relation, keys, measures)
    used: list[Expression] = [key.typed.lowered for key in keys]
    for measure in measures:
        used += [x.lowered for x in measure.arguments]
        used += [] if measure.where is None else [measure.where]
    beside = tuple(lower_question(other, catalog) for other in question.beside)
    check_outcome(question.outcome, _sorts(keys, measures), *(_sorts(other.keys, other.measures) for other in beside))
    needed = frozenset({UNIT}).union(*(columns(e) for e in used))
    key_sets = _key_sets(keys, source, catalog)
    whole = source.relation
    for other in key_sets:
        whole = Filter(whole, tuple_test(other, {key.name: key.typed.lowered for key in keys}))
    return LoweredQuestion(
        source=prune(whole, needed),
        whole=whole,
        keys=keys,
        measures=measures,
        outcome=question.outcome,
        sets=question.sets,
        caps=ONE_ROW if one_row_each(source.relation) else source.caps,
        unit_kind=source.unit_kind,
        tables=source.tables,
        notes=tuple(dict.fromkeys((*source.notes, *_notes(question, source)))),
        beside=beside,
        key_sets=key_sets,
    )


def _key_sets(keys: Sequence[LoweredKey], source: Lowered, catalog: Catalog) -> tuple[KeySet, ...]:
    """What the owner says of several keys together, where they are columns of one row of a table.

    Where a table is read twice, two keys may be of different rows: then nothing is known of them together.
    """
    readings = Counter(scan.table for scan in scans(source.relation))
    sets = []
    for table in (name for name, many in readings.items() if many == 1):
        columns = {
            key.typed.origin[1]: key.name
            for key in keys
            if key.typed.origin is not None and key.typed.origin[0] == table and isinstance(key.typed.lowered, Column)
        }
        for key_set in catalog[table].table.key_sets:
            shared = [name for name in key_set.columns if name in columns]
            if len(shared) > 1:
                sets.append(KeySet(tuple(columns[name] for name in shared), key_set.only(shared).rows))
    return tuple(sets)


def _check_numbered(relation: Relation, keys: Sequence[LoweredKey], measures: Sequence[LoweredMeasure]) -> None:
    """Where people have no id, nothing can be chosen by a hash of it: a row more would change the choice of all."""
    several = reads_lists(relation) or any(isinstance(part, Join) for part in parts_of(relation))
    if not reads_numbered(relation) or not several:
        return
    if any(key.typed.keys is None and key.typed.keys_from is None for key in keys):
        raise Unsupported("undeclared keys after a join or UNNEST, where each row is a person",
                          "list the keys, or give the table a column that names the unit")  # fmt: skip
    if any(measure.measure.aggregate is Aggregate.COUNT_DISTINCT for measure in measures):
        raise Unsupported("COUNT(DISTINCT x) after a join or UNNEST, where each row is a person",
                          "give the table a column that names the unit")  # fmt: skip


def _sorts(keys: Sequence[LoweredKey], measures: Sequence[LoweredMeasure]) -> dict[str, Sort]:
    """What a question releases, by name."""
    sorts = {key.name: sort_of_kind(key.typed.kind) for key in keys}
    return sorts | {m.measure.name: _released_sort(m) for m in measures}


def sorts_shown(question: LoweredQuestion) -> dict[str, Sort]:
    """The sorts of the columns of its answer."""
    return check_outcome(question.outcome, *(_sorts(each.keys, each.measures) for each in (question, *question.beside)))


def _released_sort(measure: LoweredMeasure) -> Sort:
    """What is released: of dates a date, but their average is a time."""
    if measure.span is None:
        return Sort.NUMBER
    average = measure.measure.aggregate is Aggregate.AVG
    return Sort.TIME if average or isinstance(measure.span.first, datetime) else Sort.DATE


def _notes(question: Question, source: Lowered) -> list[Message]:
    """What there is to say about conditions in keys, arguments and FILTER."""
    expressions: list[Expression] = [key.expression for key in question.keys]
    for measure in question.measures:
        expressions += [*measure.arguments, *([] if measure.where is None else [measure.where])]
    return [note for expression in expressions for note in notes(expression, source.fields)]


def _has_windows(outcome: Outcome) -> bool:
    return bool(outcome.windows) or any(_has_windows(below) for below in outcomes_below(outcome))


def _key(key: Key, source: Lowered, catalog: Catalog, *, ranked: bool) -> LoweredKey:
    x = as_key(typed(key.expression, source.fields))
    if x.is_unit and ranked:
        raise Unsupported(NOT_BY_UNIT, RANKED)
    if x.is_unit:
        raise Unsupported(
            f"a group for each unit ({quoted(key.name)})",
            "one person's numbers cannot be released; group by it in a subquery and aggregate across people outside",
        )
    if isinstance(x.kind, Real) or is_null_literal(x):
        what = f"{quoted(key.name)} cannot be a group key"
        refuse(f"{what}: floats are not exact; bound it and take FLOOR, or WIDTH_BUCKET")
    listed = source.listings.get(x.lowered)
    if listed is not None:
        x = replace(x, keys=meet(x.keys, listed))
    x = narrow_key(x, source.relation, source.fields)
    if x.keys == ():
        refuse(f"WHERE leaves no key of {quoted(key.name)} that could be answered{_those_listed(x, catalog)}")
    if x.never and x.keys is None and x.keys_from is None:
        raise Unsupported(f"groups by {quoted(key.name)} that are chosen from its values", NEVER_HINT)
    return LoweredKey(key.name, x)


def _those_listed(x: Typed, catalog: Catalog) -> str:
    """The first of the keys that are listed of a stored column."""
    listed = None if x.origin is None else catalog[x.origin[0]].fields[x.origin[1]].keys
    if not listed:
        return ""
    more = ", ..." if len(listed) > _FEW_KEYS else ""
    return f": listed are {', '.join('NULL' if key is None else str(key) for key in listed[:_FEW_KEYS])}{more}"


_FEW_KEYS = 8
_NO_NUMBER = "it needs a number: CAST(x AS BIGINT) and CAST(x AS DECIMAL(10, 2)) read text"


# --- measures -------------------------------------------------------------------------------------------------------

_COUNTS = frozenset({Aggregate.COUNT, Aggregate.COUNT_UNITS, Aggregate.COUNT_DISTINCT})
_OF_MOMENTS = frozenset({Aggregate.AVG, Aggregate.MIN, Aggregate.MAX, Aggregate.QUANTILE})
_ARGUMENTS = {Aggregate.COVARIANCE: 2, Aggregate.CORRELATION: 2}


def _of_some_units(measure: Measure, source: Lowered) -> Measure:
    """COUNT(DISTINCT CASE WHEN x THEN unit END) as COUNT(DISTINCT unit) FILTER (WHERE x), which it is."""
    match measure.arguments:
        case (Call(function="case", arguments=(when, Column() as unit, Literal(value=None))),):
            if measure.aggregate is Aggregate.COUNT_DISTINCT and typed(unit, source.fields, keyed=False).is_unit:
                where = when if measure.where is None else Call("and", (measure.where, when))
                return replace(measure, arguments=(unit,), where=where)
    return measure


def _measure(measure: Measure, source: Lowered) -> LoweredMeasure:
    made = _measured(measure, source)
    if made.measure.aggregate is not Aggregate.COUNT_UNITS:  # rows without a partner have no unit
        values = tuple(x.lowered for x in made.arguments)
        check_unchanged(measure.aggregate.name, source.absent, values, made.where)
    never = any(reads_never(x, source.fields) for x in measure.arguments)
    return replace(made, never=True) if never else made


def _measured(measure: Measure, source: Lowered) -> LoweredMeasure:
    measure = _of_some_units(measure, source)
    where = None if measure.where is None else predicate(measure.where, source.fields, "FILTER").lowered
    arguments = tuple(typed(a, source.fields, keyed=False) for a in measure.arguments)
    aggregate = measure.aggregate
    half = aggregate is Aggregate.QUANTILE and measure.level == Fraction(1, 2)
    what = "MEDIAN" if half else aggregate.name
    for x in arguments:
        if is_null_literal(x):
            refuse(f"{what} of NULL has no value")
        if isinstance(x.kind, TimeOfDay) and aggregate not in _COUNTS:
            refuse(f"{what} of a time of day: EXTRACT(EPOCH FROM x) is its number of seconds since midnight")
    if aggregate is Aggregate.COUNT_DISTINCT and len(arguments) == 1 and arguments[0].is_unit and where is None:
        aggregate, arguments = Aggregate.COUNT_UNITS, ()
        measure = replace(measure, aggregate=aggregate, arguments=())
    match aggregate:
        case Aggregate.COUNT:
            if len(arguments) > 1:
                refuse("COUNT takes at most one argument")
            # NULL where it is NULL within its bounds too; so that SUM and AVG of it share what is counted.
            counted = (bounded(x) if isinstance(x.kind, Number) else present(x) for x in arguments)
            return LoweredMeasure(measure, tuple(counted), where)
        case Aggregate.COUNT_UNITS:
            if len(arguments) > 1 or any(not x.is_unit for x in arguments):
                refuse(
                    "the number of units is COUNT(DISTINCT unit), of the unit column as it is, not of a function of it"
                )
            return LoweredMeasure(measure, (), where)
        case Aggregate.COUNT_DISTINCT:
            if len(arguments) != 1:
                raise Unsupported(
                    "COUNT(DISTINCT) of several columns", "count the combinations with CONCAT, or one column"
                )
            if isinstance(arguments[0].kind, Real):
                refuse(f"COUNT(DISTINCT x) needs exact values; {bound(arguments[0])}")
            return LoweredMeasure(measure, arguments, where)
    if len(arguments) != _ARGUMENTS.get(aggregate, 1):
        refuse(f"{what} takes {_ARGUMENTS.get(aggregate, 1)} argument(s), not {len(arguments)}")
    if aggregate is Aggregate.QUANTILE and (measure.level is None or not 0 <= Fraction(measure.level) <= 1):
        refuse("the level of a quantile lies between 0 and 1")
    arguments = tuple(bounded(as_number(x) if x.untyped else x) for x in arguments)
    if isinstance(arguments[0].kind, Temporal) and aggregate in _OF_MOMENTS:
        days, span = since(arguments[0], what)
        return LoweredMeasure(measure, (days,), where, span, open=not has_bounds(arguments[0]))
    numbers = tuple(_as_cells(x, what) for x in arguments)
    return LoweredMeasure(measure, numbers, where, open=any(isinstance(x.kind, Real) or is_wide(x) for x in arguments))


def _as_cells(x: Typed, what: str) -> Typed:
    """A number in whole steps; truth counts as 0 and 1. Where nobody said bounds, it reaches as far as cells can."""
    if isinstance(x.kind, Boolean):
        return as_integer(x)
    if not isinstance(x.kind, (Number, Real)):
        moment = isinstance(x.kind, Temporal)
        hint = "count the days: DATE_DIFF('day', DATE '2025-01-01', x)" if moment else _NO_NUMBER
        raise Unsupported(f"{what} of {words(x)}", hint)
    return as_cells(x)


def _names(expression: Expression) -> str:
    return ", ".join(map(quoted, sorted(columns(expression))))
