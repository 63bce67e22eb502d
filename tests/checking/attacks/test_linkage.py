"""Linkage: complete where three columns are kept, within the bound where counts have noise (five deviations)."""

from typing import Any

import pytest

from discreet.checking import attacks
from discreet.errors import BadParameter
from tests.checking.attacks.cases import five_sigma


def test_linkage() -> None:
    table = attacks.linkage(people=2000)
    assert table.row("names").success > 0.98  # at most a thousand pairs of people in 1.2 million cells
    coarse = table.row("postal codes")
    assert coarse.bound is None
    assert 0.5 < coarse.success < table.row("names").success
    protected = table.row("counts")
    assert protected.bound is not None
    assert protected.bound == pytest.approx(0.7310585786)
    assert protected.success <= protected.bound + five_sigma(protected.bound, 2000)
    assert protected.success > 0.55  # it does show what it may: the noise of two counts at scale 2


def test_a_table_with_half_the_noise_is_above_its_claim() -> None:
    """The twin: a release of ε = 4 that claims 1 is seen by the attack."""
    claimed = attacks.linkage(people=2000).row("counts").bound
    assert claimed is not None
    assert attacks.linkage(people=2000, epsilon=4).row("counts").success > claimed + five_sigma(claimed, 2000)


@pytest.mark.parametrize("bad", [{"people": 7}, {"epsilon": 0}])
def test_bad_parameters(bad: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        attacks.linkage(**bad)
