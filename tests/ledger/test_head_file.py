"""head_file.py: a head that only moves forward and survives a torn write."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from discreet.errors import LedgerMismatch
from discreet.ledger.head_file import Head, HeadFile


def head(n: int) -> Head:
    return Head("x", n, f"hash {n}")


def test_a_head_only_moves_forward(tmp_path: Path) -> None:
    heads = HeadFile(tmp_path / "head")
    assert heads.read() is None
    for n, expected in ((3, 3), (5, 5), (4, 5), (5, 5), (6, 6), (9, 9)):
        heads.advance(head(n))
        assert heads.read() == head(expected)
    heads.replace(head(2))
    assert heads.read() == head(2)


def test_one_write_serves_all_who_wait(tmp_path: Path) -> None:
    heads = HeadFile(tmp_path / "head")
    heads.advance(head(1), latest=lambda: head(7))
    assert heads.read() == head(7)
    heads.advance(head(5), latest=lambda: pytest.fail("there is nothing to write"))


@pytest.mark.parametrize("cut", [0, 1, 50, 200, 4095])
@pytest.mark.parametrize("slot", [0, 1])
def test_a_torn_slot_leaves_the_other(tmp_path: Path, cut: int, slot: int) -> None:
    path = tmp_path / "head"
    heads = HeadFile(path)
    for n in range(1, 6 + slot):
        heads.advance(head(n))
    newest = 5 + slot
    content = bytearray(path.read_bytes())
    at = next(i for i in (0, 4096) if f'"sequence":{newest},'.encode() in content[i : i + 4096])
    content[at + cut : at + 4096] = b"\x00" * (4096 - cut)
    path.write_bytes(content)
    assert heads.read() == head(newest - 1)
    heads.advance(head(newest + 1))
    assert heads.read() == head(newest + 1)


@pytest.mark.parametrize("content", [b"", b"x", b"{}" * 3000, b"\x00" * 8192])
def test_a_head_file_that_cannot_be_understood(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "head"
    path.write_bytes(content)
    for call in (HeadFile(path).read, lambda: HeadFile(path).advance(head(1))):
        with pytest.raises(LedgerMismatch):
            call()
    assert path.read_bytes() == content


def test_threads_with_files_of_their_own_never_go_back(tmp_path: Path) -> None:
    path = tmp_path / "head"
    seen: list[bool] = []

    def work(first: int) -> None:
        heads = HeadFile(path)
        for n in range(first, 120, 4):
            heads.advance(head(n))
            found = heads.read()
            seen.append(found is not None and found.sequence >= n)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(seen)
    assert len(seen) == 120
    assert HeadFile(path).read() == head(119)
