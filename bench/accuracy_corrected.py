"""Bars of corrected groups on tables that nothing was chosen on. Part ``corrected`` of ``bench.accuracy``.

    python -m bench.accuracy corrected                        all kinds
    DISCREET_TABLES=bots python -m bench.accuracy corrected   one of them

Kinds of users that lie in groups of their own, and some that do not. Price ε = 1 in all, caps chosen, medians over
groups and RUNS releases; ``held``: how often intervals of 95 % hold, where the lower end speaks of all rows and the
upper one of units within the reach of the profile. ``corrected``: how many of the releases were.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from bench.accuracy_raw import ALL, COUNTS, GROUPS, Case, Ints

RUNS = int(os.environ.get("DISCREET_RUNS", "20"))
SEED = int(os.environ.get("DISCREET_SEED", "19"))
Made = tuple[Ints, Ints]
"""How many rows each unit has, and which group is its own."""


def _even(rng: np.random.Generator, units: int, groups: range = range(GROUPS)) -> Ints:
    return rng.integers(groups.start, groups.stop, units)


def _skewed(rng: np.random.Generator, units: int, skew: float = 1.2) -> Ints:
    chances = np.arange(1, GROUPS + 1, dtype=float) ** -skew
    return rng.choice(GROUPS, units, p=chances / chances.sum())


def _joined(*some: Made) -> Made:
    sizes, homes = zip(*some, strict=True)
    return np.concatenate(sizes), np.concatenate(homes)


def _heavy(rng: np.random.Generator, mean: Any, spread: float, units: int | None = None) -> Ints:
    return np.ceil(rng.lognormal(mean, spread, units)).astype(np.int64)


def two_kinds(rng: np.random.Generator) -> Made:
    """Many small users in 30 groups, few large ones in the other 10."""
    light = 1 + rng.poisson(2, 16_000), _even(rng, 16_000, range(30))
    return _joined(light, (_heavy(rng, 5.0, 0.4, 800), _even(rng, 800, range(30, GROUPS))))


def bots(rng: np.random.Generator) -> Made:
    """A few users with very many rows, in three groups."""
    people = 1 + rng.poisson(3, 20_000), _skewed(rng, 20_000)
    return _joined(people, (rng.integers(60, 200, 300), _even(rng, 300, range(17, 20))))


def hidden(rng: np.random.Generator) -> Made:
    """Users are alike below any small cap; in eight groups one in twenty has many rows."""
    home = _even(rng, 16_000)
    many = (home < 8) & (rng.random(16_000) < 0.05)
    return np.where(many, rng.integers(100, 200, 16_000), _heavy(rng, 1.2, 0.8, 16_000)), home


def gradient(rng: np.random.Generator) -> Made:
    """Users are larger from group to group, ten times from the first to the last."""
    home = _even(rng, 16_000)
    return _heavy(rng, 1 + np.log(10) * home / GROUPS, 0.9), home


def shops(rng: np.random.Generator) -> Made:
    """Small groups that belong to one large user each, beside groups of many small ones."""
    people = _heavy(rng, 1.2, 0.8, 15_000), _even(rng, 15_000, range(25))
    return _joined(people, (_heavy(rng, 6.0, 0.5, 15), np.arange(25, GROUPS)))


def capital(rng: np.random.Generator) -> Made:
    """Half of all users in one group, where they are large; small ones elsewhere."""
    home = np.where(rng.random(14_000) < 0.5, 0, _even(rng, 14_000))
    return _heavy(rng, np.where(home == 0, 2.6, 0.8), 1.0), home


def halves(rng: np.random.Generator) -> Made:
    """In every other group users are six times as large."""
    home = _skewed(rng, 14_000, 0.7)
    return _heavy(rng, 1 + np.log(6) * (home % 2), 0.8), home


def heavy(rng: np.random.Generator) -> Made:
    """Heavy tails, alike in all groups."""
    return _heavy(rng, 1.5, 1.3, 14_000), _skewed(rng, 14_000)


def even(rng: np.random.Generator) -> Made:
    """The same, in groups of the same size."""
    return _heavy(rng, 1.5, 1.3, 14_000), _even(rng, 14_000)


def light(rng: np.random.Generator) -> Made:
    """Light tails, alike in all groups."""
    return 1 + rng.poisson(4, 16_000), _skewed(rng, 16_000)


KINDS: dict[str, tuple[Callable[[np.random.Generator], Made], float]] = {
    "two kinds": (two_kinds, 1.0), "bots": (bots, 1.0), "gradient": (gradient, 0.9), "shops": (shops, 0.95),
    "capital": (capital, 1.0), "hidden": (hidden, 1.0), "halves": (halves, 0.8), "heavy tails": (heavy, 0.5),
    "even groups": (even, 0.5), "light tails": (light, 0.5),
}  # fmt: skip
"""With the share of its rows that a unit has in its own group."""


def case(kind: str, seed: int = SEED) -> Case:
    """A table of this kind."""
    make, tied = KINDS[kind]
    rng = np.random.default_rng(seed)
    sizes, home = make(rng)
    unit = np.repeat(np.arange(len(sizes)), sizes)
    group = np.where(rng.random(len(unit)) < tied, home[unit], home[rng.permutation(len(home))][unit])
    table = pa.table({"unit": unit, "g": group, "x": np.round(rng.lognormal(2, 1, len(unit)), 2)})
    return Case(table, list(range(GROUPS)), 100)


def measured(one: Case, text: str, runs: int = RUNS) -> dict[str, Any]:
    """Of counts and sums: error, length and how often bars hold; how many releases were corrected, and caps."""
    true = one.truth()
    error: dict[str, list[float]] = {}
    length: dict[str, list[float]] = {}
    held: dict[str, list[float]] = {}
    corrected, caps = 0, []
    for _ in range(runs):
        answer = one.answered(text, "auto")
        part, ends = answer.released[0].part, answer.intervals()
        caps.append(part.caps.max_rows or 10)
        whole = [name for name in "ns" if any("multiplied" in n and n.startswith(f"{name} is") for n in answer.notes)]
        corrected += bool(whole)
        for name in set(answer.columns) & {"n", "s"}:
            low, high = np.array(ends[name], dtype=float).T
            kind = next((m.arguments[0].kind for m in part.measures if m.measure.name == name and m.arguments), None)
            bounds = None if kind is None else (float(kind.low * kind.step), float(kind.high * kind.step))
            most, cap = (answer.cut.reach if name in whole else 0), caps[-1]
            within = one.truth(lambda n: np.where(n <= most, 1.0, np.minimum(1.0, cap / n)), bounds)[name]  # noqa: B023
            every = one.truth(None, bounds)[name] if name in whole else within
            held.setdefault(name, []).append(float(np.mean((low <= every + 1e-6) & (within - 1e-6 <= high))))
            error.setdefault(name, []).append(float(np.median(np.abs(answer[name] - true[name]) / true[name])))
            if name in whole:
                length.setdefault(name, []).append(float(np.median(np.array(answer.errors()[name]) / true[name])))
    return {
        "error": {name: statistics.median(error[name]) for name in sorted(error)},
        "held": {name: statistics.fmean(held[name]) for name in sorted(held)},
        "bars": {name: statistics.median(length[name]) for name in sorted(length)},
        "corrected": corrected,
        "cap": int(statistics.median(caps)),
    }


def corrected() -> None:
    """The figures."""
    shown = Table("table", "question", "error", "held", "bars", "corrected", "cap",
                  title=f"groups corrected by a total, ε = 1 in all, {RUNS} releases each")  # fmt: skip
    wanted = os.environ.get("DISCREET_TABLES", "")
    for name in KINDS:
        if wanted in name:
            one = case(name)
            for what, text in (("COUNT", COUNTS), ("COUNT, SUM, AVG", ALL)):
                found = measured(one, text)
                texts = [
                    " / ".join(f"{100 * x:.3g} %" for x in found[key].values()) for key in ("error", "held", "bars")
                ]
                shown.add_row(name, what, *texts, str(found["corrected"]), str(found["cap"]))
                print(name, what, *texts, found["corrected"], found["cap"], sep=" | ", file=sys.stderr, flush=True)
    Console(width=130).print(shown)


if __name__ == "__main__":
    corrected()
