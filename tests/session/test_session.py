"""Sessions as users have them: ask, preview, release, spend, refuse."""

import copy
import pickle
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import discreet as dp
from discreet.errors import (
    BadParameter,
    BadQuestion,
    NotATheorem,
    OverBudget,
    Unsupported,
)
from discreet.session import Query
from tests.helpers.visits import VISITS, session

EPOCH = date(1970, 1, 1)


@pytest.mark.slow
def test_the_example_of_the_design() -> None:
    asked = session().sql("SELECT clinic, COUNT(*) AS n, AVG(cost) AS mean_cost FROM visits GROUP BY clinic")
    preview = asked.preview(epsilon="0.3")
    answer = asked.release(epsilon="0.3")
    assert answer.columns == ("clinic", "n", "mean_cost")
    assert answer["clinic"] == ["North", "South", "West"]
    exact = {"North": 5333, "South": 2667, "West": 0}
    errors = answer.errors("0.999999999")["n"]  # each fails with probability 1e-9
    for row, error in zip(answer, errors, strict=True):
        assert abs(row["n"] - exact[row["clinic"]]) <= error
    shown = answer.errors()["n"][0] or 0
    assert preview.error("n") - 0.5 <= shown + 1e-9  # by how much it was rounded
    assert shown <= preview.error("n") + 1e-9
    assert answer.receipt is not None
    assert "patient" not in str(answer)


def test_a_preview_is_free_and_a_release_is_not() -> None:
    s = session()
    asked = s.sql("SELECT COUNT(*) AS n FROM visits")
    asked.preview(epsilon=1)
    assert s.remaining == dp.Approx(10, "1e-6")
    asked.release(epsilon=1)
    assert s.remaining == dp.Approx(9, "5e-7")


def test_the_budget_counts_down_exactly_and_then_refuses() -> None:
    s = session(budget=dp.Pure("0.3"))
    asked = s.sql("SELECT COUNT(*) AS n FROM visits")
    for _ in range(3):
        asked.release(epsilon="0.1")
    assert s.remaining == dp.Pure(0)
    with pytest.raises(OverBudget):
        asked.release(epsilon="1e-12")
    with pytest.raises(BadParameter, match="all noise"):
        asked.release(epsilon="1e-300")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["STDDEV(cost)", "VARIANCE(cost)", "MAX(cost)", "QUANTILE(cost, 0.99)"])
def test_an_error_that_depends_on_the_values_has_no_price(what: str) -> None:
    opened = session()
    query = opened.sql(f"SELECT {what} AS x, COUNT(*) AS n FROM visits")
    _, _, first, second, *_ = str(query.preview(epsilon=1)).splitlines()
    assert "spread evenly" in first
    assert "spread evenly" not in second
    before = opened.remaining
    for wanted in (5, {"x": 5}):
        with pytest.raises(BadParameter, match="depends on how the values lie"):
            query.release(error=wanted)
    assert opened.remaining == before
    assert query.preview(error={"n": 60}).error("n") <= 60


@pytest.mark.slow
def test_fresh_noise_for_each_release() -> None:
    asked = session(budget=dp.Pure(10)).sql("SELECT COUNT(*) AS n FROM visits")
    assert len({asked.release(epsilon="0.001").value for _ in range(12)}) > 1  # equal by chance: below 1e-30


@pytest.mark.slow
def test_equal_questions_cost_the_same_whatever_the_data() -> None:
    empty = VISITS.slice(0, 0)
    for text in (
        "SELECT clinic, AVG(cost) AS a FROM visits GROUP BY clinic",
        "SELECT drug, COUNT(*) AS n FROM visits GROUP BY drug",
    ):
        full, none = session(), session(empty)
        assert full.sql(text).release(epsilon=1).event == none.sql(text).release(epsilon=1).event
        assert full.remaining == none.remaining


def test_empty_groups_get_noise_of_their_own() -> None:
    s = dp.Session(
        t=dp.table(VISITS.slice(0, 0), unit="patient_id", columns={"clinic": dp.keys([f"c{i}" for i in range(200)])}),
        budget=dp.Pure(1),
    )
    noise = s.sql("SELECT clinic, COUNT(*) AS n FROM t GROUP BY clinic").release(epsilon="0.1")["n"]
    assert len(noise) == 200
    assert len(set(noise)) > 20


@pytest.mark.slow
def test_a_key_that_few_have_is_never_named() -> None:
    rare = pa.table({"patient_id": [1], "drug": ["secret"]})
    s = dp.Session(
        t=dp.table(rare, unit="patient_id", columns={"drug": dp.unknown_keys()}), budget=dp.Approx(1, "1e-12")
    )
    assert len(s.sql("SELECT drug, COUNT(*) AS n FROM t GROUP BY drug").release(epsilon=1)) == 0  # 1e-12 at most


def test_keys_that_nobody_listed_need_delta() -> None:
    s = session(budget=dp.Pure(1))
    with pytest.raises(NotATheorem, match="delta"):
        s.sql("SELECT drug, COUNT(*) AS n FROM visits GROUP BY drug").release(epsilon=1)
    assert s.remaining == dp.Pure(1)


@pytest.mark.slow
def test_rules_and_budgets() -> None:
    many = session(budget=dp.Approx(1, "1e-6"), rule=dp.Rule.ZCDP)
    asked = many.sql("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic")
    for _ in range(30):
        asked.release(epsilon="0.1")  # thirty times a tenth, of one: squares add up
    with pytest.raises(BadParameter, match="rho"):
        session(rule=dp.Rule.BASIC).sql("SELECT COUNT(*) AS n FROM visits").release(rho=1)
    with pytest.raises(BadParameter, match="epsilon"):
        session(budget=dp.ZCDP(1)).sql("SELECT COUNT(*) AS n FROM visits").release(epsilon=1)
    with pytest.raises(BadParameter, match="epsilon"):
        session().sql("SELECT COUNT(*) AS n FROM visits").release()


@pytest.mark.slow
def test_change_one_costs_twice_the_noise_where_groups_can_change() -> None:
    for text, times in (
        ("SELECT COUNT(*) AS n FROM visits", 1),
        ("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic", 2),
    ):
        one = session().sql(text).preview(epsilon=1).error("n")
        two = session(neighbours=dp.Neighbours.CHANGE_ONE).sql(text).preview(epsilon=1).error("n")
        assert two == pytest.approx(times * one, rel=0.05)


# --- answers ----------------------------------------------------------------------------------------------------------


def test_an_answer_is_given_in_many_formats(tmp_path: Path) -> None:
    answer = (
        session().sql("SELECT clinic, COUNT(*) AS n, AVG(cost) AS a FROM visits GROUP BY clinic").release(epsilon=1)
    )
    assert answer.to_arrow().column_names == ["clinic", "n", "n_error", "a", "a_error"]
    assert answer.to_pandas().shape == (3, 5)
    assert answer.to_polars(errors=False).columns == ["clinic", "n", "a"]
    answer.write(str(tmp_path / "answer.parquet"))
    assert pyarrow.parquet.read_table(tmp_path / "answer.parquet") == answer.to_arrow()
    assert "<table>" in answer._repr_html_()
    assert "spent epsilon 1" in str(answer)
    assert "clinic" in answer.explain()
    assert answer.plot("n").axes[0].get_ylabel() == "n"


@pytest.mark.slow
@pytest.mark.parametrize("made", ["released", "consistent"])
def test_a_picture_shows_the_intervals_and_what_is_a_total(made: str) -> None:
    data = pa.table({"who": [1, 2, 3], "shop": ["a", None, "b"], "day": [date(2025, 1, 2)] * 3})
    columns = {"shop": dp.keys(["a", "b", None]), "day": dp.bounds("2025-01-01", "2025-12-31")}
    s = dp.Session(t=dp.table(data, unit="who", columns=columns, max_rows=1), budget=dp.Pure(1))
    text = "SELECT shop, COUNT(*) AS n, MEDIAN(day) AS d FROM t GROUP BY ROLLUP (shop)"
    answer = s.sql(text).release(epsilon="0.1")
    answer = answer if made == "released" else answer.consistent()
    for name in ("n", "d"):
        axes = answer.plot(name).axes[0]
        drawn = [[float(y) for _, y in bar] for bar in axes.collections[0].get_segments()]
        ends = [one for one in answer.intervals()[name] if one is not None]
        wanted = [[(end - EPOCH).days if name == "d" else end for end in one] for one in ends]
        assert drawn == [pytest.approx(one) for one in wanted]
        assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b", "NULL", "all"]


def test_counts_can_be_made_non_negative() -> None:
    empty = session(VISITS.slice(0, 0))
    answer = empty.sql("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic").release(epsilon="0.01")
    assert min(answer.consistent()["n"]) >= 0


# --- sources and bad input --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "csv", "folder", "glob", "pandas", "polars"])
def test_sources(kind: str, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(VISITS, tmp_path / "a.parquet")
    pyarrow.csv.write_csv(VISITS, tmp_path / "a.csv")
    (tmp_path / "parts").mkdir()
    for i in range(4):
        pyarrow.parquet.write_table(VISITS.slice(i * 2000, 2000), tmp_path / "parts" / f"{i}.parquet")
    import pandas as pd
    import polars as pl

    source = {
        "parquet": tmp_path / "a.parquet",
        "csv": str(tmp_path / "a.csv"),
        "folder": tmp_path / "parts",
        "glob": str(tmp_path / "parts" / "*.parquet"),
        "pandas": pd.DataFrame(VISITS.to_pydict()),
        "polars": pl.from_arrow(VISITS),
    }[kind]
    s = session(source, budget=dp.Approx(10_000, "1e-6"))
    exact = s.sql("SELECT COUNT(*) AS n FROM visits").release(epsilon=5_000)
    assert exact.value == 8000  # noise of scale 2/5000: 0 but for a chance below 1e-900


def test_bad_questions_are_refused_before_anything() -> None:
    s = session()
    for text, words in {
        "SELECT AVG(costs) FROM visits": "did you mean",
        "SELECT COUNT(*) FROM visit": "did you mean",
        "SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id": "each unit",
        "SELECT cost, COUNT(*) FROM visits GROUP BY cost": "cost",
        "SELECT COUNT(*) FROM visits; DROP TABLE visits": "statement",
        "DELETE FROM visits": "SELECT|DELETE",
        "SELECT AVG(0) AS a FROM visits": "constant",
        "SELECT VARIANCE(3) AS v FROM visits": "constant",
        "SELECT CORR(1, cost) AS c FROM visits": "constant",
    }.items():
        with pytest.raises(BadQuestion, match=words):
            s.sql(text)
    assert s.remaining == dp.Approx(10, "1e-6")


def test_fractions_of_a_budget() -> None:
    s = session(budget=dp.Approx(Fraction(1, 3), "1e-6"))
    s.sql("SELECT COUNT(*) AS n FROM visits").release(epsilon="1/3")
    assert s.remaining == dp.Approx(0, "5e-7")


# --- words ------------------------------------------------------------------------------------------------------------


def test_a_price_for_an_error_has_four_digits_and_buys_it() -> None:
    found = session().sql("SELECT COUNT(*) AS n FROM visits").release(error=13, confidence="0.9")
    price = found.cost.split()[1].rstrip(",")
    assert len(price.replace(".", "").lstrip("0")) <= 4
    assert (found.errors("0.9")["n"][0] or 99) <= 13


@pytest.mark.parametrize(("text", "hint"), [
    ("SELECT AVGG(cost) FROM visits", "did you mean AVG?"),
    ("SELECT HISTOGRAM(cost) FROM visits", "WIDTH_BUCKET"),
])  # fmt: skip
def test_functions_that_cannot_are_refused_with_what_can(text: str, hint: str) -> None:
    with pytest.raises(Unsupported, match=hint.replace("?", "[?]")):
        session().sql(text)


def test_nothing_but_the_unit_must_be_declared() -> None:
    """Counts for each person, a column under another name, groups that nobody declared: all of it is answered."""
    s = dp.Session(visits=dp.table(VISITS, unit="patient_id"), budget=dp.Approx(30, "1e-6"))
    for text in (
        "SELECT AVG(n) AS m FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS t",
        "SELECT SUM(c) AS m FROM (SELECT cost AS c FROM visits) AS t",
        "SELECT where_ AS w, COUNT(*) AS m FROM (SELECT clinic AS where_ FROM visits) AS t GROUP BY w",
    ):
        assert s.sql(text).release(epsilon=10).columns[-1] == "m"
    pure = dp.Session(visits=dp.table(VISITS, unit="patient_id"), budget=dp.Pure(1))
    with pytest.raises(NotATheorem, match="undeclared groups cost delta"):
        pure.sql("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic").preview(epsilon=1)
    assert pure.remaining == dp.Pure(1)


def test_count_if_counts_under_a_condition() -> None:
    s = session()
    same = s.sql("SELECT COUNT(*) FILTER (WHERE cost > 50) AS n FROM visits")
    assert s.sql("SELECT COUNT_IF(cost > 50) AS n FROM visits").plan == same.plan


def test_a_column_that_is_not_there_is_named_with_the_nearest() -> None:
    with pytest.raises(BadParameter, match="did you mean cost"):
        dp.Session(visits=dp.table(VISITS, unit="patient_id", columns={"costs": dp.bounds(0, 1)}), budget=dp.Pure(1))


def test_group_by_all_is_all_that_is_not_an_aggregate() -> None:
    s = session()
    text = "SELECT clinic, cost > 50 AS dear, 1 AS one, COUNT(*) AS n, SUM(cost) / COUNT(*) AS m FROM visits GROUP BY "
    assert s.sql(text + "ALL").plan == s.sql(text + "clinic, cost > 50").plan
    assert s.sql("SELECT COUNT(*) AS n FROM visits GROUP BY ALL").plan == s.sql("SELECT COUNT(*) AS n FROM visits").plan
    for refused in ("SELECT clinic, cost, COUNT(*) AS n FROM visits GROUP BY ALL",):
        with pytest.raises(BadQuestion):
            s.sql(refused)


# --- GROUPING -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "sets",
    [
        "clinic, paid",
        "ROLLUP (clinic, paid)",
        "CUBE (clinic, paid)",
        "GROUPING SETS ((paid), (clinic), (paid, clinic), ())",
    ],
)
def test_grouping_is_what_duckdb_says_it_is(sets: str) -> None:
    """A listed NULL and a total look the same but for GROUPING: both are in the data here."""
    rows = pa.table(
        {
            "who": range(12),
            "clinic": ["North", "South", None] * 4,
            "paid": [True, False, True, False, None, None] * 2,
        }
    )
    text = (
        "SELECT clinic, paid, GROUPING(clinic, paid) AS g, GROUPING(paid) AS p, GROUPING(paid, clinic) AS r, "
        f"COUNT(*) AS n FROM visits GROUP BY {sets}"
    )
    keys = {"clinic": dp.keys(["North", "South", None]), "paid": dp.keys([True, False, None])}
    table = dp.table(rows, unit="who", columns=keys, max_rows=1)
    answer = dp.Session(visits=table, budget=dp.Pure(1000)).sql(text).release(epsilon=1000)
    database = duckdb.connect()
    database.register("visits", rows)
    expected = set(database.sql(text).fetchall())
    for found in (answer, answer.consistent()):
        shown = {tuple(row[name] for name in ("clinic", "paid", "g", "p", "r")) for row in found if row["n"] > 0.5}
        assert shown == {row[:-1] for row in expected}  # groups of nobody are answered, too; at this price they show 0
    assert "g" not in answer.errors()  # it is public


def test_grouping_keeps_and_orders_rows_and_costs_nothing() -> None:
    s = session()
    text = (
        "SELECT clinic, CASE WHEN GROUPING(clinic) = 1 THEN 'all' ELSE clinic END AS place, "
        "COUNT(*) AS n, COUNT(*) * GROUPING(clinic) AS total FROM visits GROUP BY ROLLUP (clinic)"
    )
    plain = s.sql("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY ROLLUP (clinic)")
    assert s.sql(text).quote(epsilon=1).plan.price == plain.quote(epsilon=1).plan.price
    answer = s.sql(f"{text} ORDER BY GROUPING(clinic) DESC, clinic").release(epsilon=1)
    assert answer["place"] == ["all", "North", "South", "West"]
    assert answer["total"] == [answer["n"][0], 0, 0, 0]
    assert answer.errors()["total"] == pytest.approx([answer.errors()["n"][0], 0, 0, 0])
    assert s.sql(f"{text} HAVING GROUPING(clinic) = 1").release(epsilon=1)["place"] == ["all"]
    assert answer.to_arrow()["place"].to_pylist() == answer["place"]


@pytest.mark.parametrize(
    ("kind", "low", "high", "value"),
    [
        (pa.int64(), -(2**63), 2**63 - 1, 2**63 - 9),
        (pa.int64(), 0, 2**62, 2**62),
        (pa.uint64(), 0, 2**64 - 1, 2**64 - 1),
        (pa.decimal128(38, 0), 1 - 10**38, 10**38 - 1, Decimal(9 * 10**37)),
        (pa.decimal128(38, 10), 1 - 10**28, 10**28 - 1, Decimal("-9e27") - Decimal("0.0000000001")),
    ],
)  # fmt: skip
def test_numbers_of_all_widths_are_summed_within_all_of_their_range(
    kind: pa.DataType, low: int, high: int, value: Any
) -> None:
    """With ε = 10^6 each, the noise is beyond a thousandth of the value with probability below e^-900."""
    rows = pa.table({"id": list(range(10)), "x": pa.array([value] * 10, kind)})
    one = dp.Session(
        t=dp.table(rows, unit="id", columns={"x": dp.bounds(low, high)}, max_rows=1), budget=dp.Pure(10**7)
    )
    question = one.sql("SELECT SUM(x) AS total, AVG(x) AS mean, MAX(x) AS most FROM t WHERE x <> 3")
    (answer,) = question.release(epsilon=4 * 10**6).rows
    assert answer["total"] == pytest.approx(10 * float(value), rel=1e-3)
    assert answer["mean"] == pytest.approx(float(value), rel=1e-3)
    assert low <= answer["most"] <= high


@pytest.mark.slow
def test_an_answer_can_be_pickled_and_copied_without_its_receipt() -> None:
    answer = (
        session().sql("SELECT clinic, COUNT(*) AS n, AVG(cost) AS a FROM visits GROUP BY clinic").release(epsilon=1)
    )
    for again in (pickle.loads(pickle.dumps(answer)), copy.copy(answer), copy.deepcopy(answer)):  # noqa: S301
        assert again.rows == answer.rows
        assert again.errors(0.9) == answer.errors(0.9)
        assert again.receipt is None
        assert again.notes == answer.notes
        assert str(again) == str(answer)
    assert answer.receipt is not None


def test_a_session_is_not_doubled() -> None:
    """``deepcopy`` was a TypeError about a lock; a shallow copy has the same budget."""
    first = session()
    for double in (copy.deepcopy, pickle.dumps):
        for whole in (first, first.sql("SELECT COUNT(*) AS n FROM visits")):
            with pytest.raises(dp.errors.NotATheorem, match="neither deep-copied nor pickled"):
                double(whole)
    copy.copy(first).sql("SELECT COUNT(*) AS n FROM visits").release(epsilon=1)
    assert copy.copy(first).remaining == first.remaining != first.budget


@pytest.mark.slow
def test_a_public_list_of_keys_that_was_edited_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "clinics.csv"
    file.write_text("clinic\nNorth\nSouth\n")
    visits = dp.table(pa.table({"who": [1], "clinic": ["East"]}), unit="who", max_rows=1)
    s = dp.Session(visits=visits, clinics=dp.table(file, public=True), budget=dp.Pure(10))
    text = "SELECT c.clinic, COUNT(*) AS n FROM visits v JOIN clinics c ON v.clinic = c.clinic GROUP BY c.clinic"
    assert s.sql(text).release(epsilon=1)["clinic"] == ["North", "South"]
    file.write_text("clinic\nNorth\nSouth\nEast\n")
    assert s.sql(text).release(epsilon=1)["clinic"] == ["East", "North", "South"]


def test_one_column_that_cannot_be_read_is_left_out_by_name() -> None:
    wide = pa.array([Decimal(1)], pa.decimal256(50, 2))
    half = pa.array([np.float16(1)], pa.float16())
    people = dp.table(
        pa.table({"who": [1], "v": [2], "h": half, "d": wide}), unit="who", columns={"v": dp.bounds(0, 5)}
    )
    s = dp.Session(people=people, budget=dp.Pure(1))
    assert s.sql("SELECT SUM(v) AS s FROM people").release(epsilon=1).value is not None
    for name, kind in (("h", "halffloat"), ("d", "decimal256")):
        with pytest.raises(BadQuestion, match=f"column {name} of people cannot be used: its type, {kind}"):
            s.sql(f"SELECT COUNT({name}) AS n FROM people")


@pytest.mark.parametrize("engine", ["duckdb", {"a": [1]}, pa.table({"a": [1]})])
def test_an_engine_is_no_table_and_no_name(engine: Any) -> None:
    with pytest.raises(BadParameter, match=r"it must be made by dp.engines.duckdb\(\)"):
        dp.Session(visits=dp.table({"patient": [1]}, unit="patient"), budget=dp.Pure(1), engine=engine)


def test_the_face_of_a_session_is_small() -> None:
    """What users call; what services and checks need is behind it (``backend.py``)."""
    names = {name for name in dir(dp.Session) if not name.startswith("_")}
    assert len(names) <= 24, sorted(names)
    assert names >= {"sql", "workload", "plan", "continual", "learn", "synthesize", "tabulate", "remaining", "tables"}
    assert {name for name in dir(Query) if not name.startswith("_")} == {
        "agg", "again", "backend", "explain", "having", "join", "limit", "order_by", "plan", "prepared", "preview",
        "quote", "release", "script", "sort", "statements", "text", "union_all", "values",
    }  # fmt: skip
    assert dp.Session.__mro__ == (dp.Session, object)
