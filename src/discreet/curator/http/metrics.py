"""Counters of one server process, for Prometheus.

Promise: nothing here comes from a value of the data or from how long an answer took: requests by route and status, the
state of the ledger, budgets as they are spent, data sets that can be asked, connections and memory. Numbers are per
process: scrape each of them. No counter says when it began to count, as those of the library would.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from discreet.curator.service.service import Curator
from discreet.errors import MissingExtra

try:
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector
except ImportError as missing:
    raise MissingExtra("the service", extra="server") from missing

_STARTED = time.time()


class Metrics:
    """Counts requests. Many threads may use it.

    >>> counted = Metrics()
    >>> counted.count("/api/me", 200)
    >>> counted.requests[("/api/me", 200)]
    1
    """

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.dataset_requests: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()

    def count(self, route: str, status: int, dataset: str | None = None) -> None:
        """A reply was sent; perhaps about one of our data sets."""
        with self._lock:
            self.requests[route, status] += 1
            if dataset is not None:
                self.dataset_requests[dataset, status] += 1

    def text(self, curator: Curator, waiting: int = 0) -> str:
        """All numbers as Prometheus reads them."""
        with self._lock:
            requests, dataset_requests = dict(self.requests), dict(self.dataset_requests)
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Numbers(curator, requests, dataset_requests, waiting))
        return generate_latest(registry).decode()


class _Numbers(Collector):
    """What one reply to Prometheus holds."""

    def __init__(
        self,
        curator: Curator,
        requests: dict[tuple[str, int], int],
        dataset_requests: dict[tuple[str, int], int],
        waiting: int,
    ) -> None:
        self._curator = curator
        self._requests = requests
        self._dataset_requests = dataset_requests
        self._waiting = waiting

    def collect(self) -> Iterator[Metric]:
        """All of it, by name."""
        curator = self._curator
        state, ready, engines = curator.ledger.look(), curator.readiness.check(), curator.open_datasets.engines()
        yield _counters(
            "discreet_requests", "requests by route and status", ("route", "status"),
            (((route or "none", str(status)), many) for (route, status), many in self._requests.items()),
        )  # fmt: skip
        yield _gauge("discreet_connections_waiting", "connections of strangers that wait for a request", self._waiting)
        yield _gauge("discreet_ready", "1 if queries can be answered", ready.good)
        yield _gauges(
            "discreet_dataset_ready", "1 if a data set can be asked", "dataset",
            ((name, name not in ready.datasets) for name, one in dict(state.datasets).items() if not one.retired),
        )  # fmt: skip
        yield _counters(
            "discreet_dataset_requests", "requests about a data set by status", ("dataset", "status"),
            (((name, str(status)), many) for (name, status), many in self._dataset_requests.items()),
        )  # fmt: skip
        yield _counters(
            "discreet_dataset_charges", "queries about a data set that were charged, ever", ("dataset",),
            (((name,), many) for name, many in dict(state.charged).items()),
        )  # fmt: skip
        yield _gauges(
            "discreet_dataset_waiting", "queries that wait for an engine process", "dataset",
            ((name, engine.waiting) for name, engine in engines.items()),
        )  # fmt: skip
        mismatch = curator.ledger.mismatch is not None
        yield _gauge("discreet_ledger_mismatch", "1 if the ledger is not the one that was seen before", mismatch)
        yield _gauge("discreet_ledger_entries", "entries of the ledger", state.sequence)
        yield CounterMetricFamily("discreet_charges", "queries that were charged, ever", state.charges)
        yield _gauges(
            "discreet_budget_spent_ratio", "part of a budget that is spent", "population",
            ((name, float(curator.ledger.standing(name).share)) for name in dict(state.populations)),
        )  # fmt: skip
        yield _counters(
            "discreet_engine_renewals", "engine processes that were replaced because of their age", ("dataset",),
            (((name,), engine.renewals) for name, engine in engines.items()),
        )  # fmt: skip
        yield _counters(
            "discreet_engine_failures", "engine processes that failed or were stopped", ("dataset",),
            (((name,), engine.failures) for name, engine in engines.items()),
        )  # fmt: skip
        if curator.audit is not None:
            yield _gauge("discreet_audit_waiting", "entries that are not exported yet", curator.audit.waiting)
        yield _gauge("discreet_memory_bytes", "resident memory of this process", _resident())
        yield _gauge("discreet_start_time_seconds", "when this process started", _STARTED)


def _gauge(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(name, words, float(value))


def _counters(
    name: str, words: str, labels: tuple[str, ...], values: Iterable[tuple[tuple[str, ...], float]]
) -> Metric:
    family = CounterMetricFamily(name, words, labels=labels)
    for which, value in values:
        family.add_metric(which, value)
    return family


def _gauges(name: str, words: str, label: str, values: Iterable[tuple[str, float]]) -> Metric:
    family = GaugeMetricFamily(name, words, labels=[label])
    for which, value in values:
        family.add_metric([which], float(value))
    return family


def _resident() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
