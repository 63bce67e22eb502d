"""Trees from noisy histograms: how far a row moves what is counted, what is learned, what is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.learning.models import histogram_tree
from discreet.learning.models.histogram_tree import CodedRows, HistogramTree, Node, counted, grow
from discreet.learning.models.naive_bayes import CategoricalNB
from discreet.learning.preprocessing.columns import Categorical, Numeric
from discreet.learning.sums import release
from discreet.learning.unit_weights import unit_weights
from discreet.privacy.promises.measures import GDP, Approx

RNG = np.random.default_rng(11)
COLUMNS = [Categorical(["a", "b"]), Categorical(["x", "y"])]
ROWS = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]] * 1000
XOR = [0, 1, 1, 0] * 1000


def rows_of(lines: list[tuple[int, int, int]]) -> CodedRows:
    table = np.array(lines, dtype=np.int64).reshape(-1, 3)
    return CodedRows(table[:, :2], table[:, 2], (3, 2), 2, unit_weights(None, len(table)))


def leaves(masks: list[tuple[tuple[int, list[bool]], ...]]) -> list[Node]:
    return [Node(tuple((j, np.array(chosen)) for j, chosen in path), []) for path in masks]


TREES = [
    leaves([()]),
    leaves([((0, [True, False, True]),), ((0, [False, True, False]),)]),
    leaves([
        ((0, [True, False, False]), (1, [True, False])), ((0, [True, False, False]), (1, [False, True])),
        ((0, [False, True, True]), (0, [False, True, False])), ((0, [False, True, True]), (0, [True, False, True])),
    ]),
]  # fmt: skip


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: f"{len(tree)} leaves")
def test_a_row_moves_all_histograms_of_a_level_by_no_more_than_is_priced(tree: list[Node]) -> None:
    others = [(0, 0, 1), (1, 1, 0), (2, 0, 0)]
    for row in product(range(3), range(2), range(2)):
        without, with_it = (counted(rows_of(lines), tree, (3, 2)) for lines in (others, [*others, row]))
        moved = with_it.values - without.values
        assert int((moved**2).sum()) == with_it.moves_squared == 2  # one cell for each of two columns


def test_leaves_that_overlap_are_noticed() -> None:
    """The twin: every leaf counts all rows, and the bound breaks."""
    careless = [Node((), []) for _ in range(2)]
    without, with_it = (counted(rows_of(lines), careless, (3, 2)) for lines in ([], [(0, 0, 1)]))
    assert int(((with_it.values - without.values) ** 2).sum()) > with_it.moves_squared


def test_the_shares_of_the_levels_add_up_to_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[Fraction] = []
    real = release

    def watched(sums: Any, share: Fraction, bits: Any = None) -> Any:
        spent.append(share)
        return real(sums, share, bits)

    monkeypatch.setattr(histogram_tree, "release", watched)
    for depth in range(4):
        spent.clear()
        codes = np.array([[i % 2, i // 2 % 2] for i in range(400)])
        grow(CodedRows(codes, codes[:, 0], (3, 3), 2, unit_weights(None, 400)), COLUMNS, 2, Fraction(1, 7), depth)
        assert (len(spent), sum(spent)) == (depth + 1, Fraction(1, 7))


def test_without_cuts_it_is_naive_bayes() -> None:
    """With next to no noise, so that both see the same counts."""
    labels = RNG.integers(0, 2, 4000)
    rows = np.stack([np.where(RNG.random(4000) < 0.7, "a", "b"), np.where(labels == 1, "x", "y")], axis=1)
    exact = CategoricalNB(columns=COLUMNS, classes=[0, 1], budget=GDP(10**6)).fit(rows, labels)
    stump = HistogramTree(columns=COLUMNS, classes=[0, 1], budget=GDP(10**6), depth=0).fit(rows, labels)
    assert np.allclose(stump.predict_proba(rows[:50]), exact.predict_proba(rows[:50]), atol=1e-3)


def test_a_cut_separates_what_bayes_mixes_up() -> None:
    """Within each half of the first column the second one tells the class, the other way round: only a cut sees it."""
    side = RNG.random(6000) < 0.7
    other = RNG.random(6000) < 0.5
    labels = np.where(side, other, RNG.random(6000) < 0.1).astype(int)
    rows = np.stack([np.where(side, "a", "b"), np.where(other, "x", "y")], axis=1)
    made = {
        depth: HistogramTree(columns=COLUMNS, classes=[0, 1], budget=Approx(8, "1e-5"), depth=depth).fit(rows, labels)
        for depth in (0, 1)
    }
    assert len(made[1].nodes_) == 3
    assert made[1].score(rows, labels) > 0.95
    assert "about" in made[1].describe(["side", "other"])
    assert made[1].describe().count("\n") == 2
    assert float(made[1].class_count_.sum()) == pytest.approx(6000, abs=200)


def test_numbers_are_cut_in_their_order() -> None:
    age = RNG.uniform(0, 100, 5000)
    tree = HistogramTree(columns=[Numeric(0, 100)], classes=["no", "yes"], budget=Approx(2, "1e-5"), depth=1)
    labels = np.where(age > 50, "yes", "no")
    assert tree.fit(age[:, None], labels).score(age[:, None], labels) > 0.95
    first = tree.nodes_[0].first
    assert first[0] != first[-1]
    assert int(np.abs(np.diff(first.astype(int))).sum()) == 1


@pytest.mark.parametrize(("deviation", "least", "nodes"), [(1.0, 50.0, 3), (1.0, 150.0, 1), (1000.0, 50.0, 1)])
def test_a_leaf_is_cut_where_both_parts_are_large_and_the_gain_is_clear(
    deviation: float, least: float, nodes: int
) -> None:
    pure, blank = np.array([[100.0, 0], [0, 100], [0, 0]]), np.full((3, 2), 33.0)
    found = [Node((), [pure, blank], weight=deviation**-2)]
    histogram_tree._cut(found[0], found, COLUMNS, 2, least)
    assert len(found) == nodes
    if nodes == 3:
        assert found[0].column == 0
        assert [path.path[0][1].tolist().count(True) for path in found[1:]] in ([1, 2], [2, 1])


@pytest.mark.parametrize("depth", [-1, 4, 1.5, "deep", None])
def test_bad_depths_cost_nothing(depth: Any) -> None:
    with pytest.raises(BadParameter, match="depth"):
        HistogramTree(columns=COLUMNS, classes=[0, 1], budget=GDP(1), depth=depth).fit(ROWS, XOR)


def test_bad_input_is_refused() -> None:
    whole: dict[str, Any] = {"columns": COLUMNS, "classes": [0, 1], "budget": GDP(1)}
    for name in whole:
        with pytest.raises(BadParameter):
            HistogramTree(**whole | {name: None}).fit(ROWS, XOR)
