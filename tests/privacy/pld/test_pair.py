"""What a pair says of itself by default, and which parameters an accountant of doubles takes."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.privacy.pld.atoms import box
from discreet.privacy.pld.beliefs import PLACE
from discreet.privacy.pld.law import Grid, raised
from discreet.privacy.pld.pair import Atoms, Cells, Mass, Pair, as_float

F = Fraction


def test_cells_of_a_pair_without_a_density_are_empty() -> None:
    assert not Pair().cells(np.array([0.0, 1.0])).p.any()
    assert Pair().above(0.0) == Pair().below(0.0) == (0.0, 0.0)
    assert Pair().top == Pair().bottom == (0, 0)
    assert math.isclose(raised(box(F(0), F(0)), Grid(0.1, 0.0, 0, 1)).mass[0], 1.0)


def test_two_equal_laws() -> None:
    pair = Pair()
    assert pair.infinite == pair.void == Mass(0.0, 0.0)
    assert pair.reverse is pair
    assert (pair.anchor, pair.lattice, pair.discrete, pair.slip) == (0.0, None, False, 0.0)
    assert pair.reach(1e-9) == (0.0, 0.0)
    assert len(Cells.none(np.array([])).p) == 0
    assert Cells.none(np.arange(4.0)).q.tolist() == [0.0, 0.0, 0.0]


def test_the_smallest_loss_is_that_of_the_reverse() -> None:
    class OneWay(Pair):
        @property
        def top(self) -> tuple[Fraction | float, Fraction | float]:
            return Fraction(2), Fraction(3)

    assert OneWay().bottom == (-3, -2)


def test_how_far_atoms_may_be_off() -> None:
    atoms = Atoms(np.array([-7.0, 3.0]), np.array([0.5, 0.5]), np.array([0.5, 0.5]), places=2.0)
    assert atoms.slip == 2.0 * PLACE * 8.0
    assert Atoms().slip == 0.0


@pytest.mark.parametrize("x", [F(1, 3), F(-1, 3), F(2) ** 499, F(1, 2**499)])
def test_the_nearest_double(x: Fraction) -> None:
    assert as_float(x, "x") == float(x)


@pytest.mark.parametrize("x", [F(0), F(2) ** 500, F(1, 2**500), F(10) ** 400, F(1, 10**400)], ids=range(5))
def test_parameters_beyond_the_doubles_are_refused(x: Fraction) -> None:
    with pytest.raises(BadParameter, match=r"scale .* 2\^-500 and 2\^500"):
        as_float(x, "scale")
