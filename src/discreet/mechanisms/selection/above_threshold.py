"""Above threshold: which of many questions have a large answer? The sparse vector technique in its one sound form.

Guarantee: if neighbours move each answer by at most ``sensitivity``, a whole run is ε-differentially private, however
many questions are asked and whatever they are made from earlier replies. It says yes at most ``stop_after`` times, and
then ends. It never says an answer's value, noisy or not: whoever wants it pays for it. Proof: above_threshold.md.

Noise is drawn once for the threshold and never refreshed, and afresh for every question (Lyu, Su and Li 2017, algorithm
1). For monotone answers, all of which move the same way between two neighbours, half the noise on questions is enough.
That is said of a unit that is added or removed: the event of such a run is stated for ADD_REMOVE.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from threading import Lock
from typing import Any, NoReturn

import numpy as np

from discreet.answer import confidence_level
from discreet.errors import BadData, NotATheorem
from discreet.exact import Number, integer, number, positive
from discreet.mechanisms.base.inputs import least_whole, whole
from discreet.mechanisms.base.laplace_law import laplace_at, laplace_below, laplace_from
from discreet.mechanisms.base.mechanism import Priced
from discreet.mechanisms.selection.shared import check_flag, relation_of, ways
from discreet.noise import additive as noise
from discreet.privacy.numerics.interval import ZERO, Interval
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.receipt import Receipt
from discreet.privacy.promises.record import show
from discreet.randomness import Bits, SystemBits

_NEGLIGIBLE = Fraction(1, 1 << 160)
_FINE = 1000

Replies = tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class AboveThreshold(Priced[tuple[int, ...], Replies]):
    """Made by ``above_threshold(...)``; ``start`` opens a run, ``release`` answers a list of questions at once."""

    lists_all_outputs = True
    threshold: int
    sensitivity: int
    threshold_scale: Fraction
    question_scale: Fraction
    stop_after: int = 1
    monotone: bool = False

    @property
    def epsilon(self) -> Fraction:
        """The exact price of a whole run: one move of the threshold, and stop_after positive replies."""
        moves = ways(self.monotone) * self.stop_after
        return self.sensitivity / self.threshold_scale + moves * self.sensitivity / self.question_scale

    @property
    def price(self) -> Pure:
        """The price as a promise."""
        return Pure(self.epsilon)

    @property
    def event(self) -> events.AboveThreshold:
        """What a run writes into the ledger."""
        return events.AboveThreshold(self.epsilon).about(relation_of(self.monotone))

    def story(self) -> str:
        """One line on what was done."""
        return (
            f"is it at least {self.threshold}? until {self.stop_after} yes; discrete Laplace noise of scale "
            f"{show(self.threshold_scale)} on the threshold and {show(self.question_scale)} on each query"
        )

    def start(self, receipt: Receipt | None = None) -> Run:
        """Pay, draw the threshold's noise, and open a run."""
        if receipt is not None:
            receipt.redeem(self.event)
        return Run(self, SystemBits(), receipt)

    def read(self, value: Any) -> tuple[int, ...]:
        """The exact answers of all questions, in order."""
        answers = np.asarray(value).tolist() if hasattr(value, "__array__") else value
        if not isinstance(answers, Sequence) or isinstance(answers, (str, bytes)):
            raise BadData("the answers must be a list of integers")
        return tuple(whole(answer, "an answer") for answer in answers)

    def draw(self, value: tuple[int, ...], bits: Bits) -> Replies:
        """The replies to a list of questions, up to the last yes that is allowed."""
        run = Run(self, bits)
        replies = []
        for answer in value:
            if run.ended:
                break
            replies.append(run.ask(answer))
        return tuple(replies)

    def law(self, value: tuple[int, ...]) -> dict[Replies, tuple[Fraction, Fraction]]:
        """Bounds of the probability of each list of replies: given the threshold's noise, replies are independent."""
        reach = least_whole(lambda r: 2 * laplace_from(self.threshold_scale, r + 1).upper <= _NEGLIGIBLE)
        rest = 2 * laplace_from(self.threshold_scale, reach + 1).upper
        total: dict[Replies, Interval] = {}
        for z in range(-reach, reach + 1):
            for replies, chance in self._given(value, laplace_at(self.threshold_scale, z), z):
                total[replies] = total.get(replies, ZERO) + chance
        return {replies: (chance.lower, chance.upper + rest) for replies, chance in total.items()}

    def _given(self, value: tuple[int, ...], weight: Interval, z: int) -> list[tuple[Replies, Interval]]:
        """All lists of replies and their weights, when the threshold's noise is z."""
        open_paths: list[tuple[Replies, Interval]] = [((), weight)]
        done: list[tuple[Replies, Interval]] = []
        for answer in value:
            margin = self.threshold + z - answer
            yes, no = laplace_from(self.question_scale, margin), laplace_below(self.question_scale, margin)
            paths = [((*r, reply), w * p) for r, w in open_paths for reply, p in ((True, yes), (False, no))]
            done += [path for path in paths if sum(path[0]) == self.stop_after]
            open_paths = [path for path in paths if sum(path[0]) < self.stop_after]
        return done + open_paths

    def margin_at(self, confidence: Number, questions: int) -> int:
        """With this confidence no reply of a run is wrong about an answer at least this far from the threshold.

        If the threshold's noise is below a in size and that of all ``questions`` below b, a reply is right about all
        answers that are a + b - 1 away. Each of the two may fail with half of what the confidence leaves.

        >>> above_threshold(threshold=100, epsilon=1).margin_at(0.95, questions=10)
        29
        """
        half = (1 - confidence_level(confidence)) / 4
        count = integer(questions, "questions", at_least=1)
        threshold = least_whole(lambda a: laplace_from(self.threshold_scale, a).upper <= half, start=1)
        question = least_whole(lambda b: count * laplace_from(self.question_scale, b).upper <= half, start=1)
        return threshold + question - 1


class Run:
    """An open run: ``ask`` says whether an exact answer is at least the threshold, about. Made by ``start``.

    It holds the threshold's secret noise, so it can be neither copied, nor stored, nor used after a fork.

    >>> run = above_threshold(threshold=1000, epsilon=1, stop_after=1).start()
    >>> run.ask(-9000), run.ask(9000), run.ended
    (False, True, True)
    >>> run.ask(0)
    Traceback (most recent call last):
        ...
    discreet.errors.NotATheorem: this run has said yes 1 times, as many as were charged for; start another run
    """

    __slots__ = ("_bits", "_left", "_lock", "_mechanism", "_process", "_receipt", "_threshold")

    def __init__(self, mechanism: AboveThreshold, bits: Bits, receipt: Receipt | None = None) -> None:
        self._receipt = receipt
        self._mechanism = mechanism
        self._bits = bits
        self._left = mechanism.stop_after
        self._lock = Lock()
        self._process = os.getpid()
        self._threshold = mechanism.threshold + noise.laplace(mechanism.threshold_scale, None, bits)

    @property
    def mechanism(self) -> AboveThreshold:
        """What runs."""
        return self._mechanism

    @property
    def yes_left(self) -> int:
        """How many more times it may say yes."""
        return self._left

    @property
    def ended(self) -> bool:
        """Whether it has said yes as often as was paid for."""
        return self._left == 0

    def ask(self, answer: int | np.integer[Any]) -> bool:
        """Whether a question's exact answer is at least the threshold, both with noise."""
        exact = whole(answer, "an answer")
        with self._lock:
            if os.getpid() != self._process:
                raise NotATheorem("a run belongs to the process that started it; start another run here")
            if self._receipt is not None and self._receipt.ended:
                raise NotATheorem(
                    "this run was closed, and something else may have been asked since; start another run"
                )
            if self._left == 0:
                raise NotATheorem(
                    f"this run has said yes {self._mechanism.stop_after} times, as many as were charged for; "
                    "start another run"
                )
            reply = exact + noise.laplace(self._mechanism.question_scale, None, self._bits) >= self._threshold
            self._left -= reply
            return reply

    def __reduce__(self) -> NoReturn:
        raise NotATheorem("a run can be neither copied nor stored: two copies would answer twice for one payment")

    def __repr__(self) -> str:
        return f"Run({self._mechanism}, yes_left={self._left})"


def above_threshold(
    *, threshold: Number, epsilon: Number, sensitivity: int = 1, stop_after: int = 1, monotone: bool = False
) -> AboveThreshold:
    """Above threshold on whole answers; a threshold between two whole numbers means the upper one.

    The budget is split in the ratio 1 : (2 c)^(2/3) between threshold and questions (c^(2/3) if monotone), the best
    ratio for the error (Lyu, Su and Li 2017), rounded to a thousandth; the two shares add up to epsilon.

    >>> m = above_threshold(threshold=100, epsilon=1, stop_after=4)
    >>> m.epsilon, m.threshold_scale, m.question_scale
    (Fraction(1, 1), Fraction(5, 1), Fraction(10, 1))
    """
    price = positive(epsilon, "epsilon")
    moved = integer(sensitivity, "sensitivity", at_least=1)
    positives = integer(stop_after, "stop_after", at_least=1)
    moves = ways(check_flag(monotone, "monotone")) * positives
    share = price / (1 + _two_thirds_power(moves))
    return AboveThreshold(
        threshold=ceil(number(threshold, "threshold")),
        sensitivity=moved,
        threshold_scale=moved / share,
        question_scale=moves * moved / (price - share),
        stop_after=positives,
        monotone=monotone,
    )


def _two_thirds_power(n: int) -> Fraction:
    """n^(2/3), to a thousandth below: the largest r with r^3 <= n^2 on that grid."""
    return Fraction(least_whole(lambda r: (r + 1) ** 3 > n * n * _FINE**3), _FINE)
