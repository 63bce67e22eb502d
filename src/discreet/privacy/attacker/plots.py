"""Pictures of what a promise means, under the ``plot`` extra: profile, trade-off with its band, growth by composition.

Each function returns a matplotlib Figure; save it with ``figure.savefig(...)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import BadParameter, MissingExtra, NoPrice, NotATheorem
from discreet.exact import Number, integer, number
from discreet.privacy.accountants.advanced import price_advanced
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.compose import Composition, compose
from discreet.privacy.accountants.conversions import zcdp_to_approx
from discreet.privacy.accountants.optimal import price_optimal
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.bound import Bound
from discreet.privacy.promises.events import Event, Repeat

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POINTS = 8
__all__ = ["growth", "growth_rules", "profile", "tradeoff"]


def _composition(given: Composition | Event) -> Composition:
    if isinstance(given, Composition):
        return given
    if isinstance(given, Event):
        return compose(given)
    raise BadParameter("composition", given, "must be an event, or a composition such as compose([...])")


def profile(composition: Composition | Event, deltas: Sequence[Number] | None = None) -> Figure:
    """δ against ε: both sides of the certified band.

    >>> from discreet.privacy.promises.events import Gaussian
    >>> figure = profile(compose(Gaussian(sigma=1)), deltas=["1e-2", "1e-4", "1e-6"])
    >>> figure.axes[0].get_xlabel()
    'ε'
    """
    figure, axes = _canvas("ε", "δ", "Privacy profile")
    points = _composition(composition).profile(deltas)
    rates = [delta for _, delta in points]
    axes.fill_betweenx(rates, [float(e.lower) for e, _ in points], [float(e.upper) for e, _ in points], alpha=0.4)
    axes.plot([float(e.upper) for e, _ in points], rates, marker="o", label="certified upper")
    axes.plot([float(e.lower) for e, _ in points], rates, linestyle="--", label="certified lower")
    axes.set_yscale("log")
    axes.legend()
    return figure


def tradeoff(composition: Composition | Event, alphas: Sequence[Number] | None = None) -> Figure:
    """Misses against false alarms of the best attacker, with the certified band, beside blind guessing."""
    figure, axes = _canvas("false alarms", "misses", "What an attacker can do")
    points = _composition(composition).tradeoff_band(
        alphas if alphas is not None else [Fraction(k, 100) for k in range(101)]
    )
    rates, lower, upper = band(points)
    axes.fill_between(rates, lower, upper, alpha=0.4, label="certified band")
    axes.plot(rates, upper, linewidth=1)
    axes.plot([0, 1], [1, 0], linestyle=":", label="blind guessing")
    axes.legend()
    return figure


def band(points: Sequence[tuple[float, Bound]]) -> tuple[list[float], list[float], list[float]]:
    """Corners of a band that holds the trade-off curve between the points as well: places, lower and upper edge.

    The curve is convex, so it lies below its chords; it falls, so up to the next point it is not below that one.
    """
    rates = [alpha for alpha, _ in points for _ in range(2)][1:-1]
    upper = [float(b.upper) for _, b in points for _ in range(2)][1:-1]
    lower = [float(b.lower) for _, b in points[1:] for _ in range(2)]
    return rates, lower, upper


def growth(event: Event, up_to: int, delta: Number = "1e-6") -> Figure:
    """ε of an event repeated 1 to ``up_to`` times at one δ, by each rule that has a price for it."""
    figure, axes = _canvas("repetitions", "ε", f"How cost grows (δ = {float(number(delta, 'delta')):g})")
    top = integer(up_to, "up_to", at_least=1)
    times = sorted({max(1, round(top ** (i / (_POINTS - 1)))) for i in range(_POINTS)})
    for name, rule in growth_rules(delta).items():
        try:
            costs = [rule(Repeat(event, k)) for k in times]
        except (NoPrice, NotATheorem):
            continue
        axes.plot(times, costs, marker="o", label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.legend()
    return figure


def growth_rules(delta: Number) -> dict[str, Callable[[Event], float]]:
    """The ε that each rule of composition gives to an event at this δ.

    >>> from discreet.privacy.promises.events import Pure
    >>> costs = {name: rule(Repeat(Pure("0.1"), 100)) for name, rule in growth_rules("1e-6").items()}
    >>> costs["basic"], round(costs["exact (PLD)"], 3)
    (10.0, 4.775)
    """
    return {
        "basic": lambda e: float(price_basic(e).epsilon),
        "advanced": lambda e: float(price_advanced(e, delta).epsilon),
        "optimal (as black boxes)": lambda e: float(price_optimal(e, delta).epsilon),
        "zCDP": lambda e: float(zcdp_to_approx(price_zcdp(e), delta=delta).epsilon),
        "exact (PLD)": lambda e: float(compose(e).epsilon(delta).upper),
    }


def _canvas(across: str, up: str, title: str) -> tuple[Figure, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("plots", extra="plot") from None
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.set_title(title)
    axes.grid(alpha=0.3)
    return figure, axes
