"""``discreet ask | preview | budget | history`` with the address of a curator in place of a file.

Promise: the token comes from the environment (DISCREET_TOKEN) or a file, never from an argument, which others on the
machine can read. The address is https, or this machine.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.commands.output import AsJson, fail_plainly, gauge
from discreet.curator.client.client import RemoteSession, connect
from discreet.curator.client.transport import Transport
from discreet.errors import BadParameter
from discreet.exact import significant

VARIABLE = "DISCREET_TOKEN"
Url = Annotated[str, typer.Argument(help="the address of a curator, such as https://curator.example")]
TokenFile = Annotated[
    Path | None, typer.Option("--token-file", help=f"a file with your token; else {VARIABLE} of the environment")
]
Dataset = Annotated[str, typer.Option("--dataset", help="which data set of the curator; needed if there are several")]
_HERE = ("localhost", "127.0.0.1", "::1")


def is_address(text: str) -> bool:
    """Whether this names a curator rather than a file.

    >>> is_address("https://curator.example"), is_address("visits.parquet")
    (True, False)
    """
    return text.startswith(("https://", "http://"))


def read_token(file: Path | None) -> str:
    """Your token, from a file that only you can read, or from the environment."""
    if file is None:
        token = os.environ.get(VARIABLE, "")
        if not token:
            raise BadParameter("token-file", None, f"must name a file with your token, or {VARIABLE} must hold it")
        return token
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise BadParameter("token-file", str(file), "must not be readable by others: chmod 600")
    return file.read_text(encoding="utf-8").strip()


def check_address(url: str) -> None:
    """Refuse to send a token over a network in the clear."""
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in _HERE:
        raise BadParameter("url", url, "must be https://: a token would travel in the clear")


def open_remote(url: str, file: Path | None, dataset: str) -> RemoteSession:
    """A data set of a curator."""
    check_address(url)
    return connect(url, read_token(file), dataset or None)


@fail_plainly
def history_command(url: Url, *, token_file: TokenFile = None, as_json: AsJson = False) -> None:
    """The queries that were charged to you at a curator, with their numbers and costs."""
    if not is_address(url):
        raise BadParameter("url", url, "must be the address of a curator; what a ledger holds: discreet audit-log")
    check_address(url)
    transport = Transport(url, read_token(token_file))
    entries: list[dict[str, Any]] = []
    while more := transport.get(f"/api/ledger?limit=1000&after={entries[-1]['sequence'] if entries else 0}")["entries"]:
        entries += more
    rows = [
        {
            "number": entry["sequence"],
            "time": entry["time"],
            "query": entry["body"]["query"],
            "price": entry["body"]["price"],
        }
        for entry in entries
        if entry["kind"] == "charge"
    ]
    if as_json:
        typer.echo(json.dumps(rows))
        return
    prices = {entry["sequence"]: entry["price"] for entry in entries}
    table = Table("number", "time", "paid", "question", box=None)
    for row in rows:
        price = str(prices[row["number"]])
        when, query = str(row["time"])[:16].replace("T", " "), " ".join(str(row["query"]).split())
        table.add_row(str(row["number"]), when, price, escape(query[:100]))
    Console().print(table)


def show_budget(url: str, file: Path | None, as_json: bool) -> None:
    """Where your budgets stand at a curator."""
    check_address(url)
    standings: list[Mapping[str, Any]] = Transport(url, read_token(file)).get("/api/budget")
    if as_json:
        typer.echo(json.dumps(standings))
        return
    table = Table("people", "budget", "spent", "", "left", box=None)
    for standing in standings:
        left = standing["remaining_epsilon"]
        table.add_row(
            escape(standing["population"]), escape(standing["budget"]["text"]), gauge(standing["share"]),
            f"{standing['share']:.1%}",
            escape(standing["remaining"]["text"] if left is None else f"epsilon {significant(left, 4)}"),
        )  # fmt: skip
    Console().print(table)
