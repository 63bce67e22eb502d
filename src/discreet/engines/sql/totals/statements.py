"""A work about totals as one SELECT statement: sums of clipped totals, and numbers of units by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.engines.sql.dialects import Dialect, Sort
from discreet.engines.sql.hashed_sums import Statement, grouped, listed
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.totals.pieces import Numbers, Pieces
from discreet.query.plan.work import ClippedSum, Total, TotalsWork, UnitClasses


def clipped_sums(work: TotalsWork, d: Dialect, tables: Mapping[str, Origin]) -> Statement:
    """The statement of clipped sums."""
    caps: dict[Total, int] = {}
    for cell in work.cells:
        caps[cell.total] = max(cell.cap, caps.get(cell.total, 0))
    pieces = Pieces(work, d, tables, caps, lambda total: work.scale * caps[total] + 1)
    parts, rows = pieces.with_lengths()
    cells = [f"coalesce({d.call('sum', _weighed(cell, work.scale, pieces.numbers))}, 0)" for cell in work.cells]
    out = listed(pieces.k, [f"{cell} AS n{i}" for i, cell in enumerate(cells)])
    sql = f"{parts}SELECT {out} FROM (\n{rows}) AS t{grouped(pieces.k, d)}"
    sql = pieces.base.shown(sql, pieces.keys, len(cells))
    return Statement(sql, tuple((key.name, key.sort) for key in pieces.keys), len(cells))


def _weighed(cell: ClippedSum, scale: int, numbers: Numbers) -> str:
    """w*x of one unit in one group."""
    d, x, q = numbers.d, numbers.x(cell.total), numbers.q(cell.total)
    less = d.call("quotient", d.literal(scale * cell.cap), q)
    weight = f"CASE WHEN {q} <= {d.literal(cell.cap)} THEN {d.literal(scale)} ELSE {less} END"
    return f"({weight})" if cell.total.value is None else f"({weight}) * {x}"


def unit_classes(work: UnitClasses, d: Dialect, tables: Mapping[str, Origin]) -> Statement:
    """The statement of numbers of units by class."""
    beyond = max(work.edges, default=0) + 1
    pieces = Pieces(work, d, tables, work.totals, lambda _: beyond)
    parts, units = pieces.lengths_of_units()
    q = pieces.numbers.q
    different = list(dict.fromkeys(work.totals))
    classes = [f"{_class(q(total), work.edges, d)} AS c{i}" for i, total in enumerate(different)]
    c = [f"c{i}" for i in range(len(different))]
    classed = f"SELECT {listed(classes)} FROM (\n{units}) AS t"
    counted = f"SELECT {listed(c)}, {d.count}(*) AS units FROM ({classed}) AS t GROUP BY {listed(c)}"
    histograms = [
        f"SELECT {d.literal(place)} AS k0, c{different.index(total)} AS k1, sum(units) AS n0 FROM counted"
        f" GROUP BY c{different.index(total)}"
        for place, total in enumerate(work.totals)
    ]
    head = f"{parts.rstrip()},\n" if parts else "WITH "
    sql = f"{head}counted {d.once} ({counted})\n" + "\n  UNION ALL ".join(histograms)
    return Statement(sql, (("k0", Sort.INTEGER), ("k1", Sort.INTEGER)), 1)


def _class(q: str, edges: Sequence[int], d: Dialect, low: int = 0) -> str:
    """How many edges are below q, by halving; ``low`` are below it already."""
    if not edges:
        return d.literal(low)
    middle = len(edges) // 2
    below, above = _class(q, edges[:middle], d, low), _class(q, edges[middle + 1 :], d, low + middle + 1)
    return f"CASE WHEN {q} <= {d.literal(edges[middle])} THEN {below} ELSE {above} END"
