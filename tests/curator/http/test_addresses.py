"""Addresses behind proxies, and names of the service."""

from __future__ import annotations

import pytest

from discreet.curator.error_replies import Refusal
from discreet.curator.http.addresses import check_host, own_names, sender

PROXIES = {"10.0.0.1", "10.0.0.2"}


def forwarded(*texts: str) -> list[tuple[bytes, bytes]]:
    return [(b"x-forwarded-for", text.encode()) for text in texts]


@pytest.mark.parametrize(
    ("peer", "headers", "expected"),
    [
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", forwarded("203.0.113.9"), "203.0.113.9"),
        ("10.0.0.1", forwarded("6.6.6.6", "203.0.113.9"), "203.0.113.9"),  # whatever stands before it was made up
        ("10.0.0.1", forwarded("203.0.113.9, 10.0.0.2"), "203.0.113.9"),
        ("10.0.0.1", forwarded("203.0.113.9, nonsense"), "10.0.0.1"),
        ("10.0.0.1", forwarded("2001:db8::1"), "2001:db8::1"),
        ("203.0.113.7", forwarded("203.0.113.9"), "203.0.113.7"),
    ],
)
def test_only_what_a_trusted_proxy_wrote_counts(peer: str, headers: list[tuple[bytes, bytes]], expected: str) -> None:
    assert sender(peer, headers, PROXIES) == expected


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "curator.example", "127.0.0.1", "[::1]:8750", "10.1.2.3"])
def test_own_names_and_addresses_pass(host: str) -> None:
    check_host([(b"host", host.encode())], own_names("0.0.0.0", ["Curator.example"]))  # noqa: S104


@pytest.mark.parametrize("host", ["evil.example", "", "localhost.evil.example", "[evil]", "127.0.0.1.evil.example"])
def test_other_names_are_refused(host: str) -> None:
    with pytest.raises(Refusal):
        check_host([(b"host", host.encode())], own_names("127.0.0.1", ["curator.example"]))
