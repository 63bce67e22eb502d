"""Pictures of what a promise means, under the ``plot`` extra: profile, trade-off with its band, growth by composition.

Each function but ``growth_table`` and ``growth_rules`` returns a matplotlib Figure; save it with
``figure.savefig(...)``. Several events or compositions by name are drawn into one picture.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import BadParameter, NoPrice, NotATheorem
from discreet.exact import Number, integer, number, significant
from discreet.picture import new_figure
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
__all__ = ["growth", "growth_rules", "growth_table", "profile", "tradeoff"]


Given = Composition | Event | Mapping[str, Composition | Event]
"""One curve, or several by name."""


def _compositions(given: Given) -> dict[str, Composition]:
    several = dict(given) if isinstance(given, Mapping) else {"": given}
    if not several:
        raise BadParameter("composition", "none", "must be at least one")
    return {str(name): _composition(composition) for name, composition in several.items()}


def _composition(given: Composition | Event) -> Composition:
    if isinstance(given, Composition):
        return given
    if isinstance(given, Event):
        return compose(given)
    raise BadParameter(
        "composition", given, "must be an event, a composition such as compose([...]), or several by name"
    )


def profile(composition: Given, deltas: Sequence[Number] | None = None) -> Figure:
    """δ against ε: both sides of the certified band; a dict of several is drawn into one picture.

    >>> from discreet.privacy.promises.events import Gaussian
    >>> figure = profile(compose(Gaussian(sigma=1)), deltas=["1e-2", "1e-4", "1e-6"])
    >>> figure.axes[0].get_xlabel()
    'ε'
    >>> both = profile({"σ = 1": Gaussian(sigma=1), "σ = 2": Gaussian(sigma=2)}, deltas=["1e-2", "1e-4"])
    >>> [text.get_text() for text in both.axes[0].get_legend().get_texts()]
    ['σ = 1', 'σ = 2']
    """
    figure, axes = _canvas("ε", "δ", "Privacy profile")
    for name, named in _compositions(composition).items():
        points = named.profile(deltas)
        rates = [delta for _, delta in points]
        lower, upper = [float(e.lower) for e, _ in points], [float(e.upper) for e, _ in points]
        axes.fill_betweenx(rates, lower, upper, alpha=0.4)
        (line,) = axes.plot(upper, rates, marker="o", label=name or "certified upper")
        under = {"label": "certified lower"} if not name else {"color": line.get_color()}
        axes.plot(lower, rates, linestyle="--", **under)
    axes.set_yscale("log")
    axes.legend()
    return figure


def tradeoff(composition: Given, alphas: Sequence[Number] | None = None) -> Figure:
    """Misses against false alarms of the best attacker, with the certified band, beside blind guessing.

    A dict of several is drawn into one picture.

    >>> from discreet.privacy.promises.events import Laplace
    >>> tradeoff(compose([Laplace(scale=2)])).axes[0].get_xlabel()
    'false alarms'
    """
    figure, axes = _canvas("false alarms", "misses", "What an attacker can do")
    places = alphas if alphas is not None else [Fraction(k, 100) for k in range(101)]
    for name, named in _compositions(composition).items():
        rates, lower, upper = band(named.tradeoff_band(places))
        axes.fill_between(rates, lower, upper, alpha=0.4, label=name or "certified band")
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


def growth(event: Event | Mapping[str, Event], up_to: int, delta: Number = "1e-6") -> Figure:
    """ε of an event repeated 1 to ``up_to`` times at one δ, by each rule that has a price for it.

    Several events by name are drawn into one picture.

    >>> from discreet.privacy.promises.events import Laplace
    >>> len(growth(Laplace(scale=10), 100).axes[0].lines) > 2
    True
    """
    figure, axes = _canvas("repetitions", "ε", f"How cost grows (δ = {float(number(delta, 'delta')):g})")
    for label, repeated in event.items() if isinstance(event, Mapping) else [("", event)]:
        costs = growth_table(repeated, up_to, delta)
        for name in costs.rules:
            axes.plot(costs.times, costs[name], marker="o", label=f"{label}, {name}" if label else name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.legend()
    return figure


@dataclass(frozen=True, slots=True, repr=False)
class GrowthTable:
    """ε of an event asked several times, by each rule of composition; prints as a table."""

    delta: Fraction
    times: tuple[int, ...]
    rules: tuple[str, ...]
    epsilons: tuple[tuple[float, ...], ...]
    """For each rule, its ε at each number of times."""

    def __getitem__(self, rule: str) -> tuple[float, ...]:
        return self.epsilons[self.rules.index(rule)]

    def __str__(self) -> str:
        rows = [("times", *(f"{k:,}" for k in self.times))]
        rows += [
            (rule, *(significant(e, 4) for e in some)) for rule, some in zip(self.rules, self.epsilons, strict=True)
        ]
        columns = [[cell.rjust(max(map(len, column))) for cell in column] for column in zip(*rows, strict=True)]
        lines = ["  ".join(line) for line in zip(*columns, strict=True)]
        return "\n".join([f"ε at δ = {float(self.delta):g}", *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{k:,}</th>" for k in self.times)
        body = "".join(
            f"<tr><td>{html.escape(rule)}</td>{''.join(f'<td>{significant(e, 4)}</td>' for e in some)}</tr>"
            for rule, some in zip(self.rules, self.epsilons, strict=True)
        )
        return (
            f"<table><thead><tr><th>ε at δ = {float(self.delta):g}</th>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


def growth_table(event: Event, times: int | Sequence[int], delta: Number = "1e-6") -> GrowthTable:
    """ε of an event repeated so many times at one δ, by each rule of composition that has a price for it.

    ``times``: a list of numbers, or the largest of some.

    >>> from discreet.privacy.promises.events import Pure
    >>> print(growth_table(Pure("0.1"), [1, 10]))
    ε at δ = 1e-06
                       times       1      10
                       basic     0.1       1
    ...
    """
    if isinstance(times, int):
        top = integer(times, "times", at_least=1)
        many = tuple(sorted({max(1, round(top ** (i / (_POINTS - 1)))) for i in range(_POINTS)}))
    else:
        many = tuple(integer(k, "times", at_least=1) for k in times)
    columns = {}
    for name, rule in growth_rules(delta).items():
        try:
            columns[name] = tuple(rule(Repeat(event, k)) for k in many)
        except (NoPrice, NotATheorem):
            continue
    return GrowthTable(number(delta, "delta"), many, tuple(columns), tuple(columns.values()))


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
    figure = new_figure(6, 4)
    axes = figure.subplots()
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.set_title(title)
    axes.grid(alpha=0.3)
    return figure, axes
