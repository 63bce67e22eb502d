"""A profile and the caps chosen from it, attacked by samples: they keep their claim; the planted twins do not.

Neighbours: with and without the largest unit, whose presence moves the chosen cap. False alarms: 1e-8 per audit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

import discreet as dp
from discreet.engines.memory.engine import Memory
from discreet.privacy.budgets.filters import Filter
from discreet.query.profile.choose import Known, choose
from discreet.query.profile.histogram import Histogram
from discreet.query.profile.questions import table_questions
from discreet.query.profile.sizes import UnitSizes
from discreet.query.run import release
from discreet.session.price import Price
from discreet.session.query import Order
from discreet.session.session import _answers

EPSILON = 2
SMALL = [unit for unit in range(6) for _ in range(2)]
PAIR = (SMALL + [99] * 40, SMALL)
SAMPLES = 250
SESSION = dp.Session(
    visits=dp.table(pa.table({"patient": SMALL}), unit="patient", max_rows="auto"), budget=dp.Pure(10), engine=Memory()
)
ASKED = table_questions("visits", SESSION.schemas)
ORDER = Order(
    SESSION.quote([one.prepared for one in ASKED], Price(EPSILON)), tuple(one.prepared.outcome for one in ASKED)
)
COUNT = SESSION.sql("SELECT COUNT(*) AS n FROM visits").prepared
NOISE = dp.laplace(sensitivity=1, epsilon=EPSILON)


def sizes(units: list[int]) -> UnitSizes:
    """What a profile of these rows says, by the way that a session releases one."""
    schema = SESSION.schemas["visits"]
    here = {"visits": replace(schema, table=replace(schema.table, source=pa.table({"patient": units})))}
    found, receipt = release(ORDER.quote, Memory(), here, Filter(dp.Pure(EPSILON)).spend)
    return UnitSizes(Histogram.of(ASKED[0], _answers(ORDER, found, receipt)[0]))


def chosen_cap(units: list[int]) -> int:
    found = choose(COUNT, Known(sizes(units)), lambda questions: SESSION.quote(questions, Price(1)))
    return int(found.caps.max_rows or 0)


def cut_share(units: list[int]) -> float:
    cut = sizes(units).cut(2)
    return round(cut.share, 2) + cut.reach


def cap_from_the_data(units: list[int]) -> Any:
    """The planted fault: the largest unit decides about the cap."""
    return max(units.count(unit) for unit in set(units)) + NOISE.release(len(set(units))).value % 2


def cut_from_the_data(units: list[int]) -> float:
    """The planted fault: what is cut is computed from the data, for free."""
    kept = sum(min(units.count(unit), 2) for unit in set(units))
    return 1 - kept / len(units)


def test_the_chosen_cap_keeps_the_claim_of_the_profile() -> None:
    assert not dp.audit(chosen_cap, pair=PAIR, claim=dp.Pure(EPSILON), samples=SAMPLES).refuted


def test_the_estimated_cut_keeps_the_claim_of_the_profile() -> None:
    assert not dp.audit(cut_share, pair=PAIR, claim=dp.Pure(EPSILON), samples=SAMPLES).refuted


def test_a_cap_chosen_from_exact_counts_is_refuted() -> None:
    assert dp.audit(cap_from_the_data, pair=PAIR, claim=dp.Pure(EPSILON), samples=SAMPLES).refuted


def test_a_cut_computed_for_free_is_refuted() -> None:
    assert dp.audit(cut_from_the_data, pair=PAIR, claim=dp.Pure(EPSILON), samples=SAMPLES).refuted
