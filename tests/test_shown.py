"""What is shown is short, and cannot steer a terminal."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from inspect import isclass
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet import synthetic
from discreet.checking.sampling.samples import Samples
from discreet.privacy.promises import events
from discreet.shown import visible
from tools.site import symbols

KEYS = [f"key {i}" for i in range(5000)]
DOMAIN = synthetic.Domain({"x": range(90), "y": range(30), "z": range(8), "w": range(5)})
ROWS = pa.table({"x": [1, 2], "y": [3, 4], "z": [5, 6], "w": [1, 2]})


def own() -> dp.Session:
    rows = {"id": [1, 2], "k": ["key 1", "key 2"], "x": [1.5, 2.5]}
    declared = {"k": dp.keys(KEYS), "x": dp.bounds(0, 9)}
    return dp.Session(t=dp.table(rows, unit="id", columns=declared), budget=dp.Approx(9, "1e-6"))


LONG: dict[str, Any] = {
    "plan": lambda: synthetic.plans(DOMAIN, "all 3-way")[0],
    "answers": lambda: synthetic.answer(ROWS, "all 2-way", domain=DOMAIN, max_rows=1, rho=1),
    "weights": lambda: synthetic.mwem(ROWS, ["x < 3"], domain=DOMAIN, max_rows=1, rho=1, rounds=1),
    "domain": lambda: synthetic.Domain({f"column {i}": range(50) for i in range(60)}),
    "declared": lambda: dp.keys(KEYS),
    "table": lambda: dp.table({"id": [1], "k": ["a"]}, unit="id", columns={"k": dp.keys(KEYS)}),
    "categorical": lambda: dp.learning.Categorical(KEYS),
    "chain": lambda: dp.stable.count_by(KEYS),
    "groups": lambda: dp.stable.group_by(KEYS),
    "event": lambda: events.Composed([events.Pure("1/9")] * 3000),
    "events in events": lambda: events.Composed([events.Composed([events.Gaussian(sigma="1/3")] * 200)] * 200),
    "quote": lambda: own().sql("SELECT k, COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY k").quote(epsilon=1),
    "query": lambda: own().sql("SELECT k, COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY k"),
    "answer": lambda: own().sql("SELECT k, COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY k").release(epsilon=1),
    "loss": lambda: dp.privacy_loss(events.DiscreteLaplace(scale=5, sensitivity=400)),
    "bins": lambda: synthetic.bins(range(5000)),
    "categories": lambda: synthetic.categories(KEYS),
    "workload": lambda: synthetic.workload(DOMAIN, "all 3-way"),
    "numeric": lambda: dp.learning.Numeric(0, 9999, edges=range(1, 5000)),
    "samples": lambda: Samples([float(i) for i in range(5000)], list(range(5000))),
    "releases": lambda: dp.stable.sequential([dp.stable.count() >> dp.laplace(epsilon=1)] * 300),
    "parts": lambda: dp.stable.parallel({k: dp.stable.count() >> dp.laplace(epsilon=1) for k in KEYS}),
    "report": lambda: dp.check(dp.laplace(sensitivity=1, epsilon=1)),
    "composition": lambda: dp.compose([events.Pure("1/9")] * 3000),
}


@pytest.mark.slow
@pytest.mark.parametrize("make", LONG.values(), ids=LONG)
def test_what_is_shown_fits_on_a_few_lines(make: Any) -> None:
    """A plan for marginals was 15,000 characters, a list of keys as long as the list."""
    assert len(repr(make())) < 2000


def test_control_characters_are_replaced_one_by_one() -> None:
    assert visible("a\x1b[2J\u202eb\x9b\r\tc\n") == "a\ufffd[2J\ufffdb\ufffd\ufffd\tc\n"


# Lists in these are short whatever somebody asks for; all other public records are shown by ``brief`` or by themselves.
SHORT = {
    "Answer": "the story is a line for each step",
    "Interactive": "a few moves of a game, named by who wrote it",
    "Marginal": "columns of one marginal",
    "Moments": "one or two columns",
    "Price": "targets, one for each column asked for",
    "Quantiles": "levels that were asked for",
    "Report": "what is wrong with a ledger",
    "SignedReceipt": "what a ledger stores for one question",
    "Table": "declared columns, each of them brief",
}
LISTS = re.compile(r"tuple\[.*\.\.\.\]|\b(list|dict|frozenset)\[|Mapping|Sequence")


def shown_in_full(what: type) -> bool:
    """Whether a record has the repr that ``dataclass`` makes, and a field as long as somebody likes."""
    made = getattr(what.__repr__, "__wrapped__", None)
    if not is_dataclass(what) or made is None or made.__code__.co_filename != "<string>":
        return False
    return any(one.repr and LISTS.search(re.sub(r"Callable.*", "", str(one.type))) for one in fields(what))


def test_no_public_record_shows_a_long_list_in_full() -> None:
    """All public classes, and what public functions return; by their fields, so that a new one is seen."""
    made = [symbol.what if isclass(symbol.what) else symbols.returned(symbol.what) for symbol in symbols.symbols()]
    found = {what.__name__ for what in made if what is not None and isclass(what) and shown_in_full(what)}
    assert found == set(SHORT)
