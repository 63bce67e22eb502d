"""heads.py, keys.py, disk.py: files that only move forward, survive a torn write, and keep their secrets."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from discreet.errors import BadParameter, BadSignature, LedgerMismatch, LedgerUnavailable, LedgerUnsafe
from discreet.ledger.durable_files import create_file, kind_of_disk, locked, replace_file
from discreet.ledger.head_file import Head, HeadFile
from discreet.ledger.signing import make_key, open_key, read_signed


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


def test_a_stopped_process_stops_no_other_for_good(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with locked(lock), pytest.raises(TimeoutError), locked(lock, patience=0):
        pytest.fail("two hold one lock")
    with locked(lock, patience=0):
        pass


def test_new_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    create_file(path, b"one")
    with pytest.raises(FileExistsError):
        create_file(path, b"two")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"one", 0o600)
    replace_file(path, b"three")
    assert path.read_bytes() == b"three"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert isinstance(kind_of_disk(tmp_path), str)
    assert kind_of_disk(Path("/proc/self")) == "proc"


# --- keys ---------------------------------------------------------------------------------------------------------


def test_a_key_signs_one_kind_of_text(tmp_path: Path) -> None:
    key = make_key(tmp_path / "key")
    text = key.sign("receipt", {"a": "1"})
    assert key.sign("receipt", {"a": "1"}) == text
    assert read_signed(text, "receipt", key.public) == {"a": "1"}
    assert open_key(tmp_path / "key").public == key.public
    for bad in (
        text.replace('"1"', '"2"'),
        text.replace("receipt", "card"),
        text.replace('"version":1', '"version":2'),
        text[:-1] + ',"more":1}',
        text.replace('"signature":"', '"signature":"00'),
        "",
        "{}",
        "[]",
        '{"body":{"x":0.5},"version":1,"signature":"","discreet":"receipt"}',
        "[" * 100_000,
    ):
        with pytest.raises(BadSignature):
            read_signed(bad, "receipt", key.public)
    with pytest.raises(BadSignature):
        read_signed(text.replace("receipt", "card"), "card", key.public)
    with pytest.raises(BadSignature):
        read_signed(text, "receipt", make_key(tmp_path / "another").public)
    for wrong in ("", "zz", key.public[:-2]):
        with pytest.raises(BadParameter):
            read_signed(text, "receipt", wrong)


def test_a_key_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "key"
    key = make_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(BadParameter):
        make_key(path)
    path.chmod(0o640)
    with pytest.raises(LedgerUnsafe, match="others"):
        open_key(path)
    path.chmod(0o600)
    secret = path.read_text().splitlines()[1]
    assert secret not in repr(key)
    with pytest.raises(LedgerUnsafe):
        pickle.dumps(key)
    path.write_text("no key")
    with pytest.raises(LedgerUnsafe):
        open_key(path)
    other = generate_private_key(SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(other)
    with pytest.raises(LedgerUnsafe, match="another kind"):
        open_key(path)
    with pytest.raises(LedgerUnavailable):
        open_key(tmp_path / "nothing")


def test_marks_hide_what_they_stand_for(tmp_path: Path) -> None:
    one, two = make_key(tmp_path / "one"), make_key(tmp_path / "two")
    assert one.mark("x") == one.mark("x") != one.mark("y")
    assert one.mark("x") != two.mark("x")
