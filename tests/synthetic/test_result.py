"""What comes out: frames, files, questions of the model, reports that are free and one that is paid."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.errors import BadParameter, BadQuestion
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.synthetic.domain import Domain
from discreet.synthetic.result import Synthetic
from discreet.synthetic.source import rows_of
from discreet.synthetic.synthesize import synthesize

DOMAIN = Domain({"sex": ["f", "m"], "age": range(10), "smoker": [False, True]})
PEOPLE = {"sex": ["f", "m"] * 1000, "age": [k % 10 for k in range(2000)], "smoker": [k % 4 == 0 for k in range(2000)]}


@pytest.fixture(scope="module")
def made() -> Synthetic:
    return synthesize(PEOPLE, domain=DOMAIN, rho=20, rows=2000)


@pytest.mark.slow
def test_frames_and_files(made: Synthetic, tmp_path: Path) -> None:
    assert made.to_polars().shape == made.to_pandas().shape == (2000, 3)
    made.write(tmp_path / "people.parquet")
    assert pl.read_parquet(tmp_path / "people.parquet").shape == (2000, 3)
    with pytest.raises(BadParameter):
        made.write(tmp_path / "people.parquet")
    made.write(tmp_path / "people.csv")
    assert made.draw(7).num_rows == 7
    with pytest.raises(BadParameter):
        made.draw(0)


@pytest.mark.slow
def test_the_model_answers(made: Synthetic) -> None:
    answer = made.count("sex = 'f' AND smoker")
    assert abs(answer.value - 500) < 60
    assert answer.cost == "nothing"
    assert answer.accuracy is None
    table = made.marginal("smoker", "sex")
    assert table.shape == (3, 3)
    assert np.allclose(table.T, made.marginal("sex", "smoker"))
    assert np.isclose(table.sum(), made.total)


@pytest.mark.slow
def test_sql_over_the_rows(made: Synthetic) -> None:
    found = made.sql("SELECT sex, COUNT(*) AS n FROM synthetic GROUP BY sex ORDER BY sex").to_pydict()
    assert sum(found["n"]) == 2000
    with pytest.raises(BadQuestion):
        made.sql("SELECT nothing FROM synthetic")
    with pytest.raises(BadQuestion):
        made.sql("SELECT * FROM read_csv('/etc/hostname')")


def test_the_report_is_near_the_noise_where_the_model_fits(made: Synthetic) -> None:
    report = made.report()
    assert len(report) == len(made.run.measured)
    assert all(q.noise > 0 and q.cells == np.prod([DOMAIN[c].size for c in q.columns]) for q in report)
    assert sorted(q.noise - q.distance for q in report) == [q.noise - q.distance for q in report]
    assert price_zcdp(made.event).rho <= 20
    assert "spent rho" in made.explain()
    assert "measured (sex)" in made.explain()


@pytest.mark.slow
def test_comparing_with_the_data_is_paid_for(made: Synthetic) -> None:
    source = rows_of(PEOPLE, DOMAIN)
    answer = made.compare(source, [("sex", "age"), ("smoker",)], rho=10**6)
    assert price_zcdp(answer.event).rho <= 10**6
    exact = source.marginals([(0, 1)])[0]
    assert abs(answer.value[0] - np.abs(exact - made.marginal("sex", "age")).sum() / made.total) < 0.02
    assert Fraction(9, 10) < price_zcdp(made.compare(source, [("sex",)] * 3, rho=1).event).rho <= 1
    with pytest.raises(BadParameter):
        made.compare(source, [], rho=1)


def test_a_plot(made: Synthetic) -> None:
    axes = made.plot().axes[0]
    assert len(axes.lines) == 2
    assert "sex" in " ".join(t.get_text() for t in axes.get_yticklabels())
