"""Which curator or ledger a command works on: the one of a curator.toml, or the file of a ledger itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import LedgerUnavailable
from discreet.privacy.promises.measures import Measure

if TYPE_CHECKING:
    from discreet.curator.service.service import Curator
    from discreet.ledger.store import Ledger

ConfigFile = Annotated[Path, typer.Argument(help="the curator.toml")]
LedgerOrConfig = Annotated[Path, typer.Argument(help="the curator.toml, or a ledger of ask --ledger")]
Days = Annotated[int, typer.Option(help="how long the token is good")]
Reason = Annotated[str, typer.Option(help="why; it is recorded")]


@contextmanager
def open_curator_of(config: Path) -> Iterator[Curator]:
    """The curator of a file, for one command: its ledger as it is, made from the file only if there is none yet."""
    from discreet.curator.service.config import read_config
    from discreet.curator.service.opening import open_curator
    from discreet.curator.service.service import Curator
    from discreet.ledger.store import open_ledger

    configured = read_config(config)
    try:
        curator = Curator(configured, open_ledger(configured.ledger, key=configured.key, head=configured.head))
    except LedgerUnavailable:
        curator = open_curator(configured, create=True)
    try:
        yield curator
    finally:
        curator.close()


@contextmanager
def open_ledger_of(config: Path) -> Iterator[Ledger]:
    """The ledger of a curator.toml, or a file that is one."""
    from discreet.ledger.store import open_ledger

    location, key, head = ledger_location(config)
    with open_ledger(location, key=key, head=head) as ledger:
        yield ledger


def ledger_location(config: Path) -> tuple[str | Path, Path | None, Path | None]:
    """Where a ledger, its key and its head are: as curator.toml says, or beside the file of the ledger itself."""
    from discreet.curator.service.config import read_config

    if config.is_file():
        with config.open("rb") as file:
            if file.read(16) == b"SQLite format 3\x00":
                return config, None, None
    configured = read_config(config)
    return configured.ledger, configured.key, configured.head


def given_amount(epsilon: str, delta: str, rho: str, place: str) -> Measure | None:
    """The budget or cap that options name; None if they name none."""
    from discreet.curator.service.declarations import read_promise

    given = {name: value for name, value in (("epsilon", epsilon), ("delta", delta), ("rho", rho)) if value}
    return read_promise(given, place) if given else None
