"""Where a request comes from and where it is addressed to: trusted proxies, and the names that this service answers to.

Promise: an address in X-Forwarded-For counts only as far as trusted proxies wrote it: of the list, the last one that is
no trusted proxy itself. A Host header that is neither an address nor a name of this service is refused, so that a page
of another site cannot be made to talk to it.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterable
from ipaddress import ip_address

from discreet.curator.error_replies import Refusal

_HERE = ("localhost", "localhost.localdomain")
Headers = Iterable[tuple[bytes, bytes]]


def sender(peer: str, headers: Headers, proxies: Collection[str]) -> str:
    """The address that a request comes from.

    >>> sent = [(b"x-forwarded-for", b"6.6.6.6, 203.0.113.9, 10.0.0.2")]
    >>> sender("10.0.0.1", sent, proxies={"10.0.0.1", "10.0.0.2"})
    '203.0.113.9'
    >>> sender("203.0.113.7", sent, proxies={"10.0.0.1"})
    '203.0.113.7'
    """
    if peer not in proxies:
        return peer
    sent = b",".join(value for name, value in headers if name == b"x-forwarded-for").decode("latin-1")
    for address in reversed([part.strip() for part in sent.split(",")]):
        if not _is_address(address):
            break
        if address not in proxies:
            return address
    return peer


def own_names(host: str, hosts: Iterable[str] = ()) -> frozenset[str]:
    """The names that a service answers to: those of its file, where it listens, and this machine."""
    return frozenset(one.casefold() for one in (*hosts, host, *_HERE, socket.gethostname(), socket.getfqdn()))


def check_host(headers: Headers, names: Collection[str]) -> None:
    """Refuse a request that is addressed to somebody else.

    >>> check_host([(b"host", b"127.0.0.1:8750")], {"curator.example"})
    >>> check_host([(b"host", b"evil.example")], {"curator.example"})
    Traceback (most recent call last):
        ...
    discreet.curator.error_replies.Refusal: this service does not answer to that name; the owner lists names in hosts
    """
    sent = next((value for name, value in headers if name == b"host"), b"").decode("latin-1").casefold()
    name = sent[: sent.rfind("]") + 1].strip("[]") if sent.startswith("[") else sent.partition(":")[0]
    if name not in names and not _is_address(name):
        raise Refusal(421, "OtherHost", "this service does not answer to that name; the owner lists names in hosts")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
