"""A plan with an error for each question: every error is kept, the price is about the least, and certified."""

import pytest

import discreet as dp
from discreet.errors import BadParameter, BadQuestion
from discreet.privacy.accountants.compose import compose
from discreet.query.plan.schema import Declared

ROWS = {"patient": range(2000), "clinic": ["N", "S"] * 1000, "cost": [i % 100 for i in range(2000)]}
COLUMNS = {"clinic": dp.keys(["N", "S"]), "cost": dp.bounds(0, 1000)}
COUNT = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic"
BOTH = "SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits"


def session(budget: dp.Pure | dp.Approx | dp.ZCDP, **columns: Declared) -> dp.Session:
    table = dp.table(ROWS, unit="patient", max_rows=1, columns={**COLUMNS, **columns})
    return dp.Session(visits=table, budget=budget)


BUDGETS = [dp.Pure(50), dp.Approx(50, "1e-6"), dp.ZCDP(50, "1e-6")]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_every_error_is_kept_for_one_price(budget: dp.Pure | dp.Approx | dp.ZCDP) -> None:
    own = session(budget)
    found = own.plan([COUNT, BOTH], error=[40, {"s": 20_000}])
    assert own.remaining == budget
    first, second = found.release()
    assert max(float(error or 0) for error in first.errors()["n"]) <= 40.5
    assert float(second.errors()["s"][0] or 0) <= 20_500
    assert own.remaining != budget
    assert max(found.errors) <= 1
    assert max(found.errors) > 0.9
    assert found.saving <= 1.05
    assert "times what asking one by one would cost" in str(found)


def test_many_questions_cost_what_is_certified_and_less_than_the_sum() -> None:
    many = [f"SELECT COUNT(*) AS n FROM visits WHERE cost < {i}" for i in range(1, 26)]
    found = session(dp.Approx(20, "0.01")).plan(many, error=[60] * 25)
    quote = found.program.answer.quote
    assert isinstance(quote.allowance, dp.Approx)
    assert compose([quote.plan.event]).epsilon(delta=quote.allowance.delta).lower <= quote.allowance.epsilon
    assert found.saving < 0.9


@pytest.mark.parametrize(("error", "more"), [
    ([40], {}), ([40, -1], {}), ([40, {"x": 1}], {}), (40, {}), ("4", {}), ([40, 40], {"epsilon": 1}),
])  # fmt: skip
def test_what_makes_no_sense_is_refused_and_costs_nothing(error: object, more: dict[str, int]) -> None:
    own = session(dp.Pure(5))
    with pytest.raises(BadParameter, match="error"):
        own.plan([COUNT, BOTH], error=error, **more)  # type: ignore[arg-type]
    assert own.remaining == dp.Pure(5)


def test_what_is_not_known_yet_is_refused() -> None:
    own = session(dp.Pure(5), cost=dp.bounds("auto"))
    with pytest.raises(BadParameter, match="value bounds are open"):
        own.plan([BOTH], error=[40])
    assert own.remaining == dp.Pure(5)


@pytest.mark.parametrize("asked", [
    "SELECT COUNT(*) AS n FROM visits WHERE cost < (SELECT AVG(cost) FROM visits)",
    f"{COUNT} UNION ALL SELECT 'all', COUNT(*) FROM visits",
])  # fmt: skip
def test_what_is_more_than_one_release_is_refused_and_costs_nothing(asked: str) -> None:
    """Fails on a plan that answers for a value that was never released, or that pays and then breaks."""
    own = session(dp.Pure(5))
    for more in ({"error": [40]}, {"epsilon": 1}):
        with pytest.raises(BadQuestion, match="ask"):
            own.plan([asked], **more)
    assert own.remaining == dp.Pure(5)


def test_a_confidence_that_is_none_is_refused_before_it_is_paid() -> None:
    own = session(dp.Pure(5))
    for more in ({"error": [40]}, {"epsilon": 1}):
        with pytest.raises(BadParameter, match="confidence"):
            own.plan([COUNT], confidence=1, **more)
