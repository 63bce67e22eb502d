"""Independent closed forms of hockey-stick curves H(t) = sup_S P(S) - tQ(S), in balls; and the curve of a law."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb, fmpq

from discreet.privacy.pld.law import Law

Curve = Callable[[arb], arb]


def ball(x: float | Fraction | int) -> arb:
    return arb(fmpq(x.numerator, x.denominator)) if isinstance(x, Fraction) else arb(x)


def positive(x: arb) -> arb:
    return x if x > 0 else (arb(0) if x < 0 else x.max(arb(0)))


def phi(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def gaussian(mu: float) -> Curve:
    m = ball(mu)
    return lambda t: phi(m / 2 - t.log() / m) - t * phi(-m / 2 - t.log() / m)


def laplace(epsilon: float | Fraction) -> Curve:
    e = ball(epsilon)

    def curve(t: arb) -> arb:
        x = t.log()
        if x > e:
            return arb(0)
        return 1 - t if x < -e else 1 - ((x - e) / 2).exp()

    return curve


def bounded_range(epsilon: float | Fraction) -> Curve:
    e = ball(epsilon)

    def curve(t: arb) -> arb:
        x = t.log()
        if x > e:
            return arb(0)
        return 1 - t if x < -e else (1 - ((x - e) / 2).exp()) ** 2 / (1 - (-e).exp())

    return curve


def listed(pairs: list[tuple[arb, arb]]) -> Curve:
    """Σ (p - tq)_+ over atoms with masses p, q."""
    return lambda t: sum((positive(p - t * q) for p, q in pairs), arb(0))


def response(epsilon: Fraction, categories: int = 2, delta: Fraction = Fraction(0)) -> Curve:
    e, k, keep = ball(epsilon).exp(), categories, 1 - ball(delta)
    whole = e + k - 1
    atoms = [(keep * e / whole, keep / whole), (keep / whole, keep * e / whole), (ball(delta), arb(0))]
    if k > 2:
        atoms.append((keep * (k - 2) / whole,) * 2)
    return listed(atoms)


def removed(inner: Curve, rate: Fraction) -> Curve:
    r = ball(rate)
    return lambda t: 1 - t if t < 1 - r else r * inner((t - 1 + r) / r)


def added(inner: Curve, rate: Fraction) -> Curve:
    """For a symmetric inner pair."""
    r = ball(rate)

    def curve(t: arb) -> arb:
        left = 1 - t * (1 - r)
        return left * inner(t * r / left) if left > 0 else arb(0)

    return curve


def curve_of(law: Law, slip: float) -> Curve:
    """The curve of a law with all losses moved by slip."""
    grid = law.grid
    losses = [ball(grid.origin) + ball(grid.step) * (grid.first + i) + ball(slip) for i in range(grid.count)]
    inverse = [((-loss).exp(), ball(float(m))) for loss, m in zip(losses, law.mass, strict=True) if m > 0]
    return lambda t: sum((m * positive(1 - t * w) for w, m in inverse), ball(law.infinite))
