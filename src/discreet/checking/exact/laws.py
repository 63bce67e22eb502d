"""Two output laws against every price that the accountants give.

Promise: what is refuted is false. The two laws are certified bounds, the divergences are computed in rational
arithmetic and rounded in favour of the claim, so an alarm is a counterexample, not an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.errors import NoPrice, NotATheorem
from discreet.exact import exp_up, log_down
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.compose import compose
from discreet.privacy.accountants.conversions import gdp_delta, zcdp_to_approx
from discreet.privacy.accountants.gdp import price_gdp
from discreet.privacy.accountants.renyi import price_renyi
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.bound import Real
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Pure, Renyi
from discreet.privacy.promises.record import show

Law = Mapping[Hashable, tuple[Fraction, Fraction]]
"""For each output, bounds of its probability; outputs that are left out have mass below 2^-100 in all."""

_Pair = tuple[Law, Law, Fraction]

LEFT_OUT = Fraction(1, 1 << 100)
NEGLIGIBLE = Fraction(1, 1 << 90)
_BITS = 400
_ONE = 1 << _BITS
_SHORT = 200  # bits of a ratio
_LOG_BITS = 64
ORDERS = (2, 3, 5, 8, 16)
EPSILONS = tuple(Fraction(x) for x in ("0", "1/10", "1/2", "1", "2", "4"))


@dataclass(frozen=True, slots=True)
class Refutation:
    """A price that two neighbouring inputs refute: the claim, and what the laws show at least."""

    claim: str
    shown: str

    def __str__(self) -> str:
        return f"claimed {self.claim}; refuted: {self.shown}"


def delta_down(p: Law, q: Law, epsilon: Fraction, missing: Fraction = LEFT_OUT) -> Fraction:
    """A lower bound of the hockey-stick divergence: the least δ with which p is (ε, δ)-close to q.

    ``missing`` is the mass that q may have beyond its bounds, wherever it lies: e^ε times that is taken off.

    >>> fair, biased = {0: (Fraction(1, 2),) * 2, 1: (Fraction(1, 2),) * 2}, {0: (Fraction(1),) * 2}
    >>> float(delta_down(fair, biased, Fraction(0))), float(delta_down(biased, fair, Fraction(0)))
    (0.5, 0.5)
    """
    growth = exp_up(epsilon) if epsilon else Fraction(1)
    grown = _up(growth)
    zero = (Fraction(0), Fraction(0))
    total = 0
    for x, (low, _) in p.items():
        excess = _down(low) + (-grown * _up(q.get(x, zero)[1]) >> _BITS)
        total += max(excess, 0)
    return max(Fraction(0), Fraction(total, _ONE) - growth * missing)


def renyi_down(p: Law, q: Law, order: int, missing: Fraction = LEFT_OUT) -> Fraction:
    """A lower bound of the Rényi divergence of a whole order above 1: log Σ p^α q^(1-α) / (α - 1).

    Outputs that q does not list count as one: joining outputs never raises the divergence.
    """
    pairs = [(_down(low), _up(q[x][1])) for x, (low, _) in p.items() if x in q and q[x][1]]
    alone = sum(_down(low) for x, (low, _) in p.items() if x not in q or not q[x][1])
    pairs.append((alone, max(_up(missing), 1)))
    power = order - 1
    total = sum(low * ((low << _SHORT) // high) ** power >> _SHORT * power for low, high in pairs if low)
    return log_down(Fraction(total, _ONE)) / power if total else Fraction(0)


def kl_down(p: Law, q: Law, missing: Fraction = LEFT_OUT) -> Fraction:
    """A lower bound of the Kullback-Leibler divergence Σ p log(p/q), the Rényi divergence of order 1.

    What p does not list, of mass m <= missing, adds at least m log m; what q does not list counts as one output.
    """
    total = -missing * (1 + missing.denominator.bit_length()) if missing else Fraction(0)
    alone = Fraction(0)
    for x, (low, high) in p.items():
        if x not in q or not q[x][1]:
            alone += low
        elif low:
            loss = log_down(_short(low / q[x][1]), _LOG_BITS)
            total += _floor((low if loss > 0 else high) * loss)
        else:
            total -= high * (1 + high.denominator.bit_length())  # p <= high: p log(p/q) >= -high log(1/high)
    if alone:
        total += _floor(alone * log_down(_short(alone / max(missing, Fraction(1, _ONE))), _LOG_BITS))
    return max(Fraction(0), total)


def _short(x: Fraction) -> Fraction:
    """x rounded down to about 100 significant bits."""
    shift = 100 + x.denominator.bit_length() - x.numerator.bit_length()
    return Fraction((x.numerator << shift) // x.denominator, 1 << shift) if shift > 0 else x


def _floor(x: Fraction) -> Fraction:
    return Fraction(_down(x), _ONE)


def _down(x: Fraction) -> int:
    """x in units of 2^-400, rounded down: unlike denominators would grow without end."""
    return (x.numerator << _BITS) // x.denominator


def _up(x: Fraction) -> int:
    return -((-x.numerator << _BITS) // x.denominator)


def refutations(claim: Event | Measure, p: Law, q: Law, missing: Fraction = LEFT_OUT) -> Iterator[Refutation]:
    """Every price of the event, or the one promise, that the pair of laws (in this direction) refutes."""
    if not isinstance(claim, Event):
        yield from against(claim, p, q, missing)
        return
    for price in prices(claim):
        yield from against(price, p, q, missing)
    yield from _against_composition(claim, p, q, missing)


@lru_cache(maxsize=128)
def prices(event: Event) -> tuple[Measure, ...]:
    """What each accountant that knows the event says of it."""
    rules: tuple[Callable[[Event], Measure], ...] = (
        price_basic,
        price_zcdp,
        lambda e: price_renyi(e, ORDERS),
        price_gdp,
    )
    prices_found = []
    for rule in rules:
        with suppress(NoPrice, NotATheorem):
            prices_found.append(rule(event))
    return tuple(prices_found)


def against(price: Measure, p: Law, q: Law, missing: Fraction = LEFT_OUT) -> Iterator[Refutation]:
    """What the pair of laws, in this direction, shows against one promise."""
    pair = (p, q, missing)
    match price:
        case Pure(epsilon=epsilon):
            yield from _at(price, epsilon, Fraction(0), pair)
        case Approx(epsilon=epsilon, delta=delta):
            yield from _at(price, epsilon, delta, pair)
        case ZCDP(rho=rho, delta=delta) if not delta:
            if (least := kl_down(p, q, missing)) > rho + NEGLIGIBLE:
                yield Refutation(str(price), f"Kullback-Leibler divergence at least {float(least):.6g}")
            for whole in ORDERS:
                yield from _at_order(price, whole, rho * whole, pair)
        case ZCDP():
            for epsilon in EPSILONS:
                yield from _at(price, epsilon, zcdp_to_approx(price, epsilon=epsilon).delta, pair)
        case Renyi(bounds=bounds):
            for order, epsilon in bounds:
                if order.denominator == 1:
                    yield from _at_order(price, int(order), epsilon, pair)
        case GDP():
            for epsilon in EPSILONS:
                yield from _at(price, epsilon, Fraction(gdp_delta(price, epsilon).upper), pair)


def _at(price: Measure, epsilon: Fraction, delta: Fraction, pair: _Pair) -> Iterator[Refutation]:
    p, q, missing = pair
    if (shown := delta_down(p, q, epsilon, missing)) > delta + NEGLIGIBLE:
        yield Refutation(str(price), f"delta at least {float(shown):.6g} at epsilon {show(epsilon)}")


def _at_order(price: Measure, order: int, bound: Fraction, pair: _Pair) -> Iterator[Refutation]:
    p, q, missing = pair
    if (least := renyi_down(p, q, order, missing)) > bound + NEGLIGIBLE:
        yield Refutation(str(price), f"Rényi divergence at least {float(least):.6g} at order {order}")


def _against_composition(event: Event, p: Law, q: Law, missing: Fraction) -> Iterator[Refutation]:
    for epsilon, upper in _composed(event):
        shown = delta_down(p, q, epsilon, missing)
        if shown > Fraction(upper) + NEGLIGIBLE:
            yield Refutation(
                f"delta {float(upper):.6g} at epsilon {epsilon} by its privacy loss distribution",
                f"delta at least {float(shown):.6g}",
            )


@lru_cache(maxsize=128)
def _composed(event: Event) -> tuple[tuple[Fraction, Real], ...]:
    try:
        whole = compose([event])
    except (NoPrice, NotATheorem):
        return ()
    return tuple((epsilon, whole.delta(epsilon=epsilon).upper) for epsilon in EPSILONS)
