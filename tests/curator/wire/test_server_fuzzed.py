"""Messages that no client sends: a sample here, 100,000 in ``make audit``; bench/wire.py holds memory against them."""

from __future__ import annotations

import logging
from random import Random

import psycopg
import pytest

from tests.helpers.curator.town import Town, charges
from tests.helpers.curator.wire import about
from tests.helpers.curator.wire_messages import message, start, talked
from tests.helpers.extent import extent

pytestmark = pytest.mark.slow
TOGETHER = 100


def test_no_message_ends_the_server_costs_or_surprises(
    served: tuple[Town, str], port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever comes is answered or disconnected: nothing is charged, and no error is one of ours."""
    before, signed = charges(served[0]), start(served[0].ann)
    with caplog.at_level(logging.ERROR, "discreet.curator.wire"):
        for seed in range(extent(1_000, 100_000) // TOGETHER):
            draw = Random(seed)
            talked(port, signed, [message(draw) for _ in range(TOGETHER)])
            assert not caplog.records, f"seed {seed}: {caplog.text}"
    with psycopg.connect(**about(port, served[0].ann)) as still:
        assert still.execute("SELECT 1").fetchone() == (1,)
    assert charges(served[0]) == before


def test_sixty_four_clients_hold(served: tuple[Town, str], port: int) -> None:
    clients = [psycopg.connect(**about(port, served[0].ann), autocommit=True) for _ in range(64)]
    try:
        assert [one.execute("SELECT 1").fetchone() for one in clients] == [(1,)] * len(clients)
    finally:
        for one in clients:
            one.close()
