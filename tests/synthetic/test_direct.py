"""Direct answers: the plan by predicted error, errors as predicted, answers that agree."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
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


def test_the_best_plan_comes_first_and_depends_on_the_workload() -> None:
    first = [plan.name for plan in plans(DOMAIN, [prefixes("c")])]
    assert first.index("least squares") < first.index("hierarchical") < first.index("marginals")
    assert plans(DOMAIN, [("a",)])[0].name == "marginals"
    many = [marginal("a", "b"), marginal("a"), marginal("b"), *(count(f"a = {i} AND b = 1") for i in range(4))]
    assert plans(DOMAIN.only(["a", "b"]), many)[0].name == "identity"
    errors = [plan.error for plan in plans(DOMAIN, many)]
    assert errors == sorted(errors)


@pytest.mark.parametrize("plan", ["marginals", "identity", "least squares", "hierarchical"])
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
    measured = float(np.sqrt((np.array(off) ** 2).mean() / (predicted**2).mean()))
    assert measured < 1.4  # 6 x 83 correlated numbers; agreement may only make it smaller
    assert not (np.abs(np.array(off)) <= 0.3 * predicted).all()  # bars that are too short would be seen


def test_answers_agree_with_each_other() -> None:
    found = answer(ROWS, [("a", "b"), ("b", "c"), ("a", "c"), ("a",)], rho="1/10", plan="marginals")
    ab, bc, ac, a = (v.reshape(shape) for v, shape in zip(found.values, [(4, 3), (3, 64), (4, 64), (4,)], strict=True))
    assert np.allclose(ab.sum(axis=1), a)
    assert np.allclose(ac.sum(axis=1), a)
    assert np.allclose(ab.sum(axis=0), bc.sum(axis=1))
    assert np.allclose(ac.sum(axis=0), bc.sum(axis=0))


def test_agreement_does_not_add_error() -> None:
    """Mean squares over 200 runs of 4 numbers: the ratio is about 0.63, and above 1 with probability below 1e-6."""
    truth = ROWS.marginals([(0,)])[0]
    alone = [answer(ROWS, [("a",)], rho="1/20")[0] - truth for _ in range(200)]
    split = next(p for p in plans(DOMAIN, [("a",), ("a", "b")]) if p.name == "marginals")
    share = next(b.share for b in split.blocks if b.clique == (0,))
    rho = Fraction(1, 20) / share
    both = [answer(ROWS, [("a",), ("a", "b")], rho=rho, plan="marginals")[0] - truth for _ in range(200)]
    assert np.mean(np.square(both)) < np.mean(np.square(alone))


def test_rows_that_agree_with_the_answers() -> None:
    found = answer(ROWS, [("a", "b"), ("b", "c"), ("a", "c")], rho=10)
    table = found.rows(5000)
    assert table.num_rows == 5000
    codes = DOMAIN.encode(table)
    share = np.bincount(codes[:, 0] * 3 + codes[:, 1], minlength=12) / 5000
    assert np.abs(share - found[0] / found[0].sum()).sum() < 0.1
    with pytest.raises(BadParameter):
        found.rows(0)


def test_refusals() -> None:
    with pytest.raises(BadParameter, match="plan"):
        answer(ROWS, [("a",)], rho=1, plan="magic")
    with pytest.raises(BadParameter, match="delta"):
        answer(ROWS, [("a",)], epsilon=1)
