"""Several previews or answers print as one page, and stay a tuple."""

from discreet.query.answer.several import Explanation, Several, preformatted
from tests.helpers.visits import session

N = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic"
MEAN = "SELECT AVG(cost) AS a FROM visits"


def test_a_workload_shows_each_question_and_its_share_of_the_price() -> None:
    together = session().workload([N, MEAN])
    previews = together.preview(epsilon=1)
    assert isinstance(previews, tuple)
    shares = [sum(share for _, share in one.shares) for one in previews]
    assert abs(sum(shares) - 1) < 1e-9
    assert 0.1 < shares[0] < 0.9
    assert "% of the cost: count rows" in str(previews)
    assert previews._repr_html_().count("<table>") == 2
    told = together.explain(epsilon=1)
    assert "group by clinic" in told
    assert "all rows are one group" in told
    assert "noise" in told
    assert "noise" not in together.explain()
    assert "2 queries" in together._repr_html_()
    answers = together.release(epsilon=1)
    assert answers._repr_html_().count("<table>") == 2
    assert "spent" in str(answers)


def test_the_price_of_one_number_is_not_split() -> None:
    preview = session().sql(N).preview(epsilon=1)
    assert [share for _, share in preview.shares] == [1.0]
    assert "of the cost" not in str(preview)


def test_a_preview_says_for_how_many_rows_it_speaks() -> None:
    asked = session().sql(MEAN)
    assert "rows=" in str(asked.preview(epsilon=1))
    assert "rows=" not in str(asked.preview(epsilon=1, rows=50))
    assert asked.preview(epsilon=1, rows=50).error("a") > asked.preview(epsilon=1, rows=5000).error("a")


def test_text_is_escaped() -> None:
    assert Explanation("a < b")._repr_html_() == preformatted("a < b")
    assert Several([1, 2])._repr_html_() == f"<h4>1.</h4>{preformatted('1')}<h4>2.</h4>{preformatted('2')}"
