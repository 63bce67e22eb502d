"""A PostgreSQL server that stops answering is given up in time."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

from discreet.errors import LedgerError, LedgerUnavailable
from discreet.ledger import open_ledger
from discreet.privacy.promises.measures import Pure
from tests.helpers.ledger_places import ask
from tests.helpers.postgres import Postgres


@pytest.mark.slow
def test_a_server_that_is_stopped_is_given_up_and_found_again(durable_postgres: Postgres, tmp_path: Path) -> None:
    """Fails without deadlines on this side: a stopped process ends no statement by itself."""
    dsn = durable_postgres.fresh()
    with open_ledger(dsn, key=tmp_path / "key", head=tmp_path / "head", create=True, patience=0.2) as ledger:
        ledger.owner.protect("town", Pure(1))
        ledger.owner.register("visits", "town", marks=["visits"])
        ledger.owner.add_analyst("ann")
        ledger.owner.grant("ann", "town")
        server = psutil.Process(durable_postgres.pid)
        stopped = [server.pid, *(child.pid for child in server.children(recursive=True))]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(LedgerError):
                ask(ledger, "a")
            with pytest.raises(LedgerUnavailable):
                ledger.look()
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        assert ask(ledger, "b").fresh
