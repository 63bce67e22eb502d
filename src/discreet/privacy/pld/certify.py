"""Questions about a workload of pairs, answered by two totals: one of raised laws and one of lowered ones.

Promise: each answer is a pair of floats (low, high) around the truth: the δ(ε) of the product of all pairs, or its
inverse, the larger of the two directions. Width is a matter of effort; truth is not.
Believes: law.py, lower.py, total.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.exact import float_down, float_up
from discreet.privacy.pld.atoms import AtomicPair, pool
from discreet.privacy.pld.invert import epsilon_above, epsilon_below
from discreet.privacy.pld.law import Grid, Law, raised
from discreet.privacy.pld.lower import centred, lowered
from discreet.privacy.pld.pair import Pair
from discreet.privacy.pld.power import misses
from discreet.privacy.pld.search import Sketch, common_lattice
from discreet.privacy.pld.total import Total, total

Work = list[tuple[Pair, int]]

_SPREAD = 16.0  # standard deviations that a window is wide, about
_LONGEST = 1 << 21  # of a window, in steps
_ROUNDS = 4
_NEGLIGIBLE = 1e-7  # of δ: what truncation may cost


@dataclass(frozen=True, slots=True)
class Effort:
    """How narrow an answer should be: absolute plus relative·ε, a relative width for δ, an absolute one for misses."""

    absolute: float = 1e-4
    relative: float = 3e-5
    delta: float = 1e-3
    misses: float = 1e-4


@dataclass(frozen=True, slots=True)
class Sums:
    """The two totals of one direction on one mesh."""

    below: Total
    above: Total


@dataclass(slots=True)
class Direction:
    """One direction of the adjacency: the pairs, all with P on the same side."""

    work: Work
    loose: Work = field(default_factory=list)

    def __post_init__(self) -> None:
        single = [(p, n) for p, n in self.work if isinstance(p, AtomicPair)]
        rest = [(p, n) for p, n in self.work if not isinstance(p, AtomicPair)]
        self.loose = [*pool(single), *rest]

    @property
    def infinite(self) -> tuple[float, float]:
        """Bounds of the mass at infinity of the product."""
        low = -math.expm1(sum(n * math.log1p(-min(p.infinite.low, 1 - 2.0**-53)) for p, n in self.work))
        high = -math.expm1(sum(n * math.log1p(-min(p.infinite.high, 1 - 2.0**-53)) for p, n in self.work))
        return low * (1 - 2.0**-40), high * (1 + 2.0**-40)

    def mesh(self, aim: float, span: float) -> tuple[Work, float, bool]:
        """The pairs to use, a step of about ``aim``, and whether every loss lies on that grid."""
        aim = max(aim, span / _LONGEST)
        common = common_lattice(self.work)
        if common is not None:
            size = float(common)
            exact = all(pair.discrete for pair, _ in self.work)
            if exact and span / size <= _LONGEST:
                return self.work, size, True
            if size >= aim / 8.0:
                return self.work, float(common / math.ceil(size / aim)), False
        aligned = [(n, p.lattice) for p, n in self.loose if p.lattice is not None]
        if aligned:
            lattice = max(aligned, key=lambda item: item[0])[1]
            assert lattice is not None
            if float(lattice) >= aim:
                return self.loose, float(lattice / math.ceil(float(lattice) / aim)), False
        return self.loose, aim, False

    def sums(self, work: Work, step: float, theta: float, tail: float) -> Sums:
        """Both totals on this mesh."""
        below: list[tuple[Law, int]] = []
        above: list[tuple[Law, int]] = []
        for pair, times in work:
            grid = Grid.cover(step, pair.anchor, *pair.reach(tail))
            above.append((raised(pair, grid), times))
            below.append((lowered(pair, centred(pair, grid)), times))
        return Sums(total(below, theta), total(above, theta))


class Workload:
    """A product of pairs, and what may be asked of it."""

    def __init__(self, work: Work, effort: Effort | None = None) -> None:
        self.effort = effort or Effort()
        self.directions = [Direction(work)]
        if any(pair.reverse is not pair for pair, _ in work):
            self.directions.append(Direction([(pair.reverse, times) for pair, times in work]))
        self._times = sum(times for _, times in work)

    # --- questions

    def epsilon(self, delta: Fraction) -> tuple[float, float]:
        """Bounds of the least ε >= 0 with δ(ε) <= delta, 0 < delta < 1."""
        low, high = float_down(delta), float_up(delta)
        if low <= 0.0:
            low = 5e-324

        def ask(direction: Direction, aim: float | None) -> tuple[float, float, float, bool]:
            infinite = direction.infinite
            if infinite[0] > high:
                return math.inf, math.inf, 0.0, True
            room = low - infinite[1]
            if room <= 0.0:
                room = low * 1e-3
            tail = max(_NEGLIGIBLE * room / self._times, 1e-290)
            sketch = Sketch.of(direction.work, tail)
            theta = sketch.tilt_for_delta(room)
            _, mean, spread = sketch.log_delta(theta)
            want = self.effort.absolute + self.effort.relative * max(mean, 0.0)
            return self._on_mesh(
                direction, theta, tail, aim or _first_step(self._times, theta, want), spread,
                lambda sums: (epsilon_below(sums.below, high), epsilon_above(sums.above, low)),
            )  # fmt: skip

        return self._answer(ask, lambda up: self.effort.absolute + self.effort.relative * up)

    def delta(self, epsilon: Fraction) -> tuple[float, float]:
        """Bounds of δ(ε), ε >= 0."""
        low, high = float_down(epsilon), float_up(epsilon)

        def ask(direction: Direction, aim: float | None) -> tuple[float, float, float, bool]:
            tail = 1e-30
            for _ in range(4):
                sketch = Sketch.of(direction.work, tail)
                theta = sketch.tilt_for_epsilon(high)
                k, mean, variance = sketch.moments(theta)
                damp = max(1.0, math.sqrt(2 * math.pi * variance) * theta * (1.0 + theta))
                size = k - theta * max(high, mean) - math.log(damp)
                new = max(1e-290, _NEGLIGIBLE * math.exp(max(size, -640.0)) / self._times)
                if new > tail * 1e-6:
                    break
                tail = new
            tail = new
            want = self.effort.delta / max(theta, 1.0) / 2.0
            return self._on_mesh(
                direction, theta, tail, aim or _first_step(self._times, theta, want), math.sqrt(variance),
                lambda sums: (sums.below.delta_below(high), sums.above.delta_above(low)),
            )  # fmt: skip

        return self._answer(ask, lambda up: self.effort.delta * up)

    def misses(self, alpha: Fraction) -> tuple[float, float]:
        """Bounds of the least rate of misses of a test with this rate of false alarms."""
        low, high, refined = 0.0, 1.0, 1.0
        for _ in range(_ROUNDS):
            below: list[Total] = []
            above: list[Total] = []
            useless = True
            for direction in self.directions:
                goal = max(float_up(alpha), 1e-30)
                tail = max(_NEGLIGIBLE * goal / self._times, 1e-290)
                sketch = Sketch.of(direction.work, tail)
                theta = sketch.tilt_for_false_alarms(goal)
                aim = refined * _first_step(self._times, theta, self.effort.absolute)
                sums, _, finest = self._sums(direction, theta, tail, aim, math.sqrt(sketch.moments(theta)[2]))
                useless = useless and finest
                below.append(sums.below)
                above.append(sums.above)
            low = max(low, misses(below, above, float_up(alpha))[0])
            high = min(high, misses(below, above, float_down(alpha))[1])
            if high - low <= self.effort.misses or useless:
                break
            refined /= min(16.0, max(1.6, 1.15 * math.sqrt((high - low) / self.effort.misses)))
        return low, max(low, high)

    # --- effort

    def _on_mesh(
        self,
        direction: Direction,
        theta: float,
        tail: float,
        aim: float,
        spread: float,
        read: Callable[[Sums], tuple[float, float]],
    ) -> tuple[float, float, float, bool]:
        sums, step, finest = self._sums(direction, theta, tail, aim, spread)
        return *read(sums), step, finest

    def _sums(
        self, direction: Direction, theta: float, tail: float, aim: float, spread: float
    ) -> tuple[Sums, float, bool]:
        """Both totals on a mesh of about ``aim``, its step, and whether a finer one is useless or too long."""
        widest = max(pair.reach(tail)[1] - pair.reach(tail)[0] for pair, _ in direction.work)
        span = max(_SPREAD * spread, min(widest, 4.0 * _SPREAD * spread))
        work, step, exact = direction.mesh(aim, span)
        return direction.sums(work, step, theta, tail), step, exact or span / step > _LONGEST / 4

    def _answer(
        self,
        ask: Callable[[Direction, float | None], tuple[float, float, float, bool]],
        wanted: Callable[[float], float],
    ) -> tuple[float, float]:
        """Ask each direction, on finer meshes until the answer is narrow; a direction that cannot win is left out."""
        best = {i: ask(direction, None) for i, direction in enumerate(self.directions)}
        for _ in range(_ROUNDS):
            low, high = max(a[0] for a in best.values()), max(a[1] for a in best.values())
            width = high - low if high < math.inf else (0.0 if low == math.inf else math.inf)
            goal = wanted(high)
            open_ = [i for i, a in best.items() if a[1] > low and a[1] - a[0] > goal and not a[3]]
            if width <= goal or not open_:
                break
            for i in open_:
                was = best[i]
                ratio = (was[1] - was[0]) / goal
                now = ask(self.directions[i], was[2] / min(16.0, max(1.6, 1.15 * math.sqrt(ratio))))
                best[i] = (max(was[0], now[0]), min(was[1], now[1]), now[2], now[3])
        return max(a[0] for a in best.values()), max(a[1] for a in best.values())


def _first_step(times: int, theta: float, width: float) -> float:
    """Second order: the two sides differ by about times·(θ+1)·step²/8 in ε."""
    return math.sqrt(8.0 * width / (times * (theta + 1.0)))
