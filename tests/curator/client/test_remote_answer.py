"""Numbers that agree, remotely: what a session here gives, stored with the answer, for nothing."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import discreet as dp
from discreet.curator.client.remote_answer import RemoteAnswer, answers_of
from discreet.curator.service import serialize
from discreet.errors import Unsupported
from discreet.query.answer import answer as answers
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.serialize import dump
from tests.helpers.curator.shop import Shop
from tests.helpers.curator.town import Town

QUESTIONS = [
    "SELECT COUNT(*) AS n FROM orders WHERE id < 0",
    "SELECT region, COUNT(*) AS n, AVG(price) AS mean FROM orders GROUP BY region ORDER BY n DESC",
    "SELECT region, size, COUNT(*) AS n, SUM(price) AS s FROM orders GROUP BY ROLLUP (region, size)",
    "SELECT region, paid, SUM(price) / COUNT(*) AS m, COUNT(*) AS n FROM orders GROUP BY CUBE (region, paid)",
    "SELECT size, AVG(day) AS middle, MIN(at) AS first, COUNT(*) AS n FROM orders GROUP BY ROLLUP (size)",
    "SELECT size, COUNT(*) AS n FROM orders GROUP BY size HAVING COUNT(*) > 0 ORDER BY n LIMIT 2",
    "SELECT note, COUNT(*) AS n FROM orders GROUP BY note",
    "SELECT MEDIAN(price) AS m, COUNT(DISTINCT buyer) AS people FROM orders",
]


def sent(found: TableAnswer, confidence: str = "0.9") -> RemoteAnswer:
    """An answer as it comes over the network."""
    return RemoteAnswer(json.loads(dump({"answer": serialize.answer_for_client(found, confidence)})))


@pytest.mark.slow
def test_an_answer_that_was_stored_without_intervals_together_has_those_of_its_error_bars(shop: Shop) -> None:
    told = dict(sent(shop.here.sql("SELECT COUNT(*) AS n FROM orders").release(epsilon="1")).reply["answer"])
    del told["intervals_together"]
    earlier = RemoteAnswer({"answer": told})
    (n,), (error,) = earlier["n"], earlier.errors(simultaneous=True)["n"]
    assert error is not None
    assert earlier.intervals(simultaneous=True) == {"n": [(n - error, n + error)]}


@pytest.mark.slow
@pytest.mark.parametrize("sql", QUESTIONS)
def test_what_comes_over_the_network_is_what_is_here(shop: Shop, sql: str) -> None:
    for epsilon in ("0.05", "3"):
        here = shop.here.sql(sql).release(epsilon=epsilon)
        remote, agreed = sent(here).consistent(), here.consistent()
        assert remote.columns == agreed.columns
        assert remote.rows == agreed.rows
        assert remote.errors() == agreed.errors("0.9")
        assert remote.errors(simultaneous=True) == agreed.errors("0.9", simultaneous=True)
        assert remote.intervals() == {
            name: [None if pair is None else tuple(map(finite, pair)) for pair in column]
            for name, column in agreed.intervals("0.9").items()
        }
        for there, found in ((remote, agreed), (sent(here), here)):
            assert there.intervals(simultaneous=True) == {
                name: [None if pair is None else tuple(map(finite, pair)) for pair in column]
                for name, column in found.intervals("0.9", simultaneous=True).items()
            }
        assert remote.story == agreed.story
        assert (remote.cost, remote.notes) == (agreed.cost, agreed.notes)
        assert remote.consistent() is remote
        assert sent(here).rows == here.rows  # and the answer itself stays as it was


def finite(end: Any) -> Any:
    """As JSON can hold it."""
    return None if isinstance(end, float) and not math.isfinite(end) else end


@pytest.mark.slow
def test_totals_are_the_sums_of_their_parts_and_nothing_is_charged(shop: Shop) -> None:
    answer = shop.remote["orders"].rollup("region").agg(n=dp.agg.count()).release(epsilon="0.2")
    charges = len(shop.remote.charges())
    *parts, total = answer.consistent()["n"]
    assert sum(parts) == total
    assert all(n >= 0 for n in parts)
    assert "least squares" in answer.consistent().explain()
    assert answer.consistent().to_arrow().column_names == ["region", "n", "n_error"]
    assert answer.consistent().receipt == answer.receipt
    assert shop.remote.answer(answer.number).consistent().rows == answer.consistent().rows
    assert len(shop.remote.charges()) == charges


@pytest.mark.slow
def test_every_answer_of_a_workload_can_agree(shop: Shop) -> None:
    both = shop.remote.workload([QUESTIONS[0], QUESTIONS[2]]).release(epsilon="0.1")
    count, rollup = (one.consistent() for one in both)
    assert count["n"][0] >= 0
    *_, total = rollup["n"]
    assert sum(n for n, row in zip(rollup["n"], rollup.rows, strict=True) if row["size"] is not None) == total


def test_an_answer_that_was_stored_without_them_is_refused_by_name(shop: Shop) -> None:
    told = serialize.answer_for_client(shop.here.sql(QUESTIONS[1]).release(epsilon="1"), "0.95")
    for old in ({name: one for name, one in told.items() if name != "consistent"}, told | {"consistent": None}):
        (answer,) = answers_of({"answer": old})
        assert len(answer) == 3
        with pytest.raises(Unsupported, match="stored without"):
            answer.consistent()


@pytest.mark.slow
def test_an_answer_is_good_without_them(
    town: Town, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("canary7f3a")

    monkeypatch.setattr(answers, "agreeing", fail)
    said = town.ask("SELECT COUNT(*) AS n FROM people").json()
    assert said["answer"]["consistent"] is None
    assert len(said["answer"]["rows"]) == 1
    assert "could not be made consistent: RuntimeError" in caplog.text
    assert "canary" not in caplog.text


@pytest.mark.parametrize(("key", "ends"), [("FLOOR(price / 20) * 20", (0, 20)), ("ROUND(price / 20) * 20", None)])
def test_a_picture_of_a_remote_answer_draws_bins_from_end_to_end(
    shop: Shop, key: str, ends: tuple[float, float] | None
) -> None:
    """As that of the answer here; rounded values are no lower ends, and what an older version stored has none."""
    here = shop.here.sql(f"SELECT {key} AS bin, COUNT(*) AS n FROM orders GROUP BY bin").release(epsilon=1)
    there = sent(here)
    both = [[(bar.get_x(), bar.get_width()) for bar in one.plot("n").axes[0].patches] for one in (here, there)]
    assert both[0] == both[1]
    assert ends is None or both[1][0] == pytest.approx((ends[0], ends[1] - ends[0]))
    stored = {name: one for name, one in there.reply["answer"].items() if name != "bins"}
    older = RemoteAnswer({"answer": stored})
    assert (older.plot("n").axes[0].patches[0].get_x() == both[0][0][0]) == (ends is None)
