"""Thousands of random texts at the SQL door: always a well-formed plan or a refusal of ours, in bounded time.

Half of the texts come from a grammar that knows what is allowed and much of what is not; the others are such texts
with words deleted, doubled, swapped or replaced. What passes the door is lowered, too: there as well, a refusal of ours
is the only other way out.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import BadQuestion
from discreet.table.expressions import Call, Column, Expression, walk
from discreet.table.functions import FUNCTIONS
from discreet.table.lower import lower_question
from discreet.table.outcome import FUNCTIONS as AFTER
from discreet.table.plan import Filter, Join, Measure, PerUnit, Project, Question, Relation, Scan, UnionAll
from discreet.table.rows import joined_names
from discreet.table.schema import Schema, Stored, StoredKind, bounds, keys, resolve, table, unknown_keys
from discreet.table.sql import question

CANARY = "canary7421"
TABLES: dict[str, dict[str, StoredKind]] = {
    "visits": {
        "patient_id": StoredKind.INTEGER, "clinic": StoredKind.TEXT, "cost": StoredKind.REAL, "year": StoredKind.INTEGER,
        "day": StoredKind.DATE, "note": StoredKind.TEXT, "paid": StoredKind.BOOLEAN, "at": StoredKind.TIMESTAMP,
    },
    "patients": {"id": StoredKind.INTEGER, "age": StoredKind.INTEGER, "city": StoredKind.TEXT},
    "regions": {"city": StoredKind.TEXT, "region": StoredKind.TEXT},
}  # fmt: skip
DECLARED = {
    "visits": table(
        "x",
        unit="patient_id",
        columns={
            "cost": bounds(0, 500),
            "clinic": keys(["a", "b"]),
            "year": bounds(2000, 2030),
            "note": unknown_keys(),
        },
    ),
    "patients": table("x", unit="id", columns={"age": bounds(0, 120), "city": unknown_keys()}),
    "regions": table("x", public=True),
}
SCHEMAS: dict[str, Schema] = {
    name: resolve(name, DECLARED[name], {column: Stored(kind) for column, kind in columns.items()})
    for name, columns in TABLES.items()
}

# --- a grammar --------------------------------------------------------------------------------------------------------

COLUMNS = [column for columns in TABLES.values() for column in columns]
OPERATORS = ["+", "-", "*", "/", "//", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "||", "LIKE", "IS", "&", "~"]
CALLS = ["ABS", "ROUND", "FLOOR", "LOWER", "LENGTH", "COALESCE", "NULLIF", "GREATEST", "CLAMP", "WIDTH_BUCKET", "YEAR",
         "DATE_TRUNC", "SUBSTRING", "CONCAT", "NOW", "RANDOM", "REPEAT", "FOO", "LEFT", "TRIM", "DATE_DIFF"]  # fmt: skip
AGGREGATES = ["COUNT", "SUM", "AVG", "MIN", "MAX", "VARIANCE", "STDDEV", "MEDIAN", "CORR", "QUANTILE", "STRING_AGG"]
TYPES = ["INT", "BIGINT", "TEXT", "DATE", "TIMESTAMP", "BOOLEAN", "DOUBLE", "DECIMAL(8, 2)", "BLOB", "INT[]"]


class Grammar:
    """Random SQL. ``r`` decides everything."""

    def __init__(self, r: random.Random) -> None:
        self.r = r
        self.names = list(COLUMNS)

    def one(self, *choices: Callable[[], str] | str) -> str:
        chosen = self.r.choice(choices)
        return chosen if isinstance(chosen, str) else chosen()

    def maybe(self, part: Callable[[], str], often: float = 0.3) -> str:
        return part() if self.r.random() < often else ""

    def some(self, part: Callable[[], str], most: int = 3) -> str:
        return ", ".join(part() for _ in range(self.r.randint(1, most)))

    def name(self) -> str:
        found = self.r.choice(self.names)
        return self.one(found, found, found, found.upper(), f'"{found}"', f"t.{found}", f"visits.{found}")

    def constant(self) -> str:
        return self.one("1", "0", "2.5", "1e3", f"'{CANARY}'", "'a'", "'a%'", "TRUE", "NULL", "DATE '2024-01-31'", "-7",
                        "INTERVAL 3 DAY")  # fmt: skip

    def expression(self, depth: int = 3, totals: bool = False) -> str:
        inner = lambda: self.expression(depth - 1, totals)  # noqa: E731
        if depth <= 0 or self.r.random() < 0.3:
            return self.one(self.name, self.name, self.constant)
        choices: list[Callable[[], str]] = [
            lambda: f"{inner()} {self.r.choice(OPERATORS)} {inner()}",
            lambda: f"{inner()} {self.r.choice(OPERATORS)} {inner()}",
            lambda: f"({inner()})",
            lambda: f"{self.one('NOT', '-', '+')} {inner()}",
            lambda: f"{self.r.choice(CALLS)}({self.some(inner)})",
            lambda: f"{inner()} {self.one('', 'NOT')} BETWEEN {inner()} AND {inner()}",
            lambda: f"{inner()} {self.one('', 'NOT')} IN ({self.some(self.constant)})",
            lambda: f"{inner()} IS {self.one('', 'NOT')} {self.one('NULL', 'TRUE', 'UNKNOWN')}",
            lambda: f"CASE WHEN {inner()} THEN {inner()} {self.maybe(lambda: f'ELSE {inner()}')} END",
            lambda: f"CASE {inner()} WHEN {inner()} THEN {inner()} END",
            lambda: f"{self.one('CAST', 'TRY_CAST')}({inner()} AS {self.r.choice(TYPES)})",
            lambda: f"{inner()}::{self.r.choice(TYPES)}",
            lambda: f"EXTRACT({self.one('year', 'dow', 'epoch')} FROM {inner()})",
            lambda: f"({self.query(depth - 1)})",
            lambda: f"{inner()} IN ({self.query(depth - 1)})",
        ]
        if totals:
            choices += [self.total] * 8
        return self.r.choice(choices)()

    def total(self) -> str:
        inside = self.one(
            "*",
            lambda: self.some(lambda: self.expression(2), 2),
            lambda: f"DISTINCT {self.expression(1)}",
            lambda: f"{self.expression(1)}, 0.9",
        )
        return (
            f"{self.r.choice(AGGREGATES)}({inside})"
            + self.maybe(lambda: f" FILTER (WHERE {self.expression(2)})", 0.15)
            + self.maybe(lambda: " OVER (PARTITION BY clinic)", 0.05)
        )

    def output(self) -> str:
        return self.expression(2, totals=True) + self.maybe(lambda: f" AS {self.one('n', 'm', 'clinic', 'k')}", 0.4)

    def source(self, depth: int) -> str:
        plain = lambda: self.one("visits", "visits", "patients", "regions", "v", "cte")  # noqa: E731
        return self.one(
            plain,
            plain,
            lambda: f"{plain()} {self.one('t', 'AS t', 'v')}",
            lambda: f"({self.query(depth - 1)}) {self.one('t', 'AS t(a, b)', '')}" if depth else plain(),
            lambda: (
                f"{plain()} t {self.one('JOIN', 'LEFT JOIN', 'FULL JOIN', 'CROSS JOIN')} {plain()} u "
                f"{self.one('USING (city)', 'USING (patient_id)', 'ON t.patient_id = u.id', 'ON ' + self.expression(1), '')}"
            ),
        )

    def keys(self) -> str:
        return self.one(
            lambda: self.some(lambda: self.expression(1)),
            lambda: self.some(lambda: self.one("clinic", "1", "2", "n", "k", "year")),
            lambda: f"{self.one('ROLLUP', 'CUBE', 'GROUPING SETS')} ({self.some(self.name)})",
        )

    def query(self, depth: int = 2) -> str:
        return "".join(
            [
                self.maybe(lambda: f"WITH cte AS ({self.query(depth - 1)}) " if depth > 0 else "", 0.1),
                "SELECT ",
                self.maybe(lambda: "DISTINCT ", 0.1),
                self.one("*", lambda: self.some(self.output)) if depth < 2 else self.some(self.output, 4),
                f" FROM {self.source(depth)}",
                self.maybe(lambda: f" WHERE {self.expression()}"),
                self.maybe(lambda: f" GROUP BY {self.keys()}", 0.5),
                self.maybe(lambda: f" HAVING {self.expression(2, totals=True)}", 0.15),
                self.maybe(lambda: f" QUALIFY {self.expression(1)}", 0.02),
                self.maybe(lambda: f" ORDER BY {self.some(lambda: self.expression(1, totals=True))} DESC", 0.15),
                self.maybe(lambda: f" LIMIT {self.one('3', '0', 'cost', '1.5')}", 0.1),
                self.maybe(lambda: f" {self.one('UNION ALL', 'UNION', 'EXCEPT')} {self.query(depth - 1)}", 0.1)
                if depth > 0
                else "",
            ]
        )

    def sensible(self) -> str:
        """A question that has a good chance to be one."""
        good = [
            lambda: self.one("cost", "year", "cost * 2 + 1", "COALESCE(cost, 0)", "CLAMP(year, 2000, 2010)"),
        ]
        self.names = list(TABLES["visits"])
        outputs = [f"{self.one('SUM', 'AVG', 'MIN', 'MEDIAN', 'VARIANCE')}({good[0]()})" for _ in range(2)]
        key = self.one("clinic", "note", "paid", "year", "EXTRACT(month FROM day)", "WIDTH_BUCKET(cost, 0, 9, 3)")
        condition = self.one(
            "paid", "year = 2024", "cost BETWEEN 1 AND 2", "clinic IN ('a')", lambda: self.expression(2)
        )
        source = self.one(
            "visits",
            "(SELECT * FROM visits WHERE paid) t",
            "visits JOIN patients ON patient_id = id",
            "(SELECT patient_id, clinic, note, paid, year, day, MAX(cost) AS cost FROM visits GROUP BY 1, 2, 3, 4, 5, 6)",
        )
        return (
            f"SELECT {key} AS k, COUNT(*) AS n, {', '.join(outputs)} FROM {source} WHERE {condition} "
            f"GROUP BY {self.one('k', '1', key)} {self.maybe(lambda: 'HAVING n > 3')} {self.maybe(lambda: 'ORDER BY 2 DESC')}"
        )


WORDS = [*OPERATORS, *CALLS, *AGGREGATES, *COLUMNS, "SELECT", "FROM", "WHERE", "(", ")", ",", ".", ";", "'", '"', "*", "AS",
         "WITH", "JOIN", "ON", "GROUP BY", "OVER", "CASE", "END", "NULL", "[", "]", "{", "}", "?", "$1", ":", "@", "--", "/*",
         "*/", "DATE", "INTERVAL", "0x1", "1e999", "\\", "`", "LATERAL", "UNION ALL", "PIVOT", "VALUES", "é", "😀", "\n",
         "timestamp(", "array<", "{{", "/*+ x */", "E'x'", "N'x'", "->", "|>", "TABLESAMPLE", "FETCH FIRST", "IGNORE NULLS"]  # fmt: skip


def mutated(text: str, r: random.Random) -> str:
    words = text.split(" ")
    for _ in range(r.randint(1, 4)):
        at = r.randrange(len(words))
        match r.randrange(6):
            case 0:
                del words[at]
                words = words or [""]
            case 1:
                words.insert(at, words[at])
            case 2:
                other = r.randrange(len(words))
                words[at], words[other] = words[other], words[at]
            case 3:
                words[at] = r.choice(WORDS)
            case 4:
                words.insert(at, r.choice(WORDS))
            case _:
                word = words[at]
                place = r.randint(0, len(word))
                words[at] = word[:place] + r.choice("()'\"%;,.*x1 \t-/") + word[place + r.randint(0, 1) :]
    return " ".join(words)


# --- what must hold ---------------------------------------------------------------------------------------------------


def available(relation: Relation) -> tuple[str, ...]:
    """The columns of a relation; all expressions below are checked on the way."""
    match relation:
        case Scan(table=name):
            return tuple(TABLES[name])
        case Filter(source=source, predicate=predicate):
            names = available(source)
            sound(predicate, names)
        case Project(source=source, columns=columns):
            for _, expression in columns:
                sound(expression, available(source))
            names = tuple(name for name, _ in columns)
        case Join(left=left, right=right, on=on):
            first, second = available(left), available(right)
            assert on
            assert all(a in first and b in second for a, b in on)
            names = (*first, *joined_names(first, second))
        case UnionAll(parts=parts):
            found = [available(part) for part in parts]
            assert len({len(names) for names in found}) == 1
            names = found[0]
        case PerUnit(source=source, keys=keys_, measures=measures):
            below = available(source)
            for _, expression in keys_:
                sound(expression, below)
            for measure in measures:
                sound_measure(measure, below)
            names = (*(name for name, _ in keys_), *(measure.name for measure in measures))
    assert len(set(names)) == len(names)
    assert not any(name.startswith("__") for name in names)
    return names


def sound(expression: Expression, names: tuple[str, ...], allowed: Any = FUNCTIONS) -> None:
    for part in walk(expression):
        assert not isinstance(part, Column) or part.name in names
        assert not isinstance(part, Call) or part.function in allowed


def sound_measure(measure: Measure, names: tuple[str, ...]) -> None:
    for expression in (*measure.arguments, *([] if measure.where is None else [measure.where])):
        sound(expression, names)


def well_formed(asked: Question) -> None:
    names = available(asked.source)
    for key in asked.keys:
        sound(key.expression, names)
    for measure in asked.measures:
        sound_measure(measure, names)
    released = (*(key.name for key in asked.keys), *(measure.name for measure in asked.measures))
    assert len(set(released)) == len(released)
    bare = [(m.aggregate, m.arguments, m.where, m.level) for m in asked.measures]
    assert len(set(bare)) == len(bare)
    outcome = asked.outcome
    after = [expression for _, expression in outcome.columns] + [order.expression for order in outcome.order]
    for expression in (*after, *([] if outcome.having is None else [outcome.having])):
        sound(expression, released, AFTER)
    assert len({name for name, _ in outcome.columns}) == len(outcome.columns) > 0
    assert all(set(one) <= {key.name for key in asked.keys} for one in asked.sets)
    assert asked.sets


def ask(text: str) -> str:
    """What became of a text: "lowered", "asked" or the message of the refusal."""
    try:
        asked = question(text, TABLES)
    except BadQuestion as refused:
        assert len(str(refused)) < 500
        return str(refused)
    well_formed(asked)
    try:
        lower_question(asked, SCHEMAS)
    except BadQuestion:
        return "asked"
    return "lowered"


def calls_during(text: str) -> int:
    count = 0

    def seen(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        question(text, TABLES)
    except BadQuestion:
        pass
    finally:
        sys.setprofile(before)
    return count


QUIET = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SEEDS = st.integers(0, 2**64)


@QUIET
@given(seed=SEEDS)
def test_random_questions(seed: int) -> None:
    r = random.Random(seed)
    for _ in range(30):
        text = Grammar(r).query()
        assert CANARY not in ask(text), text


@QUIET
@given(seed=SEEDS)
def test_mutated_questions(seed: int) -> None:
    r = random.Random(seed)
    for _ in range(30):
        grammar = Grammar(r)
        ask(mutated(r.choice([grammar.query, grammar.sensible])(), r))


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_sensible_questions_are_often_answered(seed: int) -> None:
    r = random.Random(seed)
    found = [ask(Grammar(r).sensible()) for _ in range(40)]
    assert found.count("lowered") >= 8


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_the_time_is_in_proportion_to_the_text(seed: int) -> None:
    r = random.Random(seed)
    for _ in range(20):
        text = mutated(Grammar(r).query(), r)
        assert calls_during(text) < 500 * len(text) + 50_000, text


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text(text: str) -> None:
    for whole in (text, f"SELECT {text} FROM visits", f"SELECT COUNT(*) FROM visits WHERE {text}"):  # noqa: S608
        ask(whole)
