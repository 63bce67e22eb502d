"""From relations as asked to lowered ones: typed, with the unit carried, reading only what is used.

Promise: every row of a lowered private relation carries, as ``__unit``, the unit that it belongs to, and depends on
that unit's rows and on public tables alone. The unit is known by lineage, never by its name: no expression can
replace it, and a join of two private relations always compares units.

A private join must say so itself: on the units, or on a declared foreign key. What else people may want to compare
across persons is refused, and so is whatever is not understood; messages are made of public names.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.query.functions.typed_values import Typed, is_null_literal, refuse
from discreet.query.lower.absent_rows import is_null
from discreet.query.lower.join import join, union_all
from discreet.query.lower.per_unit import per_unit
from discreet.query.lower.prune import prune
from discreet.query.lower.relation_facts import UNIT, Catalog, Columns, Lowered, carried, check_names
from discreet.query.lower.scan import as_stored, scan, through_of
from discreet.query.lower.unit_windows import unit_windows
from discreet.query.plan.expressions import Expression
from discreet.query.plan.names import quoted
from discreet.query.plan.nodes import Filter, How, Join, PerUnit, Project, Relation, Scan, UnionAll, UnitWindows
from discreet.query.typing.declared_bounds import notes
from discreet.query.typing.infer import predicate, typed
from discreet.query.typing.refine import listings, meet, narrowed

MOST_RELATIONS = 1_000
DEEPEST_RELATION = 50


def lower_relation(relation: Relation, catalog: Catalog) -> Lowered:
    """The relation, typed and lowered; refuses what cannot be protected or is not understood."""
    lowered = lower_all(relation, catalog)
    return replace(lowered, relation=prune(lowered.relation, frozenset(lowered.fields) | {UNIT}))


def lower_all(relation: Relation, catalog: Catalog) -> Lowered:
    """As ``lower_relation``, with all columns still there."""
    _check_size(relation)
    return _lower(relation, catalog)


def _check_size(relation: Relation) -> None:
    stack = [(relation, 1)]
    nodes = 0
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if depth > DEEPEST_RELATION or nodes + len(stack) > MOST_RELATIONS:
            refuse("this query has too many parts: subqueries, joins or unions")
        match node:
            case Filter(source=source) | Project(source=source) | PerUnit(source=source) | UnitWindows(source=source):
                stack.append((source, depth + 1))
            case Join(left=left, right=right):
                stack += [(left, depth + 1), (right, depth + 1)]
            case UnionAll(parts=parts):
                stack += [(part, depth + 1) for part in parts]
            case Scan():
                pass


def _lower(relation: Relation, catalog: Catalog) -> Lowered:
    match relation:
        case Scan():
            return scan(relation, catalog)
        case Filter(source=source, predicate=condition):
            return _filter(_lower(source, catalog), condition)
        case Project(source=source, columns=columns):
            return _project(_lower(source, catalog), columns)
        case Join():
            return _join(relation, catalog)
        case UnionAll(parts=parts):
            return union_all([_lower(part, catalog) for part in parts])
        case PerUnit(source=source):
            return per_unit(_lower(source, catalog), relation, catalog)
        case UnitWindows(source=source):
            return unit_windows(_lower(source, catalog), relation, catalog)


def _join(node: Join, catalog: Catalog) -> Lowered:
    """A join along a foreign key needs no second look for the unit: the table that it leads to has it.

    The key is compared as it is stored: as it is read, clamped, it could lead to somebody else.
    """
    match node:
        case Join(left=Scan(table=a) as first, right=Scan(table=b) as second, on=on):
            here, there = f"{UNIT}_from", f"{UNIT}_to"
            if (pair := _leads(a, b, on, catalog)) is not None:
                left = scan(first, catalog, bare=True, stored=((here, as_stored(pair[0], catalog[a])),))
                right = scan(second, catalog, stored=((there, as_stored(pair[1], catalog[b])),))
                # Rows without a partner have no unit and would be dropped, so LEFT keeps no more than INNER.
                return join(left, right, replace(node, how=How.INNER), catalog, {pair: (here, there)})
            if (pair := _leads(b, a, tuple((y, x) for x, y in on), catalog)) is not None:
                left = scan(first, catalog, stored=((there, as_stored(pair[1], catalog[a])),))
                right = scan(second, catalog, bare=True, stored=((here, as_stored(pair[0], catalog[b])),))
                return join(left, right, node, catalog, {(pair[1], pair[0]): (there, here)})
    return join(_lower(node.left, catalog), _lower(node.right, catalog), node, catalog)


def _leads(a: str, b: str, on: tuple[tuple[str, str], ...], catalog: Catalog) -> tuple[str, str] | None:
    """The pair of columns that is the declared foreign key from table a to table b, if there is one."""
    if a not in catalog or b not in catalog or catalog[b].table.public:
        return None
    through = through_of(a, catalog)
    return next((p for p in on if through is not None and (catalog[a].table.unit, *through) == (p[0], b, p[1])), None)


def _filter(source: Lowered, condition: Expression) -> Lowered:
    typed = predicate(condition, source.fields, "WHERE")
    lowered = typed.lowered
    lists = dict(source.listings)
    for expression, keys in listings(lowered).items():
        lists[expression] = meet(lists.get(expression), keys)
    return replace(
        source,
        relation=Filter(source.relation, lowered),
        fields=narrowed(source.fields, lowered),
        listings=lists,
        notes=(*source.notes, *notes(condition, source.fields, typed)),
    )


def _project(source: Lowered, columns: Columns) -> Lowered:
    check_names([name for name, _ in columns])
    if not columns and not source.private:
        refuse("a subquery needs a column")
    made = {name: _column(name, typed(e, source.fields), source) for name, e in columns}
    return replace(
        source,
        relation=Project(source.relation, (*((n, t.lowered) for n, t in made.items()), *carried(source))),
        fields={name: t.column for name, t in made.items()},
        listings={},
        absent=frozenset(name for name, t in made.items() if source.absent and is_null(t.lowered, source.absent)),
    )


def _column(name: str, x: Typed, source: Lowered) -> Typed:
    if is_null_literal(x):
        refuse(f"the column {quoted(name)} is always NULL and has no kind; leave it out")
    keys = source.listings.get(x.lowered)
    return x if keys is None or x.is_unit else replace(x, keys=meet(x.keys, keys))
