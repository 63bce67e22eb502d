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
    advice="half the error would take about twice the price: epsilon 2",
    shares=(("count rows", 0.25), ("count units", 0.75)),
)


def test_it_reads_line_by_line() -> None:
    assert str(SAID).splitlines()[:6] == [
        "costs epsilon 1; epsilon 2 would be left",
        "n: ± 12.5 (95%)",
        "day: ± 2 days (95%) in a group of 1,000 rows with values spread evenly over their bounds; else it may be far "
        "longer",
        "a key is named from about 1,234 units on",
        "25% of the price: count rows",
        "75% of the price: count units",
    ]
    assert str(replace(SAID, affordable=False)).startswith("costs epsilon 1, which is more than is left (epsilon 2)")
    assert "rows=..." in str(replace(SAID, notes=(message("other_sizes", rows=1000),)))


def test_as_html_and_json() -> None:
    assert "&lt;b&gt;" in replace(SAID, advice="<b>")._repr_html_()
    assert "<tr><td>n</td><td>± 12.5</td><td></td></tr>" in SAID._repr_html_()
    assert "<small>costs epsilon 1; epsilon 2 would be left<br>" in SAID._repr_html_()
    found = SAID.as_dict()
    assert found["columns"][1] == {"name": "day", "error": 2.0, "rows": 1000, "unit": "days", "evenly": True}
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
