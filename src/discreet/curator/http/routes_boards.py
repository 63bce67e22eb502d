"""Dashboards over HTTP: preview, open (which pays for all days), read one more day, look at what was released."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import FastAPI, Query, Request
from pydantic import BaseModel, Field, StrictInt, StrictStr

from discreet.answer import CONFIDENCE
from discreet.continual.counter import Method
from discreet.curator.http.middleware import BEGAN
from discreet.curator.http.requests import Days, In, Name, Priced, Text
from discreet.curator.http.routes_look import DatasetName, caller_of
from discreet.curator.service import boards
from discreet.curator.service.boards import BoardQuestion
from discreet.curator.service.service import Curator
from discreet.session.board import Board

Width = Annotated[int, Query(ge=0, le=4096, description="sums over so many days; 0: totals")]
Level = Annotated[str, Query(min_length=1, max_length=40, description="of the confidence intervals")]


class BoardIn(Priced):
    """A question, the column of its days, and a price for all of them."""

    sql: Text
    by: Name
    horizon: Days
    days: Days | None = None
    method: Annotated[StrictStr, Field(min_length=1, max_length=20)] = Method.BEST.value
    """What gets noise: best, values, prefixes, tree or square_root."""
    max_rows: Annotated[StrictInt, Field(ge=1, le=1 << 16)] | None = None
    """Rows of one unit that count on one day; the table's own cap if left out."""

    def question(self) -> BoardQuestion:
        """What is asked."""
        price = replace(self.price(), confidence=CONFIDENCE)  # that of the bars, which decides nothing
        return BoardQuestion(
            sql=self.sql, by=self.by, horizon=self.horizon, days=self.days, price=price, method=self.method,
            max_rows=self.max_rows,
        )  # fmt: skip


class DayIn(In):
    """The day to read."""

    day: Annotated[StrictStr, Field(min_length=10, max_length=10)]
    confidence: Annotated[StrictStr, Field(min_length=1, max_length=40)] = "0.95"


class BoardPreviewOut(BaseModel):
    """What a dashboard costs, and its error bars: of the last day, and of the total after all days."""

    cost: str
    horizon: int
    days: int
    day_errors: dict[str, float]
    total_errors: dict[str, float]
    confidence: float
    counted: str
    method: str


class BoardName(BaseModel):
    """A dashboard, and how many of its days were released."""

    name: str
    position: int
    last: str | None
    ended: bool


class BoardDayOut(BaseModel):
    """A released day, or sums over the last days up to it, with error bars."""

    day: str
    position: int
    width: int
    columns: list[str]
    rows: list[list[str | int | float | bool | None]]
    errors: dict[str, list[float | None]]


class BoardOut(BaseModel):
    """A dashboard and what it has released."""

    name: str
    horizon: int
    cost: str
    confidence: str
    days: list[BoardDayOut]


def add_routes(app: FastAPI, curator: Curator) -> None:
    """Add the routes, for one curator."""

    def out(name: str, board: Board, width: int, confidence: str) -> BoardOut:
        found = [one for one in board.history() if one.position >= width]
        written = [one.as_dict(width or one.position, confidence) for one in found]
        return BoardOut(
            name=name, horizon=board.horizon, cost=str(board.price), confidence=confidence,
            days=[BoardDayOut(**one) for one in written],
        )  # fmt: skip

    @app.get("/api/datasets/{dataset}/boards")
    def list_boards(request: Request, dataset: DatasetName) -> list[BoardName]:
        """Your dashboards of a data set."""
        return [
            BoardName(name=name, position=one.position, last=one.step or None, ended=one.ended)
            for name, one in boards.listed(curator, caller_of(request), dataset).items()
        ]

    @app.post("/api/datasets/{dataset}/boards/{board}/preview")
    def preview_board(request: Request, dataset: DatasetName, board: DatasetName, body: BoardIn) -> BoardPreviewOut:
        """What a dashboard would cost for all of its days, and its error bars. Free; no data is touched."""
        found, _ = boards.opened(curator, caller_of(request), dataset, board, body.question())
        return BoardPreviewOut.model_validate(found.preview(str(body.confidence)), from_attributes=True)

    @app.post("/api/datasets/{dataset}/boards/{board}")
    def open_board(request: Request, dataset: DatasetName, board: DatasetName, body: BoardIn) -> BoardOut:
        """Open a dashboard and pay for all of its days. The same again costs nothing more."""
        found = boards.open_board(curator, caller_of(request), dataset, board, body.question())
        return out(board, found, 1, str(body.confidence))

    @app.get("/api/datasets/{dataset}/boards/{board}")
    def look_at_board(
        request: Request, dataset: DatasetName, board: DatasetName, width: Width = 1, confidence: Level = "0.95"
    ) -> BoardOut:
        """What a dashboard has released: each day, or sums over the last days. Free."""
        found = boards.find_board(curator, caller_of(request), dataset, board)
        return out(board, found, width, confidence)

    @app.post("/api/datasets/{dataset}/boards/{board}/advance")
    async def advance_board(request: Request, dataset: DatasetName, board: DatasetName, body: DayIn) -> BoardDayOut:
        """Read one more day, release it and keep it. It was paid for when the dashboard was opened."""
        caller, began = caller_of(request), request.scope[BEGAN]

        def released() -> BoardDayOut:
            one = boards.advance(curator, caller, dataset, board, body.day, began=began)
            return BoardDayOut(**one.as_dict(1, body.confidence))

        return await run_sync(released)
