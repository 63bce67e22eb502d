"""A decision tree that is grown from noisy histograms, with naive Bayes in its leaves.

Level by level, the bins of every column are counted by class within every leaf so far, with exact noise. The counts say
where to cut next, and those of the last leaves are the model: which class is likely for which bins (an NBTree, Kohavi
1996). All that it needs of the data are marginals, so an engine can count them where the rows lie.

Guarantee: the fitted model keeps ``budget`` for adding or removing one row, or one unit where ``Histograms`` says how
far one unit moves a table. Proof: histogram_tree.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.errors import BadParameter
from discreet.exact import integer
from discreet.learning.budget import Budget, mu_squared, split
from discreet.learning.estimator import read_classes, read_labels
from discreet.learning.models.naive_bayes import Bayes
from discreet.learning.preprocessing.columns import Column, Numeric, codes_of, read_columns
from discreet.learning.sums import ExactSums, noise_of, release
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import Bits

DEEPEST = 3
MOST_CELLS = 1 << 22
"""Of one exact table: the columns of a path, one more, and the class."""
_LAST = 8  # the last level gets so many times the budget of a level that only says where to cut
_LEAST = 0.25  # a leaf has at least so many rows for each of its cells, in deviations of the last noise
_FEWEST = 50.0
_CLEAR = 3.0  # a cut must gain so many deviations of what noise in the cells of a column adds up to
Chosen = NDArray[np.bool_]


class Histograms(Protocol):
    """Where exact counts come from: rows in memory, or an engine."""

    @property
    def scale(self) -> int:
        """What one row counts."""
        ...

    @property
    def moves_squared(self) -> int:
        """How far one unit moves one table: the squared L2 length, in the same numbers."""
        ...

    def tables(self, sets: Sequence[tuple[int, ...]]) -> list[Integers]:
        """For each set of columns (in ascending order) the counts of their bins by class, the class last."""
        ...


@dataclass(frozen=True, slots=True)
class CodedRows:
    """Rows in memory, as bins; one row is one unit."""

    codes: Integers
    labels: Integers
    sizes: tuple[int, ...]
    classes: int

    scale: int = 1
    moves_squared: int = 1

    def tables(self, sets: Sequence[tuple[int, ...]]) -> list[Integers]:
        """Counted one by one."""
        found = []
        for one in sets:
            shape = (*(self.sizes[j] for j in one), self.classes)
            place = np.ravel_multi_index((*(self.codes[:, j] for j in one), self.labels), shape)
            found.append(np.bincount(place, minlength=prod(shape)).reshape(shape).astype(np.int64))
        return found


@dataclass(slots=True)
class Node:
    """The rows whose bins are chosen in every column of the path; ``counts`` are noisy, by column: bins x classes."""

    path: tuple[tuple[int, Chosen], ...]
    counts: list[Floats]
    weight: float = 0.0
    """1/σ² of the counts; they are averages of all levels in which this was a leaf."""
    column: int = -1
    """By which it was cut; -1: a leaf."""
    first: Chosen = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """The bins that go to the first child."""
    children: tuple[int, int] = (-1, -1)

    def learn(self, noisy: Sequence[Floats], sigma: float) -> None:
        """Average with what was known."""
        more = 1 / sigma**2
        whole = self.weight + more
        self.counts = [(old * self.weight + new * more) / whole for old, new in zip(self.counts, noisy, strict=True)]
        self.weight = whole

    @property
    def deviation(self) -> float:
        """Of the noise of each count."""
        return float(self.weight**-0.5)


def grow(
    histograms: Histograms,
    columns: Sequence[Column],
    classes: int,
    square: Fraction,
    depth: int,
    *,
    bits: Bits | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Node]:
    """The nodes of a tree, the root first; ``square`` is the squared mu of all of it."""
    sizes = [column.size for column in columns]
    shares = split(square, *[1] * depth, _LAST)
    nodes = [Node((), _empty(sizes, classes))]
    last = _sigma(histograms, len(sizes), shares[-1])
    least = max(_FEWEST, _LEAST * last * classes * float(np.mean(sizes)))
    for level, share in enumerate(shares):
        tell(f"level {level + 1} of {len(shares)}")
        leaves = [node for node in nodes if node.column < 0]
        exact = counted(histograms, leaves, sizes)
        noisy, sigma = release(exact, share, bits)
        for node, parts in zip(leaves, _parts(noisy / histograms.scale, len(leaves), sizes, classes), strict=True):
            node.learn(parts, sigma / histograms.scale)
        if level < depth:
            for node in leaves:
                _cut(node, nodes, columns, classes, least)
    return nodes


def counted(histograms: Histograms, leaves: Sequence[Node], sizes: Sequence[int]) -> ExactSums:
    """For each leaf and each column the counts of bins by class, all in one row of numbers.

    Guarantee: a unit moves them by at most the square root of columns times ``moves_squared``: leaves are disjoint, so
    for one column all of them together are sums over disjoint cells of one table.
    """
    paths = [tuple(sorted({j for j, _ in leaf.path})) for leaf in leaves]
    wanted = {tuple(sorted({*path, j})) for path in paths for j in range(len(sizes))}
    asked = sorted(wanted)
    tables = dict(zip(asked, histograms.tables(asked), strict=True))
    parts = []
    for leaf, path in zip(leaves, paths, strict=True):
        for j in range(len(sizes)):
            columns = tuple(sorted({*path, j}))
            table = tables[columns]
            for k, chosen in leaf.path:
                shape = [1] * table.ndim
                shape[columns.index(k)] = -1
                table = table * chosen.reshape(shape)
            parts.append(table.sum(axis=tuple(i for i, k in enumerate(columns) if k != j)).ravel())
    return ExactSums(np.concatenate(parts), len(sizes) * histograms.moves_squared)


def _sigma(histograms: Histograms, columns: int, share: Fraction) -> float:
    finer, squared = noise_of(columns * histograms.moves_squared, share)
    return float(float(squared) ** 0.5 / finer / histograms.scale)


def _empty(sizes: Sequence[int], classes: int) -> list[Floats]:
    return [np.zeros((size, classes)) for size in sizes]


def _parts(noisy: Floats, leaves: int, sizes: Sequence[int], classes: int) -> list[list[Floats]]:
    ends = np.cumsum([size * classes for size in sizes])
    return [
        [part.reshape(-1, classes) for part in np.split(line, ends[:-1])] for line in noisy.reshape(leaves, ends[-1])
    ]


# --- where to cut: post-processing ------------------------------------------------------------------------------------


def _cut(node: Node, nodes: list[Node], columns: Sequence[Column], classes: int, least: float) -> None:
    """Cut a leaf where impurity falls most, if that stands out from the noise and both parts are large enough."""
    sizes = [column.size for column in columns]
    on_path = {j for j, _ in node.path}
    best, found = 0.0, None
    for j, column in enumerate(columns):
        size = prod(sizes[k] for k in on_path | {j}) * max(sizes) * classes
        if size > MOST_CELLS:  # of public numbers alone
            continue
        counts = np.maximum(node.counts[j], 0.0)
        order = np.arange(len(counts)) if isinstance(column, Numeric) else _by_class(counts, node.deviation)
        below = np.cumsum(counts[order], axis=0)[:-1]
        above = counts.sum(axis=0) - below
        gains = _impurity(counts.sum(axis=0)) - _impurity(below) - _impurity(above)
        fits = np.minimum(below.sum(axis=1), above.sum(axis=1)) >= least
        gains = np.where(fits, gains, -1.0) - _CLEAR * node.deviation * counts.size**0.5
        place = int(gains.argmax())
        if gains[place] > best:
            first = np.zeros(len(counts), dtype=np.bool_)
            first[order[: place + 1]] = True
            best, found = float(gains[place]), (j, first)
    if found is None:
        return
    node.column, node.first = found
    node.children = (len(nodes), len(nodes) + 1)
    parts = (node.first, ~node.first)
    nodes.extend(Node((*node.path, (node.column, chosen)), _empty(sizes, classes)) for chosen in parts)


def _by_class(counts: Floats, deviation: float) -> NDArray[np.intp]:
    """Categories in the order of the share of the last class."""
    return np.argsort((counts[:, -1] + deviation / 4) / (counts.sum(axis=1) + deviation), kind="stable")


def _impurity(counts: Floats) -> Any:
    """Gini's, times the number of rows."""
    total = counts.sum(axis=-1)
    return total - (counts**2).sum(axis=-1) / np.maximum(total, 1e-9)


# --- the estimator ----------------------------------------------------------------------------------------------------


class HistogramTree(Bayes):
    """A small tree of public bins, with naive Bayes in its leaves; ``depth`` 0 is naive Bayes itself.

    Guarantee: the model keeps ``budget`` for adding or removing one row.

    >>> from discreet.learning.preprocessing.columns import Categorical
    >>> from discreet.privacy.promises.measures import Approx
    >>> rows, labels = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]] * 1000, [0, 1, 1, 0] * 1000
    >>> columns = [Categorical(["a", "b"]), Categorical(["x", "y"])]
    >>> model = HistogramTree(columns=columns, classes=[0, 1], budget=Approx(2, "1e-5"))
    >>> model.fit(rows, labels).predict(rows[:1]).shape
    (1,)
    """

    columns_: tuple[Column, ...]
    """With as many bins as the budget chose."""
    nodes_: list[Node]
    """The root first."""
    receipt_: Receipt | None
    """What a tree of a table was paid with."""
    count_error_: float
    """The largest standard deviation of the noise of a leaf's counts."""

    def __init__(
        self,
        *,
        budget: Budget,
        columns: Sequence[Column] | None = None,
        classes: Sequence[Any] | None = None,
        depth: int = 2,
    ) -> None:
        self.budget = budget
        self.columns = columns
        self.classes = classes
        self.depth = depth

    def fit(self, X: Any, y: Any = None, *, receipt: Receipt | None = None) -> Self:
        """Check, pay, and learn."""
        square = mu_squared(self.budget)
        columns, classes = read_columns(self.columns, square), read_classes(self.classes)
        read_depth(self.depth)
        codes = codes_of(X, columns)
        codes, labels = read_labels(codes, y, classes)
        self._pay(receipt)
        return self.fit_histograms(CodedRows(codes, labels, tuple(c.size for c in columns), len(classes)))

    def fit_histograms(self, histograms: Histograms, tell: Callable[[str], None] = lambda _: None) -> Self:
        """From exact counts, with noise that is worth ``budget``; they are paid for at the first look."""
        square = mu_squared(self.budget)
        columns, classes = read_columns(self.columns, square), read_classes(self.classes)
        return self.fit_nodes(grow(histograms, columns, len(classes), square, read_depth(self.depth), tell=tell))

    def fit_nodes(self, nodes: list[Node]) -> Self:
        """From nodes that were grown elsewhere: released numbers, nothing is paid."""
        self.nodes_ = nodes
        self.columns_ = read_columns(self.columns, mu_squared(self.budget))
        self.classes_ = read_classes(self.classes)
        leaves = [node for node in nodes if node.column < 0]
        self.count_error_ = max(node.deviation for node in leaves)
        self.class_count_ = np.maximum(sum(_class_counts(node) for node in leaves), 1.0)
        self.n_features_in_ = len(self.columns_)
        return self

    def _log_joint(self, X: Any) -> Floats:
        self._check_fitted()
        codes = codes_of(X, self.columns_)
        at = np.zeros(len(codes), dtype=np.intp)
        out = np.zeros((len(codes), len(self.classes_)))
        for i, node in enumerate(self.nodes_):  # children come after their parents
            here = at == i
            if node.column >= 0:
                at[here] = np.where(node.first[codes[here, node.column]], *node.children)
            else:
                out[here] = _log_leaf(node, codes[here])
        return out

    def describe(self, names: Sequence[str] | None = None) -> str:
        """The cuts in words, one line for each node."""
        self._check_fitted()
        return "\n".join(
            _lines(self.nodes_, 0, "", self.columns_, names or [f"column {j}" for j in range(self.n_features_in_)])
        )


def read_depth(depth: Any) -> int:
    """How many levels of cuts."""
    levels = integer(depth, "depth", at_least=0)
    if levels > DEEPEST:
        raise BadParameter("depth", depth, f"must be at most {DEEPEST}: deeper leaves hold more noise than rows")
    return levels


def _class_counts(node: Node) -> Floats:
    """Every column counts the same rows: the average."""
    return np.asarray(np.mean([table.sum(axis=0) for table in node.counts], axis=0))


def _log_leaf(node: Node, codes: Integers) -> Floats:
    prior = np.maximum(_class_counts(node), 1.0)
    total = np.tile(np.log(prior / prior.sum()), (len(codes), 1))
    for j, table in enumerate(node.counts):
        smooth = np.maximum(table, 0.0) + max(1.0, node.deviation)  # a count below the noise says nothing
        total += np.log(smooth / smooth.sum(axis=0))[codes[:, j]]
    return total


def _lines(nodes: Sequence[Node], i: int, indent: str, columns: Sequence[Column], names: Sequence[str]) -> list[str]:
    node = nodes[i]
    rows = f"about {max(float(_class_counts(node).sum()), 0.0):,.0f} rows"
    if node.column < 0:
        return [f"{indent}{rows}"]
    chosen = np.flatnonzero(node.first).tolist()
    column = columns[node.column]
    told = (
        f"bins {chosen[0]} to {chosen[-1]}" if isinstance(column, Numeric) else f"{len(chosen)} of {column.size} values"
    )
    found = [f"{indent}{names[node.column]}: {told}, of {rows}"]
    for child in node.children:
        found += _lines(nodes, child, indent + "  ", columns, names)
    return found
