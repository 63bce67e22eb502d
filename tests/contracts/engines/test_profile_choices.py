"""A profile on every engine: the same exact counts, and from the same released numbers the same caps, bounds and plans.

No test here looks at noise: counts are exact, and what follows from one profile is compared word by word.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.query.answer.serialize import answer as written
from discreet.query.profile.questions import table_questions
from discreet.query.run import works_of
from discreet.session.caps.profiles import profile_order
from discreet.session.price import Price
from discreet.session.query import Order
from tests.contracts.engines.lab import Lab, agree, every_engine

RNG = np.random.default_rng(4)
SIZES = np.ceil(RNG.lognormal(1, 1, 150)).astype(int)
MANY = int(SIZES.sum())
TABLE = pa.table({
    "u": np.repeat(np.arange(150), SIZES),
    "g": RNG.choice(["a", "b", "c"], MANY),
    "x": pa.array([None if i % 7 == 0 else Decimal(i % 50) / 4 for i in range(MANY)], pa.decimal128(9, 2)),
    "y": RNG.lognormal(3, 1, MANY),
})  # fmt: skip
COLUMNS = {"g": dp.keys(["a", "b", "c"]), "x": dp.bounds("auto"), "y": dp.bounds(0, 10**6)}
TEXTS = [
    "SELECT COUNT(*) AS n FROM t",
    "SELECT g, COUNT(*) AS n, SUM(x) AS s, AVG(y) AS m FROM t GROUP BY g",
    "SELECT g, COUNT(DISTINCT u) AS n FROM t GROUP BY g",
]


def session(lab: Lab, table: pa.Table = TABLE) -> dp.Session:
    source = lab.load("t", lab.tame(table))
    declared = dp.table(source, unit="u", max_rows="auto", columns=COLUMNS)
    return dp.Session(t=declared, budget=dp.Pure(1000), engine=lab.engine)


@pytest.fixture(scope="module")
def released() -> list[dict[str, Any]]:
    """One profile, as a ledger keeps it."""
    own = session(Lab(memory()))
    asked = table_questions("t", own.schemas)
    answers = own.release(profile_order(own, asked, "", Price(20)))
    return [written(answer, "0.95") for answer in answers]


def choices(own: dp.Session, released: list[dict[str, Any]]) -> list[object]:
    """All that follows from a profile: caps, bounds, words, previews, plans."""
    own.learn_profile("t", None, released)
    found: list[object] = [str(own.profile("t"))]
    for text in TEXTS:
        order: Order = own.sql(text).order(Price(1))
        (chosen,) = order.chosen
        assert chosen is not None
        found += [[question.asked.caps for question in chosen.questions], chosen.words, str(own.sql(text).preview(1))]
    return [*found, str(own.plan(TEXTS[:1], epsilon=2)), str(own.plan(TEXTS[:1], error=[100]))]


@pytest.fixture(scope="module")
def there(released: list[dict[str, Any]]) -> list[object]:
    """What the oracle chooses."""
    return choices(session(Lab(memory())), released)


@every_engine
def test_the_same_profile_gives_the_same_choices(lab: Lab, released: list[dict[str, Any]], there: list[object]) -> None:
    assert choices(session(lab), released) == there


def test_another_profile_gives_others(released: list[dict[str, Any]], there: list[object]) -> None:
    """The twin: the comparison sees a choice that differs."""
    sizes = released[0] | {"rows": [[place, 20.0 * (place == 9)] for place, _ in released[0]["rows"]]}
    found = choices(session(Lab(memory())), [sizes, *released[1:]])
    assert all(a != b for a, b in zip(found[:3], there[:3], strict=True))


NOTHING = TABLE.slice(0, 0)
NULLS = TABLE.set_column(2, "x", pa.nulls(MANY, pa.decimal128(9, 2))).set_column(3, "y", pa.nulls(MANY, pa.float64()))
ODD = pa.table({
    "u": [1, 2, 2, 3, 4], "g": ["a", "z", None, "b", "b"],
    "x": pa.array([Decimal(9_999_999), None, Decimal("-0.01"), Decimal(0), Decimal(1)], pa.decimal128(9, 2)),
    "y": [1e300, -1e300, 5e-324, 0.0, None],
})  # fmt: skip
ONE = TABLE.take(np.zeros(40, dtype=int))
"""A single unit, a single value."""


@every_engine
@pytest.mark.parametrize("table", [TABLE, NOTHING, NULLS, ODD, ONE], ids=["some", "empty", "NULL", "odd", "one unit"])
def test_every_engine_counts_a_profile_as_the_oracle_does(lab: Lab, table: pa.Table) -> None:
    own = session(Lab(memory()), lab.tame(table))
    quote = own.quote([one.prepared for one in table_questions("t", own.schemas)], Price(1))
    agree(lab, works_of(quote, "0" * 32), {"t": table})
