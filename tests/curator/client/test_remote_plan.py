"""A plan of a curator is that of a session: shown for nothing, charged once, stored, refused in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from discreet.curator.client.client import RemoteSession
from discreet.curator.client.remote_plan import RemotePlan
from discreet.curator.client.transport import Transport
from discreet.curator.error_replies import reply
from discreet.curator.http import responses
from discreet.curator.service.library import SAME
from discreet.errors import BadParameter, BadQuestion, DiscreetError, EngineFailed, KeyReused, OverBudget
from discreet.ledger import verify_card, verify_receipt
from discreet.privacy.promises.measures import Approx
from discreet.session.count_tables import TablesStep
from tests.helpers.curator.shop import Shop
from tests.helpers.curator.town import COUNT, Town, broken, charges

REGIONS = "SELECT region, COUNT(*) AS n FROM orders GROUP BY region"
SIZES = "SELECT region, size, COUNT(*) AS n FROM orders GROUP BY region, size"
MEAN = "SELECT AVG(price) AS mean FROM orders"
UNION = f"{REGIONS} UNION ALL SELECT 'all', COUNT(*) FROM orders"
PATH = "/api/datasets/shop/plan"
ASKED: list[dict[str, Any]] = [
    {"epsilon": 1, "delta": "1e-20", "confidence": "0.9"},
    {"error": [20, {"n": "40"}]},
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_it_is_shown_as_a_plan_here_and_nothing_is_paid(shop: Shop, asked: dict[str, Any]) -> None:
    before = shop.town.curator.ledger.head
    here = shop.here.plan([REGIONS, SIZES], **asked)
    remote = shop.remote.plan([REGIONS, shop.remote.sql(SIZES)], **asked)
    assert remote.summary == here.summary
    assert (str(remote), remote._repr_html_()) == (str(here), here._repr_html_())
    assert (remote.rows, remote.alone) == (here.rows, here.alone)
    assert (remote.errors, remote.saving) == (here.errors, here.saving)
    for one, other in zip(remote.previews, here.previews, strict=True):
        assert (one.columns, one.cost, one.shares) == (other.columns, other.cost, other.shares)
        assert one.affordable
    assert shop.town.curator.ledger.head == before


def test_a_release_is_one_charge_with_one_receipt_at_the_price_that_was_shown(shop: Shop) -> None:
    plan, before, left = shop.remote.plan([REGIONS, SIZES], error=[2, 5]), charges(shop.town), shop.remote.remaining
    regions, sizes = plan.release()
    assert charges(shop.town) == before + 1
    assert regions.number == sizes.number
    assert regions.cost == sizes.cost == plan.summary.cost
    assert isinstance(left, Approx)
    assert shop.remote.remaining.epsilon == left.epsilon - plan_epsilon(plan)  # type: ignore[union-attr]
    assert sorted(regions["n"]) == pytest.approx([40, 40, 40], abs=20)
    assert len(sizes) == 9
    key = shop.remote.public_key
    receipt, card = verify_receipt(regions.receipt, key), verify_card(regions.card, key)
    assert receipt.query == card["query"] == f"{REGIONS};\n{SIZES}"
    named = {"workload": [len(REGIONS), len(SIZES)], "plan": "one price", "error": ["2", "5"], "confidence": "19/20"}
    assert {name: value for name, value in receipt.parameters.items() if name != SAME} == named
    assert [one.rows for one in shop.remote.answers_to(regions.number)] == [regions.rows, sizes.rows]
    assert shop.town.get("/api/ledger/verify", shop.town.owner).json()["ok"]
    assert shop.town.get(f"/api/answers/{regions.number}", shop.town.bob).status_code == 404  # he may not ask the shop


def plan_epsilon(plan: RemotePlan) -> Any:
    price = plan.previews[0].reply["price"]
    return Approx(price["epsilon"], price["delta"]).epsilon


class Losing(Transport):
    """A connection that breaks when the first reply to a plan that was paid comes."""

    lost = 0

    def _once(self, method: str, path: str, body: bytes | None) -> tuple[int, Any]:
        found = super()._once(method, path, body)
        if path.endswith("/plan") and not self.lost:
            self.lost += 1
            raise OSError
        return found


def test_a_lost_reply_is_asked_for_again_and_charged_once(shop: Shop) -> None:
    transport = Losing(shop.url, shop.town.ann)
    plan, before = replace(shop.remote, transport=transport).plan([REGIONS, SIZES], epsilon=1), charges(shop.town)
    first, _ = plan.release()
    assert transport.lost == 1
    assert first.paid_before
    assert charges(shop.town) == before + 1


def test_a_key_is_bound_to_the_plan_and_is_not_planned_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = shop.remote.plan([REGIONS, SIZES], epsilon=1)
    first = plan.release(key="p", fresh=True)
    before = charges(shop.town)
    monkeypatch.setattr("discreet.curator.service.questions.plan_for", None)  # what was paid is only looked up
    again = plan.release(key="p")
    assert [one.rows for one in again] == [one.rows for one in first]
    assert (first[0].paid_before, again[0].paid_before) == (False, True)
    with pytest.raises(KeyReused):
        shop.remote.workload([REGIONS, SIZES]).release(epsilon=1, key="p")
    monkeypatch.undo()
    for other in (
        shop.remote.plan([SIZES, REGIONS], epsilon=1),
        shop.remote.plan([REGIONS, SIZES], epsilon=2),
        shop.remote.plan([REGIONS, SIZES], error=[9, 9]),
    ):
        with pytest.raises(KeyReused):
            other.release(key="p")
    assert charges(shop.town) == before


def test_over_the_share_of_an_analyst_it_is_shown_and_refused_with_nothing_spent(shop: Shop) -> None:
    shop.town.curator.ledger.owner.grant("bob", "shop", Approx(3, "1e-20"))
    bob = RemoteSession(Transport(shop.url, shop.town.bob), "shop", shop.remote.schema)
    before = shop.town.curator.ledger.head
    plan = bob.plan([REGIONS], epsilon=4)
    assert not any(one.affordable for one in plan.previews)
    with pytest.raises(OverBudget) as refused:
        plan.release()
    assert refused.value.left == bob.remaining
    assert shop.town.curator.ledger.head == before
    assert len(bob.plan([REGIONS], epsilon=3, delta="1e-21").release()) == 1


REFUSED: list[tuple[Sequence[str], dict[str, Any]]] = [
    ([], {"epsilon": 1}),
    (REGIONS, {"epsilon": 1}),
    ([REGIONS], {}),
    ([REGIONS], {"epsilon": "-1"}),
    ([REGIONS], {"epsilon": 1, "confidence": "1"}),
    ([REGIONS], {"epsilon": 1, "error": ["40"]}),
    ([REGIONS, MEAN], {"error": [40]}),
    ([REGIONS], {"error": 40}),
    ([REGIONS], {"error": ["0"]}),
    ([REGIONS], {"error": [{"m": 1}]}),
    ([REGIONS, "SELECT * FROM orders"], {"epsilon": 1}),
    ([REGIONS, "SELECT COUNT(*) FROM nowhere"], {"epsilon": 1}),
    (["SELECT MEDIAN(price) AS m FROM orders"], {"error": [1]}),
    (["SELECT COUNT(*) AS n FROM orders WHERE price > (SELECT AVG(price) FROM orders)"], {"epsilon": 1}),
    (["SELECT COUNT(*) AS n FROM orders WHERE price > (SELECT AVG(price) FROM orders)"], {"error": [40]}),
    ([UNION], {"epsilon": 1}),
    ([UNION], {"error": [40]}),
]


@pytest.mark.parametrize(("texts", "asked"), REFUSED, ids=range(len(REFUSED)))
def test_the_same_refusals_as_here_and_nothing_spent(shop: Shop, texts: Sequence[str], asked: dict[str, Any]) -> None:
    before, left = shop.town.curator.ledger.head, shop.here.remaining
    with pytest.raises(DiscreetError) as here:
        shop.here.plan(texts, **asked)
    with pytest.raises(type(here.value)) as remote:
        shop.remote.plan(texts, **asked)
    assert str(remote.value) == str(here.value)
    assert isinstance(here.value, BadParameter | BadQuestion)
    assert (shop.town.curator.ledger.head, shop.here.remaining) == (before, left)
    assert shop.town.post(PATH, {"sqls": texts, **asked}, shop.town.ann).status_code == 422
    assert shop.town.curator.ledger.head == before


@pytest.mark.parametrize(
    "body",
    [{"sqls": []}, {"sqls": REGIONS}, {"sqls": [REGIONS], "rows": 3}, {"sqls": [REGIONS], "error": "3"},
     {"sqls": [REGIONS], "error": []}, {"sqls": [REGIONS], "error": [{}]}, {"sqls": [REGIONS], "error": [None]},
     {"sqls": [REGIONS], "sql": REGIONS}, {"sqls": [REGIONS] * 17}],
)  # fmt: skip
def test_bodies_that_do_not_fit_cost_nothing(shop: Shop, body: dict[str, Any]) -> None:
    before = shop.town.curator.ledger.head
    price = {} if "error" in body else {"epsilon": "1"}
    for path in (PATH, f"{PATH}/preview"):
        refused = shop.town.post(path, body | price, shop.town.ann)
        assert (refused.status_code, set(refused.json())) == (422, {"error"})
    assert shop.town.curator.ledger.head == before


def test_the_reply_has_the_shape_that_is_described(shop: Shop) -> None:
    for body in ({"sqls": [REGIONS], "epsilon": "1"}, {"sqls": [REGIONS], "error": ["30"]}):
        sent = shop.town.post(f"{PATH}/preview", body, shop.town.ann).json()
        responses.PlanPreviewOut.model_validate(sent, strict=True)
        assert set(sent["plan"]) == set(responses.PlanOut.model_fields)
        assert set(sent["plan"]["questions"][0]) == set(responses.PlannedQuestionOut.model_fields)


def test_a_failure_after_the_payment_is_the_constant_one(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    town: Town = shop.town
    before, body = charges(town), {"sqls": [COUNT, COUNT], "epsilon": "1", "key": "fails"}
    with monkeypatch.context() as patch:
        broken(town, patch, ValueError("canary7f3a"))
        failed = town.post("/api/datasets/town/plan", body, town.ann)
    assert (failed.status_code, failed.json()) == reply(EngineFailed())
    assert town.post("/api/datasets/town/plan", body, town.ann).content == failed.content
    assert charges(town) == before + 1


def test_tables_of_counts_are_measured_together_as_here(shop: Shop) -> None:
    """The curator runs the same program: the same errors before, one charge, tables that agree."""
    sets = ["region", "size", "paid", "region, size", "size, paid", "region, paid"]
    texts = [f"SELECT {keys}, COUNT(*) AS n FROM orders GROUP BY {keys}" for keys in sets]
    here, remote = shop.here.plan(texts, rho=200), shop.remote.plan(texts, rho=200)
    assert isinstance(here.program.answer, TablesStep)
    assert remote.summary == here.summary
    before = charges(shop.town)
    answers = remote.release()
    assert charges(shop.town) == before + 1
    assert [note.code for note in answers[0].notes].count("tables_in_common") == 1
    assert sorted(answers[0]["n"]) == pytest.approx([40, 40, 40], abs=3)
    assert sum(answers[3]["n"]) == pytest.approx(120, abs=9)
    together = shop.remote.workload(texts)
    assert together.preview(rho=200)[3].columns == shop.here.workload(texts).preview(rho=200)[3].columns
    assert sum(together.release(rho=200)[5]["n"]) == pytest.approx(120, abs=9)
