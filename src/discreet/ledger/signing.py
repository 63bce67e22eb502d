"""The ledger's signing key, and texts signed with it.

Promise: a text that ``read_signed`` accepts was signed with the private key of the public key given, as the kind that
is asked for, and nothing in it was changed.
Believes: Ed25519, and that nobody but the curator reads the key file.

A signed text is one line of JSON, ``{"discreet": kind, "version": 1, "body": {...}, "signature": "..."}``; what is
signed is the kind, the version and the canonical body.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from discreet.errors import BadParameter, BadSignature, LedgerUnsafe
from discreet.ledger.durable_files import create_file, report_disk_errors
from discreet.ledger.entries import canonical

VERSION = 1


class Key:
    """A private key for signing. It prints nothing of itself.

    >>> key = Key(Ed25519PrivateKey.generate())
    >>> read_signed(key.sign("note", {"x": 1}), "note", key.public)
    {'x': 1}
    """

    __slots__ = ("_private", "_secret", "public")

    def __init__(self, private: Ed25519PrivateKey) -> None:
        raw = private.private_bytes_raw()
        self._private = private
        self._secret = hashlib.sha256(b"discreet marks\n" + raw).digest()
        self.public: str = private.public_key().public_bytes_raw().hex()

    def sign(self, kind: str, body: Mapping[str, Any]) -> str:
        """The body as a signed text of this kind. The same body gives the same text."""
        signature = self._private.sign(_signed_bytes(kind, canonical(body))).hex()
        return canonical({"discreet": kind, "version": VERSION, "body": body, "signature": signature})

    def mark(self, text: str) -> str:
        """A text hidden so that equal texts can be found again, and nobody without the key can test a guess."""
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()

    def __repr__(self) -> str:
        return f"Key(public={self.public!r})"

    def __reduce__(self) -> str:
        raise LedgerUnsafe("a signing key is not copied or stored; open its file")


def make_key(path: Path) -> Key:
    """A new key in a new file that only its owner can read."""
    private = Ed25519PrivateKey.generate()
    text = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with report_disk_errors("the key file"):
        try:
            create_file(path, text)
        except FileExistsError:
            raise BadParameter("key", path.name, "must not exist yet") from None
    return Key(private)


def open_key(path: Path) -> Key:
    """The key in a file, which nobody but its owner may be able to read."""
    with report_disk_errors("the key file"):
        content = path.read_bytes()
        mode = path.stat().st_mode
    if mode & 0o077:
        raise LedgerUnsafe("the key file can be read by others: chmod 600")
    try:
        private = serialization.load_pem_private_key(content, password=None)
    except (TypeError, ValueError):
        raise LedgerUnsafe("the key file holds no private key that can be read") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise LedgerUnsafe("the key file holds another kind of key than Ed25519")
    return Key(private)


def read_signed(text: str, kind: str, public_key: str) -> dict[str, Any]:
    """The body of a signed text, if this key signed it as this kind; else BadSignature."""
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
    except (TypeError, ValueError):
        raise BadParameter("public_key", public_key, "must be 64 hexadecimal digits") from None
    try:
        parsed = json.loads(text)
        body, version = parsed["body"], parsed["version"]
        signature = bytes.fromhex(parsed["signature"])
        if parsed.keys() != {"discreet", "version", "body", "signature"} or not isinstance(body, dict):
            raise BadSignature(f"this is not a signed {kind}")
        signed = _signed_bytes(kind, canonical(body))
    except (TypeError, KeyError, ValueError, RecursionError):
        raise BadSignature(f"this is not a signed {kind}") from None
    if parsed["discreet"] != kind or version != VERSION:
        raise BadSignature(f"this is not a signed {kind} of a version that is known here")
    try:
        public.verify(signature, signed)
    except InvalidSignature:
        raise BadSignature(f"this {kind} was changed, or was signed by another key") from None
    return body


def _signed_bytes(kind: str, body: str) -> bytes:
    return f"discreet {kind} {VERSION}\n{body}".encode()
