"""Marginal tables: sensitivities by brute force, tables that agree with each other, refusals."""

from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.mechanisms.statistics.binning import Table
from discreet.mechanisms.statistics.marginals import marginal_moves, marginals
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.promises.neighbours import Neighbours
from tests.helpers.databases import RELATIONS, Hostile, largest_move

ADD, CHANGE = RELATIONS


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("which", [[(0,)], [(0,), (1,)], [(0, 1), (1, 2), (2,)], [(2,)], [(0,), (2,)]])
def test_marginals_move_as_claimed(relation: Neighbours, which: list[tuple[int, ...]]) -> None:
    domain = [*np.ndindex(2, 3, 1), (2, 0, 0), (0, 0), None, (0.0, 0, 0), Hostile(), np.array(3)]
    m = marginals(columns=(2, 3, 1), which=which, rho=1, neighbours=relation)
    claimed = marginal_moves(Table((2, 3, 1)), which, relation)
    assert largest_move(m.read, domain, relation, most=2) == (claimed.l1, claimed.l2_squared)


def test_a_marginal_is_the_sum_of_the_table() -> None:
    rng = np.random.default_rng(5)
    rows = rng.integers(-1, 3, size=(200, 3))
    m = marginals(columns=(2, 3, 2), which=[(0,), (2, 1), (0, 1, 2)], epsilon=1)
    tables = m.tables(m.read(rows))
    assert (tables[0,] == tables[0, 1, 2].sum(axis=(1, 2))).all()
    assert (tables[2, 1] == tables[0, 1, 2].sum(axis=0).T).all()
    assert (m.read(rows) == m.read([tuple(row) for row in rows.tolist()])).all()


@pytest.mark.parametrize(
    "wrong",
    [{"columns": (), "which": [(0,)]}, {"columns": (2, 0), "which": [(0,)]}, {"columns": (2,), "which": []},
     {"columns": (2,), "which": [(1,)]}, {"columns": (2,), "which": [(0,), (0,)]}, {"columns": (2, 2), "which": [()]},
     {"columns": 3, "which": [(0,)]}, {"columns": (1 << 14, 1 << 14), "which": [(0, 1)]}],
)  # fmt: skip
def test_bad_tables_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        marginals(**wrong, epsilon=1)


def test_columns_that_no_machine_integer_holds_are_refused() -> None:
    """Else one record with a huge entry would stop the release, in numpy's words."""
    with pytest.raises(BadParameter):
        marginals(columns=(2**70, 2), which=[(1,)], epsilon=1)
    assert marginals(columns=(2**62, 2), which=[(1,)], epsilon=1).read([(2**62 - 1, 1), (2**65, 1)]).tolist() == [0, 1]


def test_the_check_refutes_a_price_for_one_table() -> None:
    """The planted bug: three tables charged as one; and a change charged as an addition."""
    which = [(0,), (1,), (0, 1)]
    m = marginals(columns=(2, 3), which=which, epsilon=1)
    domain = [*np.ndindex(2, 3)]
    moved = largest_move(m.read, domain, ADD, most=2)
    assert moved > (1, 1)
    assert largest_move(m.read, domain, CHANGE, most=2) > moved


def test_all_tables_are_paid_for_together() -> None:
    m = marginals(columns=(2, 3), which=[(0,), (0, 1)], epsilon="1/2")
    assert price_basic(m.event).epsilon == 0.5
    assert m.noise.dimension == 2 + 6
    assert m.story().startswith("counted 2 marginal tables")


def test_tables_of_one_column_are_read() -> None:
    counts = marginals(columns=(3,), which=[(0,)], epsilon=1).read([(0,), (2,), (2,), (7,)])
    assert counts.tolist() == [1, 0, 2]
