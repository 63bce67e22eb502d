"""What all units name is the same, whichever hashes are left out; and few are asked where many name the same."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.engines.duckdb.named_keys import NamedKeys
from discreet.engines.duckdb.row_codes import KeyCodes, Numbers


def _hash(unit: int, code: int) -> int:
    return hash((unit * 7919 + 13) % 10_007 * 31 + code * 104_729) % 65_537


class Chooser:
    """The code of each unit with the smallest hash; and how many pairs it has seen."""

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, units: Numbers, codes: Numbers) -> Numbers:
        self.seen += len(units)
        best: dict[int, tuple[int, int]] = {}
        for unit, code in zip(units.tolist(), codes.tolist(), strict=True):
            best[unit] = min(best.get(unit, (1 << 60, 0)), (_hash(unit, code), code))
        return np.array([code for _, code in best.values()], dtype=np.int64)


@pytest.mark.parametrize(("units", "size", "rows"), [(50, 400, 300), (300, 20, 2000), (1, 5, 4), (3, 0, 5), (4, 2, 0)])
def test_the_named_keys_are_those_of_all_units(units: int, size: int, rows: int) -> None:
    rng = np.random.default_rng(rows)
    unit, codes = rng.integers(0, units, rows), rng.integers(0, size + 1, rows)
    keys = KeyCodes(size, unit, codes, np.bincount(unit, minlength=units))
    named, choose = NamedKeys(size), Chooser()
    named.add(keys, choose)
    pairs = {(u, c) for u, c in zip(unit.tolist(), codes.tolist(), strict=True) if c < size}
    mine = {min((_hash(u, c), c) for v, c in pairs if v == u)[1] for u, _ in pairs}
    assert named.count == len(mine)
    assert choose.seen <= len(pairs)


def test_few_units_are_asked_where_others_named_all_their_keys() -> None:
    unit = np.concatenate([np.arange(100), np.repeat(np.arange(100, 300), 50)])
    codes = np.concatenate([np.arange(100), np.tile(np.arange(50), 200)])
    named, choose = NamedKeys(100), Chooser()
    named.add(KeyCodes(100, unit, codes, np.bincount(unit)), choose)
    assert (named.count, choose.seen) == (100, 0)


def test_what_one_part_names_the_next_one_need_not_ask() -> None:
    """The parts of a large table have the same codes."""
    ones = KeyCodes(4, np.arange(4), np.arange(4), np.ones(4, dtype=np.int64))
    both = KeyCodes(4, np.zeros(4, dtype=np.int64), np.arange(4), np.array([4]))
    named, choose = NamedKeys(4), Chooser()
    named.add(ones, choose)
    named.add(both, choose)
    assert (named.count, choose.seen) == (4, 0)
