"""Stages over released rows: if the numbers below lie in their intervals, so do those above."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import Any

import pytest

import discreet as dp
from discreet.query.answer import stages
from discreet.query.answer.stages import Chosen, Stage, stage
from discreet.query.plan.expressions import Call, Column, Literal
from discreet.query.plan.nodes import How, Order, Outcome, Regrouped, ReleasedJoin, ReleasedUnion, Window

N, M, K = Column("n"), Column("m"), Column("k")
LEAF = Outcome((("k", K), ("n", N), ("m", M)))
OVER = {
    "sum": Outcome((("x", Column("x")),), below=LEAF, regroup=Regrouped((), (Window("x", "sum", (N,)),))),
    "average by key": Outcome(
        (("k", K), ("x", Call("mul", (Column("x"), Literal(Fraction(2)))))), below=LEAF,
        regroup=Regrouped((("k", K),), (Window("x", "avg", (Call("sub", (N, M)),)),)),
    ),
    "extremes": Outcome(
        (("x", Column("x")), ("y", Column("y"))), below=LEAF,
        regroup=Regrouped((), (Window("x", "min", (N,)), Window("y", "quantile", (N, Literal(Fraction(1, 4)))))),
    ),
    "windows": Outcome(
        (("x", Column("x")), ("y", Column("y"))), below=LEAF,
        windows=(Window("x", "sum", (N,), (K,), (Order(M),)), Window("y", "lag", (M,), order=(Order(M),))),
    ),
    "union": Outcome(LEAF.columns, below=ReleasedUnion((LEAF, Outcome((("k", K), ("n", M), ("m", N)))))),
    "join": Outcome((("x", Call("add", (N, Column("m_2")))),), below=ReleasedJoin(LEAF, LEAF, (("k", "k"),), How.LEFT)),
}  # fmt: skip


def leaf(rows: list[dict[str, Any]], ends: list[dict[str, Any]]) -> Any:
    def made(outcome: Outcome) -> Stage:
        names = [e.name for _, e in outcome.columns if isinstance(e, Column)]
        shown = dict(zip(names, (name for name, _ in outcome.columns), strict=True))
        return Stage(
            tuple(shown.values()),
            [{shown[n]: row[n] for n in names} for row in rows],
            [{shown[n]: end[n] for n in names if n in end} for end in ends],
        )

    return made


def random_case(random: Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Released rows, intervals around them, and exact rows within these that are in the same order by m."""
    released, ends, exact = [], [], []
    for i in range(random.randint(1, 6)):
        row: dict[str, Any] = {"k": random.choice("ab")}
        end: dict[str, Any] = {}
        true: dict[str, Any] = {}
        for name, base in (("n", 0), ("m", 1000 * i)):
            row[name] = base + random.randint(-50, 50)
            end[name] = (row[name] - random.randint(0, 30), row[name] + random.randint(0, 30))
            true[name] = random.choice(end[name])
        released.append(row)
        ends.append(end)
        exact.append({**row, **true})
    return released, ends, exact


def misses(name: str, random: Random, many: int = 300) -> int:
    """How many exact values lie outside."""
    found = 0
    for _ in range(many):
        released, ends, exact = random_case(random)
        shown = stage(OVER[name], leaf(released, ends))
        right = stage(OVER[name], leaf(exact, [{} for _ in exact]))
        for row, within in zip(right.rows, shown.within, strict=True):
            for column, end in within.items():
                found += end is not None and not end[0] - 1e-9 <= row[column] <= end[1] + 1e-9
    return found


@pytest.mark.parametrize("name", OVER)
def test_exact_values_lie_within(name: str) -> None:
    assert misses(name, Random(1)) == 0


@pytest.mark.parametrize("name", ["sum", "windows"])
def test_upper_ends_that_are_forgotten_are_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = stages._ends
    monkeypatch.setattr(stages, "_ends", lambda e, *rest: None if (f := whole(e, *rest)) is None else (f[0], f[0]))
    assert misses(name, Random(1)) > 0


def test_a_number_without_an_interval_gives_none() -> None:
    rows: list[dict[str, Any]] = [{"k": "a", "n": 1, "m": 1}, {"k": "a", "n": 2, "m": 2}]
    ends: list[dict[str, Any]] = [{"n": (0, 2), "m": (1, 1)}, {"n": None, "m": (2, 2)}]
    assert stage(OVER["sum"], leaf(rows, ends)).within == [{"x": None}]
    ends[1]["n"] = (0, float("inf"))
    assert stage(OVER["sum"], leaf(rows, ends)).within == [{"x": None}]


def test_nothing_has_a_count_of_zero_and_no_sum() -> None:
    asked = replace(
        OVER["sum"], columns=(("x", Column("x")), ("n", N)),
        regroup=Regrouped((), (Window("x", "sum", (N,)), Window("n", "count"))),
    )  # fmt: skip
    assert stage(asked, leaf([], [])).rows == [{"x": None, "n": 0}]
    keyed = replace(asked, regroup=Regrouped((("k", K),), asked.regroup.measures if asked.regroup else ()))
    assert stage(keyed, leaf([], [])).rows == []


def test_null_equals_nothing_in_a_join() -> None:
    rows: list[dict[str, Any]] = [{"k": None, "n": 1, "m": 1}, {"k": "a", "n": 2, "m": 2}]
    assert [row["x"] for row in stage(OVER["join"], leaf(rows, [{}, {}])).rows] == [None, 4]


# --- rows that released numbers choose --------------------------------------------------------------------------------

PLAIN: dict[str, Any] = {"count": len, "sum": sum, "avg": lambda v: Fraction(sum(v), len(v)), "min": min, "max": max}


@pytest.mark.parametrize("function", PLAIN)
def test_aggregates_of_chosen_rows_lie_between_their_ends_whichever_are_there(function: str) -> None:
    """Every subset of the rows that may be there; and both ends are reached, so none could be nearer."""
    dice = Random(function)
    for _ in range(60):
        sure, unsure = ([dice.randint(-4, 4) for _ in range(dice.randint(0, 4))] for _ in range(2))
        chosen = Chosen([{"x": v} for v in sure], [{"x": v} for v in unsure])
        ends = chosen.ends(Window("s", function, (Column("x"),)), lambda row: True)
        subsets = [sure + list(more) for k in range(len(unsure) + 1) for more in combinations(unsure, k)]
        found = [PLAIN[function](values) for values in subsets if values or function in ("count", "sum")]
        if not found:
            assert ends is None
            continue
        assert ends == pytest.approx((float(min(found)), float(max(found))), abs=1e-12)


def test_no_rule_no_interval() -> None:
    chosen = Chosen([{"x": 1}], [{"x": 2}])
    assert chosen.ends(Window("s", "variance", (Column("x"),)), lambda row: True) is None
    assert Chosen([{"x": "a"}], []).ends(Window("s", "max", (Column("x"),)), lambda row: True) is None


def session() -> dp.Session:
    """Values 0 to 4 of groups a and b, 20 units each (40 of the value 0), of 8 that are listed."""
    x = [v for v in range(5) for _ in range(80 if v == 0 else 40)]
    rows = {"who": range(len(x)), "x": x, "g": [("a", "b")[i % 2] for i in range(len(x))]}
    columns = {"x": dp.keys(range(8)), "g": dp.keys(["a", "b"])}
    return dp.Session(t=dp.table(rows, unit="who", columns=columns, max_rows=1), budget=dp.Pure(1000))


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("SELECT g, SUM(DISTINCT x) AS v FROM t GROUP BY g", 10),
        ("SELECT AVG(DISTINCT x) AS v FROM t", 2),
        ("SELECT COUNT(*) AS v FROM (SELECT x FROM t GROUP BY x HAVING COUNT(*) > 60) AS d", 1),
        ("SELECT MAX(x) AS v FROM (SELECT x FROM t GROUP BY x HAVING COUNT(*) <= 60) AS d", 7),
    ],
)
def test_aggregates_of_values_that_are_there_have_bars_that_hold(text: str, truth: int) -> None:
    """A miss has probability 1e-9. At a high price nothing is unsure, so the bar is a point."""
    for epsilon in ("1/2", "500"):
        answer = session().sql(text).release(epsilon=epsilon)
        for value, ends in zip(answer["v"], answer.intervals("0.999999999")["v"], strict=True):
            assert ends is not None
            assert ends[0] <= truth <= ends[1]
            assert ends[0] <= value <= ends[1]
            assert epsilon == "1/2" or ends[0] == ends[1]


def test_keys_that_nobody_listed_may_be_any_number() -> None:
    rows = {"who": range(90), "x": [i % 3 for i in range(90)]}
    table = dp.table(rows, unit="who", columns={"x": dp.unknown_keys()}, max_rows=1)
    s = dp.Session(t=table, budget=dp.Approx(100, "1e-3"))
    text = "SELECT COUNT(*) AS v FROM (SELECT x FROM t GROUP BY x HAVING COUNT(*) > 5) AS d"
    assert s.sql(text).release(epsilon=10, delta="1e-6").intervals().get("v", [None]) == [None]
