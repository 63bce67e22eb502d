"""Several reports of one person whose value changes: the joint law of the real code, and what it costs together."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.exact import exp_up
from discreet.local.best import best
from discreet.local.hadamard import hadamard
from discreet.local.hashing import local_hashing
from discreet.local.heavy_hitters import heavy_hitters
from discreet.local.means import mean
from discreet.local.oracle import Oracle
from discreet.local.response import response
from discreet.local.subset import subset_selection
from discreet.local.unary import basic_rappor, optimised_unary
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.promises import events
from discreet.privacy.promises.neighbours import Neighbours
from tests.helpers.coins import Ways, every_way, worst

SMALL: dict[str, tuple[Any, list[Any]]] = {
    "response": (response(k=3, epsilon=1), [0, 1, 2]),
    "basic_rappor": (basic_rappor(k=2, epsilon=1), [0, 1]),
    "optimised_unary": (optimised_unary(k=2, epsilon=1), [0, 1]),
    "hadamard": (hadamard(k=2, epsilon=1), [0, 1]),
    "subset_selection": (subset_selection(k=3, epsilon=1), [0, 1, 2]),
    "best": (best(3, 1, 100), [0, 1, 2]),
    "local_hashing": (local_hashing(k=50, epsilon=1, cells=2), [0, 1, 7]),
    "heavy_hitters": (heavy_hitters(epsilon=1, length=2, alphabet=b"ab"), [b"a", b"b", b"ba"]),
    "duchi": (mean(low=0, high=1, epsilon=1, method="duchi", places=2), [0.0, 0.5, 1.0]),
    "piecewise": (mean(low=0, high=1, epsilon=1, method="piecewise", places=1), [0.0, 1.0]),
    "hybrid": (mean(low=0, high=1, epsilon=1, method="hybrid", places=1), [0.0, 1.0]),
}


def product_law(*laws: Ways) -> Ways:
    """Independent reports, one from each law."""
    together: Ways = {}
    for reports in product(*(law.items() for law in laws)):
        chance = Fraction(1)
        for _, each in reports:
            chance *= each
        together[tuple(report for report, _ in reports)] = chance
    return together


@pytest.mark.parametrize("name", SMALL)
def test_two_reports_cost_what_two_events_cost_whatever_the_values_are(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pairs of sequences of two values, over every coin of ``client``: independent reports, within e^(2ε)."""
    oracle, values = SMALL[name]
    once = {v: every_way(monkeypatch, lambda v=v: oracle.client(v)) for v in values}  # type: ignore[misc]
    assert all(sum(law.values()) == 1 for law in once.values())
    both = {
        (v, w): every_way(monkeypatch, lambda v=v, w=w: (oracle.client(v), oracle.client(w)))  # type: ignore[misc]
        for v, w in product(values, repeat=2)
    }
    assert all(both[v, w] == product_law(once[v], once[w]) for v, w in both)
    charged = price_basic(events.Repeat(oracle.event, 2)).epsilon
    loss = worst(both.values())
    assert exp_up(charged) * (1 - Fraction(1, 10**6)) < loss <= exp_up(charged)
    assert oracle.neighbours is Neighbours.CHANGE_ONE


@pytest.mark.parametrize("name", [name for name in SMALL if name not in {"local_hashing", "heavy_hitters"}])
def test_the_law_that_is_written_down_is_that_of_the_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    oracle, values = SMALL[name]
    places = oracle.read(values).tolist()
    for value, place in zip(values, places, strict=True):
        assert every_way(monkeypatch, lambda v=value: oracle.client(v)) == oracle.law(place)  # type: ignore[misc]
    drawn = every_way(monkeypatch, lambda: tuple(map(bytes, oracle.simulate(values[:2]))))
    assert drawn == product_law(oracle.law(places[0]), oracle.law(places[1]))


class Remembering:
    """The planted bug: one report for each value, drawn once and sent again."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._kept: dict[int, bytes] = {}

    def client(self, value: int) -> bytes:
        if value not in self._kept:
            self._kept[value] = self._oracle.client(value)
        return self._kept[value]


def test_a_randomizer_with_a_memory_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = response(k=2, epsilon=1)

    def twice(first: int, second: int) -> tuple[bytes, bytes]:
        twin = Remembering(oracle)
        return twin.client(first), twin.client(second)

    same, changed = (every_way(monkeypatch, lambda w=w: twice(0, w)) for w in (0, 1))  # type: ignore[misc]
    assert set(changed) > set(same)  # two different reports: the value has changed, for certain
    assert changed == product_law(oracle.law(0), oracle.law(1))
    assert same != product_law(oracle.law(0), oracle.law(0))


def test_three_reports_of_an_array_of_people_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = response(k=2, epsilon=1)
    drawn = every_way(monkeypatch, lambda: tuple(map(bytes, oracle.simulate(np.array([0, 1, 1])))))
    assert drawn == product_law(oracle.law(0), oracle.law(1), oracle.law(1))
