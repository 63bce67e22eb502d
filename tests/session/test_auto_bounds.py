"""dp.bounds("auto"): chosen from a profile; without one a question is refused and nothing is paid."""

import numpy as np
import pytest

import discreet as dp
from discreet.errors import BadParameter, BadQuestion

RNG = np.random.default_rng(4)
ROWS = {"patient": np.arange(5000), "cost": np.round(RNG.lognormal(3, 1, 5000), 2), "gap": np.full(5000, np.nan)}
SUM = "SELECT SUM(cost) AS s, AVG(cost) AS m FROM visits"


def session(**columns: object) -> dp.Session:
    declared = {"cost": dp.bounds("auto"), **columns}
    table = dp.table(ROWS, unit="patient", max_rows=1, columns=declared)  # type: ignore[arg-type]
    return dp.Session(visits=table, budget=dp.Pure(10))


def test_bounds_are_chosen_from_a_profile_and_told() -> None:
    own = session()
    with pytest.raises(BadQuestion, match=r"no bounds could be chosen yet for visits\.cost"):
        own.sql(SUM)
    assert own.remaining == dp.Pure(10)
    own.profile("visits", epsilon=2)
    answer = own.sql(SUM).release(epsilon=5)
    assert answer["s"][0] == pytest.approx(ROWS["cost"].sum(), rel=0.1)
    assert any("bounds of cost chosen from the profile: 0 to" in note for note in answer.notes)


def test_all_null_is_refused_and_costs_nothing_more() -> None:
    own = session(gap=dp.bounds("auto"))
    own.profile("visits", epsilon=2)
    with pytest.raises(BadQuestion, match=r"visits\.gap"):
        own.sql("SELECT SUM(gap) AS s FROM visits")
    assert own.remaining == dp.Pure(8)
    assert len(own.sql(SUM).release(epsilon=1)) == 1


@pytest.mark.parametrize("given", [("auto", 5), (0, None)])
def test_half_a_choice_is_refused(given: tuple[object, object]) -> None:
    with pytest.raises(BadParameter, match="high"):
        dp.bounds(*given)  # type: ignore[arg-type]


def test_text_has_no_bounds_to_choose() -> None:
    table = dp.table({"patient": [1], "name": ["x"]}, unit="patient", columns={"name": dp.bounds("auto")})
    with pytest.raises(BadParameter, match="must fit the column"):
        dp.Session(visits=table, budget=dp.Pure(1))
