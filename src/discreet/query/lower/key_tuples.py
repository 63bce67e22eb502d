"""Which combinations of several keys are groups: those of key sets, and those that public rows have.

Guarantee: groups follow from public facts. A condition on tuples is a condition on each row by itself, so what it
leaves out changes no contribution bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

from discreet.errors import BadQuestion
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.key_sets import KeySet, Tuples
from discreet.query.plan.types import Value

MOST_TESTED = 100_000
"""Tuples of a key set that an engine compares rows with."""
MOST_BRANCHES = 5_000


def tuple_test(key_set: KeySet, keys: Mapping[str, Expression]) -> Expression:
    """Whether the keys of a row are one of the tuples: the values of the last column by those of the others."""
    distinct = {name: len({row[i] for row in key_set.rows}) for i, name in enumerate(key_set.columns)}
    ordered = key_set.only(sorted(key_set.columns, key=distinct.__getitem__))
    branches = len({row[:-1] for row in ordered.rows})
    if len(ordered.rows) > MOST_TESTED or branches > MOST_BRANCHES:
        raise BadQuestion(
            f"{len(ordered.rows):,} combinations of {', '.join(key_set.columns)} are too many for one query; "
            "publish them with session.tabulate and dp.synthetic.publication"
        )
    return _test(ordered.rows, [keys[name] for name in ordered.columns])


def _test(rows: Tuples, keys: Sequence[Expression]) -> Expression:
    if len(keys) == 1:
        return _one_of(keys[0], [row[0] for row in rows])
    parts: dict[Value, list[tuple[Value, ...]]] = {}
    for row in rows:
        parts.setdefault(row[0], []).append(row[1:])
    by_rest: dict[Tuples, list[Value]] = {}
    for value, rest in parts.items():  # first columns that are followed by the same tuples stand together
        by_rest.setdefault(tuple(rest), []).append(value)
    tests = tuple(Call("and", (_one_of(keys[0], firsts), _test(rest, keys[1:]))) for rest, firsts in by_rest.items())
    return tests[0] if len(tests) == 1 else Call("or", tests)


def _one_of(key: Expression, values: Sequence[Value]) -> Expression:
    ways: list[Expression] = []
    if some := tuple(Literal(value) for value in values if value is not None):
        ways.append(Call("in", (key, *some)))
    if None in values:
        ways.append(Call("is_null", (key,)))
    return ways[0] if len(ways) == 1 else Call("or", tuple(ways))


def existing(keys: Mapping[str, tuple[Value, ...] | None], key_sets: Sequence[KeySet]) -> Tuples | None:
    """All combinations of listed keys that key sets let stand together, in the order of the keys.

    None where no key set speaks of two of them, or some key is not listed.

    >>> places = KeySet(("state", "county"), (("A", "a1"), ("B", "b1")))
    >>> existing({"county": ("a1", "b1"), "sex": ("f",), "state": ("A", "B")}, [places])
    (('a1', 'f', 'A'), ('b1', 'f', 'B'))
    """
    listed = {name: values for name, values in keys.items() if values is not None}
    sets = [
        key_set.only(shared)
        for key_set in key_sets
        if len(shared := [name for name in key_set.columns if name in keys]) > 1
    ]
    if not sets or len(listed) < len(keys):
        return None
    joined = sets[0]
    for key_set in sets[1:]:
        joined = joined.join(key_set)
    allowed = [set(listed[name]) for name in joined.columns]
    rows = [row for row in joined.rows if all(value in some for value, some in zip(row, allowed, strict=True))]
    others = [name for name in keys if name not in joined.columns]
    order = [(*joined.columns, *others).index(name) for name in keys]
    groups = (row + rest for row in rows for rest in product(*(listed[name] for name in others)))
    return tuple(tuple(group[i] for i in order) for group in groups)


def how_many(keys: Mapping[str, tuple[Value, ...] | None], key_sets: Sequence[KeySet]) -> int:
    """At least how many combinations there are, or more: to refuse before all are made."""
    whole = prod(len(values) for values in keys.values() if values is not None)
    for key_set in key_sets:
        shared = [name for name in key_set.columns if name in keys and keys[name] is not None]
        if len(shared) > 1:
            others = prod(len(values) for name, values in keys.items() if values is not None and name not in shared)
            whole = min(whole, len(key_set.only(shared).rows) * others)
    return whole
