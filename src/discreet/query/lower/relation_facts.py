"""A lowered relation: its columns, its unit, and what is public about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from discreet.errors import Unsupported
from discreet.messages import Message
from discreet.query.functions.typed_values import TypedColumn, refuse
from discreet.query.lower.bounding import rows
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Filter, PerUnit, Project, Relation, Scan, UnitWindows, parts_of, scans
from discreet.query.plan.schema import Caps, Schema
from discreet.query.plan.types import Kind, Value
from discreet.query.typing.refine import conjuncts

UNIT = "__unit"
"""The column in which lowered private relations carry the unit."""

Catalog: TypeAlias = Mapping[str, Schema]
Columns: TypeAlias = tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """A lowered relation and what is known of it. Its columns are the fields, and ``__unit`` if it is private."""

    relation: Relation
    fields: Mapping[str, TypedColumn]
    private: bool
    unit_kind: Kind | None
    caps: Caps | None
    """The largest of each cap of the private tables in it; None if there is none."""
    tables: tuple[str, ...]
    listings: Mapping[Expression, tuple[Value, ...]] = field(default_factory=dict)
    """Keys of lowered expressions that a condition right below lists."""
    absent: frozenset[str] = frozenset()
    """Where public rows were joined to private ones by LEFT JOIN: the columns that are NULL in a public row without a
    partner. Such rows are nobody's and are left out; so only what they do not change may be asked."""
    notes: tuple[Message, ...] = ()
    """What whoever reads the answer should know about conditions: see ``declared_bounds.notes``."""


ONE_ROW = Caps(max_rows=1)


def one_row_each(relation: Relation, apart: Collection[str] = ()) -> bool:
    """Whether each unit has at most one row with the same values of the columns ``apart`` in a lowered relation: a
    summary by the unit and no more than these, or the first row of each such part; then row by row.
    """
    names = set(apart)
    firsts: set[str] = set()
    while isinstance(relation, Filter | Project | UnitWindows):
        match relation:
            case Filter(predicate=predicate):
                firsts |= {name for e in conjuncts(predicate) if (name := _first(e)) is not None}
            case Project(columns=made):
                names = {name for name in names if (name, Column(name)) in made}
                firsts = {e.name for name, e in made if name in firsts and isinstance(e, Column)}
            case UnitWindows(windows=windows):
                parts = {Column(name) for name in (UNIT, *names)}
                whole = [
                    w for w in windows if w.function == "row_number" and w.partition and parts.issuperset(w.partition)
                ]
                if any(w.name in firsts for w in whole):
                    return True
        relation = relation.source
    return isinstance(relation, PerUnit) and {name for name, _ in relation.keys} <= {UNIT, *names}


def _first(condition: Expression) -> str | None:
    """The column of which it says that it is at most 1."""
    match condition:
        case Call("eq" | "le", (Column(name), Literal(value=1))) | Call("lt", (Column(name), Literal(value=2))):
            return name
        case _:
            return None


def joint_caps(*caps: Caps | None) -> Caps | None:
    """The largest of each cap that is declared: a table with one row per unit must not cap what it is joined with.

    Where one table's caps are to be chosen, so are those of the joined rows.
    Whatever they are, bounding keeps to them; so this is a choice of accuracy, not of privacy.
    """
    declared = [c for c in caps if c is not None]
    if not declared:
        return None

    def largest(values: list[int | None]) -> int | None:
        return max((v for v in values if v is not None), default=None)

    auto = any(c.auto for c in declared)
    return Caps(
        max_rows=None if auto or all(c.max_rows is None for c in declared) else max(map(rows, declared)),
        max_groups=largest([c.max_groups for c in declared]),
        max_rows_per_group=largest([c.max_rows_per_group for c in declared]),
        auto=auto,
    )


def is_reserved(name: str) -> bool:
    """Whether a name is kept for the carried unit, in any spelling that an engine takes for the same."""
    return name.lower().startswith(UNIT)


def check_names(names: list[str]) -> None:
    """Refuses names that are taken twice or reserved."""
    for name in names:
        if is_reserved(name):
            raise Unsupported(f"the name {name}", "choose another one: it is kept for the unit")
        if not name or "\x00" in name:
            refuse("a column needs a name")
    if len(set(names)) != len(names):
        twice = next(n for n in names if names.count(n) > 1)
        refuse(f"there are two columns {twice}; give one of them another name")


def reads_numbered(relation: Relation) -> bool:
    """Whether each row of one of its tables is a person: two readings of that table have nobody in common."""
    return any(scan.numbered for scan in scans(relation))


def rows_are_units(relation: Relation) -> bool:
    """Whether each row is a unit that is in no other row, so that no contribution is clipped."""
    plain = all(isinstance(part, Scan | Project | Filter) for part in parts_of(relation))
    return plain and reads_numbered(relation) and not reads_lists(relation)


def reads_lists(relation: Relation) -> bool:
    """Whether a row of a table may come several times, once for each element of a list."""
    return any(scan.lists for scan in scans(relation))


def carried(source: Lowered) -> Columns:
    """The unit as a column of the relation above, if there is one."""
    return ((UNIT, Column(UNIT)),) if source.private else ()
