"""Keys from a public table: its values are public, so listing them costs nothing and says nothing of anybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from discreet.errors import BadQuestion
from discreet.messages import message
from discreet.query.engine import Engine
from discreet.query.lower.lower import UNIT, LoweredKey, LoweredQuestion, lower_relation
from discreet.query.lower.prune import names, prune
from discreet.query.plan.expressions import Call, Column, Expression, Literal, columns
from discreet.query.plan.key_sets import MOST_TUPLES, KeySet
from discreet.query.plan.names import quoted
from discreet.query.plan.nodes import Filter, How, Join, Project, Relation, Scan, parts_of, scans
from discreet.query.plan.schema import MOST_KEYS, Schema
from discreet.query.plan.types import Kind, Number, Real, Value
from discreet.query.plan.work import Form, RowSum, Weights, Work, WorkKey
from discreet.query.typing.refine import conjuncts

_SEVERAL = 2
Listed = dict[tuple[str, str], tuple[Value, ...]]


def with_public_keys(question: LoweredQuestion, engine: Engine, schemas: Mapping[str, Schema]) -> LoweredQuestion:
    """The question with the keys of public columns filled in, as they are now: nothing is remembered."""
    listed: Listed = {}
    beside = tuple(with_public_keys(other, engine, schemas) for other in question.beside)
    parts = public_parts(question.whole, schemas)
    filtered = [part for part in parts if any(isinstance(p, Filter) for p in parts_of(part))]
    keys = tuple(_possible(_filled(key, engine, schemas, listed), filtered, engine, schemas) for key in question.keys)
    together = tuple(_together(keys, parts, engine, schemas))
    return replace(question, keys=keys, beside=beside, key_sets=(*question.key_sets, *together))


def _together(
    keys: Sequence[LoweredKey], parts: Sequence[Relation], engine: Engine, schemas: Mapping[str, Schema]
) -> Iterator[KeySet]:
    """The combinations of several keys that rows of a public part have; or all are NULL, after a LEFT JOIN."""
    for part in parts:
        mine = [key for key in keys if isinstance(key.typed.lowered, Column) and key.typed.lowered.name in names(part)]
        places = {key.name: key.typed.lowered.name for key in mine if isinstance(key.typed.lowered, Column)}
        if len(set(places.values())) < _SEVERAL or any(key.typed.keys is None for key in mine):
            continue
        rows = _tuples(part, tuple(places.values()), engine, schemas)
        if len(rows) > MOST_TUPLES:
            raise BadQuestion(f"the public columns {', '.join(places)} have more than {MOST_TUPLES:,} combinations")
        nothing = (None,) * len(places)
        yield KeySet(tuple(places), (*rows, *([] if nothing in rows else [nothing])))


def _filled(key: LoweredKey, engine: Engine, schemas: Mapping[str, Schema], listed: Listed) -> LoweredKey:
    place = key.typed.keys_from
    if key.typed.keys is not None or place is None:
        return key
    if place not in listed:
        listed[place] = public_values(*place, engine, schemas)
    if not listed[place]:
        raise BadQuestion(
            f"the public column {quoted(place[0])}.{quoted(place[1])} is empty, so there is no group to answer"
        )
    return replace(key, typed=replace(key.typed, keys=listed[place]))


def _possible(
    key: LoweredKey, filtered: Sequence[Relation], engine: Engine, schemas: Mapping[str, Schema]
) -> LoweredKey:
    """The key without values that no public row has which the conditions keep."""
    x = key.typed
    if x.keys is None or not isinstance(x.lowered, Column):
        return key
    name = x.lowered.name
    rows = next((part for part in filtered if name in names(part)), None)
    if rows is None:
        return key
    values = set(_values(rows, name, engine, schemas))
    keys = tuple(value for value in x.keys if value in values)
    if not keys:
        raise BadQuestion(
            f"the conditions leave no row of a public table with a key of {quoted(key.name)}; change them"
        )
    return replace(key, typed=replace(x, keys=keys))


def public_parts(relation: Relation, schemas: Mapping[str, Schema]) -> list[Relation]:
    """Relations of public tables alone, each with some columns of a lowered relation: in each of its rows, these have
    values that stand together in a row there (or are NULL, after a LEFT JOIN).

    A private column that is equal to a public one in each row is one of the columns, too.
    """
    if all(schemas[scan.table].table.public for scan in scans(relation)):
        return [relation]
    match relation:
        case Filter(source=source, predicate=predicate):
            return [_where(part, conjuncts(predicate)) for part in public_parts(source, schemas)]
        case Project(source=source, columns=made):
            return [
                narrow for part in public_parts(source, schemas) if (narrow := _with_columns(part, made)) is not None
            ]
        case Join(left=left, right=right, on=on, how=how):
            parts = [*public_parts(left, schemas), *public_parts(right, schemas)]
            return _linked(parts, on) if how is How.INNER else parts
        case _:
            return []


def _where(part: Relation, tests: Sequence[Expression]) -> Relation:
    """The rows for which those conditions are true that read nothing else."""
    mine = [test for test in tests if columns(test) and columns(test) <= set(names(part))]
    if not mine:
        return part
    return Filter(part, mine[0] if len(mine) == 1 else Call("and", tuple(mine)))


def _with_columns(part: Relation, made: Sequence[tuple[str, Expression]]) -> Relation | None:
    """The columns that read nothing else; None if there is none."""
    mine = tuple((name, e) for name, e in made if columns(e) and columns(e) <= set(names(part)))
    return Project(part, mine) if mine else None


def _linked(parts: list[Relation], on: Sequence[tuple[str, str]]) -> list[Relation]:
    """Parts with columns that must be equal, joined; a column of no part that must be equal to one of a part, there."""
    for a, b in on:
        first, second = (next((part for part in parts if name in names(part)), None) for name in (a, b))
        if (first is None and second is None) or first is second:
            continue
        others = [part for part in parts if part is not first and part is not second]
        if first is not None and second is not None:
            joined: Relation = Join(first, second, ((a, b),))
        else:
            part, here, new = (second, b, a) if first is None else (first, a, b)
            assert part is not None  # noqa: S101
            joined = Project(part, (*((name, Column(name)) for name in names(part)), (new, Column(here))))
        parts = [*others, joined]
    return parts


def public_values(table: str, column: str, engine: Engine, schemas: Mapping[str, Schema]) -> tuple[Value, ...]:
    """The different values of a public column, sorted; NULL is none."""
    if not schemas[table].table.public:
        raise BadQuestion(f"{quoted(table)} is private: its keys cannot be listed")
    values = _different(Scan(table), column, engine, schemas)[0]
    if len(values) > MOST_KEYS:
        name = f"{quoted(table)}.{quoted(column)}"
        raise BadQuestion(f"the public column {name} has more than {MOST_KEYS:,} values: list fewer keys")
    return tuple(sorted(value for value in values if value is not None))


def public_value(relation: Relation, column: str, engine: Engine, schemas: Mapping[str, Schema]) -> Value:
    """The value that a subquery of public tables has; NULL if it has no row. More than one is refused."""
    values, kind = _different(relation, column, engine, schemas)
    if len(values) > 1:
        raise BadQuestion("a subquery in the place of a value has more than one here; aggregate it")
    value = values[0] if values else None
    step = kind.step if isinstance(kind, Number) else 1
    return value * step if isinstance(value, int) and not isinstance(value, bool) else value


def _different(
    relation: Relation, column: str, engine: Engine, schemas: Mapping[str, Schema]
) -> tuple[list[Value], Kind]:
    """The different values of a column of public rows, NULL among them, and their kind."""
    lowered = lower_relation(relation, schemas)
    if lowered.private:
        raise BadQuestion("a private table cannot be looked up")
    kind = lowered.fields[column].kind
    if isinstance(kind, Real):
        raise BadQuestion(
            f"{quoted(column)} of a public table is a float without bounds",
            message("declare_public_bounds", column=quoted(column)),
        )
    return _values(lowered.relation, column, engine, schemas), kind


def _values(relation: Relation, column: str, engine: Engine, schemas: Mapping[str, Schema]) -> list[Value]:
    """The different values of a column of lowered public rows."""
    return [value for (value,) in _tuples(relation, (column,), engine, schemas)]


def _tuples(
    relation: Relation, wanted: tuple[str, ...], engine: Engine, schemas: Mapping[str, Schema]
) -> tuple[tuple[Value, ...], ...]:
    """The different combinations of some columns of lowered public rows."""
    made = tuple((f"k{i}" if i else "k", Column(column)) for i, column in enumerate(wanted))
    rows = Project(prune(relation, frozenset(wanted)), (*made, (UNIT, Literal(1))))
    weights = Weights(form=Form.L1, cap=1, scale=1, per_group=1)
    keys = tuple(WorkKey(name, Column(name), None) for name, _ in made)
    work = Work(source=rows, unit=UNIT, keys=keys, cells=(RowSum(Literal(1)),), weights=weights)
    (exact,) = engine.run((work,), schemas)
    return tuple(exact.keys)
