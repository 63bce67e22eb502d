"""Errors against the raw table, ours beside peers: Q2 of 1e6 trips. Part ``peers`` of ``bench.accuracy``.

    .venv-bench/bin/python -m bench.accuracy peers          DISCREET_PEERS=OpenDP leaves others out

Everyone has ε = 1, δ = 1e-8 in all. Peers with the caps of the field (10 groups of a user, one row in each; values from
0 to 100), and with the best of ``CAPS``, found by looking at the data, which is not private. A peer that is not
installed is left out.
Tumult pins a Spark of its own: DISCREET_TUMULT=/path/to/python names an environment with tmlt.analytics and duckdb.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from bench.accuracy_trips import RUNS, Trips
from bench.table_runs import Run, opendp, pipeline_dp
from bench.trips import REGIONS, trips

ROWS = (16, 32, 64, 128, 256, 512)
"""Of a user, for our fixed caps."""
CAPS = ((10, 1), (5, 10), (5, 40), (10, 20), (20, 40))
"""Groups of a user, and rows in each."""


def tumult(question: str, path: Path, repeats: int, *, groups: int, each: int) -> Run:
    """In an environment of its own."""
    rows = str(pq.read_metadata(path).num_rows)
    command = [os.environ["DISCREET_TUMULT"], "-m", "bench.table_runs", "tumult", question, rows, str(repeats)]
    done = subprocess.run([*command, str(groups), str(each)], capture_output=True, text=True, check=True)
    return Run(**json.loads(done.stdout.splitlines()[-1]))


PEERS: dict[str, tuple[str, Callable[..., Any]]] = {
    "OpenDP": ("opendp", opendp),
    "OpenDP, Gaussian": ("opendp", lambda *a, **k: opendp(*a, **k, gaussian=True)),
    "PipelineDP": ("pipeline_dp", pipeline_dp),
    "PipelineDP, Gaussian": ("pipeline_dp", lambda *a, **k: pipeline_dp(*a, **k, gaussian=True)),
    "Tumult": (os.environ.get("DISCREET_TUMULT", ""), tumult),
}


def peers() -> None:
    """One line for each: with its defaults, and with the best caps by hand."""
    warnings.simplefilter("ignore")
    path = trips(1_000_000)
    table = Trips("region", list(REGIONS))
    true = table.truth()
    real = {key: [true[name][i] for name in "nsm"] for i, key in enumerate(REGIONS)}

    def off(rows: Any) -> list[float]:
        pairs = [
            [1.0 if v is None else abs(v - t) / t for v, t in zip(values, real[key], strict=True)]
            for key, *values in rows
        ]
        return [statistics.median(column) for column in zip(*pairs, strict=True)]

    def ours(**caps: Any) -> list[float]:
        answers = (table.answered("nsm", **caps) for _ in range(RUNS))
        return _middle([off([[row[name] for name in ("g", "n", "s", "m")] for row in a.rows]) for a in answers])

    shown = Table("", "caps of the field", "best caps by hand", "which",
                  title="COUNT / SUM / AVG by region in one query, 1e6 trips, against the raw table")  # fmt: skip
    fixed = {cap: ours(max_rows=cap, bound=100) for cap in ROWS}
    best = min(fixed, key=lambda cap: fixed[cap][0])
    shown.add_row("discreet, nothing declared", _percent(ours()), "", "chosen privately")
    shown.add_row("discreet, fixed", _percent(ours(max_rows=10, bound=100)), _percent(fixed[best]), f"{best} rows")
    for name, (module, run) in PEERS.items():
        if os.environ.get("DISCREET_PEERS", "") not in name:
            continue
        if not (module if run is tumult else find_spec(module)):
            shown.add_row(name, "not installed", "", "")
            continue
        tried = {
            caps: _middle([off(rows) for rows in run("Q2", path, 1, groups=caps[0], each=caps[1]).answers])
            for caps in CAPS
        }
        least = min(tried, key=lambda caps: tried[caps][0])
        shown.add_row(name, _percent(tried[CAPS[0]]), _percent(tried[least]), f"{least[0]} groups of {least[1]} rows")
    Console(width=140).print(shown)


def _middle(runs: list[list[float]]) -> list[float]:
    return [float(one) for one in np.median(np.array(runs), axis=0)]


def _percent(errors: list[float]) -> str:
    return " / ".join(f"{100 * one:.2g} %" for one in errors)
