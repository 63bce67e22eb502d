"""Dashboards of a curator: one question of an analyst, answered day by day, at one price for all days.

Promise: a dashboard is opened and paid by one request; after that a day is read once, in order, and costs nothing more.
What it asks is in the ledger, in its charge; where it stands is in the ledger too. A day is kept on the grid of time,
so that looking for it again and again tells no more than its reply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.continual.counter import Method
from discreet.curator.error_replies import Refusal
from discreet.curator.limits import check_size
from discreet.curator.service.access import Caller
from discreet.curator.service.service import Curator
from discreet.errors import BadParameter
from discreet.ledger.owner_acts import check_name
from discreet.ledger.state import StreamPosition
from discreet.session.board import Board, BoardDay, BoardTerms, plan_board
from discreet.session.ledger_budget import LedgerBoard, stream_name
from discreet.session.price import Price
from discreet.session.query import prepared_of, read_query


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardQuestion(BoardTerms):
    """What a dashboard asks, of which days, and at which price."""

    sql: str

    @classmethod
    def read(cls, query: str, written: Mapping[str, Any]) -> BoardQuestion:
        """As a charge in the ledger has it."""
        price = Price(**{name: written[name] for name in ("epsilon", "delta", "rho", "confidence") if name in written})
        return cls(
            sql=query, by=written["by"], horizon=written["horizon"], days=written["days"], price=price,
            method=written.get("method", Method.BEST.value), max_rows=written.get("max_rows"),
        )  # fmt: skip


def opened(
    curator: Curator, caller: Caller, dataset: str, name: str, question: BoardQuestion
) -> tuple[Board, LedgerBoard]:
    """A dashboard as it stands, or a new one. No data is touched, and nothing is spent."""
    registered, people = curator.dataset(caller, dataset)
    record = LedgerBoard(
        curator.ledger, dataset, caller.name, name=check_name(name, "name"), query=question.sql.strip(),
        parameters=question.texts(people.neighbours), folder=_folder(curator),
    )  # fmt: skip
    backend = curator.open(registered).backend.serving(record.budget_store)
    query = read_query(backend, question.sql)
    check_size(prepared_of([query]), curator.config.limits)
    board = plan_board(backend, query, question, record=record)
    return board, record


def open_board(curator: Curator, caller: Caller, dataset: str, name: str, question: BoardQuestion) -> Board:
    """Open a dashboard and pay for all of its days; the same again changes nothing."""
    board, record = opened(curator, caller, dataset, name, question)
    record.pay(board.price)
    return board


def find_board(curator: Curator, caller: Caller, dataset: str, name: str) -> Board:
    """A dashboard of the caller, as its charge describes it."""
    return _found(curator, caller, dataset, name)[0]


def _found(curator: Curator, caller: Caller, dataset: str, name: str) -> tuple[Board, LedgerBoard]:
    curator.dataset(caller, dataset)
    stream = curator.ledger.stream(stream_name(caller.name, dataset, name))
    if stream is None:
        raise Refusal.nothing_here()
    charge = curator.ledger.charge(stream.charge).record
    return opened(curator, caller, dataset, name, BoardQuestion.read(charge.query, charge.parameters))


def advance(
    curator: Curator, caller: Caller, dataset: str, name: str, day: str, *, began: float | None = None
) -> BoardDay:
    """Read one more day and release it. It is kept on the grid of time: it cannot be seen sooner."""
    board, record = _found(curator, caller, dataset, name)
    registered, _ = curator.dataset(caller, dataset)
    with ExitStack() as held:
        held.enter_context(curator.open(registered).engine.reserved(caller.name))

        def wait() -> None:
            held.close()  # the engine is done: others may have it
            if began is not None:
                curator.grid_of(dataset).hold(began)

        record.before_kept = wait
        return board.advance(day)


def listed(curator: Curator, caller: Caller, dataset: str) -> dict[str, StreamPosition]:
    """The caller's dashboards of a data set by name, oldest first."""
    curator.dataset(caller, dataset)
    streams = {tuple(json.loads(name)): stream for name, stream in curator.ledger.look().streams.items()}
    return {name: position for (by, of, name), position in streams.items() if (by, of) == (caller.name, dataset)}


def _folder(curator: Curator) -> Path:
    place = curator.config.ledger
    if not isinstance(place, Path):
        raise BadParameter(
            "ledger", "PostgreSQL", "must be a file for dashboards: their state lies beside it, on one machine"
        )
    return place.with_name(f"{place.name}.boards")
