"""Tables: how their columns are read, and how each row finds its unit, through foreign keys if need be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from discreet.query.functions import times_of_day
from discreet.query.functions.typed_values import TypedColumn, reach, refuse
from discreet.query.lower.key_tuples import upper_levels, with_other
from discreet.query.lower.relation_facts import UNIT, Catalog, Columns, Lowered, is_reserved
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Elements, Join, Project, Relation, Scan
from discreet.query.plan.schema import EACH_ELEMENT, EACH_ROW, MOST_STEPS, Schema, Stored, StoredKind, own_step
from discreet.query.plan.types import LARGEST, Kind, Number, Seconds, Temporal, Text, Value
from discreet.query.typing.infer import no_such
from discreet.query.typing.untyped import read_from_text


def scan(relation: Scan, catalog: Catalog, *, bare: bool = False, stored: Columns = ()) -> Lowered:
    """A table: all its columns, read as they are stored, and its unit. Bare: without it, for a join that brings it.

    ``stored``: further columns as they are stored, under reserved names, for a join that finds units by them. Each
    element of a list is in a row with the unit of the row that holds the list.
    """
    name = relation.table
    schema = _schema(name, catalog)
    given = schema.table
    fields: dict[str, TypedColumn] = {}
    reads: list[tuple[str, Expression]] = []
    finest: dict[str, Expression] = {}
    for column, declared_field in schema.fields.items():
        if is_reserved(column) or column in schema.derived:
            continue
        kind = stored_kind(schema.stored[column], declared_field.kind)
        declared = _longest_key(declared_field.keys) if isinstance(kind, Text) else declared_field.kind
        fields[column] = TypedColumn(
            kind,
            declared_field.nullable,
            declared_field.keys,
            declared_field.unknown,
            is_unit=column == given.unit and through_of(name, catalog) is None,
            origin=(name, column),
            keys_from=(name, column) if given.public and declared_field.keys is None else None,
            declared=None if declared == kind else declared,
            untyped=schema.stored[column] == Stored(StoredKind.TEXT, untyped=True),
            never=column in given.columns and given.columns[column].never,
        )
        read = as_stored(column, schema) if schema.is_whole(column) else _read(column, schema.stored[column], kind)
        read = read if declared_field.nullable else _filled(read, declared_field.kind)
        finest[column] = read
        reads.append((column, with_other(given.columns[column], read) if column in given.columns else read))
    for column, expression in upper_levels(schema, finest):
        field = schema.fields[column]
        fields[column] = TypedColumn(field.kind, True, field.keys, origin=(name, column))
        reads.append((column, expression))
    lists = []
    for i, elements in enumerate(relation.lists):
        place, element = f"{EACH_ELEMENT}{i}", _element(elements, schema)
        fields[elements.name] = element
        kind = stored_kind(_stored_element(elements.column, schema), element.kind)
        reads.append((elements.name, _read(place, _stored_element(elements.column, schema), kind)))
        lists.append(replace(elements, name=place))
    reads += stored
    private = not (given.public or bare)
    unit_kind = _unit_kind(_owner(name, catalog), catalog) if private else None
    rows = Scan(name, lists=tuple(lists))
    return Lowered(
        relation=_with_unit(rows, tuple(reads), catalog, 0) if private else Project(rows, tuple(reads)),
        fields=fields,
        private=private,
        unit_kind=unit_kind,
        caps=None if given.public else given.caps,
        tables=(name,),
    )


def _element(elements: Elements, schema: Schema) -> TypedColumn:
    field = schema.lists.get(elements.column)
    if field is None:
        refuse(f"there is no column {elements.column} that is a list{no_such(elements.column, schema.lists)}")
    kind = stored_kind(_stored_element(elements.column, schema), field.kind)
    declared = _longest_key(field.keys) if isinstance(kind, Text) else field.kind
    return TypedColumn(kind, True, field.keys, field.unknown, declared=None if declared == kind else declared)


def _stored_element(column: str, schema: Schema) -> Stored:
    kind = schema.stored[column].element
    assert kind is not None  # noqa: S101
    return Stored(kind)


def _schema(name: str, catalog: Catalog) -> Schema:
    schema = catalog.get(name)
    if schema is None:
        refuse(f"there is no table {name}{no_such(name, catalog)}")
    return schema


FLOAT_ROOM = 1 << 59
"""Floats with bounds are read as far as this many steps from 0: beyond, reading takes longer."""
DECIMAL_ROOM = 10**16
"""The same for decimals: they then have at most 18 digits."""


def stored_kind(stored: Stored, declared: Kind) -> Kind:
    """The range of all values that may be stored, on the grid that the declaration gives them.

    Numbers that are farther away are read as its ends: ±2^62 steps, of floats and decimals with bounds a bit less.

    >>> from fractions import Fraction
    >>> kind = Number(Fraction(1), 0, 98)
    >>> stored_kind(Stored(StoredKind.INTEGER), kind) == Number(Fraction(1), -LARGEST, LARGEST)
    True
    """
    match declared:
        case Seconds():
            return declared
        case Number(step=step):
            room = {StoredKind.REAL: FLOAT_ROOM, StoredKind.DECIMAL: DECIMAL_ROOM}.get(stored.kind, LARGEST)
            end = room if reach(declared) < room else LARGEST
            if stored.untyped:  # text of a number has at most 18 digits before the point
                end = min(end, int((10**18 - 1) / step))
            if stored.kind is not StoredKind.REAL and step > own_step(stored):  # no more digits than a DECIMAL has
                end = min(end, int((MOST_STEPS - 1) * own_step(stored) / step))
            return Number(step, -end, end)
        case Temporal():
            return type(declared)()
        case _:
            return declared


def _longest_key(keys: tuple[Value, ...] | None) -> Text:
    """What listed keys say of a text: none that counts is longer."""
    return Text(None if keys is None else max((len(key) for key in keys if isinstance(key, str)), default=0))


def _read(column: str, stored: Stored, kind: Kind) -> Expression:
    """How a stored column is read; numbers beyond the ends of the kind are the ends."""
    x = Column(column)
    if stored.untyped:
        return read_from_text(Call("read_text", (x,)), stored, kind)
    match stored.kind, kind:
        case StoredKind.INTEGER | StoredKind.DECIMAL, Number(step=step, low=low, high=high) if step > own_step(stored):
            return Call("read_coarse", (x, *map(Literal, (stored.scale, _power_of_ten(step), low, high))))
        case StoredKind.INTEGER, Number(low=low, high=high):
            return Call("read_integer", (x, Literal(low), Literal(high)))
        case StoredKind.DECIMAL, Number(low=low, high=high):
            return Call("read_decimal", (x, Literal(stored.scale), Literal(low), Literal(high)))
        case StoredKind.REAL, Number(step=step, low=low, high=high):
            exponent = step.numerator.bit_length() - step.denominator.bit_length()
            return Call("read_real", (x, Literal(exponent), Literal(low), Literal(high)))
        case StoredKind.TIME, _:
            return times_of_day.read(x)
        case StoredKind.REAL, _:
            return Call("read_float", (x,))
        case _:
            return Call(f"read_{stored.kind.value}", (x,))


def _power_of_ten(step: Fraction) -> int:
    return len(str(step.numerator)) - len(str(step.denominator))


def _filled(read: Expression, kind: Kind) -> Expression:
    """A value in place of a NULL where the owner says that there is none, so that all aggregates agree about it."""
    match kind:
        case Number(low=low, high=high):
            return Call("coalesce", (read, Literal(min(max(0, low), high))))
        case Temporal(low=first):
            return Call("coalesce", (read, Literal(first)))
        case _:
            return read


def _owner(name: str, catalog: Catalog) -> str:
    """The table that the foreign keys lead to: the one that names the unit itself."""
    seen = [name]
    while (through := _schema(seen[-1], catalog).table.through) is not None:
        if through[0] in seen:
            refuse(f"the foreign keys of {name} lead in a circle")
        target = _schema(through[0], catalog)
        if target.table.public:
            refuse(f"the foreign key of {seen[-1]} leads to {through[0]}, which is public and has no unit")
        if target.table.unit == EACH_ROW:
            refuse(
                f"the foreign key of {seen[-1]} leads to {through[0]}, where each row is a person without an id: "
                "name the column of the unit there"
            )
        if through[1] not in target.stored:
            refuse(f"there is no column {through[1]} in {through[0]}{no_such(through[1], target.stored)}")
        unit = catalog[seen[-1]].table.unit
        if unit is None or catalog[seen[-1]].id_kind(unit) is not target.id_kind(through[1]):
            refuse(f"the foreign key {unit} of {seen[-1]} is stored as another type than {'.'.join(through)}")
        seen.append(through[0])
    return seen[-1]


def through_of(name: str, catalog: Catalog, seen: frozenset[str] = frozenset()) -> tuple[str, str] | None:
    """The foreign key to follow in search of the unit; None if the table's own column already holds it.

    That is so too where the key leads to the unit column of another table: the value there is the same.
    """
    given = catalog[name].table
    if given.through is None or given.through[0] not in catalog or name in seen:
        return given.through
    table, key = given.through
    same = catalog[table].table.unit == key and through_of(table, catalog, seen | {name}) is None
    return None if same else given.through


def _unit_kind(owner: str, catalog: Catalog) -> Kind:
    schema = catalog[owner]
    if schema.table.unit == EACH_ROW:
        return Number(Fraction(1), 0, LARGEST)
    assert schema.table.unit is not None  # noqa: S101
    return schema.fields[schema.table.unit].kind


def as_stored(column: str, schema: Schema) -> Expression:
    """A unit or a foreign key as it is stored; of floats, the whole number. It is NULL for any other float."""
    return Call("read_whole", (Column(column),)) if schema.is_whole(column) else Column(column)


def _with_unit(rows: Scan, columns: Columns, catalog: Catalog, depth: int) -> Relation:
    """The rows of a private table with these columns and their unit, found through its foreign keys.

    Units and foreign keys are compared as they are stored, not as they are read: clamping could make two people one.
    """
    schema = catalog[rows.table]
    given = schema.table
    assert given.unit is not None  # noqa: S101
    through = through_of(rows.table, catalog)
    if through is None:
        read = replace(rows, numbered=given.unit == EACH_ROW)
        return Project(read, (*columns, (UNIT, as_stored(given.unit, schema))))
    table, key = through
    here, there = f"{UNIT}_from_{depth}", f"{UNIT}_to_{depth}"
    left = Project(rows, (*columns, (here, as_stored(given.unit, schema))))
    right = _with_unit(Scan(table), ((there, as_stored(key, catalog[table])),), catalog, depth + 1)
    return Project(Join(left, right, ((here, there),)), (*((n, Column(n)) for n, _ in columns), (UNIT, Column(UNIT))))
