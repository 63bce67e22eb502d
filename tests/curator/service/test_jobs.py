"""Jobs: what is refused costs nothing, a few at a time, replies on the grid."""

from __future__ import annotations

import pytest

from discreet.curator.service.job_questions import SyntheticQuestion
from discreet.curator.service.jobs import Jobs
from discreet.curator.service.reply_timing import Grid
from discreet.errors import BadParameter, OverBudget, ServiceBusy
from discreet.session.price import Price
from tests.helpers.curator.town import Town, charges
from tests.helpers.processes import until

ASKED = SyntheticQuestion(table="people", price=Price("1"), rows=20, columns=("city",), quick=True)


@pytest.mark.slow
def test_refusals_cost_nothing(new_town: Town) -> None:
    jobs, caller = Jobs(new_town.curator), new_town.curator.access.who(f"Bearer {new_town.ann}")
    for bad in (
        SyntheticQuestion(table="nobody", price=Price("1"), rows=1),
        SyntheticQuestion(table="people", price=Price("1"), rows=10**9),
        SyntheticQuestion(table="people", price=Price("1"), rows=1, columns=("nothing",)),
        SyntheticQuestion(table="people", price=Price("1"), rows=1, workload="some"),
        SyntheticQuestion(table="people", price=Price(), rows=1),
    ):
        with pytest.raises(BadParameter):
            jobs.start(caller, "town", bad)
    with pytest.raises(OverBudget):
        jobs.start(caller, "town", SyntheticQuestion(table="people", price=Price("100000000"), rows=1))
    assert charges(new_town) == 0


@pytest.mark.slow
def test_only_so_many_at_a_time(new_town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, caller = Jobs(new_town.curator), new_town.curator.access.who(f"Bearer {new_town.ann}")
    for _ in range(2):
        jobs._free.acquire()
    with pytest.raises(ServiceBusy, match="nothing was spent"):
        jobs.start(caller, "town", ASKED)
    assert charges(new_town) == 0


def test_a_job_keeps_to_the_grid_of_its_data_set(new_town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, caller = Jobs(new_town.curator), new_town.curator.access.who(f"Bearer {new_town.ann}")
    held: list[float] = []
    monkeypatch.setattr(Grid, "hold", lambda grid, *_: held.append(grid.quantum))
    monkeypatch.setattr(type(new_town.curator), "grid_of", lambda *_: Grid(7.0))
    number = jobs.start(caller, "town", ASKED).sequence
    until(lambda: jobs.state(caller, number, "synthetic")["state"] != "running", what="done")
    assert held
    assert set(held) == {7.0}
