"""Which tests call which function, so that ``tools.mutate`` runs those too that do not mirror the changed module.

    python -m tools.callers                             # the tests that start no server; a quarter of an hour
    python -m tools.callers tests/query -m "not slow"   # some of them anew

``out/callers.json`` then names each test function (all its cases are one) with its seconds, and for each function of
the package the tests that call it. What a fixture of a module or a session calls counts for every test that uses it.
Tests that fail are left out, and so are those of the project's own text, such as the hashes of proofs: any change fails
them.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/discreet")
FILE = ROOT / "out" / "callers.json"
PATHS = (
    *("noise", "privacy", "mechanisms", "stable", "query", "ledger", "session", "contracts", "attacks", "checking"),
    *("curator/service", "test_agg.py", "test_answer.py", "test_cases.py", "test_golden.py"),
)
_SERVERS = {"spark", "spark_cluster", "postgres", "_durable_server", "mariadb", "_browser", "town", "new_town", "shop"}
_NAMED = ("spark", "postgres", "mariadb")


@dataclass(slots=True)
class Callers:
    """Tests with their seconds, and the tests that call a place: ``module.py:Class.method``."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    tests: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def read(cls, path: Path = FILE) -> Callers:
        """What was recorded; nothing if nothing was."""
        kept = json.loads(path.read_text()) if path.exists() else {"seconds": {}, "tests": {}}
        tests = {place: {kept["names"][i] for i in numbers} for place, numbers in kept["tests"].items()}
        return cls(defaultdict(float, kept["seconds"]), defaultdict(set, tests))

    def write(self, path: Path = FILE) -> None:
        """Names of tests are written once."""
        names = sorted(self.seconds)
        numbers = {name: i for i, name in enumerate(names)}
        tests = {place: sorted(numbers[name] for name in found) for place, found in self.tests.items()}
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"names": names, "seconds": self.seconds, "tests": tests}))

    def without(self, tests: Iterable[str]) -> Callers:
        """The same without some tests."""
        left = set(tests)
        seconds = {name: time for name, time in self.seconds.items() if name not in left}
        return Callers(
            defaultdict(float, seconds),
            defaultdict(set, {at: kept for at, names in self.tests.items() if (kept := names - left)}),
        )


class Recorder:
    """A plugin of pytest that records the functions of the package that each test calls."""

    def __init__(self, package: Path = ROOT / PACKAGE) -> None:
        self._package = f"{package}/"
        self._running: list[dict[int, CodeType]] = []
        self._fixtures: dict[str, set[str]] = defaultdict(set)
        self.callers = Callers()
        self.failed: set[str] = set()

    def _trace(self, frame: FrameType, _event: str, _argument: object) -> None:
        code = frame.f_code
        for calls in self._running:
            calls[id(code)] = code  # kept, so that its id stays its own

    def _places(self, calls: dict[int, CodeType]) -> set[str]:
        mine = (code for code in calls.values() if code.co_filename.startswith(self._package))
        return {f"{code.co_filename.removeprefix(self._package)}:{code.co_qualname.split('.<', 1)[0]}" for code in mine}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """One test, with its set-up."""
        calls: dict[int, CodeType] = {}
        name = item.nodeid.split("[", 1)[0]
        self._running.append(calls)
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        began = time.perf_counter()
        try:
            return (yield)
        finally:
            self.callers.seconds[name] += time.perf_counter() - began
            sys.settrace(None)
            threading.settrace(None)
            self._running.remove(calls)
            shared = (self._fixtures[fixture] for fixture in getattr(item, "fixturenames", ()))
            for place in self._places(calls).union(*shared):
                self.callers.tests[place].add(name)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """What a shared fixture calls is called once, and not by the later tests that use it."""
        if fixturedef.scope == "function":
            return (yield)
        calls: dict[int, CodeType] = {}
        self._running.append(calls)
        try:
            return (yield)
        finally:
            self._running.remove(calls)
            self._fixtures[fixturedef.argname] |= self._places(calls)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails says nothing about a change."""
        if report.failed:
            self.failed.add(report.nodeid.split("[", 1)[0])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Without servers."""
        items[:] = [
            item
            for item in items
            if not _SERVERS & set(getattr(item, "fixturenames", ())) and not any(word in item.nodeid for word in _NAMED)
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Record tests, in place of what was known of them."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    everything = [*(f"tests/{path}" for path in PATHS), *(str(PACKAGE / path) for path in PATHS)]
    paths = (
        given if any("/" in one for one in given) else [*given, *(one for one in everything if (ROOT / one).exists())]
    )
    recorder = Recorder()
    pytest.main(["-p", "no:cacheprovider", "-p", "no:xdist", *paths], plugins=[recorder])
    new, old = recorder.callers.without(recorder.failed), Callers.read().without(recorder.callers.seconds)
    for place, tests in old.tests.items():
        new.tests[place] |= tests
    Callers(old.seconds | new.seconds, new.tests).write()
    print(f"{len(recorder.callers.seconds)} tests; these failed: {sorted(recorder.failed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
