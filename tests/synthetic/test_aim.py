"""The adaptive run: prices add up, exact limits, room in the model, cancelling, candidates, memory."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.synthetic.aim import Settings, candidates, memory_bytes, run
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.model.fit import Fit, fit
from discreet.synthetic.source import Rows
from discreet.synthetic.workload import marginal, workload

DOMAIN = Domain({n: whole(0, s - 1, nullable=False) for n, s in {"a": 3, "b": 4, "c": 2, "d": 5}.items()})


def rows(count: int = 4000, max_rows: int = 1) -> Rows:
    draw = np.random.default_rng(9)
    a = draw.integers(0, 3, count)
    b = (a + draw.integers(0, 2, count)) % 4
    c = (b > 1).astype(int)
    d = np.where(draw.random(count) < 0.8, (a * b) % 5, draw.integers(0, 5, count))
    return Rows(DOMAIN, np.stack([a, b, c, d], axis=1), max_rows=max_rows)


ASKED = workload(DOMAIN, "all 3-way")


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 10), Fraction(100)])
@pytest.mark.parametrize("max_rows", [1, 5])
def test_all_events_together_cost_the_budget_and_no_more(rho: Fraction, max_rows: int) -> None:
    found = run(rows(max_rows=max_rows), ASKED, rho)
    booked = price_zcdp(events.Composed([event for _, event in found.spending.events])).rho
    assert rho * Fraction(99, 100) < booked <= rho
    assert found.spending.spent.rho >= booked
    assert found.complete
    kinds = {type(event) for _, event in found.spending.events}
    assert kinds == {events.DiscreteGaussian, events.Exponential}
    assert len(found.measured) == 4 + found.rounds


def test_without_noise_the_marginals_of_the_data_come_back() -> None:
    source = rows()
    found = run(source, ASKED, Fraction(10**6), settings=Settings(steps=300))
    for clique, exact in zip(ASKED.cliques, source.marginals(list(ASKED.cliques)), strict=True):
        assert np.abs(found.fit.model.marginal(clique) * found.fit.total - exact).sum() < 0.02 * 4000


def test_more_budget_less_error() -> None:
    source = rows()

    def error(rho: Fraction) -> float:
        model = run(source, ASKED, rho).fit.model
        each = zip(ASKED.cliques, source.marginals(list(ASKED.cliques)), strict=True)
        return float(np.mean([np.abs(model.marginal(c) - h / h.sum()).sum() for c, h in each]))

    assert error(Fraction(1)) < 0.5 * error(Fraction(1, 10_000))


def test_the_model_stays_within_its_room() -> None:
    found = run(rows(), ASKED, Fraction(1), settings=Settings(model_cells=40))
    assert found.fit.model.tree.cells <= 40
    with pytest.raises(BadParameter, match="model_cells"):
        run(rows(), ASKED, Fraction(1), settings=Settings(model_cells=15, impossible={(0, 1): np.zeros((3, 4))}))


def test_a_cancelled_run_keeps_what_was_paid() -> None:
    asked = iter([False, False, True])
    found = run(rows(), ASKED, Fraction(1), cancel=lambda: next(asked))
    assert not found.complete
    assert found.rounds == 2
    assert 0 < found.spending.spent.rho < 1
    assert len(found.measured) == 6


def test_an_interrupt_in_the_middle_of_a_fit_keeps_the_last_model() -> None:
    calls = iter(range(100))

    def interrupted(*given: object, **more: object) -> Fit:
        if next(calls) == 3:
            raise KeyboardInterrupt
        return fit(*given, **more)  # type: ignore[arg-type]

    found = run(rows(), ASKED, Fraction(1), settings=Settings(estimator=interrupted))
    assert not found.complete
    assert found.rounds == 2
    assert np.isclose(found.fit.model.marginal((0,)).sum(), 1)


def test_candidates_are_all_parts_with_whole_weights() -> None:
    found = candidates(workload(DOMAIN, [marginal("a", "b", weight="1/3"), marginal("c", weight="1/2")]))
    assert found.weights == {(0,): 2, (1,): 2, (2,): 3, (3,): 0, (0, 1): 4}
    tight = candidates(ASKED, limit=30)
    assert tight.left_out
    assert {c for c in tight.weights if len(c) == 1} == {(0,), (1,), (2,), (3,)}


def test_the_memory_is_known_before() -> None:
    small, large = (memory_bytes(DOMAIN, candidates(ASKED), Settings(model_cells=n)) for n in (100, 10**6))
    assert 0 < small < large < 10**9
