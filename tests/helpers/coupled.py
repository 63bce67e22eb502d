"""Two whole releases of one query from neighbouring tables, side by side, so that both release the same noisy numbers.

The first runs with noise as it is drawn, and what it releases at each step is written down. The second is made to
release the same numbers, where its noise is what that takes. So the privacy loss of each step is known exactly, and all
else must be the same on both sides: which steps there are, their noise, and every character of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pytest

from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.additive.laplace import Laplace
from discreet.mechanisms.additive.shared import Additive
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.statistics.residuals import differences, interaction
from discreet.noise.additive import gaussian
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query import key_selection, run
from discreet.query.choose import choosing
from discreet.query.choose.clips import Ascents
from discreet.query.choose.shares import portion, pure_epsilon
from discreet.query.estimate.cuts import FURTHER, Cut, halves_taken
from discreet.query.estimate.quantile_search import Search
from discreet.query.key_selection import Threshold
from discreet.query.plan.schema import Schema, Stored
from discreet.query.plan.work import AnyWork, Exact
from discreet.randomness import Bits, SystemBits
from discreet.synthetic import residuals
from discreet.synthetic.hierarchical import measure

Key: TypeAlias = tuple[Any, ...]
Loss: TypeAlias = Callable[[Any, Any], tuple[str, Fraction]]
"""Of two exact numbers: "pure" with ε, or "rho" with ρ."""
_CLIMB, _STRETCH, _CHOOSE, _VALUES_KEPT = (
    Ascents.__call__,
    Search.stretch,
    Exponential.draw,
    choosing._values_kept,
)


class Differs(AssertionError):
    """Neighbours can be told apart by something that is no noise, or by noise that is too small for its price."""


class Plain:
    """An engine without batches and staging, which are held to the same numbers elsewhere."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.name = inner.name

    def columns(self, source: object) -> dict[str, Stored]:
        columns: dict[str, Stored] = self.inner.columns(source)
        return columns

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        answers: tuple[Exact, ...] = self.inner.run(works, schemas)
        return answers

    def check(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> None:
        if hasattr(self.inner, "check"):
            self.inner.check(works, schemas)


class OneSalt(SystemBits):
    """Which rows of a heavy unit count is the same on both sides."""

    def below(self, n: int) -> int:
        return 7 if n == 1 << 128 else SystemBits.below(self, n)


@dataclass(slots=True)
class Tape:
    """What one side draws, in order: what is public of each step, its exact number, and its released number."""

    quiet: bool = False
    """Whether the first side adds no noise: what leaves are exact numbers, and choices at their ends."""
    script: list[tuple[Any, Any, Any]] | None = None
    """The steps of the first side, which the second repeats."""
    banned: set[tuple[int, Key]] = field(default_factory=set)
    """Groups that are not named at a step, as one side alone has them."""
    steps: list[tuple[Any, Any, Any]] = field(default_factory=list)
    pure: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    """At most the chance that a group of one side alone is named."""
    lonely: set[tuple[int, Key]] = field(default_factory=set)
    _inside: bool = False
    """Whether a step is under way, whose own draws are part of it."""

    def step(self, what: Any, exact: Any, draw: Callable[[], Any], loss: Loss) -> Any:
        """The released number: as drawn on the first side, the same again on the second."""
        if self._inside:
            return draw()
        place = len(self.steps)
        if self.script is None:
            self._inside = True
            released = draw()
            self._inside = False
            self.steps.append((what, exact, released))
            return released
        if place >= len(self.script):
            raise Differs(f"a further step {what}")
        first, other, released = self.script[place]
        if first != what:
            raise Differs(f"step {place} is {first} on one side and {what} on the other")
        self.steps.append((what, exact, released))
        kind, size = loss(other, exact)
        self.pure += size if kind == "pure" else 0
        self.rho += size * size / 2 if kind == "pure" else size
        return released

    def noise(self, noise: Any, size: int | None, bits: Bits) -> Any:
        """Exact noise, as Python's integers."""
        many = 1 if size is None else size
        drawn = np.zeros(many, dtype=object) if self.quiet else np.atleast_1d(np.asarray(noise.noise(size, bits)))
        return int(drawn[0]) if size is None else drawn.astype(object)

    def number(self, what: Any, exact: int, noise: Any, bits: Bits) -> int:
        """A number with additive noise."""
        return int(self.step(what, exact, lambda: exact + self.noise(noise, None, bits), _moved(noise)))

    # --- what is put in the place of what draws ---------------------------------------------------------------------

    def add(self, exact: Any, noise: Any, bits: Bits) -> Any:
        whole = np.asarray(exact).astype(object)
        released = self.step(
            ("add", noise, len(whole)), whole, lambda: whole + self.noise(noise, len(whole), bits), _moved(noise)
        )
        return released.astype(np.int64) if all(abs(int(number)) < 1 << 62 for number in released) else released

    def select(self, rule: Threshold, exact: Exact, bits: Bits) -> Exact:
        place = len(self.steps)
        units = dict(zip(exact.keys, map(int, exact.numbers[rule.cell].tolist()), strict=True))

        def draw() -> dict[Key, int]:
            drawn = self.noise(rule.noise, len(units), bits).tolist()
            return {
                key: rule.least - 1 if (place, key) in self.banned else many + int(more)
                for (key, many), more in zip(units.items(), drawn, strict=True)
            }

        def loss(first: dict[Key, int], second: dict[Key, int]) -> tuple[str, Fraction]:
            both = [key for key in first if key in second]
            self.lonely |= {(place, key) for key in first.keys() ^ second.keys()}
            alone = [[side[key] for key in side if key not in both] for side in (first, second)]
            self.delta += max(sum((_chance(rule, many) for many in side), Fraction(0)) for side in alone)
            return _moved(rule.noise)([first[key] for key in both], [second[key] for key in both])

        released = self.step(("select", rule), units, draw, loss)
        noisy = [released.get(key, rule.least - 1) for key in exact.keys]
        named = np.array([i for i, many in enumerate(noisy) if many >= rule.least], dtype=np.intp)
        kept = key_selection._rows(exact, named)
        numbers = np.array([noisy[i] for i in named.tolist()], dtype=np.int64)
        return Exact(kept.keys, tuple(numbers if i == rule.cell else n for i, n in enumerate(kept.numbers)))

    def climb(self, ascents: Ascents, longer: Sequence[Sequence[int]], bits: Bits) -> tuple[int, ...]:
        together = ascents.neighbours is Neighbours.ADD_REMOVE

        def loss(first: tuple[tuple[int, ...], ...], second: tuple[tuple[int, ...], ...]) -> tuple[str, Fraction]:
            pairs = zip(first, second, strict=True)
            of_each = [{b - a for a, b in zip(*pair, strict=True)} for pair in pairs]
            for moves in [set[int]().union(*of_each)] if together else of_each:
                if not (moves <= {0, 1} or moves <= {0, -1}):
                    raise Differs(f"numbers of longer units move by {moves}")
            return "pure", ascents.epsilon if any(moves - {0} for moves in of_each) else Fraction(0)

        counts = tuple(map(tuple, longer))
        ends = self.step(("ascents", ascents), counts, lambda: _CLIMB(ascents, longer, bits), loss)
        return tuple(map(int, ends))

    def units(self, everyone: int, epsilon: Fraction, bits: Bits) -> int:
        return self.number(("units", epsilon), everyone, Laplace(scale=1 / epsilon, moves=1), bits)

    def cut(self, longer: Sequence[int], edges: Sequence[int], step: int, epsilon: Fraction, bits: Bits) -> Cut | None:
        if step + FURTHER >= len(edges):
            return None
        moves = 2 * (edges[step + FURTHER] - edges[step])
        noise = Laplace(scale=moves / epsilon, moves=moves)
        halves = self.number(("cut", step, epsilon), halves_taken(longer, edges, step), noise, bits)
        return Cut(halves / 2, float(noise.scale) / 2, edges[step + FURTHER])

    def values_kept(self, plan: Any, place: int, most: int, compute: Any, bits: Bits) -> dict[Any, int]:
        distinct, sums = plan.parts[place].distinct, list[int]()

        def computed(works: Any) -> Any:
            exact = compute(works)
            sums.extend(sum(int(number) for number in one.numbers[0]) for one in exact)
            return exact

        self._inside, kept = True, None
        kept = _VALUES_KEPT(plan, place, most, computed, bits)
        self._inside = False
        gains = [many - few for few, many in zip(sums[::2], sums[1::2], strict=True)]
        epsilon = pure_epsilon(portion(plan.allowance, plan.shares[place].distinct))
        noise = Laplace(scale=(most + 1) * len(distinct) / epsilon, moves=most + 1)
        chosen = [kept[measure_of] for measure_of in distinct]
        released = self.step(("distinct", most, epsilon), gains, lambda: chosen, _moved(noise))
        return dict(zip(distinct, released, strict=True))

    def search(self, search: Search, counts: Any, bits: Bits) -> tuple[int, int]:
        rooted = isinstance(search.choice, Exponential)

        def loss(first: Any, second: Any) -> tuple[str, Fraction]:
            size = Fraction(0)
            for shift in (-search.shift, search.shift):
                pairs = zip(search.scores(first, shift), search.scores(second, shift), strict=True)
                moved = search.choice.rate * max((abs(int(a) - int(b)) for a, b in pairs), default=0)
                size += moved * moved / 2 if rooted else 2 * moved
            return "rho" if rooted else "pure", size

        first, last = self.step(("search", search), np.array(counts), lambda: _STRETCH(search, counts, bits), loss)
        return first, last

    def choose(self, mechanism: Exponential, scores: Any, bits: Bits) -> int:
        def loss(first: Any, second: Any) -> tuple[str, Fraction]:
            pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
            moved = mechanism.rate * max((abs(Fraction(str(a)) - Fraction(str(b))) for a, b in pairs), default=0)
            return "rho", moved * moved / 2

        return int(self.step(("choice", mechanism), tuple(scores), lambda: _CHOOSE(mechanism, scores, bits), loss))

    def draw(self, mechanism: Any, value: Any, bits: Bits) -> Any:
        whole = np.atleast_1d(np.asarray(value)).astype(object)
        released = self.add(whole, mechanism, bits)
        return int(released[0]) if np.ndim(value) == 0 else released

    def differences(self, tables: Any, sigma_squared: Fraction, bits: Bits, beside: int = 0) -> list[Any]:
        exact = [np.array(table) for table in tables]

        def draw() -> list[Any]:
            drawn = [gaussian(sigma_squared, table.size, bits).reshape(table.shape) for table in exact]
            return [
                differences(table + (0 if self.quiet else own), beside) for table, own in zip(exact, drawn, strict=True)
            ]

        def loss(first: list[Any], second: list[Any]) -> tuple[str, Fraction]:
            moved = sum((_squared(a - b, beside) for a, b in zip(first, second, strict=True)), Fraction(0))
            return "rho", moved / (2 * sigma_squared)

        shapes = tuple(table.shape for table in exact)
        released: list[Any] = self.step(("differences", sigma_squared, shapes, beside), exact, draw, loss)
        return released


def _moved(noise: Any) -> Loss:
    """What additive noise loses when the exact numbers move."""

    def loss(first: Any, second: Any) -> tuple[str, Fraction]:
        pairs = zip(np.atleast_1d(first).tolist(), np.atleast_1d(second).tolist(), strict=True)
        moves = [abs(int(a) - int(b)) for a, b in pairs]
        if isinstance(noise, Gaussian):
            return "rho", Fraction(sum(move * move for move in moves)) / (2 * noise.sigma_squared)
        return "pure", Fraction(sum(moves)) / noise.scale

    return loss


def _squared(moved: Any, beside: int) -> Fraction:
    """The squared length of the interaction of a table; of a single number, its square."""
    if moved.ndim == beside:
        return Fraction(sum(int(number) ** 2 for number in moved.ravel()))
    return Fraction(float((interaction(differences(moved, beside), beside) ** 2).sum()))


def _chance(rule: Threshold, weight: int) -> Fraction:
    """At most the chance that a group of this weight is named."""
    gap = rule.least - weight - 1
    return Fraction(1) if gap < 0 else rule.noise.tail_up(gap) / 2


def _method(function: Callable[[Any, Any, Bits], Any]) -> Callable[[Any, Any, Bits], Any]:
    """The function as a method of its first argument: a bound one would not get that."""

    def method(self: Any, value: Any, bits: Bits) -> Any:
        return function(self, value, bits)

    return method


def patch_draws(patch: pytest.MonkeyPatch, tape: Tape) -> None:
    """From here on everything that a query or a table of counts draws goes over the tape."""
    patch.setattr(run, "add", tape.add)
    patch.setattr(run, "SystemBits", OneSalt)
    patch.setattr(choosing, "noisy_units", tape.units)
    patch.setattr(choosing, "noisy_cut", tape.cut)
    patch.setattr(choosing, "_values_kept", tape.values_kept)
    patch.setattr(residuals, "noisy_differences", tape.differences)
    patch.setattr(measure, "noisy_differences", tape.differences)
    patch.setattr(Threshold, "of", _method(tape.select))
    patch.setattr(Ascents, "__call__", _method(tape.climb))
    patch.setattr(Search, "stretch", _method(tape.search))
    patch.setattr(Additive, "draw", _method(tape.draw))
    patch.setattr(Exponential, "draw", _method(tape.choose))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two releases that gave the same, and what it took."""

    end: Any
    pure: Fraction
    rho: Fraction
    delta: Fraction
    gaussian: bool
    """Whether there was Gaussian noise: then ``pure`` is not all that was lost."""
    steps: int


def side_by_side(ask: Callable[[int], Any], quiet: bool = False) -> Pair:
    """``ask(0)`` and ``ask(1)`` release from two neighbours, and return all that a person sees as one value."""
    banned: set[tuple[int, Key]] = set()
    for _ in range(20):
        first, ends = Tape(quiet=quiet, banned=banned), list[Any]()
        second = Tape(quiet=quiet, banned=banned, script=first.steps)
        for side, tape in enumerate((first, second)):
            with pytest.MonkeyPatch.context() as patch:
                patch_draws(patch, tape)
                ends.append(ask(side))
        if second.lonely - banned:  # once more, with none of them named
            banned |= second.lonely
            continue
        if len(first.steps) != len(second.steps):
            raise Differs(f"{len(first.steps)} steps on one side, {len(second.steps)} on the other")
        if ends[0] != ends[1]:
            raise Differs(f"what is shown differs:\n{ends[0]}\n{ends[1]}")
        kinds = [getattr(what[1], "noise", what[1]) for what, _, _ in first.steps]
        rooted = any(isinstance(kind, Gaussian) for kind in kinds)
        return Pair(ends[0], second.pure, second.rho, second.delta, rooted, len(first.steps))
    raise AssertionError("groups of one side alone do not come to an end")
