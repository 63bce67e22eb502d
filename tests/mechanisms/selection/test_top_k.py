"""The k best: the chain of choices, the one-shot law of Gumbel noise, and the price of k choices."""

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter
from discreet.mechanisms.selection.exponential import exponential
from discreet.mechanisms.selection.noisy_max import noisy_max
from discreet.mechanisms.selection.permute_and_flip import permute_and_flip
from discreet.mechanisms.selection.top_k import TopK, peel, top_k
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from tests.helpers.extent import extent
from tests.helpers.laws import any_broken, drawn, is_a_law, middle, misfit, same_way, vectors, within
from tests.helpers.truth import ball, precise

SCORES = list(vectors(range(3), 3))


def laws(m: TopK) -> dict[tuple[int, ...], Any]:
    return {s: m.law(m.read(list(s))) for s in SCORES}


def test_the_law_is_that_of_plackett_and_luce() -> None:
    m = top_k(k=2, sensitivity=1, epsilon=2)
    scores = [0, 3, 1, 1]
    law = m.law(m.read(scores))
    assert is_a_law(law)
    assert set(law) == set(permutations(range(4), 2))
    with precise():
        w = [(ball(m.each.rate) * s).exp() for s in scores]
        for (i, j), (low, high) in law.items():
            p = w[i] / sum(w) * w[j] / (sum(w) - w[i])
            assert not p < ball(low)
            assert not p > ball(high)


def test_one_shot_of_gumbel_noise_has_this_law() -> None:
    """Floats draw the one-shot rule here; only the law is compared."""
    m = top_k(k=2, sensitivity=1, epsilon=2)
    scores = [0, 3, 1, 1]
    rng = np.random.default_rng(20)
    noisy = np.array(scores) + rng.gumbel(scale=float(1 / m.each.rate), size=(100_000, 4))
    order = np.argsort(-noisy, axis=1)[:, :2]
    law = m.law(m.read(scores))
    assert misfit(map(tuple, order.tolist()), law) < 1
    laplace = np.array(scores) + rng.laplace(scale=float(1 / m.each.rate), size=(100_000, 4))
    assert misfit(map(tuple, np.argsort(-laplace, axis=1)[:, :2].tolist()), law) > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "m",
    [
        top_k(k=2, sensitivity=1, epsilon=1), top_k(k=3, sensitivity=1, epsilon=2),
        peel(permute_and_flip(sensitivity=1, epsilon="1/2"), k=2), peel(noisy_max(sensitivity=1, epsilon=1), k=2),
    ],
    ids=lambda m: m.story(),
)  # fmt: skip
def test_no_neighbours_break_the_promise(m: TopK) -> None:
    found = laws(m)
    assert not any_broken(found, within(1), m.epsilon)
    telling = [(0,) * m.k + (40, 40), (1,) * m.k + (39, 39)]
    assert any_broken({s: m.law(m.read(list(s))) for s in telling}, within(1), m.each.epsilon)  # for the price of one
    wide = [(0,) * m.k + (40, 40), (2,) * m.k + (38, 38)]
    assert any_broken({s: m.law(m.read(list(s))) for s in wide}, within(2), m.epsilon)  # sensitivity off by two


def test_monotone() -> None:
    m = top_k(k=2, sensitivity=1, epsilon=1, monotone=True)
    found = laws(m)
    assert not any_broken(found, same_way(1), m.epsilon)
    assert any_broken(found, within(1), m.epsilon)


def test_the_price_is_that_of_k_choices() -> None:
    m = top_k(k=10, sensitivity=1, epsilon=1)
    assert m.event == events.Repeat(events.Exponential("1/10"), 10)
    assert price_basic(m.event).epsilon == 1
    assert price_zcdp(m.event).rho <= Fraction(10, 8 * 100)
    assert top_k(k=1, sensitivity=1, epsilon=1).event == exponential(sensitivity=1, epsilon=1).event
    assert peel(permute_and_flip(sensitivity=1, epsilon=1), k=2).event == events.Repeat(events.PermuteAndFlip(1), 2)


@pytest.mark.slow
def test_the_sampler_has_the_law() -> None:
    m = top_k(k=2, sensitivity=1, epsilon=2)
    scores = [0, 3, 1]
    law = m.law(m.read(scores))
    assert misfit(drawn(m, scores, extent(8_000, 20_000)), law) < 1
    assert misfit(drawn(top_k(k=2, sensitivity=1, epsilon=4), scores, 8_000), law) > 1
    assert misfit(drawn(m, [Fraction(0), Fraction(3), Fraction(1)], extent(4_000, 8_000)), law) < 1


def test_all_of_them_are_a_permutation() -> None:
    m = top_k(k=5, sensitivity=1, epsilon=1)
    assert sorted(m.release([5, 1, 4, 4, 2]).value) == [0, 1, 2, 3, 4]
    assert m.release(np.array([0, 10**9, 2 * 10**9, 3 * 10**9, 4 * 10**9])).value == (4, 3, 2, 1, 0)


def test_the_gap_holds_for_all_places() -> None:
    m = top_k(k=2, sensitivity=1, epsilon=4)
    gap = Fraction(m.gap_at("0.9", 3))
    for scores in ([gap, Fraction(0), gap], [2 * gap, gap, Fraction(0)]):
        best = sorted(scores, reverse=True)
        law = middle(m.law(m.read(scores)))
        held = sum(p for r, p in law.items() if all(scores[i] >= best[j] - gap for j, i in enumerate(r)))
        assert held >= 0.9


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "2"])
def test_bad_k(k: Any) -> None:
    with pytest.raises(BadParameter):
        top_k(k=k, sensitivity=1, epsilon=1)
    with pytest.raises(BadParameter):
        peel(exponential(sensitivity=1, epsilon=1), k=k)


def test_bad_choices_and_too_few_candidates() -> None:
    with pytest.raises(BadParameter):
        peel("exponential", k=2)  # type: ignore[arg-type]
    with pytest.raises(BadParameter):
        top_k(k=2, sensitivity=1, epsilon=0)
    with pytest.raises(BadData):
        top_k(k=3, sensitivity=1, epsilon=1).release([1, 2])
