"""A picture of places: one band for each level that has few enough of them, each place as wide as its count."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.hierarchical import tree_picture as module
from discreet.synthetic.hierarchical.plan import publication
from discreet.synthetic.hierarchical.released import publish
from discreet.synthetic.hierarchical.tree import Tree
from discreet.synthetic.hierarchical.tree_picture import tree_picture
from tests.synthetic.hierarchical.test_released import GEO

TREE = Tree((np.array([0, 0]), np.array([0, 0, 1])))
COUNTS = [np.array([10]), np.array([7, 3]), np.array([7, 0, 3])]
ERRORS = [np.array([1.0]), np.array([1.0, 1.0]), np.array([1.0, 1.0, 6.0])]


def test_places_are_as_wide_as_their_counts_and_coloured_by_their_relative_error() -> None:
    axes = tree_picture(TREE, ("", "state", "county"), COUNTS, ERRORS).axes[0]
    bands = axes.collections
    assert [len(band.get_paths()) for band in bands] == [1, 2, 3]
    widths = [[float(np.ptp(np.asarray(path.vertices)[:, 0])) for path in band.get_paths()] for band in bands]
    assert widths == [[10], [7, 3], [7, 0, 3]]
    assert np.allclose(np.asarray(bands[2].get_array()), [1 / 7, 1, 2])  # no count: the darkest
    assert [label.get_text() for label in axes.get_yticklabels()] == ["total", "state", "county"]


def test_levels_with_too_many_places_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PLACES", 2)
    axes = tree_picture(TREE, ("", "state", "county"), COUNTS, ERRORS).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["total", "state"]


def test_a_publication_draws_itself() -> None:
    people = {"county": ["A1"] * 30, "sex": [0, 1] * 15}
    domain = Domain({"sex": whole(0, 1, nullable=False)})
    made = publish(people, publication([("county", "sex")]), hierarchy=GEO, domain=domain, rho=100)
    assert len(made.plot().axes[0].collections) == 3
