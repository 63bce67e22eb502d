"""Workloads: every question as a sum of cells, and refusals before anything is spent."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.workload import count, marginal, prefixes, ranges, workload

DOMAIN = Domain({"x": whole(0, 3), "y": ["b", "a"], "z": range(2)})


def test_each_kind_of_question_by_hand() -> None:
    asked = workload(DOMAIN, [("z", "x"), prefixes("x"), ranges("x"), count("x > 1", weight="1/2"), "y"])
    assert [q.clique for q in asked.questions] == [(0, 2), (0,), (0,), (0,), (1,)]
    counts = np.array([5, 1, 2, 4, 9])  # the last are NULL
    assert asked.questions[1].of(counts).tolist() == [5, 6, 8, 12]
    assert asked.questions[2].of(counts).tolist() == [5, 6, 8, 12, 1, 3, 7, 2, 6, 4]
    assert asked.questions[3].of(counts).tolist() == [6]
    assert asked.cliques == {(0, 2): 1, (0,): Fraction(5, 2), (1,): 1}
    assert asked.answers == 15 + 4 + 10 + 1 + 3
    assert workload(DOMAIN, asked) is asked


def test_all_ways() -> None:
    assert [q.clique for q in workload(DOMAIN, "all 2-way").questions] == [(0, 1), (0, 2), (1, 2)]
    assert len(workload(DOMAIN, "all 3-way")) == 1


@pytest.mark.parametrize(
    "what",
    [
        "all 4-way", "all 0-way", "everything", [], [()], [("x", "x")], [("x", "nothing")], 3, [3],
        [prefixes("y")],  # its categories are not in order
        [count("w = 1")], "all 1-way or so",
    ],
)  # fmt: skip
def test_refused(what: object) -> None:
    with pytest.raises(BadParameter):
        workload(DOMAIN, what)  # type: ignore[arg-type]


def test_weights_are_positive() -> None:
    with pytest.raises(BadParameter):
        marginal("x", weight=0)


def test_a_marginal_that_is_too_large_says_its_size_and_what_to_coarsen() -> None:
    wide = Domain({"a": whole(0, 9_999), "b": whole(0, 999)})
    with pytest.raises(BadParameter, match=r"10,011,001: coarsen a"):
        workload(wide, [("a", "b")])
    with pytest.raises(BadParameter, match="coarsen"):
        workload(wide, "all 2-way")
