"""Every map's stability against all neighbours on small, nasty data. Planted bugs stand in the tests of each map."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.stable import StableMap
from tests.helpers.stability import claim_of, refute
from tests.stable.cases import MAPS


@pytest.mark.parametrize(("tested", "values", "most"), [m[1:] for m in MAPS], ids=[m[0] for m in MAPS])
def test_no_neighbours_are_torn_apart(tested: StableMap, values: list[Any], most: int) -> None:
    assert refute(claim_of(tested), values, most=most) is None
