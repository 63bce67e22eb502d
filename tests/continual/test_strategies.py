"""Strategies against their own matrices: BC = A, columns by brute force over all moves, rows by linear algebra."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.continual.binned import Binned
from discreet.continual.strategies import Appearances, Prefixes, Strategy, Values
from discreet.continual.toeplitz import Toeplitz
from discreet.continual.tree import Tree
from discreet.continual.unknown_horizon import Epochs
from discreet.continual.windows import Spans
from tests.helpers.continual_matrices import asked, estimates, matrix, moves_of

SMALL: list[Strategy] = [
    *(make(n) for make in (Values, Prefixes, Tree, Toeplitz, Binned) for n in (1, 2, 3, 5, 8)),
    Toeplitz(6, Fraction(2, 3)),
]
LONG: list[tuple[Strategy, int]] = [
    (Tree(100), 100), (Tree(64), 64), (Toeplitz(100), 100), (Binned(700), 700), (Epochs(True), 700),
    (Epochs(False), 700), (Spans(Toeplitz(7), 7), 50), (Spans(Tree(8), 8), 50), (Toeplitz(50, Fraction(9, 10)), 50),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("strategy", SMALL, ids=repr)
@pytest.mark.parametrize(("k", "apart"), [(1, 1), (2, 1), (2, 3), (3, 1), (8, 1), (3, 2)])
def test_no_unit_moves_the_rows_farther_than_is_priced(strategy: Strategy, k: int, apart: int) -> None:
    steps = strategy.horizon or 0
    unit = Appearances(steps=k, separation=apart).within(steps)
    c = matrix(strategy, steps)
    moved = [np.abs(c @ np.array(d)) for d in moves_of(unit, steps)]
    l1, l2 = max(int(m.sum()) for m in moved), max(int((m**2).sum()) for m in moved)
    claimed = strategy.moves(unit)
    assert l1 <= claimed.l1
    assert l2 <= claimed.l2_squared
    if unit.steps == 1 and not isinstance(
        strategy, Binned
    ):  # one event: the price is attained; bins count whole blocks
        assert (l1, l2) == (claimed.l1, claimed.l2_squared)
    if isinstance(strategy, Toeplitz):
        assert l2 == claimed.l2_squared  # and for the square root whatever the caps are


@pytest.mark.parametrize("inner", [Values(2), Tree(3), Toeplitz(3), Prefixes(2)], ids=repr)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_unit_moves_the_spans_of_a_window_farther_than_is_priced(inner: Strategy, k: int) -> None:
    """All moves within seven steps, in one span or in several."""
    spans = Spans(inner, inner.horizon or 0)
    c = matrix(spans, 7)
    moved = [np.abs(c @ np.array(d)) for d in moves_of(Appearances(steps=k), 7)]
    claimed = spans.moves(Appearances(steps=k))
    l1, l2 = max(int(m.sum()) for m in moved), max(int((m**2).sum()) for m in moved)
    assert l1 <= claimed.l1
    assert l2 <= claimed.l2_squared
    assert l1 > (k - 1) * claimed.l1 // k  # the twin: one appearance fewer


@pytest.mark.parametrize("squared", [True, False])
def test_no_two_appearances_move_epochs_farther_than_is_priced(squared: bool) -> None:
    """All pairs of 70 steps, on both sides of the end of the first epoch, with either sign."""
    c = matrix(Epochs(squared), 70).astype(np.float64)  # whole numbers below 2^53
    inner, length = c.T @ c, np.abs(c).sum(axis=0)
    claimed = Epochs(squared).moves(Appearances(steps=2))
    if squared:
        both = np.diag(inner)[:, None] + np.diag(inner)[None, :] + 2 * np.abs(inner)
        assert both.max() <= claimed.l2_squared * (1 + 1e-9)
        assert both.max() > 2 * Epochs(True).moves(Appearances()).l2_squared  # the twin: as if they were orthogonal
    else:
        assert (length[:, None] + length[None, :]).max() <= claimed.l1
        assert 2 * length.max() > Epochs(False).moves(Appearances()).l1


def test_the_enumeration_refutes_prices_that_are_too_low() -> None:
    c = matrix(Toeplitz(8), 8)
    two = max(int(((c @ np.array(d)) ** 2).sum()) for d in moves_of(Appearances(steps=2), 8))
    assert two > 2 * Toeplitz(8).moves(Appearances()).l2_squared  # "columns are orthogonal"
    assert two > Toeplitz(8).moves(Appearances(steps=2, separation=3)).l2_squared  # a separation that does not hold
    tree = matrix(Tree(8), 8)
    assert max(tree.sum(axis=0)) > Tree(8).levels - 1  # "the leaves are free"


@pytest.mark.parametrize("strategy", SMALL, ids=repr)
def test_a_unit_at_every_step_is_priced(strategy: Strategy) -> None:
    steps = strategy.horizon or 0
    everywhere = matrix(strategy, steps) @ np.ones(steps, dtype=np.int64)
    claimed = strategy.moves(Appearances(steps=10**6).within(steps))
    assert int(everywhere.sum()) <= claimed.l1
    assert int((everywhere**2).sum()) <= claimed.l2_squared


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "steps"), [*LONG, *((s, s.horizon or 0) for s in SMALL)], ids=repr)
def test_estimates_are_unbiased_and_their_weights_are_bounded(strategy: Strategy, steps: int) -> None:
    c = matrix(strategy, steps)
    b = estimates(strategy, steps, len(c))
    assert np.allclose(b @ c, asked(strategy, steps), atol=1e-9)
    rows = (b**2).sum(axis=1)
    claimed = np.array([float(strategy.weight(t)) for t in range(1, steps + 1)])
    assert (rows <= claimed * (1 + 1e-9)).all()
    if not isinstance(strategy, (Binned, Spans)):  # these two are bounds, the others are the weights themselves
        assert (rows >= claimed * (1 - 1e-5)).all()
    if strategy.horizon is not None:
        assert float(strategy.largest_weight(steps)) == pytest.approx(claimed.max())
    assert np.abs(c).sum(axis=1).max() <= strategy.longest_row * (1 if not isinstance(strategy, Epochs) else steps)


@pytest.mark.parametrize(("strategy", "steps"), LONG, ids=repr)
def test_pieces_and_saved_states_change_nothing(strategy: Strategy, steps: int) -> None:
    rng = np.random.default_rng(steps)
    values = rng.integers(-99, 100, (steps, 3))
    whole = strategy.start(3)
    rows = whole.measure(values)
    sums = whole.estimate(rows, steps)
    pieces, got_rows, got_sums, done = strategy.start(3), [], [], 0
    while done < steps:
        take = min(int(rng.integers(1, 40)), steps - done)
        got_rows.append(pieces.measure(values[done : done + take]))
        got_sums.append(pieces.estimate(got_rows[-1], take))
        done += take
        again = strategy.start(3)
        again.load(json.loads(json.dumps(pieces.state())))
        pieces = again
    assert sorted(np.concatenate(got_rows).tolist()) == sorted(
        rows.tolist()
    )  # in trees, blocks may come in other order
    assert np.allclose(np.concatenate(got_sums), sums)
    assert np.allclose(sums, asked(strategy, steps) @ values, atol=1e-6)
    if not isinstance(strategy, Epochs):
        assert strategy.rows_between(0, steps) == len(rows)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"steps": 1.5}, {"separation": 0}, {"steps": True}])
def test_bad_appearances_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Appearances(**wrong)
