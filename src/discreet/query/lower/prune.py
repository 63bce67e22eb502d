"""Lowered relations read only what is used above them: fewer columns from disk, the same rows."""

from __future__ import annotations

from discreet.query.plan.expressions import Column, Expression, columns
from discreet.query.plan.nodes import Filter, Join, PerUnit, Project, Relation, Scan, UnionAll, UnitWindows


def names(relation: Relation) -> tuple[str, ...]:
    """The columns of a lowered relation, in order. A bare Scan never asks: a Project stands above it."""
    match relation:
        case Filter(source=source):
            return names(source)
        case Project(columns=made):
            return tuple(name for name, _ in made)
        case Join(left=left, right=right):
            return names(left) + names(right)
        case UnionAll(parts=parts):
            return names(parts[0])
        case PerUnit(keys=keys, measures=measures):
            return tuple(name for name, _ in keys) + tuple(m.name for m in measures)
        case UnitWindows(source=source, windows=windows):
            return names(source) + tuple(w.name for w in windows)
        case Scan():
            raise TypeError("a Scan is read by a Project")


def prune(relation: Relation, needed: frozenset[str]) -> Relation:
    """The same relation with at least the needed columns, and as few others as its rows allow."""
    match relation:
        case Scan():
            return relation
        case Filter(source=source, predicate=predicate):
            return Filter(prune(source, needed | columns(predicate)), predicate)
        case Project(source=source, columns=made):
            kept = tuple((name, e) for name, e in made if name in needed)
            return _over(prune(source, _read(*(e for _, e in kept))), kept)
        case Join(left=left, right=right, on=on, how=how):
            a, b = (frozenset(pair[side] for pair in on) for side in (0, 1))
            return Join(
                prune(left, needed & set(names(left)) | a), prune(right, needed & set(names(right)) | b), on, how
            )
        case UnionAll(parts=parts):
            return UnionAll(tuple(prune(part, needed) for part in parts))
        case PerUnit(source=source, keys=keys, measures=measures):
            used = tuple(m for m in measures if m.name in needed)
            read = _read(*(e for _, e in keys), *(a for m in used for a in m.arguments))
            return PerUnit(prune(source, read), keys, used)
        case UnitWindows(source=source, windows=windows):
            kept_windows = tuple(w for w in windows if w.name in needed)
            below = prune(
                source,
                needed.difference(w.name for w in windows) | _read(*(e for w in kept_windows for e in w.expressions)),
            )
            return UnitWindows(below, kept_windows) if kept_windows else below


def _over(source: Relation, made: tuple[tuple[str, Expression], ...]) -> Relation:
    """A Project, which disappears if it only renames or drops columns of another one."""
    if isinstance(source, Project) and all(isinstance(e, Column) for _, e in made):
        below = dict(source.columns)
        return Project(source.source, tuple((name, below[e.name]) for name, e in made if isinstance(e, Column)))
    return Project(source, made)


def _read(*expressions: Expression) -> frozenset[str]:
    return frozenset().union(*(columns(e) for e in expressions))
