"""What a preview says, without any data: prices, error bars, who is named, what would halve the error."""

from dataclasses import replace

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.messages import message
from discreet.query.answer.preview import ColumnPreview, Preview

SAID = Preview(
    columns=(ColumnPreview("n", 12.5, None), ColumnPreview("day", 2.0, 1000, "days", evenly=True)),
    confidence=0.95,
    cost="epsilon 1",
    remaining="epsilon 2",
    affordable=True,
    noise="discrete Laplace noise",
    named_from=1234,
    advice="half the error would take about twice the privacy cost: epsilon 2",
    shares=(("count rows", 0.25), ("count units", 0.75)),
)


def test_it_reads_line_by_line() -> None:
    assert str(SAID).splitlines()[:6] == [
        "costs epsilon 1; epsilon 2 would be left",
        "n: ± 12 (95%)",
        "day: ± 2 days (95%) in a group of 1,000 rows with values spread evenly over their bounds; else it may be far "
        "longer",
        "a key is named from about 1,234 units on",
        "25% of the cost: count rows",
        "75% of the cost: count units",
    ]
    assert str(replace(SAID, more=1234)).splitlines()[1] == "then about 1,234 more like this fit into the budget"
    assert str(replace(SAID, affordable=False)).startswith("costs epsilon 1, which is more than is left (epsilon 2)")
    assert "rows=..." in str(replace(SAID, notes=(message("other_sizes", rows=1000),)))


def test_as_html_and_json() -> None:
    assert "&lt;b&gt;" in replace(SAID, advice="<b>")._repr_html_()
    assert "<tr><td>n</td><td>± 12</td><td></td></tr>" in SAID._repr_html_()
    assert "<small>costs epsilon 1; epsilon 2 would be left<br>" in SAID._repr_html_()
    found = SAID.as_dict()
    day = {"name": "day", "error": 2.0, "rows": 1000, "unit": "days", "evenly": True, "relative": None}
    assert found["columns"][1] == day
    assert found["shares"] == [{"what": "count rows", "share": 0.25}, {"what": "count units", "share": 0.75}]
    assert SAID.error("n") == 12.5


@pytest.mark.parametrize(("budget", "price", "factor"), [(dp.Pure(9), "epsilon", 2), (dp.ZCDP(9, "1e-6"), "rho", 4)])
def test_the_advice_halves_the_error(budget: dp.Pure | dp.ZCDP, price: str, factor: int) -> None:
    rows = pa.table({"who": [1], "x": [1.0]})
    known = {"x": dp.bounds(0, 1000)}
    session = dp.Session(t=dp.table(rows, unit="who", columns=known, max_rows=1), budget=budget, engine=memory())
    query = session.sql("SELECT SUM(x) AS s FROM t")
    now, then = query.preview(**{price: 1}), query.preview(**{price: factor})
    assert f"{price} {factor}" in now.advice
    assert then.error("s") == pytest.approx(now.error("s") / 2, rel=0.01)


def test_how_many_units_a_chosen_clip_needs() -> None:
    """Far below the number, the answer is NULL, and far above it is not. A run is otherwise with a chance below 1/200
    (noise of 1/(COUNTED·ε) beyond 0.9 of the number): six of ten runs are with one below 1e-11.
    """

    def session(many: int) -> dp.Session:
        rows = pa.table({"who": list(range(many)), "x": [10] * many})
        return dp.Session(t=dp.table(rows, unit="who"), budget=dp.Pure(1000), engine=memory())

    notes = session(5).sql("SELECT SUM(x) AS s FROM t").preview(epsilon=8).notes
    (found,) = [note.fields for note in notes if note.code == "null_below"]
    assert found["columns"] == ("s",)
    many = found["units"]
    assert 5 < many < 100
    for units, wanted in ((max(1, many // 10), True), (4 * many, False)):
        query = session(units).sql("SELECT SUM(x) AS s FROM t")
        nulls = [query.release(epsilon=8).value is None for _ in range(10)]
        assert sum(null is wanted for null in nulls) >= 5, (units, nulls)


def test_from_how_many_units_a_key_is_named_before_it_is_selected() -> None:
    rows = pa.table({"who": [1], "g": ["a"], "x": [1]})
    session = dp.Session(t=dp.table(rows, unit="who"), budget=dp.Approx(9, "1e-6"), engine=memory())
    found = [session.sql("SELECT g, SUM(x) AS s FROM t GROUP BY g").preview(epsilon=e).named_from for e in (1, 4)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[1] < found[0] / 3


def test_an_error_is_a_share_of_the_number_in_a_group_of_so_many_rows() -> None:
    rows = pa.table({"who": [1], "x": [1.0]})
    table = dp.table(rows, unit="who", columns={"x": dp.bounds(0, 100)}, max_rows=1)
    session = dp.Session(t=table, budget=dp.Pure(9), engine=memory())
    items = "COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m, COUNT(DISTINCT x) AS d, CORR(x, x * x) AS c"
    for rows_there in (None, 7000):
        n, s, m, d, c = session.sql(f"SELECT {items} FROM t").preview(epsilon=1, rows=rows_there).columns
        assert n.relative == pytest.approx(n.error / (rows_there or 1000))
        assert s.relative == pytest.approx(s.error / (rows_there or 1000) / 50, rel=0.01)  # spread over the bounds
        assert m.relative == pytest.approx(m.error / 50, rel=0.01)
        assert d.relative is c.relative is None  # it cannot be said: a correlation may be 0
