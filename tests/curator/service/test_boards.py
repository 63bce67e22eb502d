"""boards.py: a dashboard is known again from its charge; another one under its name is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.curator.error_replies import Refusal
from discreet.curator.service.boards import BoardQuestion, advance, find_board, listed, open_board, opened
from discreet.curator.service.reply_timing import Grid
from discreet.errors import BadParameter, BadQuestion, KeyReused, NotRegistered
from discreet.session.price import Price
from tests.helpers.curator.town import Town, charges

ASKED = BoardQuestion(
    sql="SELECT city, COUNT(*) AS n FROM trips GROUP BY city", by="day", horizon=10, days=None, price=Price("1/3")
)


@pytest.mark.slow
def test_a_dashboard_is_known_from_its_charge(town: Town) -> None:
    curator, ann = town.curator, town.curator.access.who(f"Bearer {town.ann}")
    before = charges(town)
    opened(curator, ann, "town", "by/city", ASKED)
    assert charges(town) == before
    open_board(curator, ann, "town", "by/city", ASKED)
    released = advance(curator, ann, "town", "by/city", "2025-01-05")
    assert released.today.rows == find_board(curator, ann, "town", "by/city").history()[0].today.rows
    assert listed(curator, ann, "town")["by/city"].step == "2025-01-05"
    assert charges(town) == before + 1
    open_board(curator, ann, "town", "another", ASKED)
    with pytest.raises((KeyReused, BadParameter)):
        open_board(curator, ann, "town", "another", replace(ASKED, horizon=11))


def test_what_is_not_there_is_not_there(town: Town) -> None:
    curator, bob = town.curator, town.curator.access.who(f"Bearer {town.bob}")
    with pytest.raises(Refusal):
        find_board(curator, bob, "town", "by/city")
    with pytest.raises(NotRegistered):
        listed(curator, bob, "other")
    with pytest.raises(BadParameter, match="by is"):
        opened(curator, bob, "town", "x", replace(ASKED, by="nothing"))
    with pytest.raises(BadQuestion):
        opened(curator, bob, "town", "x", replace(ASKED, sql="SELECT MEDIAN(length) AS m FROM trips"))


def test_a_day_is_kept_on_the_grid_of_its_data_set(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    curator, ann = town.curator, town.curator.access.who(f"Bearer {town.ann}")
    held: list[tuple[float, int]] = []

    def hold(grid: Grid, _: float) -> None:
        held.append((grid.quantum, len(find_board(curator, ann, "town", "on time").days)))

    monkeypatch.setattr(Grid, "hold", hold)
    monkeypatch.setattr(type(curator), "grid_of", lambda *_: Grid(7.0))
    open_board(curator, ann, "town", "on time", ASKED)
    advance(curator, ann, "town", "on time", "2025-01-05", began=0.0)
    assert held == [(7.0, 0)], "whoever looks while the answer is held must not see it"
    assert len(find_board(curator, ann, "town", "on time").days) == 1
