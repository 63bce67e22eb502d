"""Alarms and leaders: what they say, what they cost, and that they stop."""

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest

from discreet.continual.alarms import crossing, leaders
from discreet.errors import BadData, BadParameter, NotATheorem, ReceiptRefused
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.promises import events
from discreet.privacy.promises.receipt import Receipt


def test_an_alarm_rings_at_each_level_and_then_no_more() -> None:
    alarm = crossing(level=1000, epsilon=10, alarms=2)
    rang = []
    while alarm.left:
        rang.append(alarm.push(100))
    assert rang.count(True) == 2
    first = rang.index(True)
    assert 7 <= first <= 11
    assert 7 <= len(rang) - 1 - first <= 12
    with pytest.raises(NotATheorem):
        alarm.push(1)
    assert alarm.position == len(rang)
    assert alarm.event == events.AboveThreshold(10)
    assert alarm.cost == "epsilon 10"
    assert crossing(level=10, epsilon=1).margin_at(0.95, 100) > 0


def test_leaders_change_when_others_overtake() -> None:
    race = leaders(keys=["a", "b", "c", "d"], k=2, epsilon=40, margin=300, changes=2)
    assert set(race.push({"a": 5000, "b": 5000})) == {"a", "b"}
    assert set(race.push({"c": 100})) == {"a", "b"}
    assert set(race.push({"c": 20_000, "nobody": 10**6})) >= {"c"}
    assert race.changes_left == 1


@pytest.mark.parametrize(("k", "changes"), [(1, 1), (2, 3), (3, 7)])
def test_the_price_of_leaders_adds_up(k: int, changes: int) -> None:
    race = leaders(keys=range(5), k=k, epsilon="3/2", margin=10, changes=changes)
    assert price_basic(race.event).epsilon == Fraction(3, 2)


def test_without_changes_left_the_last_leaders_stay() -> None:
    race = leaders(keys=["a", "b"], k=1, epsilon=40, margin=100, changes=1)
    race.push({"a": 5000})
    assert race.push({"b": 50_000}) == ("b",)
    assert race.changes_left == 0
    assert race.push({"a": 10**6}) == ("b",)


def test_each_choice_of_leaders_is_made_once() -> None:
    race = leaders(keys=[f"key {i}" for i in range(40)], k=1, epsilon=1, margin=10**6, changes=1)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):  # copies would choose again, unpaid
        with pytest.raises(NotATheorem, match="twice"):
            copied(race)
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(race.push, [{}] * 16))) == 1
    race._process = os.getpid() + 1
    with pytest.raises(NotATheorem, match="process"):
        race.push({})


def test_receipts() -> None:
    made = crossing(level=10, epsilon=1)
    crossing(level=10, epsilon=1, receipt=Receipt(made.event, number=1))
    with pytest.raises(ReceiptRefused):
        crossing(level=10, epsilon=2, receipt=Receipt(made.event, number=1))
    race = leaders(keys=["a", "b"], k=1, epsilon=1, margin=1, changes=1)
    used = Receipt(race.event, number=1)
    leaders(keys=["a", "b"], k=1, epsilon=1, margin=1, changes=1, receipt=used)
    assert used.used


@pytest.mark.parametrize("value", [0.5, "1", None, True])
def test_bad_values(value: Any) -> None:
    with pytest.raises(BadData):
        crossing(level=10, epsilon=1).push(value)
    if value != "1":
        with pytest.raises(BadData):
            leaders(keys=["a", "b"], k=1, epsilon=1, margin=1, changes=1).push(value)
    with pytest.raises(BadParameter):
        leaders(keys=["a"], k=1, epsilon=1, margin=1, changes=1)
