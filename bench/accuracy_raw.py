"""Errors against the raw table: what a reader of the answers compares them with. Part ``raw`` of ``bench.accuracy``.

    python -m bench.accuracy raw            trips, and five made-up kinds of table
    python -m bench.accuracy keys           products that nobody listed (Q3), users per day (Q4), on 1e6 trips
    DISCREET_ADULT=adult.csv python -m bench.accuracy raw      and Adult

Total price ε = 1, δ = 1e-8, whatever finding out costs included; medians over RUNS releases of the median over groups.
``auto``: max_rows="auto". ``caps 10``: the default of the field. ``oracle``: the best fixed cap found by looking at the
data, which is not private; its cap is printed beside ours. ``held``: how often intervals of 95 % hold what they speak
of. Exact numbers are computed once for all runs: noise is fresh.

Bounds are declared, and the truth is that of the values within them, as for peers in ``bench.tables errors``; in the
last line of each table nobody knows bounds (``dp.bounds("auto")``), and the truth is that of the values as they are.
"""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import discreet as dp
from bench.trips import DAYS, REGIONS, trips

RUNS = int(os.environ.get("DISCREET_RUNS", "41"))
ALONE = 10
"""Of one number, and of few groups, there are so many times as many runs: no median over groups makes them steady."""
FEW = 20
ROWS = 200_000
GROUPS = 40
ORACLE = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
Ints = NDArray[np.int64]
Truth = dict[str, NDArray[np.float64]]


# --- tables -----------------------------------------------------------------------------------------------------------


def _rows(sizes: Ints, rng: np.random.Generator, *, tied: float = 0.5, skew: float = 1.2) -> pa.Table:
    """Units of these sizes; each has a share ``tied`` of its rows in a group of its own."""
    unit = np.repeat(np.arange(len(sizes)), sizes)
    chances = np.arange(1, GROUPS + 1, dtype=float) ** -skew
    chances /= chances.sum()
    home = rng.choice(GROUPS, len(sizes), p=chances)
    away = rng.choice(GROUPS, len(unit), p=chances)
    group = np.where(rng.random(len(unit)) < tied, home[unit], away)
    return pa.table({"unit": unit, "g": group, "x": np.round(rng.lognormal(2, 1, len(unit)), 2)})


def light(rng: np.random.Generator) -> pa.Table:
    return _rows(1 + rng.poisson(4, ROWS // 5), rng)


def heavy(rng: np.random.Generator) -> pa.Table:
    return _rows(np.ceil(rng.lognormal(1.7, 1.4, ROWS // 15)).astype(np.int64), rng)


def giants(rng: np.random.Generator) -> pa.Table:
    sizes = 1 + rng.poisson(4, ROWS // 6)
    sizes[:5] = ROWS // 50
    return _rows(sizes, rng)


def tied(rng: np.random.Generator) -> pa.Table:
    return _rows(np.ceil(rng.lognormal(1.7, 1.2, ROWS // 11)).astype(np.int64), rng, tied=1.0)


def skewed(rng: np.random.Generator) -> pa.Table:
    found = _rows(np.ceil(rng.lognormal(1.5, 1, ROWS // 7)).astype(np.int64), rng)
    values = np.exp(rng.uniform(0, np.log(1e6), found.num_rows))
    return found.set_column(2, "x", pa.array(values))


KINDS: dict[str, Callable[[np.random.Generator], pa.Table]] = {
    "light tails": light, "heavy tails": heavy, "a few giants": giants, "units tied to groups": tied,
    "values skewed 1e6:1": skewed,
}  # fmt: skip
BOUND = {"values skewed 1e6:1": 1_000_000}


# --- asking -----------------------------------------------------------------------------------------------------------

COUNTS = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
ALL = "SELECT g, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t GROUP BY g"
ONE = "SELECT COUNT(*) AS n FROM t"


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


@dataclass(frozen=True)
class Case:
    """A table with a unit, a key ``g`` and a number ``x``, to be asked again and again."""

    table: pa.Table
    keys: list[Any]
    bound: int | None
    engine: Remembered = field(default_factory=Remembered)

    @cached_property
    def _places(self) -> Ints:
        place = {key: i for i, key in enumerate(sorted(self.keys))}
        return np.array([place[key] for key in self.table["g"].to_pylist()])

    @cached_property
    def _units(self) -> Ints:
        return np.asarray(np.unique(self.table["unit"].to_numpy(), return_inverse=True)[1])

    def answered(self, text: str, cap: int | str) -> Any:
        declared = {"g": dp.keys(self.keys), "x": dp.bounds("auto") if self.bound is None else dp.bounds(0, self.bound)}
        table = dp.table(self.table, unit="unit", max_rows=cap, columns=declared)
        return dp.Session(t=table, budget=dp.Approx(1, "1e-8"), engine=self.engine).sql(text).release(epsilon=1)

    def truth(self, weigh: Callable[[Ints], Any] | None = None, ends: tuple[float, float] | None = None) -> Truth:
        """Count, sum and mean of each group, by key; ``weigh``: what a row of a unit with so many rows counts."""
        units = np.bincount(self._units)[self._units]
        weight = np.ones(len(units)) if weigh is None else weigh(units)
        x = self.table["x"].to_numpy()
        x = np.clip(x, *((0, self.bound or np.inf) if ends is None else ends))
        n, s = (
            np.bincount(self._places, weights=w, minlength=len(self.keys)).astype(float) for w in (weight, weight * x)
        )
        return {"n": n, "s": s, "m": s / np.maximum(n, 1)}


def _spoken_of(case: Case, answer: Any, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What the lower and the upper end of a column's interval are about: the rows that count; all rows of units within
    the reach of the profile, which no noisy number can see beyond, where it was corrected or cut and noise are in it
    together. The lower end of what was corrected is about all rows: a larger cap may have seen more of them.
    """
    part, cut = answer.released[0].part, answer.cut
    cap = part.caps.max_rows or 10
    kind = next((m.arguments[0].kind for m in part.measures if m.measure.name == name and m.arguments), None)
    ends = None if kind is None else (float(kind.low * kind.step), float(kind.high * kind.step))
    said = tuple(f"{name} is corrected: {how} were multiplied" for how in ("all groups", "groups"))
    corrected = any(note.startswith(said) for note in answer.notes)

    def weigh(sizes: Ints) -> Any:
        kept = np.minimum(1.0, cap / sizes)
        whole = name in answer.total or corrected
        return np.where(sizes <= cut.reach, 1.0, kept) if whole and cut is not None else kept

    upper = case.truth(weigh, ends)[name]
    return (case.truth(None, ends)[name] if corrected else upper), upper


def errors(case: Case, text: str, cap: int | str, *, runs: int = RUNS) -> dict[str, Any]:
    """Of each column the median relative error against the raw table; how often intervals hold what they speak of; the
    cap that was used.
    """
    true = case.truth()
    found: dict[str, list[float]] = {}
    held: dict[str, list[float]] = {}
    caps = []
    for _ in range(runs):
        answer = case.answered(text, cap)
        caps.append(answer.released[0].part.caps.max_rows or 10)
        grouped, ends = "g" in answer.columns, answer.intervals()
        for name in set(answer.columns) - {"g"}:
            real = true[name] if grouped else np.array([true[name].sum()])
            values = np.array(answer[name], dtype=float)
            found.setdefault(name, []).append(float(np.median(np.abs(values - real) / np.abs(real))))
            if cap == "auto":
                first, last = (one if grouped else np.array([one.sum()]) for one in _spoken_of(case, answer, name))
                low, high = np.array([answer.total[name]] if name in answer.total else ends[name], dtype=float).T
                held.setdefault(name, []).append(float(np.mean((low <= first + 1e-6) & (last - 1e-6 <= high))))
    order = [name for name in "nsm" if name in found]
    return {
        "error": {name: statistics.median(found[name]) for name in order},
        "held": {name: statistics.fmean(held[name]) for name in order if name in held},
        "cap": int(statistics.median(caps)),
    }


def oracle(case: Case, text: str, runs: int) -> tuple[int, dict[str, float]]:
    """The best fixed cap for the counts, by looking at the data."""
    tried = {cap: errors(case, text, cap)["error"] for cap in ORACLE}
    best = min(tried, key=lambda cap: tried[cap]["n"])
    return best, errors(case, text, best, runs=runs)["error"]  # fresh runs: not those that it won by


def raw() -> None:
    """The figures, one table of data after the other."""
    big = pq.read_table(trips(1_000_000), columns=["user_id", "region", "amount"]).rename_columns(["unit", "g", "x"])
    cases = {"trips, 1e6 rows": Case(big, list(REGIONS), 100)}
    for name, make in KINDS.items():
        cases[name] = Case(make(np.random.default_rng(7)), list(range(GROUPS)), BOUND.get(name, 100))
    if path := os.environ.get("DISCREET_ADULT"):
        adult = pa.csv.read_csv(path)
        columns = {"unit": np.arange(adult.num_rows), "g": adult["education-num"], "x": adult["hours-per-week"]}
        cases["Adult"] = Case(pa.table(columns), list(range(16)), 100)
    wanted = os.environ.get("DISCREET_TABLES", "")
    for name, case in cases.items():
        if wanted in name:
            Console(width=150).print(_figures(name, case))


def _figures(name: str, case: Case) -> Table:
    shown = Table(
        "question", "auto", "held", "our cap", "caps 10", "oracle", "its cap", "ratio",
        title=f"{name}: median relative error against the raw table, ε = 1 in all, {RUNS} runs",
    )  # fmt: skip
    for what, text in (("COUNT", ONE), ("COUNT by g", COUNTS), ("COUNT, SUM, AVG by g", ALL)):
        runs = RUNS * (ALONE if text == ONE or len(case.keys) < FEW else 1)
        ours, ten = (errors(case, text, cap, runs=runs) for cap in ("auto", 10))
        cap, best = oracle(case, text, runs)
        shown.add_row(
            what, _percent(ours["error"]), _percent(ours["held"]), str(ours["cap"]), _percent(ten["error"]),
            _percent(best), str(cap), f"{ours['error']['n'] / best['n']:.2f}",
        )  # fmt: skip
    unknown = errors(replace(case, bound=None), ALL, "auto")
    shown.add_row(
        "the same, bounds unknown", _percent(unknown["error"]), _percent(unknown["held"]), str(unknown["cap"])
    )
    return shown


def keys() -> None:
    """Products named and the error of their counts; users per day beside the best number of groups, by looking."""
    table = pq.read_table(trips(1_000_000), columns=["user_id", "product", "day"])
    products = Counter(table["product"].to_pylist())
    pairs = pa.table({"u": table["user_id"], "d": table["day"]}).group_by(["u", "d"]).aggregate([])
    users = np.bincount(pairs["d"].to_numpy(), minlength=DAYS)

    engine = Remembered()

    def session(**caps: Any) -> Any:
        columns = {"product": dp.unknown_keys(), "day": dp.keys(range(DAYS))}
        declared = dp.table(table, unit="user_id", columns=columns, **caps)
        return dp.Session(t=declared, budget=dp.Approx(1, "1e-8"), engine=engine)

    def per_day(**caps: Any) -> float:
        found = []
        for _ in range(RUNS):
            answer = (
                session(**caps).sql("SELECT day, COUNT(DISTINCT user_id) AS n FROM t GROUP BY day").release(epsilon=1)
            )
            found.append(float(np.median(np.abs(np.array(answer["n"]) - users) / users)))
        return statistics.median(found)

    shown = Table(
        "question", "auto", "max_groups 10, one row in each", "best by looking", title="1e6 trips, ε = 1 in all"
    )
    named = {}
    for name, caps in (("auto", {}), ("ten", {"max_groups": 10, "max_rows_per_group": 1})):
        runs = []
        for _ in range(RUNS):
            answer = session(**caps).sql("SELECT product, COUNT(*) AS n FROM t GROUP BY product").release(epsilon=1)
            off = [abs(n - products[k]) / products[k] for k, n in zip(answer["product"], answer["n"], strict=True)]
            runs.append((len(off), statistics.median(off)))
        named[name] = (
            f"{statistics.median(n for n, _ in runs):.0f}, {100 * statistics.median(e for _, e in runs):.2g} %"
        )
    shown.add_row("Q3: products named, error of their counts", named["auto"], named["ten"], "")
    tried = {g: per_day(max_groups=g, max_rows_per_group=1) for g in (5, 10, 20, 40, 80, 160)}
    best = min(tried, key=lambda g: tried[g])
    shown.add_row(
        "Q4: users per day",
        f"{100 * per_day():.2g} %",
        f"{100 * tried[10]:.2g} %",
        f"{100 * tried[best]:.2g} % at {best}",
    )
    Console(width=160).print(shown)


REPORT = (
    "SELECT education, COUNT(*) AS n FROM t GROUP BY education",
    "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex",
    "SELECT race, COUNT(*) AS n FROM t GROUP BY race",
    "SELECT marital, COUNT(*) AS n FROM t GROUP BY marital",
    "SELECT sex, race, COUNT(*) AS n FROM t GROUP BY sex, race",
    "SELECT sex, marital, COUNT(*) AS n FROM t GROUP BY sex, marital",
    "SELECT sex, education, COUNT(*) AS n FROM t GROUP BY sex, education",
    "SELECT race, marital, COUNT(*) AS n FROM t GROUP BY race, marital",
    "SELECT education, AVG(hours) AS m FROM t GROUP BY education",
    "SELECT sex, AVG(hours) AS m FROM t GROUP BY sex",
    "SELECT marital, AVG(age) AS m FROM t GROUP BY marital",
    "SELECT race, AVG(age) AS m FROM t GROUP BY race",
)


def report() -> None:
    """Adult: 12 one- and two-way tables and means, as one plan for ε = 1, beside one by one for ε/12 each."""
    names = ["education-num", "sex", "race", "marital-status", "age", "hours-per-week"]
    raw_ = pa.csv.read_csv(os.environ["DISCREET_ADULT"]).select(names)
    adult = raw_.rename_columns(["education", "sex", "race", "marital", "age", "hours"])
    adult = adult.append_column("u", pa.array(np.arange(adult.num_rows)))
    sizes = {"education": 16, "sex": 2, "race": 5, "marital": 7}
    columns = {name: dp.keys(range(many)) for name, many in sizes.items()}
    bounded = {"age": dp.bounds(0, 100, nullable=False), "hours": dp.bounds(0, 100, nullable=False)}
    table = dp.table(adult, unit="u", max_rows=1, columns={**columns, **bounded})
    exact = dp.Session(t=table, budget=dp.Pure(10**9))
    truths = [exact.sql(text).release(epsilon=10**7) for text in REPORT]
    names = [text.removeprefix("SELECT ").split(", COUNT")[0].split(", AVG")[0] for text in REPORT]
    counts = [exact.sql(f"SELECT {k}, COUNT(*) AS n FROM t GROUP BY {k}").release(epsilon=10**7)["n"] for k in names]

    def off(answers: Any) -> list[float]:
        found = []
        for answer, true, many in zip(answers, truths, counts, strict=True):
            name = answer.columns[-1]
            pairs = [(a, b) for a, b, n in zip(answer[name], true[name], many, strict=True) if n >= 100]
            found.append(statistics.fmean(abs(a - b) / b for a, b in pairs))
        return found

    runs: dict[str, list[list[float]]] = {"plan": [], "one by one": []}
    for _ in range(RUNS):
        own = dp.Session(t=table, budget=dp.Approx(1, "1e-8"))
        plan = own.plan(list(REPORT), epsilon=1)
        runs["plan"].append(off(plan.release()))
        alone = dp.Session(t=table, budget=dp.Approx(1, "1e-8"), rule=dp.Rule.BASIC)
        runs["one by one"].append(off([alone.sql(text).release(epsilon="1/12") for text in REPORT]))
    shown = Table(
        "question", *runs, title="Adult report: mean relative error over groups of 100 rows and more, medians over runs"
    )
    middle = {name: [statistics.median(column) for column in zip(*some, strict=True)] for name, some in runs.items()}
    for i, text in enumerate(REPORT):
        shown.add_row(text.split(" FROM")[0].removeprefix("SELECT "), *(f"{100 * middle[n][i]:.2g} %" for n in runs))
    means = [statistics.fmean(middle[name]) for name in runs]
    shown.add_row("mean", *(f"{100 * one:.2g} %" for one in means), end_section=True)
    shown.add_row("ratio", f"{means[0] / means[1]:.2f}", f"predicted {plan.saving:.2f}, {plan.order.quote.plan.noise}")
    Console(width=160).print(shown)


def _percent(errors_: dict[str, float]) -> str:
    return " / ".join(f"{100 * value:.{3 if value > 0.9 else 2}g} %" for value in errors_.values())
