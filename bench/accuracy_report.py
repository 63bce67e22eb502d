"""A report of 12 tables of Adult as one plan, beside the same one by one. Part ``report`` of ``bench.accuracy``.

DISCREET_ADULT=adult.csv python -m bench.accuracy report
"""

from __future__ import annotations

import os
import statistics
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from rich.console import Console
from rich.table import Table

import discreet as dp

RUNS = int(os.environ.get("DISCREET_RUNS", "41"))
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
    shown.add_row(
        "ratio", f"{means[0] / means[1]:.2f}", f"predicted {plan.saving:.2f}, {plan.program.answer.quote.plan.noise}"
    )
    Console(width=160).print(shown)
