"""Questions about a workload of pairs, answered by two totals: one of raised laws and one of lowered ones.

Promise: each answer is a pair of floats (low, high) around the truth: the δ(ε) of the product of all pairs, or its
inverse, the larger of the two directions. Width is a matter of effort; truth is not.
Believes: law.py, lower.py, total.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from discreet.errors import BadParameter, NoPrice
from discreet.exact import float_down, float_up
from discreet.privacy.pld.atoms import listed, pool
from discreet.privacy.pld.curve import Curve
from discreet.privacy.pld.invert import epsilon_above, epsilon_below
from discreet.privacy.pld.law import Grid, Law, raised
from discreet.privacy.pld.listed_atoms import ListedTotal
from discreet.privacy.pld.lower import centred, lowered
from discreet.privacy.pld.pair import Pair
from discreet.privacy.pld.power import misses
from discreet.privacy.pld.search import Sketch, common_lattice
from discreet.privacy.pld.total import total

Work = list[tuple[Pair, int]]

_SPREAD = 16.0  # standard deviations that a window is wide, about
_LONGEST = 1 << 21  # of a window, in steps
_MOST_WORK = 1 << 23  # steps of all windows together
_COARSEST = 16.0
_ROUNDS = 4
_NEGLIGIBLE = 1e-7  # of δ: what truncation may cost


@dataclass(frozen=True, slots=True)
class Effort:
    """How narrow an answer should be: absolute plus relative·ε, a relative width for δ, an absolute one for misses."""

    absolute: float = 3e-4
    relative: float = 3e-5
    delta: float = 1e-3
    misses: float = 1e-4

    def __post_init__(self) -> None:
        for name in ("absolute", "relative", "delta", "misses"):
            value = getattr(self, name)
            if not 0.0 < value < math.inf:
                raise BadParameter(name, value, "must be above 0 and finite")


@dataclass(frozen=True, slots=True)
class Plan:
    """Where and how finely to look: the tilt, the mass that may be cut off a tail, the tilted sum's spread, the step.

    ``centre`` is where the tilt puts the sum.
    """

    theta: float
    tail: float
    spread: float
    step: float
    centre: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What one direction said on one mesh; ``finest`` if a finer mesh would be useless or too long."""

    low: float
    high: float
    step: float = 0.0
    finest: bool = True

    def narrowed(self, later: Answer) -> Answer:
        """What this and a later answer say together, about the later mesh."""
        return Answer(max(self.low, later.low), min(self.high, later.high), later.step, later.finest)


@dataclass(frozen=True, slots=True)
class Sums:
    """The two totals of one direction on one mesh."""

    below: Curve
    above: Curve


@dataclass(slots=True)
class Direction:
    """One direction of the adjacency: the pairs, all with P on the same side."""

    work: Work
    loose: Work = field(default_factory=list)
    list: ListedTotal | None = None

    def __post_init__(self) -> None:
        pooled = pool([(listed(p), n) for p, n in self.work if p.discrete])
        self.loose = [*pooled, *((p, n) for p, n in self.work if not p.discrete)]
        if len(self.loose) == len(pooled) == 1 and pooled[0][1] == 1:
            self.list = ListedTotal(pooled[0][0])

    @property
    def infinite(self) -> tuple[float, float]:
        """Bounds of the mass at infinity of the product."""
        low = -math.expm1(sum(n * math.log1p(-min(p.infinite.low, 1 - 2.0**-53)) for p, n in self.work))
        high = -math.expm1(sum(n * math.log1p(-min(p.infinite.high, 1 - 2.0**-53)) for p, n in self.work))
        return low * (1 - 2.0**-40), high * (1 + 2.0**-40)

    @property
    def top(self) -> Fraction | float:
        """An upper bound of the largest finite loss of the product."""
        return sum((n * p.top[1] for p, n in self.work), Fraction(0))

    def sums(self, plan: Plan) -> tuple[Sums, float, bool]:
        """Both totals on a mesh of about the step planned; its step; and whether a finer one is useless or too long."""
        if self.list is not None:
            return Sums(self.list, self.list), 0.0, True
        widest = max(high - low for low, high in (pair.reach(plan.tail) for pair, _ in self.work))
        span = max(_SPREAD * plan.spread, min(widest, 4.0 * _SPREAD * plan.spread))
        if widest > _LONGEST * _COARSEST:
            raise NoPrice("losses of this size are beyond this accountant: such noise gives no protection")
        work, step, exact = self._mesh(min(max(plan.step, widest / _LONGEST), _COARSEST), span)
        below: list[tuple[Law, int]] = []
        above: list[tuple[Law, int]] = []
        for pair, times in work:
            grid = Grid.cover(step, pair.anchor, *pair.reach(plan.tail))
            moved = centred(pair, grid)
            above.append((raised(pair, _around(moved, grid)), times))
            below.append((lowered(pair, moved), times))
        sums = Sums(total(below, plan.theta), total(above, plan.theta))
        return sums, step, exact or max(span, widest) / step > _LONGEST / 4 or len(work) * span / step > _MOST_WORK

    def _mesh(self, aim: float, span: float) -> tuple[Work, float, bool]:
        """The pairs to use, a step of about ``aim``, and whether every loss lies on that grid."""
        aim = min(max(aim, span / _LONGEST), _COARSEST)
        common = common_lattice(self.work)
        if common is not None:
            size = float(common)
            exact = all(pair.discrete for pair, _ in self.work)
            if exact and span / size <= _LONGEST:
                return self.work, size, True
            if size >= aim / 8.0:
                return self.work, float(common / math.ceil(size / aim)), False
        aligned = [(n, p.lattice) for p, n in self.loose if p.lattice is not None]
        if aligned:  # hold at least the commonest atoms
            _, lattice = max(aligned, key=lambda item: item[0])
            if float(lattice) >= aim:
                return self.loose, float(lattice / math.ceil(float(lattice) / aim)), False
        return self.loose, aim, False


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
        low, high = max(float_down(delta), 5e-324), float_up(delta)
        plans: dict[int, Plan] = {}

        def ask(direction: Direction, step: float | None) -> Answer:
            least, most = direction.infinite
            if least > high:
                return Answer(math.inf, math.inf)
            room = low - most if low > most else 1e-3 * low
            key = id(direction)
            if key not in plans:
                plans[key] = self._plan(direction, self._tail(room), lambda sketch: sketch.tilt_for_delta(room))
            answer = on(direction, replace(plans[key], step=step or plans[key].step))
            if step is None and 0.0 < 2.0 * answer.high < plans[key].centre:
                # too steep: one large loss makes δ, where a tilt is chosen as if a sum of many small ones did
                plans[key] = self._plan(
                    direction, self._tail(room), lambda sketch: sketch.tilt_for_epsilon(answer.high)
                )
                answer = answer.narrowed(on(direction, plans[key]))
            return answer

        def on(direction: Direction, plan: Plan) -> Answer:
            sums, used, finest = direction.sums(plan)
            return Answer(epsilon_below(sums.below, high), epsilon_above(sums.above, low), used, finest)

        return self._answer(ask, lambda up: self.effort.absolute + self.effort.relative * up)

    def delta(self, epsilon: Fraction) -> tuple[float, float]:
        """Bounds of δ(ε), ε >= 0."""
        low, high = float_down(epsilon), float_up(epsilon)
        plans: dict[int, Plan] = {}
        seen = 0.0  # what some direction needs at least: another one that needs far less may be cut short

        def ask(direction: Direction, step: float | None) -> Answer:
            nonlocal seen
            if epsilon >= direction.top:
                return Answer(*direction.infinite)
            key = id(direction)
            if key not in plans:
                tail = max(self._tail_for(direction, high), self._tail(1e-6 * seen))
                plans[key] = self._plan(
                    direction, tail, lambda sketch: sketch.tilt_for_epsilon(high), at=high, seen=seen
                )
            plan = replace(plans[key], step=step or plans[key].step)
            sums, used, finest = direction.sums(plan)
            answer = Answer(sums.below.delta_below(high), sums.above.delta_above(low), used, finest)
            seen = max(seen, answer.low)
            return answer

        return self._answer(ask, lambda up: self.effort.delta * up)

    def misses(self, alpha: Fraction) -> tuple[float, float]:
        """Bounds of the least rate of misses of a test with this rate of false alarms, 0 < alpha < 1."""
        low, high = float_down(alpha), float_up(alpha)
        goal = max(high, 1e-30)
        answer = Answer(0.0, 1.0)
        tail = self._tail(goal)
        plans = [self._plan(d, tail, lambda sketch: sketch.tilt_for_false_alarms(goal)) for d in self.directions]
        for _ in range(_ROUNDS):
            below: list[Curve] = []
            above: list[Curve] = []
            useless = True
            for direction, plan in zip(self.directions, plans, strict=True):
                sums, _, finest = direction.sums(plan)
                useless = useless and finest
                below.append(sums.below)
                above.append(sums.above)
            answer = Answer(
                max(answer.low, misses(below, above, high)[0]), min(answer.high, misses(below, above, low)[1])
            )
            if answer.high - answer.low <= self.effort.misses or useless:
                break
            finer = _finer((answer.high - answer.low) / self.effort.misses)
            plans = [replace(plan, step=plan.step / finer) for plan in plans]
        return answer.low, max(answer.low, answer.high)

    # --- effort

    def _tail(self, size: float) -> float:
        """What may be cut off each loss when δ is of this size."""
        return max(_NEGLIGIBLE * size / self._times, 1e-290)

    def _tail_for(self, direction: Direction, epsilon: float) -> float:
        """The same, for the δ that belongs to this ε, which depends on how far the sketch reaches."""
        tail = 1e-30
        for _ in range(4):
            sketch = Sketch.of(direction.work, tail)
            now = self._tail(math.exp(max(-640.0, sketch.log_delta_at(sketch.tilt_for_epsilon(epsilon), epsilon))))
            if now > 1e-6 * tail:
                return now
            tail = now
        return tail

    def _plan(
        self,
        direction: Direction,
        tail: float,
        tilt: Callable[[Sketch], float],
        *,
        at: float | None = None,
        seen: float = 0.0,
    ) -> Plan:
        """Where to look; the step is a first guess.

        For the δ at an ε, a direction that seems to need far less than was ``seen`` in another is only shown to do so.
        """
        sketch = Sketch.of(direction.work, tail)
        theta = tilt(sketch)
        _, mean, variance = sketch.moments(theta)
        width = self.effort.absolute + self.effort.relative * max(mean, 0.0)
        if at is not None:
            spare = math.log(seen) - sketch.log_delta_at(theta, at) if seen > 0.0 else 0.0
            width = 0.5 * max(self.effort.delta, 0.5 * spare - 1.0) / max(theta, 1.0)
        return Plan(theta, tail, math.sqrt(variance), _first_step(self._times, theta, width), mean)

    def _answer(
        self, ask: Callable[[Direction, float | None], Answer], wanted: Callable[[float], float]
    ) -> tuple[float, float]:
        """Ask each direction, on finer meshes until the answer is narrow; a direction that cannot win is left out."""
        best = [ask(direction, None) for direction in self.directions]
        for _ in range(_ROUNDS):
            low, high = max(a.low for a in best), max(a.high for a in best)
            goal = wanted(high)
            wide = [i for i, a in enumerate(best) if a.high > low and a.high - a.low > goal and not a.finest]
            if high - low <= goal or not wide:
                break
            for i in wide:
                was = best[i]
                now = ask(self.directions[i], was.step / _finer((was.high - was.low) / goal))
                best[i] = was.narrowed(now)
        return max(a.low for a in best), max(a.high for a in best)


def _around(moved: Grid, grid: Grid) -> Grid:
    """A moved grid that reaches as far as it did, at both ends.

    For a law that is raised: what lies above its grid has infinite loss, and what lies below is lifted to its first
    point, which is half of a heap when that point is the middle of one.
    """
    if moved.origin > grid.origin:
        return replace(moved, first=moved.first - 1, count=moved.count + 1)
    return replace(moved, count=moved.count + 1) if moved.origin < grid.origin else moved


def _first_step(times: int, theta: float, width: float) -> float:
    """Second order: the two sides differ by about times·(θ+1)·step²/6 in ε."""
    return math.sqrt(6.0 * width / (times * (theta + 1.0)))


def _finer(ratio: float) -> float:
    """By how much to divide a step when the answer is this many times too wide."""
    return min(16.0, max(1.6, 1.15 * math.sqrt(ratio)))
