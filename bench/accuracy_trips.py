"""Errors of the product on 1e6 trips with nothing declared but the unit. Parts ``trips`` and ``keys``.

    python -m bench.accuracy trips          COUNT, SUM, AVG by 50 regions: listed or not, alone or in one query
    python -m bench.accuracy keys           products that nobody listed (Q3), users per day (Q4)
    python -m bench.accuracy time           Q2 with the choice beside Q2 with declared caps and bounds

Total price ε = 1, δ = 1e-8, whatever is chosen included; medians over RUNS releases of the median over groups, against
the raw table. ``holds``: how often intervals of 95 % hold what they speak of, the rows and values within what was
chosen (of listed groups: what keys nobody listed leave out is drawn by chance). Exact numbers are computed once for all
runs: noise is fresh.
"""

from __future__ import annotations

import os
import statistics
import time as clock
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import discreet as dp
from bench.clip_choice import oracle, sums_of
from bench.floors import FLOORS
from bench.trips import DAYS, PRODUCTS, REGIONS, trips

RUNS = int(os.environ.get("DISCREET_RUNS", "41"))
MANY = 500
"""Units of a group that unlisted keys are measured on."""
ASKED = {"n": "COUNT(*) AS n", "s": "SUM(amount) AS s", "m": "AVG(amount) AS m"}
WANTED: dict[str, tuple[float, ...]] = {"n": (4,), "s": (5,), "m": (2,), "ns": (7, 8.5), "nsm": (7, 8.5, 2.5)}
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Remembered:
    """An engine whose exact numbers are computed once: noise is fresh in every run, and a run costs little."""

    name = "duckdb"

    def __init__(self) -> None:
        self._inner = dp.engines.duckdb()
        self._columns: dict[int, Any] = {}
        self._found: dict[Any, Any] = {}

    def columns(self, source: Any) -> Any:
        if id(source) not in self._columns:
            self._columns[id(source)] = self._inner.columns(source)
        return self._columns[id(source)]

    def run(self, works: Any, schemas: Any) -> tuple[Any, ...]:
        for work in works:
            if work not in self._found:
                (self._found[work],) = self._inner.run((work,), schemas)
        return tuple(self._found[work] for work in works)


class Trips:
    """The table, asked again and again, and its exact numbers."""

    def __init__(self, key: str, keys: list[str]) -> None:
        columns = ["user_id", key, "amount"]
        self.table = pq.read_table(trips(1_000_000), columns=columns).rename_columns(["unit", "g", "x"])
        self.keys = keys
        place = {name: i for i, name in enumerate(keys)}
        self.group: Ints = np.array([place[name] for name in self.table["g"].to_pylist()])
        self.unit: Ints = np.unique(self.table["unit"].to_numpy(), return_inverse=True)[1]
        self.x: Floats = self.table["x"].to_numpy()
        self.engine = Remembered()

    def answered(self, asked: str, *, listed: bool = True, **caps: Any) -> Any:
        """One release of the whole price."""
        columns = {"g": dp.keys(self.keys)} if listed else {}
        if "bound" in caps:
            columns["x"] = dp.bounds(0, caps.pop("bound"), nullable=False)
        session = dp.Session(
            t=dp.table(self.table, unit="unit", columns=columns, **caps),
            budget=dp.Approx(1, "1e-8"),
            engine=self.engine,
        )
        wanted = ", ".join(ASKED[name].replace("amount", "x") for name in asked)
        return session.sql(f"SELECT g, {wanted} FROM t GROUP BY g").release(epsilon=1)

    def sums(self, values: Floats, length: float | None = None) -> Floats:
        """Of each group, units scaled down to a length."""
        if length is None:
            return np.bincount(self.group, weights=values, minlength=len(self.keys)).astype(np.float64)
        pairs, at = np.unique(self.unit * len(self.keys) + self.group, return_inverse=True)
        summed = np.bincount(at, weights=values)
        owner = pairs // len(self.keys)
        longest = np.bincount(owner, weights=np.abs(summed))
        weight = np.minimum(1.0, length / np.maximum(longest, 1e-12))[owner]
        scaled = np.bincount(pairs % len(self.keys), weights=summed * weight, minlength=len(self.keys))
        return scaled.astype(np.float64)

    def truth(self) -> dict[str, Floats]:
        """Of the raw table."""
        n, s = self.sums(np.ones_like(self.x)), self.sums(self.x)
        return {"n": n, "s": s, "m": s / np.maximum(n, 1)}

    def units(self) -> Ints:
        """Of each group."""
        pairs = np.unique(self.unit * len(self.keys) + self.group)
        return np.bincount(pairs % len(self.keys), minlength=len(self.keys))

    def within(self, answer: Any, name: str) -> Floats:
        """What an answer speaks of: rows and values within what was chosen for it."""
        part = answer.released[0].part
        measure = next(one for one in part.measures if one.measure.name == name)
        n = self.sums(np.ones_like(self.x), part.caps.max_rows)
        if name == "n":
            return n
        kind = measure.arguments[0].kind
        step, clip = float(kind.step), float(measure.clip * kind.step)
        x = np.clip(self.x, max(kind.low * step, measure.centre * step - clip), kind.high * step)
        x = np.minimum(x, measure.centre * step + clip)
        distances, centre = self.sums(x - measure.centre * step, clip), measure.centre * step
        return np.asarray(distances + centre * n if name == "s" else centre + distances / n)


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one column of an answer."""

    error: float
    of_many: float
    """In groups of many units."""
    bar: float
    """Beside the value, in the group of median size."""
    holds: float | None
    raw: float
    """How often intervals hold the number of the raw table."""
    shown: float


def measured(table: Trips, asked: str, *, listed: bool, runs: int = RUNS) -> dict[str, Figures]:
    """Of each column."""
    truth, units = table.truth(), table.units()
    place = {name: i for i, name in enumerate(table.keys)}
    middle = int(np.argsort(truth["n"])[len(truth["n"]) // 2])
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in asked}
    for _ in range(runs):
        answer = table.answered(asked, listed=listed)
        at, ends = np.array([place[name] for name in answer["g"]]), answer.intervals()
        for name in asked:
            real = truth[name][at]
            values = np.array([np.nan if one is None else one for one in answer[name]], dtype=float)
            low, high = np.array([one or (-np.inf, np.inf) for one in ends[name]], dtype=float).T
            off, many = np.abs(values - real) / np.abs(real), units[at] >= MANY
            bar = float(((high - low) / 2 / np.abs(real))[at == middle].sum()) if middle in at else np.nan
            holds = np.nan
            if listed:
                spoken = table.within(answer, name)[at]
                slack = 1e-6 * np.abs(spoken) + 1e-6
                holds = float(np.mean((low <= spoken + slack) & (spoken - slack <= high)))
            raw = float(np.mean((low <= real) & (real <= high)))
            found[name].append((float(np.nanmedian(off)), float(np.nanmedian(off[many])), bar, holds, raw, len(at)))
    return {name: _figures(np.array(runs_)) for name, runs_ in found.items()}


def _figures(runs: Floats) -> Figures:
    error, of_many, bar, _, _, shown = np.nanmedian(runs, axis=0)
    holds = None if np.isnan(runs[:, 3]).any() else float(runs[:, 3].mean())
    return Figures(float(error), float(of_many), float(bar), holds, float(runs[:, 4].mean()), float(shown))


def regions() -> None:
    """COUNT, SUM and AVG by 50 regions."""
    table = Trips("region", list(REGIONS))
    best = {
        name: oracle(sums_of(table.unit, table.group, np.round(100 * x).astype(np.int64), 50), np.random.default_rng(3))
        for name, x in (("n", np.full(len(table.x), 0.01)), ("s", table.x))
    }
    shown = Table("asked", "keys", "", "error", "asked for", "best clip by looking", f"groups of {MANY} units", "bar",
                  "holds", "holds the raw number", "groups shown",
                  title=f"Trips by region, nothing declared but the unit, ε = 1 in all, {RUNS} runs")  # fmt: skip
    for asked in os.environ.get("DISCREET_ASKED", "n s m nsm").split():
        for listed in (True, False):
            for (name, one), most in zip(measured(table, asked, listed=listed).items(), WANTED[asked], strict=True):
                shown.add_row(
                    "alone" if len(asked) == 1 else "together", "listed" if listed else "not listed", ASKED[name][:3],
                    _percent(one.error), f"{most:g} %" if listed else "", _percent(best[name]) if name in best else "",
                    _percent(one.of_many), _percent(one.bar), "" if one.holds is None else f"{one.holds:.1%}",
                    f"{one.raw:.0%}", f"{one.shown:.0f}",
                )  # fmt: skip
    Console(width=170).print(shown)


def products() -> None:
    """Products named and the error of their counts and sums; users per day beside the best number of groups."""
    table = Trips("product", list(PRODUCTS))
    shown = Table("question", "shown", "error", title=f"1e6 trips, ε = 1 in all, nothing declared, {RUNS} runs")
    for asked in ("n", "s"):
        (one,) = measured(table, asked, listed=False).values()
        shown.add_row(f"{ASKED[asked]} by product", f"{one.shown:.0f}", _percent(one.error))
    Console(width=120).print(shown)
    days = pq.read_table(trips(1_000_000), columns=["user_id", "day"])
    pairs = days.group_by(["user_id", "day"]).aggregate([])
    users = Counter(pairs["day"].to_pylist())
    truth, engine = np.array([users[day] for day in range(DAYS)]), Remembered()

    def per_day(**caps: Any) -> float:
        found = []
        for _ in range(RUNS):
            declared = dp.table(days, unit="user_id", columns={"day": dp.keys(range(DAYS))}, **caps)
            session = dp.Session(t=declared, budget=dp.Approx(1, "1e-8"), engine=engine)
            answer = session.sql("SELECT day, COUNT(DISTINCT user_id) AS n FROM t GROUP BY day").release(epsilon=1)
            found.append(float(np.median(np.abs(np.array(answer["n"]) - truth) / truth)))
        return statistics.median(found)

    tried = {many: per_day(max_groups=many, max_rows_per_group=1) for many in (5, 10, 20, 40, 80, 160)}
    best = min(tried, key=lambda many: tried[many])
    shown = Table("question", "chosen", "10 groups", "best by looking", title="Q4: users per day")
    shown.add_row("COUNT(DISTINCT user_id) by day", _percent(per_day()), _percent(tried[10]),
                  f"{_percent(tried[best])} at {best} groups")  # fmt: skip
    Console(width=120).print(shown)


def time() -> None:
    """Q2 (COUNT and SUM by region) with the choice, beside the same with everything declared, and beside its floor: one
    pass over rows and one over units, in plain SQL without noise.
    """
    rows = int(float(os.environ.get("DISCREET_ROWS", "1e6")))
    path = trips(rows)
    text = "SELECT region, COUNT(*) AS n, SUM(amount) AS s FROM t GROUP BY region"
    key = {"region": dp.keys(REGIONS)}
    declared = {**key, "amount": dp.bounds(0, 100, nullable=False)}
    tables: dict[str, Any] = {
        "chosen": lambda: dp.table(path, unit="user_id", columns=key),
        "declared": lambda: dp.table(path, unit="user_id", columns=declared, max_rows=100),
    }
    asked: dict[str, Callable[[], object]] = {
        name: partial(lambda make: dp.Session(t=make(), budget=dp.Approx(1, "1e-8")).sql(text).release(epsilon=1), make)
        for name, make in tables.items()
    }
    asked["floor"] = lambda: duckdb.execute(FLOORS["Q2"].format(source=f"read_parquet('{path}')")).fetchall()
    best = dict.fromkeys(asked, np.inf)
    for _ in range(int(os.environ.get("DISCREET_TIMED", "5"))):
        for name, ask in asked.items():
            start = clock.perf_counter()
            ask()
            best[name] = min(best[name], clock.perf_counter() - start)
    shown = Table("", "seconds", title=f"Q2 of {rows:,} trips, the best of five")
    for name, seconds in best.items():
        shown.add_row(name, f"{seconds:.2f}")
    shown.add_row("chosen / declared", f"{best['chosen'] / best['declared']:.2f}")
    shown.add_row("chosen / floor", f"{best['chosen'] / best['floor']:.2f}")
    Console().print(shown)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.9 else f"{100 * share:.3g} %"
