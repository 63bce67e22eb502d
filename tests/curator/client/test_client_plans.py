"""What can be asked here can be asked remotely: the same plans, the same prices, the same refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

import pytest

import discreet as dp
from discreet import agg
from discreet.curator.client.client import RemoteQuery, RemoteSession
from discreet.errors import BadParameter, BadQuestion, CuratorRefused, DiscreetError, Unsupported
from discreet.session import Query
from tests.helpers.curator.shop import Shop

N = dp.agg.count()
Asking = Callable[[Any], Any]


class Silent:
    """A transport that nobody may use."""

    def get(self, path: str) -> Any:
        raise AssertionError(path)

    def post(self, path: str, body: Any) -> Any:
        raise AssertionError(path)


def silent(shop: Shop) -> RemoteSession:
    """The session without its transport: what it refuses, it refuses by itself."""
    return replace(shop.remote, transport=Silent())  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_public_schema_is_the_schema(shop: Shop) -> None:
    here, remote = shop.here.schemas, shop.remote.schemas
    assert list(here) == list(remote) == ["orders", "lines", "regions"]
    for name, ours in here.items():
        theirs = remote[name]
        assert theirs.stored == ours.stored
        long = {"shelf"} & set(ours.fields)
        assert {n: f for n, f in theirs.fields.items() if n not in long} == {
            n: f for n, f in ours.fields.items() if n not in long
        }
        assert replace(theirs.table, columns={}) == replace(ours.table, columns={}, source=None)
    assert shop.remote.schema["neighbours"] == "ADD_REMOVE"
    assert len(shop.remote.schema["tables"]["lines"]["columns"][-1]["keys"]) == 1000


VERBS: list[Asking] = [
    lambda s: s["orders"].agg(n=N),
    lambda s: s["orders"].filter("paid", dp.col("amount") > 0.1).group_by("region").agg(n=N, a=dp.agg.mean("amount")),
    lambda s: s["orders"].group_by("size", late=dp.col("day") > date(2025, 6, 30)).agg(N),
    lambda s: s["orders"].rollup("region", "size").agg(n=N, s=dp.agg.sum("price")),
    lambda s: s["orders"].cube("region", "paid").agg(n=N),
    lambda s: s["orders"].select("buyer", "region", half="price / 2").agg(dp.agg.sum("half")),
    lambda s: s["orders"].with_columns(month=dp.col("day").part("month")).group_by("month").agg(n=N),
    lambda s: s["orders"].with_column("x", "price").rename({"x": "y"}).drop("note", "id").agg(dp.agg.sum("y")),
    lambda s: s["orders"].per_unit("buyer").agg(n=N).agg(m=dp.agg.mean("CLAMP(n, 0, 9)")),
    lambda s: s["orders"].group_by("buyer").agg(n=N).with_columns(n="CLAMP(n, 0, 9)").group_by("n").agg(people=N),
    lambda s: s["orders"].join(s["regions"], on="region").group_by("zone").agg(n=N),
    lambda s: s["lines"].join(s["orders"], on=[("order_id", "id")]).group_by("region").agg(p=dp.agg.sum("pieces")),
    lambda s: s["orders"].filter("paid").union_all(s["orders"].filter("NOT paid")).agg(n=N),
    lambda s: s["orders"].group_by("region").agg(n=N).join(
        s["orders"].filter("paid").group_by("region").agg(p=N), on="region"),
    lambda s: s["lines"].group_by("shelf").agg(n=N),
    lambda s: s["orders"].group_by("note").agg(n=N),
    lambda s: s["orders"].agg(agg.median("price"), agg.quantile("price", "0.9"), agg.min("day"), agg.max("at")),
    lambda s: s["orders"].agg(agg.variance("price"), agg.correlation("price", "amount"), agg.count_distinct("buyer")),
    lambda s: s["orders"].group_by("region").agg(n=N).having("n > 10").order_by("n DESC", "region").limit(2),
    lambda s: s.sql("SELECT region, COUNT(*) AS n FROM orders GROUP BY region").having("n > 3").order_by("n").limit(1),
    lambda s: s.sql("SELECT region, SUM(price) / COUNT(*) AS m FROM orders GROUP BY 1").order_by("m", descending=True),
    lambda s: s.sql("SELECT COUNT(*) FROM orders WHERE region IS NULL").limit(1),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("asking", VERBS, ids=range(len(VERBS)))
def test_the_same_plan_for_the_same_price(shop: Shop, asking: Asking) -> None:
    here, remote = asking(shop.here), asking(shop.remote)
    assert isinstance(here, Query)
    assert isinstance(remote, RemoteQuery)
    assert remote.plan == here.plan
    a, b = here.preview(epsilon="1"), remote.preview(epsilon="1")
    assert b.cost == a.cost
    assert [b.error(one.name) for one in a.columns] == [one.error for one in a.columns]
    assert remote.explain(epsilon="1") == "\n".join(b.story)
    if remote.prepared is not None:
        assert remote.explain() == here.explain()
    else:  # keys of a public table, or a long list of them
        with pytest.raises(BadParameter, match="only the curator knows"):
            remote.explain()


def test_an_answer_to_verbs_is_that_to_its_text(shop: Shop) -> None:
    query = shop.remote["orders"].group_by("region").agg(n=N).order_by("n DESC")
    answer = query.release(epsilon=1000)
    assert answer.columns == ("region", "n")
    assert sorted(answer["n"]) == pytest.approx([40, 40, 40], abs=5)
    charge = shop.remote.charges()[-1]
    assert charge["query"] == query.text == "SELECT region, COUNT(*) AS n FROM orders GROUP BY region ORDER BY n DESC"
    assert shop.here.sql(charge["query"]).plan == query.plan


REFUSED: list[Asking] = [
    lambda s: s["order"],
    lambda s: s["orders"].filter("amont > 1"),
    lambda s: s["orders"].group_by("buyer").agg(n=N).agg(x=dp.agg.sum("m")),
    lambda s: s["orders"].agg(dp.agg.sum("note")),
    lambda s: s["orders"].group_by("amount").agg(n=N),
    lambda s: s["orders"].filter(dp.col("region").is_in([])).agg(n=N),
    lambda s: s["orders"].join(s["orders"], on="region").agg(n=N),
    lambda s: s["regions"].agg(n=N),
    lambda s: s["orders"].release(epsilon=1),
    lambda s: s["orders"].agg(n=N).sort("n"),
    lambda s: s["orders"].agg(n=N).limit(1).having("n > 1"),
    lambda s: s.sql("SELECT COUNT(*) FROM order"),
    lambda s: s.sql("SELECT * FROM orders"),
    lambda s: s.sql("SELECT SUM(prize) FROM orders"),
    lambda s: s.sql("SELECT COUNT(blob) FROM orders"),
    lambda s: s.sql("DROP TABLE orders"),
    lambda s: s.sql("SELECT COUNT(*) FROM lines").having("m > 1"),
]


@pytest.mark.parametrize("asking", REFUSED, ids=range(len(REFUSED)))
def test_the_same_refusal_without_a_word_over_the_network(shop: Shop, asking: Asking) -> None:
    with pytest.raises(DiscreetError) as here:
        asking(shop.here)
    with pytest.raises(type(here.value)) as remote:
        asking(silent(shop))
    assert (type(remote.value), str(remote.value)) == (type(here.value), str(here.value))


def test_what_the_client_cannot_know_the_curator_decides(shop: Shop) -> None:
    """Keys of public tables, and long lists of keys."""
    ways: list[Asking] = [
        lambda s: s["orders"].join(s["regions"], on="region").group_by("zone").agg(n=N),
        lambda s: s.sql("SELECT shelf, COUNT(*) AS n FROM lines WHERE shelf = 's1100' GROUP BY shelf"),
    ]
    for asking in ways:
        assert asking(silent(shop)).plan == asking(shop.here).plan
        assert asking(shop.remote).preview(epsilon=1).cost == asking(shop.here).preview(epsilon=1).cost


def test_a_plan_without_a_text_is_refused_and_nothing_is_sent(shop: Shop) -> None:
    with pytest.raises(Unsupported, match="decimal"):
        silent(shop)["orders"].filter(dp.col("price") > Fraction(1, 3)).agg(n=N)


@pytest.mark.slow
def test_a_curator_of_another_version(shop: Shop) -> None:
    old = {"tables": {"orders": {"unit": "buyer", "columns": []}}}
    session = replace(shop.remote, schema=old)
    with pytest.raises(CuratorRefused, match="version"):
        session.sql("SELECT COUNT(*) FROM orders")


@pytest.mark.slow
def test_errors_that_only_a_curator_can_tell_come_over_the_network(shop: Shop) -> None:
    with pytest.raises(BadParameter):
        shop.remote["orders"].agg(n=N).preview(epsilon=-1)
    many = " UNION ALL ".join(["SELECT * FROM orders"] * 17)
    with pytest.raises(BadQuestion, match="at most 16"):
        shop.remote.sql(f"SELECT COUNT(*) FROM ({many}) t").preview(epsilon=1)
