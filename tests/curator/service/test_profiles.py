"""Profiles from a curator: paid, stored, used for choices by everyone, and found again in the ledger."""

from __future__ import annotations

import json
import re
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq
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


@pytest.mark.usefixtures("fixed_noise")
def test_a_preview_has_the_error_bars_of_corrected_counts(tmp_path: Path) -> None:
    """Units with 1 to 200 rows in many cities: each city is multiplied, and its bar is longer than the noise."""
    path = write_town(tmp_path / "town", people=2)
    cities = [f"city {i}" for i in range(60)]
    people = [unit for unit in range(4000) for _ in range(1 + 6000 // (30 + unit))]
    rows = {"person_id": people, "city": [cities[i % 60] for i in range(len(people))], "length": [1.0] * len(people)}
    pq.write_table(pa.table(rows), tmp_path / "town" / "data" / "trips.parquet")
    text = path.read_text().replace("max_rows = 5", 'max_rows = "auto"')
    text = re.sub(r"columns.day = [^\n]*\n", "", text)
    path.write_text(re.sub(r'(?s)(max_rows = "auto".*?city = )[^\n]*', rf"\1{{ keys = {json.dumps(cities)} }}", text))
    ann = Caller("ann", Role.ANALYST, "t", datetime(2099, 1, 1, tzinfo=UTC))
    count = SqlQuestion(sql="SELECT city, COUNT(*) AS n FROM trips GROUP BY city", price=Price("0.3"))
    with closing(open_curator(read_config(path), create=True)) as curator:
        curator.ledger.owner.add_analyst("ann")
        curator.ledger.owner.grant("ann", "town")
        curator.ask(ann, "town", ProfileQuestion(table="trips", columns=None, price=Price(50)))
        (preview,) = curator.preview(ann, "town", count)
        charge = curator.ask(ann, "town", count)
        assert charge.answer is not None
        answer = json.loads(charge.answer)
    assert any("n is corrected" in note for note in answer["notes"])
    assert preview["columns"][0]["error"] == pytest.approx(median(answer["errors"]["n"]), rel=0.5)


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
