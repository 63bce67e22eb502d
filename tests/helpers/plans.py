"""Small private and public tables, and relations over them at random."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from random import Random
from typing import Any

from discreet.errors import BadQuestion
from discreet.query.functions.typed_values import TypedColumn
from discreet.query.lower.lower import lower_relation
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import (
    Aggregate,
    Filter,
    How,
    Join,
    Measure,
    Order,
    PerUnit,
    Project,
    Relation,
    Scan,
    UnionAll,
    UnitWindows,
    Window,
)
from discreet.query.plan.schema import Schema, Stored, StoredKind, Table, bounds, keys, resolve, table
from discreet.query.plan.types import Boolean, Date, Kind, Number, Real, Text

Rows = dict[str, list[Any]]
Data = dict[str, Rows]

INTEGER, REAL, TEXT, DATE, BOOLEAN = (
    Stored(kind) for kind in (StoredKind.INTEGER, StoredKind.REAL, StoredKind.TEXT, StoredKind.DATE, StoredKind.BOOLEAN)
)
STORED: dict[str, dict[str, Stored]] = {
    "visits": {"pid": INTEGER, "clinic": TEXT, "cost": REAL, "day": DATE, "urgent": BOOLEAN, "raw": REAL},
    "people": {"id": INTEGER, "age": INTEGER, "city": TEXT},
    "orders": {"oid": INTEGER, "cust": INTEGER, "total": Stored(StoredKind.DECIMAL, 2)},
    "items": {"iid": TEXT, "order_id": INTEGER, "price": INTEGER},
    "parts": {"item": TEXT, "weight": INTEGER},
    "notes": {"who": INTEGER, "stars": INTEGER},
    "cities": {"city": TEXT, "country": TEXT, "size": INTEGER},
}
TABLES: dict[str, Table] = {
    "visits": table(
        None,
        unit="pid",
        columns={
            "clinic": keys(["N", "S"]),
            "cost": bounds(-1, 10),
            "day": bounds(date(2024, 1, 1), date(2024, 3, 31)),
        },
        max_rows=5,
    ),
    "people": table(None, unit="id", columns={"age": bounds(0, 99)}, max_groups=3),
    "orders": table(None, unit="cust", max_rows=7),
    "items": table(None, unit="order_id -> orders.oid", columns={"price": bounds(0, 100)}, max_rows=4),
    "parts": table(None, unit="item -> items.iid"),
    "notes": table(None, unit="who -> people.id", columns={"stars": bounds(1, 5)}),
    "cities": table(None, public=True),
}


def catalog(data: Data | None = None) -> dict[str, Schema]:
    """The schemas of all tables, with these rows."""
    found = {}
    for name, given in TABLES.items():
        whole = Table(
            source=None if data is None else data[name],
            unit=given.unit,
            through=given.through,
            columns=given.columns,
            caps=given.caps,
            public=given.public,
        )
        found[name] = resolve(name, whole, STORED[name])
    return found


def data(dice: Random) -> Data:
    """A few rows in each table; ids collide, are NULL, or lead nowhere."""

    def some(most: int, *columns: Any) -> list[list[Any]]:
        many = dice.randint(most // 2, most)
        return [[dice.choice(values) for _ in range(many)] for values in columns]

    units = [1, 2, 3, 2**62 + 1, 2**62 + 2, None]
    floats = [0.0, -5.0, 3.3, 10.0, float("inf"), float("nan"), 1e300, None]
    days = [date(2023, 1, 1), date(2024, 1, 31), date(2024, 3, 1), date.max, None]
    texts = ["N", "S", "W", "", None]
    many = dice.randint(1, 5)
    ids = dice.sample([10, 11, 12, 13, 14], many)
    found: Data = {
        "visits": dict(
            zip(STORED["visits"], some(8, units, texts, floats, days, [True, False, None], floats), strict=True)
        ),
        "people": dict(zip(STORED["people"], some(5, units, [0, 20, 200, None], ["a", "b", "c", None]), strict=True)),
        "orders": {"oid": ids, "cust": [dice.choice(units) for _ in ids], "total": [None for _ in ids]},
    }
    many = dice.randint(2, 6)
    items = dice.sample(["i", "j", "k", "l", "m", "n"], many)
    found["items"] = {
        "iid": items,
        "order_id": [dice.choice([10, 11, 12, 13, 99, None]) for _ in items],
        "price": [dice.choice([0, 5, 500, None]) for _ in items],
    }
    found["parts"] = dict(zip(STORED["parts"], some(8, ["i", "j", "k", "x", None], [1, 7, None]), strict=True))
    found["notes"] = dict(zip(STORED["notes"], some(5, units, [0, 3, 9, None]), strict=True))
    found["cities"] = {"city": ["a", "b", "b"], "country": ["X", "Y", None], "size": [1, 2, 3]}
    return found


def without(given: Data, unit: Any) -> Data:
    """The tables when one unit was never there: its rows, and those that lead to them, are gone."""

    def keep(rows: Rows, condition: Any) -> Rows:
        kept = [i for i in range(len(next(iter(rows.values())))) if condition({n: v[i] for n, v in rows.items()})]
        return {name: [values[i] for i in kept] for name, values in rows.items()}

    orders = dict(zip(given["orders"]["oid"], given["orders"]["cust"], strict=True))
    items = dict(zip(given["items"]["iid"], given["items"]["order_id"], strict=True))
    return {
        "visits": keep(given["visits"], lambda r: r["pid"] != unit),
        "people": keep(given["people"], lambda r: r["id"] != unit),
        "orders": keep(given["orders"], lambda r: r["cust"] != unit),
        "items": keep(given["items"], lambda r: orders.get(r["order_id"]) != unit),
        "parts": keep(given["parts"], lambda r: orders.get(items.get(r["item"])) != unit),
        "notes": keep(given["notes"], lambda r: r["who"] != unit),
        "cities": given["cities"],
    }


# --- relations ------------------------------------------------------------------------------------------------------


def relation(dice: Random, depth: int) -> Relation:
    """A relation that is understood, at most so deep."""
    while True:
        found = _relation(dice, depth)
        try:
            lower_relation(found, catalog())
        except BadQuestion:
            continue
        return found


def _relation(dice: Random, depth: int) -> Relation:
    if depth == 0:
        return Scan(dice.choice(list(TABLES)))
    below = relation(dice, depth - 1)
    fields = lower_relation(below, catalog()).fields
    match dice.choice(["filter", "project", "join", "join", "union", "unit", "unit", "windows", "windows"]):
        case "filter":
            return Filter(below, _condition(dice, fields))
        case "project":
            return Project(below, _columns(dice, fields))
        case "join":
            return _join(dice, below, fields, relation(dice, dice.randint(0, depth - 1)))
        case "union":
            return UnionAll((below, Filter(below, _condition(dice, fields))))
        case "windows":
            return _windows(dice, below, fields)
        case _:
            return _per_unit(dice, below, fields)


def _of(fields: Mapping[str, TypedColumn], *sorts: type) -> list[str]:
    return [name for name, field in fields.items() if isinstance(field.kind, sorts)]


def _condition(dice: Random, fields: Mapping[str, TypedColumn]) -> Expression:
    name = dice.choice(list(fields))
    constants: dict[type, list[Any]] = {
        Number: [0, 1, 2, 5, 20, Fraction(7, 2)],
        Text: ["N", "S", "a", "i"],
        Boolean: [True],
        Date: [date(2024, 1, 31), date(2024, 3, 1)],
    }
    kind = fields[name].kind
    if isinstance(kind, Real) or dice.random() < 0.2:
        return Call("not", (Call("is_null", (Column(name),)),))
    values = constants[type(kind)]
    if dice.random() < 0.4:
        return Call("in", (Column(name), *(Literal(v) for v in dice.sample(values, min(2, len(values))))))
    compare = dice.choice(["eq", "ne"] if isinstance(kind, Boolean) else ["eq", "ne", "lt", "le", "gt", "ge"])
    first = Call(compare, (Column(name), Literal(dice.choice(values))))
    return first if dice.random() < 0.6 else Call("and", (first, _condition(dice, fields)))


def _columns(dice: Random, fields: Mapping[str, TypedColumn]) -> tuple[tuple[str, Expression], ...]:
    kept = [name for name in fields if dice.random() < 0.8] or list(fields)[:1]
    made: list[tuple[str, Expression]] = [(dice.choice([name, f"{name}_new"]), Column(name)) for name in kept]
    numbers, texts = _of(fields, Number), _of(fields, Text)
    if numbers:
        x = Column(dice.choice(numbers))
        made.append((f"number{dice.randint(0, 9)}", dice.choice([
            Call("add", (x, Literal(1))), Call("clamp", (x, Literal(0), Literal(7))), Call("mod", (x, Literal(3))),
            Call("mul", (x, Literal(Fraction(1, 2)))), Call("coalesce", (x, Literal(0))),
        ])))  # fmt: skip
    if texts:
        made.append((f"text{dice.randint(0, 9)}", Call("upper", (Column(dice.choice(texts)),))))
    return tuple(made)


def _join(dice: Random, left: Relation, fields: Mapping[str, TypedColumn], right: Relation) -> Relation:
    others = lower_relation(right, catalog()).fields
    pairs = [(a, b) for a, x in fields.items() for b, y in others.items() if _alike(x.kind, y.kind)]
    units = [(a, b) for a, b in pairs if fields[a].is_unit and others[b].is_unit]
    if not pairs:
        return Join(left, right, ())
    on = [dice.choice(units)] if units and dice.random() < 0.8 else [dice.choice(pairs)]
    return Join(left, right, tuple(on), dice.choice([How.INNER, How.INNER, How.LEFT]))


def _alike(x: Kind, y: Kind) -> bool:
    return type(x) is type(y) and not isinstance(x, Real)


FUNCTIONS = ("row_number", "rank", "dense_rank", "lag", "lead", "first_value", "last_value", "count", "sum", "avg",
             "min", "max")  # fmt: skip


def _windows(dice: Random, below: Relation, fields: Mapping[str, TypedColumn]) -> Relation:
    """Window functions of every kind; the partition may be one of different people, which is refused."""
    units = [name for name in fields if fields[name].is_unit][:1]
    units += [name for name in fields if name in ("order_id", "oid", "clinic") and dice.random() < 0.3]
    made = []
    for place in range(dice.randint(1, 2)):
        function = dice.choice(FUNCTIONS)
        x = Column(dice.choice(list(fields)))
        if function in ("sum", "avg") and (numbers := _of(fields, Number)):
            x = Column(dice.choice(numbers))
        near = Call("clamp", (x, Literal(-3), Literal(9)))
        given: tuple[Expression, ...] = () if function in FUNCTIONS[:3] else (near if function == "avg" else x,)
        if function in ("lag", "lead"):
            given = (*given, Literal(Fraction(dice.randint(0, 2))))[: dice.randint(1, 2)]
        order = tuple(Order(Column(dice.choice(list(fields))), dice.random() < 0.5) for _ in range(dice.randint(0, 2)))
        rows = dice.choice([None, None, (-1, 0), (None, 1), (0, None)]) if function in FUNCTIONS[5:] else None
        name = f"window{place}_{dice.randint(0, 99)}"
        made.append(Window(name, function, given, tuple(map(Column, units)), order, rows))
    return UnitWindows(below, tuple(made))


def _per_unit(dice: Random, below: Relation, fields: Mapping[str, TypedColumn]) -> Relation:
    units = [name for name in fields if fields[name].is_unit][:1]
    units += [name for name in fields if name in ("order_id", "oid", "clinic") and dice.random() < 0.5]
    keys_: tuple[tuple[str, Expression], ...] = tuple((name, Column(name)) for name in units)
    measures = [Measure("many", Aggregate.COUNT)]
    if numbers := _of(fields, Number):
        x = Call("clamp", (Column(dice.choice(numbers)), Literal(-3), Literal(9)))
        kind = dice.choice([Aggregate.SUM, Aggregate.AVG, Aggregate.MIN, Aggregate.COUNT_DISTINCT, Aggregate.COUNT])
        where = None if dice.random() < 0.5 else _condition(dice, fields)
        measures.append(Measure("measured", kind, (x,), where))
    taken = {name for name, _ in keys_}
    return PerUnit(below, keys_, tuple(m for m in measures if m.name not in taken))
