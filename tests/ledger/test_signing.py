"""signing.py: a key signs one kind of text, and its file is for its owner alone."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from discreet.errors import BadParameter, BadSignature, LedgerUnavailable, LedgerUnsafe
from discreet.ledger.signing import make_key, open_key, read_signed


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
