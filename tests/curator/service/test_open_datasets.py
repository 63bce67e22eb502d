"""Data sets that are open: opened once, anew when they are described anew; plans of each analyst apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from discreet.curator.service.open_datasets import Plans
from discreet.errors import BadData
from tests.helpers.curator.town import COUNT, Town


def test_plans_are_kept_for_each_analyst_apart_and_the_oldest_goes() -> None:
    plans, query = Plans(most=2), [object() for _ in range(3)]
    for i, who in enumerate(("ann", "bob", "ann")):
        plans.put((who, f"SELECT {i}"), query[i])  # type: ignore[arg-type]
    assert plans.get(("ann", "SELECT 0")) is None
    assert plans.get(("bob", "SELECT 1")) is query[1]
    assert plans.get(("ann", "SELECT 1")) is None, "what bob asked saves ann no time"
    assert plans.get(("ann", "SELECT 2")) is query[2]


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


def test_a_plan_is_kept_only_once_its_size_was_checked(new_town: Town) -> None:
    plans = new_town.curator.open(new_town.curator.ledger.datasets["town"]).plans
    assert new_town.preview(COUNT, epsilon="1").status_code == 200
    assert plans.get(("ann", COUNT)) is not None
    object.__setattr__(new_town.curator.config.limits, "groups", 2)
    other = COUNT + " ORDER BY n"
    assert new_town.preview(other, epsilon="1").status_code == 422
    assert plans.get(("ann", other)) is None
