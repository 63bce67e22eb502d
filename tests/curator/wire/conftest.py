"""The town of the curator's tests, with a port for clients of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.helpers.curator.town import Town
from tests.helpers.curator.wire import about, listening


@pytest.fixture(scope="module")
def port(served: tuple[Town, str]) -> Iterator[int]:
    with listening(served[1]) as found:
        yield found


@pytest.fixture
def client(served: tuple[Town, str], port: int) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(**about(port, served[0].ann)) as found:
        yield found
