"""Above threshold: all answer streams against all neighbours, and the published variants that are broken (C1)."""

import copy
import os
import pickle
import threading
from collections.abc import Callable
from fractions import Fraction
from math import exp, log
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter, NotATheorem, ReceiptRefused
from discreet.mechanisms.selection.above_threshold import AboveThreshold, Run, above_threshold
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import SystemBits
from tests.helpers.laws import any_broken, drawn, is_a_law, middle, misfit, same_way, vectors, within

STREAMS = list(vectors(range(3), 3))


def laws(m: AboveThreshold, streams: list[tuple[int, ...]] = STREAMS) -> dict[tuple[int, ...], Any]:
    return {s: m.law(s) for s in streams}


# --- an enumeration of its own, in floats, that can also speak of broken variants -----------------------------------


def laplace(scale: float) -> tuple[Callable[[int], float], Callable[[int], float]]:
    """P[Z = k] and P[Z >= k]; scale 0 means no noise."""
    if scale == 0:
        return (lambda k: float(k == 0)), (lambda k: float(k <= 0))
    q = exp(-1 / scale)

    def tail(k: int) -> float:
        return q**k / (1 + q) if k >= 1 else 1 - q ** (1 - k) / (1 + q)

    return (lambda k: (1 - q) / (1 + q) * q ** abs(k)), tail


def chance(
    answers: tuple[int, ...], replies: str, threshold: float, question: float, value: int | None = None
) -> float:
    """P[replies], T = 0: threshold noise drawn once. With ``value``, the last yes shows the noisy answer itself."""
    at, _ = laplace(threshold)
    on, tail = laplace(question)
    total = 0.0
    reach = int(60 * threshold) + 2
    for z in range(-reach, reach + 1):
        p = at(z)
        for i, (a, r) in enumerate(zip(answers, replies, strict=True)):
            if r == "y" and value is not None and i == len(replies) - 1:
                p *= on(value - a) if value >= z else 0.0
            else:
                p *= tail(z - a) if r == "y" else 1 - tail(z - a)
        total += p
    return total


@pytest.mark.slow
@pytest.mark.parametrize("stop_after", [1, 2])
def test_the_law_agrees_with_another_enumeration(stop_after: int) -> None:
    m = above_threshold(threshold=0, epsilon=1, stop_after=stop_after)
    for stream in [(0, 0, 0), (2, 0, 1), (-1, 1, 2)]:
        law = m.law(stream)
        assert is_a_law(law)
        assert all(sum(r) <= stop_after for r in law)
        assert all(sum(r) == stop_after or len(r) == 3 for r in law)
        for replies, p in middle(law).items():
            text = "".join("y" if r else "n" for r in replies)
            truth = chance(stream[: len(replies)], text, float(m.threshold_scale), float(m.question_scale))
            assert p == pytest.approx(truth, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("stop_after", "epsilon"), [(1, "1"), (2, "1"), (3, "1/2"), (1, "4")])
def test_no_neighbours_break_the_promise(stop_after: int, epsilon: str) -> None:
    m = above_threshold(threshold=1, epsilon=epsilon, stop_after=stop_after)
    assert m.epsilon == Fraction(epsilon)
    assert not any_broken(laws(m), within(1), m.epsilon)


@pytest.mark.slow
def test_monotone_answers_need_half_the_noise() -> None:
    m = above_threshold(threshold=1, epsilon=1, stop_after=2, monotone=True)
    assert m.epsilon == 1
    assert not any_broken(laws(m), same_way(1), m.epsilon)


@pytest.mark.slow
def test_a_wider_sensitivity() -> None:
    m = above_threshold(threshold=2, epsilon=2, sensitivity=2)
    streams = list(vectors(range(5), 2))
    assert not any_broken(laws(m, streams), within(2), m.epsilon)


def loss(c: int, threshold: float, question: float, quiet: int = 40) -> float:
    """The loss of the pair that tells most: many quiet questions rise from 0 to 1 while c loud ones fall from 1 to 0.

    Many quiet replies push the threshold's noise far up, where every step of it counts.
    """
    at, _ = laplace(threshold)
    _, tail = laplace(question)

    def side(low: int, high: int) -> float:
        reach = range(-int(60 * threshold), int(200 * threshold))
        return sum(at(z) * (1 - tail(z - low)) ** quiet * tail(z - high) ** c for z in reach)

    return log(side(0, 1) / side(1, 0))


@pytest.mark.parametrize("c", [1, 2, 4, 10])
def test_the_price_is_attained_and_planted_bugs_exceed_it(c: int) -> None:
    m = above_threshold(threshold=0, epsilon=1, stop_after=c)
    a, b = float(m.threshold_scale), float(m.question_scale)
    assert loss(c, a, b, quiet=300) == pytest.approx(1, abs=1e-6)
    assert loss(c, a, b, quiet=2) < 1
    assert loss(c, 0.7 * a, 0.7 * b) > 1.2  # noise x 0.7
    assert loss(c, a / 2, b / 2) > 1.5  # a sensitivity of two where one was meant
    assert loss(c, a, b / 2) > 1.2  # noise of c positives shared by 2c
    monotone = above_threshold(threshold=0, epsilon=1, stop_after=c, monotone=True)
    assert loss(c, float(monotone.threshold_scale), float(monotone.question_scale)) > 1.3  # answers move both ways


def test_c1_lee_and_clifton_does_not_scale_the_noise_with_c() -> None:
    """Algorithm 4: threshold noise Δ/ε₁ with ε₁ = ε/4, question noise Δ/ε₂: (1 + 6c)/4 times ε."""
    epsilon, c = 1.0, 4
    assert loss(c, 4 / epsilon, 4 / (3 * epsilon)) == pytest.approx((1 + 6 * c) / 4, abs=0.05)


def test_c1_stoddard_adds_no_noise_to_questions() -> None:
    """Algorithm 5: infinite ε."""
    x, y, replies = (0, 1), (1, 0), "ny"
    assert chance(x, replies, 2, 0) > 0.1
    assert chance(y, replies, 2, 0) == 0


def test_c1_chen_never_stops() -> None:
    """Algorithm 6: question noise Δ/ε₂ without a cutoff: the loss grows with the number of questions."""
    epsilon = 1.0
    losses = [loss(m, 2 / epsilon, 2 / epsilon, quiet=m) for m in (2, 6, 12)]
    assert losses[0] < losses[1] < losses[2]
    assert losses[2] > 2 * epsilon


def test_c1_roth_releases_the_noisy_value() -> None:
    """Algorithm 3: a positive reply shows the value that was tested. Every quiet question before it costs more."""
    epsilon = 1.0
    a, b = 2 / epsilon, 4 / epsilon

    def told(quiet: int) -> float:
        x, y = (0,) * quiet + (1,), (1,) * quiet + (0,)
        replies = "n" * quiet + "y"
        return chance(x, replies, a, b, value=0) / chance(y, replies, a, b, value=0)

    assert told(1) < told(10) < told(40)
    assert told(40) > exp(epsilon)
    x, y, replies = (0,) * 40 + (1,), (1,) * 40 + (0,), "n" * 40 + "y"  # without the value the same pair is fine
    assert chance(x, replies, a, b) / chance(y, replies, a, b) <= exp(epsilon)


# --- the split ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", ["1/3", 2, "0.1"])
def test_the_shares_add_up_and_the_split_is_good(c: int, monotone: bool, epsilon: str) -> None:
    m = above_threshold(threshold=0, epsilon=epsilon, sensitivity=3, stop_after=c, monotone=monotone)
    moves = c if monotone else 2 * c
    first, second = 3 / m.threshold_scale, moves * 3 / m.question_scale
    assert first + second == Fraction(epsilon) == m.epsilon
    assert float(second / first) == pytest.approx(moves ** (2 / 3), abs=2e-3)


# --- runs -----------------------------------------------------------------------------------------------------------


def test_a_run_stops_after_c_positives_and_says_so() -> None:
    run = above_threshold(threshold=1000, epsilon=1, stop_after=3).start()
    for left in (3, 2, 1):
        assert not run.ask(-(10**6))
        assert run.yes_left == left
        assert run.ask(np.int64(10**6))
    assert run.ended
    with pytest.raises(NotATheorem) as refused:
        run.ask(987654321)
    assert "987654321" not in str(refused.value)


def test_a_receipt_opens_one_run() -> None:
    m = above_threshold(threshold=10, epsilon=1)
    receipt = Receipt(m.event, number=1)
    m.start(receipt)
    with pytest.raises(ReceiptRefused):
        m.start(receipt)
    with pytest.raises(ReceiptRefused):
        m.start(Receipt(events.AboveThreshold("1/2"), number=2))
    assert m.event == events.AboveThreshold(1)


def test_a_whole_list_is_a_run() -> None:
    m = above_threshold(threshold=1000, epsilon=1, stop_after=2)
    answer = m.release([0, 10**6, 0, 10**6, 10**6, 0])
    assert answer.value == (False, True, False, True)
    assert m.release(np.array([0, 0])).value == (False, False)
    assert m.release([]).value == ()


def test_a_run_cannot_be_copied_stored_or_read() -> None:
    run = above_threshold(threshold=123456, epsilon=1).start()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NotATheorem):
            copied(run)
    assert str(run._threshold) not in repr(run).replace("threshold=123456", "")
    assert not hasattr(run, "__dict__")


def test_a_run_ends_at_a_fork() -> None:
    run = above_threshold(threshold=10, epsilon=1).start()
    run._process = os.getpid() + 1
    with pytest.raises(NotATheorem):
        run.ask(3)


def test_threads_together_get_no_more_than_c() -> None:
    run = above_threshold(threshold=0, epsilon=1, stop_after=50).start()
    said: list[bool] = []

    def work() -> None:
        for _ in range(100):
            try:
                said.append(run.ask(10**6))
            except NotATheorem:
                return

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sum(said) == 50


def test_the_noise_of_the_threshold_is_drawn_once() -> None:
    run = above_threshold(threshold=0, epsilon="1/100").start()
    before = run._threshold
    for _ in range(20):
        if not run.ended:
            run.ask(-(10**9))
    assert run._threshold == before


@pytest.mark.slow
@pytest.mark.parametrize("stop_after", [1, 2])
def test_the_sampler_has_the_law(stop_after: int) -> None:
    m = above_threshold(threshold=1, epsilon=3, stop_after=stop_after)
    stream = (0, 1, 3)
    law = m.law(stream)
    assert misfit(drawn(m, stream, 40_000), law) < 1
    twins = [
        above_threshold(threshold=1, epsilon=Fraction(30, 7), stop_after=stop_after),
        above_threshold(threshold=2, epsilon=3, stop_after=stop_after),  # > for >=
    ]
    for twin in twins:
        assert misfit(drawn(twin, stream, 15_000), law) > 1


@pytest.mark.slow
def test_a_fresh_threshold_for_each_question_would_be_seen() -> None:
    m = above_threshold(threshold=1, epsilon=1, stop_after=2)
    bits = SystemBits()
    fresh = []
    for _ in range(20_000):
        replies: list[bool] = []
        for answer in (1, 1, 1):
            if sum(replies) < 2:
                replies.append(Run(m, bits).ask(answer))
        fresh.append(tuple(replies))
    assert misfit(fresh, m.law((1, 1, 1))) > 1


def test_the_margin_covers() -> None:
    m = above_threshold(threshold=0, epsilon=2)
    margin = m.margin_at("0.9", questions=2)
    law = middle(m.law((-margin, margin)))
    assert law[False, True] >= 0.9
    with pytest.raises(BadParameter):
        m.margin_at(1, questions=2)
    with pytest.raises(BadParameter):
        m.margin_at("0.9", questions=0)


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 0}, {"epsilon": -1}, {"epsilon": float("nan")}, {"epsilon": 1, "stop_after": 0},
        {"epsilon": 1, "stop_after": 1.5}, {"epsilon": 1, "sensitivity": 0}, {"epsilon": 1, "sensitivity": "1/2"},
        {"epsilon": 1, "threshold": float("inf")}, {"epsilon": 1, "monotone": "no"}, {"epsilon": 1, "stop_after": True},
    ],
)  # fmt: skip
def test_bad_parameters(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        above_threshold(**{"threshold": 1, **given})


@pytest.mark.parametrize("answer", [0.5, float("nan"), "7", None, True, Fraction(1, 2), [1]])
def test_bad_answers_are_refused_before_anything_is_drawn(answer: Any) -> None:
    m = above_threshold(threshold=10**9, epsilon=1)
    run = m.start()
    with pytest.raises(BadData):
        run.ask(answer)
    assert run.yes_left == 1
    receipt = Receipt(m.event, number=1)
    with pytest.raises(BadData):
        m.release([1, answer], receipt)
    assert not receipt.used
    if not isinstance(answer, list):
        with pytest.raises(BadData):
            m.release(answer)


def test_a_threshold_between_whole_numbers_means_the_upper_one() -> None:
    assert above_threshold(threshold="5/2", epsilon=1) == above_threshold(threshold=3, epsilon=1)
    assert above_threshold(threshold="-1/2", epsilon=1).threshold == 0


def test_a_closed_run_is_silent_and_cannot_be_paid_like_a_plain_release() -> None:
    """Approximate zCDP has no theorem for interleaving: a run must be opened, and closing it ends it."""
    spending = Filter(ZCDP(10, "1e-6"))
    m = above_threshold(threshold=100, epsilon="1/2")
    with pytest.raises(NotATheorem, match="open"):
        spending.spend(m.event)
    with spending.open(m.event) as opened:
        run = m.start(opened.receipt)
        run.ask(-(10**6))
        with pytest.raises(NotATheorem, match="still open"):
            spending.spend(ZCDP(1))
    with pytest.raises(NotATheorem, match="was closed"):
        run.ask(-(10**6))
    spending.spend(ZCDP(1))
