"""Wide streams: the same rows as narrow ones, exact beyond 64 bits; and the weights of windows by linear algebra."""

from __future__ import annotations

import json

import numpy as np
import pytest

from discreet.continual.binned import Binned
from discreet.continual.release import Plan, Stream
from discreet.continual.strategies import Appearances, Prefixes, Strategy, Values
from discreet.continual.toeplitz import Toeplitz
from discreet.continual.tree import Tree
from discreet.errors import BadParameter
from discreet.mechanisms.statistics.budget import Moves, noise_for
from discreet.privacy.promises.measures import ZCDP
from tests.helpers.continual_matrices import estimates, matrix

STRATEGIES: list[Strategy] = [Values(13), Prefixes(13), Tree(13), Toeplitz(13)]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_rows_are_those_of_the_matrix_whatever_the_size(strategy: Strategy) -> None:
    steps = strategy.horizon or 0
    c = [[int(x) for x in row] for row in matrix(strategy, steps)]
    values = [(-1) ** t * (2**90 + 3**t) for t in range(steps)]
    exact = sorted(sum(x * v for x, v in zip(row, values, strict=True)) for row in c)
    process = strategy.start_wide(1)
    rows: list[int] = []
    for value in values:  # one by one, saved in between
        line = np.zeros((1, 1), dtype=object)
        line[0, 0] = value
        rows += process.measure(line).ravel().tolist()
        again = strategy.start_wide(1)
        again.load(json.loads(json.dumps(process.state())))
        process = again
    assert sorted(rows) == exact


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_a_wide_stream_adds_noise_beyond_64_bits_and_goes_on(strategy: Strategy) -> None:
    """Noise of 2^70 around sums of 2^95: totals are right to the noise, and a loaded stream has the same ones."""
    noise = noise_for(ZCDP("1/2"), Moves(0, 2**140 * strategy.moves(Appearances()).l2_squared), 2)
    plan = Plan(strategy, noise, wide=True)
    stream, big = Stream(plan, 2), np.array([[2**95, -(2**94)]], dtype=object)
    for t in range(1, 6):
        total = stream.push(big)[0]
        assert np.allclose(total / t, [2.0**95, -(2.0**94)], rtol=1e-5)
        again = Stream(plan, 2)
        again.load(json.loads(json.dumps(stream.state())))
        stream = again
    with pytest.raises(BadParameter, match="same parameters"):
        Stream(Plan(strategy, noise), 2).load(stream.state())


def test_a_strategy_that_cannot_be_wide_says_so() -> None:
    with pytest.raises(BadParameter, match="beyond 64 bits"):
        Binned(5000).start_wide(1)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_the_weight_of_every_window_is_bounded(strategy: Strategy) -> None:
    steps = strategy.horizon or 0
    b = estimates(strategy, steps, len(matrix(strategy, steps)))
    for t in range(1, steps + 1):
        for width in range(1, t + 1):
            row = b[t - 1] - (b[t - 1 - width] if width < t else 0)
            true, claimed = float((row**2).sum()), float(strategy.window_weight(t, width))
            assert true <= claimed * (1 + 1e-9)
            if isinstance(strategy, Values | Prefixes):
                assert true == pytest.approx(claimed)
