"""Statistical queries: the average of a bounded function over all rows, with exact noise and an error bar.

Whatever learns from such averages (gradients, cluster means, edges of a weak learner) can be written against this
oracle in a few lines; the model is then private by composition and post-processing.

Guarantee: all answers of an oracle together keep its budget for adding or removing one row. Each answer is the sum of
integers on a public grid plus exact noise, over a noisy number of rows that was paid for once. Laplace noise for a
budget in epsilon alone, Gaussian noise for any other. Proof: sums.md, oracle_noise.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Any, NoReturn

import numpy as np

from discreet.answer import Answer, confidence_level
from discreet.arrays import Floats
from discreet.errors import BadData, BadParameter, NotATheorem, OverBudget
from discreet.exact import Number, float_up, integer, number, positive, significant
from discreet.learning.budget import Budget
from discreet.learning.estimator import WIDEST, frame_columns, numbers
from discreet.learning.oracle_noise import OracleNoise, noise_for
from discreet.learning.sums import on_grid
from discreet.mechanisms.base.mechanism import check_receipt
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.receipt import Receipt
from discreet.privacy.promises.record import show

_BITS = 20
_FAR = 10**300


@dataclass(frozen=True, slots=True)
class MeanAccuracy:
    """How far an average may be off: |(e - m c) / n| for noise e of the sum, c of the count, |m| at most ``half``."""

    noise: OracleNoise
    sum_parameter: float
    count_parameter: float
    half: float
    rows: float
    entries: int
    cell: float

    @property
    def expected_error(self) -> float:
        """At most E|e|/n + half E|c|/n."""
        mean = self.noise.mean_factor * (self.sum_parameter + self.half * self.count_parameter)
        return (mean + self.cell) / self.rows + self.cell

    def error_at(self, confidence: Number) -> float:
        """An error that holds for all entries at once: half of the risk for the sums, half for the count."""
        risk = float(1 - confidence_level(confidence))
        reach = self.noise.reach
        far = self.sum_parameter * reach(risk / 2 / self.entries) + self.half * self.count_parameter * reach(risk / 2)
        return float(np.nextafter((far + self.cell) / self.rows + self.cell, np.inf))


class Oracle:
    """Made by ``oracle(data, budget=..., queries=...)``. It answers until its budget is used up.

    Its budget is there once: it can be neither copied, nor stored, nor used after a fork. Threads may share it.
    """

    def __init__(self, rows: Any, budget: Budget | Pure, queries: int, receipt: Receipt | None = None) -> None:
        self._noise = noise_for(budget)
        self._event = self._noise.whole_event
        self._queries = integer(queries, "queries", at_least=1)
        self._rows = _array(rows)
        if self._rows.ndim < 1 or not len(self._rows):
            raise BadData("the data must be an array with one row for each person")
        if receipt is not None:
            check_receipt(receipt).redeem(self._event)
        self._lock = Lock()
        self._process = os.getpid()
        self._left = self._noise.total
        amount = self._take(self._share(None))
        noisy, self._count_parameter = self._noise.release(np.array([len(self._rows)]), 1, amount)
        self._count = max(float(noisy[0]), 1.0)

    @property
    def rows(self) -> float:
        """About how many rows there are: a released number."""
        return self._count

    @property
    def event(self) -> Event:
        """What the whole oracle writes into a ledger."""
        return self._event

    @property
    def remaining(self) -> int:
        """How many more questions of the usual price it answers."""
        return int(self._left / self._share(None))

    def mean(
        self,
        f: Callable[[Any], Any],
        *,
        range: tuple[Number, Number],
        length: Number | None = None,
        price: int = 1,
        batched: bool = False,
    ) -> Answer:
        """The average of f over all rows; f gives a number, or a vector of fixed size, between two public bounds.

        Vectors are cut to ``length`` around the middle of the range, in L1 for Laplace noise and L2 for Gaussian noise,
        by default the longest possible. ``price`` is how many questions' worth of budget it takes. With ``batched`` f
        gets all rows at once and must treat each by itself: give one value (or vector) for each row that depends on
        that row alone.

        >>> from discreet.privacy.promises.measures import Approx
        >>> asked = oracle(np.arange(1000) % 10, budget=Approx(1, "1e-5"), queries=1)
        >>> answer = asked.mean(lambda x: x, range=(0, 9))
        >>> bool(abs(answer.value - 4.5) <= answer.error_at(1 - 1e-9))
        True
        """
        low, high = (number(end, "range") for end in range)
        if not -_FAR < low < high < _FAR:
            raise BadParameter("range", range, "must be a pair of public bounds, the lower one first, within 1e300")
        middle, half = float((low + high) / 2), float_up((high - low) / 2)
        share = self._share(price)
        self._check(share)
        values = self._values(f, batched)
        width = values.shape[1]
        longest = self._noise.longest(width)
        reach = longest if length is None else min(float(positive(length, "length")) / half, longest)
        radius = max(1, int(reach * (1 << _BITS)) + (length is None))
        with np.errstate(over="ignore"):
            scaled = on_grid((np.nan_to_num(values, nan=middle) - middle) / half, _BITS)
        cells = self._noise.cut(scaled, radius)
        amount = self._take(share)
        noisy, parameter = self._noise.release(cells.astype(np.int64).sum(axis=0), radius, amount)
        unit = half / (1 << _BITS)
        mean = middle + noisy * unit / self._count
        return Answer(
            value=float(mean[0]) if width == 1 else np.clip(mean, float(low), float(high)),
            event=self._noise.event(amount),
            cost=f"{price} of {self._queries} queries of ({self._event})",
            story=(
                f"averaged between {low} and {high}",
                f"{self._noise.word} noise of {self._noise.parameter} {significant(parameter * unit, 4)} on the sum",
            ),
            accuracy=MeanAccuracy(
                self._noise, parameter * unit, self._count_parameter, min(reach, 1.0) * half, self._count, width, unit
            ),
        )

    def _values(self, f: Callable[[Any], Any], batched: bool) -> Floats:
        answers = f(self._rows) if batched else [f(row) for row in self._rows]
        try:
            values = np.asarray(answers, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise BadData("f must give a number, or a vector of one size, for each row") from None
        if values.ndim not in {1, 2} or len(values) != len(self._rows):
            raise BadData("f must give a number, or a vector of one size, for each row")
        if values.ndim == 2 and values.shape[1] > WIDEST:
            raise BadData(f"f must give vectors of at most {WIDEST} numbers")
        return values[:, None] if values.ndim == 1 else values

    def _share(self, price: int | None) -> Fraction:
        """The amount of a question; the count, asked once, takes a question's worth too."""
        return self._noise.total * (1 if price is None else integer(price, "price", at_least=1)) / (self._queries + 1)

    def _take(self, amount: Fraction) -> Fraction:
        with self._lock:
            self._check(amount)
            self._left -= amount
        return amount

    def _check(self, amount: Fraction) -> None:
        if os.getpid() != self._process:
            raise NotATheorem("an oracle belongs to the process that opened it; a fork may have doubled its budget")
        if amount > self._left:
            unit = self._noise.unit
            raise OverBudget(asked=f"{unit} {show(amount)}", left=f"{unit} {show(self._left)}")

    def __reduce__(self) -> NoReturn:
        raise NotATheorem("an oracle can be neither copied nor stored: each copy could answer as many queries")


def _array(rows: Any) -> Any:
    """An array as it is, lists and frames as numbers: numpy would choose a type for all by what one of them is."""
    frame = frame_columns(rows) is not None
    if frame or hasattr(rows, "null_count") or hasattr(rows, "isna"):
        return numbers(rows, axes=2 if frame else 1)
    if hasattr(rows, "dtype") or hasattr(rows, "__array__"):
        return np.asarray(rows)
    try:
        return np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadData("a list of rows must hold numbers; pass an array for anything else") from None


def oracle(data: Any, budget: Budget | Pure, *, queries: int = 100, receipt: Receipt | None = None) -> Oracle:
    """An oracle for bounded averages over the rows of ``data`` that answers ``queries`` questions for ``budget``.

    One row stands for one person. ``Pure(epsilon)`` buys Laplace noise, whose error grows like the number of questions;
    ``Approx``, ``ZCDP`` and ``GDP`` buy Gaussian noise, whose error grows like its root. With a receipt, ``event`` of
    such an oracle must have been paid: ``events.Pure(epsilon)`` or ``event_of(budget)``, about one row more or less.

    >>> from discreet.privacy.promises.measures import Approx
    >>> oracle(np.zeros(100), budget=Approx(1, "1e-5"), queries=5).remaining
    5
    """
    return Oracle(data, budget, queries, receipt)
