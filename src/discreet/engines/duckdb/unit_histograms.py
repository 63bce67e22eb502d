"""Histograms in which each unit weighs one, as a profile asks for them: many in one pass instead of one pass each.

Promise: the numbers are those of each work by itself (``query/plan/work.py``), exactly. What does not have one of the
forms below, and tables in which a unit has more rows than a weight has steps, are left to the statements of each work.

  sizes     units by a function of how many rows they have
  groups    units by a function of how many of some listed keys they have: a bit for each key
  spread    rows by a listed key, each row of a unit weighing the same
  pairs     units by how many keys that nobody listed they have; and how many different ones they name, one each
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import duckdb as driver
import numpy as np

from discreet.engines.duckdb.shared_rows import BITS, Fact, base_of, fact_of
from discreet.engines.sql.base import Key
from discreet.engines.sql.dialects import DUCKDB, Sort
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.weights import unit_weight
from discreet.query.plan.evaluate import program
from discreet.query.plan.expressions import Call, Expression
from discreet.query.plan.types import Value
from discreet.query.plan.work import AnyWork, DistinctWork, Exact, Work

AT_ONCE = 8
"""Spread histograms of one statement: each is summed with the weights of all."""
Run = Callable[[str], list[tuple[Any, ...]]]


def shared_histograms(
    works: Sequence[AnyWork], cursor: driver.DuckDBPyConnection, tables: Mapping[str, Origin]
) -> dict[int, Exact]:
    """The numbers of those works, by their places, that can share a pass."""

    def run(sql: str) -> list[tuple[Any, ...]]:
        return cursor.execute(sql).fetchall()

    found: dict[int, Exact] = {}
    facts = {i: fact for i, work in enumerate(works) if (fact := fact_of(work)) is not None}
    for table in dict.fromkeys(fact.chain.table for fact in facts.values()):
        here = {i: fact for i, fact in facts.items() if fact.chain.table == table}
        found |= _pairs({i: f for i, f in here.items() if f.kind == "pairs"}, run, tables)
        others = {i: f for i, f in here.items() if f.kind != "pairs"}
        if len(others) > 1:
            found |= _one_pass(others, run, tables)
    return found


# --- sizes, groups and spread -----------------------------------------------------------------------------------------


def _one_pass(facts: Mapping[int, Fact], run: Run, tables: Mapping[str, Origin]) -> dict[int, Exact]:
    order = sorted(facts, key=lambda i: facts[i].kind != "sizes")
    spread = [i for i in order if facts[i].kind == "spread"]
    first = [i for i in order if facts[i].kind != "spread"] + spread[:AT_ONCE]
    found: dict[int, Exact] = {}
    for some in [first, *(spread[at : at + AT_ONCE] for at in range(AT_ONCE, len(spread), AT_ONCE))]:
        found |= _together([(i, facts[i]) for i in some], run, tables)
    return found


def _together(facts: Sequence[tuple[int, Fact]], run: Run, tables: Mapping[str, Origin]) -> dict[int, Exact]:
    base = base_of([fact for _, fact in facts], tables, numbered=True)
    if base is None:
        return {}
    keyed = dict(zip([i for i, fact in facts if fact.key is not None], base.keys, strict=True))
    usable = [(i, fact) for i, fact in facts if i not in keyed or keyed[i].coded]
    spread = [(i, keyed[i]) for i, fact in usable if fact.kind == "spread"]
    sized = {i: f"n{i}" for i, _ in spread if not _is_case(dict(facts)[i].key)}
    unit = ["u", "count(*) AS n", *(f"count({keyed[i].name}) AS {name}" for i, name in sized.items())]
    parts = ["SELECT -1 AS tag, CAST(n AS VARCHAR) AS k, count(*) AS c FROM units GROUP BY n"]
    for i, fact in usable:
        if fact.kind == "groups":
            words = _words(keyed[i], fact.allowed or ())
            unit += [f"{word} AS g{i}_{j}" for j, word in enumerate(words)]
            size = " + ".join(f"coalesce(CAST(bit_count(g{i}_{j}) AS BIGINT), 0)" for j in range(len(words)))
            parts.append(f"SELECT {i}, CAST({size} AS VARCHAR), count(*) FROM units GROUP BY {size}")
    if spread:
        parts.append(_spread(spread, sized, next(f.work for _, f in usable if isinstance(f.work, Work))))
    head = f"WITH base AS NOT MATERIALIZED ({base.select()}),\nunits AS MATERIALIZED (SELECT {', '.join(unit)} "
    rows = run(f"{head}FROM base GROUP BY u HAVING u IS NOT NULL)\n" + "\nUNION ALL ".join(parts))
    return _read(dict(usable), rows)


def _is_case(key: Expression | None) -> bool:
    """Whether it is a class of values: dear to compute, and every row has one, which is checked afterwards."""
    return isinstance(key, Call) and key.function == "case"


def _words(key: Key, allowed: Sequence[Value]) -> list[str]:
    """One bit for each listed key."""
    text = key.sort is Sort.TEXT
    code = f"CAST({f'enum_code({key.name})' if text else key.name} AS BIGINT)"
    first = 0 if text else min(value for value in allowed if isinstance(value, int))
    place = f"({code} - {DUCKDB.literal(first)})"
    if len(allowed) <= BITS:
        return [f"bit_or(CAST(1 AS BIGINT) << {place})"]
    return [
        f"bit_or(CASE WHEN {place} // {BITS} = {j} THEN CAST(1 AS BIGINT) << ({place} % {BITS}) END)"
        for j in range(-(-len(allowed) // BITS))
    ]


def _spread(spread: Sequence[tuple[int, Key]], sized: Mapping[int, str], work: Work) -> str:
    """One grouping set for each key, each summed with its own weights."""
    sizes = dict.fromkeys(["n", *sized.values()])
    weighed = ", ".join(f"{unit_weight(work.weights, DUCKDB, size)} AS w_{size}" for size in sizes)
    names = [key.name for _, key in spread]
    columns = ", ".join(f"b.{name}" for name in names)
    tag = " ".join(f"WHEN grouping({key.name}) = 0 THEN {i}" for i, key in spread)
    text = ", ".join(f"CAST({name} AS VARCHAR)" for name in names)
    total = " ".join(
        f"WHEN grouping({key.name}) = 0 THEN CAST(sum(w_{sized.get(i, 'n')}) AS BIGINT)" for i, key in spread
    )
    kept = ", ".join(f"w_{size}" for size in sizes)
    joined = f"SELECT {columns}, {kept} FROM base AS b JOIN (SELECT u, {weighed} FROM units) AS g ON b.u = g.u"
    sets = ", ".join(f"({name})" for name in names)
    shown = f"CASE {tag} END, coalesce({text}), CASE {total} END"
    return f"SELECT {shown} FROM ({joined}) AS t GROUP BY GROUPING SETS ({sets})"


def _read(facts: Mapping[int, Fact], rows: Sequence[tuple[Any, ...]]) -> dict[int, Exact]:
    tagged: dict[int, list[tuple[str | None, int]]] = {i: [] for i in (-1, *facts)}
    for tag, key, number in rows:
        tagged[tag].append((key, number))
    found = {}
    for i, fact in facts.items():
        work = fact.work
        assert isinstance(work, Work)  # noqa: S101
        scale = work.weights.scale
        if any(int(key or 0) > scale for key, _ in tagged[-1]):
            return {}  # rows that would weigh 0 are weighed together: by the statement of each work
        if fact.kind == "spread":
            values = {str(value): value for value in fact.allowed or ()}
            if _is_case(fact.key) and any(key not in values for key, _ in tagged[i]):
                continue  # a row without a class: the weights were not those of the rows that count
            pairs: list[tuple[tuple[Value, ...], int]] = [
                ((values[key],), number) for key, number in tagged[i] if key in values
            ]
        else:
            pairs = _by_class(work, fact.counted, tagged[-1 if fact.kind == "sizes" else i], scale)
        found[i] = _exact(pairs)
    return found


def _by_class(
    work: Work, counted: str, sizes: Sequence[tuple[str | None, int]], scale: int
) -> list[tuple[tuple[Value, ...], int]]:
    """Units by the class of their size: each has one row in the relation of the work, of full weight."""
    (key,) = work.keys
    label, found = program(key.expression), dict[Value, int]()
    for text, units in sizes:
        size = int(text or 0)
        if size > 0 and ((of := label({counted: size})) in (key.allowed or (of,))):
            found[of] = found.get(of, 0) + scale * units
    return [((of,), number) for of, number in found.items()]


# --- keys that nobody listed ------------------------------------------------------------------------------------------


def _pairs(facts: Mapping[int, Fact], run: Run, tables: Mapping[str, Origin]) -> dict[int, Exact]:
    """Units and their different keys, made once for the sizes and for the keys that are named."""
    found: dict[int, Exact] = {}
    for i, fact in facts.items():
        partners = [j for j, other in facts.items() if (other.chain, other.key) == (fact.chain, fact.key) and j != i]
        other = facts[partners[0]].work if len(partners) == 1 else None
        if not isinstance(fact.work, Work) or not isinstance(other, DistinctWork):
            continue
        base = base_of([fact], tables, numbered=False)  # a hash chooses
        if base is None:
            continue
        order = base.hashed(other.salt, base.keys)
        rows = run(
            f"WITH pairs AS MATERIALIZED (SELECT u, k0 FROM ({base.select()}) AS b GROUP BY u, k0 "
            f"HAVING u IS NOT NULL),\nunits AS MATERIALIZED (SELECT u, count(*) AS g, "
            f"arg_min(k0, {order}) FILTER (WHERE k0 IS NOT NULL) AS k FROM pairs GROUP BY u)\n"
            "SELECT CAST(g AS VARCHAR), count(*) FROM units GROUP BY g "
            "UNION ALL SELECT NULL, count(DISTINCT k) FROM units"
        )
        sizes = [(text, units) for text, units in rows if text is not None]
        found[i] = _exact(_by_class(fact.work, fact.counted, sizes, fact.work.weights.scale))
        different = sum(number for text, number in rows if text is None)
        found[partners[0]] = _exact([((), different)] if different else [])
    return found


def _exact(pairs: Sequence[tuple[tuple[Value, ...], int]]) -> Exact:
    return Exact(tuple(key for key, _ in pairs), (np.array([number for _, number in pairs], dtype=np.int64),))
