"""Count and sum: one noisy number from exact whole numbers.

Guarantee: a record added or removed moves a sum by at most max(|low|, |high|) of its public range, a changed one by at
most high - low; the exact sum gets noise for that. NaN counts as the public value nearest to 0; records outside the
bounds count as the nearer bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.answer import Accuracy
from discreet.exact import Number, float_up, number, sqrt_down
from discreet.mechanisms.statistics.binning import count_records
from discreet.mechanisms.statistics.budget import Noise, noise_for, read_budget, read_neighbours
from discreet.mechanisms.statistics.noised import Noised
from discreet.mechanisms.statistics.terms import COUNT, Term
from discreet.noise.grid import Grid, public_grid
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import Bits


@dataclass(frozen=True, slots=True)
class Count(Noised[int, int]):
    """Made by ``count(...)``: how many records there are."""

    adds_noise = True
    noise: Noise

    def story(self) -> str:
        """One line on what was done."""
        return f"counted the records, {self.noise.story()}"

    def read(self, value: Any) -> int:
        """How many records there are, whatever they hold."""
        return count_records(value)

    def draw(self, value: int, bits: Bits) -> int:
        """The noisy count."""
        return int(self.noise.draw(value, bits))

    def law(self, value: int) -> dict[Any, tuple[Fraction, Fraction]]:
        """Bounds of the probability of each noisy count."""
        return self.noise.law(value)


def count(*, epsilon: Number | None = None, rho: Number | None = None) -> Count:
    """How many records there are; NaN and missing values count too.

    Guarantee: ε-differentially private, or ρ-zCDP, for one record added or removed. (Where records only change, their
    number is public.)

    >>> m = count(epsilon=1)
    >>> m.event, m.accuracy.error_at(0.95), isinstance(m.release(["a", None]).value, int)
    (DiscreteLaplace(scale=1, sensitivity=1), 3.0, True)
    """
    return Count(noise_for(read_budget(epsilon, rho), COUNT.moves(Neighbours.ADD_REMOVE)))


@dataclass(frozen=True, slots=True)
class BoundedSum(Noised[int, float]):
    """Made by ``bounded_sum(...)``: the sum of records between public bounds, in cells of a public grid."""

    adds_noise = True
    grid: Grid
    noise: Noise
    neighbours: Neighbours

    @property
    def expected_error(self) -> float:
        """E|error| against the exact sum of the records on the grid, which is 2^40 times finer than the noise."""
        return float_up(Fraction(self.noise.expected_error) * self._cell)

    def error_at(self, confidence: Number) -> float:
        """The error bar, against the exact sum of the records on the grid."""
        return float_up(Fraction(self.noise.error_at(confidence)) * self._cell)

    @property
    def accuracy(self) -> Accuracy:
        """The mechanism knows its own accuracy."""
        return self

    @property
    def _cell(self) -> Fraction:
        return Fraction(2) ** self.grid.exponent

    def story(self) -> str:
        """One line on what was done."""
        return (
            f"summed the records, each moved into its bounds, {self.noise.story()} in cells of 2^{self.grid.exponent}"
        )

    def read(self, value: Any) -> int:
        """The exact sum in cells."""
        return self.grid.total(value)

    def draw(self, value: int, bits: Bits) -> float:
        """The noisy sum."""
        return self.grid.value(int(self.noise.draw(value, bits)))

    def law(self, value: int) -> dict[Any, tuple[Fraction, Fraction]]:
        """Bounds of the probability of each noisy sum, in cells."""
        return self.noise.law(value)


def bounded_sum(
    *,
    low: Number,
    high: Number,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> BoundedSum:
    """The sum of the records, each moved into the public bounds; NaN counts as the public value nearest to 0.

    Guarantee: ε-differentially private, or ρ-zCDP. A record moves the sum by max(|low|, |high|), or high - low when it
    only changes.

    >>> m = bounded_sum(low=0, high=100, epsilon=1)
    >>> round(m.error_at(0.95)), m.grid.value(m.read([1.5, 2.25, 1e9, float("nan")]))
    (300, 103.75)
    """
    budget, relation = read_budget(epsilon, rho), read_neighbours(neighbours)
    bottom, top = number(low, "low"), number(high, "high")
    moved = max(abs(bottom), abs(top)) if relation is Neighbours.ADD_REMOVE else top - bottom
    spread = moved / budget.epsilon if isinstance(budget, Pure) else moved / sqrt_down(2 * budget.rho)
    grid = public_grid(bottom, top, scale=spread or Fraction(1))
    return BoundedSum(grid, noise_for(budget, Term("sum", grid.low, grid.high).moves(relation)), relation)
