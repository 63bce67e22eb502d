"""Counters in the text format of Prometheus: nothing in them comes from the data."""

from __future__ import annotations

import re

import pytest

from discreet.curator.service.people import Role
from tests.helpers.curator.land import CANARY
from tests.helpers.curator.town import COUNT, Town

LINE = re.compile(r'[a-z_]+(\{[a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*\})? [-+0-9.e]+')


def numbers(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(LINE.fullmatch(line) for line in lines), text
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


@pytest.mark.slow
def test_requests_charges_and_budgets_are_counted(town: Town) -> None:
    token = town.curator.access.issue("monitor", Role.MONITOR)
    before = numbers(town.get("/metrics", token).text)
    assert town.ask(COUNT).status_code == 200
    assert town.ask("nonsense").status_code == 422
    found = town.get("/metrics", token)
    after = numbers(found.text)
    assert after["discreet_charges_total"] == before["discreet_charges_total"] + 1
    asked = 'discreet_requests_total{route="/api/datasets/{dataset}/questions",status="%d"}'
    assert after[asked % 200] >= 1
    assert after[asked % 422] >= 1
    assert 0 < after['discreet_budget_spent_ratio{population="town"}'] <= 1
    assert after["discreet_ready"] == 1
    assert CANARY not in found.text
    assert not re.search("second|duration|latency|took", found.text.replace("discreet_start_time_seconds", ""))


def test_a_monitor_reads_the_counters_and_nothing_else(town: Town) -> None:
    token = town.curator.access.issue("monitor", Role.MONITOR)
    assert town.get("/metrics", token).status_code == 200
    assert town.get("/metrics", town.ann).status_code == 403
    assert town.get("/metrics").status_code == 401
    for path in ("/api/me", "/api/budget", "/api/ledger", "/api/datasets"):
        assert town.get(path, token).status_code == 403


@pytest.mark.slow
def test_data_sets_are_counted_apart(town: Town) -> None:
    token = town.curator.access.issue("monitor", Role.MONITOR)
    assert town.ask(COUNT).status_code == 200
    town.get("/api/datasets/nowhere", town.ann)
    text = town.get("/metrics", token).text
    counted = numbers(text)
    assert counted['discreet_dataset_charges_total{dataset="town"}'] >= 1
    assert counted['discreet_dataset_requests_total{dataset="town",status="200"}'] >= 1
    assert counted['discreet_dataset_waiting{dataset="town"}'] == 0
    assert counted['discreet_engine_failures_total{dataset="town"}'] >= 0
    assert "nowhere" not in text
