"""Groups that nobody listed, counted by units: how many rows they have, by the released sizes of the units.

Keys are named by numbers of units in which a unit counts once in a group and weighs less the more groups it has. If the
rows of a unit lie in groups as everybody's do, a group with a share p of all rows is met by units with n rows with
probability 1 - (1-p)^n: the weighted number of units gives p, and p times all rows is the count. This happens after
the noise. It is a model: the interval reaches from no correction at all to the square of the correction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.query.estimate.estimators import Estimates, Floats
from discreet.query.profile.rescale import Wrapped
from discreet.query.profile.sizes import UnitSizes, same_rank

_SHARES = np.geomspace(1e-9, 0.999, 400)


@dataclass(frozen=True)
class Spread:
    """What a weighted number of units stands for, in rows."""

    units: Floats
    rows: Floats

    @classmethod
    def of(cls, sizes: UnitSizes, groups: UnitSizes | None, most: int, *, rooted: bool) -> Spread:
        """For units that count in ``most`` groups fully; larger units are taken to have more groups."""
        many, each = np.maximum(sizes.counts, 0.0), sizes.typical
        touched = each if groups is None else np.minimum(same_rank(many, groups), each)
        over = np.maximum(touched / most, 1.0)
        weights = many / (np.sqrt(over) if rooted else over)
        met = 1 - (1 - _SHARES[:, None]) ** each[None, :]
        return cls(met @ weights, _SHARES * sizes.rows())

    def rows_of(self, units: Floats) -> Floats:
        """At least the number itself; what is below 0 stays as it is."""
        found = np.exp(np.interp(np.log(np.maximum(units, 1e-9)), np.log(self.units), np.log(self.rows)))
        return np.where(units > 0, np.maximum(found, units), units)

    def expected_error(self, noise: float, rows: float) -> float:
        """How far the interval of a group of so many rows will reach, for this noise of its number of units."""
        many = float(np.exp(np.interp(np.log(rows), np.log(self.rows), np.log(self.units))))
        low, high = self.ends(np.array([many - noise]), np.array([many + noise]), np.array([rows]))
        return max(rows - float(low[0]), float(high[0]) - rows)

    def ends(self, low: Floats, high: Floats, value: Floats) -> tuple[Floats, Floats]:
        """From no correction to its square, for units between these ends."""
        more = self.rows_of(high)
        return np.minimum(low, value), np.maximum(more * more / np.maximum(high, 1.0), value)


@dataclass(frozen=True, slots=True)
class InRows(Wrapped):
    """A weighted number of units of each group, as a number of rows."""

    spread: Spread

    @property
    def holds_cut(self) -> bool:
        """The interval is about all rows."""
        return True

    def value(self, noisy: Estimates) -> Floats:
        """The rows."""
        return np.round(self.spread.rows_of(self.inner.value(noisy)))

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        """From no correction to its square, with the noise on both sides."""
        return self.spread.ends(*self.inner.ends(noisy, miss), self.value(noisy))
