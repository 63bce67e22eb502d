"""Bounds and caps as paid estimates remotely: the same as in a session here, charged, stored, once for each key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet.curator.error_replies import reply
from discreet.errors import DiscreetError, EngineFailed, KeyReused, NoEstimate
from discreet.ledger import verify_card, verify_receipt
from tests.curator.client.test_client_plans import silent
from tests.helpers.curator.shop import Shop
from tests.helpers.curator.town import Town, broken, charges


def bounds(town: Town, token: str | None = None, **body: Any) -> Any:
    return town.post("/api/datasets/town/bounds", {"table": "people", "fresh": True, **body}, token or town.ann)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["amount", "price", "orders.size", "lines.pieces", "lines.order_id"])
def test_the_same_bounds_as_here(shop: Shop, column: str) -> None:
    """For a price at which every value stands out from the noise."""
    here, remote = (session.suggest_bounds(column, epsilon=50_000) for session in (shop.here, shop.remote))
    assert remote == here
    assert remote.declared == here.declared


@pytest.mark.slow
def test_it_is_charged_once_and_stored(shop: Shop) -> None:
    before = shop.remote.charges()
    first = shop.remote.suggest_bounds("price", epsilon="1000", key="bounds", fresh=True)
    assert shop.remote.suggest_bounds("orders.price", epsilon=1000, key="bounds", fresh=True) == first
    (charge,) = shop.remote.charges()[len(before) :]
    assert charge["query"] == "suggest_bounds(orders.price)"
    assert charge["parameters"] == {"epsilon": "1000", "confidence": "9999999/10000000", "estimate": "bounds"}
    answer = shop.remote.answer(charge["number"])
    assert answer.columns == ("power", "n")
    assert len(answer) == 123
    assert verify_receipt(answer.receipt, shop.remote.public_key).query == charge["query"]
    assert verify_card(answer.card, shop.remote.public_key)["accuracy"]["n"].startswith("within ")
    for other in (
        lambda: shop.remote.suggest_bounds("amount", epsilon=1000, key="bounds"),
        lambda: shop.remote.suggest_bounds("price", epsilon=2, key="bounds"),
        lambda: shop.remote.sql("SELECT COUNT(*) FROM orders").release(epsilon=1000, key="bounds"),
    ):
        with pytest.raises(KeyReused):
            other()
    assert len(shop.remote.charges()) == len(before) + 1


@pytest.mark.slow
def test_nothing_stands_out_for_a_small_price(shop: Shop) -> None:
    """The counts are paid and stored; that no bounds follow from them is found at the client."""
    before = len(shop.remote.charges())
    left = shop.here.remaining
    with pytest.raises(NoEstimate, match=r"was charged.*larger epsilon") as here:
        shop.here.suggest_bounds("price", epsilon="0.001")
    with pytest.raises(NoEstimate) as remote:
        shop.remote.suggest_bounds("price", epsilon="0.001", fresh=True)
    assert str(remote.value) == str(here.value)
    assert shop.here.remaining != left
    assert len(shop.remote.charges()) == before + 1


@pytest.mark.slow
def test_caps_are_suggested(shop: Shop) -> None:
    here, remote = (session.suggest_max_rows("orders", epsilon=1000) for session in (shop.here, shop.remote))
    assert here == remote == 3
    charge = shop.remote.charges()[-1]
    assert charge["query"].startswith(
        "WITH step1 AS (SELECT buyer, COUNT(*) AS rows_of_one FROM orders GROUP BY buyer)"
    )
    before = len(shop.remote.charges())
    found = {shop.remote.suggest_max_rows("orders", epsilon=1, level="0.5", most=9, key="rows") for _ in range(3)}
    assert len(found) == 1
    assert len(shop.remote.charges()) == before + 1


REFUSED: list[Callable[[Any], object]] = [
    lambda s: s.suggest_bounds("prize", epsilon=1),
    lambda s: s.suggest_bounds("orders.prize", epsilon=1),
    lambda s: s.suggest_bounds("nowhere.price", epsilon=1),
    lambda s: s.suggest_bounds("region", epsilon=1),
    lambda s: s.suggest_bounds("orders.region", epsilon=1),
    lambda s: s.suggest_bounds("regions.zone", epsilon=1),
    lambda s: s.suggest_bounds("orders.blob", epsilon=1),
    lambda s: s.suggest_max_rows("regions", epsilon=1),
    lambda s: s.suggest_max_rows("order", epsilon=1),
    lambda s: s.suggest_max_rows("lines", epsilon=1),
    lambda s: s.suggest_max_rows("orders", epsilon=1, level=2),
]


@pytest.mark.parametrize("asking", REFUSED, ids=range(len(REFUSED)))
def test_the_same_refusal_without_a_word_over_the_network(shop: Shop, asking: Callable[[Any], object]) -> None:
    with pytest.raises(DiscreetError) as here:
        asking(shop.here)
    with pytest.raises(type(here.value)) as remote:
        asking(silent(shop))
    assert str(remote.value) == str(here.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        {"column": "pay"},
        {"column": "pay", "epsilon": "-1"},
        {"column": "pay", "epsilon": "10000000"},
        {"column": "pay", "epsilon": "1", "confidence": "1"},
        {"column": "pay", "epsilon": "1", "sql": "SELECT 1"},
        {"column": "nothing", "epsilon": "1"},
        {"column": "name", "epsilon": "1"},
        {"column": "", "epsilon": "1"},
        {"column": "pay", "table": "nowhere", "epsilon": "1"},
        {"column": "text", "table": "notes", "epsilon": "1"},
        {"epsilon": "1"},
    ],
)
def test_what_cannot_be_estimated_costs_nothing(town: Town, body: Any) -> None:
    before = town.curator.ledger.head
    found = bounds(town, **body)
    assert found.status_code in (402, 422), found.text
    assert set(found.json()) == {"error"}
    assert town.curator.ledger.head == before


def test_a_failure_after_the_payment_is_the_constant_one(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    before = charges(town)
    with monkeypatch.context() as patch:
        broken(town, patch, ValueError("canary7f3a"))
        failed = bounds(town, column="pay", epsilon="1", key="fails")
    assert (failed.status_code, failed.json()) == reply(EngineFailed())
    assert bounds(town, column="pay", epsilon="1", key="fails").content == failed.content
    assert charges(town) == before + 1


@pytest.mark.slow
def test_an_estimate_is_shared_and_its_receipt_is_not(town: Town) -> None:
    number = bounds(town, column="pay", epsilon="1").json()["number"]
    assert town.get(f"/api/answers/{number}", town.ann).status_code == 200
    assert town.get(f"/api/answers/{number}", town.bob).json()["receipt"] is None
    assert bounds(town, column="pay", epsilon="1", fresh=False).json()["paid_before"]
