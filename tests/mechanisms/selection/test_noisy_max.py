"""Report noisy max: three noises, the ties of discrete noise, and the laws by enumeration."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter
from discreet.mechanisms.selection.exponential import exponential
from discreet.mechanisms.selection.noisy_max import NoisyMax, difference_tail_up, noisy_max
from discreet.mechanisms.selection.permute_and_flip import permute_and_flip
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.events import MaxNoise
from tests.helpers.extent import extent
from tests.helpers.laws import any_broken, drawn, is_a_law, middle, misfit, same_way, vectors, within

SCORES = list(vectors(range(3), 3))
PAIRS = list(vectors(range(5), 2))


def laws(m: NoisyMax, scores: list[tuple[int, ...]] = SCORES) -> dict[tuple[int, ...], Any]:
    return {s: m.law(m.read(list(s))) for s in scores}


def by_enumeration(scores: list[int], scale: float, reach: int) -> list[float]:
    """All noise vectors, in floats; a tie is shared equally."""
    q = exp(-1 / scale)
    pmf = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-reach, reach + 1)}
    law = [0.0] * len(scores)
    for noise in product(pmf, repeat=len(scores)):
        weight = 1.0
        for z in noise:
            weight *= pmf[z]
        noisy = [s + z for s, z in zip(scores, noise, strict=True)]
        winners = [i for i, v in enumerate(noisy) if v == max(noisy)]
        for i in winners:
            law[i] += weight / len(winners)
    return law


@pytest.mark.slow
@pytest.mark.parametrize("scores", [[0], [0, 0], [0, 2], [1, 0, 1], [2, 0, 1]])
def test_the_laplace_law_is_that_of_all_noise_vectors(scores: list[int]) -> None:
    m = noisy_max(sensitivity=1, scale="3/4")
    law = m.law(m.read(scores))
    assert is_a_law(law)
    truth = by_enumeration(scores, 0.75, 25 if len(scores) < 3 else 20)
    assert middle(law) == pytest.approx(dict(enumerate(truth)), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1/2", 2])
def test_no_neighbours_break_the_promise_of_laplace_noise(epsilon: str) -> None:
    m = noisy_max(sensitivity=1, epsilon=epsilon)
    assert m.scale == 2 / Fraction(epsilon)
    found = laws(m)
    assert is_a_law(found[0, 1, 2])
    assert not any_broken(found, within(1), m.epsilon)
    assert any_broken(found, within(2), m.epsilon)  # sensitivity off by two
    far = list(vectors([0, 1, 12, 13], 2))
    assert any_broken(laws(replace(m, scale=m.scale * Fraction(7, 10)), far), within(1), m.epsilon)  # noise x 0.7
    assert any_broken(laws(replace(m, scale=m.scale / 2), far), within(1), m.epsilon)  # monotone noise, any scores


@pytest.mark.slow
def test_a_wider_sensitivity_and_monotone_scores() -> None:
    wide = noisy_max(sensitivity=2, epsilon=1)
    assert not any_broken(laws(wide, PAIRS), within(2), wide.epsilon)
    m = noisy_max(sensitivity=1, epsilon=1, monotone=True)
    found = laws(m)
    assert not any_broken(found, same_way(1), m.epsilon)
    assert any_broken(laws(m, list(vectors([0, 1, 12, 13], 2))), within(1), m.epsilon)


def test_gumbel_and_exponential_noise_have_their_known_laws() -> None:
    scores = [3, 1, Fraction(5, 2)]
    gumbel = noisy_max(sensitivity=1, epsilon=1, noise=MaxNoise.GUMBEL)
    one_sided = noisy_max(sensitivity=1, epsilon=1, noise=MaxNoise.EXPONENTIAL)
    for m, other in (
        (gumbel, exponential(sensitivity=1, epsilon=1)), (one_sided, permute_and_flip(sensitivity=1, epsilon=1))
    ):  # fmt: skip
        assert m.law(m.read(scores)) == other.law(other.read(scores))
        assert m.gap_at("0.9", 5) == other.gap_at("0.9", 5)


def test_only_gumbel_noise_is_priced_by_its_range() -> None:
    prices = {n: price_zcdp(noisy_max(sensitivity=1, epsilon=1, noise=n).event).rho for n in MaxNoise}
    assert prices[MaxNoise.GUMBEL] <= Fraction(1, 8)
    assert min(prices[MaxNoise.LAPLACE], prices[MaxNoise.EXPONENTIAL]) > Fraction(2, 5)


@pytest.mark.slow
@pytest.mark.parametrize("noise", list(MaxNoise))
def test_the_sampler_has_the_law(noise: MaxNoise) -> None:
    m = noisy_max(sensitivity=1, epsilon=2, noise=noise)
    scores = [1, 0, 1, 3]
    law = m.law(m.read(scores))
    assert misfit(drawn(m, scores, extent(12_000, 30_000)), law) < 1
    assert misfit(drawn(replace(m, scale=m.scale * Fraction(7, 10)), scores, 10_000), law) > 1


@pytest.mark.slow
def test_a_tie_rule_by_place_would_be_seen() -> None:
    m = noisy_max(sensitivity=1, epsilon=4)
    law = m.law(m.read([0, 0]))
    assert misfit([0] * 12_000 + [1] * 8_000, law) > 1
    assert misfit(drawn(m, [0, 0], 20_000), law) < 1


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(7, 3)])
def test_the_difference_of_two_draws(scale: Fraction) -> None:
    q = exp(-1 / scale)
    pmf = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-120, 121)}
    for k in (1, 2, 5, 10):
        truth = sum(pmf[a] * pmf[b] for a in pmf for b in pmf if a - b >= k)
        assert float(difference_tail_up(scale, k)) == pytest.approx(truth, rel=1e-9)


@pytest.mark.slow
def test_the_gap_covers() -> None:
    m = noisy_max(sensitivity=1, epsilon=1)
    for n in (2, 4):
        gap = int(m.gap_at("0.8", n))
        law = m.law(m.read([gap + 1] + [0] * (n - 1)))
        assert sum(q for i, (_, q) in law.items() if i) <= Fraction(1, 5)
    assert m.gap_at("0.8", 1) == 0
    tight = int(m.gap_at("0.8", 2))
    assert sum(p for i, (p, _) in m.law(m.read([tight, 0])).items() if i) > Fraction(1, 10)


def test_what_laplace_noise_refuses() -> None:
    m = noisy_max(sensitivity=1, epsilon=1)
    with pytest.raises(BadData):
        m.release([Fraction(1, 2), 1])
    bad: list[dict[str, Any]] = [
        {"sensitivity": "1/2", "epsilon": 1}, {"epsilon": 1, "scale": "1/2"}, {"sensitivity": 1},
        {"sensitivity": 1, "epsilon": 1, "noise": "laplace"}, {"sensitivity": 1, "epsilon": 0},
    ]  # fmt: skip
    for given in bad:
        with pytest.raises(BadParameter):
            noisy_max(**given)
    assert noisy_max(sensitivity="1/2", epsilon=1, noise=MaxNoise.GUMBEL).scale == 1


def test_two_of_three() -> None:
    assert noisy_max(sensitivity=1, epsilon=1).event == events.NoisyMax(1, MaxNoise.LAPLACE)
    m = noisy_max(epsilon=1, scale=5)  # the largest whole sensitivity that fits is 2
    assert m.sensitivity == 2
    assert m.epsilon == Fraction(4, 5)
    assert m.event_at(1) == events.NoisyMax("2/5", MaxNoise.LAPLACE)


def test_huge_scores_saturate_and_nothing_wraps() -> None:
    m = noisy_max(sensitivity=1, epsilon=1)
    assert m.release([-(10**30), 0, 10**30]).value == 2
    assert m.release(np.array([-(2**63), 0, 2**63 - 1])).value == 2
    assert m.release(np.array([2**64 - 1, 0], dtype=np.uint64)).value == 0
    assert m.read([10**30, 5]).tolist() == [2**61, 5]  # type: ignore[union-attr]
    assert noisy_max(sensitivity=1, scale=2**60).release([0, 1]).value in {0, 1}
