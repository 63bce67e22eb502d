"""Plans: the split against a numerical search and the closed form of a flat table; refusals before anything is paid."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from discreet.errors import BadParameter
from discreet.mechanisms.statistics.budget import Moves
from discreet.query.plan.key_sets import hierarchy, key_set
from discreet.synthetic.domain import Domain
from discreet.synthetic.hierarchical.plan import _best_split, plan, publication
from discreet.synthetic.hierarchical.tree import Tree
from discreet.synthetic.residuals import Interactions
from discreet.synthetic.workload import workload

GEO = hierarchy("geo", ["state", "county"], table=[(s, f"{s}{i}") for s in "ABC" for i in range(4)])
PEOPLE = Domain({"sex": ["f", "m"], "age": range(4)})
ONE = Moves(1, 1)
search: Any = optimize.minimize


def even(*fan: int) -> Tree:
    parents, above = [], 1
    for n in fan:
        parents.append(np.repeat(np.arange(above), n))
        above *= n
    return Tree(tuple(parents))


@pytest.mark.parametrize("weights", [{0: 1.0, 1: 1.0, 2: 1.0}, {2: 1.0}, {0: 5.0, 2: 0.1}])
def test_no_other_split_of_an_even_tree_is_better(weights: dict[int, float]) -> None:
    tree = even(4, 5)
    shares, cost = _best_split(tree, weights)
    assert shares.sum() == pytest.approx(1)

    def dense(p: Any) -> float:
        members = [(np.arange(n)[:, None] == tree.above(2, level)).astype(float) for level, n in enumerate(tree.sizes)]
        gram = sum(x * m.T @ m for x, m in zip(p, members, strict=True))
        covariance = np.linalg.inv(gram + 1e-12 * np.eye(20))
        return float(
            sum(w * np.trace(members[k] @ covariance @ members[k].T) / len(members[k]) for k, w in weights.items())
        )

    assert cost == pytest.approx(dense(shares), rel=1e-4)
    best = min(
        search(lambda z: dense(np.exp(z) / np.exp(z).sum()), start, method="Nelder-Mead", options={"maxiter": 2000}).fun
        for start in (np.zeros(3), np.array([1.0, 0.0, -1.0]), np.array([-3.0, -3.0, 0.0]))
    )
    assert cost <= best * 1.001


def test_without_places_it_is_the_closed_form_of_marginals() -> None:
    d = Domain({"a": range(3), "b": range(4), "c": range(2)})
    asked = [("a", "b"), ("b", "c"), ("c",)]
    found = plan(publication(asked), d).errors(rho=Fraction(1, 2))
    questions = workload(d, asked).questions
    sizes = [d.size(q.clique) for q in questions]
    spread = Interactions.of(d, [replace(q, weight=Fraction(1, n)) for q, n in zip(questions, sizes, strict=True)], ONE)
    assert sum(e**2 for e in found) == pytest.approx(spread.total_variance * 2, rel=1e-3)


def test_prices_add_up_to_the_whole_and_no_more() -> None:
    found = plan(publication([("state", "sex", "age"), ("county", "sex")]), PEOPLE, GEO)
    for moves in (ONE, Moves(2, 2), Moves(1024, 1024**2)):
        rho = Fraction(1, 3)
        cost = sum(found.price(part, moves, v) for part, v in found.noise(moves, rho).items())
        assert rho * Fraction(99 if moves.l1 > 2 else 90, 100) < cost <= rho  # small noise pays for its lattice


def test_a_split_that_is_given_is_kept() -> None:
    asked = publication([("state",), ("county",)], split={"": 1, "state": 2, "county": 7})
    found = plan(asked, PEOPLE, GEO)
    costs = dict.fromkeys(range(3), 0.0)
    for (level, part), v in found.noise(ONE, Fraction(1, 2)).items():
        costs[level] += float(found.price((level, part), ONE, v) * 2)
    assert costs == pytest.approx({0: 0.1, 1: 0.2, 2: 0.7}, rel=1e-5)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"tables": [("state", "county")]}, "at most one level"),
        ({"tables": [("state", "height")]}, "must be a column"),
        ({"tables": [("state",), ("county",)], "split": {"nation": 1}}, "must name levels"),
        ({"tables": [("state",), ("county",)], "split": {"state": 1}}, "a share"),
    ],
)
def test_refusals(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        plan(publication(**asked), PEOPLE, GEO)


@pytest.mark.parametrize(
    ("tables", "options", "words"),
    [
        ([], {}, "at least one table"),
        ([("a", "b"), ("b", "a")], {}, "each once"),
        (["a"], {"weights": [1, 2]}, "as many"),
        ("a", {}, "list of lists"),
    ],
)
def test_refused_publications(tables: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        publication(tables, **options)


def test_contradictory_structural_zeros_are_refused() -> None:
    a = key_set([("f", 0), ("m", 1)], ["sex", "age"])
    b = key_set([("f", 1), ("m", 0)], ["sex", "age"])
    with pytest.raises(BadParameter, match="possible"):
        plan(publication([("sex", "age")]), PEOPLE, key_sets=[a, b])
    mixed = key_set([("A", "f")], ["state", "sex"])
    with pytest.raises(BadParameter, match="not over both"):
        plan(publication([("state", "sex")]), PEOPLE, GEO, [mixed])


def test_too_many_cells_are_refused() -> None:
    wide = Domain({f"c{i}": range(100) for i in range(5)})
    with pytest.raises(BadParameter, match="at most"):
        plan(publication([tuple(wide.columns)]), wide)


def test_more_different_rows_than_places_are_refused() -> None:
    """Places of 64 bits wrapped round: counts were wrong, and an engine failed after it was paid."""
    many = Domain({f"c{i}": range(1000) for i in range(8)})
    with pytest.raises(BadParameter, match=r"2\^62"):
        plan(publication(list(many.columns)), many)
    seven = Domain({f"c{i}": range(400) for i in range(7)})
    assert len(plan(publication(list(seven.columns)), seven).tables) == 7
