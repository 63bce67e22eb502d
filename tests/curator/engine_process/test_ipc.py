"""What the engine's process sends is exact numbers or a failure."""

from __future__ import annotations

import json
from datetime import date, datetime

import numpy as np
import pytest

from discreet.curator.engine_process.ipc import (
    pack,
    read_cells,
    read_columns,
    read_exact,
    unpack,
    write_cells,
    write_exact,
)
from discreet.errors import EngineFailed
from discreet.query.plan.work import Cells, Exact


def test_exact_numbers_survive() -> None:
    found = Exact(
        ((1, "a", True, None), (2, "é\n", False, date(2025, 1, 2)), (3, "", None, datetime(2025, 1, 2, 3, 4, 5, 6))),
        (np.array([1, -(2**63), 2**63 - 1]), np.array([2**100, 0, -1], dtype=object)),
    )
    (back,) = read_exact(write_exact([found]))
    assert back.keys == found.keys
    assert [n.tolist() for n in back.numbers] == [n.tolist() for n in found.numbers]
    assert [n.dtype for n in back.numbers] == [np.int64, object]


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\x80\x04}.",  # a pickle
        b"[]",
        b"{}",
        b'{"works": 3}',
        b'{"works": [{"keys": [[1]], "numbers": [[1, 2]]}]}',
        b'{"works": [{"keys": [[1]], "numbers": [[1.5]]}]}',
        b'{"works": [{"keys": [[1]], "numbers": [[true]]}]}',
        b'{"works": [{"keys": [[1]], "numbers": [["1"]]}]}',
        b'{"works": [{"keys": [[1]], "numbers": [[null]]}]}',
        b'{"works": [{"keys": [[1], [1]], "numbers": [[1, 2]]}]}',
        b'{"works": [{"keys": [[1.5]], "numbers": [[1]]}]}',
        b'{"works": [{"keys": [[{"date": "x"}]], "numbers": [[1]]}]}',
        b'{"works": [{"keys": [[[1]]], "numbers": [[1]]}]}',
        json.dumps({"works": [{"keys": [[1]], "numbers": [[10**60]]}]}).encode(),
        b"[" * 100_000,
    ],
)
def test_whatever_a_process_says_is_exact_numbers_or_a_failure(said: bytes) -> None:
    with pytest.raises(EngineFailed):
        read_exact(said)
    with pytest.raises(EngineFailed):
        read_columns(said)


def cells(places: list[int], counts: list[int]) -> Cells:
    return Cells(np.array(places, dtype=np.int64), np.array(counts, dtype=np.int64))


def test_numbers_of_sets_survive() -> None:
    sent = [cells([0, 5, 2], [2**63 - 1, 0, 7]), cells([], []), cells([0], [3])]
    back = read_cells(write_cells(sent), [6, 9, 1])
    assert [(c.places.tolist(), c.counts.tolist()) for c in back] == [
        ([0, 5, 2], [2**63 - 1, 0, 7]), ([], []), ([0], [3]),
    ]  # fmt: skip
    assert all(c.places.dtype == c.counts.dtype == np.int64 for c in back)


@pytest.mark.parametrize(
    "sent",
    [
        b"", b"[]", b"{}", b'{"sets": 3}', b'{"sets": [["AAAA", 3]]}', b'{"sets": [["?", "?"]]}', b"[" * 100_000,
        b'{"sets": [["AAAA", "AAAA"]]}',  # three bytes are no number
        b'{"sets": [[""]]}',
        write_cells([]),
        write_cells([cells([0], [1]), cells([0], [1])]),
        write_cells([cells([4], [1])]),  # beyond the table
        write_cells([cells([-1], [1])]),
        write_cells([cells([1, 1], [1, 1])]),
        write_cells([cells([1], [-1])]),
        write_cells([cells([1, 2], [1])]),
    ],
)  # fmt: skip
def test_whatever_a_process_says_about_sets_is_numbers_of_rows_or_a_failure(sent: bytes) -> None:
    with pytest.raises(EngineFailed):
        read_cells(sent, [4])


def test_frames_end_where_they_say() -> None:
    data = pack(b"abc") + pack(b"") + b"\x00\x00"

    def read(size: int) -> bytes:
        nonlocal data
        part, data = data[:size], data[size:]
        return part

    assert (unpack(read), unpack(read)) == (b"abc", b"")
    with pytest.raises(EOFError):
        unpack(read)
    data = b"\xff" * 16
    with pytest.raises(EOFError):
        unpack(read)
