"""The DataFrame interface: verbs, what they refuse, and what follows the columns around."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction

import pytest

import discreet
from discreet.errors import BadQuestion, Unsupported
from discreet.query.front import verbs as dp
from discreet.query.front.frame import Frame, having, limit, order_by
from discreet.query.plan.expressions import Call, Column, Literal
from discreet.query.plan.nodes import Aggregate, Filter, Join, Measure, Project, Question, Scan
from tests.helpers.repeated import repeated

TABLES = {"visits": ("patient_id", "clinic", "cost", "day", "visit cost"), "patients": ("id", "age")}
col = dp.col


def frame(name: str = "visits", unit: str | None = "patient_id") -> Frame[Question]:
    return Frame.of(name, TABLES, lambda asked: asked, unit=unit)


visits, patients = frame(), frame("patients", "id")

# --- expressions ------------------------------------------------------------------------------------------------------


def test_a_lone_word_is_a_column_and_other_texts_are_sql() -> None:
    assert visits.agg(dp.sum("cost")).measures[0].arguments == (Column("cost"),)
    assert visits.agg(dp.sum("cost + 1")).measures[0].arguments == (
        Call("add", (Column("cost"), Literal(Fraction(1)))),
    )
    tables = {"t": ("order", "select", "true", "visit cost", "a.b", 'q"q')}
    for name in tables["t"]:
        source = Frame.of("t", tables, lambda asked: asked)
        assert source.agg(dp.sum(col(name))).measures[0].arguments == (Column(name),)
        if name.isidentifier():
            assert source.agg(dp.sum(name)).measures[0].arguments == (Column(name),)


def test_keys_of_a_cube_and_a_rollup_can_be_named() -> None:
    for verb in (visits.cube, visits.rollup):
        named = verb("clinic", dear="cost > 50").agg(n=dp.count())
        assert named == verb("clinic", (col("cost") > 50).alias("dear")).agg(n=dp.count())


# --- verbs ------------------------------------------------------------------------------------------------------------


def test_frames_never_change() -> None:
    before = frame()
    before.filter("cost > 1").select("cost").agg(dp.count())
    assert (before.rows, before.units) == (frame().rows, frame().units)
    assert repr(before) == "Frame(patient_id, clinic, cost, day, visit cost)"


@pytest.mark.parametrize(
    ("verb", "suggested"),
    [
        ("groupby", '.group_by("clinic").agg(n=dp.agg.count())'), ("where", '.filter("cost > 5")'),
        ("value_counts", '.group_by("clinic").agg(n=dp.agg.count())'), ("merge", '.join(other, on="patient_id")'),
        ("count", ".agg(n=dp.agg.count())"), ("__getitem__", '.select("clinic", "cost")'),
        ("__getitem__", '.filter("cost > 5")'),
    ],
)  # fmt: skip
def test_a_refused_verb_shows_one_that_works(verb: str, suggested: str) -> None:
    rows = {"patient_id": [1, 2], "clinic": ["N", "S"], "cost": [3, 4]}
    table = discreet.table(rows, unit="patient_id", max_rows=1)
    session = discreet.Session(visits=table, budget=discreet.Pure(1), progress=False)
    with pytest.raises(Unsupported) as caught:
        getattr(session["visits"], verb)("clinic")
    assert suggested in str(caught.value)
    names = {"frame": session["visits"], "other": session["visits"].select("patient_id"), "dp": discreet}
    assert eval(f"frame{suggested}", names) is not None  # noqa: S307 - a text of ours


def test_columns_follow() -> None:
    assert visits.select("cost", "clinic").columns == ("cost", "clinic")
    assert visits.select(col("visit cost"), half="cost / 2").columns == ("visit cost", "half")
    assert visits.with_column("cost", "cost + 1").columns == visits.columns
    assert visits.with_columns(a="cost", b="cost").columns == (*visits.columns, "a", "b")
    assert visits.rename({"COST": "price"}).columns == ("patient_id", "clinic", "price", "day", "visit cost")
    assert visits.drop("cost", "day").columns == ("patient_id", "clinic", "visit cost")
    assert visits.join(visits, on="patient_id").columns[5:] == tuple(f"{name}_2" for name in visits.columns)


def test_no_condition_is_no_filter() -> None:
    assert visits.filter() == visits


def test_the_unit_is_followed_through_verbs() -> None:
    assert visits.units == {"patient_id"}
    assert visits.filter("cost > 1").units == {"patient_id"}
    assert visits.rename({"patient_id": "who"}).units == {"who"}
    assert visits.select("patient_id", who="patient_id").units == {"patient_id", "who"}
    assert visits.select("cost", patient_id="cost").units == frozenset()
    assert visits.with_column("patient_id", "patient_id + 0").units == frozenset()
    joined = visits.join(patients, on=[("patient_id", "id")])
    assert joined.units == {"patient_id", "id"}
    assert visits.join(patients, on=[("patient_id", "id")], how="left").units == {"patient_id"}
    assert visits.join(visits, on="patient_id").units == {"patient_id", "patient_id_2"}
    assert visits.union_all(visits).units == {"patient_id"}
    other = visits.with_column("patient_id", "1")
    assert visits.union_all(other).units == frozenset()
    assert visits.per_unit("clinic", who="patient_id").agg(n=dp.count()).units == {"who"}


def test_groups_by_the_unit_are_frames_and_others_are_questions() -> None:
    assert isinstance(visits.group_by("patient_id", "clinic").agg(dp.count()), Frame)
    assert isinstance(visits.group_by("clinic").agg(dp.count()), Question)
    assert isinstance(visits.rename({"patient_id": "who"}).group_by("who").agg(dp.count()), Frame)
    assert isinstance(visits.group_by("patient_id + 0").agg(dp.count()), Question)
    assert isinstance(visits.rollup("patient_id").agg(dp.count()), Question)  # which is refused later, by its types
    assert isinstance(frame(unit=None).group_by("patient_id").agg(dp.count()), Question)
    with pytest.raises(BadQuestion, match="per_unit needs the unit"):
        visits.per_unit("clinic")


def test_a_question_about_a_summary() -> None:
    asked = (
        visits.filter("cost > 0")
        .per_unit("patient_id")
        .agg(total=dp.sum("cost"), n=dp.count())
        .filter("n > 1")
        .join(patients, on=[("patient_id", "id")])
        .group_by("age")
        .agg(mean=dp.mean("total"))
    )
    assert isinstance(asked.source, Join)
    assert isinstance(asked.source.left, Filter)
    assert asked.source.right == Scan("patients")
    assert asked.measures == (Measure("mean", Aggregate.AVG, (Column("total"),)),)


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: Frame.of("visit", TABLES, lambda asked: asked), "no table visit; did you mean visits"),
    (lambda: visits.filter("costt > 1"), "no column costt; did you mean cost"),
    (lambda: visits.filter(col("a.b") > 1), 'no column "a.b"'),
    (lambda: visits.filter("cost >"), "not SQL that we understand"),
    (lambda: visits.filter("cost > 1; DROP TABLE visits"), "a second statement"),
    (lambda: visits.filter("SELECT 1"), r"not SQL|a subquery"),
    (lambda: visits.filter("cost IN (SELECT 1 FROM visits)"), "IN \\(SELECT"),
    (lambda: visits.filter("COUNT(*) > 1"), "an aggregate in filter"),
    (lambda: visits.select(dp.sum("cost")), "an aggregate in select"),
    (lambda: visits.with_column("a", dp.count()), "an aggregate in with_columns"),
    (lambda: visits.with_column("__unit", "cost"), "are ours"),
    (lambda: visits.rename({"cost": "__unit"}), "are ours"),
    (lambda: visits.rename({"cost": "clinic"}), "two columns are named clinic"),
    (lambda: visits.drop("nothing"), "no column nothing"),
    (lambda: visits.filter(1), "needs an expression"),  # type: ignore[arg-type]
    (lambda: visits.group_by(None).agg(), "needs an expression"),  # type: ignore[arg-type]
    (visits.agg, "1 to 200 outputs"),
    (lambda: visits.agg("cost"), "cost must be in GROUP BY"),
    (lambda: visits.agg(dp.sum(dp.count())), "an aggregate in an aggregate"),
    (lambda: visits.group_by(dp.count()).agg(), "an aggregate in GROUP BY"),
    (lambda: visits.group_by(dp.lit(1)).agg(), "not a constant"),
    (lambda: visits.group_by("clinic").agg(clinic=dp.count()), "two columns are named clinic"),
    (lambda: visits.join(patients, on=[]), "at least one pair"),
    (lambda: visits.join(patients, on="id"), "no column id"),
    (lambda: visits.join(patients, on=[("patient_id", "id")], how="outer"), "neither inner nor left"),
    (lambda: visits.union_all(patients), "the same columns"),
    (lambda: visits.union_all("patients"), "union_all needs a table of the session"),  # type: ignore[arg-type]
    (lambda: visits.join("patients", on="patient_id"), r'join needs a table .*join\(session\["patients"\]'),  # type: ignore[arg-type]
    (lambda: visits.join(patients), 'join needs on="id"'),
    (lambda: visits.join(patients, on={"patient_id": "id"}), "join needs on="),  # type: ignore[arg-type]
    (lambda: visits.join(patients, on=3), "join needs on="),  # type: ignore[arg-type]
    (lambda: visits.join(patients, on=[("a", "b", "c")]), "join needs on="),  # type: ignore[list-item]
    *((lambda verb=verb: getattr(visits, verb)("cost"), f"{verb} of rows cannot be asked here; ")
      for verb in ("sort", "order_by", "limit", "head", "having", "preview", "release", "explain")),
    *((lambda verb=verb: getattr(visits.group_by("clinic"), verb)("n"), f"{verb} before agg cannot be asked here; ")
      for verb in ("sort", "order_by", "limit", "having", "filter", "preview", "release", "explain")),
    (lambda: visits.per_unit("patient_id").release(), "release before agg"),
    (lambda: visits.cube(*["cost"] * 7), "64 grouping sets"),
    (lambda: visits.rollup().agg(), "1 to 200 outputs"),
    (lambda: visits.rollup("clinic").agg(dp.grouping("cost"), dp.count()), "GROUPING must be a key"),
    (lambda: having(visits.rollup("clinic").agg(n=dp.count()), "GROUPING(n) = 1"), "GROUPING must be a key"),
]  # fmt: skip


@pytest.mark.parametrize(("act", "message"), WRONG)
def test_wrong_verbs_say_what_is_wrong(act: Callable[[], object], message: str) -> None:
    with pytest.raises(BadQuestion, match=message):
        act()


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step", [lambda f: f.union_all(f), lambda f: f.join(f, on="cost"), lambda f: f.with_column("cost", "cost")]
)
def test_a_plan_cannot_grow_without_limit(step: Callable[[Frame[Question]], Frame[Question]]) -> None:
    with pytest.raises(BadQuestion, match=r"too large|nested more than 50"):
        repeated(visits, step, 100)


# --- after the question -----------------------------------------------------------------------------------------------

ASKED = visits.group_by("clinic").agg(n=dp.count(), mean=dp.sum("cost") / dp.count())


def test_having_order_by_and_limit() -> None:
    found = limit(order_by(having(ASKED, "n > 10", col("MEAN") < 5), "mean desc", col("n"), descending=True), 3).outcome
    mean = Call("div", (Column("sum_cost"), Column("n")))
    assert found.having == Call(
        "and",
        (Call("gt", (Column("n"), Literal(Fraction(10)))), Call("lt", (mean, Literal(Fraction(5))))),
    )
    assert [(order.expression, order.descending) for order in found.order] == [(mean, True), (Column("n"), True)]
    assert found.limit == 3
    assert order_by(ASKED, "n ASC", "clinic", descending=True).outcome.order[0].descending is False


OF_RELEASEDWARDS: list[tuple[Callable[[], object], type[BadQuestion], str]] = [
    (lambda: having(ASKED, "m > 1"), BadQuestion, "no output m"),
    (lambda: having(ASKED, dp.count() > 1), Unsupported, "an aggregate here"),
    (lambda: having(ASKED, col("clinic").part("week") > 1), Unsupported, "WEEK of a released value"),
    (lambda: having(limit(ASKED, 3), "n > 1"), BadQuestion, "having comes before limit"),
    (lambda: order_by(limit(ASKED, 3), "n"), BadQuestion, "order_by comes before limit"),
    (lambda: limit(ASKED, -1), BadQuestion, "integer"),
    (lambda: limit(ASKED, True), BadQuestion, "integer"),
    (lambda: limit(ASKED, 2.0), BadQuestion, "integer"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("act", "error", "message"), OF_RELEASEDWARDS)
def test_wrong_endings_say_what_is_wrong(act: Callable[[], object], error: type[BadQuestion], message: str) -> None:
    with pytest.raises(error, match=message):
        act()


def test_times_with_a_zone_are_left_to_typing() -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    found = visits.filter(col("day") > moment).rows.relation
    assert found == Filter(Scan("visits"), Call("gt", (Column("day"), Literal(moment))))


def test_selecting_nothing_new_is_still_a_projection() -> None:
    assert isinstance(visits.select("cost").rows.relation, Project)
