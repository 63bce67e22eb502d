"""Profiles from a curator: paid, stored, used for choices by everyone, and found again in the ledger."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from discreet.curator.service.access import Caller, Role
from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.curator.service.questions import ProfileQuestion, SqlQuestion
from discreet.errors import BadParameter
from discreet.query.profile.questions import About
from discreet.session.price import Price
from tests.helpers.curator.land import write_town
from tests.helpers.curator.shop import Shop


def test_a_profile_is_charged_once_and_stored(shop: Shop) -> None:
    before = len(shop.remote.answers())
    first = shop.remote.profile("orders", epsilon=50, key="profile")
    assert shop.remote.profile("orders", epsilon=50, key="profile").histograms == first.histograms
    (charge,) = shop.remote.answers()[before:]
    assert charge["query"] == "profile(orders)"
    assert first.histograms[0].about is About.ROWS
    units, error = first.units("0.9999999")
    here = shop.here.profile("orders", epsilon=50)
    assert abs(units - here.units()[0]) <= 2 * error
    with pytest.raises(BadParameter):
        shop.remote.profile("orders", epsilon=1, columns=["prize"])
    assert len(shop.remote.answers()) == before + 1


def test_caps_are_chosen_from_a_profile_that_the_ledger_has(tmp_path: Path) -> None:
    path = write_town(tmp_path / "town", people=200)
    path.write_text(path.read_text().replace("max_rows = 5", 'max_rows = "auto"'))
    ann = Caller("ann", Role.ANALYST, "t", datetime(2099, 1, 1, tzinfo=UTC))
    count = SqlQuestion(sql="SELECT city, COUNT(*) AS n FROM trips GROUP BY city", price=Price(1))
    mean = SqlQuestion(sql="SELECT AVG(length) AS m FROM trips", price=Price(1))
    with closing(open_curator(read_config(path), create=True)) as curator:
        curator.ledger.owner.add_analyst("ann")
        curator.ledger.owner.grant("ann", "town")
        curator.ask(ann, "town", ProfileQuestion(table="trips", columns=None, price=Price(50)))
    with closing(open_curator(read_config(path))) as curator:
        (preview,) = curator.preview(ann, "town", count)
        assert "chosen from the profile of trips" in preview["notes"][0]
        found, said = (curator.preview(ann, "town", one)[0] for one in (mean, replace(mean, rows=77)))
        assert found["columns"][0]["rows"] == pytest.approx(3 * 200, rel=0.3)
        assert said["columns"][0]["rows"] == 77
        charge = curator.ask(ann, "town", count)
        assert charge.answer is not None
        assert "chosen from the profile of trips" in json.loads(charge.answer)["notes"][0]
