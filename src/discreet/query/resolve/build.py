"""Relations as they are built: the node of the plan, its column names, and how large it has become.

Promise: a plan is never deeper or larger than the limits here, counting what is shared as often as it is used. So
whoever walks it later, and however a question repeats a subquery, the time stays small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction

from discreet.errors import BadQuestion, Unsupported
from discreet.query.plan.expressions import Call, Column, Expression, Literal, walk
from discreet.query.plan.names import is_ours, quoted
from discreet.query.plan.nodes import (
    Aggregate,
    Elements,
    Filter,
    How,
    Join,
    Measure,
    PerUnit,
    Project,
    Relation,
    Scan,
    UnionAll,
    UnitWindows,
    Window,
)

MOST_STEPS = 1_000
"""Nodes of one plan."""
DEEPEST = 50
"""Nodes from its top to a table."""
MOST_PARTS = 200_000
"""Parts of all its expressions."""
MOST_COLUMNS = 5_000
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Rows:
    """A relation and the names of its columns."""

    relation: Relation
    columns: tuple[str, ...]
    steps: int = 1
    depth: int = 1
    parts: int = 0

    def __post_init__(self) -> None:
        if self.steps > MOST_STEPS or self.parts > MOST_PARTS or len(self.columns) > MOST_COLUMNS:
            raise BadQuestion("this query is too large; ask for less at once")
        if self.depth > DEEPEST:
            raise BadQuestion(f"subqueries, joins and filters are nested more than {DEEPEST} deep; ask more simply")


def _over(relation: Relation, columns: Sequence[str], below: Sequence[Rows], said: Iterable[Expression] = ()) -> Rows:
    return Rows(
        relation,
        tuple(columns),
        steps=1 + sum(rows.steps for rows in below),
        depth=1 + max(rows.depth for rows in below),
        parts=sum(rows.parts for rows in below) + sum(size(expression) for expression in said),
    )


def size(expression: Expression) -> int:
    """How many parts it has."""
    return sum(1 for _ in walk(expression))


def scan(table: str, columns: Iterable[str]) -> Rows:
    """A table with all its columns."""
    return Rows(Scan(table), tuple(columns))


def unnested(rows: Rows, elements: Elements) -> Rows:
    """The rows of a table, each once for each element of a list."""
    if not isinstance(rows.relation, Scan):
        raise Unsupported("UNNEST of what is not a column of a table", "name the table beside it in FROM")
    scan = replace(rows.relation, lists=(*rows.relation.lists, elements))
    return replace(rows, relation=scan, columns=(*rows.columns, elements.name))


def filtered(rows: Rows, predicate: Expression) -> Rows:
    """The rows that pass; two filters in a row are one."""
    if isinstance(rows.relation, Filter):
        both = Filter(rows.relation.source, conjunction(rows.relation.predicate, predicate))
        return Rows(both, rows.columns, rows.steps, rows.depth, rows.parts + size(predicate) + 1)
    return _over(Filter(rows.relation, predicate), rows.columns, [rows], [predicate])


def conjunction(*predicates: Expression) -> Expression:
    """All of them; what is joined by AND already is taken apart first."""
    parts: list[Expression] = []
    for predicate in predicates:
        together = isinstance(predicate, Call) and predicate.function == "and"
        parts += predicate.arguments if together and isinstance(predicate, Call) else [predicate]
    return parts[0] if len(parts) == 1 else Call("and", tuple(parts))


def projected(rows: Rows, columns: Sequence[tuple[str, Expression]]) -> Rows:
    """New columns from old ones."""
    unique([name for name, _ in columns])
    return _over(Project(rows.relation, tuple(columns)), [n for n, _ in columns], [rows], [e for _, e in columns])


def joined(left: Rows, right: Rows, on: Sequence[tuple[str, str]], how: How) -> Rows:
    """Rows of both with equal columns; see ``joined_names`` for what the columns are called."""
    if not on:
        raise BadQuestion("a join needs at least one pair of equal columns")
    names = joined_names(left.columns, right.columns)
    return _over(Join(left.relation, right.relation, tuple(on), how), [*left.columns, *names], [left, right])


def joined_names(left: Sequence[str], right: Sequence[str]) -> tuple[str, ...]:
    """What the columns of right are called after a join: ``_2``, ``_3`` and so on where a name is taken.

    >>> joined_names(("id", "x"), ("id", "y"))
    ('id_2', 'y')
    """
    taken = set(left)
    found = []
    for name in right:
        found.append(fresh(name, taken))
        taken.add(found[-1])
    return tuple(found)


def united(parts: Sequence[Rows]) -> Rows:
    """UNION ALL; unions inside are taken apart, and the names are those of the first."""
    first = parts[0]
    if any(len(rows.columns) != len(first.columns) for rows in parts):
        raise BadQuestion("the parts of UNION ALL have different numbers of columns")
    flat: list[Relation] = []
    for rows in parts:
        flat += rows.relation.parts if isinstance(rows.relation, UnionAll) else [rows.relation]
    return _over(UnionAll(tuple(flat)), first.columns, parts)


def per_unit(rows: Rows, keys: Sequence[tuple[str, Expression]], measures: Sequence[Measure]) -> Rows:
    """One row for each unit and each combination of keys that it has."""
    said = [e for _, e in keys]
    for measure in measures:
        said += [*measure.arguments, *([] if measure.where is None else [measure.where])]
    names = [*(name for name, _ in keys), *(measure.name for measure in measures)]
    unique(names)
    return _over(PerUnit(rows.relation, tuple(keys), tuple(measures)), names, [rows], said)


def distinct_rows(rows: Rows) -> Rows:
    """The distinct rows of each unit; NULL is equal to NULL."""
    return per_unit(rows, [(name, Column(name)) for name in rows.columns], [])


def rows_by_side(parts: Sequence[Rows], *, in_both: bool) -> Rows:
    """INTERSECT: the distinct rows of each unit that are in the first part and in the second; or EXCEPT: not there."""
    if len(parts[0].columns) != len(parts[1].columns):
        raise BadQuestion("the parts of INTERSECT or EXCEPT have different numbers of columns")
    side = fresh("side", parts[0].columns)
    marked = [projected(rows, [*((name, Column(name)) for name in rows.columns), (side, Literal(Fraction(place)))])
              for place, rows in enumerate(parts)]  # fmt: skip
    both = united(marked)
    names = both.columns[:-1]
    places = (Measure(fresh("least", names), Aggregate.MIN, (Column(side),)),
              Measure(fresh("greatest", names), Aggregate.MAX, (Column(side),)))  # fmt: skip
    found = per_unit(both, [(name, Column(name)) for name in names], places)
    ends = (0, 1 if in_both else 0)
    tests = (Call("eq", (Column(m.name), Literal(Fraction(end)))) for m, end in zip(places, ends, strict=True))
    return projected(filtered(found, conjunction(*tests)), [(name, Column(name)) for name in names])


def windowed(rows: Rows, windows: Sequence[Window]) -> Rows:
    """Further columns: window functions over the rows of one unit."""
    names = [*rows.columns, *(window.name for window in windows)]
    unique(names)
    said = [e for window in windows for e in window.expressions]
    return _over(UnitWindows(rows.relation, tuple(windows)), names, [rows], said)


# --- names ------------------------------------------------------------------------------------------------------------


def fresh(name: str, taken: Iterable[str]) -> str:
    """The name, or with a number appended if it is taken."""
    found, n = name, 1
    while found in taken:
        n += 1
        found = f"{name}_{n}"
    return found


def unique(names: Sequence[str]) -> None:
    """Refuses a name that is given twice, or that is ours."""
    seen: set[str] = set()
    for name in names:
        if not name or len(name) > LONGEST_NAME or is_ours(name):
            raise BadQuestion(f"a name has 1 to {LONGEST_NAME} characters; those like __unit or #1 are ours")
        if name in seen:
            raise BadQuestion(f"two columns are named {show(name)}; name one of them differently with AS")
        seen.add(name)


def show(name: str) -> str:
    """A name as it stands in a message."""
    return quoted(name if len(name) <= 60 else f"{name[:60]}...")


def match(name: str, among: Iterable[str]) -> list[str]:
    """The one that is spelled exactly so, or all that differ in upper and lower case only."""
    found = list(among)
    if name in found:
        return [name]
    return [other for other in found if other.casefold() == name.casefold()]


def unknown(what: str, name: str, among: Iterable[str]) -> BadQuestion:
    """What to raise for a name that nobody knows."""
    public = sorted(set(among))
    short = name[:100]  # what is longer is no typing error, and comparing takes time
    close = get_close_matches(short, public, n=1) or get_close_matches(short.lower(), public, n=1)
    if close:
        hint = f"did you mean {show(close[0])}?"
    elif public:
        hint = f"there are {', '.join(show(p) for p in public[:8])}{', ...' if len(public) > 8 else ''}"
        hint += "; text stands in single quotes" if what == "column" else ""
    else:
        hint = "there is none here"
    error = BadQuestion(f"there is no {what} {show(name)}; {hint}")
    error.column = name if what == "column" else None
    return error
