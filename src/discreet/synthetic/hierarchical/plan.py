"""What to publish over a hierarchy, what is measured for it, and how the privacy cost is split.

Promise: a plan is public and sees no data. What is measured are, level by level, the interactions of the columns of
all tables at that level and below; their error is known before anything is spent. The split is the one with the least
predicted error, for a tree whose nodes have equally many children, or the one that is given. Proof: hierarchical.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil, inf, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.errors import BadParameter
from discreet.exact import Number, positive
from discreet.mechanisms.statistics.budget import Moves
from discreet.mechanisms.statistics.residuals import groups_rho, kept_share
from discreet.query.plan.key_sets import Hierarchy, KeySet
from discreet.query.plan.public_totals import PublicTotals
from discreet.shown import brief
from discreet.synthetic.columns import Categories
from discreet.synthetic.domain import Domain
from discreet.synthetic.hierarchical.cliques import by_level, row_order
from discreet.synthetic.hierarchical.fixed import Fixed, fixed_tables, public_depth, widest
from discreet.synthetic.hierarchical.least_squares import solve
from discreet.synthetic.hierarchical.tree import Tree
from discreet.synthetic.hierarchical.whole import Clique, agreeing_masks

MOST_CELLS = 1 << 25
"""Of all whole tables together."""
MOST_ROWS = 1 << 62
"""Different rows over all columns: each is counted at its place among them, a whole number of 64 bits."""
MOST_SUBSETS = 4096
FINER = 1 << 10
"""A row counts so much while noise is added, so that even small noise is spread over many whole numbers."""
LARGEST = 1 << 100
_ROUNDS = 400
_FINE = 1 << 20
_TRIES = 64
Part = tuple[int, Clique]
"""A level, and the columns whose interaction is measured there."""


@dataclass(frozen=True, slots=True)
class Publication:
    """Made by ``publication``: the tables, and how they are to be made."""

    tables: tuple[tuple[str, ...], ...]
    weights: tuple[Fraction, ...]
    split: Mapping[str, Fraction] | None = None
    rows: bool = False

    __repr__ = brief


def publication(
    tables: Iterable[str | Sequence[str]],
    *,
    weights: Sequence[Number] | None = None,
    split: Mapping[str, Number] | None = None,
    rows: bool = False,
) -> Publication:
    """Tables over a declared hierarchy that add up: whole, not negative, planned and charged as one.

    Each table is a list of columns, of which at most one is a level of the hierarchy: ``("county", "sex")`` counts
    people by county and sex. A table that is left out at an upper level is the sum of one below. ``weights``: how much
    each table's mean variance matters; ``split``: which share of the cost each level gets, by its name ("" for the
    total of all), instead of the best. ``rows=True`` makes the tables so that rows exist for them, which costs
    accuracy where several tables of a level share no order.

    >>> publication([("state", "sex"), "county"]).tables
    (('state', 'sex'), ('county',))
    """
    if isinstance(tables, str):
        raise BadParameter("tables", tables, "must be a list of lists of columns")
    listed = tuple((table,) if isinstance(table, str) else tuple(table) for table in tables)
    if not listed or len({frozenset(table) for table in listed}) != len(listed):
        raise BadParameter("tables", [list(table) for table in listed], "must name at least one table, and each once")
    given = [1] * len(listed) if weights is None else list(weights)
    if len(given) != len(listed):
        raise BadParameter("weights", len(given), "must be as many as tables")
    shares = None if split is None else {name: positive(share, "split") for name, share in split.items()}
    return Publication(listed, tuple(positive(w, "weights") for w in given), shares, bool(rows))


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """One of the tables: its level, and its other columns."""

    level: int
    columns: Clique
    weight: Fraction


@dataclass(frozen=True, eq=False)
class HierarchicalPlan:
    """What is measured for a publication, and how well its tables will be known. Free."""

    publication: Publication
    hierarchy: Hierarchy | None
    tree: Tree
    level_names: tuple[str, ...]
    """Of each level of the tree; the root of several first keys has none."""
    domain: Domain
    """The place that is counted, if there is one, and then all other columns."""
    tables: tuple[PublishedTable, ...]
    parts: Mapping[Part, float]
    """What is measured: precision in proportion to this."""
    sets: tuple[tuple[frozenset[int], ...], ...]
    """Of each level the sets of columns whose whole tables are made: the smallest without cycles."""
    row_sets: tuple[tuple[frozenset[int], ...], ...] | None
    """Where rows are asked for and such tables need not be tables of rows: the sets that are."""
    impossible: Mapping[Clique, NDArray[np.bool_]]
    """Of sets of columns, which cells are possible: structural zeros are the others."""
    fixed: tuple[Fixed, ...] = ()
    """The tables that public totals fix."""

    __repr__ = brief

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each column beside the place has."""
        return self.domain.sizes[self.placed :]

    @property
    def placed(self) -> int:
        """1 if a place is counted, else 0: where the other columns begin in the domain."""
        return 1 if len(self.tree.sizes) > 1 else 0

    def shape(self, columns: Clique) -> tuple[int, ...]:
        """How many values these columns have."""
        return tuple(self.sizes[c] for c in columns)

    def price(self, part: Part, moves: Moves, sigma_squared: Fraction) -> Fraction:
        """A certified price of one part, with this noise."""
        level, columns = part
        if columns:
            most = min(self.tree.sizes[level], moves.l1)
            return groups_rho(((self.shape(columns), sigma_squared),), moves, most_touched=most)
        return Fraction(max(moves.l1**2, moves.l2_squared) if level == 0 else moves.l2_squared) / (2 * sigma_squared)

    def noise(self, moves: Moves, rho: Fraction) -> dict[Part, Fraction]:
        """σ² of each part, so large that all certified prices add up to rho at most."""
        base = float(moves.l2_squared) / (2 * float(rho))
        stretch = Fraction(1)
        for _ in range(_TRIES):
            noise = {part: _short(Fraction(base / precision) * stretch) for part, precision in self.parts.items()}
            cost = sum((self.price(part, moves, v) for part, v in noise.items()), Fraction(0))
            if max(noise.values()) > LARGEST:
                break
            if cost <= rho:
                return noise
            stretch *= Fraction(ceil(max(cost / rho, 1 + Fraction(1, _FINE**2)) * _FINE**2), _FINE**2)
        raise BadParameter("rho", float(rho), "must be larger: the noise would not fit into 64 bits")

    def depth(self, columns: Clique) -> int:
        """The deepest level at which the interaction of these columns is measured or public."""
        return max(
            [public_depth(self.fixed, columns), *(level for level, measured in self.parts if measured == columns)]
        )

    @cached_property
    def interactions(self) -> tuple[Clique, ...]:
        """All sets of columns that are measured at any level, or public."""
        public = (part for table in self.fixed for part in subsets(table.columns))
        return tuple(dict.fromkeys((*(columns for _, columns in self.parts), *public)))

    def public_interaction(self, level: int, columns: Clique) -> Floats | None:
        """The interaction of some columns in the nodes of a level, where public totals say it: nothing is measured."""
        for table in self.fixed:
            if table.level >= level and set(columns) <= set(table.columns):
                counts = table.at(self.tree, level, columns).astype(np.float64)
                for axis in range(1, counts.ndim):
                    counts -= counts.mean(axis=axis, keepdims=True)
                return counts
        return None

    @cached_property
    def fixed_by_level(self) -> tuple[tuple[Clique, NDArray[np.int64]] | None, ...]:
        """Of each level the public table with the most columns."""
        return tuple(widest(self.fixed, self.tree, level) for level in range(len(self.tree.sizes)))

    def spread(self, variances: Mapping[Part, float]) -> dict[Part, Floats]:
        """The variance of each node's numbers after least squares, by level and interaction."""
        spread: dict[Part, Floats] = {}
        for columns in self.interactions:
            deepest = self.depth(columns)
            public = public_depth(self.fixed, columns)
            own = [0.0 if level <= public else variances.get((level, columns), inf) for level in range(deepest + 1)]
            nothing: list[Any] = [np.zeros((self.tree.sizes[level], 0)) for level in range(deepest + 1)]
            solved = solve(self.tree, nothing, own)
            spread |= {(level, columns): solved.variances[level] for level in range(deepest + 1)}
        return spread

    def table_variance(self, table: PublishedTable, spread: Mapping[Part, Floats]) -> Floats:
        """The variance of a cell of a table in each node."""
        variance = np.zeros(self.tree.sizes[table.level])
        for part in subsets(table.columns):
            if (table.level, part) in spread:
                variance += spread[table.level, part] * self.share(part, table.columns)
        return variance

    def share(self, part: Clique, columns: Clique) -> float:
        """The squared length of what a cell of a table takes from an interaction."""
        return float(kept_share(self.shape(part))) / prod(self.sizes[c] for c in columns if c not in part) ** 2

    def errors(self, rho: Number, *, moves: Moves | None = None, scale: int = 1) -> list[float]:
        """The root mean square error of each table before it is made whole, for this cost. Free.

        ``moves`` of the tables in steps of 1/scale: one row of each unit if left out.
        """
        finer = FINER if scale == 1 else 1
        moves = moves or Moves(1, 1)
        noise = self.noise(Moves(finer * moves.l1, finer**2 * moves.l2_squared), Fraction(positive(rho, "rho")))
        spread = self.spread({part: float(v / (finer * scale) ** 2) for part, v in noise.items()})
        return [sqrt(float(self.table_variance(table, spread).mean())) for table in self.tables]


def plan(
    publication: Publication,
    domain: Domain,
    hierarchy: Hierarchy | None = None,
    key_sets: Iterable[KeySet] = (),
    public_totals: Iterable[PublicTotals] = (),
) -> HierarchicalPlan:
    """The plan for a publication. ``domain`` has the columns beside the places; ``key_sets`` are structural zeros.

    ``public_totals`` are met exactly; nothing is measured for them, or for what follows from them.

    >>> from discreet.query.plan.key_sets import hierarchy
    >>> geo = hierarchy("geo", ["state", "county"], table=[("A", 1), ("A", 2), ("B", 3)])
    >>> found = plan(publication([("state", "sex"), ("county",)]), Domain({"sex": ["f", "m"]}), geo)
    >>> found.tree.sizes, sorted(found.parts), [round(e, 2) for e in found.errors(rho=1)]
    ((1, 2, 3), [(0, ()), (0, (0,)), (1, ()), (1, (0,)), (2, ())], [0.84, 0.9])
    """
    levels = hierarchy.levels if hierarchy is not None else ()
    wanted: list[tuple[str | None, tuple[str, ...]]] = []
    for each in publication.tables:
        places = [name for name in each if name in levels]
        if len(places) > 1:
            raise BadParameter("tables", list(each), f"must name at most one level of {', '.join(levels)}: the finest")
        wanted.append((places[0] if places else None, tuple(name for name in each if name not in levels)))
    deepest = max((levels.index(place) + 1 for place, _ in wanted if place is not None), default=0)
    tree, names = _tree(hierarchy, deepest)
    used = list(dict.fromkeys(name for _, columns in wanted for name in columns))
    others = domain.only([name for name in domain if name in domain.check(used)]) if used else None
    place: dict[str, Any] = {}
    if hierarchy is not None and deepest:
        place = {levels[deepest - 1]: Categories(hierarchy.labels(deepest - 1), False)}
    columns_of = {} if others is None else {name: others[name] for name in others}
    if not place and not columns_of:
        raise BadParameter("tables", [], "must name at least one column")
    whole = Domain({**place, **columns_of})
    if whole.cells > MOST_ROWS:
        many = f"2^{whole.cells.bit_length() - 1} different rows"
        must = "must have at most 2^62 of all their columns together: publish some of the tables apart"
        raise BadParameter("tables", many, must)
    order = list(columns_of)
    tables = tuple(
        PublishedTable(names.index(p) if p is not None else 0, tuple(sorted(order.index(c) for c in columns)), weight)
        for (p, columns), weight in zip(wanted, publication.weights, strict=True)
    )
    sizes = tuple(columns_of[name].size for name in order)
    key_sets = tuple(key_sets)
    others_of = [each for each in key_sets if each is not hierarchy]
    for key_set in others_of:
        if set(key_set.columns) & set(levels) and set(key_set.columns) & set(order):
            mixed = f"must be over places or over other columns, not over both ({', '.join(key_set.columns)})"
            raise BadParameter("key_sets", list(key_set.columns), mixed)
    zeros = _masks(order, columns_of, others_of)
    by_levels = [[t.columns for t in tables if t.level == level] or [()] for level in range(len(names))]
    by_levels[0] = [*by_levels[0], *zeros]
    fixed = fixed_tables(tree, hierarchy, columns_of, public_totals, key_sets)
    for table in fixed:
        by_levels[table.level] = [*by_levels[table.level], table.columns]
    sets = tuple(map(tuple, by_level(by_levels, rows=False)))
    masks = agreeing_masks(sizes, sets[0], zeros)
    if any(not mask.any() for mask in masks.values()):
        raise BadParameter(
            "key_sets", [list(each.columns) for each in others_of], "must leave at least one cell possible"
        )
    for table in fixed:
        table.check(masks)
    rows = publication.rows and row_order(sets) is None
    row_sets = tuple(map(tuple, by_level(by_levels, rows=True))) if rows else None
    every = [*enumerate(sets), *enumerate(row_sets or ())]
    cells = sum(tree.sizes[level] * prod(sizes[c] for c in each) for level, some in every for each in some)
    if cells > MOST_CELLS:
        raise BadParameter(
            "tables", f"{cells:,} cells", f"must have at most {MOST_CELLS:,} in all; ask for fewer columns"
        )
    split = publication.split
    if split is not None and set(split) - set(names):
        raise BadParameter("split", sorted(set(split) - set(names)), f"must name levels: {', '.join(map(repr, names))}")
    parts = _precisions(tree, sizes, tables, None if split is None else [float(split.get(n, 0)) for n in names], fixed)
    return HierarchicalPlan(publication, hierarchy, tree, names, whole, tables, parts, sets, row_sets, zeros, fixed)


def subsets(columns: Clique) -> list[Clique]:
    """All parts of a set of columns, the empty one first."""
    return [part for many in range(len(columns) + 1) for part in combinations(columns, many)]


def _tree(hierarchy: Hierarchy | None, deepest: int) -> tuple[Tree, tuple[str, ...]]:
    """The tree of the levels that are needed, under one root."""
    if hierarchy is None or not deepest:
        return Tree(()), ("",)
    first = len(hierarchy.labels(0))
    if first == 1:
        return Tree(hierarchy.parents[: deepest - 1]), hierarchy.levels[:deepest]
    root = np.zeros(first, dtype=np.int64)
    return Tree((root, *hierarchy.parents[: deepest - 1])), ("", *hierarchy.levels[:deepest])


def _masks(
    order: Sequence[str], columns: Mapping[str, Any], key_sets: Iterable[KeySet]
) -> dict[Clique, NDArray[np.bool_]]:
    """Which cells of some columns are possible; key sets about other columns say nothing here."""
    masks: dict[Clique, NDArray[np.bool_]] = {}
    for key_set in key_sets:
        names = [name for name in order if name in key_set.columns]
        if len(names) < 2:
            continue
        codes = [{label: code for code, label in enumerate([*columns[name].labels, None])} for name in names]
        mask = np.zeros([columns[name].size for name in names], dtype=bool)
        for row in key_set.only(names).rows:
            cell = tuple(code.get(value, -1) for code, value in zip(codes, row, strict=True))
            if all(0 <= c < n for c, n in zip(cell, mask.shape, strict=True)):
                mask[cell] = True
        if not mask.any():
            raise BadParameter("key_sets", list(key_set.columns), "must leave at least one cell possible")
        clique = tuple(order.index(name) for name in names)
        masks[clique] = masks[clique] & mask if clique in masks else mask
    return masks


# --- the split --------------------------------------------------------------------------------------------------------


def _precisions(
    tree: Tree,
    sizes: Sequence[int],
    tables: Sequence[PublishedTable],
    split: Sequence[float] | None,
    fixed: Sequence[Fixed] = (),
) -> dict[Part, float]:
    """The precision of each part for a cost of 1: 1/σ² in units of what one row moves. What is public has none.

    Given x of the cost, an interaction S whose best split over levels has the mean variance C at cost 1 has C/x;
    Σ C/x is least where x is as √C.
    """
    weights: dict[Clique, dict[int, float]] = {}
    for table in tables:
        for part in subsets(table.columns):
            share = (
                float(kept_share([sizes[c] for c in part]))
                / prod(sizes[c] for c in table.columns if c not in part) ** 2
            )
            levels = weights.setdefault(part, {})
            levels[table.level] = levels.get(table.level, 0.0) + float(table.weight) * share
        if len(weights) > MOST_SUBSETS:
            raise BadParameter("tables", len(tables), f"must have at most {MOST_SUBSETS:,} interactions of columns")
    public = {part: public_depth(fixed, part) for part in weights}
    weights = {part: levels for part, levels in weights.items() if all(sizes[c] > 1 for c in part)}
    weights = {part: levels for part, levels in weights.items() if max(levels) > public[part]}
    if not weights:
        raise BadParameter("tables", len(tables), "must have a number that is not public")
    kept = {part: float(kept_share([sizes[c] for c in part])) for part in weights}
    precisions: dict[Part, float] = {}
    if split is not None:
        for level, share in enumerate(split):
            here = {
                part: sqrt(sum(w.values()) / kept[part])
                for part, w in weights.items()
                if public[part] < level <= max(w)
            }
            whole = sum(kept[part] * x for part, x in here.items())
            precisions |= {(level, part): share / sum(split) * x / whole for part, x in here.items() if share and whole}
        for part, levels in weights.items():
            if (max(levels), part) not in precisions:
                raise BadParameter("split", list(split), "must give every level with a table of its own a share")
        return precisions
    shares, costs = {}, {}
    for part, levels in weights.items():
        shares[part], costs[part] = _best_split(tree, levels, public[part])
    total = sum(sqrt(costs[part] * kept[part]) for part in weights)
    for part in weights:
        given = sqrt(costs[part] / kept[part]) / total
        precisions |= {(level, part): given * float(x) for level, x in enumerate(shares[part]) if x > 1e-9}
    return precisions


def _best_split(tree: Tree, weights: Mapping[int, float], public: int = -1) -> tuple[Floats, float]:
    """Shares of the levels with the least weighted mean variance, and that; by the multiplicative rule for designs.

    In a tree whose nodes of a level have equally many children the functions that are constant below level j and 0 in
    sum above have information I_j = Σ_{l >= j} p_l m_l, where m_l is how many of the deepest nodes one of level l has.
    Those of levels up to ``public`` are not measured.
    """
    deepest = max(weights)
    nodes = np.array(tree.sizes[: deepest + 1], dtype=np.float64)
    below = nodes[-1] / nodes
    wanted = np.array([weights.get(level, 0.0) for level in range(deepest + 1)])
    apart = np.diff(nodes, prepend=0.0)
    coefficients = apart * np.cumsum((wanted * below / nodes)[::-1])[::-1]
    coefficients[: public + 1] = 0
    p = np.full(deepest + 1, 1.0 / (deepest + 1))
    for _ in range(_ROUNDS):
        information = np.cumsum((p * below)[::-1])[::-1]
        gain = np.cumsum(coefficients / information**2) * below
        p = p * np.sqrt(gain)
        p /= p.sum()
    p = np.where(p < 1e-6, 0.0, p)
    p[-1] = max(p[-1], 1e-6)
    p /= p.sum()
    information = np.cumsum((p * below)[::-1])[::-1]
    return p, float((coefficients / information).sum())


def _short(sigma_squared: Fraction) -> Fraction:
    """Rounded up, to a relative 2^-20 or less."""
    digits = _FINE**2 if sigma_squared < 1 else _FINE if sigma_squared < _FINE else 1
    return Fraction(ceil(sigma_squared * digits), digits)
