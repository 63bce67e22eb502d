"""Profiles from a curator: paid and stored; old ones are shown, and choose nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from discreet.curator.http.responses import read_answer
from discreet.curator.service.access import Caller
from discreet.curator.service.config import read_config
from discreet.curator.service.job_questions import SyntheticQuestion
from discreet.curator.service.jobs import TOGETHER, Jobs
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from discreet.curator.service.questions import SqlQuestion
from discreet.curator.service.service import Curator
from discreet.errors import BadParameter
from discreet.ledger.records import ChargeRecord
from discreet.privacy.promises.measures import Approx
from discreet.query.answer.serialize import dump
from discreet.query.profile.questions import About
from discreet.session.price import Price
from tests.helpers.curator.land import write_town
from tests.helpers.curator.shop import Shop

pytestmark = pytest.mark.slow

ANN, BOB = (Caller(name, Role.ANALYST, "t", datetime(2099, 1, 1, tzinfo=UTC)) for name in ("ann", "bob"))


@contextmanager
def opened(folder: Path) -> Iterator[Curator]:
    """A town of whose trips the contribution bound is open."""
    path, new = folder / "curator.toml", not folder.exists()
    if new:
        write_town(folder)
        path.write_text(path.read_text().replace("max_rows = 5", 'max_rows = "auto"'))
    with closing(open_curator(read_config(path), create=new)) as curator:
        if new:
            for one in (ANN, BOB):
                curator.ledger.owner.add_analyst(one.name)
                curator.ledger.owner.grant(one.name, "town")
        yield curator


def test_a_profile_is_charged_once_and_stored(shop: Shop) -> None:
    before = len(shop.remote.charges())
    first = shop.remote.profile("orders", epsilon=50, key="profile")
    assert shop.remote.profile("orders", epsilon=50, key="profile").histograms == first.histograms
    (charge,) = shop.remote.charges()[before:]
    assert charge["query"] == "profile(orders)"
    assert first.histograms[0].about is About.ROWS
    units, error = first.units("0.9999999")
    here = shop.here.profile("orders", epsilon=50)
    assert abs(units - here.units()[0]) <= 2 * error
    with pytest.raises(BadParameter):
        shop.remote.profile("orders", epsilon=1, columns=["prize"])
    assert len(shop.remote.charges()) == before + 1


def test_synthetic_rows_choose_what_is_open_in_their_own_charge(tmp_path: Path) -> None:
    asked = SyntheticQuestion(table="trips", price=Price(20), rows=10, columns=("city",), quick=True)
    with opened(tmp_path / "town") as curator:
        jobs = Jobs(curator)
        number = jobs.start(ANN, "town", asked, "once").sequence
        assert jobs.start(ANN, "town", asked, "once").sequence == number
        for _ in range(TOGETHER):  # until the job has ended
            assert jobs._free.acquire(timeout=60)
        found = jobs.state(ANN, number, "synthetic")
        assert (found["state"], found["result"]["rows"]) == ("done", 10)
        assert "were scaled down to that" in found["result"]["story"][0]
        (line,) = curator.ledger.entries(kind=ChargeRecord.KIND)
        assert line.entry.sequence == number


# --- ledgers of older versions ----------------------------------------------------------------------------------------

TABLE: Mapping[str, Any] = {
    "columns": ["n"], "rows": [[3]], "errors": {"n": [1.5]}, "confidence": "19/20", "cost": "epsilon 1", "story": [],
    "cut": {"cap": 3, "low": 0.0, "high": 0.5, "share": 0.25}, "notes": ["a cap of 3 rows cuts 25 % of all"],
}  # fmt: skip
OLD: list[tuple[str, dict[str, Any]]] = [
    ("profile(trips: city)", {"profile": "trips", "columns": ["city"], "sizes": False}),
    ("sizes of units for: SELECT COUNT(*) FROM trips", {"units": "sizes"}),
    ("SELECT COUNT(*) AS n FROM trips", {}),
]


def test_a_ledger_in_which_questions_bought_profiles_first_opens_and_shows_all_charges(tmp_path: Path) -> None:
    with opened(tmp_path / "town") as curator:
        for i, (query, parameters) in enumerate(OLD):
            named: dict[str, Any] = {"epsilon": "1", "confidence": "19/20", **parameters}
            charge = curator.ledger.spend("town", "ann", Approx(1, 0), key=f"k{i}", query=query, parameters=named)
            stored = {"answers": [TABLE], "confidence": "19/20", "cost": "epsilon 1"} if parameters else TABLE
            curator.ledger.store_answer(charge, dump(stored))
    with opened(tmp_path / "town") as curator:
        lines = curator.ledger.entries(kind=ChargeRecord.KIND)
        assert [ChargeRecord.read(line.entry).query for line in lines] == [query for query, _ in OLD]
        for line in lines:
            shown = read_answer(json.loads(curator.answer(ANN, line.entry.sequence).answer or b"")).model_dump()
            (table,) = shown.get("answers", [shown])
            assert (table["rows"], table["notes"]) == (TABLE["rows"], TABLE["notes"])
            assert "cut" not in table
        assert curator.ask(ANN, "town", SqlQuestion(sql=OLD[2][0], price=Price(1))).answer
        assert curator.verified()["ok"]
