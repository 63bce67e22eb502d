"""A file of visits, and a curator's configuration."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from tests.helpers.curator.land import CANARY, write_town


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    path = tmp_path / "visits.parquet"
    many = 2000
    pq.write_table(
        pa.table(
            {
                "person": list(range(many)),
                "clinic": ["North" if i % 2 else "South" for i in range(many)],
                "cost": [float(i % 100) for i in range(many)],
                "code": [i % 3 for i in range(many)],
                "note": [CANARY] * many,
            }
        ),
        path,
    )
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = write_town(tmp_path / "town", epsilon="10")
    open_curator(read_config(path), create=True).close()
    return path
