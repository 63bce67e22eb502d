"""Bounds, corrected counts and numbers of keys that follow from a profile, attacked by samples; twins are refuted.

Neighbours: with and without the largest unit, which has the largest value and a key of its own, and which moves every
choice where there is no noise. Each profile is drawn once and read by all audits: each of them sees independent draws.
False alarms: 1e-8 per audit. The twins do not look at the noise, so whether they are refuted is not left to chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from itertools import cycle, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory.engine import Memory
from discreet.errors import NoEstimate
from discreet.privacy.budgets.filters import Filter
from discreet.query.plan.schema import Schema
from discreet.query.plan.types import Number
from discreet.query.plan.work import AnyWork, Exact
from discreet.query.profile.choose import choose
from discreet.query.profile.choose_bounds import choose_bounds
from discreet.query.profile.clip import clipped
from discreet.query.profile.predict import Known, plain
from discreet.query.profile.profile import Profile
from discreet.query.profile.questions import About, table_questions
from discreet.query.profile.spread import Spread
from discreet.query.run import release
from discreet.session.caps.error_targets import choose_for_error
from discreet.session.price import Price
from discreet.session.query import Order
from discreet.session.session import _answers

EPSILON = 1
SAMPLES = 200
SMALL = pa.table({
    "u": [unit for unit in range(9) for _ in range(2)] + list(range(9, 28)),
    "k": ["a", "b"] * 9 + ["a"] * 19,
    "x": [1, 2] * 8 + [1, 1000] + [1000] * 19,
})  # fmt: skip
GIANT = pa.table({"u": [99] * 40, "k": ["c", "d"] * 20, "x": [1000] * 40})
"""A bound of a thousand is worth its noise if more than 20 units have such values: here 19 and a half have."""
PAIR = (pa.concat_tables([SMALL, GIANT]), SMALL)
SESSION = dp.Session(
    t=dp.table(SMALL, unit="u", max_rows="auto", columns={"k": dp.unknown_keys()}),
    budget=dp.Approx(2, "1e-6"),
    engine=Memory(),
)
ASKED = table_questions("t", SESSION.schemas)
SUM = SESSION.with_columns(t={"x": dp.bounds(0, 10**6)}).sql("SELECT SUM(x) AS s FROM t").prepared
COUNT = SESSION.sql("SELECT COUNT(*) AS n FROM t").prepared


@dataclass(frozen=True)
class Once(Memory):
    """Exact numbers are computed once; noise is fresh for every release."""

    found: list[tuple[Exact, ...]] = field(default_factory=list)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        if not self.found:
            self.found.append(Memory().run(works, schemas))
        return self.found[0]


def profiles(rows: pa.Table, epsilon: Any = EPSILON) -> Iterator[Profile]:
    """Profiles of these rows, by the way that a session releases one."""
    asked = tuple(one.prepared for one in ASKED)
    order = Order(SESSION.quote(asked, Price(epsilon, delta=0)), tuple(one.outcome for one in asked))
    schema, engine = SESSION.schemas["t"], Once()
    here = {"t": replace(schema, table=replace(schema.table, source=rows))}
    while True:
        found, receipt = release(order.quote, engine, here, Filter(dp.Pure(epsilon)).spend)
        yield Profile.of("t", ASKED, _answers(order, found, receipt))


@cache
def pool(giant: bool) -> Iterator[Profile]:
    """As many independent profiles as an audit looks at, of one of the neighbours."""
    return cycle(list(islice(profiles(PAIR[0] if giant else PAIR[1]), SAMPLES)))


def bound(profile: Profile) -> float:
    """The upper bound that dp.bounds("auto") gets."""
    values = profile.values("x")
    assert values is not None
    try:
        return float(choose_bounds(values).declared.high)  # type: ignore[arg-type]
    except NoEstimate:
        return -1.0


def clip(profile: Profile) -> float:
    """The upper bound of a sum that was declared to be a million: beside 28.5 units, 20 of a thousand are worth it."""
    values = profile.values("x")
    assert values is not None
    found, _ = clipped(SUM, {("t", "x"): values}, lambda _: 20 * 10**6 / 28.5)
    kind = found.asked.measures[0].arguments[0].kind
    assert isinstance(kind, Number)
    return float(kind.high * kind.step)


def cap(profile: Profile) -> float:
    known = Known(profile.sizes, profile.groups("k"))
    found = choose(COUNT, known, lambda questions: SESSION.quote(questions, Price(EPSILON)))
    return float(found.caps.max_rows or 0)


def cap_for_an_error(profile: Profile) -> float:
    """The cap for which an error of 30 rows, noise and cut together, costs least."""
    plainly = partial(choose, COUNT, Known(profile.sizes), lambda questions: SESSION.quote(questions, Price(EPSILON)))
    return float(choose_for_error(COUNT, Known(profile.sizes), {"n": Fraction(30)}, plainly).caps.max_rows or 0)


def predicted(profile: Profile) -> float:
    """What a plan shows of a count."""
    return round(plain(profile.sizes, (0.01, 0.0), 1).error, 2)


def in_rows(profile: Profile) -> float:
    """The rows for which a number of five units stands."""
    spread = Spread.of(profile.sizes, profile.groups("k"), 2, rooted=True)
    return float(np.round(spread.rows_of(np.array([5.0]))[0]))


def keys(profile: Profile) -> float:
    return float(np.round(profile.different_keys("k")[0]))


def cut(profile: Profile) -> float:
    found = profile.cut(2)
    return round(found.share, 2) + found.reach


CHOICES: dict[str, Callable[[Profile], float]] = {
    "bound": bound, "clip": clip, "cap": cap, "cap for an error": cap_for_an_error, "predicted": predicted,
    "corrected counts": in_rows, "different keys": keys, "cut": cut,
}  # fmt: skip


@pytest.mark.parametrize("choice", CHOICES)
def test_what_follows_from_a_profile_keeps_its_claim(choice: str) -> None:
    def mechanism(rows: pa.Table) -> float:
        return CHOICES[choice](next(pool(rows is PAIR[0])))

    assert not dp.audit(mechanism, pair=PAIR, claim=dp.Pure(EPSILON), samples=SAMPLES).refuted


@pytest.mark.parametrize("choice", CHOICES)
def test_the_same_made_from_exact_numbers_is_refuted(choice: str) -> None:
    """The planted faults: each choice from a profile without noise. That it is refuted says, too, that the largest
    unit moves the choice.
    """
    exact = {rows.num_rows: CHOICES[choice](next(profiles(rows, 10**6))) for rows in PAIR}
    assert len(set(exact.values())) == 2
    assert dp.audit(lambda rows: exact[rows.num_rows], pair=PAIR, claim=dp.Pure(EPSILON), samples=SAMPLES).refuted


def test_every_histogram_is_in_the_profile() -> None:
    assert {one.about for one in ASKED} == {About.ROWS, About.GROUPS, About.DISTINCT, About.VALUES}
