"""Made-up people with odd rows, in tables t and s, their orders and items, and neighbours of them: one person apart."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

import pyarrow as pa

from discreet.privacy.promises.neighbours import Neighbours

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
TIMES = [
    datetime.datetime(1, 1, 1),
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
    datetime.datetime(2025, 2, 3, 4, 5, 6),
    None,
]
VALUES = [None, 0, 1, 2, 3, 9, -5, 2**62]
COLUMNS = {
    "g": pa.string(),
    "h": pa.string(),
    "k": pa.int64(),
    "x": pa.float64(),
    "d": pa.date32(),
    "b": pa.bool_(),
    "at": pa.timestamp("us"),
}
REGIONS = pa.table({"g": ["a", "b", "z", "A"], "pop": [1, 2, 3, None], "region": ["N", "N", "S", "S"]})
NAMES = ["", "nan", " ", "0", "00", "\x00", "é", "null"]
IDS: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "integer": (pa.int64(), lambda person: person),
    "least": (pa.int64(), lambda person: -(2**63) + person),
    "float": (pa.float64(), float),
    "text": (pa.string(), lambda person: [*NAMES, f"p{person}"][min(person, len(NAMES))]),
}
Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Person:
    """A number, and the rows in t and the values in s."""

    number: int
    rows: tuple[Row, ...]
    values: tuple[int | None, ...]


def draw_row(random: Random, odd: float) -> Row:
    """A row of t, ordinary or odd in each column."""

    def one(usual: Any, strange: Sequence[Any]) -> Any:
        return random.choice(strange) if random.random() < odd else usual

    return {
        "g": one(random.choice("abc"), TEXTS),
        "h": one(random.choice("xy"), TEXTS),
        "k": one(random.randint(0, 90), INTEGERS),
        "x": one(round(random.gammavariate(0.7, 60), 3), FLOATS),
        "d": one(datetime.date(2025, 1, 1) + datetime.timedelta(random.randint(0, 300)), DAYS),
        "b": one(random.random() < 0.4, [None]),
        "at": one(datetime.datetime(2025, 1, 1) + datetime.timedelta(random.random() * 400), TIMES),
    }


def draw_person(random: Random, number: int, odd: float) -> Person:
    """Nobody's rows, a few, or many; now and then all equal."""
    many = random.choice([0, 1, 1, 2, 3, 3, 7, 4, 4, 40])
    first = draw_row(random, odd)
    rows = [first if random.random() < 0.15 else draw_row(random, odd) for _ in range(many)]
    return Person(number, tuple(rows), tuple(random.choice(VALUES) for _ in range(random.choice([0, 1, 2, 5]))))


@dataclass(frozen=True, slots=True)
class Sides:
    """Two populations one person apart, and how their tables are stored."""

    sides: tuple[tuple[Person, ...], tuple[Person, ...]]
    relation: Neighbours
    ids: str
    nobody: tuple[Row, ...]
    """Rows that have no unit, on both sides."""

    def tables(self, side: int) -> dict[str, pa.Table]:
        """t and s, and orders o with their items i."""
        kind, name = IDS[self.ids]
        people = self.sides[side]
        owned = [(name(person.number), row) for person in people for row in person.rows]
        owned += [(None, row) for row in self.nobody]
        ids = pa.array([owner for owner, _ in owned], kind)
        first = {column: pa.array([row[column] for _, row in owned], stored) for column, stored in COLUMNS.items()}
        second = [(name(person.number), value) for person in people for value in person.values]
        orders = [(3 * person.number + j, person) for person in people for j in range(len(person.rows) % 4)]
        items = [(order, j, row) for order, person in orders for j, row in enumerate(person.rows[:3])]
        return {
            "t": pa.table({"id": ids, **first}),
            "s": pa.table({
                "id": pa.array([owner for owner, _ in second], kind),
                "v": pa.array([value for _, value in second], pa.int64()),
            }),
            "o": pa.table({
                "oid": pa.array([order for order, _ in orders], pa.int64()),
                "id": pa.array([name(person.number) for _, person in orders], kind),
            }),
            "i": pa.table({
                "oid": pa.array([order for order, *_ in items], pa.int64()),
                "w": pa.array([place for _, place, _ in items], pa.int64()),
                "x": pa.array([row["x"] for *_, row in items], pa.float64()),
                "g": pa.array([row["g"] for *_, row in items], pa.string()),
            }),
        }  # fmt: skip


def draw_sides(random: Random) -> Sides:
    """Nobody to 60 people, and one more, or one in another's place; either may be the first side."""
    odd, many = random.choice([0, 0.1, 0.1, 0.6, 1]), random.choice([0, 1, 2, 3, 6, 25, 60])
    people = tuple(draw_person(random, number, odd) for number in range(many))
    further = draw_person(random, many, odd)
    while not further.rows:
        further = draw_person(random, many, odd)
    if random.random() < 0.1:
        further = Person(many, further.rows * 40, further.values)
    relation = random.choice([Neighbours.ADD_REMOVE, Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE])
    instead = () if relation is Neighbours.ADD_REMOVE else (draw_person(random, many + random.randint(0, 1), odd),)
    sides = ((*people, further), (*people, *instead))
    nobody = tuple(draw_row(random, 1.0) for _ in range(random.choice([0, 0, 3])))
    return Sides(sides if random.random() < 0.5 else sides[::-1], relation, random.choice(list(IDS)), nobody)
