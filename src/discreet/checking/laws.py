"""Two output laws against every price that the accountants give.

Promise: what is refuted is false. The two laws are certified bounds, the divergences are computed in rational
arithmetic and rounded in favour of the claim, so an alarm is a counterexample, not an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import NoPrice, NotATheorem
from discreet.exact import exp_up, log_down
from discreet.privacy.basic import price_basic
from discreet.privacy.compose import compose
from discreet.privacy.conversions import gdp_delta
from discreet.privacy.events import Event
from discreet.privacy.gdp import price_gdp
from discreet.privacy.measures import GDP, ZCDP, Approx, Measure, Pure, Renyi
from discreet.privacy.renyi import price_renyi
from discreet.privacy.zcdp import price_zcdp

Law = Mapping[Hashable, tuple[Fraction, Fraction]]
"""For each output, bounds of its probability; outputs that are left out have mass below 2^-100 in all."""

NEGLIGIBLE = Fraction(1, 1 << 90)
_BITS = 400
ORDERS = (2, 3, 5, 8, 16)
EPSILONS = tuple(Fraction(x) for x in ("0", "1/10", "1/2", "1", "2", "4"))


@dataclass(frozen=True, slots=True)
class Refutation:
    """A price that two neighbouring inputs refute: the claim, and what the laws show at least."""

    claim: str
    shown: str

    def __str__(self) -> str:
        return f"claimed {self.claim}; refuted: {self.shown}"


def delta_down(p: Law, q: Law, epsilon: Fraction) -> Fraction:
    """A lower bound of the hockey-stick divergence: the least δ with which p is (ε, δ)-close to q.

    >>> fair, biased = {0: (Fraction(1, 2),) * 2, 1: (Fraction(1, 2),) * 2}, {0: (Fraction(1),) * 2}
    >>> delta_down(fair, biased, Fraction(0)), delta_down(biased, fair, Fraction(0))
    (Fraction(1, 2), Fraction(1, 2))
    """
    growth = exp_up(epsilon) if epsilon else Fraction(1)
    zero = (Fraction(0), Fraction(0))
    return _sum_down(low - growth * q.get(x, zero)[1] for x, (low, _) in p.items())


def renyi_down(p: Law, q: Law, order: int) -> Fraction:
    """A lower bound of the Rényi divergence of a whole order above 1: log Σ p^α q^(1-α) / (α - 1)."""
    ratios = ((low, q[x][1]) for x, (low, _) in p.items() if x in q and q[x][1])
    total = _sum_down(low * _short_down(low / high) ** (order - 1) for low, high in ratios)
    return log_down(total) / (order - 1) if total else Fraction(0)


def _sum_down(terms: Iterable[Fraction]) -> Fraction:
    """The sum of the positive terms, each rounded down: unlike denominators would grow without end."""
    return Fraction(sum((t.numerator << _BITS) // t.denominator for t in terms if t > 0), 1 << _BITS)


def _short_down(x: Fraction) -> Fraction:
    """x, rounded down to about 200 significant bits."""
    shift = 200 + x.denominator.bit_length() - x.numerator.bit_length()
    return Fraction((x.numerator << shift) // x.denominator, 1 << shift) if shift > 0 else Fraction(x)


def refutations(event: Event, p: Law, q: Law) -> Iterator[Refutation]:
    """Every price of the event that the pair of laws (in this direction) refutes."""
    for price in prices(event):
        yield from _against(price, p, q)
    yield from _against_composition(event, p, q)


def prices(event: Event) -> Iterator[Measure]:
    """What each accountant that knows the event says of it."""
    rules: tuple[Callable[[Event], Measure], ...] = (
        price_basic,
        price_zcdp,
        lambda e: price_renyi(e, ORDERS),
        price_gdp,
    )
    for rule in rules:
        try:
            yield rule(event)
        except (NoPrice, NotATheorem):
            continue


def _against(price: Measure, p: Law, q: Law) -> Iterator[Refutation]:
    match price:
        case Pure(epsilon=epsilon):
            yield from _against(Approx(epsilon, 0), p, q)
        case Approx(epsilon=epsilon, delta=delta):
            if (shown := delta_down(p, q, epsilon)) > delta + NEGLIGIBLE:
                yield Refutation(str(price), f"delta at least {float(shown):.6g} at that epsilon")
        case ZCDP(rho=rho, delta=delta) if not delta:
            for whole in ORDERS:
                if (least := renyi_down(p, q, whole)) > rho * whole + NEGLIGIBLE:
                    yield Refutation(str(price), f"Rényi divergence at least {float(least):.6g} at order {whole}")
        case Renyi(bounds=bounds):
            for order, epsilon in bounds:
                if order.denominator == 1 and (least := renyi_down(p, q, int(order))) > epsilon + NEGLIGIBLE:
                    yield Refutation(str(price), f"Rényi divergence at least {float(least):.6g} at order {order}")
        case GDP():
            for epsilon in EPSILONS:
                if (shown := delta_down(p, q, epsilon)) > Fraction(gdp_delta(price, epsilon).upper) + NEGLIGIBLE:
                    yield Refutation(str(price), f"delta at least {float(shown):.6g} at epsilon {epsilon}")


def _against_composition(event: Event, p: Law, q: Law) -> Iterator[Refutation]:
    try:
        whole = compose([event])
    except (NoPrice, NotATheorem):
        return
    for epsilon in EPSILONS:
        upper = whole.delta(epsilon=epsilon).upper
        shown = delta_down(p, q, epsilon)
        if shown > Fraction(upper) + NEGLIGIBLE:
            yield Refutation(
                f"delta {upper:.6g} at epsilon {epsilon} by its privacy loss distribution",
                f"delta at least {float(shown):.6g}",
            )
