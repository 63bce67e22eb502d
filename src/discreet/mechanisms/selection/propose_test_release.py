"""Propose, test, release: a sensitive statistic of data on which it happens to be calm, or no answer at all.

Propose a bound on how far the statistic moves around *these* data. Test, privately, that the data are many steps away
from any data for which the bound is wrong. Release with noise for that bound, or refuse; both are outputs, and both
are paid for (Dwork and Lei 2009).

Guarantee: (ε_test + ε_release, δ)-differentially private, if ``distance`` is what it says: the least number of steps
between neighbours that lead from the data to some data whose local sensitivity exceeds the proposed bound (0 if they
are such data themselves). Proof: propose_test_release.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.answer import Accuracy, Answer, confidence_level
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, integer, measured, positive
from discreet.mechanisms.additive.laplace import Laplace, laplace
from discreet.mechanisms.base.inputs import least_whole, whole
from discreet.mechanisms.base.laplace_law import laplace_below, laplace_from
from discreet.mechanisms.base.mechanism import Mechanism, Priced
from discreet.noise import additive as noise
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Approx, small_probability
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from discreet.privacy.promises.record import show
from discreet.randomness import Bits

Proposal = tuple[int, int]
"""The statistic in cells of the release's grid, and the distance."""


@dataclass(frozen=True, slots=True)
class ProposeTestRelease(Priced[Proposal, int | float | None]):
    """Made by ``propose_test_release(...)``; releases a pair (statistic, distance), as a number or as None."""

    answer: Laplace
    test_scale: Fraction
    threshold: int

    @property
    def epsilon(self) -> Fraction:
        """The exact price of test and release together."""
        return 1 / self.test_scale + self.answer.epsilon

    @property
    def delta(self) -> Fraction:
        """P[Z >= threshold], rounded up: data at distance 0 pass the test with this probability."""
        return laplace_from(self.test_scale, self.threshold).upper

    @property
    def event(self) -> events.Composed:
        """What a release writes into the ledger: the test, the noisy statistic, and the chance of a false pass."""
        test = events.DiscreteLaplace(scale=self.test_scale, sensitivity=1)
        return events.Composed([test, self.answer.event, events.Approx(0, self.delta)])

    @property
    def price(self) -> Approx:
        """The price as a promise."""
        return Approx(self.epsilon, self.delta)

    @property
    def accuracy(self) -> Accuracy:
        """The error bar of a number, when there is one."""
        return self.answer.accuracy

    def story(self) -> str:
        """One line on what was done."""
        return (
            f"answered if the noisy distance (scale {show(self.test_scale)}) was at least {self.threshold}, "
            f"with {self.answer.story()}"
        )

    def read(self, value: Any) -> Proposal:
        """The statistic and the exact distance."""
        if not isinstance(value, tuple) or len(value) != 2:
            raise BadData("the value must be a pair: the statistic, and its distance to instability")
        statistic, distance = value
        exact = self.answer.read(statistic)
        if not isinstance(exact, int):
            raise BadData("the statistic must be one number")
        return exact, max(whole(distance, "the distance"), 0)

    def draw(self, value: Proposal, bits: Bits) -> int | float | None:
        """The noisy statistic, or None. The test is drawn first, and the noise only if it passes."""
        statistic, distance = value
        if distance + noise.laplace(self.test_scale, None, bits) < self.threshold:
            return None
        released: Any = self.answer.draw(statistic, bits)
        return released if isinstance(released, int) else float(released)

    def law(self, value: Proposal) -> dict[Any, tuple[Fraction, Fraction]]:
        """Bounds of the probability of None and of each number."""
        statistic, distance = value
        away = self.threshold - distance
        silent, passed = laplace_below(self.test_scale, away), laplace_from(self.test_scale, away)
        numbers = {x: (passed.lower * p, passed.upper * q) for x, (p, q) in self.answer.law(statistic).items()}
        return {None: (silent.lower, silent.upper), **numbers}

    def answers_from(self, confidence: Number) -> int:
        """Data at least this far from instability get a number with the given confidence.

        >>> propose_test_release(sensitivity=1, epsilon=2, delta="1e-6").answers_from(0.95)
        16
        """
        wanted = confidence_level(confidence)
        return least_whole(lambda d: laplace_from(self.test_scale, self.threshold - d).lower >= wanted)

    def release(self, value: Any, receipt: Receipt | None = None) -> Answer:
        """A number with its error bar, or None, which has none."""
        answer = Mechanism.release(self, value, receipt)
        return answer if answer.value is not None else replace(answer, accuracy=None)


def propose_test_release(
    *,
    sensitivity: Number,
    delta: Number,
    epsilon: Number | None = None,
    test_epsilon: Number | None = None,
    release_epsilon: Number | None = None,
    real: bool | None = None,
) -> ProposeTestRelease:
    """Propose-test-release for a proposed sensitivity; epsilon is shared equally unless both shares are given.

    The threshold is the least T with P[Z >= T] <= delta, about ln(1/δ)/ε_test.

    >>> m = propose_test_release(sensitivity=1, epsilon=2, delta="1e-6")
    >>> m.threshold, m.epsilon, m.delta <= Fraction(1, 10**6)
    (14, Fraction(2, 1), True)
    >>> m.release((42, 0)).value is None, isinstance(m.release((42, 1000)).value, int)
    (True, True)
    """
    if (epsilon is None) != (test_epsilon is not None and release_epsilon is not None) or (
        epsilon is not None and (test_epsilon is not None or release_epsilon is not None)
    ):
        raise BadParameter("epsilon", epsilon, "must be given, or both test_epsilon and release_epsilon in its place")
    half = None if epsilon is None else positive(epsilon, "epsilon") / 2
    test = half if half is not None else positive(test_epsilon or 0, "test_epsilon")
    rest = half if half is not None else positive(release_epsilon or 0, "release_epsilon")
    allowed = small_probability(delta)
    if allowed == 0:
        raise BadParameter("delta", delta, "must be above 0: some data at distance 0 pass the test")
    answer = laplace(sensitivity=sensitivity, epsilon=rest, real=real)
    threshold = least_whole(lambda t: laplace_from(1 / test, t).upper <= allowed, start=1)
    return ProposeTestRelease(answer, 1 / test, threshold)


# --- the distance, by brute force on small domains ------------------------------------------------------------------


def distance_to_instability(
    rows: Sequence[Hashable],
    statistic: Callable[[tuple[Any, ...]], Number],
    *,
    domain: Sequence[Hashable],
    sensitivity: Number,
    neighbours: Neighbours,
    at_most: int,
) -> int:
    """How many steps the rows are from rows around which the statistic moves by more than the sensitivity.

    Guarantee: the exact distance, or ``at_most`` where that is less; so one step moves it by at most one. All rows
    within that many steps are tried, so this is for small domains only. The statistic must be a function of the rows
    alone, not of their order.

    >>> calm = distance_to_instability(
    ...     [0, 0, 0, 0, 0],
    ...     lambda rows: sorted(rows)[2],
    ...     domain=[0, 9],
    ...     sensitivity=1,
    ...     neighbours=Neighbours.CHANGE_ONE,
    ...     at_most=5,
    ... )
    >>> calm  # two changes away the median hangs on one row
    2
    """
    given: object = neighbours
    if not isinstance(given, Neighbours):
        raise BadParameter("neighbours", given, "must be Neighbours.ADD_REMOVE or Neighbours.CHANGE_ONE")
    bound, furthest = positive(sensitivity, "sensitivity"), integer(at_most, "at_most", at_least=0)
    if not all(row in domain for row in rows):
        raise BadData("rows must hold values of the domain")

    def unstable(data: tuple[Any, ...]) -> bool:
        here = _exact(statistic(data))
        return any(abs(_exact(statistic(y)) - here) > bound for y in _next_to(data, domain, neighbours))

    layer, seen = {tuple(rows)}, {tuple(rows)}
    for distance in range(furthest):
        if any(unstable(data) for data in layer):
            return distance
        layer = {y for data in layer for y in _next_to(data, domain, neighbours)} - seen
        seen |= layer
    return furthest


def _next_to(data: tuple[Any, ...], domain: Sequence[Hashable], neighbours: Neighbours) -> Iterator[tuple[Any, ...]]:
    """All neighbours; a row is added at the end, as rows have no order."""
    for i in range(len(data)):
        if neighbours is Neighbours.ADD_REMOVE:
            yield data[:i] + data[i + 1 :]
        else:
            yield from ((*data[:i], value, *data[i + 1 :]) for value in domain if value != data[i])
    if neighbours is Neighbours.ADD_REMOVE:
        yield from ((*data, value) for value in domain)


def _exact(value: Number) -> Fraction:
    try:
        return measured(value)
    except BadParameter:  # its message would hold the value
        raise BadData("the statistic must be a finite number") from None
