"""The adaptive run: prices add up, exact limits, room in the model, cancelling, candidates, memory."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import BadParameter
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.query.plan.schema import bounds
from discreet.synthetic import aim
from discreet.synthetic.aim import Settings, candidates, memory_bytes, run
from discreet.synthetic.binning.open_bins import ChosenBins
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.model.fit import Fit, fit
from discreet.synthetic.source import Rows, rows_of
from discreet.synthetic.workload import count, marginal, workload

DOMAIN = Domain({n: whole(0, s - 1, nullable=False) for n, s in {"a": 3, "b": 4, "c": 2, "d": 5}.items()})


def rows(count: int = 4000, max_rows: int = 1) -> Rows:
    draw = np.random.default_rng(9)
    a = draw.integers(0, 3, count)
    b = (a + draw.integers(0, 2, count)) % 4
    c = (b > 1).astype(int)
    d = np.where(draw.random(count) < 0.8, (a * b) % 5, draw.integers(0, 5, count))
    return Rows(DOMAIN, np.stack([a, b, c, d], axis=1), max_rows=max_rows)


ASKED = workload(DOMAIN, "all 3-way")


@pytest.mark.slow
@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 10), Fraction(100)])
@pytest.mark.parametrize("max_rows", [1, 5])
def test_all_events_together_cost_the_budget_and_no_more(rho: Fraction, max_rows: int) -> None:
    found = run(rows(max_rows=max_rows), ASKED, rho)
    booked = price_zcdp(events.Composed([event for _, event in found.spending.events])).rho
    assert rho * Fraction(99, 100) < booked <= rho
    assert found.spending.charged.rho >= booked
    assert found.complete
    kinds = {type(event) for _, event in found.spending.events}
    assert kinds == {events.DiscreteGaussian, events.Exponential}
    assert len(found.measured) == 4 + found.rounds


def test_without_noise_the_marginals_of_the_data_come_back() -> None:
    source = rows()
    found = run(source, ASKED, Fraction(10**6), settings=Settings(steps=300))
    for clique, exact in zip(ASKED.cliques, source.marginals(list(ASKED.cliques)), strict=True):
        assert np.abs(found.fit.model.marginal(clique) * found.fit.total - exact).sum() < 0.02 * 4000


@pytest.mark.slow
def test_more_budget_less_error() -> None:
    source = rows()

    def error(rho: Fraction) -> float:
        model = run(source, ASKED, rho).fit.model
        each = zip(ASKED.cliques, source.marginals(list(ASKED.cliques)), strict=True)
        return float(np.mean([np.abs(model.marginal(c) - h / h.sum()).sum() for c, h in each]))

    assert error(Fraction(1)) < 0.5 * error(Fraction(1, 10_000))


@pytest.mark.slow
def test_the_model_stays_within_its_room() -> None:
    found = run(rows(), ASKED, Fraction(1), settings=Settings(model_cells=40))
    assert found.fit.model.tree.cells <= 40
    with pytest.raises(BadParameter, match="model_cells"):
        run(rows(), ASKED, Fraction(1), settings=Settings(model_cells=15, impossible={(0, 1): np.zeros((3, 4))}))


@pytest.mark.slow
def test_a_cancelled_run_keeps_what_was_paid() -> None:
    asked = iter([False, False, True])
    found = run(rows(), ASKED, Fraction(1), cancel=lambda: next(asked))
    assert not found.complete
    assert found.rounds == 2
    assert 0 < found.spending.charged.rho < 1
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


# --- values that nobody has -------------------------------------------------------------------------------------------


def _mean_of_a_skewed_column(monkeypatch: pytest.MonkeyPatch, fewest: int) -> float:
    """2,000 rows at 0 to 3 of 1,000 values, with noise of 3 rows a value; the true mean is 1.5."""
    monkeypatch.setattr(aim, "FEWEST", fewest)
    domain = Domain({"x": whole(0, 999, nullable=False), "y": whole(0, 1, nullable=False)})
    source = Rows(domain, np.array([[i % 4, i % 2] for i in range(2000)]))
    found = run(source, workload(domain, "all 1-way"), Fraction(2, 5), settings=Settings(rounds=1))
    return float(found.fit.model.marginal((0,)) @ np.arange(1000))


def test_noise_does_not_fill_the_empty_end_of_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """False alarm below 1e-9: one stretch of noise that stands out (5 deviations, below 1e-2) adds at most 10 to the
    mean, so six of them would have to. The twin, which takes noise at its word, is off by 150 or more."""
    assert _mean_of_a_skewed_column(monkeypatch, 8) < 50
    assert _mean_of_a_skewed_column(monkeypatch, 10**9) > 100


def test_columns_of_open_bins_are_measured_once_and_conditions_keep_their_edges() -> None:
    values = np.random.default_rng(1).lognormal(3, 1, 5000)
    domain = Domain({"cost": bounds(0, 10_000), "y": [False, True]})
    source = rows_of({"cost": values, "y": [True, False] * 2500}, domain)
    found = run(source, workload(domain, "all 2-way"), Fraction(100))
    assert isinstance(found.domain["cost"], ChosenBins)
    assert found.domain.columns == domain.columns
    told = [words for words, _ in found.spending.events]
    assert told[:2] == ["measured (cost), to choose its bins", "measured (y)"]
    booked = price_zcdp(events.Composed([event for _, event in found.spending.events])).rho
    assert 99 < booked <= 100  # measuring on the grid is paid from the same budget
    kept = run(source, workload(domain, [("cost", "y"), count("cost < 5000")]), Fraction(100))
    assert kept.domain["cost"] is domain["cost"]
    fixed = run(Rows(domain, domain.encode(pa.table({"cost": values, "y": [True] * 5000}))), ASKED_OPEN, Fraction(100))
    assert fixed.domain["cost"].values == 32  # rows that were encoded already cannot be counted otherwise


ASKED_OPEN = workload(Domain({"cost": bounds(0, 10_000), "y": [False, True]}), "all 2-way")


def _columns_with_nulls() -> list[bool]:
    """Of three runs with four columns each, three of them without a NULL: which have some in the model."""
    domain = Domain({"few": ["a", "b"], "many": range(0, 40), "amount": bounds(0, 10_000), "partly": [False, True]})
    rows = {
        "few": ["a", "b"] * 1000, "many": [i % 40 for i in range(2000)], "amount": [float(i) for i in range(2000)],
        "partly": [None if i % 5 == 0 else i % 2 == 0 for i in range(2000)],
    }  # fmt: skip
    found = [run(rows_of(rows, domain), workload(domain, "all 1-way"), Fraction(1, 10), settings=Settings(rounds=1))
             for _ in range(3)]  # fmt: skip
    return [bool(one.fit.model.marginal((c,))[-1] > 0) for one in found for c in range(4)]


@pytest.mark.slow
def test_columns_without_nulls_have_none_in_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Integers with some became floats. Noise of 3 deviations, of 9 counts at least 3 times: below 3e-7."""
    found = _columns_with_nulls()
    assert all(found[3::4])  # a fifth of the rows
    assert sum(found) - 3 < 3
    monkeypatch.setattr(aim, "NO_NULLS", -(10.0**9))
    assert all(_columns_with_nulls())
