"""One-run audits: the theorem's bound, against exact laws and simulation."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from discreet.checking.sampling.one_run import audit_one_run, epsilon_lower, p_value, right_guesses
from discreet.errors import BadParameter
from discreet.noise import bernoulli
from discreet.privacy.promises.measures import ZCDP, Approx, Pure


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("guesses", [1, 10, 60])
def test_without_delta_it_is_the_tail_of_randomized_response(epsilon: float, guesses: int) -> None:
    """Randomized response on each canary guesses with exactly this law, so the bound is attained."""
    q = 1 / (1 + math.exp(-epsilon))
    for correct in range(guesses + 1):
        assert p_value(100, guesses, correct, epsilon) == pytest.approx(binom.sf(correct - 1, guesses, q), rel=1e-6)


def test_with_delta_it_is_the_theorem_term_by_term() -> None:
    m, r, v, epsilon, delta = 50, 30, 24, 0.7, 1e-3
    q = 1 / (1 + math.exp(-epsilon))
    worst = max(sum(binom.pmf(k, r, q) for k in range(v - i, v) if k >= 0) / i for i in range(1, m + 1))
    expected = binom.sf(v - 1, r, q) + 2 * m * delta * worst
    assert p_value(m, r, v, epsilon, delta) == pytest.approx(expected, rel=1e-6)


def test_it_grows_with_epsilon_and_delta_and_falls_with_correct_guesses() -> None:
    values = [p_value(100, 80, 60, e, d) for e in (0.1, 0.5, 1.0) for d in (0.0, 1e-5, 1e-3)]
    assert values == sorted(values)
    assert p_value(100, 80, 61, 0.5) < p_value(100, 80, 60, 0.5)


def test_the_lower_bound_is_where_the_p_value_crosses() -> None:
    bound = epsilon_lower(500, 500, 450, 0.0, 1e-6)
    assert p_value(500, 500, 450, bound) <= 1e-6 < p_value(500, 500, 450, bound + 1e-3)


def test_a_mechanism_that_keeps_its_claim_is_left_alone_and_one_that_does_not_is_refuted() -> None:
    """Each canary is reported by randomized response. False alarm at most 1e-8, by the theorem."""
    canaries = range(2000)

    def response(keep: str) -> Callable[[list[int]], list[int]]:
        def run(included: list[int]) -> list[int]:
            flips = bernoulli(keep, size=len(canaries))
            inside = np.isin(np.array(canaries), included)
            return [int(x) for x in np.where(flips == 1, inside, ~inside)]

        return run

    def score(out: list[int], canary: int) -> float:
        return out[canary]

    honest = audit_one_run(response("0.7"), canaries, score=score, claim=Pure(1))
    assert not honest.refuted  # log(7/3) = 0.85
    leaky = audit_one_run(response("0.95"), canaries, score=score, claim=Approx(1, "1e-6"), confidence="0.9999")
    assert leaky.refuted  # log 19 = 2.94; 0.95 against 0.73 is beyond 20 standard deviations
    assert leaky.epsilon_lower > 1
    assert "refuted: ε ≥" in str(leaky)


def test_guesses_that_are_passed_over_do_not_count() -> None:
    assert right_guesses([5, 4, 3, 2, 1, 0], [True, True, False, True, False, False], 4) == 4
    assert right_guesses([5, 4, 3, 2, 1, 0], [False] * 6, 3) == 1


def test_bad_calls_are_refused() -> None:
    with pytest.raises(BadParameter, match="claim"):
        audit_one_run(list, range(10), score=lambda *_: 0.0, claim=ZCDP(1))  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="guesses"):
        audit_one_run(list, range(10), score=lambda *_: 0.0, claim=Pure(1), guesses=11)
