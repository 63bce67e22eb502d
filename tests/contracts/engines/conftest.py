from __future__ import annotations

import pytest

from tests.contracts.engines.lab import EngineCase, Lab


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest) -> Lab:
    """The engine of this test, opened once for each file of tests."""
    case: EngineCase = request.param
    return case.open(request)
