"""Grouping sets: what they are made of, how many groups and rows of a unit count, and the works that compute them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.errors import BadQuestion
from discreet.mechanisms.additive.laplace import Laplace
from discreet.query.estimate.cuts import Cut
from discreet.query.estimate.estimators import Estimate
from discreet.query.estimate.prepare import PRIME, SELECTING, Clip, Job, Part, _line, counts_rows, jobs, prepare
from discreet.query.estimate.statistics import Distinct, Rows, Statistic, Units
from discreet.query.lower.lower import LoweredQuestion
from discreet.query.plan.types import Number
from discreet.query.plan.work import DistinctWork, TotalsWork, Work

ROWS = {"who": [1, 1, 2, 3], "g": ["a", "b", "a", "c"], "t": ["x", "y", "x", "z"], "x": [1, 2, None, 4], "f": [0.5] * 4}


def session(**caps: Any) -> dp.Session:
    columns = {"g": dp.keys(["a", "b", "c"]), "x": dp.bounds(0, 9), "f": dp.bounds(0, 1)}
    table = dp.table(ROWS, unit="who", columns=columns, **({"max_rows": 10} | caps))
    return dp.Session(t=table, budget=dp.Approx(1, "1e-6"))


def parts(sql: str, **caps: Any) -> tuple[Part, ...]:
    return session(**caps).sql(sql).prepared.parts


def works(sql: str, **caps: Any) -> tuple[Job, ...]:
    quote = session(**caps).sql(sql).quote(epsilon=1, delta="1e-7")
    (part,) = quote.parts
    return jobs(part, quote.noised(part), quote.selection(part), "0" * 30)


@pytest.mark.parametrize(
    ("measure", "all_rows"),
    [("COUNT(*)", True), ("COUNT(*) FILTER (WHERE x > 3)", False), ("COUNT(x)", False), ("SUM(x)", False)],
)
def test_what_counts_all_rows(measure: str, all_rows: bool) -> None:
    ((one,),) = [part.measures for part in parts(f"SELECT {measure} AS m FROM t")]
    assert counts_rows(one) is all_rows


@pytest.mark.parametrize(
    ("sql", "many", "selects"),
    [
        ("SELECT COUNT(*) AS n FROM t", 1, False),
        ("SELECT g, COUNT(*) AS n FROM t GROUP BY g", 3, False),
        ("SELECT t, COUNT(*) AS n FROM t GROUP BY t", None, True),
        ("SELECT g, t, COUNT(*) AS n FROM t GROUP BY g, t", None, True),
    ],
)
def test_how_many_groups_there_are(sql: str, many: int | None, selects: bool) -> None:
    (part,) = parts(sql)
    assert (part.group_count, part.selects) == (many, selects)
    weights = part.need.statistics
    assert weights.get(Units()) == (SELECTING if selects else None)
    assert (part.domain() is None) is selects


def test_a_rollup_has_a_part_for_each_set_and_counts_the_rows_of_its_groups() -> None:
    by_group, whole = parts("SELECT g, COUNT(*) AS n FROM t GROUP BY ROLLUP(g)")
    assert (by_group.group_count, whole.group_count) == (3, 1)
    assert by_group.whole is not whole.whole
    assert whole.domain() == ((),)


@pytest.mark.parametrize(
    ("caps", "groups"),
    [({"max_groups": 2}, 2), ({"max_groups": 3}, 3), ({"max_groups": 4}, 3), ({}, 3), ({"max_rows": 2}, 2)],
)
def test_a_unit_is_in_no_more_groups_than_there_are(caps: dict[str, int], groups: int) -> None:
    (part,) = parts("SELECT g, SUM(x) AS s FROM t GROUP BY g", **caps)
    assert part.need.caps.max_groups == groups
    assert part.need.caps.max_rows == caps.get("max_rows", 10)
    (whole,) = parts("SELECT SUM(x) AS s FROM t", **caps)
    assert whole.need.caps == whole.caps


@pytest.mark.parametrize(
    ("sql", "caps", "all_counted"),
    [
        ("SELECT COUNT(DISTINCT who) AS n FROM t", {}, True),
        ("SELECT g, COUNT(DISTINCT who) AS n FROM t GROUP BY g", {"max_groups": 3}, True),
        ("SELECT g, COUNT(DISTINCT who) AS n FROM t GROUP BY g", {"max_groups": 2}, False),
        ("SELECT t, COUNT(DISTINCT who) AS n FROM t GROUP BY t", {"max_groups": 9}, False),
        ("SELECT COUNT(*) AS n FROM t", {}, False),
    ],
)
def test_when_no_cap_cuts_anything(sql: str, caps: dict[str, int], all_counted: bool) -> None:
    (part,) = parts(sql, **caps)
    assert part.counts_all is all_counted
    notes = "; ".join(str(note) for note in part.all_notes)
    assert ("no contribution is clipped" in notes) is all_counted


def test_sums_of_the_same_weights_are_computed_together_and_all_else_alone() -> None:
    made = works("SELECT g, COUNT(*) AS n, SUM(x) AS s, COUNT(DISTINCT t) AS d, MEDIAN(f) AS m FROM t GROUP BY g")
    kinds = [[type(statistic) for statistic in job.statistics] for job in made]
    assert sorted(map(len, kinds), reverse=True)[1:] == [1, 1]
    assert {Rows} == set(kinds[0])
    assert Distinct in kinds[1] + kinds[2]
    (distinct,) = [job.work for job in made if isinstance(job.work, DistinctWork)]
    assert distinct.cap == 10
    assert all(isinstance(job.work, Work) for job in made if job.work is not distinct)
    assert all(job.work.salt == "" for job in made if isinstance(job.work, Work))


@pytest.mark.parametrize(("sql", "cap"), [("COUNT(DISTINCT t)", 10), ("COUNT(DISTINCT x)", 10)])
def test_so_many_values_of_a_unit_are_kept(sql: str, cap: int) -> None:
    ((work,),) = [[job.work for job in works(f"SELECT {sql} AS n FROM t")]]
    assert isinstance(work, DistinctWork)
    assert work.cap == cap


def test_a_number_of_values_that_was_chosen_is_kept() -> None:
    (part,) = parts("SELECT COUNT(DISTINCT t) AS d FROM t")
    ((distinct,),) = [list(recipe.needs) for recipe in part.recipes]
    assert isinstance(distinct, Distinct)
    quote = session().sql("SELECT COUNT(DISTINCT t) AS d FROM t").quote(epsilon=1)
    chosen = Distinct(distinct.value, distinct.own, 3)
    (job,) = jobs(part, {chosen: quote.noised(quote.parts[0])[distinct]}, None, "0" * 30)
    assert isinstance(job.work, DistinctWork)
    assert job.work.cap == 3


def test_where_keys_are_selected_the_job_with_the_units_is_the_first() -> None:
    """Its groups are all that there are."""
    made = works("SELECT t, SUM(x) AS s, MEDIAN(x) AS m FROM t GROUP BY t", max_groups=2)
    assert [Units() in job.statistics for job in made] == [True] + [False] * (len(made) - 1)
    assert len(made) > 2
    for job in made:
        assert isinstance(job.work, Work)
        assert job.work.salt == "0" * 30
        assert job.work.most_keys is not None


def test_a_line_is_made_of_two_parts_of_the_salt_and_never_flat() -> None:
    assert _line("0" * 30) == (1, 0)
    assert _line("1".rjust(15, "0") + "2".rjust(15, "0")) == (2, 2)
    assert _line(f"{PRIME - 1:015x}{PRIME:015x}") == (1, 0)
    assert _line(f"{PRIME - 2:015x}{PRIME + 5:015x}") == (PRIME - 1, 5)
    assert _line("7") == (8, 0)


GROUPED = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"


def grouped(**of_key: Any) -> LoweredQuestion:
    """The lowered question, its key changed."""
    question = session().sql(GROUPED).prepared.asked
    (key,) = question.keys
    return replace(question, keys=(replace(key, typed=replace(key.typed, **of_key)),))


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (lambda: replace(grouped(), measures=()), "nothing is asked of the data"),
        (lambda: grouped(is_unit=True), "groups of one person"),
        (lambda: grouped(kind=Number(Fraction(1, 2), 0, 4)), "not an integer"),
    ],
)
def test_what_cannot_be_grouped_is_refused(question: Callable[[], LoweredQuestion], says: str) -> None:
    """Whoever made the question: names of people are no groups."""
    with pytest.raises(BadQuestion, match=says):
        prepare(question())
    assert prepare(replace(grouped(keys=None), measures=())).parts[0].selects
    assert prepare(grouped(kind=Number(Fraction(2), 0, 4), keys=(0, 2))).parts[0].group_count == 2


@pytest.mark.parametrize(("most", "fine"), [(100, True), (99, False)])
def test_there_are_at_most_so_many_groups(monkeypatch: pytest.MonkeyPatch, most: int, fine: bool) -> None:
    monkeypatch.setattr("discreet.query.estimate.prepare.MOST_GROUPS", most)
    columns = {"g": dp.keys([*map(str, range(10))]), "t": dp.keys([*map(str, range(10))])}
    asked = dp.Session(t=dp.table(ROWS, unit="who", max_rows=10, columns=columns), budget=dp.Pure(1))
    sql = "SELECT g, t, COUNT(*) AS n FROM t GROUP BY g, t"
    if fine:
        assert asked.sql(sql).prepared.parts[0].group_count == 100
    else:
        with pytest.raises(BadQuestion, match="100 combinations of keys, and at most 99"):
            asked.sql(sql)


def test_what_a_clip_takes_is_told_of_the_column_that_it_cuts() -> None:
    """A clip of rows takes from the column that counts them; one of totals from its own; others say nothing."""
    (part,) = parts("SELECT COUNT(*) AS n, SUM(x) AS s FROM t")
    cut = Cut(100.0, 1.0, 8)
    own = Part(part.whole, part.caps, part.keys, part.measures, part.recipes, cuts={"": cut, "s": cut, "d": cut})
    needed: set[Statistic] = {statistic for recipe in own.recipes for statistic in recipe.needs}
    noisy = {statistic: Estimate(np.array([4500.0]), lambda _: 0.0) for statistic in needed}
    values = [float(recipe.value(noisy).sum()) for recipe in own.recipes]
    rows, totals, other, none = (
        own._estimated(clip, noisy)
        for clip in (
            Clip("", "rows", 4),
            Clip("s", "totals", 4),
            Clip("s", "distinct values", 4),
            Clip("x", "totals", 4),
        )
    )
    assert (rows.counts, rows.reach, rows.about) == ("n", 8.0, "n")
    assert (totals.counts, totals.reach, totals.about) == ("", 8.0, "s")
    for clip, value in zip((rows, totals), values, strict=True):
        assert clip.too_low is not None
        assert clip.too_low[0] == pytest.approx(100 / (100 + value))
        assert clip.one_sign
    assert other.too_low is None
    assert none.too_low is None


def test_clips_name_the_measures_that_they_cut() -> None:
    """Rows only where something is counted by them; measures of one clip are named together."""
    sql = "SELECT COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a, SUM(f) AS g, COUNT(DISTINCT t) AS d, VARIANCE(x) AS v FROM t"
    (part,) = parts(sql)
    assert part.clips == ()

    def clips(chosen: dict[str, int], centre: int = 0) -> list[tuple[str, str, float]]:
        kept = [m for m in part.measures if m.measure.name in {*chosen, "n"} - {""}]
        measures = tuple(
            replace(m, clip=chosen.get(m.measure.name), centre=centre if m.clip is None else 0) for m in kept
        )
        asked = replace(part.asking(measures), chosen=True)
        return [(clip.column, clip.of, clip.limit) for clip in asked.clips]

    rows = ("", "rows", 10.0)
    step = float(next(m for m in part.measures if m.measure.name == "g").arguments[0].kind.step)  # type: ignore[union-attr]
    assert clips({}) == [rows]
    assert clips({"s": 5}) == [rows, ("s", "totals", 5.0)]
    assert clips({"s": 5, "g": 5}) == [rows, ("s", "totals", 5.0), ("g", "totals", 5 * step)]
    assert clips({"s": 5, "a": 5}, centre=3) == [rows, ("s, a", "distances from the centre", 5.0)]
    assert clips({"d": 4}) == [rows, ("d", "distinct values", 4.0)]
    assert clips({"v": 3}) == [rows, ("v", "rows", 3.0)]


def test_clips_of_totals_have_a_work_of_their_own() -> None:
    """Rows that are clipped by a unit's total are summed by unit, after all other sums."""
    (part,) = parts("SELECT COUNT(*) AS n, SUM(x) AS s FROM t")
    count, total = (replace(m, clip=clip) for m, clip in zip(part.measures, (None, 5), strict=True))
    asked = part.asking((count, total))
    noised = {}
    quote = session().sql("SELECT COUNT(*) AS n FROM t").quote(epsilon=1)
    (one,) = quote.noised(quote.parts[0]).values()
    for recipe in asked.recipes:
        for statistic in recipe.needs:
            noised[statistic] = replace(one, statistic=statistic, noise=Laplace(Fraction(4), 1))
    made = jobs(asked, noised, None, "0" * 30)
    assert [type(job.work) for job in made] == [Work, TotalsWork]
    assert [[getattr(s, "clip", None) for s in job.statistics] for job in made] == [[None], [5]]
