"""The command line: ``discreet demo``."""

from __future__ import annotations

from collections import Counter

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from discreet import noise

app = typer.Typer(help="Ask questions of sensitive data; publish the answers safely.", no_args_is_help=True)

_DRAWS = 1_000_000
_ROUNDS = 10
_WIDTH = 46


@app.callback()
def main() -> None:
    """Ask questions of sensitive data; publish the answers safely."""


@app.command()
def demo() -> None:
    """Draw exact noise and hold it against its law."""
    console = Console()
    scale = 2
    counts: Counter[int] = Counter()
    for _ in track(range(_ROUNDS), description="drawing", console=console):
        values, times = _tally(noise.discrete_laplace(scale, size=_DRAWS // _ROUNDS))
        counts.update(dict(zip(values, times, strict=True)))
    console.print(_picture(counts, scale))
    console.print(
        f"{_DRAWS:,} draws of discrete Laplace noise of scale {scale}, from the operating system's randomness: "
        "no seed, no floating point.\nEach bar is what was drawn; the mark | is the exact law."
    )
    guilty = Table(title="What noise buys: 'did person X answer yes?'", title_justify="left")
    for heading in ("true count", "five noisy answers at epsilon 1/2"):
        guilty.add_column(heading)
    for count in (41, 42):
        guilty.add_row(str(count), ", ".join(str(count + noise.discrete_laplace(2)) for _ in range(5)))
    console.print(guilty)
    console.print("With and without X the answers look alike: no one can tell which row is which from them.")


def _tally(draws: noise.Integers) -> tuple[list[int], list[int]]:
    counts = Counter(draws.tolist())
    return list(counts), list(counts.values())


def _picture(counts: Counter[int], scale: int) -> Table:
    """A bar for each value, with a mark where the exact law says that it ends."""
    q = 2.718281828459045 ** (-1 / scale)
    law = {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-8, 9)}
    full = max(law.values()) * 1.05
    table = Table(title="discrete Laplace noise, drawn and exact", title_justify="left", box=None)
    for name in ("value", "", "drawn", "exact"):
        table.add_column(name, justify="left" if not name else "right")
    for x, p in law.items():
        share = counts[x] / _DRAWS
        bar = list("█" * round(share / full * _WIDTH) + " " * _WIDTH)[:_WIDTH]
        bar[min(round(p / full * _WIDTH), _WIDTH - 1)] = "|"
        table.add_row(str(x), Text("".join(bar), style="cyan"), f"{share:.5f}", f"{p:.5f}")
    return table
