"""The pairs with finitely many losses: randomized response, black boxes, discrete noise; and products of them.

Promise: masses within the slack, losses within PLACE; nothing that matters is left out of the list.
Believes: beliefs.py; events for which pair an event has.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from discreet.exact import float_down, float_up, log_down, log_up
from discreet.privacy.pld.beliefs import PLACE, ROUND, Array
from discreet.privacy.pld.pair import Atoms, Mass, Pair, as_float
from discreet.privacy.promises.events import TradeOff

_NONE = Mass()


class AtomicPair(Pair):
    """A list of losses, mass at +∞ for P and at -∞ for Q; always symmetric."""

    __slots__ = ("_anchor", "_atoms", "_infinite", "_lattice", "_void", "highest")

    def __init__(
        self,
        atoms: Atoms,
        highest: Fraction | float,
        infinite: Mass = _NONE,
        void: Mass = _NONE,
        *,
        anchor: float = 0.0,
        lattice: Fraction | None = None,
    ) -> None:
        self.highest = highest
        self._atoms = atoms
        self._infinite, self._void = infinite, void
        self._anchor, self._lattice = anchor, lattice

    @property
    def atoms(self) -> Atoms:
        """The list."""
        return self._atoms

    @property
    def infinite(self) -> Mass:
        """Mass of P where Q has none."""
        return self._infinite

    @property
    def void(self) -> Mass:
        """Mass of Q where P has none."""
        return self._void

    @property
    def anchor(self) -> float:
        """A loss that should lie on the grid."""
        return self._anchor

    @property
    def lattice(self) -> Fraction | None:
        """If known: the step on which all losses lie."""
        return self._lattice

    @property
    def discrete(self) -> bool:
        """Always."""
        return True

    def reach(self, tail: float) -> tuple[float, float]:
        """All but the outermost atoms, up to ``tail`` on each side."""
        loss, p = self._atoms.loss, self._atoms.p
        if not len(loss):
            return 0.0, 0.0
        low = int(np.searchsorted(np.cumsum(p), tail, side="right"))
        high = len(loss) - 1 - int(np.searchsorted(np.cumsum(p[::-1]), tail, side="right"))
        return (float(loss[low]), float(loss[high])) if low <= high else (float(loss[0]), float(loss[-1]))

    @property
    def top(self) -> tuple[Fraction | float, Fraction | float]:
        """The largest loss."""
        return self.highest, self.highest


def mass_of(value: Fraction) -> Mass:
    """An exact probability between two floats."""
    return Mass(float_down(value), float_up(value))


def box(epsilon: Fraction, delta: Fraction) -> AtomicPair:
    """The dominating pair of everything that is (ε, δ)-private: randomized response, or the truth with mass δ."""
    return response(epsilon, 2, delta)


def response(epsilon: Fraction, categories: int, delta: Fraction = Fraction(0)) -> AtomicPair:
    """k-ary randomized response: losses ε, 0, -ε with odds e^ε : k-2 : 1; with probability δ the truth instead."""
    e = as_float(epsilon, "epsilon") if epsilon else 0.0
    keep = 1.0 - float(delta) if delta < Fraction(1, 2) else float(1 - delta)
    small = math.exp(-e)
    others = float(categories - 1)
    whole = 1.0 + others * small
    loss = np.array([-e, 0.0, e]) if categories > 2 else np.array([-e, e])
    odds = np.array([small, (others - 1.0) * small, 1.0]) if categories > 2 else np.array([small, 1.0])
    p = keep * odds / whole
    return AtomicPair(
        atoms=Atoms(loss, p, p[::-1].copy()),
        highest=epsilon,
        infinite=mass_of(delta),
        void=mass_of(delta),
        anchor=e,
        lattice=(epsilon if categories > 2 else 2 * epsilon) or None,
    )


class TradeOffPair(AtomicPair):
    """The pair whose trade-off is a given curve; its largest loss is the logarithm of a fraction."""

    __slots__ = ()

    @property
    def top(self) -> tuple[Fraction | float, Fraction | float]:
        """Bounds of the logarithm of the steepest slope."""
        steepest = Fraction(self.highest)
        return (log_down(steepest), log_up(steepest)) if steepest > 1 else (Fraction(0), Fraction(0))


def trade_off(event: TradeOff) -> TradeOffPair:
    """One atom for each straight part of the curve: its fall under P, its width under Q, the logarithm of its slope.

    A test that takes the parts in order has false alarms and misses on the curve, so the curve is the trade-off of
    this pair; whatever has no lower one is dominated by it (Blackwell; Dong, Roth and Su 2022, Theorem 2.10).
    """
    parts = [(b - d, c - a) for (a, b), (c, d) in itertools.pairwise(event.line)][::-1]
    falls = np.array([float(fall) for fall, _ in parts])
    return TradeOffPair(
        atoms=Atoms(np.array([_log(fall / width) for fall, width in parts]), falls, falls[::-1].copy()),
        highest=event.steepest,
        infinite=mass_of(event.lost),
        void=mass_of(event.lost),
        anchor=_log(event.steepest),
    )


def _log(x: Fraction) -> float:
    """The logarithm, as near as a float can be."""
    return float(log_up(x)) if x > 1 else -float(log_up(1 / x)) if x < 1 else 0.0


def discrete_laplace(scale: Fraction, shift: int) -> AtomicPair:
    """P(z) ∝ e^{-|z|/b} on the integers against its shift by Δ: losses (Δ - 2z)/b for z = 0..Δ, ends pooled."""
    b = as_float(scale, "scale")
    a = math.exp(-1.0 / b)
    z = np.arange(shift, -1.0, -1.0)
    p = np.exp(-z / b) * (-math.expm1(-1.0 / b) / (1.0 + a))
    p[0], p[-1] = math.exp(-shift / b) / (1.0 + a), 1.0 / (1.0 + a)
    loss = (shift - 2.0 * z) / b
    return AtomicPair(
        atoms=Atoms(loss, p, p[::-1].copy()), highest=shift / scale, anchor=shift / b, lattice=Fraction(2) / scale
    )


def discrete_gaussian(variance: Fraction, shift: int) -> AtomicPair:
    """P(z) ∝ e^{-z²/2σ²} on the integers against its shift by Δ: losses Δ(Δ - 2z)/(2σ²).

    Integers beyond 38σ + Δ carry less than 2^-1000 and go to the infinite masses; σ is at most a few thousand.
    """
    v = as_float(variance, "sigma_squared")
    half = math.ceil(38.0 * math.sqrt(v)) + shift + 2
    z = np.arange(half + shift, -half - 1.0, -1.0)
    weight = np.exp(-z * z / (2.0 * v))
    norm = math.fsum(np.exp(-(np.arange(-half, half + 1.0) ** 2) / (2.0 * v)))
    p = weight / norm
    loss = shift * (shift - 2.0 * z) / (2.0 * v)
    kept = np.flatnonzero(np.maximum(p, p[::-1]) > 1e-290)
    cut = slice(int(kept[0]), int(kept[-1]) + 1)
    lost = Mass(0.0, 2.0**-900)
    # the exponent z²/2σ² <= 900 carries a relative error of 2^-52: the mass one of 900·2^-52
    atoms = Atoms(loss[cut], p[cut], p[::-1][cut].copy(), slack=2.0**-42)
    return AtomicPair(atoms, math.inf, lost, lost, anchor=shift * shift / (2.0 * v), lattice=Fraction(shift) / variance)


# --- products -----------------------------------------------------------------------------------------------------

MOST = 1 << 13  # atoms that a product may have


def listed(pair: Pair) -> AtomicPair:
    """Any pair without a density, its atoms sorted."""
    if isinstance(pair, AtomicPair):
        return pair
    atoms = pair.atoms
    order = np.argsort(atoms.loss)
    kept = Atoms(atoms.loss[order], atoms.p[order], atoms.q[order], atoms.slack, atoms.places)
    return AtomicPair(kept, math.inf, pair.infinite, pair.void, anchor=pair.anchor, lattice=pair.lattice)


def product(first: AtomicPair, second: AtomicPair) -> AtomicPair:
    """Both pairs at once: losses add, masses multiply."""
    a, b = first.atoms, second.atoms
    loss = np.add.outer(a.loss, b.loss).ravel()
    order = np.argsort(loss)
    atoms = Atoms(
        loss[order],
        np.multiply.outer(a.p, b.p).ravel()[order],
        np.multiply.outer(a.q, b.q).ravel()[order],
        a.slack + b.slack + 4.0 * ROUND,
        a.places + b.places + 1.0,
    )
    infinite, void = _either(first.infinite, second.infinite), _either(first.void, second.void)
    return AtomicPair(atoms, first.highest + second.highest, infinite, void)


def power(pair: AtomicPair, times: int, most: int = MOST) -> AtomicPair | None:
    """The pair ``times`` times over, or None where that would take more than ``most`` atoms."""
    if times == 1:
        return pair
    powered = _lattice_power(pair, times, most)
    if powered is not None:
        return powered
    if len(pair.atoms.loss) < 2 or len(pair.atoms.loss) ** min(times, 64) > most:
        return None
    result = pair
    for _ in range(times - 1):
        result = product(result, pair)
    return result


def _lattice_power(pair: AtomicPair, times: int, most: int) -> AtomicPair | None:
    """On a lattice the sum of n losses out of m + 1 equally spaced ones has only n·m + 1 values."""
    loss = pair.atoms.loss
    if pair.lattice is None:
        return None
    step = float(pair.lattice)
    spots = np.rint((loss - loss[0]) / step)
    if np.abs(loss - loss[0] - step * spots).max() > PLACE * (1.0 + np.abs(loss).max()):
        return None
    if times * spots[-1] >= min(most, 1024):
        return None
    # two atoms may share a spot: their masses add up
    places = spots.astype(np.int64)
    dense_p: Array = np.bincount(places, weights=pair.atoms.p).astype(np.float64)
    dense_q: Array = np.bincount(places, weights=pair.atoms.q).astype(np.float64)
    p, q = _repeat(dense_p, times), _repeat(dense_q, times)
    total = float(times) * loss[0] + step * np.arange(len(p))
    # a sum of products of non-negative numbers has the relative error of its longest chain
    slack = times * pair.atoms.slack + len(p) * (2 + times.bit_length()) * 2 * ROUND
    infinite, void = (_any_of(mass, times) for mass in (pair.infinite, pair.void))
    return AtomicPair(
        Atoms(total, p, q, slack, times * (pair.atoms.places + 1.0)),
        times * pair.highest,
        infinite,
        void,
        anchor=float(total[-1]),
        lattice=pair.lattice,
    )


def _repeat(x: Array, times: int) -> Array:
    """x convolved with itself, ``times`` times, by squaring."""
    result = np.ones(1)
    while times:
        if times & 1:
            result = np.convolve(result, x)
        times >>= 1
        if times:
            x = np.convolve(x, x)
    return result


def _either(a: Mass, b: Mass) -> Mass:
    """1 - (1-a)(1-b), rounded outwards."""
    low, high = a.low + b.low * (1.0 - a.low), a.high + b.high * (1.0 - a.high)
    return Mass(low * (1.0 - 8 * ROUND), high * (1.0 + 8 * ROUND))


def _any_of(mass: Mass, times: int) -> Mass:
    result = mass
    for _ in range(times - 1):
        result = _either(result, mass)
    return result


def pool(pairs: list[tuple[AtomicPair, int]], most: int = MOST) -> list[tuple[AtomicPair, int]]:
    """Multiply pairs into few with many atoms, which a grid can hold to second order where single atoms cannot.

    Guarantee: the product of what is returned is the product of what was given.
    """
    ready: list[AtomicPair] = []
    rest: list[tuple[AtomicPair, int]] = []
    for pair, times in pairs:
        whole = power(pair, times, most)
        if whole is None:
            rest.append((pair, times))
        else:
            ready.append(whole)
    ready.sort(key=lambda pair: len(pair.atoms.loss))
    pooled: list[AtomicPair] = []
    for pair in ready:
        if pooled and len(pooled[-1].atoms.loss) * len(pair.atoms.loss) <= most:
            pooled[-1] = product(pooled[-1], pair)
        else:
            pooled.append(pair)
    return [(pair, 1) for pair in pooled] + rest
