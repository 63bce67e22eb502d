"""Tables, models, profiles and regressions from two neighbouring tables, side by side (query/test_run_coupled.py):
what all steps of a program lose together is at most its price, and nothing else tells neighbours apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import DiscreetError, NoEstimate
from discreet.query.engine import Engine
from discreet.synthetic.hierarchical import measure
from discreet.synthetic.hierarchical.plan import HierarchicalPlan
from discreet.synthetic.residuals import Interactions
from tests.helpers.coupled import Differs, Plain, side_by_side
from tests.helpers.extent import extent
from tests.helpers.odd_people import draw_sides

CHOSEN_CAPS = True
PRICES = ["0.01", "0.3", "1", "8", "100", "10000"]
BUDGETS: list[Any] = [dp.ZCDP(10**9, "1e-3"), dp.ZCDP(10**9, "1e-3"), dp.Approx(10**9, "1e-3")]
CAPS: list[dict[str, Any]] = [{}, {}, {"max_rows": 1}, {"max_rows": 2}, {"max_rows": 3, "max_groups": 1}]
PLACES = dp.hierarchy("places", ["g", "h"], table=[("a", "x"), ("b", "y"), ("b", "z")])
ELSEWHERE = dp.hierarchy("places", ["g", "h"], table=[("a", "x"), ("b", "y"), ("b", "z")], other="rest")
PAIRS = dp.keys([("a", "x"), ("b", "y"), ("a", "y")], columns=("g", "h"))
Release = Callable[[dp.Session, dict[str, Any]], str]


def tables(workload: Any) -> Release:
    def release(own: dp.Session, price: dict[str, Any]) -> str:
        answers = own.tabulate("t", workload, **price)
        return repr(([numbers.tolist() for numbers in answers.values], answers.to_json(), answers.notes))

    return release


def published(columns: Sequence[Any], *, rows: bool = False) -> Release:
    def release(own: dp.Session, price: dict[str, Any]) -> str:
        made = own.tabulate("t", dp.synthetic.publication(columns, rows=rows), **price)
        return repr((made.to_json(), [made.table(place).to_pylist() for place in range(len(made))], made.notes))

    return release


def regression(formula: str) -> Release:
    def release(own: dp.Session, price: dict[str, Any]) -> str:
        made: Any = own.regress(formula, "t", **price)
        return str(made) + repr((made.estimates.tolist(), made.intervals(0.9).tolist()))

    return release


def line(own: dp.Session, price: dict[str, Any]) -> str:
    made = own.learn(dp.learning.LinearRegression, "t", features=["k"], target="x", **price)
    return repr((made.coef_, made.intercept_))


def classes(own: dp.Session, price: dict[str, Any]) -> str:
    made = own.learn(dp.learning.CategoricalNB, "t", features=["b", "k"], target="h", **price)
    return repr(made.released_)


def workload(own: dp.Session, price: dict[str, Any]) -> str:
    texts = [
        "SELECT COUNT(*) AS n FROM t",
        "SELECT g, SUM(k) AS s FROM t GROUP BY g",
        "SELECT h, AVG(k) FROM t GROUP BY h",
    ]
    answers = own.workload(texts).release(**price)
    return "".join(str(answer) + repr(answer.rows) + str(answer.explain()) for answer in answers)


def cross_tables(*, planned: bool) -> Release:
    """Counts that are measured together, of all rows or of some."""
    sets = [("g",), ("h",), ("b",), ("g", "h"), ("h", "b"), ("b", "g")]

    def release(own: dp.Session, price: dict[str, Any]) -> str:
        some = "WHERE k > 7" if planned else ""
        texts = [f"SELECT {', '.join(keys)}, COUNT(*) AS n FROM t {some} GROUP BY {', '.join(keys)}" for keys in sets]
        answers = own.plan(texts, **price).release() if planned else own.workload(texts).release(**price)
        return "".join(str(answer) + repr(answer.rows) + str(answer.explain()) for answer in answers)

    return release


RELEASES: list[Release] = [
    tables([("g", "h"), ("g",)]), tables([("g",), ("b",)]), tables([("k", "g")]), published([("g", "b"), ("h",)]),
    published(["g", ("g", "b")]), published([("h", "b"), "g"], rows=True), published(["b"]), regression("k ~ x"),
    regression("x ~ k + b"), line, classes, workload, cross_tables(planned=True),
    cross_tables(planned=False), lambda own, price: str(own.profile("t", **price)),
    lambda own, price: repr(own.suggest_bounds("x", **price)),
    lambda own, price: repr(own.suggest_max_rows("t", **price)),
]  # fmt: skip


def check(seed: int, engine: Engine, release: Release | None = None) -> str:
    """What became of a release; raises where sides differ, or lose more than the price."""
    random = Random(seed)
    people, caps, budget = draw_sides(random), random.choice(CAPS), random.choice(BUDGETS)
    amount, asked = Fraction(random.choice(PRICES)), random.choice(RELEASES)
    price = {"rho": amount} if isinstance(budget, dp.ZCDP) else {"epsilon": amount, "delta": "1e-6"}
    columns: dict[str, Any] = {
        "k": random.choice([dp.bounds(0, 90), dp.bounds(5, 6)]),
        "x": random.choice([dp.bounds(0, 500), dp.bounds("1/3", "2/3"), dp.bounds(-(10**12), 10**12)]),
        "b": dp.keys([True, False]),
    }
    sets: list[Any] = random.choice([[], [], [PLACES], [ELSEWHERE], [PAIRS]])
    totals = [dp.public_totals({"a": 5, "b": 7}, ["g"])] if sets == [PLACES] and random.random() < 0.3 else []
    if not sets:
        columns |= {
            "g": random.choice([dp.keys(["a", "b"], other="rest"), dp.keys(["a", None])]),
            "h": dp.keys(["x", "y"]),
        }

    def ask(side: int) -> tuple[str, str]:
        own = dp.Session(
            t=dp.table(
                people.tables(side)["t"], unit="id", columns=columns, key_sets=sets, public_totals=totals, **caps
            ),
            budget=budget,
            rule=dp.Rule.BASIC if isinstance(budget, dp.Approx) else None,
            neighbours=people.relation,
            engine=Plain(engine),
        )
        try:
            return (release or asked)(own, price), str(own.remaining)
        except NoEstimate as nothing:
            return str(nothing), str(own.remaining)
        except DiscreetError as refused:
            assert own.remaining == budget, "what is paid is answered"
            return f"refused: {refused}", ""

    pair = side_by_side(ask)
    if isinstance(budget, dp.ZCDP) and pair.rho > amount:
        raise Differs(f"it loses {float(pair.rho)} at a price of {amount}")
    return "refused" if pair.end[0].startswith("refused") else "answered" if pair.steps else "nothing drawn"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(extent(40, 10_000)))
def test_neighbours_are_told_apart_by_noise_alone_in_memory(seed: int) -> None:
    assert check(seed, memory()) in {"answered", "refused"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100_000, 100_000 + extent(8, 3_000)))
def test_neighbours_are_told_apart_by_noise_alone_on_duckdb(seed: int) -> None:
    assert check(seed, dp.engines.duckdb(threads=1)) in {"answered", "refused"}


@pytest.mark.slow
def test_most_are_answered() -> None:
    assert [check(seed, memory()) for seed in range(30)].count("answered") >= 15


def check_some(release: Release) -> None:
    """Some pairs of neighbours."""
    for seed in range(60):
        check(seed, memory(), release)


@pytest.mark.slow
def test_a_publication_that_spends_its_price_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = HierarchicalPlan.noise

    def half(self: Any, *terms: Any) -> Any:
        return {part: sigma_squared / 2 for part, sigma_squared in planned(self, *terms).items()}

    monkeypatch.setattr(HierarchicalPlan, "noise", half)
    with pytest.raises(Differs, match="at a price of"):
        check_some(published([("g", "b"), ("h",)]))


@pytest.mark.slow
def test_tables_measured_together_that_spend_their_price_twice_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = Interactions.noise

    def half(self: Any, *terms: Any) -> Any:
        return {part: sigma_squared / 2 for part, sigma_squared in planned(self, *terms).items()}

    monkeypatch.setattr(Interactions, "noise", half)
    with pytest.raises(Differs, match="at a price of"):
        check_some(cross_tables(planned=True))


@pytest.mark.slow
def test_a_table_with_a_count_that_has_no_noise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = measure.Exact.table

    def kept(self: Any, *terms: Any) -> Any:
        table = exact(self, *terms)
        seen.append(int(np.sum(table)))
        return table

    seen = list[int]()
    monkeypatch.setattr(measure.Exact, "table", kept)

    def release(own: dp.Session, price: dict[str, Any]) -> str:
        seen.clear()
        return published(["b"])(own, price) + str(seen)

    with pytest.raises(Differs, match="what is shown differs"):
        check_some(release)
