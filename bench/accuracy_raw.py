"""Errors against the raw table: what a reader of the answers compares them with. Part ``raw`` of ``bench.accuracy``.

    python -m bench.accuracy raw            trips, and five made-up kinds of table
    python -m bench.accuracy keys           products that nobody listed (Q3), users per day (Q4), on 1e6 trips
    DISCREET_ADULT=adult.csv python -m bench.accuracy raw      and Adult

Total price ε = 1, δ = 1e-8, whatever finding out costs included; medians over RUNS releases of the median over groups.
``auto``: max_rows="auto". ``caps 10``: the default of the field. ``oracle``: the best fixed cap found by looking at the
data, which is not private; its cap is printed beside ours. Bounds are declared, and the truth is that of the values
within them, as for peers in ``bench.tables errors``; in the last line of each table nobody knows bounds
(``dp.bounds("auto")``), and the truth is that of the values as they are.
"""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Callable
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

RUNS = int(os.environ.get("DISCREET_RUNS", "11"))
ROWS = 200_000
GROUPS = 40
ORACLE = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
Ints = NDArray[np.int64]


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


def answered(table: pa.Table, text: str, cap: int | str, keys: list[Any], bound: int | None) -> Any:
    declared = {"g": dp.keys(keys), "x": dp.bounds("auto") if bound is None else dp.bounds(0, bound)}
    session = dp.Session(t=dp.table(table, unit="unit", max_rows=cap, columns=declared), budget=dp.Approx(1, "1e-8"))
    return session.sql(text).release(epsilon=1)


def truth(table: pa.Table, keys: list[Any], bound: int | None = None) -> dict[str, NDArray[np.float64]]:
    """Count, sum and mean of each group; of values within a bound, if there is one."""
    g = {key: i for i, key in enumerate(keys)}
    place = np.array([g[key] for key in table["g"].to_pylist()])
    x = table["x"].to_numpy()
    n = np.bincount(place, minlength=len(keys)).astype(float)
    s = np.bincount(place, weights=x if bound is None else np.minimum(x, bound), minlength=len(keys))
    return {"n": n, "s": s, "m": s / np.maximum(n, 1)}


def within_reach(table: pa.Table, keys: list[Any], bound: int | None, cut: Any) -> dict[str, NDArray[np.float64]]:
    """Count, sum and mean of each group as intervals speak of them: of units beyond the reach of the profile, which no
    noisy number can see, what the cap leaves.
    """
    place = np.array([{key: i for i, key in enumerate(keys)}[key] for key in table["g"].to_pylist()])
    units = table["unit"].to_numpy()
    sizes = np.bincount(units)
    weight = np.where(sizes <= cut.reach, 1.0, np.minimum(sizes, cut.cap) / np.maximum(sizes, 1))[units]
    x = table["x"].to_numpy()
    n = np.bincount(place, weights=weight, minlength=len(keys)).astype(np.float64)
    s = np.bincount(place, weights=weight * (x if bound is None else np.minimum(x, bound)), minlength=len(keys)).astype(
        float
    )
    return {"n": n, "s": s, "m": s / np.maximum(n, 1)}


def errors(
    table: pa.Table, text: str, cap: int | str, keys: list[Any], bound: int | None, *, runs: int
) -> dict[str, Any]:
    """Of each column the median relative error; how often intervals hold the raw value; the cap that was used.

    Intervals are held against what they speak of: units beyond the reach of the profile count up to their cap.
    """
    true = truth(table, keys, bound)
    sizes = np.bincount(table["unit"].to_numpy())
    order = np.argsort(np.array(keys, dtype=object))
    found: dict[str, list[float]] = {}
    held: dict[str, list[float]] = {}
    caps = []
    for _ in range(runs):
        answer = answered(table, text, cap, keys, bound)
        caps.append(answer.released[0].part.caps.max_rows or 10)
        ends = answer.intervals()
        for name in answer.columns:
            if name == "g":
                continue
            real = true[name][order] if "g" in answer.columns else np.array([true[name].sum()])
            values = np.array(answer[name], dtype=float)
            found.setdefault(name, []).append(float(np.median(np.abs(values - real) / np.abs(real))))
            if name in answer.total:
                cut = answer.cut
                within = np.where(sizes <= cut.reach, sizes, np.minimum(sizes, cut.cap)).sum()
                inside = [answer.total[name][0] <= within <= answer.total[name][1]]
            else:
                said = real
                if answer.cut is not None and "g" in answer.columns:
                    said = within_reach(table, keys, bound, answer.cut)[name][order]
                inside = [low <= r <= high for r, (low, high) in zip(said, ends[name], strict=True)]
            held.setdefault(name, []).append(float(np.mean(inside)))
    return {
        "error": {name: statistics.median(column) for name, column in found.items()},
        "held": {name: statistics.fmean(column) for name, column in held.items()},
        "cap": int(statistics.median(caps)),
    }


def oracle(table: pa.Table, text: str, keys: list[Any], bound: int | None) -> tuple[int, dict[str, float]]:
    """The best fixed cap for the counts, by looking at the data."""
    tried = {cap: errors(table, text, cap, keys, bound, runs=3)["error"] for cap in ORACLE}
    best = min(tried, key=lambda cap: tried[cap]["n"])
    return best, errors(table, text, best, keys, bound, runs=RUNS)["error"]  # fresh runs: not those that it won by


def raw() -> None:
    """The table of figures."""
    shown = Table(
        "table", "question", "auto", "held", "our cap", "caps 10", "oracle", "its cap",
        title="Median relative error against the raw table, ε = 1 in all",
    )  # fmt: skip
    big = pq.read_table(trips(1_000_000), columns=["user_id", "region", "amount"]).rename_columns(["unit", "g", "x"])
    tables: dict[str, tuple[pa.Table, list[Any], int]] = {"trips, 1e6 rows": (big, list(REGIONS), 100)}
    for name, make in KINDS.items():
        tables[name] = (make(np.random.default_rng(7)), list(range(GROUPS)), BOUND.get(name, 100))
    if path := os.environ.get("DISCREET_ADULT"):
        adult = pa.csv.read_csv(path)
        tables["Adult"] = (
            pa.table({"unit": np.arange(adult.num_rows), "g": adult["education-num"], "x": adult["hours-per-week"]}),
            list(range(16)),
            100,
        )
    wanted = os.environ.get("DISCREET_TABLES", "")
    for name, (table, keys, bound) in tables.items():
        if wanted not in name:
            continue
        unknown = errors(table, ALL, "auto", keys, None, runs=RUNS)
        for what, text in (("COUNT", ONE), ("COUNT by g", COUNTS), ("COUNT, SUM, AVG by g", ALL)):
            ours, ten = (errors(table, text, cap, keys, bound, runs=RUNS) for cap in ("auto", 10))
            cap, best = oracle(table, text, keys, bound)
            shown.add_row(
                name, what, _percent(ours["error"]), _percent(ours["held"]), str(ours["cap"]), _percent(ten["error"]),
                _percent(best), str(cap),
            )  # fmt: skip
        shown.add_row(
            name, "the same, bounds unknown", _percent(unknown["error"]), _percent(unknown["held"]),
            str(unknown["cap"]), "", "", "",
        )  # fmt: skip
    Console(width=160).print(shown)


def keys() -> None:
    """Products named and the error of their counts; users per day beside the best number of groups, by looking."""
    table = pq.read_table(trips(1_000_000), columns=["user_id", "product", "day"])
    products = Counter(table["product"].to_pylist())
    pairs = pa.table({"u": table["user_id"], "d": table["day"]}).group_by(["u", "d"]).aggregate([])
    users = np.bincount(pairs["d"].to_numpy(), minlength=DAYS)

    def session(**caps: Any) -> Any:
        columns = {"product": dp.unknown_keys(), "day": dp.keys(range(DAYS))}
        return dp.Session(t=dp.table(table, unit="user_id", columns=columns, **caps), budget=dp.Approx(1, "1e-8"))

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
    return " / ".join(f"{100 * value:.2g} %" for value in errors_.values())
