"""A town behind a curator, one for all tests of a module: they use names and keys of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.curator.service.town import Town, on_a_socket, open_town


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with open_town(tmp_path_factory.mktemp("town") / "town") as found:
        yield found


@pytest.fixture
def new_town(tmp_path: Path) -> Iterator[Town]:
    """A town of this test alone."""
    with open_town(tmp_path / "town") as found:
        yield found


@pytest.fixture(scope="module")
def served(town: Town) -> Iterator[tuple[Town, str]]:
    """The town and its address on a real socket."""
    with on_a_socket(town) as url:
        yield town, url
