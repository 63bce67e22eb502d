"""Counts of units and codes against plain Python, on either side of what fits into a table or into 32 bits."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from discreet.engines.duckdb import row_codes
from discreet.engines.duckdb.row_codes import KeyCodes


def _made(units: int, size: int, rows: int) -> KeyCodes:
    rng = np.random.default_rng(units + size)
    unit = rng.integers(0, units, rows).astype(np.int32)
    codes = rng.integers(0, size + 1, rows).astype(np.int32)
    return KeyCodes(size, unit, codes, np.bincount(unit, minlength=units))


@pytest.mark.parametrize("room", [0, 1 << 20])
@pytest.mark.parametrize(("units", "size", "rows"), [(7, 3, 200), (1000, 9, 50), (70_000, 70_000, 300), (1, 1, 0)])
def test_counts_are_those_of_plain_sets(
    units: int, size: int, rows: int, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_codes, "_ROOM", room if units * size < 1 << 20 else 0)
    monkeypatch.setattr(row_codes, "_BLOCK", 37)
    keys = _made(units, size, rows)
    sets: dict[int, set[int]] = defaultdict(set)
    counted = [0] * units
    sums = [0] * size
    for unit, code in zip(keys.unit.tolist(), keys.codes.tolist(), strict=True):
        sets[unit].add(code)
        if code < size:
            counted[unit] += 1
            sums[code] += unit + 1
    found, codes = (column.tolist() for column in keys.pairs)
    assert list(zip(found, codes, strict=True)) == sorted((u, c) for u, some in sets.items() for c in some)
    assert keys.keys_of_units.tolist() == [len(sets[unit] - {size}) for unit in range(units)]
    assert keys.coded_rows.tolist() == counted
    assert keys.weighed(np.arange(units) + 1.0).tolist() == sums
