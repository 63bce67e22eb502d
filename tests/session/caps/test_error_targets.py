"""An error that is asked for with caps left open: noise and cut together keep it, at the least price."""

import numpy as np
import pytest

import discreet as dp
from discreet.query.profile.choose import choose
from discreet.session.price import Price
from tests.session.caps.test_auto import CLINICS, COLUMNS, PEOPLE, ROWS

pytestmark = pytest.mark.usefixtures("fixed_noise")

SIZES = np.bincount(PEOPLE)
COUNT = "SELECT COUNT(*) AS n FROM visits"
GROUPS = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic"
BOTH = "SELECT COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m FROM visits"


@pytest.fixture(scope="module")
def own() -> dp.Session:
    """A profile with little noise: all that is checked here follows from it."""
    found = dp.Session(
        visits=dp.table(ROWS, unit="patient", max_rows="auto", columns={**COLUMNS, "cost": dp.bounds("auto")}),
        budget=dp.Pure(10**6),
    )
    found.profile("visits", epsilon=1000)
    return found


def cut(cap: int | None) -> int:
    assert cap is not None
    return int(np.maximum(SIZES - cap, 0).sum())


@pytest.mark.parametrize("error", [100, 400, 2000])
def test_what_the_cap_cuts_is_a_part_of_the_error(own: dp.Session, error: int) -> None:
    order = own.sql(COUNT).order(Price(error=error))
    (chosen,) = order.chosen
    assert chosen is not None
    assert chosen.left is not None
    taken = error - float(chosen.left["n"])
    assert taken == pytest.approx(cut(chosen.caps.max_rows), abs=0.02 * len(PEOPLE))
    assert cut(chosen.caps.max_rows) < error
    (shown,) = own.preview(order)
    assert shown.error("n") <= float(chosen.left["n"])
    assert "for which the errors asked for cost least" in shown.notes[0]


def test_a_choice_that_takes_the_error_for_noise_at_a_small_cap_is_caught() -> None:
    """The planted twin: caps for which the error, seen as noise that grows with the cap, would be least."""
    own = dp.Session(visits=dp.table(ROWS, unit="patient", max_rows="auto", columns=COLUMNS), budget=dp.Pure(10**6))
    own.profile("visits", epsilon=1000)
    query, price = own.sql(COUNT), Price(error=400)
    known = own.known(query.prepared)
    assert known is not None
    wrong = choose(query.prepared, known, lambda questions: own.quote(questions, price))
    assert cut(wrong.caps.max_rows) > 400


def test_groups_may_have_an_error_too(own: dp.Session) -> None:
    answer = own.sql(GROUPS).release(error=300)
    truth = [int((ROWS["clinic"] == clinic).sum()) for clinic in sorted(CLINICS)]
    assert all(abs(n - real) <= 600 for n, real in zip(answer["n"], truth, strict=True))
    assert max(float(e or 0) for e in answer.errors()["n"]) <= 300


def test_sums_and_means_count_what_is_cut_where_their_values_are_known(own: dp.Session) -> None:
    (chosen,) = own.sql(BOTH).order(Price(error={"s": 40_000, "m": 5})).chosen
    assert chosen is not None
    assert chosen.left is not None
    assert 0 < chosen.left["s"] < 40_000
    assert 0 < chosen.left["m"] <= 5


def test_an_error_that_no_cap_keeps_is_that_of_the_noise_and_says_so() -> None:
    own = dp.Session(visits=dp.table(ROWS, unit="patient", max_rows="auto", columns=COLUMNS), budget=dp.Pure(10**6))
    own.profile("visits", epsilon=1)
    shown = own.sql("SELECT ward, COUNT(DISTINCT patient) AS n FROM visits GROUP BY ward").preview(error=50)
    assert "kept by the noise alone" in shown.notes[-1]
    assert shown.error("n") <= 50


@pytest.mark.parametrize("value", [0.0, 100.0])
@pytest.mark.parametrize("budget", [dp.Pure(10**6), dp.ZCDP(10**6, "1e-9")])
def test_an_error_of_a_mean_is_kept_wherever_it_lies_by_as_many_rows_as_count(
    value: float, budget: dp.Pure | dp.ZCDP
) -> None:
    """At an end of its bounds a mean has the longest error bar; and a profile knows how many rows there are."""
    rows = {"u": np.repeat(np.arange(20_000), 2), "x": np.full(40_000, value), "g": np.repeat(np.arange(20_000) % 4, 2)}
    columns = {"x": dp.bounds(0, 100), "g": dp.keys(range(4))}

    def asking(caps: int | str) -> dp.Session:
        return dp.Session(t=dp.table(rows, unit="u", columns=columns, max_rows=caps), budget=budget)

    known, unknown = asking("auto"), asking(2)
    if isinstance(budget, dp.ZCDP):
        known.profile("t", rho=10)
    else:
        known.profile("t", epsilon=100)
    text = "SELECT g, AVG(x) AS m FROM t GROUP BY g"
    answer = known.sql(text).release(error=2)
    assert 1 < max(e for e in answer.errors()["m"] if e is not None) < 2.1  # the noisy count is in it, too
    prices = [own.sql(text).order(Price(error=2)).quote.allowance for own in (unknown, known)]
    dear, cheap = (one.rho if isinstance(one, dp.ZCDP) else one.epsilon for one in prices)
    assert cheap < dear / 4
