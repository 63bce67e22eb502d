"""dp.bounds("auto"): chosen from a profile, or from a tenth of a release's price; else refused, unpaid."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadParameter, BadQuestion, OverBudget
from discreet.session.price import Price

pytestmark = pytest.mark.usefixtures("fixed_noise")

RNG = np.random.default_rng(4)
ROWS = {"patient": np.arange(5000), "cost": np.round(RNG.lognormal(3, 1, 5000), 2), "gap": np.full(5000, np.nan)}
SUM = "SELECT SUM(cost) AS s, AVG(cost) AS m FROM visits"


def session(**columns: object) -> dp.Session:
    declared = {"cost": dp.bounds("auto"), **columns}
    table = dp.table(ROWS, unit="patient", max_rows=1, columns=declared)  # type: ignore[arg-type]
    return dp.Session(visits=table, budget=dp.Pure(10))


def test_bounds_are_chosen_from_a_profile_and_told() -> None:
    own = session()
    for ask in (own.sql(SUM).explain, own.sql(SUM).quote, own.workload([SUM]).explain):
        with pytest.raises(BadQuestion, match=r"no bounds could be chosen yet for visits\.cost"):
            ask(epsilon=1)
    with pytest.raises(BadQuestion, match=r"no bounds could be chosen yet for visits\.cost"):
        own.plan([SUM], epsilon=1)
    with pytest.raises(BadParameter, match="buy a profile first"):
        own.sql(SUM).release(error=5)
    with pytest.raises(OverBudget):
        own.sql(SUM).release(epsilon=11)
    assert own.remaining == dp.Pure(10)
    own.profile("visits", epsilon=2)
    answer = own.sql(SUM).release(epsilon=5)
    assert answer["s"][0] == pytest.approx(ROWS["cost"].sum(), rel=0.1)
    assert any("bounds of cost chosen from the profile: 0 to" in note for note in answer.notes)
    count = own.sql("SELECT COUNT(*) AS n FROM visits").release(epsilon=1)
    assert not any("bounds of" in note for note in count.notes), "it does not look at them"


def test_a_preview_knows_no_error_bars_of_values_whose_bounds_are_to_be_chosen() -> None:
    """But it knows the price, and the error bars of counts; what it is made of cannot be released."""
    text, own = "SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits", session()
    for found in (own.sql(text).preview(epsilon=1), own.workload([text]).preview(epsilon=1)[0]):
        assert found.cost == "epsilon 1"
        assert 0 < found.error("n") < 100
        assert math.isinf(found.error("s"))
        (said,) = found.notes
        assert said.startswith("bounds of visits.cost are not chosen yet: a release spends a tenth")
    with pytest.raises(BadQuestion, match=r"no bounds could be chosen yet for visits\.cost"):
        own.release(own.sql(text).expected(Price(1)))
    assert own.remaining == dp.Pure(10)


def test_bounds_that_a_question_narrows_are_told_once_as_it_has_them() -> None:
    table = dp.table(ROWS, unit="patient", max_rows="auto", columns={"cost": dp.bounds("auto")})
    own = dp.Session(visits=table, budget=dp.Pure(1000))
    own.profile("visits", epsilon=500)
    answer = own.sql("SELECT SUM(cost) AS s FROM visits").release(epsilon="0.001")
    said = [note for note in answer.notes if "cost" in note]
    assert said[0].startswith("cost is clipped to 0 to ")
    assert "bounds of cost cut about " in said[1]
    assert len(said) == 2


def test_all_null_is_refused_and_costs_nothing_more() -> None:
    own = session(gap=dp.bounds("auto"))
    own.profile("visits", epsilon=2)
    with pytest.raises(BadQuestion, match=r"visits\.gap"):
        own.sql("SELECT SUM(gap) AS s FROM visits")
    assert own.remaining == dp.Pure(8)
    assert len(own.sql(SUM).release(epsilon=1)) == 1


def test_a_release_buys_the_values_first_out_of_its_own_price_and_once() -> None:
    own = session()
    answer = own.sql(SUM).release(epsilon=5)
    assert own.remaining == dp.Pure(5)
    assert answer["s"][0] == pytest.approx(ROWS["cost"].sum(), rel=0.2)
    assert any("bounds of cost chosen from the profile: 0 to" in note for note in answer.notes)
    assert own.sql(SUM).quote(epsilon=1).price == dp.Pure(1)  # known now
    assert own.profile("visits").values("cost") is not None


def test_a_workload_buys_the_values_once_for_all() -> None:
    own = session()
    first, second = own.workload([SUM, "SELECT AVG(cost + 1) AS m FROM visits"]).release(epsilon=5)
    assert own.remaining == dp.Pure(5)
    assert first["m"][0] + 1 == pytest.approx(second["m"][0], rel=0.2)


def test_values_that_were_bought_are_found_in_the_ledger(tmp_path: Path) -> None:
    def opened() -> dp.Session:
        table = dp.table(pa.table(ROWS), unit="patient", max_rows=1, columns={"cost": dp.bounds("auto")})
        return dp.Session(visits=table, budget=dp.Pure(10), ledger=tmp_path / "ledger")

    opened().sql(SUM).release(epsilon=5)
    second = opened()
    assert "chosen from the profile" in str(second.sql(SUM).release(epsilon=1).notes)
    assert second.remaining == dp.Pure(4)


@pytest.mark.parametrize("values", [np.full(5000, np.nan), np.zeros(5000), np.full(5000, 7.0)])
def test_all_null_and_one_value_are_answered_when_paid_for(values: Any) -> None:
    """A column with nothing in it, or one value: bounds of one step or around the value, never a crash."""
    table = dp.table({"patient": np.arange(5000), "x": values}, unit="patient", columns={"x": dp.bounds("auto")})
    own = dp.Session(visits=table, budget=dp.Pure(10))
    answer = own.sql("SELECT AVG(x) AS m FROM visits").release(epsilon=5)
    assert own.remaining == dp.Pure(5)
    assert any("bounds of x" in note for note in answer.notes)


@pytest.mark.parametrize("given", [("auto", 5), (0, None)])
def test_half_a_choice_is_refused(given: tuple[object, object]) -> None:
    with pytest.raises(BadParameter, match="high"):
        dp.bounds(*given)  # type: ignore[arg-type]


def test_text_has_no_bounds_to_choose() -> None:
    table = dp.table({"patient": [1], "name": ["x"]}, unit="patient", columns={"name": dp.bounds("auto")})
    with pytest.raises(BadParameter, match="must fit the column"):
        dp.Session(visits=table, budget=dp.Pure(1))


def test_bounds_that_could_not_be_chosen_are_said_to_mean_nothing() -> None:
    """A tenth of so low a price sees nothing: the answer is not about the values, and says so."""
    table = dp.table({"u": range(20), "x": [1e300] * 20}, unit="u", max_rows=1, columns={"x": dp.bounds("auto")})
    answer = dp.Session(t=table, budget=dp.Pure(1)).sql("SELECT AVG(x) AS m FROM t").release(epsilon="0.1")
    assert any("values were read as lying from 0 to 1" in note for note in answer.notes)
    assert any("says nothing about it" in note for note in answer.notes)


MANY = {"u": np.repeat(np.arange(2000), 2), "x": np.full(4000, 7.0), "y": np.full(4000, 50.0), "z": np.full(4000, 1.0)}


def three_columns(**options: Any) -> dp.Session:
    columns = {name: dp.bounds("auto") for name in "xyz"}
    tables = {name: dp.table(pa.table(MANY), unit="u", max_rows="auto", columns=columns) for name in ("t", "other")}
    return dp.Session(tables, budget=dp.Approx(10**6, 0), **options)


def asked(own: dp.Session, column: str, epsilon: int = 100) -> bool:
    """Ask for a mean; whether a part of the price was spent before."""
    return "was spent before" in str(own.sql(f"SELECT AVG({column}) AS m FROM t").release(epsilon=epsilon).notes)


def test_a_question_buys_what_it_looks_at_and_no_other_column_or_table() -> None:
    own = three_columns()
    assert asked(own, "x")
    assert [one.column for one in own.profile("t").histograms] == ["", "x"]
    with pytest.raises(BadParameter, match="none was bought yet"):
        own.profile("other")


def test_one_more_column_buys_its_values_and_not_the_sizes_again() -> None:
    own = three_columns()
    assert asked(own, "x", 1000)
    sizes = own.profile("t").sizes.histogram
    assert asked(own, "y")
    assert own.profile("t").sizes.histogram is sizes
    alone = own.profile("t").values("y")
    assert alone is not None
    assert alone.scale == pytest.approx(0.1, rel=1e-3), "the whole tenth, since nothing else is bought"


def test_a_query_that_is_released_twice_buys_once() -> None:
    own = three_columns()
    query = own.sql("SELECT AVG(x) AS m FROM t")
    assert "was spent before" in str(query.release(epsilon=100).notes)
    assert "was spent before" not in str(query.release(epsilon=100).notes)


def test_a_ledger_has_all_that_was_bought_in_whatever_order_it_is_asked_for(tmp_path: Path) -> None:
    def opened() -> dp.Session:
        return three_columns(ledger=tmp_path / "ledger")

    first = opened()
    assert asked(first, "x") and asked(first, "y")  # noqa: PT018
    for order in ("yx", "xy"):
        own = opened()
        assert own.sql("SELECT AVG(y) AS m FROM t").preview(epsilon=1).error("m") < 1, "it is known before it is asked"
        assert not any(asked(own, column) for column in order)
    assert opened().profile("t") == first.profile("t")
    assert asked(opened(), "z")
    assert not asked(first, "z"), "what another process bought is found"


def test_a_preview_says_how_many_units_it_takes_for_bounds_to_be_chosen() -> None:
    """So many as a class must have to stand out from the noise that is then drawn."""
    for budget, price in ((dp.Pure(1), Price("0.5")), (dp.ZCDP(1, "1e-6"), Price(rho="0.1"))):
        table = dp.table({"u": range(30), "x": [7.0] * 30}, unit="u", max_rows=1, columns={"x": dp.bounds("auto")})
        own = dp.Session(t=table, budget=budget)
        query = own.sql("SELECT AVG(x) AS m FROM t")
        (note,) = query.preview(price).notes
        query.release(price)
        values = own.profile("t").values("x")
        assert values is not None
        needed = values.error([1.0], 0.001 / (4 * len(values.counts)))
        assert int(note.split("Unless ")[1].split(" units")[0].replace(",", "")) == pytest.approx(needed, rel=0.01)
