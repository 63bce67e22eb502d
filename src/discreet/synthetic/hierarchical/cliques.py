"""Which tables are made whole together: sets of columns without cycles, so that tables that agree fit to each other.

A family of sets is free of cycles if it can be put in an order in which what each set shares with all before it lies
in one of them (the running intersection property). Then any tables over the sets that agree where they overlap are
tables of some rows (Lauritzen 1996), and whole tables of whole rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

Set = tuple[int, ...]


def largest(sets: Iterable[Iterable[int]]) -> list[frozenset[int]]:
    """Those that lie in no other, each once, in a fixed order.

    >>> [sorted(one) for one in largest([(0,), (0, 1), (2,)])]
    [[0, 1], [2]]
    """
    distinct = sorted({frozenset(columns) for columns in sets}, key=lambda columns: (-len(columns), sorted(columns)))
    kept: list[frozenset[int]] = []
    for columns in distinct:
        if not any(columns <= other for other in kept):
            kept.append(columns)
    return kept


def in_order(sets: Sequence[frozenset[int]]) -> list[tuple[frozenset[int], frozenset[int]]] | None:
    """Each set and what it shares with those before it, which lies in one of them; None if there is no such order."""
    if not sets:
        return []
    waiting, order = list(sets[1:]), [(sets[0], frozenset[int]())]
    while waiting:
        nearest = max(waiting, key=lambda columns: max(len(columns & done) for done, _ in order))
        shared = nearest & frozenset().union(*(done for done, _ in order))
        if not any(shared <= done for done, _ in order):
            return None
        order.append((nearest, shared))
        waiting.remove(nearest)
    return order


def without_cycles(sets: Iterable[Iterable[int]]) -> list[frozenset[int]]:
    """The largest sets, with those put together that stand in a cycle.

    >>> [sorted(one) for one in without_cycles([(0, 1), (1, 2)])], len(without_cycles([(0, 1), (1, 2), (0, 2)]))
    ([[0, 1], [1, 2]], 1)
    """
    merged = largest(sets)
    while in_order(merged) is None:
        a, b = min(
            (p for p in combinations(merged, 2) if p[0] & p[1]), key=lambda p: (len(p[0] | p[1]), *map(sorted, p))
        )
        merged = largest([*(columns for columns in merged if columns not in (a, b)), a | b])
    return merged


def by_level(tables: Sequence[Sequence[Set]], *, rows: bool) -> list[list[frozenset[int]]]:
    """For each level the sets whose tables are made: of all tables there and below. ``rows``: so that rows exist.

    >>> [[sorted(one) for one in level] for level in by_level([[(0, 1)], [(0,), (1,)]], rows=True)]
    [[[0, 1]], [[0, 1]]]
    """
    needed = [
        frozenset(c for columns in tables[level:] for table in columns for c in table) for level in range(len(tables))
    ]
    levels = [without_cycles(table for columns in tables for table in columns)]
    for level in range(1, len(tables)):
        some = without_cycles(table for columns in tables[level:] for table in columns)
        inside = all(any(columns <= above for above in levels[-1]) for columns in some)
        levels.append(some if inside else largest(columns & needed[level] for columns in levels[-1]))
    if not rows or row_order(levels) is not None:
        return levels
    levels = [largest(columns & needed[level] for columns in levels[0]) for level in range(len(tables))]
    if row_order(levels) is not None:
        return levels
    together = _connected(levels[0])
    return [largest(columns & needed[level] for columns in together) for level in range(len(tables))]


def row_order(levels: Sequence[Sequence[frozenset[int]]]) -> list[tuple[int, frozenset[int]]] | None:
    """In which order the tables of all levels make rows, the deepest first; None if not all are tables of rows.

    A place of each level is a column, and tables of a level have those of all levels above: then rows exist if there
    is no cycle. Negative numbers stand for the places.
    """
    places = [frozenset(-1 - upper for upper in range(level + 1)) for level in range(len(levels))]
    whole = {
        places[level] | columns: (level, columns) for level in reversed(range(len(levels))) for columns in levels[level]
    }
    kept = sorted(largest(whole), key=lambda columns: -whole[columns][0])
    order = in_order(kept)
    return None if order is None else [whole[columns] for columns, _ in order]


def _connected(sets: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """The unions of sets that are connected by shared columns."""
    unions: list[frozenset[int]] = []
    for columns in sets:
        touching = [other for other in unions if other & columns]
        unions = [*(other for other in unions if other not in touching), columns.union(*touching)]
    return unions
