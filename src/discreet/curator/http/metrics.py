"""Counters of one server process, in the text format of Prometheus.

Promise: nothing here comes from a value of the data or from how long an answer took: requests by route and status, the
state of the ledger, budgets as they are spent, connections and memory. Numbers are per process: scrape each of them.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from discreet.curator.service.service import Curator

_STARTED = time.time()
_HELP = {
    "discreet_requests_total": ("counter", "requests by route and status"),
    "discreet_connections_waiting": ("gauge", "connections of strangers that wait for a request"),
    "discreet_ready": ("gauge", "1 if questions can be answered"),
    "discreet_ledger_mismatch": ("gauge", "1 if the ledger is not the one that was seen before"),
    "discreet_ledger_entries": ("gauge", "entries of the ledger"),
    "discreet_charges_total": ("counter", "questions that were charged, ever"),
    "discreet_budget_spent_ratio": ("gauge", "part of a budget that is spent"),
    "discreet_engine_renewals_total": ("counter", "engine processes that were replaced because of their age"),
    "discreet_engine_failures_total": ("counter", "engine processes that failed or were stopped"),
    "discreet_memory_bytes": ("gauge", "resident memory of this process"),
    "discreet_start_time_seconds": ("gauge", "when this process started"),
}


class Metrics:
    """Counts requests. Many threads may use it.

    >>> counted = Metrics()
    >>> counted.count("/api/me", 200)
    >>> counted.requests[("/api/me", 200)]
    1
    """

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()

    def count(self, route: str, status: int) -> None:
        """A reply was sent."""
        with self._lock:
            self.requests[route, status] += 1

    def text(self, curator: Curator, waiting: int = 0) -> str:
        """All numbers as Prometheus reads them."""
        state, ready = curator.ledger.look(), curator.readiness.check()
        engines = curator.open_datasets.engines()
        with self._lock:
            requests = dict(self.requests)
        values: list[tuple[str, Mapping[str, object], float]] = [
            *(("discreet_requests_total", {"route": r or "none", "status": s}, n) for (r, s), n in requests.items()),
            ("discreet_connections_waiting", {}, waiting),
            ("discreet_ready", {}, ready.good),
            ("discreet_ledger_mismatch", {}, curator.ledger.mismatch is not None),
            ("discreet_ledger_entries", {}, state.sequence),
            ("discreet_charges_total", {}, state.charges),
            *(
                ("discreet_budget_spent_ratio", {"population": name}, float(curator.ledger.standing(name).share))
                for name in dict(state.populations)
            ),
            ("discreet_engine_renewals_total", {}, sum(engine.renewals for engine in engines)),
            ("discreet_engine_failures_total", {}, sum(engine.failures for engine in engines)),
            ("discreet_memory_bytes", {}, _resident()),
            ("discreet_start_time_seconds", {}, _STARTED),
        ]
        lines: list[str] = []
        for name, (kind, words) in _HELP.items():
            lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{_labels(labels)} {float(value):.17g}" for one, labels, value in values if one == name]
        return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, object]) -> str:
    r"""Labels as Prometheus writes them.

    >>> _labels({"population": 'a "b"'})
    '{population="a \\"b\\""}'
    """
    if not labels:
        return ""
    quoted = {name: str(v).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for name, v in labels.items()}
    return "{" + ",".join(f'{name}="{value}"' for name, value in quoted.items()) + "}"


def _resident() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
