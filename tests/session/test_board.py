"""board.py: a dashboard day by day: what it releases, what it costs, and in which order it refuses."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from datetime import date
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import discreet as dp
from discreet.continual.release import Stream
from discreet.engines.memory.engine import memory
from discreet.errors import BadParameter, DiscreetError, EngineFailed, NotATheorem, OverBudget, StaleState
from discreet.session.board import Board, BoardTerms, MemoryBoard, plan_board
from discreet.session.price import Price
from tests.helpers.boards import MANY, SQL, day, session, table_of

SURE = "0.999999999"  # each bar misses with probability 1e-9
EXACT = {
    (i, clinic): (len(costs), sum(costs))
    for i in range(5)
    for clinic in ("North", "South", "West")
    for costs in [[cost for _, at, where, cost in MANY if (at, where) == (i, clinic)]]
}


def board(s: dp.Session, **options: Any) -> Board:
    given: dict[str, Any] = {"by": "day", "horizon": 365, "epsilon": 1} | options
    return s.continual(given.pop("sql", SQL), **given)


class Flaky:
    """An engine that fails when it is told to, and counts how often it is asked."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.fails = False
        self.runs = 0

    name = "flaky"

    def columns(self, source: object) -> Any:
        return self._inner.columns(source)

    def run(self, works: Sequence[Any], schemas: Any) -> Any:
        self.runs += 1
        if self.fails:
            raise EngineFailed
        return self._inner.run(works, schemas)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [dp.Approx(10, "1e-6"), dp.Pure(10), dp.ZCDP(10)], ids=str)
@pytest.mark.parametrize("days", [None, 5])
def test_each_day_the_totals_and_the_windows_hold_within_their_bars(budget: Any, days: int | None) -> None:
    """At most 5 bars of 4 days and 3 windows with 9 numbers: a false alarm in 1e-6 or less."""
    s = session(budget=budget)
    price = {"rho": 1, "epsilon": None} if isinstance(budget, dp.ZCDP) else {}
    found = board(s, days=days, horizon=30, **price)
    for i in range(4):
        released = found.advance(day(i))
        for answer, first in (
            (released.today, i),
            (released.total, 0),
            (released.window(min(2, i + 1)), max(0, i - 1)),
        ):
            bars = answer.errors(SURE)
            for row, n, total in zip(answer, bars["n"], bars["s"], strict=True):
                exact = [EXACT[k, row["clinic"]] for k in range(first, i + 1)]
                assert abs(row["n"] - sum(e[0] for e in exact)) <= n
                assert abs(row["s"] - sum(e[1] for e in exact)) <= total
                assert 0 <= row["mean"] <= 100
    assert found.days == tuple(day(i) for i in range(4))
    assert [one.day for one in found.history()] == list(found.days)


@pytest.mark.slow
def test_all_windows_agree() -> None:
    """Sums over days are differences of the same totals: parts add up to the whole, but for rounding to whole rows."""
    found = board(session(), sql="SELECT clinic, SUM(cost / 2.0) AS s FROM visits GROUP BY clinic", days=7)
    for i in range(5):
        last = found.advance(day(i))
    parts = [sum(column) for column in zip(*(one.today["s"] for one in found.history()), strict=True)]
    assert parts == pytest.approx(last.total["s"])
    assert [a + b for a, b in zip(found.on(day(2)).total["s"], last.window(2)["s"], strict=True)] == pytest.approx(
        last.total["s"]
    )


def test_one_price_for_all_days_paid_by_the_first() -> None:
    s = session()
    found = board(s)
    preview = found.preview()
    assert "for 365 days" in str(preview)
    assert s.remaining == s.budget
    for i in range(3):
        released = found.advance(day(i))
        assert isinstance(s.remaining, dp.Approx)
        assert s.remaining.epsilon == 9
    assert released.today.cost == preview.cost
    assert preview.total_errors["n"] > preview.day_errors["n"]


@pytest.mark.slow
def test_the_preview_is_the_bar_of_the_last_day() -> None:
    found = board(session(), horizon=3, days=2)
    preview = found.preview()
    for i in range(3):
        released = found.advance(day(i))
    for name in ("n", "s"):
        assert released.today.errors()[name][0] == pytest.approx(preview.day_errors[name], rel=1e-3, abs=1)
        assert released.total.errors()[name][0] == pytest.approx(preview.total_errors[name], rel=1e-3, abs=1)


@pytest.mark.slow
def test_fewer_days_and_shorter_horizons_have_less_noise() -> None:
    s = session()
    errors = [board(s, days=days).preview().total_errors["s"] for days in (1, 12, None)]
    assert errors == sorted(errors)
    assert board(s, horizon=30).preview().day_errors["s"] < board(s).preview().day_errors["s"]


def test_noise_on_each_day_is_best_for_days_and_worst_for_totals() -> None:
    s = session()
    best, values = (board(s, days=30, method=method).preview() for method in ("best", "values"))
    assert values.day_errors["s"] < best.day_errors["s"] / 4
    assert best.total_errors["s"] < values.total_errors["s"]
    for method in ("binned", "none"):
        with pytest.raises(BadParameter, match="method"):
            board(s, method=method)


def test_what_is_over_budget_is_refused_before_a_row_is_read() -> None:
    engine = Flaky(dp.engines.duckdb())
    s = session(engine=engine)
    found = board(s, epsilon=11)
    with pytest.raises(OverBudget):
        found.advance(day(0))
    assert engine.runs == 0
    assert s.remaining == s.budget


def test_a_day_twice_or_out_of_order_or_past_the_horizon_is_refused_and_not_read() -> None:
    engine = Flaky(dp.engines.duckdb())
    found = board(session(engine=engine), horizon=2)
    found.advance(day(1))
    with pytest.raises(BadParameter, match="released already"):
        found.advance(day(1))
    with pytest.raises(BadParameter, match="lies before"):
        found.advance(day(0))
    found.advance(day(3))
    with pytest.raises(NotATheorem, match="priced for 2 steps"):
        found.advance(day(4))
    assert engine.runs == 2


def test_days_that_were_not_released_and_too_wide_windows_are_refused() -> None:
    found = board(session())
    found.advance(day(0))
    with pytest.raises(BadParameter, match="was released"):
        found.on(day(1))
    with pytest.raises(BadParameter, match="width"):
        found.on(day(0)).window(2)
    with pytest.raises(BadParameter, match="position"):
        found.answer(2, 1)


def test_an_engine_that_fails_has_cost_no_day() -> None:
    engine = Flaky(dp.engines.duckdb())
    s = session(engine=engine)
    found = board(s)
    engine.fails = True
    with pytest.raises(EngineFailed):
        found.advance(day(0))
    paid = s.remaining
    assert paid != s.budget
    assert found.days == ()
    engine.fails = False
    found.advance(day(0))
    assert s.remaining == paid


@pytest.mark.slow
def test_rows_that_come_late_or_are_corrected_do_not_count(tmp_path: Path) -> None:
    file = tmp_path / "visits.parquet"
    rows = [(i, 0, "North", 50) for i in range(100)]
    pyarrow.parquet.write_table(table_of(rows), file)
    s = session(str(file), budget=dp.Pure(10**9))
    found = board(s, epsilon=10**7, horizon=5)
    assert found.advance(day(0)).today["n"] == [100, 0, 0]
    late = [(i, 0, "North", 50) for i in range(100, 150)]
    new = [(i, 1, "South", 1) for i in range(7)]
    pyarrow.parquet.write_table(table_of(rows[:50] + late + new), file)
    released = found.advance(day(1))
    assert released.today["n"] == [0, 7, 0]
    assert released.total["n"] == [100, 7, 0]
    assert found.on(day(0)).today["n"] == [100, 0, 0]


@pytest.mark.slow
def test_people_who_come_more_often_than_they_may_stop_to_count() -> None:
    rows = [(1, i, "North", 10) for i in range(5)] + [(2, 4, "North", 10)]
    found = board(session(rows, budget=dp.Pure(10**9)), epsilon=10**7, horizon=10, days=2)
    assert [found.advance(day(i)).today["n"][0] for i in range(5)] == [1, 1, 0, 0, 1]


def test_nobody_is_counted_anew_under_an_id_of_another_type(tmp_path: Path) -> None:
    """7 and "7" are two units: a table that was stored again would count everybody's days from the start."""
    numbers = table_of(MANY)
    text = numbers.set_column(0, "patient", numbers.column("patient").cast("string"))
    real = numbers.set_column(0, "patient", numbers.column("patient").cast("float64"))

    def opened(rows: Any) -> Board:
        own = session(rows, budget=dp.ZCDP(9), ledger=str(tmp_path / "budget.db"))
        return own.continual(SQL, by="day", horizon=4, days=1, rho=1, name="clinics")

    first = opened(numbers).advance(day(0)).today
    with pytest.raises(BadParameter, match="must be stored as numbers"):
        opened(text)
    board = opened(real)  # whole numbers stay the same units
    assert board.on(day(0)).today.rows == first.rows
    assert board.advance(day(1)).total["n"] == pytest.approx(first["n"], abs=60), "nobody may come twice"


def test_what_could_not_be_kept_is_not_shown_and_the_board_stops() -> None:
    class Full(MemoryBoard):
        def advance(self, position: int, state: bytes, step: str) -> None:
            raise StaleState("no")

    s = session()
    wanted = BoardTerms(by="day", horizon=5, days=None, price=Price(1))
    found = plan_board(s._backend, s.sql(SQL), wanted, record=Full(s._backend.budget_store))
    for _ in range(2):
        with pytest.raises(StaleState):
            found.advance(day(0))
    assert found.days == found.history() == ()


# --- every sequence of moves ------------------------------------------------------------------------------------------


class Kept:
    """A record as a ledger keeps it: the state of the next position only; it may fail before or after it was kept."""

    def __init__(self) -> None:
        self.position = 0
        self.state: bytes | None = None
        self.fails = ""

    def pay(self, price: Any) -> None:
        pass

    def latest(self) -> bytes | None:
        return self.state

    def advance(self, position: int, state: bytes, step: str) -> None:
        fails, self.fails = self.fails, ""
        if fails == "before":
            raise OSError("the disk is full")
        if position != self.position + 1:
            raise StaleState("no")
        self.position, self.state = position, state
        if fails == "after":
            raise OSError("the line broke")


def seen_draws(moves: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[set[int]]]:
    """The exact value behind each draw, and for each day the draws that anybody can see; ann is there every day.

    ``advance``: the newest board reads its next day; ``first``: the first one does; ``reopen``: another board from what
    the record holds; ``before``, ``after``: the record fails next time, before or after it has kept the state.
    """
    exact: list[int] = []

    def tagged(self: Stream, values: Any) -> Any:
        exact.append(int(values.sum()))
        return self._rows.estimate(self._rows.measure(values) + (len(exact) << 32), 1)

    monkeypatch.setattr(Stream, "_step", tagged)
    s, record = session([(1, i, "North", 1) for i in range(4)], engine=memory(), budget=dp.Pure(10**9)), Kept()
    sql = "SELECT COUNT(*) AS n FROM visits"

    def opened() -> Board:
        wanted = BoardTerms(by="day", horizon=4, days=1, method="values", price=Price(1))
        return plan_board(s._backend, s.sql(sql), wanted, record=record)

    boards = [opened()]
    days: list[set[int]] = [set() for _ in range(4)]
    for move in moves:
        try:
            match move:
                case "advance" | "first":
                    one = boards[-1 if move == "advance" else 0]
                    one.advance(day(len(one.days)))
                case "reopen":
                    boards.append(opened())
                case _:
                    record.fails = move
        except (OSError, DiscreetError):
            pass
        for one in boards:
            totals = [0, *(int(line[0]) for line in one._sums[0])]
            for place, (before, now) in enumerate(pairwise(totals)):
                days[place].add((now - before) >> 32)
    return exact, days


@pytest.mark.slow
def test_no_sequence_of_days_crashes_and_reopened_boards_shows_a_day_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sequences of four moves: a day that was drawn again is seen once, and ann is counted on one day in all.

    The twin shows a day before it is kept, as boards did after a failure.
    """
    moves = ("advance", "first", "reopen", "before", "after")

    def worst() -> tuple[int, int]:
        draws, counted = 0, 0
        for path in product(moves, repeat=4):
            if path[-1] in moves[3:] or "advance" not in path:  # nothing is seen of these
                continue
            exact, days = seen_draws(path, monkeypatch)
            draws = max(draws, *(len(ids) for ids in days))
            counted = max(counted, sum(exact[i - 1] > 0 for ids in days for i in ids))
        return draws, counted

    assert worst() == (1, 1)

    def eager(self: Board, today: date, values: Sequence[Any]) -> None:
        self._unsure = True
        for stream, line, sums in zip(self._streams, values, self._sums, strict=True):
            sums.append(stream.push(line)[0])
        self._days.append(today)
        self._record.advance(len(self._days), self._state(self._days, self._sums), today.isoformat())
        self._unsure = False

    monkeypatch.setattr(Board, "_release", eager)
    draws, counted = worst()
    assert draws > 1
    assert counted > 1


def test_a_board_cannot_be_copied() -> None:
    with pytest.raises(NotATheorem):
        pickle.dumps(board(session()))


@pytest.mark.slow
def test_a_board_that_would_keep_too_many_numbers_is_refused() -> None:
    many = dp.table({"patient": [1], "day": [day(0)], "shop": [1]}, unit="patient",
                    columns={"shop": dp.keys(range(20_000))})  # fmt: skip
    s = dp.Session(visits=many, budget=dp.Pure(1))
    with pytest.raises(BadParameter, match="must be smaller"):
        s.continual("SELECT shop, COUNT(*) AS n FROM visits GROUP BY shop", by="day", horizon=365, epsilon=1)


@pytest.mark.parametrize("price", [{"epsilon": 0}, {"epsilon": -1}, {"epsilon": "much"}, {"epsilon": None}, {"rho": 1}])
def test_bad_prices_are_refused(price: dict[str, Any]) -> None:
    s = session()
    with pytest.raises(BadParameter):
        board(s, **({"epsilon": None} | price))
    assert s.remaining == s.budget


def test_the_same_state_has_another_hash_each_time() -> None:
    """Hashes of states are in the ledger: whoever could make the state from a guess could try who was counted."""
    found = board(session(), days=5)
    found.advance(day(0))
    one, other = (json.loads(found._state(found._days, found._sums)) for _ in range(2))
    assert len(one["salt"]) == len(other["salt"]) == 64
    assert one.pop("salt") != other.pop("salt")
    assert one == other


# --- caps and bounds that nobody declared -----------------------------------------------------------------------------


def _open_table(**columns: Any) -> Any:
    rows = {"id": [i // 2 for i in range(400)], "day": [day(i % 2) for i in range(400)], "cost": [50] * 400}
    return dp.table(rows, unit="id", max_rows="auto", columns=columns)


def test_a_cap_that_is_to_be_chosen_is_asked_for_and_can_be_given() -> None:
    s = dp.Session(visits=_open_table(), budget=dp.Pure(10))
    ask = {"sql": "SELECT COUNT(*) AS n FROM visits", "horizon": 2, "epsilon": 8}
    s.profile("visits", epsilon=1)  # tells nothing of a day
    with pytest.raises(BadParameter, match=r"max_rows=\.\.\..*suggest_max_rows.*where="):
        board(s, **ask)
    for wrong in (0, "auto", 1 << 17):
        with pytest.raises(BadParameter, match="max_rows"):
            board(s, **ask, max_rows=wrong)
    assert s.remaining == dp.Pure(9)
    found = board(s, **ask, max_rows=1).advance(day(0))
    assert s.remaining == dp.Pure(1)
    assert abs(found.today.value - 200) <= found.today.errors(SURE)["n"][0]
    assert "Rows are limited to 1 per unit" in found.today.story[0]


def test_open_bounds_are_refused_and_a_profile_changes_nothing_about_it() -> None:
    s = dp.Session(visits=_open_table(cost=dp.bounds("auto")), budget=dp.Pure(1000))
    ask = {"sql": "SELECT SUM(cost) AS s FROM visits", "horizon": 2, "epsilon": 100, "max_rows": 1}
    s.profile("visits", epsilon=100)
    with pytest.raises(dp.errors.BadQuestion, match="needs public bounds"):  # it was answered with bounds of 0 and 1
        board(s, **ask)
    assert s.remaining == dp.Pure(900)


def test_a_dashboard_that_is_kept_needs_numbers(tmp_path: Path) -> None:
    s = dp.Session(visits=_open_table(cost=dp.bounds("auto")), budget=dp.Pure(1000), ledger=tmp_path / "budget.db")
    ask = {"sql": "SELECT SUM(cost) AS s FROM visits", "horizon": 2, "epsilon": 100, "max_rows": 1}
    s.profile("visits", epsilon=100)
    left = s.remaining
    with pytest.raises(dp.errors.BadQuestion, match="CLAMP"):
        board(s, **ask)
    assert s.remaining == left
    clamped = ask | {"sql": "SELECT SUM(CLAMP(cost, 0, 64)) AS s FROM visits", "name": "costs"}
    board(s, **clamped).advance(day(0))
    s.profile("visits", epsilon=100)
    found = board(s, **clamped)
    assert found.days == (day(0),)
    assert abs(found.advance(day(1)).today.value - 200 * 50) < 50 * 64
