"""Whole sessions at random, tables x declarations x questions x prices: what was paid for is answered.

Nothing but our own refusals may be raised, and those before the payment. A question that was paid must come back as an
answer that can be shown, exported and explained. Thousands in ``make audit``, a sample in ``make test``.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import DiscreetError, EngineFailed
from discreet.query.engine import Engine
from discreet.session.query import RefusedForValues
from tests.helpers.extent import extent
from tests.helpers.statements import draw_statement

CHOSEN_CAPS = True
SEEDS = range(extent(24, 5_000))
TEXTS = ["a", "b", "", " a", "A", "é", "\x00", "7", "1e5", None, "nan", "O'Neil", "x" * 300]
INTEGERS = [0, 1, -1, 7, 100, -(2**63), 2**63 - 1, 2**53 + 1, None]
FLOATS = [0.0, -0.0, 1.5, -2.25, 1e-320, 1e300, -1e300, float("nan"), float("inf"), float("-inf"), None]
DAYS = [
    datetime.date(2024, 2, 29),
    datetime.date(1, 1, 1),
    datetime.date(9999, 12, 31),
    datetime.date(2025, 6, 1),
    None,
]
PRICES = ["0.000001", "0.01", "0.3", "1", "40", "1000000"]


def rows_of_one(random: Random, kind: str) -> int:
    """How many rows a person has."""
    match kind:
        case "one":
            return 1
        case "few":
            return random.randint(1, 4)
        case "some with many":
            return 60 if random.random() < 0.05 else 1
        case _:
            return min(300, int(random.paretovariate(1.2)))


def draw_table(random: Random) -> pa.Table:
    """A few people or many, with few rows each, or some with most of them; values that are ordinary, or odd."""
    people = random.choice([0, 1, 2, 40, 400])
    kind = random.choice(["one", "few", "some with many", "heavy tail"])
    owners = [person for person in range(people) for _ in range(rows_of_one(random, kind))]
    if owners and random.random() < 0.1:
        owners += [random.choice(owners)] * 1_500
    odd = random.choice([0.0, 0.05, 1.0])

    def column(usual: Any, strange: list[Any]) -> list[Any]:
        return [random.choice(strange) if random.random() < odd else usual() for _ in owners]

    text_unit = random.random() < 0.3
    return pa.table({
        "id": pa.array([f"p{i}" if text_unit else i for i in owners], pa.string() if text_unit else pa.int64()),
        "g": pa.array(column(lambda: random.choice("abc"), TEXTS), pa.string()),
        "h": pa.array(column(lambda: random.choice(["x", "y"]), TEXTS), pa.string()),
        "k": pa.array(column(lambda: random.randint(0, 90), INTEGERS), pa.int64()),
        "x": pa.array(column(lambda: random.gammavariate(0.7, 60), FLOATS), pa.float64()),
        "d": pa.array(column(lambda: datetime.date(2025, 1, 1) + datetime.timedelta(random.randint(0, 300)), DAYS)
                      or [], pa.date32()),
        "b": pa.array(column(lambda: random.random() < 0.4, [None]), pa.bool_()),
    })  # fmt: skip


def draw_declarations(random: Random) -> dict[str, Any]:
    """Nothing, or some columns; bounds that hold the values, or none of them."""
    found: dict[str, Any] = {}
    if random.random() < 0.5:
        found["g"] = random.choice([dp.keys(["a", "b", "c"]), dp.keys(["z"]), dp.unknown_keys()])
    if random.random() < 0.3:
        found["k"] = random.choice([dp.bounds(0, 90), dp.bounds(-(2**63), 2**63 - 1), dp.bounds(5, 6)])
    if random.random() < 0.3:
        found["x"] = random.choice([dp.bounds(0, 500), dp.bounds(-1e300, 1e300), dp.bounds("1/3", "2/3")])
    if random.random() < 0.3:
        found["d"] = dp.bounds("2025-01-01", "2025-12-31")
    return found


REGIONS = pa.table({"g": ["a", "b", "z", "A"], "pop": [1, 2, 3, None], "region": ["N", "N", "S", "S"]})
VALUES = [None, 0, 1, 2, 3, 9, -5, 2**62]


def draw_second(random: Random, first: pa.Table) -> pa.Table:
    """Another table about some of the people, and about one who is in no row of the first."""
    owners = [*first["id"].to_pylist()[:200], *(["p-1"] if pa.types.is_string(first["id"].type) else [-1])]
    kept = [owner for owner in owners if random.random() < 0.5]
    values = pa.array([random.choice(VALUES) for _ in kept], pa.int64())
    return pa.table({"id": pa.array(kept, first["id"].type), "v": values})


def draw_session(random: Random, engine: Engine | None = None) -> dp.Session:
    budget = dp.Approx(10**9, "1e-3") if random.random() < 0.7 else dp.Pure(10**9)
    caps: dict[str, Any] = random.choice([{}, {}, {}, {"max_rows": 2}, {"max_groups": 1}])
    unit = random.choice(["id"] * 9 + [dp.each_row])
    caps = caps if unit == "id" else {}
    rows = draw_table(random)
    table = dp.table(rows, unit=unit, columns=draw_declarations(random), **caps)
    second = dp.table(draw_second(random, rows), unit=unit, **caps)
    public = dp.table(
        REGIONS, public=True, columns={"g": dp.keys(["a", "b", "z", "A"])} if random.random() < 0.5 else {}
    )
    relation = random.choice([dp.Neighbours.ADD_REMOVE, dp.Neighbours.ADD_REMOVE, dp.Neighbours.CHANGE_ONE])
    rule = dp.Rule.BASIC if isinstance(budget, dp.Approx) else None
    return dp.Session(t=table, s=second, p=public, budget=budget, rule=rule, neighbours=relation, engine=engine)


def look_at(answer: Any) -> None:
    """What a person does with an answer that was paid for."""
    assert str(answer)
    assert answer.explain()
    assert answer._repr_html_()
    rows = answer.to_arrow().num_rows
    for name, bars in answer.errors().items():
        assert len(bars) == len(answer[name]) == rows


def refusal(free: Callable[[], object]) -> DiscreetError | None:
    """What something was refused with; any other error is raised on."""
    try:
        free()
    except DiscreetError as refused:
        return refused
    return None


def ask(own: dp.Session, random: Random) -> str:
    """One question; what became of it."""
    text = draw_statement(random)
    price: dict[str, Any] = {"epsilon": random.choice(PRICES)}
    if random.random() < 0.2:
        price = {"error": random.choice([1, 50, 10**9])}
    elif isinstance(own.budget, dp.Approx) and random.random() < 0.7:
        price["delta"] = "1e-9"
    before, answers = own.remaining, list[Any]()
    refused = refusal(lambda: own.sql(text).preview(**price))
    assert own.remaining == before, f"a free question was charged: {text}"
    if refused is not None and random.random() < 0.5:
        return f"refused: {type(refused).__name__}"
    refused = refusal(lambda: answers.append(own.sql(text).release(**price)))
    if refused is not None:
        if isinstance(refused, RefusedForValues):  # it names what was released, so nothing of that is lost
            return "refused for released values"
        assert own.remaining == before, f"paid and lost, {type(refused).__name__}: {refused}\n{text} {price}"
        assert not isinstance(refused, EngineFailed), f"{text} {price}"
        return f"refused at the release: {type(refused).__name__}"
    assert own.remaining != before, text
    look_at(answers[0])
    return "answered"


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_paid_is_answered_and_nothing_else_fails(seed: int) -> None:
    random = Random(seed)
    own = draw_session(random)
    for _ in range(5):
        assert ask(own, random)


@pytest.mark.slow
def test_the_questions_are_not_all_refused() -> None:
    """A third of them at least are answered: otherwise this looks at nothing."""
    seen = list[str]()
    for seed in range(100, 103):
        random = Random(seed)
        own = draw_session(random)
        for _ in range(5):
            seen.append(ask(own, random))
    assert seen.count("answered") >= 5


def test_an_engine_that_fails_after_the_payment_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = memory()
    own = dp.Session(t=dp.table({"id": [1, 2], "k": [3, 4]}, unit="id"), budget=dp.Pure(9), engine=engine)

    def fails(*_: object, **__: object) -> Any:
        raise EngineFailed

    monkeypatch.setattr(type(engine), "run", fails)
    monkeypatch.setattr(sys.modules[__name__], "draw_statement", lambda _: "SELECT COUNT(*) AS m0 FROM t")
    with pytest.raises(AssertionError, match="paid and lost"):
        ask(own, Random(1))


def test_the_rows_that_are_drawn_are_of_many_kinds() -> None:
    sizes = [draw_table(Random(seed)).num_rows for seed in range(40)]
    assert min(sizes) == 0
    assert max(sizes) > 1_000
    assert np.median(sizes) < 500
