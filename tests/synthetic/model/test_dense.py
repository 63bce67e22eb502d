"""Explicit weights against the same arithmetic on a plain array."""

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.model.dense import Dense
from discreet.synthetic.predicate import predicate

DOMAINS = [
    Domain({f"c{i}": whole(0, 1, nullable=False) for i in range(14)}),
    Domain({"c0": whole(0, 70, nullable=False), "c1": whole(0, 2), "c2": whole(0, 100)}),
    Domain({"c0": range(3), "c1": range(2), "c2": range(2)}),
]
CONDITIONS = ["c0 = 1 AND c2 = 0", "c1 = 1 OR c2 = 1", "c0 = 1", "c2 > 0", "c0 = 0 OR (c1 = 1 AND c2 = 0)", "TRUE"]


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: str(d.cells))
def test_shares_updates_and_marginals(domain: Domain) -> None:
    model = Dense(domain.sizes)
    plain = np.full(domain.sizes, 1 / domain.cells)
    draw = np.random.default_rng(0)
    conditions = [predicate(domain, text) for text in CONDITIONS]
    for k in range(150):
        asked = conditions[k % len(conditions)]
        mask = np.broadcast_to(
            asked.table.reshape([s if c in asked.clique else 1 for c, s in enumerate(domain.sizes)]), domain.sizes
        )
        assert np.isclose(model.share(asked), plain[mask].sum())
        if k % 5 == 4 and asked.clique:
            factors = draw.random(domain.shape(asked.clique)) + 0.5
            model.scale(asked.clique, factors)
            plain = plain * factors.reshape([s if c in asked.clique else 1 for c, s in enumerate(domain.sizes)])
        else:
            step = draw.normal()
            model.update(asked, step)
            plain = np.where(mask, plain * np.exp(step), plain)
        plain /= plain.sum()
    for clique in [(0,), (0, 2), (1, 2), (0, 1, 2), ()]:
        want = plain.sum(axis=tuple(c for c in range(len(domain)) if c not in clique))
        assert np.allclose(model.marginal(clique), want)


def test_too_large_a_domain_is_refused_with_its_size() -> None:
    with pytest.raises(BadParameter, match="33554432"):
        Dense((2,) * 25)
