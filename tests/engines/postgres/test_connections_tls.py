"""Encrypted connections to PostgreSQL, with a certificate authority of our own."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from discreet.engines.postgres.engine import postgres
from discreet.errors import EngineUnreachable
from tests.helpers.postgres import Postgres

Signed = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]


def certificate(name: str, signer: Signed | None = None) -> Signed:
    """A certificate for a name, signed by another or by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer[0].subject if signer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(signer[1] if signer else key, hashes.SHA256())
    )
    return made, key


def pem(path: Path, made: x509.Certificate) -> Path:
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return path


class Encrypted(Postgres):
    """A server on a port of this machine that answers nobody without encryption; on its socket, anybody."""

    def __init__(self, signer: Signed) -> None:
        super().__init__(durable=False)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        made, key = certificate("localhost", signer)
        secret = self.folder / "server.key"
        secret.touch(mode=0o600)
        secret.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        if self.user:
            shutil.chown(secret, self.user, self.user)
        public = pem(self.folder / "server.pem", made)
        public.chmod(0o644)
        hba = self.folder / "data" / "pg_hba.conf"
        hba.write_text("local all all trust\nhostssl all all 127.0.0.1/32 trust\n")
        self.settings = {
            **self.settings,
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "ssl": "on",
            "ssl_cert_file": str(public),
            "ssl_key_file": str(secret),
        }

    def address(self, database: str) -> str:
        return f"{super().address(database)}&port={self.port}"

    def over_tcp(self, host: str, root: Path) -> str:
        return f"host={host} hostaddr=127.0.0.1 port={self.port} user=postgres dbname=postgres sslrootcert={root}"


@pytest.fixture(scope="module")
def authority() -> Signed:
    return certificate("our authority")


@pytest.fixture(scope="module")
def encrypted(authority: Signed) -> Iterator[Encrypted]:
    with Encrypted(authority) as server:
        yield server


@pytest.mark.slow
def test_the_server_must_be_who_it_says(encrypted: Encrypted, authority: Signed, tmp_path: Path) -> None:
    ours, theirs = pem(tmp_path / "ours.pem", authority[0]), pem(tmp_path / "theirs.pem", certificate("stranger")[0])
    postgres(encrypted.over_tcp("localhost", ours), sslmode="verify-full").ready()
    for host, root in (("localhost", theirs), ("db.example.org", ours)):
        with pytest.raises(EngineUnreachable):
            postgres(encrypted.over_tcp(host, root), sslmode="verify-full").ready()
    with pytest.raises(EngineUnreachable):
        postgres(encrypted.over_tcp("localhost", ours), sslmode="disable").ready()
