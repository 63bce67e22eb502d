"""Thousands of random texts for the SQL interface: always a well-formed plan or a refusal of ours, in bounded time.

Half of the texts come from a grammar that knows what is allowed and much of what is not; the others are such texts
with words deleted, doubled, swapped or replaced. What is read is lowered, too: there as well, a refusal of ours
is the only other way out.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadQuestion
from discreet.query.front.sql.parse import question
from discreet.query.functions.catalogue import FUNCTIONS, OF_RELEASED
from discreet.query.lower.lower import lower_question
from discreet.query.plan.expressions import Call, Column, Expression, walk
from discreet.query.plan.nodes import Filter, Join, Measure, PerUnit, Project, Question, Relation, Scan, UnionAll
from discreet.query.plan.schema import Schema, Stored, StoredKind, bounds, keys, resolve, table, unknown_keys
from discreet.query.resolve.build import joined_names

pytestmark = pytest.mark.slow

CANARY = "canary7421"
TABLES: dict[str, dict[str, StoredKind]] = {
    "visits": {
        "patient_id": StoredKind.INTEGER, "clinic": StoredKind.TEXT, "cost": StoredKind.REAL, "day": StoredKind.DATE,
        "year": StoredKind.INTEGER, "note": StoredKind.TEXT, "paid": StoredKind.BOOLEAN, "at": StoredKind.TIMESTAMP,
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
AGGREGATES = ["SUM", "AVG", "MIN", "MAX", "VARIANCE", "STDDEV", "MEDIAN"]
Kinds = dict[str, list[str]]
VISITS: Kinds = {
    "number": ["cost", "year"], "text": ["clinic", "note"], "truth": ["paid"], "date": ["day", "at"],
    "unit": ["patient_id"],
}  # fmt: skip
PATIENTS: Kinds = {
    "number": ["age"],
    "text": ["city"],
    "truth": ["age > 9"],
    "date": ["DATE '2024-01-31'"],
    "unit": ["id"],
}
WILD = [
    "(SELECT COUNT(*) FROM visits)", "EXISTS (SELECT 1 FROM visits)", "SUM(cost) OVER ()", "RANDOM()", "NOW()",
    "FOO(cost)", "REPEAT('x', 9)", "CURRENT_DATE", "cost & 1", "[1]", "{'a': 1}", "?", "$1", "note ~ 'x'",
    "CAST(cost AS BLOB)", "cost::INT[]", "INTERVAL 3 DAY", "COUNT(*)", "nothing", "t.cost", "*", "(1, 2)", "x -> 1",
    "STRING_AGG(note, ',')", "cost IN (SELECT 1 FROM visits)", "SUM(SUM(cost))", "GROUPING(clinic)", "DATE 'never'",
    "1e999", "EXTRACT(epoch FROM day)",
]  # fmt: skip


QUOTED, QUOTED_TOO = "'2'", "' 08'"
"""Numbers written as text."""


class Grammar:
    """Random SQL, mostly well typed; ``wild`` is how often something stands where it should not. ``r`` decides."""

    def __init__(self, r: random.Random, wild: float) -> None:
        self.r = r
        self.wild = wild
        self.kinds = VISITS

    def one(self, *choices: Callable[[], str] | str) -> str:
        chosen = self.r.choice(choices)
        return chosen if isinstance(chosen, str) else chosen()

    def maybe(self, part: Callable[[], str] | str, often: float = 0.3) -> str:
        return self.one(part) if self.r.random() < often else ""

    def name(self, kind: str) -> str:
        found = self.r.choice(self.kinds[kind])
        return self.one(found, found, found.upper(), f'"{found}"') if found.isidentifier() else found

    def make(self, kind: str, depth: int = 2) -> str:
        """An expression of that kind."""
        if self.r.random() < self.wild / 3:
            return self.one(self.r.choice(WILD), lambda: self.make(self.r.choice(["number", "text", "truth", "date"])))
        if depth <= 0:
            return self.name(kind)
        number, text, truth, day, same = (
            partial(self.make, k, depth - 1) for k in ("number", "text", "truth", "date", kind)
        )
        choices: list[Callable[[], str]] = [
            lambda: self.name(kind),
            lambda: f"({same()})",
            lambda: f"CASE WHEN {truth()} THEN {same()} ELSE {same()} END",
            lambda: f"COALESCE({same()}, {same()})",
        ]
        match kind:
            case "number":
                choices += [
                    lambda: self.one("0", "1", "2.5", "1e2", "-7"),
                    lambda: f"{number()} {self.one('+', '-', '*')} {number()}",
                    lambda: f"{number()} {self.one('/', '//', '%')} {self.one('2', '10', '0.5')}",
                    lambda: f"{self.one('ABS', 'ROUND', 'FLOOR', '-', 'SIGN')}({number()})",
                    lambda: f"CLAMP({number()}, 0, 100)",
                    lambda: f"LENGTH({text()})",
                    lambda: f"EXTRACT({self.one('year', 'month', 'dow')} FROM {day()})",
                    lambda: f"{self.one('CAST', 'TRY_CAST')}({self.one(text, number)} AS {self.one('INT', 'BIGINT')})",
                    lambda: f"{self.one('SQRT', 'LN', 'LOG10', 'LOG2', 'LOG')}({number()})",
                    lambda: f"EXP(CLAMP({number()}, -5, {self.one('3', '20')}))",
                    lambda: f"POWER({number()}, {self.one('2', '0.5', '1.5', '-1', '-0.5', '0')})",
                    lambda: f"POWER({self.one('2', '0.5')}, CLAMP({number()}, 0, 9))",
                ]
            case "text":
                choices += [
                    lambda: self.one(f"'{CANARY}'", "'a'", "''"),
                    lambda: f"{self.one('LOWER', 'UPPER', 'TRIM')}({text()})",
                    lambda: f"SUBSTRING({text()}, 1, 3)",
                    lambda: f"{text()} || {text()}",
                    lambda: f"{day()}::DATE::TEXT",
                ]
            case "date":
                choices += [
                    lambda: "DATE '2024-02-29'",
                    lambda: f"DATE_TRUNC('{self.one('month', 'week', 'year')}', {day()})",
                    lambda: f"CAST({day()} AS DATE) + INTERVAL {self.one('3', '-1')} DAY",
                    lambda: (
                        f"{day()} {self.one('+', '-')} INTERVAL {self.one('36', '1')} "
                        f"{self.one('SECOND', 'MINUTES', 'HOUR', 'MONTH', 'YEAR')}"
                    ),
                ]
            case _:
                choices += [
                    lambda: self.one("TRUE", "FALSE"),
                    lambda: f"{number()} {self.one('=', '<>', '<', '>=')} {number()}",
                    lambda: f"{text()} {self.one('=', '<')} {text()}",
                    lambda: f"{day()} >= DATE '2020-01-01'",
                    lambda: f"{number()} {self.maybe('NOT')} BETWEEN {number()} AND {number()}",
                    lambda: f"{number()} {self.maybe('NOT')} IN (1, {self.one('2', QUOTED)}, 3)",
                    lambda: f"{number()} {self.one('=', '>=')} {self.one(QUOTED, QUOTED_TOO)}",
                    lambda: f"{text()} {self.maybe('NOT')} LIKE '{CANARY}%'",
                    lambda: f"{self.one(number, text, day)} IS {self.maybe('NOT')} NULL",
                    lambda: f"{truth()} {self.one('AND', 'OR')} {truth()}",
                    lambda: f"NOT {truth()}",
                    lambda: f"({truth()}) IS {self.one('TRUE', 'NOT FALSE')}",
                ]
        return self.r.choice(choices)()

    def total(self) -> str:
        return self.one(
            "COUNT(*)",
            lambda: f"COUNT({self.maybe('DISTINCT')} {self.make(self.r.choice(['text', 'number']), 1)})",
            lambda: f"COUNT(DISTINCT {self.name('unit')})",
            lambda: f"{self.r.choice(AGGREGATES)}({self.make('number')})",
            lambda: f"QUANTILE({self.make('number', 1)}, 0.{self.r.randint(1, 9)})",
            lambda: f"CORR({self.make('number', 1)}, {self.make('number', 1)})",
        ) + self.maybe(lambda: f" FILTER (WHERE {self.make('truth', 1)})", 0.15)

    def output(self) -> str:
        found = self.one(self.total, self.total, lambda: f"ROUND({self.total()} / {self.total()}, 1)")
        return found + self.maybe(lambda: f" AS {self.one('n', 'm', 'total')}{self.r.randint(0, 99)}", 0.4)

    def source(self, depth: int) -> str:
        """What stands after FROM; from here on, names are those of this source."""
        if self.r.random() < self.wild / 3:
            self.kinds = VISITS
            return self.one(
                "visits CROSS JOIN patients", "visits, patients", "read_csv('x')", "'x.csv'",
                "visits FULL JOIN patients USING (id)", "(SELECT cost FROM visits LIMIT 3) t",
                "(SELECT * FROM visits EXCEPT SELECT * FROM visits)", "visits TABLESAMPLE 9%", "LATERAL (SELECT 1) t",
                "visits NATURAL JOIN patients", "(VALUES (1)) t(cost)", "s.visits", "nowhere", "visits v(a)",
            )  # fmt: skip
        match self.r.randrange(8 if depth > 0 else 4):
            case 0 | 1:
                self.kinds = VISITS
                return self.one("visits", "VISITS v", '"visits" AS t')
            case 2:
                self.kinds = PATIENTS
                return "patients"
            case 3:
                self.kinds = {kind: [*VISITS[kind], *PATIENTS[kind]] for kind in VISITS}
                return self.one(
                    f"visits v {self.maybe('LEFT')} JOIN patients p ON v.patient_id = p.id",
                    "(visits v JOIN patients p ON p.id = v.patient_id)",
                    "patients p RIGHT JOIN main.visits v ON v.patient_id = p.id",
                )
            case 4:
                below = self.source(depth - 1)
                return f"(SELECT * FROM {below} WHERE {self.make('truth')}) s"
            case 5:
                below, unit = self.source(depth - 1), self.name("unit")
                made = {kind: self.make(kind) for kind in ("number", "text", "truth", "date")}
                self.kinds = {**{kind: [f"c_{kind}"] for kind in made}, "unit": ["u"]}
                return (
                    f"(SELECT {unit} AS u, {', '.join(f'{e} AS c_{kind}' for kind, e in made.items())} FROM {below}) s"
                )
            case 6:
                below, unit = self.source(depth - 1), self.name("unit")
                most = self.make("number", 1)
                text = f"(SELECT {unit} AS u, COUNT(*) AS n, MAX({most}) AS x FROM {below} GROUP BY {unit}) s"
                self.kinds = {"number": ["CLAMP(n, 0, 9)", "x"], "text": ["'a'"], "truth": ["n > 1"], "unit": ["u"],
                              "date": ["DATE '2024-01-31'"]}  # fmt: skip
                return text
            case _:
                parts = [
                    f"SELECT patient_id AS u, {self.r.choice(['cost', 'year'])} AS x FROM visits" for _ in range(2)
                ]
                self.kinds = {
                    "number": ["x"],
                    "text": ["'a'"],
                    "truth": ["x > 1"],
                    "date": ["DATE '2024-01-31'"],
                    "unit": ["u"],
                }
                return f"({' UNION ALL '.join(parts)}) s"

    def query(self) -> str:
        source = self.source(2)
        where = self.maybe(lambda: f" WHERE {self.make('truth', 3)}", 0.5)
        if self.r.random() < 0.02:
            return f"SELECT {self.one('SUM', 'AVG')}(DISTINCT {self.name('number')}) AS s FROM {source}{where}"
        keys_ = [self.make(self.r.choice(["text", "truth", "number"]), 1) for _ in range(self.r.choice([0, 1, 1, 2]))]
        outputs = [f"{key} AS k{i}" for i, key in enumerate(keys_)] + [
            self.output() for _ in range(self.r.randint(1, 3))
        ]
        places = ", ".join(self.one(f"k{i}", str(i + 1), key) for i, key in enumerate(keys_))
        group = f" GROUP BY {self.one(places, places, f'ROLLUP({places})')}" if keys_ else ""
        text = (
            f"SELECT {', '.join(outputs)} FROM {source}{where}{group}"
            + self.maybe(lambda: f" HAVING {self.total()} > 3", 0.2)
            + self.maybe(lambda: f" ORDER BY {self.one('1', self.total)} {self.one('DESC', '')}", 0.2)
            + self.maybe(" LIMIT 5", 0.2)
        )
        if self.r.random() < self.wild / 3:
            text += self.one(
                " QUALIFY 1 = 1",
                " OFFSET 3",
                " FETCH FIRST 2 ROWS ONLY",
                " UNION SELECT 1",
                "; SELECT 1",
                " FOR UPDATE",
            )
        return f"WITH c AS (SELECT * FROM visits) {text}" if self.r.random() < 0.1 else text


WORDS = [
    *COLUMNS, *AGGREGATES, "SELECT", "FROM", "WHERE", "(", ")", ",", ".", ";", "'", '"', "*", "AS", "WITH", "JOIN",
    "ON", "+", "GROUP BY", "OVER", "CASE", "END", "NULL", "[", "]", "{", "}", "?", "$1", ":", "@", "--", "/*", "*/",
    "DATE", "INTERVAL", "0x1", "1e999", "\\", "`", "LATERAL", "UNION ALL", "PIVOT", "VALUES", "é", "😀", "\n", "{{",
    "timestamp(", "array<", "/*+ x */", "E'x'", "N'x'", "->", "|>", "TABLESAMPLE", "FETCH FIRST", "IGNORE NULLS",
    "NOT", "BETWEEN", "IS", "~", "^",
]  # fmt: skip


def mutated(text: str, r: random.Random) -> str:
    words = text.split(" ")
    for _ in range(r.randint(1, 3)):
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
        sound(expression, released, OF_RELEASED)
    assert len({name for name, _ in outcome.columns}) == len(outcome.columns) > 0
    assert all(set(one) <= {key.name for key in asked.keys} for one in asked.sets)
    assert asked.sets


def ask(text: str) -> str:
    """What became of a text: "lowered", "asked" or the message of the refusal."""
    try:
        asked = question(text, TABLES)
    except BadQuestion as refused:
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


SEEDS = st.integers(0, 2**64)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_random_questions(seed: int) -> None:
    r = random.Random(seed)
    for _ in range(30):
        text = Grammar(r, wild=r.choice([0.0, 0.1, 0.5])).query()
        found = ask(text)
        assert CANARY not in found, text
        assert len(found) < 500, text


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_mutated_questions(seed: int) -> None:
    r = random.Random(seed)
    for _ in range(30):
        ask(mutated(Grammar(r, wild=0.0).query(), r))


@settings(max_examples=5, deadline=None)
@given(seed=SEEDS)
def test_tame_questions_are_often_answered(seed: int) -> None:
    """Otherwise the other tests would test refusals only."""
    r = random.Random(seed)
    found = [ask(Grammar(r, wild=0.0).query()) for _ in range(60)]
    assert found.count("asked") + found.count("lowered") >= 30
    assert found.count("lowered") >= 6


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_the_time_is_in_proportion_to_the_text(seed: int) -> None:
    r = random.Random(seed)
    for _ in range(20):
        text = mutated(Grammar(r, wild=0.3).query(), r)
        assert calls_during(text) < 500 * len(text) + 50_000, text


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text(text: str) -> None:
    for whole in (text, f"SELECT {text} FROM visits", f"SELECT COUNT(*) FROM visits WHERE {text}"):
        ask(whole)
