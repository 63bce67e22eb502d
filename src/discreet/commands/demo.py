"""``discreet demo``: what the system does, on made-up data, in the terminal."""

from __future__ import annotations

from collections import Counter
from datetime import date

from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from discreet import noise
from discreet.commands.output import cell
from discreet.commands.sample_hospital import patients, visits
from discreet.errors import OverBudget
from discreet.messages import Interface, Message, worst_first
from discreet.privacy.attacker.plots import growth_rules
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Approx
from discreet.query.plan.schema import bounds, keys, table, unknown_keys
from discreet.session.session import Session

_DRAWS = 1_000_000
_ROUNDS = 10
_WIDTH = 46
_PATIENTS = 5_000
QUESTIONS = (
    ("SELECT COUNT(*) AS visits, COUNT(DISTINCT patient_id) AS patients FROM visits", "0.2"),
    ("SELECT clinic, COUNT(*) AS n, AVG(cost) AS mean_cost FROM visits GROUP BY clinic", "0.5"),
    ("SELECT reason, COUNT(*) AS n FROM visits GROUP BY reason ORDER BY n DESC", "0.6"),
    ("SELECT EXTRACT(QUARTER FROM day) AS quarter, MEDIAN(wait_minutes) AS wait FROM visits GROUP BY 1", "0.6"),
    ("SELECT AVG(CLAMP(spent, 0, 5000)) AS per_patient FROM "
     "(SELECT patient_id, SUM(cost) AS spent FROM visits GROUP BY patient_id)", "0.1"),
    ("SELECT region, COUNT(*) AS n FROM visits JOIN patients USING (patient_id) GROUP BY region", "0.2"),
)  # fmt: skip


def demo_command() -> None:
    """Queries about a made-up hospital until the budget is spent; exact noise; what composition costs."""
    show(Console())


def show(console: Console) -> None:
    """The whole demo."""
    _hospital(console)
    _noise(console)
    _growth(console)
    console.print(
        "\nThe same hospital as a service with a web page: [bold]make serve[/] here, or "
        "[bold]discreet sample hospital[/] and [bold]discreet serve hospital/curator.toml[/] anywhere."
    )


def _noise(console: Console) -> None:
    scale = 2
    counts: Counter[int] = Counter()
    for _ in track(range(_ROUNDS), description="drawing exact noise", console=console):
        counts.update(noise.discrete_laplace(scale, size=_DRAWS // _ROUNDS).tolist())
    q = 2.718281828459045 ** (-1 / scale)
    law = {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-8, 9)}
    full = max(law.values()) * 1.05
    drawn = Table(title="2. Exact noise: what was drawn (bar) and the law (|)", title_justify="left", box=None)
    for name in ("value", "", "drawn", "exact"):
        drawn.add_column(name, justify="left" if not name else "right")
    for x, p in law.items():
        share = counts[x] / _DRAWS
        bar = list("█" * round(share / full * _WIDTH) + " " * _WIDTH)[:_WIDTH]
        bar[min(round(p / full * _WIDTH), _WIDTH - 1)] = "|"
        drawn.add_row(str(x), Text("".join(bar), style="cyan"), f"{share:.5f}", f"{p:.5f}")
    console.print(drawn)
    console.print(
        f"{_DRAWS:,} draws of discrete Laplace noise of scale {scale}, from the operating system's randomness: "
        "no seed, no floating point.\n"
    )


def _hospital(console: Console) -> None:
    """The main job: SQL over a made-up hospital, intervals, and a budget that counts down until it refuses."""
    session = hospital(_PATIENTS)
    console.print(
        f"[bold]1. A made-up hospital: {_PATIENTS:,} patients and their visits; each patient is protected "
        f"with all their visits.[/]\nThe budget is {session.budget}.\n"
    )
    notes = list[Message]()
    for question, epsilon in QUESTIONS:
        console.print(f"[cyan]{question}[/]  at epsilon {epsilon}")
        query = session.sql(question)
        try:
            answer = query.release(epsilon=epsilon)
        except OverBudget as refusal:
            console.print(f"[red]refused[/]: {refusal}\n")
            break
        shown = Table(box=None)
        errors = answer.errors()
        for name in answer.columns:
            shown.add_column(name, justify="right" if name in errors else "left")
        for i, row in enumerate(answer):
            shown.add_row(*(cell(row[name], errors[name][i] if name in errors else None) for name in answer.columns))
        console.print(shown)
        console.print(f"left: {session.remaining}\n")
        notes += answer.notes
    console.print(
        f"± is a 95% confidence interval for the noise. {worst_first(notes)[0].text(Interface.COMMAND)}\n"
        "A preview is free and shows the cost and ± of a query before it runs.\n"
    )


def hospital(count: int) -> Session:
    """The made-up hospital as a session: what its owner would declare."""
    cost, wait = bounds(0, 5_000), bounds(0, 240)
    clinics, regions = keys(["North", "South", "City", "Coast"]), keys(["north", "south", "east", "west"])
    days = bounds(date(2025, 1, 1), date(2025, 12, 31))
    return Session(
        patients=table(patients(count), unit="patient_id", columns={"region": regions}, max_rows=1),
        visits=table(
            visits(count),
            unit="patient_id",
            columns={"cost": cost, "wait_minutes": wait, "clinic": clinics, "reason": unknown_keys(), "day": days},
            max_rows=10,
        ),
        budget=Approx(2, "1e-9"),
    )


def _growth(console: Console) -> None:
    delta = "1e-6"
    rules = growth_rules(delta)
    drawn = Table(title=f"3. Laplace noise of scale 10, asked k times: epsilon at delta {delta}", title_justify="left")
    drawn.add_column("k", justify="right")
    for name in rules:
        drawn.add_column(name, justify="right")
    for k in (1, 10, 100, 1000):
        event = events.Repeat(events.Laplace(scale=10), k)
        drawn.add_row(str(k), *(f"{rule(event):.3f}" for rule in rules.values()))
    console.print(drawn)
    console.print("The last column is certified from both sides; the others are what simpler rules would charge.")
