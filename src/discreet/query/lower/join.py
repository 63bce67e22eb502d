"""Joins and unions: where rows of several relations meet, and each row must still belong to one unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from discreet.errors import BadQuestion, Unsupported
from discreet.query.functions.comparison import unify
from discreet.query.functions.typed_values import Typed, TypedColumn, at, refuse, words
from discreet.query.lower.relation_facts import (
    ONE_ROW,
    UNIT,
    Catalog,
    Lowered,
    carried,
    joint_caps,
    one_row_each,
    reads_numbered,
)
from discreet.query.plan.expressions import Call, Column, Expression
from discreet.query.plan.nodes import How, Join, Project, Relation, UnionAll
from discreet.query.plan.types import Kind, Number, Real, Text
from discreet.query.typing.declared_bounds import bounded
from discreet.query.typing.infer import no_such
from discreet.query.typing.key_domains import implied_keys
from discreet.query.typing.untyped import as_kind, key_of_kind

_NONE: Mapping[tuple[str, str], tuple[str, str]] = {}


def free_name(name: str, taken: Mapping[str, object]) -> str:
    """The name, or with the first of _2, _3, ... that is not taken.

    >>> free_name("x", {"x": 0, "x_2": 0})
    'x_3'
    """
    n = 2
    free = name
    while free in taken:
        free, n = f"{name}_{n}", n + 1
    return free


def join(
    left: Lowered,
    right: Lowered,
    node: Join,
    catalog: Catalog,
    stored: Mapping[tuple[str, str], tuple[str, str]] = _NONE,
) -> Lowered:
    """Rows of both with equal columns; rows of two private relations only if they belong to one unit.

    ``stored``: for pairs of columns, those that are compared in their place, as they are stored; nobody else sees them.
    """
    if not node.on:
        raise Unsupported("a join without equal columns", "say which columns must be equal, as in ON a.id = b.id")
    for a, b in node.on:
        _check_pair(a, left, b, right)
    if not (left.private and right.private):
        left, right, read = _read_alike(left, right, node)
        stored = {**stored, **read}
    outer = node.how is How.LEFT and right.private and not left.private
    if outer:  # public rows without a partner are nobody's: what they would add is checked where it is asked
        node = replace(node, how=How.INNER)
    both = left.private and right.private
    if both and (reads_numbered(left.relation) or reads_numbered(right.relation)):
        raise Unsupported(
            "a join of private tables of which one has no id for its people",
            "name the column of the unit, in place of each_row",
        )
    if both and not any(_names_the_unit(left.fields[a], right.fields[b], catalog) for a, b in node.on):
        raise Unsupported(
            "a join of two private tables that pairs different people",
            "join them on the unit, or on a foreign key that the owner declared",
        )
    if both:
        left, right = _unit_as_text(left, right.unit_kind), _unit_as_text(right, left.unit_kind)
    if both and type(left.unit_kind) is not type(right.unit_kind):
        refuse("the units of the two tables are of different kinds (numbers and text), so they have no unit in common")
    fields = dict(left.fields)
    renamed: dict[str, str] = {}
    for name, column in right.fields.items():
        renamed[name] = free_name(name, fields)
        if node.how is How.LEFT:
            column = replace(column, nullable=True, is_unit=False)  # noqa: PLW2901
        fields[renamed[name]] = column
    absent = {*left.absent, *(renamed[name] for name in (right.fields if outer else right.absent))}
    if node.how is How.INNER and not outer:
        for a, b in node.on:
            if type(left.fields[a].kind) is type(right.fields[b].kind):
                _share(fields, a, renamed[b])
    unit = f"{UNIT}_right" if both else UNIT
    other = right.relation
    hides = both or bool(stored)
    if hides or any(name != new for name, new in renamed.items()):
        carried = ((unit, Column(UNIT)),) if right.private else ()
        hidden = ((b, Column(b)) for _, b in stored.values())
        other = Project(other, (*((new, Column(name)) for name, new in renamed.items()), *carried, *hidden))
    on = tuple(stored.get((a, b), (a, renamed[b])) for a, b in node.on)
    if both:  # equal units are equal unit columns: those pairs need no comparison of their own
        others = [(a, b) for a, b in node.on if not (left.fields[a].is_unit and right.fields[b].is_unit)]
        on = ((UNIT, unit), *((a, renamed[b]) for a, b in others))
    joined: Relation = Join(left.relation, other, on, node.how)
    if hides:
        units = ((UNIT, Column(UNIT)),) if left.private or right.private else ()
        joined = Project(joined, (*((name, Column(name)) for name in fields), *units))
    return Lowered(
        relation=joined,
        fields=fields,
        private=left.private or right.private,
        unit_kind=left.unit_kind if left.private else right.unit_kind,
        caps=joint_caps(
            ONE_ROW if right.private and one_row_each(left.relation, [a for a, _ in node.on]) else left.caps,
            ONE_ROW if left.private and one_row_each(right.relation, [b for _, b in node.on]) else right.caps,
        ),
        tables=tuple(dict.fromkeys(left.tables + right.tables)),
        absent=frozenset(absent),
        notes=left.notes + right.notes,
    )


def _check_pair(a: str, left: Lowered, b: str, right: Lowered) -> None:
    for name, side in ((a, left), (b, right)):
        if name not in side.fields:
            refuse(f"there is no column {name} to join on{no_such(name, side.fields)}")
    first, second = (at(name, side.fields[name]) for name, side in ((a, left), (b, right)))
    if not (left.private and right.private):
        first, second = key_of_kind(first, second.kind), key_of_kind(second, first.kind)
    x, y = first.kind, second.kind
    if first.is_unit and second.is_unit and {type(x), type(y)} == {Text, Number}:
        return  # units are compared as text
    if isinstance(x, Real) or isinstance(y, Real):
        refuse(f"{a} and {b} cannot be joined on: floats are not exact")
    same = type(x) is type(y) and (not isinstance(x, Number) or not isinstance(y, Number) or x.step == y.step)
    if not same:
        both = left.private and right.private
        hint = "store both as one type" if both else "CAST one first"
        refuse(f"{a} is {words(left.fields[a])} and {b} is {words(right.fields[b])} (or of another step): {hint}")


def _unit_as_text(side: Lowered, other: Kind | None) -> Lowered:
    """A side whose units are integers, beside one whose units are text (as in CSV files): its units as text.

    Different integers are different texts, so no two units become one.
    """
    if not (isinstance(other, Text) and isinstance(side.unit_kind, Number) and side.unit_kind.step == 1):
        return side
    unit = Call("integer_to_text", (Column(UNIT),))
    relation = Project(side.relation, (*((name, Column(name)) for name in side.fields), (UNIT, unit)))
    return replace(side, relation=relation, unit_kind=other)


def _read_alike(
    left: Lowered, right: Lowered, node: Join
) -> tuple[Lowered, Lowered, dict[tuple[str, str], tuple[str, str]]]:
    """Both with hidden columns for pairs of which one is text without a type: that is read as the other's kind."""
    hidden: list[list[tuple[str, Expression]]] = [[], []]
    names: dict[tuple[str, str], tuple[str, str]] = {}
    for i, (a, b) in enumerate(node.on):
        x, y = at(a, left.fields[a]), at(b, right.fields[b])
        if type(x.kind) is type(y.kind):
            continue
        names[a, b] = f"{UNIT}_left_key_{i}", f"{UNIT}_right_key_{i}"
        keys = key_of_kind(x, y.kind), key_of_kind(y, x.kind)
        for place, name, key in zip(hidden, names[a, b], keys, strict=True):
            place.append((name, key.lowered))
    if not names:
        return left, right, names
    sides = [
        replace(side, relation=Project(side.relation, (*((n, Column(n)) for n in side.fields), *carried(side), *more)))
        for side, more in zip((left, right), hidden, strict=True)
    ]
    return sides[0], sides[1], names


def _names_the_unit(x: TypedColumn, y: TypedColumn, catalog: Catalog) -> bool:
    """Whether a pair of columns says that both rows belong to one unit: both are it, or one is a foreign key."""
    if x.is_unit and y.is_unit:
        return True
    for source, target in ((x.origin, y.origin), (y.origin, x.origin)):
        if source is None or target is None:
            continue
        given = catalog[source[0]].table
        if given.unit == source[1] and given.through == target:
            return True
    return False


def _share(fields: dict[str, TypedColumn], a: str, b: str) -> None:
    """Where two columns are equal neither is NULL, and keys that one of them has are keys of the other."""
    x, y = (replace(fields[name], nullable=False) for name in (a, b))
    for name, mine, other in ((a, x, y), (b, y, x)):
        fields[name] = mine
        if mine.keys is None and not mine.is_unit:
            fields[name] = replace(mine, keys=other.keys, keys_from=mine.keys_from or other.keys_from)


# --- unions ---------------------------------------------------------------------------------------------------------


def union_all(parts: list[Lowered]) -> Lowered:
    """The rows of all parts."""
    if not parts:
        refuse("a union needs parts")
    first = parts[0]
    if first.private and any(reads_numbered(part.relation) for part in parts):
        raise Unsupported("UNION ALL of tables in which each row is a person", "ask about each table alone")
    if any(part.absent for part in parts):
        raise Unsupported("UNION of a LEFT JOIN from a public table", "write JOIN, or put the private table first")
    if len({part.private for part in parts}) > 1:
        raise Unsupported("UNION ALL of private and public rows", "public rows have no unit; ask apart")
    if len({type(part.unit_kind) for part in parts}) > 1:
        refuse("the units of the tables are of different kinds (numbers and text), so they have no unit in common")
    if len({len(part.fields) for part in parts}) > 1:
        refuse("the parts of UNION ALL must have the same number of columns")
    fields: dict[str, TypedColumn] = {}
    lowered: list[list[tuple[str, Expression]]] = [[] for _ in parts]
    for i, name in enumerate(first.fields):
        columns = [at(list(part.fields)[i], list(part.fields.values())[i]) for part in parts]
        fields[name], expressions = _united(columns, name)
        for place, expression in zip(lowered, expressions, strict=True):
            place.append((name, expression))
    return Lowered(
        relation=UnionAll(
            tuple(
                Project(part.relation, (*columns_, *carried(part)))
                for part, columns_ in zip(parts, lowered, strict=True)
            )
        ),
        fields=fields,
        private=first.private,
        unit_kind=first.unit_kind,
        caps=joint_caps(*(part.caps for part in parts)),
        tables=tuple(dict.fromkeys(t for part in parts for t in part.tables)),
        notes=tuple(note for part in parts for note in part.notes),
    )


def _united(columns: list[Typed], name: str) -> tuple[TypedColumn, list[Expression]]:
    """One column of a union: of one kind; it is the unit only if it is in every part."""
    declared: Kind | None = None
    typed_ones = [c.kind for c in columns if not c.untyped]
    if typed_ones:
        columns = [as_kind(c, typed_ones[0]) for c in columns]
    if all(isinstance(c.kind, Real) for c in columns):
        kind: Kind = Real()
    else:
        kind, declared, columns = _one_kind(columns, f"the column {name} of UNION ALL")
    listed = [c.keys for c in columns]
    keys = None if None in listed else tuple(dict.fromkeys(k for some in listed for k in some or ()))
    first = columns[0]
    column = TypedColumn(
        kind,
        any(c.nullable for c in columns),
        keys,
        any(c.unknown for c in columns) and all(c.unknown or implied_keys(c) is not None for c in columns),
        is_unit=all(c.is_unit for c in columns),
        origin=first.origin if all(c.origin == first.origin for c in columns) else None,
        keys_from=first.keys_from if all(c.keys_from == first.keys_from for c in columns) else None,
        copies=max(c.copies for c in columns),
        declared=declared,
        untyped=all(c.untyped for c in columns),
        never=any(c.never for c in columns),
    )
    return column, [c.lowered for c in columns]


def _one_kind(columns: list[Typed], what: str) -> tuple[Kind, Kind | None, list[Typed]]:
    """The columns on one step; as they are stored if there is room for that, or within their bounds."""
    tight, moved = unify([bounded(c) for c in columns], what)
    if all(c.declared is None for c in columns):
        return tight, None, list(moved)
    try:
        kind, unified = unify(columns, what)
    except BadQuestion:
        return tight, None, list(moved)
    if isinstance(kind, Number) and isinstance(tight, Number) and kind.step != tight.step:
        return tight, None, list(moved)
    return kind, None if kind == tight else tight, list(unified)
