"""``dp.connect``: the same interface remote, over a real socket."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet import connect
from discreet.curator.client.client import RemoteQuery, RemoteSession, RemoteWorkload
from discreet.curator.client.remote_answer import RemoteAnswer, RemotePreview
from discreet.curator.client.remote_plan import RemotePlan
from discreet.errors import (
    BadParameter,
    BadQuestion,
    CuratorRefused,
    KeyReused,
    NotRegistered,
    OverBudget,
    Unsupported,
)
from discreet.exact import significant
from discreet.ledger import verify_card, verify_receipt
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.preview import Preview
from discreet.session import Query, Session, Workload
from discreet.session.plan import Plan
from tests.helpers.curator.land import CITIES
from tests.helpers.curator.town import Town

COUNT = "SELECT city, COUNT(*) AS n, AVG(pay) AS pay FROM people GROUP BY city"


@pytest.mark.slow
def test_it_is_like_a_session(served: tuple[Town, str]) -> None:
    town, url = served
    session = connect(url, town.ann)
    assert (session.dataset, session.tables) == ("town", ("people", "trips"))
    query = session.sql(COUNT)
    preview = query.preview(epsilon="1")
    assert preview.affordable
    assert preview.error("n") > 0
    assert "n: ±" in str(preview)
    before = session._standing()["charged"]
    answer = query.release(epsilon="1")
    assert session._standing()["charged"] != before
    standing = session._standing()
    assert (str(session.remaining), str(session.budget)) == (standing["remaining"]["text"], standing["budget"]["text"])
    assert session.budget == dp.Approx(10**6, "1e-18")
    assert isinstance(session.remaining, dp.Approx)
    assert [type(left) for left in session.remaining_by_account] == [dp.Approx, dp.ZCDP]
    assert answer.columns == ("city", "n", "pay")
    assert answer["city"] == list(CITIES)
    assert len(answer) == 3
    assert [list(row) for row in answer] == [["city", "n", "n_error", "pay", "pay_error"]] * 3
    assert answer.errors()["n"][0] == pytest.approx(preview.error("n"), abs=0.51)
    assert answer.errors("0.95") == answer.errors()
    with pytest.raises(BadParameter):
        answer.errors("0.5")
    with pytest.raises(BadParameter):
        answer["nothing"]
    low, high = answer.intervals()["n"][0] or (0, 0)
    assert low < answer["n"][0] < high
    assert answer.to_arrow().column_names == ["city", "n", "n_error", "pay", "pay_error"]
    assert list(answer.to_pandas(errors=False)) == ["city", "n", "pay"]
    assert answer.to_polars().height == 3
    assert "spent" in answer.explain()
    assert "Aton" in str(answer)
    assert str(answer).endswith("\n".join(answer.footer()))
    assert set(answer.notes) <= set(preview.notes)
    verify_receipt(answer.receipt, session.public_key)
    verify_card(answer.card, session.public_key)
    assert session.answer(answer.number).rows == answer.rows
    assert session.charges()[-1]["number"] == answer.number
    assert session.sql("SELECT COUNT(*) AS n FROM people").release(epsilon=1000).value == pytest.approx(120, abs=5)
    assert (query.release(error={"n": 30, "pay": 100}).errors()["n"][0] or 99) <= 30


def test_a_total_is_told_from_a_group_of_null(served: tuple[Town, str]) -> None:
    town, url = served
    text = "SELECT city, GROUPING(city) AS g, COUNT(*) AS n FROM people GROUP BY ROLLUP (city) ORDER BY GROUPING(city)"
    answer = connect(url, town.ann).sql(text).release(epsilon="1")
    assert answer["g"] == [0] * (len(answer.rows) - 1) + [1]
    assert answer["city"][-1] is None


@pytest.mark.slow
def test_dates_come_back_as_dates_in_every_format(served: tuple[Town, str], tmp_path: Path) -> None:
    town, url = served
    query = connect(url, town.ann).sql("SELECT MIN(day) AS first, AVG(day) AS middle, COUNT(*) AS n FROM trips")
    assert "first: ± " in str(query.preview(epsilon="50"))
    assert " days" in str(query.preview(epsilon="50"))
    answer = query.release(epsilon="50")
    (row,) = answer.rows
    assert (type(row["first"]), type(row["middle"]), type(row["n"])) == (date, datetime, int)
    low, high = answer.intervals()["first"][0] or (None, None)
    assert low <= row["first"] <= high
    assert " days" in str(answer)
    assert "<td>" in answer._repr_html_()
    assert '"first":"within ' in answer.card.replace("\\", "")
    answer.write(str(tmp_path / "answer.parquet"))
    assert (tmp_path / "answer.parquet").exists()
    assert answer.plot("n")


@pytest.mark.slow
def test_a_preview_is_printed_like_that_of_a_session(served: tuple[Town, str]) -> None:
    town, url = served
    preview = connect(url, town.ann).sql(COUNT).preview(epsilon="1", confidence="0.9", rows=40)
    cost, more, count, pay, limit, left_out, advice = str(preview).splitlines()
    assert cost.startswith("costs epsilon 1, delta 0; epsilon ")
    assert cost.endswith("would be left")
    assert "more like this" in more
    assert count == f"n: ± {significant(preview.error('n'), 2)} (90%)"
    assert pay == f"pay: ± {significant(preview.error('pay'), 2)} (90%) in a group of 40 rows"
    assert [limit, left_out] == [str(note) for note in preview.notes]
    assert advice.startswith("half the error")
    assert repr(preview) == str(preview)
    assert sum(share for _, share in preview.shares) == pytest.approx(1)
    over = connect(url, town.ann).sql(COUNT).preview(epsilon=10_000_000)
    assert "more than is left" in str(over)


def test_the_plan_is_explained(served: tuple[Town, str]) -> None:
    town, url = served
    query = connect(url, town.ann).sql(COUNT)
    assert query.explain(epsilon="1").startswith("read people")
    assert "Laplace" in query.explain(epsilon="1")
    assert "Gaussian" in query.explain(rho="1")
    assert "Laplace" not in query.explain()


@pytest.mark.slow
def test_all_error_bars_together(served: tuple[Town, str]) -> None:
    town, url = served
    answer = (
        connect(url, town.ann)
        .sql("SELECT AVG(day) AS middle, MIN(day) AS first, COUNT(*) AS n FROM trips")
        .release(epsilon="50")
    )
    alone, together = answer.intervals("0.95"), answer.intervals(simultaneous=True)
    assert set(alone) == set(together) == {"middle", "first", "n"}
    for name in alone:
        (one,), (all_,) = alone[name], together[name]
        assert one is not None
        assert all_ is not None
        assert all_[0] <= one[0] <= answer[name][0] <= one[1] <= all_[1]
    with pytest.raises(BadParameter):
        answer.intervals("0.5")


def test_what_stays_with_the_owner_is_refused_by_name(served: tuple[Town, str]) -> None:
    town, url = served
    session = connect(url, town.ann)
    query = session.sql(COUNT)
    acts: tuple[Callable[[], object], ...] = (
        lambda: session.with_columns(people={}),
        lambda: session.pmw("people", epsilon=1),
        lambda: session.suggest_keys("people.city", epsilon=1),
        lambda: session.synthesize("people", epsilon=1, rows=1, domain={"city": ["Aton"]}),
        lambda: query.quote(epsilon=1),
        lambda: query.statements("duckdb"),
    )
    for act in acts:
        with pytest.raises(Unsupported, match="of a remote"):
            act()
    answer = query.release(epsilon="1")
    with pytest.raises(Unsupported, match="event of a remote answer"):
        _ = answer.event
    assert verify_receipt(answer.receipt, session.public_key).event["event"]["kind"]


@pytest.mark.parametrize("sequence", ["x", "1", -1, 0, 1.5, None])
def test_an_answer_is_named_by_a_number(served: tuple[Town, str], sequence: Any) -> None:
    town, url = served
    session = connect(url, town.ann)
    for read in (session.answer, session.answers_to):
        with pytest.raises(BadParameter, match="sequence"):
            read(sequence)


def test_nothing_of_a_local_session_is_missing_without_a_word() -> None:
    """What a session, query or answer here has, a remote one has or refuses; but for what is not of an analyst."""
    pairs: tuple[tuple[type, type, set[str]], ...] = (
        (Session, RemoteSession, set()),
        (Query, RemoteQuery, {"backend", "values"}),
        (Workload, RemoteWorkload, {"backend"}),
        (Plan, RemotePlan, {"program", "backend"}),
        (TableAnswer, RemoteAnswer, {"beside", "outcome", "released", "own_notes"}),
        (Preview, RemotePreview, set()),
    )
    for here, remote, owners in pairs:
        assert {name for name in dir(here) if name[0] != "_"} - set(dir(remote)) <= owners


@pytest.mark.slow
def test_a_remote_session_takes_the_same_parameters() -> None:
    """Every verb has the parameters that it has here, with the same defaults; some have a key besides.

    Only a curator looks for an answer that was paid for, unless told not to.
    """
    refused = {"with_columns", "quote", "script", "statements", "pmw", "suggest_keys", "prepare", "learn", "compare"}
    refused |= {"tabulate", "continual", "regress"}  # there it has a name
    pairs: tuple[tuple[type, type], ...] = (
        (Session, RemoteSession),
        (Query, RemoteQuery),
        (Workload, RemoteWorkload),
        (Plan, RemotePlan),
        (TableAnswer, RemoteAnswer),
        (Preview, RemotePreview),
    )
    seen = 0
    for here, remote in pairs:
        for name in dir(here):
            ours, theirs = getattr(here, name), getattr(remote, name, None)
            if name[0] == "_" or theirs is None or not inspect.isfunction(ours) or name in refused:
                continue
            wanted, found = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
            for parameter in wanted.values():
                assert parameter.name in found, (here, name, parameter)
                assert found[parameter.name].kind == parameter.kind, (here, name, parameter)
                seen += 1
                if parameter.name == "fresh":
                    assert (parameter.default, found["fresh"].default) == (True, False)
                elif parameter.name != "confidence":  # of a remote session it is the one that was asked for
                    assert found[parameter.name].default == parameter.default, (here, name, parameter)
            assert set(found) - set(wanted) <= {"key", "confidence", "fresh"}, (here, name)
    assert seen > 60


@pytest.mark.slow
def test_the_same_key_gives_the_same_answer(served: tuple[Town, str]) -> None:
    town, url = served
    query = connect(url, town.ann).sql(COUNT)
    first, again = (query.release(epsilon="1/3", key="k", fresh=True).reply for _ in range(2))
    assert (first["paid_before"], again["paid_before"]) == (False, True)
    assert {**first, "paid_before": True} == again
    with pytest.raises(KeyReused):
        query.release(epsilon="1/2", key="k")
    assert query.release(epsilon="1/3", fresh=True).number != query.release(epsilon="1/3", fresh=True).number


@pytest.mark.slow
def test_errors_are_those_of_the_tree(served: tuple[Town, str]) -> None:
    town, url = served
    session = connect(url, town.ann)
    with pytest.raises(Unsupported, match="SELECT"):
        session.sql("SELECT * FROM people").release(epsilon=1)
    with pytest.raises(BadQuestion):
        session.sql("SELECT secrets, COUNT(*) FROM people GROUP BY secrets").preview(epsilon=1)
    with pytest.raises(BadParameter):
        session.sql(COUNT).release()
    with pytest.raises(OverBudget) as over:
        session.sql(COUNT).release(epsilon=10_000_000)
    assert over.value.left == session.remaining
    assert isinstance(over.value.asked, type(over.value.left))
    assert str(over.value.asked) in str(over.value)
    with pytest.raises(BadParameter) as bad:
        session.sql(COUNT).release(epsilon=-1)
    assert (bad.value.name, bad.value.must) == ("epsilon", "must be above 0")
    with pytest.raises(CuratorRefused, match="a valid token") as found:
        connect(url, "discreet_0_0")
    assert found.value.kind == "Unauthorised"
    assert connect(url, f" {town.ann}\n").tables == session.tables  # as it was copied
    for wrong in ("", "two words", "non\u00e9", "a\nb", None):
        with pytest.raises(BadParameter, match="the text that the owner was shown"):
            connect(url, wrong)  # type: ignore[arg-type]
    with pytest.raises(BadParameter):
        connect(url, town.ann, "other")
    with pytest.raises(BadParameter, match="town"):
        connect(url, town.owner)  # the owner sees two
    with pytest.raises(BadParameter):
        connect("ftp://somewhere", town.ann)
    with pytest.raises(NotRegistered):
        session.transport.get("/api/datasets/nowhere")
