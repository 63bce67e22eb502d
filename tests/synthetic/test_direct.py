"""Direct answers: the plan by predicted error, errors as predicted, answers that agree."""

from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.mechanisms.statistics.budget import Moves
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure
from discreet.query.plan.schema import bounds
from discreet.synthetic.columns import whole
from discreet.synthetic.direct import answer, plans
from discreet.synthetic.domain import Domain
from discreet.synthetic.source import Rows
from discreet.synthetic.workload import count, marginal, prefixes, ranges

DOMAIN = Domain({"a": whole(0, 3, nullable=False), "b": whole(0, 2, nullable=False), "c": whole(0, 63, nullable=False)})
ROWS = Rows(DOMAIN, np.random.default_rng(5).integers(0, [4, 3, 64], size=(500, 3)))


def exact(asked: object) -> list[NDArray[Any]]:
    found = answer(ROWS, asked, rho=10**12, plan="marginals")  # type: ignore[arg-type]
    return [np.rint(v) for v in found.values]


def test_without_noise_the_answers_are_those_of_the_data() -> None:
    asked = [("a", "b"), prefixes("c"), count("a < 2 AND c >= 32"), ranges("a")]
    (ab, c, ac) = ROWS.marginals([(0, 1), (2,), (0, 2)])
    a = ab.sum(axis=1)
    table, upto, some, spans = exact(asked)
    assert (table == ab.ravel()).all()
    assert (upto == np.cumsum(c)).all()
    assert some[0] == ac[:2, 32:].sum()
    assert spans[:4].tolist() == np.cumsum(a).tolist()


@pytest.mark.slow
def test_the_best_plan_comes_first_and_depends_on_the_workload() -> None:
    first = [plan.name for plan in plans(DOMAIN, [prefixes("c")])]
    assert first.index("least squares") < first.index("hierarchical") < first.index("marginals")
    assert plans(DOMAIN, [("a",)])[0].name == "marginals"
    many = [marginal("a", "b"), marginal("a"), marginal("b"), *(count(f"a = {i} AND b = 1") for i in range(4))]
    assert [plan.name for plan in plans(DOMAIN.only(["a", "b"]), many)][:2] == ["residuals", "identity"]
    errors = [plan.error for plan in plans(DOMAIN, many)]
    assert errors == sorted(errors)


@pytest.mark.slow
@pytest.mark.parametrize("plan", ["marginals", "identity", "least squares", "hierarchical", "residuals"])
def test_every_plan_spends_no_more_than_the_budget_and_errs_as_predicted(plan: str) -> None:
    asked = [("a", "b"), ("a",), prefixes("c"), ("b",)]
    truth = np.concatenate(exact(asked))
    rho = Fraction(1, 50)
    off = []
    for _ in range(6):
        found = answer(ROWS, asked, rho=rho, plan=plan)
        assert price_zcdp(events.Composed([e for _, e in found.spending.events])).rho <= rho
        off.append(np.concatenate(found.values) - truth)
        predicted = np.concatenate(found.deviations)
        bars = np.concatenate(found.error_at(Fraction(999_999_999, 10**9)))
        assert (np.abs(off[-1]) <= bars).all()  # misses with probability 1e-9
    ratio = (np.array(off) ** 2).mean(axis=0) / predicted**2
    # Chernoff, P[χ²_d > x d] <= exp(-d (x - 1 - log x) / 2): the 12 cells of a and b are independent or made to agree,
    # which only makes them smaller (6 x 12 numbers, 1e-12); those of all prefixes may be as good as one (6, 1e-7).
    assert ratio[:12].mean() < 1.7**2
    assert float((np.array(off) ** 2).mean() / (predicted**2).mean()) < 2.9**2
    assert not (np.abs(np.array(off)) <= 0.3 * predicted).all()  # bars that are too short would be seen


def test_answers_agree_with_each_other() -> None:
    found = answer(ROWS, [("a", "b"), ("b", "c"), ("a", "c"), ("a",)], rho="1/10", plan="marginals")
    ab, bc, ac, a = (v.reshape(shape) for v, shape in zip(found.values, [(4, 3), (3, 64), (4, 64), (4,)], strict=True))
    assert np.allclose(ab.sum(axis=1), a)
    assert np.allclose(ac.sum(axis=1), a)
    assert np.allclose(ab.sum(axis=0), bc.sum(axis=1))
    assert np.allclose(ac.sum(axis=0), bc.sum(axis=0))


@pytest.mark.slow
def test_agreement_does_not_add_error() -> None:
    """Mean squares over 200 runs of 4 numbers: the ratio is about 0.63, and above 1 with probability below 1e-6."""
    truth = ROWS.marginals([(0,)])[0]
    alone = [answer(ROWS, [("a",)], rho="1/20")[0] - truth for _ in range(200)]
    split = next(p for p in plans(DOMAIN, [("a",), ("a", "b")]) if p.name == "marginals")
    share = next(b.share for b in split.blocks if b.clique == (0,))
    rho = Fraction(1, 20) / share
    both = [answer(ROWS, [("a",), ("a", "b")], rho=rho, plan="marginals")[0] - truth for _ in range(200)]
    assert np.mean(np.square(both)) < np.mean(np.square(alone))


@pytest.mark.slow
def test_rows_that_agree_with_the_answers() -> None:
    found = answer(ROWS, [("a", "b"), ("b", "c"), ("a", "c")], rho=10)
    table = found.rows(5000)
    assert table.num_rows == 5000
    codes = DOMAIN.encode(table)
    share = np.bincount(codes[:, 0] * 3 + codes[:, 1], minlength=12) / 5000
    assert np.abs(share - found[0] / found[0].sum()).sum() < 0.1
    with pytest.raises(BadParameter):
        found.rows(0)


def test_a_table_with_its_domain_is_taken_as_everywhere() -> None:
    table = {"id": [1, 1, 2, 3], "x": [0, 0, 1, 3]}
    found = answer(table, [("x",)], domain={"x": range(4)}, unit="id", max_rows=1, rho=10**6)
    assert found[0].round().tolist() == [1, 1, 0, 1, 0]
    with pytest.raises(BadParameter, match="domain"):
        answer(table, [("x",)], rho=1)


def test_refusals() -> None:
    with pytest.raises(BadParameter, match="plan"):
        answer(ROWS, [("a",)], rho=1, plan="magic")
    for bad in ({"epsilon": 1, "delta": 0}, {"delta": "1e-9"}, {"epsilon": 0}, {"epsilon": 1, "rho": 1}, {}):
        with pytest.raises(BadParameter):
            answer(ROWS, [("a",)], **bad)
    with pytest.raises(BadParameter, match="epsilon for Laplace"):
        plans(DOMAIN, [("a",)], pure=True)[0].expected_error(rho=1)


@pytest.mark.slow
@pytest.mark.parametrize("plan", ["marginals", "identity", "hierarchical"])
def test_a_pure_promise_with_laplace_noise(plan: str) -> None:
    """Bars miss with probability 1e-9; predicted and measured errors as for Gaussian noise."""
    asked, epsilon = [("a", "b"), ("a",), prefixes("c"), ("b",)], Fraction(3)
    truth = np.concatenate(exact(asked))
    off = []
    for _ in range(8):
        found = answer(ROWS, asked, epsilon=epsilon, plan=plan)
        assert isinstance(found.promise, Pure)
        assert found.promise.epsilon <= epsilon
        assert price_basic(events.Composed([e for _, e in found.spending.events])).epsilon <= epsilon
        assert {type(e) for _, e in found.spending.events} == {events.DiscreteLaplace}
        off.append(np.concatenate(found.values) - truth)
        assert (np.abs(off[-1]) <= np.concatenate(found.error_at(Fraction(999_999_999, 10**9)))).all()
    predicted = np.concatenate(found.deviations)
    assert float(np.sqrt((np.array(off) ** 2).mean() / (predicted**2).mean())) < 1.6
    assert not (np.abs(np.array(off)) <= 0.3 * predicted).all()  # bars that are too short would be seen
    chosen = next(p for p in plans(DOMAIN, asked, pure=True) if p.name == plan)
    assert chosen.expected_error(epsilon=2) == pytest.approx(chosen.expected_error(epsilon=1) / 2)


def test_the_tail_of_a_sum_of_laplace_noises() -> None:
    """The bound of the proof against exact probabilities: one noise, and the sum of two."""
    for beta in (0.5, 1.0, 7.0):
        q = np.exp(-1 / beta)
        k = np.arange(-4000, 4001)
        law = (1 - q) / (1 + q) * q ** np.abs(k)
        for weights, chances in ((1, law), (2, np.convolve(law, law))):
            at = np.arange(len(chances)) - len(chances) // 2
            for level in (2.0, 5.0, 20.0):
                bar = np.sqrt(2 * weights) * beta * (level + 0.7)
                assert chances[np.abs(at) > bar].sum() <= 2 * np.exp(-level)
                assert chances[np.abs(at) > bar / 4].sum() > 2 * np.exp(-level) or beta < 1  # a bound that can fail


@pytest.mark.slow
def test_scaled_counts_give_the_same_answers() -> None:
    class Scaled(Rows):
        scale = 1 << 20

        def moves(self, clique: tuple[int, ...]) -> Moves:
            del clique
            return Moves(1 << 20, 1 << 40)

        def marginals(self, cliques: Any) -> Any:
            return [table << 20 for table in ROWS.marginals(cliques)]

    source = Scaled(DOMAIN, np.zeros((0, 3), dtype=int))
    for plan, prices in (
        ("marginals", ("rho", "epsilon")),
        ("least squares", ("rho",)),
        ("hierarchical", ("epsilon",)),
    ):
        for price in prices:
            paid: dict[str, Any] = {price: 10**9}
            found = answer(source, [("a",), prefixes("c")], plan=plan, **paid)
            assert np.allclose(found[0], ROWS.marginals([(0,)])[0], atol=0.1)
            assert np.allclose(found[1], np.cumsum(ROWS.marginals([(2,)])[0]), atol=0.1)
    gauss, plain = (answer(s, [("a",)], rho=1).deviations[0] for s in (source, ROWS))
    assert np.allclose(gauss, plain)


def test_bins_are_keys_that_a_table_can_hold() -> None:
    """The table of a paid marginal was a Python error: bins were pairs of fractions."""
    domain = Domain({"pay": bounds(0, 1000), "day": bounds("2024-01-01", "2026-01-01")})
    rows = {"pay": [1.0, 999.0], "day": [date(2024, 1, 3), None]}
    found = answer(rows, [("pay",), ("day",)], domain=domain, rho=10**6)
    assert found.table(0).column("pay").to_pylist()[:2] == ["0 to 31.25", "31.25 to 62.5"]
    assert found.table(0).column("pay").to_pylist()[-1] is None
    assert found.table(1).column("day").to_pylist()[0] == "2024-01-01 to 2024-01-07"
