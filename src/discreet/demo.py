"""``discreet demo``: what the system does, on made-up data, in the terminal."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from discreet import noise
from discreet.errors import OverBudget
from discreet.mechanisms.laplace import laplace
from discreet.privacy import events
from discreet.privacy.filters import Filter
from discreet.privacy.measures import Pure
from discreet.privacy.plots import growth_rules

_DRAWS = 1_000_000
_ROUNDS = 10
_WIDTH = 46
_YES = 413  # people of the town who answered yes, in the made-up survey


def show(console: Console) -> None:
    """The whole demo."""
    _noise(console)
    _budget(console)
    _growth(console)


def _noise(console: Console) -> None:
    scale = 2
    counts: Counter[int] = Counter()
    for _ in track(range(_ROUNDS), description="drawing exact noise", console=console):
        counts.update(noise.discrete_laplace(scale, size=_DRAWS // _ROUNDS).tolist())
    q = 2.718281828459045 ** (-1 / scale)
    law = {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-8, 9)}
    full = max(law.values()) * 1.05
    table = Table(title="1. Exact noise: what was drawn (bar) and the law (|)", title_justify="left", box=None)
    for name in ("value", "", "drawn", "exact"):
        table.add_column(name, justify="left" if not name else "right")
    for x, p in law.items():
        share = counts[x] / _DRAWS
        bar = list("█" * round(share / full * _WIDTH) + " " * _WIDTH)[:_WIDTH]
        bar[min(round(p / full * _WIDTH), _WIDTH - 1)] = "|"
        table.add_row(str(x), Text("".join(bar), style="cyan"), f"{share:.5f}", f"{p:.5f}")
    console.print(table)
    console.print(
        f"{_DRAWS:,} draws of discrete Laplace noise of scale {scale}, from the operating system's randomness: "
        "no seed, no floating point.\n"
    )


def _budget(console: Console) -> None:
    mechanism = laplace(sensitivity=1, epsilon="1/4")
    budget = Filter(Pure(1))
    table = Table(title="2. How many said yes? A budget of epsilon 1, asked until it is spent", title_justify="left")
    for heading in ("answer", "within (95 %)", "cost", "what is left"):
        table.add_column(heading)
    while True:
        try:
            receipt = budget.spend(mechanism.event)  # pay first
        except OverBudget as refusal:
            table.add_row("[red]refused[/]", "", "", str(refusal))
            break
        answer = mechanism.release(_YES, receipt)  # then draw
        low, high = answer.within(Fraction(95, 100))
        table.add_row(str(answer.value), f"{low:g} to {high:g}", answer.cost, str(budget.remaining))
    console.print(table)
    console.print(f"The true count is {_YES}; with one person more or less the answers look alike.\n")


def _growth(console: Console) -> None:
    delta = "1e-6"
    rules = growth_rules(delta)
    table = Table(title=f"3. Laplace noise of scale 10, asked k times: epsilon at delta {delta}", title_justify="left")
    table.add_column("k", justify="right")
    for name in rules:
        table.add_column(name, justify="right")
    for k in (1, 10, 100, 1000):
        event = events.Repeat(events.Laplace(scale=10), k)
        table.add_row(str(k), *(f"{rule(event):.3f}" for rule in rules.values()))
    console.print(table)
    console.print("The last column is certified from both sides; the others are what simpler rules would charge.")
