"""Interactions of columns: the closed-form optimum, answers that agree, the joint law, exact variances."""

from fractions import Fraction
from itertools import combinations, product
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.errors import BadParameter, OverBudget
from discreet.mechanisms.statistics.budget import Moves
from discreet.mechanisms.statistics.residuals import residual_rho
from discreet.privacy.promises import events
from discreet.synthetic.columns import whole
from discreet.synthetic.direct import answer, plans
from discreet.synthetic.domain import Domain
from discreet.synthetic.residuals import FINER, Interactions
from discreet.synthetic.source import Rows
from discreet.synthetic.spending import Spending
from discreet.synthetic.workload import count, marginal, prefixes, workload


def domain(*sizes: int) -> Domain:
    return Domain({f"c{i}": whole(0, n - 1, nullable=False) for i, n in enumerate(sizes)})


def up_to(d: Domain, ways: int) -> list[tuple[str, ...]]:
    return [c for many in range(1, ways + 1) for c in combinations(d.columns, many)]


@pytest.mark.parametrize(
    ("columns", "values", "ways", "error"), [(12, 3, 3, 7.05), (12, 3, 2, 4.83), (10, 6, 3, 8.108)]
)
def test_known_optima(columns: int, values: int, ways: int, error: float) -> None:
    d = domain(*[values] * columns)
    asked = workload(d, up_to(d, ways))
    found = Interactions.of(d, asked.questions, Moves(1, 1)).total_variance / Fraction(1, 2)
    assert sqrt(found / asked.answers) == pytest.approx(error, rel=0.001)


@pytest.mark.slow
def test_no_other_measurement_of_a_small_table_is_better() -> None:
    """Against a numerical search over all Gaussian mechanisms, AᵀA = X, of a table of six cells."""
    d = domain(2, 3)
    asked = workload(d, [("c0",), ("c1",), marginal("c0", "c1", weight=3)])
    rows = [np.kron(np.eye(2), np.ones((1, 3))), np.kron(np.ones((1, 2)), np.eye(3)), sqrt(3) * np.eye(6)]
    gram = sum(r.T @ r for r in rows)

    def variance(flat: Any) -> float:
        factor = flat.reshape(6, 6) + np.eye(6) * 1e-9
        x = factor.T @ factor
        return float(np.trace(gram @ np.linalg.pinv(x / x.diagonal().max()))) / 2

    start = np.random.default_rng(0)
    found = min(minimize(variance, start.normal(size=36), method="BFGS").fun for _ in range(3))
    ours = Interactions.of(d, asked.questions, Moves(1, 1)).total_variance
    assert ours <= found * 1.001


def test_the_joint_law_on_a_tiny_universe_keeps_the_budget() -> None:
    """Two columns of two values, all tables: every interaction by its exact law, for a row in any cell."""
    d, rho = domain(2, 2), Fraction(1, 8)
    asked = workload(d, [("c0",), ("c1",), ("c0", "c1")])
    noise = Interactions.of(d, asked.questions, Moves(1, 1)).noise(Moves(1, 1), rho)
    assert sum(residual_rho((2,) * len(part), Moves(1, 1), v) for part, v in noise.items()) <= rho
    for order in (1.01, 2.0, 8.0):
        total = 0.0
        for part, sigma_squared in noise.items():
            chances = _alternating(float(sigma_squared), 2 ** len(part))
            total += np.log((chances[1:] ** order * chances[:-1] ** (1 - order)).sum()) / (order - 1)
        assert total <= order * float(rho) * (1 + 1e-6)
        assert total > 0.99 * order * float(rho)


def _alternating(sigma_squared: float, cells: int) -> Any:
    """The law of a sum of so many noises, with any signs: a row moves it by one."""
    reach = int(13 * sqrt(sigma_squared)) + 2
    single = np.array([exp(-z * z / (2 * sigma_squared)) for z in range(-reach, reach + 1)])
    single /= single.sum()
    found = single
    for _ in range(cells - 1):
        found = np.convolve(found, single)
    middle = len(found) // 2
    spread = int(9 * sqrt(sigma_squared * cells))
    return found[middle - spread : middle + spread]


def test_answers_are_exact_without_noise_and_agree_with_it() -> None:
    d = domain(4, 3, 1, 5)
    rows = Rows(d, np.random.default_rng(1).integers(0, d.sizes, size=(300, 4)))
    asked = [("c0", "c1"), ("c1", "c3"), ("c0", "c2", "c3"), count("c0 < 2 AND c3 = 1"), prefixes("c3"), ("c1",)]
    exact = answer(rows, asked, rho=10**12, plan="marginals")
    found = answer(rows, asked, rho=10**12, plan="residuals")
    assert all(np.allclose(a, b, atol=0.01) for a, b in zip(found.values, exact.values, strict=True))
    noisy = answer(rows, asked, rho="1/10", plan="residuals")
    ab, bd, ad, some, upto, b = noisy.values
    assert np.allclose(ab.reshape(4, 3).sum(axis=0), b)
    assert np.allclose(bd.reshape(3, 5).sum(axis=1), b)
    assert np.allclose(np.cumsum(ad.reshape(4, 5).sum(axis=0)), upto)
    assert some[0] == pytest.approx(ad.reshape(4, 5)[:2, 1].sum())
    assert [e for _, e in noisy.spending.events] == [events.ZCDP("1/10")]
    assert noisy.rows(100).num_rows == 100


@pytest.mark.slow
def test_errors_are_as_predicted_and_bars_cover() -> None:
    """500 runs of 48 numbers. A mean of 500 squares is off by 40 % with probability below 1e-8; of 500 bars of 95 %
    25 ± 4.9 miss: above 62 or below 2 with probability below 1e-8.
    """
    d = domain(3, 4, 2)
    rows = Rows(d, np.zeros((0, 3), dtype=int))
    asked = [("c0", "c1"), ("c1", "c2"), ("c0",), count("c0 = 1 AND c2 = 1"), marginal("c0", "c1", "c2", weight=4)]
    first = answer(rows, asked, rho="1/2", plan="residuals")
    questions, off = first.plan.workload.questions, []
    empty = [np.zeros((3, 4, 2), dtype=np.int64)]
    for _ in range(500):
        assert first.plan.interactions is not None
        drawn = first.plan.interactions.measure(rows, empty, Fraction(1, 2), Spending.of(Fraction(1, 2)))
        off.append(np.concatenate([q.of(drawn.table(q.clique)) for q in questions]))
    predicted, bars = np.concatenate(first.deviations), np.concatenate(first.error_of_each(0.95))
    assert np.allclose((np.array(off) ** 2).mean(axis=0) / predicted**2, 1, atol=0.4)
    missed = (np.abs(off) > bars).sum(axis=0)
    assert missed.max() < 62
    assert missed.min() > 1
    assert (np.abs(off) > 0.6 * bars).sum(axis=0).min() > 62  # bars that are too short would be seen
    weights = np.repeat([1, 1, 1, 1, 4], [12, 8, 3, 1, 24])
    expected = first.plan.expected_error(rho=Fraction(1, 2))
    assert sqrt((predicted**2 * weights).sum() / weights.sum()) == pytest.approx(expected, rel=1e-3)


@pytest.mark.slow
def test_predicted_error_decides_between_plans() -> None:
    d = domain(64, 3, 4)
    assert plans(d, [prefixes("c0")])[0].name == "least squares"
    both = plans(d, [prefixes("c0"), ("c1", "c2"), ("c1",), ("c2",)])
    assert both[0].name == "residuals and least squares"
    rows = Rows(d, np.random.default_rng(1).integers(0, d.sizes, size=(300, 3)))
    found = answer(rows, [prefixes("c0"), ("c1", "c2"), ("c1",), ("c2",)], rho=10**10)
    assert found.plan.name == both[0].name
    assert np.allclose(found[0], np.cumsum(rows.marginals([(0,)])[0]), atol=0.1)
    assert np.allclose(found[2], rows.marginals([(1,)])[0], atol=0.1)
    prices = [e for _, e in found.spending.events]
    assert len(prices) == 2
    assert all(p.name != "residuals" for p in plans(d, [("c0",)], pure=True))


@pytest.mark.parametrize("max_rows", [1, 3])
def test_scaled_counts_and_several_rows_cost_no_more_than_the_budget(max_rows: int) -> None:
    class Scaled(Rows):
        scale = 1 << 20

        def moves(self, clique: tuple[int, ...]) -> Moves:
            del clique
            return Moves(max_rows << 20, max_rows**2 << 40)

        def marginals(self, cliques: Any) -> Any:
            return [table << 20 for table in super().marginals(cliques)]

    d = domain(3, 4)
    codes = np.random.default_rng(2).integers(0, d.sizes, size=(100, 2))
    found = answer(Scaled(d, codes), up_to(d, 2), rho=10**8, plan="residuals")
    assert np.allclose(found[0], Rows(d, codes).marginals([(0,)])[0], atol=0.1)
    plain = answer(Rows(d, codes, max_rows=max_rows), up_to(d, 2), rho=1, plan="residuals").deviations
    wide = answer(Scaled(d, codes), up_to(d, 2), rho=1, plan="residuals").deviations
    assert np.allclose(np.concatenate(plain), np.concatenate(wide), rtol=1e-3)


def test_nothing_is_drawn_that_was_not_paid() -> None:
    d = domain(2, 2)
    interactions = Interactions.of(d, workload(d, "all 2-way").questions, Moves(1, 1))
    spending = Spending.of(Fraction(1))
    with pytest.raises(OverBudget):
        interactions.measure(Rows(d, np.zeros((0, 2), dtype=int)), [], Fraction(2), spending)
    assert not spending.events
    with pytest.raises(BadParameter, match="64 bits"):
        interactions.noise(Moves(1, 1), Fraction(1, 10**40))


@pytest.mark.parametrize("sizes", [(2, 2), (9, 4), (101, 16, 5)])
@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 2), Fraction(50)])
def test_prices_fill_the_budget(sizes: tuple[int, ...], rho: Fraction) -> None:
    """The certified sum is at most rho, and close to it in the finer units."""
    d = domain(*sizes)
    interactions = Interactions.of(d, workload(d, up_to(d, 2)).questions, Moves(1, 1))
    for moves in (Moves(1, 1), Moves(FINER, FINER**2)):
        noise = interactions.noise(moves, rho)
        total = sum(residual_rho(d.shape(part), moves, v) for part, v in noise.items())
        assert total <= rho
    assert total > rho * Fraction(99_999, 100_000)


def test_product_of_laws_is_what_the_pairs_of_cells_say() -> None:
    """All pairs of cells of a 2 x 3 table: the price of a changed row is that of its moves."""
    for a, b in product(range(6), range(6)):
        moved = np.zeros(6)
        moved[a] += 1
        moved[b] -= 1
        centred = moved.reshape(2, 3)
        centred = centred - centred.mean(axis=0, keepdims=True)
        centred = centred - centred.mean(axis=1, keepdims=True)
        assert (centred**2).sum() / 200 <= float(residual_rho((2, 3), Moves(2, 2), Fraction(100))) + 1e-12
