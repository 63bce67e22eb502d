"""A shop behind a curator, for tests of clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.curator.shop import Shop, open_shop


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """The shop, one for all tests of a module."""
    with open_shop(tmp_path_factory.mktemp("shop") / "town") as found:
        yield found
