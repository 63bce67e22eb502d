"""Data sets that are open: opened once, anew when they are described anew; plans of each analyst apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
import pytest

from discreet.curator.service.config import read_config
from discreet.curator.service.library import read_answer
from discreet.curator.service.open_datasets import QUICK, Plans
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from discreet.curator.service.questions import SqlQuestion
from discreet.errors import BadData
from discreet.session.price import Price
from discreet.session.query import Query
from tests.helpers.curator.land import write_town
from tests.helpers.curator.town import COUNT, Town


def test_plans_are_kept_for_each_analyst_apart_and_the_oldest_goes() -> None:
    plans, query = Plans(most=2), [object() for _ in range(3)]
    for i, who in enumerate(("ann", "bob", "ann")):
        plans.put((who, f"SELECT {i}"), query[i])  # type: ignore[arg-type]
    assert plans.get(("ann", "SELECT 0")) is None
    assert plans.get(("bob", "SELECT 1")) is query[1]
    assert plans.get(("ann", "SELECT 1")) is None, "what bob asked saves ann no time"
    assert plans.get(("ann", "SELECT 2")) is query[2]


def test_a_preview_is_made_again_when_the_ledger_has_moved(new_town: Town) -> None:
    """Fails if what is left comes from before a charge, or a preview of one analyst is another's."""
    curator = new_town.curator
    ann, bob = (curator.access.who(f"Bearer {token}") for token in (new_town.ann, new_town.bob))
    asked = SqlQuestion(sql=COUNT, price=Price("1"))
    first = curator.preview(ann, "town", asked)
    assert curator.preview(ann, "town", asked)[0]["story"] is first[0]["story"]
    assert curator.previews_at_once(ann, "town", asked)
    assert not curator.previews_at_once(bob, "town", asked)
    curator.ask(ann, "town", asked)
    second = curator.preview(ann, "town", asked)
    assert second[0]["left"] != first[0]["left"]
    assert second[0]["columns"] == first[0]["columns"]


@pytest.mark.slow
def test_a_data_set_is_opened_once_and_anew_when_it_is_described_anew(town: Town) -> None:
    known, people = town.curator.ledger.datasets["town"], town.curator.population("town")
    opened = town.curator.open_datasets
    first = opened.get(known, lambda: people)
    assert opened.get(known, lambda: people) is first
    about: dict[str, Any] = {"tables": {"people": known.about["tables"]["people"]}}
    second = opened.get(replace(known, about=about), lambda: people)
    assert second is not first
    assert list(second.session.schemas) == ["people"]
    assert second.session.budget == people.budget
    assert opened.get(known, lambda: people).session.schemas.keys() == {"people", "trips"}


def test_why_a_data_set_cannot_be_opened_is_for_the_owner_alone(town: Town, caplog: pytest.LogCaptureFixture) -> None:
    known, people = town.curator.ledger.datasets["other"], town.curator.population("other")
    gone = {"tables": {"notes": {"source": "gone.csv", "unit": "who", "columns": {}}}}
    with pytest.raises(BadData) as found:
        town.curator.open_datasets.get(replace(known, about=gone), lambda: people)
    assert str(found.value) == "the data set cannot be opened now; the owner's log says why"
    assert "gone.csv" in caplog.text


@pytest.mark.slow
def test_a_plan_is_kept_only_once_its_size_was_checked(new_town: Town) -> None:
    plans = new_town.curator.open(new_town.curator.ledger.datasets["town"]).plans
    assert new_town.preview(COUNT, epsilon="1").status_code == 200
    assert plans.get(("ann", COUNT)) is not None
    object.__setattr__(new_town.curator.config.limits, "groups", 2)
    other = COUNT + " ORDER BY n"
    assert new_town.preview(other, epsilon="1").status_code == 422
    assert plans.get(("ann", other)) is None


@pytest.mark.slow
def test_a_prepared_data_set_is_answered_from_a_copy_that_follows_its_files(tmp_path: Path) -> None:
    path = write_town(tmp_path / "town")
    path.write_text(path.read_text().replace("[datasets.town]", "[datasets.town]\nprepared = true"))
    curator = open_curator(read_config(path), create=True)
    try:
        curator.ledger.owner.add_analyst("ann")
        curator.ledger.owner.grant("ann", "town")
        ann = curator.access.who("Bearer " + curator.access.issue("ann", Role.ANALYST))
        asked = SqlQuestion(sql="SELECT city, COUNT(*) AS n FROM people GROUP BY city", price=Price("1000"))
        copies = tmp_path / "town" / "prepared"

        def counts() -> list[int]:
            return [row[1] for row in read_answer(curator.ask(ann, "town", asked))["rows"]]

        assert counts() == [40, 40, 40]
        made = {one.name: one.stat().st_ino for one in copies.iterdir()}
        assert len(made) == 2  # people and trips
        assert counts() == [40, 40, 40]
        assert {one.name: one.stat().st_ino for one in copies.iterdir()} == made
        source = tmp_path / "town" / "data" / "people.parquet"
        pq.write_table(pq.read_table(source).slice(0, 30), source)
        assert counts() == [10, 10, 10]
        assert len({one.stat().st_ino for one in copies.iterdir()} & set(made.values())) == 1  # trips did not change
    finally:
        curator.close()


def test_a_preview_is_quick_once_it_was_and_only_while_its_plan_is_kept() -> None:
    plans, query = Plans(most=1), [cast(Query, object()) for _ in range(2)]
    one, two = ("ann", "SELECT 1"), ("ann", "SELECT 2")
    plans.note(one, 0.0)
    assert not plans.quick(one)  # there is no plan
    plans.put(one, query[0])
    plans.note(one, QUICK)
    assert not plans.quick(one)
    plans.note(one, QUICK / 2)
    assert plans.quick(one)
    plans.put(one, query[1])  # another plan: nothing is known of it
    assert not plans.quick(one)
    plans.note(one, 0.0)
    plans.put(two, query[0])
    assert not plans.quick(one)
