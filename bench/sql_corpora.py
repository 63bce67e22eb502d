"""Questions that others wrote: how many are answered, refused, or wrong. ``python -m bench.sql_corpora FOLDER ...``

A folder holds ``questions.sql`` (statements that end in a semicolon, each after a line ``-- name``, or
``-- name: refused, why`` where no answer is right; ``-- name: in tsql`` where it is spelled as another database spells
it, and after a line ``==`` as DuckDB does) and ``tables.json`` (columns by type and range, from which rows are
made up). Every question is asked at a price at which noise does not matter, with caps that cut nobody, and compared
with what DuckDB answers to the same text. Without a folder: the four that ship with the tests.
"""

from __future__ import annotations

import json
import math
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa

import discreet as dp
from discreet.query.plan.schema import Table

OURS = Path(__file__).resolve().parent.parent / "tests" / "corpora"
PRICE, DELTA = 10**12, "1e-9"
TIMES = 3
"""How often a question is planned and previewed; the least processor time counts."""
CAP = 4096
"""Rows of one unit that count: more than anybody has."""
NEAR = 0.03
"""How far an answer may be off, in parts of it: quantiles, MIN and MAX are read off bins."""


@dataclass(frozen=True, slots=True)
class Text:
    """One question, and why it must be refused, if it must."""

    name: str
    sql: str
    refused: str | None
    dialect: str | None = None
    plain: str = ""
    """The same as DuckDB writes it, if that is another text."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a question: answered, refused or wrong; why; and how long planning and preview took."""

    text: Text
    what: str
    why: str
    seconds: float

    @property
    def right(self) -> bool:
        """Whether it is as it should be."""
        return self.what == ("refused" if self.text.refused is not None else "answered")


def texts(folder: Path) -> list[Text]:
    """The questions of a folder."""
    found = []
    for part in re.split(r"(?m)^-- ", (folder / "questions.sql").read_text())[1:]:
        title, _, sql = part.partition("\n")
        name, _, note = title.partition(":")
        sql, _, plain = sql.partition("\n==\n")
        dialect = note.strip().removeprefix("in ") if note.strip().startswith("in ") else None
        refused = note.strip().removeprefix("refused,").strip() if note.strip().startswith("refused") else None
        found.append(Text(name.strip(), sql.strip().rstrip(";"), refused, dialect, plain.strip().rstrip(";")))
    return found


# --- made-up rows -----------------------------------------------------------------------------------------------------


def rows(folder: Path) -> tuple[dict[str, pa.Table], dict[str, Table]]:
    """The tables of a folder, and what is declared of them."""
    given = json.loads((folder / "tables.json").read_text())
    random, made, declared = Random(20), {}, {}
    for name, table in given.items():
        columns = table["columns"]
        data: dict[str, list[Any]] = {}
        for column, how in columns.items():
            values = _values(how, table["rows"], random, data)
            few = how.get("nulls", 0)
            data[column] = [None if few and random.randrange(100) < few else value for value in values]
        made[name] = pa.table({c: pa.array(values, _type(columns[c])) for c, values in data.items()})
        said = {c: one for c, how in columns.items() if (one := _declared(how)) is not None}
        if table.get("public"):
            declared[name] = dp.table(made[name], public=True, columns=said)
        else:
            unit = table["unit"].partition(" ")[0]
            said.pop(unit, None)
            declared[name] = dp.table(made[name], unit=table["unit"], columns=said, max_rows=CAP, max_groups=512,
                                      max_rows_per_group=CAP)  # fmt: skip
    return made, declared


def _values(how: Mapping[str, Any], many: int, random: Random, beside: Mapping[str, list[Any]]) -> list[Any]:
    match how["type"]:
        case "bool":
            return [random.random() < 0.5 for _ in range(many)]
        case "list":
            return [random.sample(how["values"], random.randrange(len(how["values"]))) for _ in range(many)]
        case "later":
            return [value + timedelta(random.randint(0, how.get("days", 0)), random.randint(0, how.get("seconds", 0)))
                    for value in beside[how["of"]]]  # fmt: skip
        case "clock":
            return [time_of_day(random.randrange(24), random.randrange(60), random.randrange(60)) for _ in range(many)]
        case "serial":
            return list(range(1, many + 1))
        case "int":
            return [random.randint(how["low"], how["high"]) for _ in range(many)]
        case "float":
            return [round(random.uniform(how["low"], how["high"]), 2) for _ in range(many)]
        case "decimal":
            low, high = (int(Decimal(how[end]) * 100) for end in ("low", "high"))
            return [Decimal(random.randint(low, high)).scaleb(-2) for _ in range(many)]
        case "choice":
            return [random.choice(how["values"]) for _ in range(many)]
        case "each":
            return [how["values"][i % len(how["values"])] for i in range(many)]
        case "word":
            return [f"name{i:03}" for i in range(many)]
        case "date":
            first, last = (date.fromisoformat(how[end]) for end in ("low", "high"))
            return [first + timedelta(days=random.randint(0, (last - first).days)) for _ in range(many)]
        case _:
            first, last = (date.fromisoformat(how[end]) for end in ("low", "high"))
            start = datetime(first.year, first.month, first.day)
            return [start + timedelta(seconds=random.randrange(86_400 * (last - first).days)) for _ in range(many)]


def _type(how: Mapping[str, Any]) -> pa.DataType:
    kinds = {"serial": pa.int64(), "int": pa.int64(), "float": pa.float64(), "decimal": pa.decimal128(15, 2),
             "date": pa.date32(), "time": pa.timestamp("us"), "bool": pa.bool_(), "clock": pa.time64("us"),
             "list": pa.list_(pa.string()),
             "later": pa.date32() if "days" in how else pa.timestamp("us")}  # fmt: skip
    return kinds.get(how["type"], pa.string())


def _declared(how: Mapping[str, Any]) -> Any:
    if how.get("unknown"):
        return dp.unknown_keys()
    if "low" in how and how.get("bounds", True):
        return dp.bounds(how["low"], how["high"])
    return dp.keys(list(dict.fromkeys(how["values"]))) if how["type"] == "choice" and how.get("keys", True) else None


# --- asking -----------------------------------------------------------------------------------------------------------


def results(folder: Path, every: int = 1) -> Iterator[Result]:
    """What becomes of each question of a folder, or of every second, and so on."""
    made, declared = rows(folder)
    session = dp.Session(declared, budget=dp.Approx(10**15, "0.5"), progress=False)
    truth = duckdb.connect()
    for name, table in made.items():
        truth.register(name, table)
    for text in texts(folder)[::every]:
        seconds = math.inf
        try:
            for _ in range(TIMES):
                start = time.process_time()
                query = session.sql(text.sql, dialect=text.dialect)
                query.preview(epsilon=PRICE, delta=DELTA)
                seconds = min(seconds, time.process_time() - start)
        except dp.errors.DiscreetError as error:
            yield Result(text, "refused", str(error), time.process_time() - start)
            continue
        answer = query.release(epsilon=PRICE, delta=DELTA)
        found = [tuple(row.values()) for row in answer.rows]
        why = _differs(found, truth, text.plain or text.sql)
        yield Result(text, "wrong" if why else "answered", why, seconds)


def _differs(found: Sequence[tuple[Any, ...]], truth: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Why the rows are not what SQL says; empty if they are. A listed key that nobody has is a row with a 0 or NULL."""
    whole = re.sub(r"(?i)\s(LIMIT|OFFSET)\s+\d+(\s+OFFSET\s+\d+)?\s*$", "", sql)
    right, asked = truth.sql(whole).fetchall(), truth.sql(sql).fetchall()
    for row in found:
        if not _is_empty(row) and not any(_near(row, other) for other in right):
            return f"{row} is not among the rows"
    if whole == sql and not all(any(_near(row, other) for row in found) for other in right):
        return f"of {len(right)} rows, some are missing"
    return f"{len(found)} rows, and SQL says {len(asked)}" if len(found) < len(asked) else ""


def _is_empty(row: tuple[Any, ...]) -> bool:
    return any(value is None or (isinstance(value, int | float) and abs(value) < 0.5) for value in row)


def _near(row: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(row) == len(other) and all(map(_same, row, other))


def _same(x: Any, y: Any) -> bool:
    if isinstance(x, int | float) and isinstance(y, int | float | Decimal):
        return abs(float(x) - float(y)) <= NEAR * max(1.0, abs(float(y)))
    if isinstance(x, date) and isinstance(y, date):
        days = [z if isinstance(z, datetime) else datetime(z.year, z.month, z.day) for z in (x, y)]
        return abs(days[0] - days[1]) <= timedelta(days=1)
    return bool(x == y)


def main(folders: Sequence[Path] = ()) -> None:
    """Print a table for each folder."""
    for folder in folders or sorted(OURS.iterdir()):
        found = list(results(folder))
        for one in found:
            place = f"{' ' if one.right else '!'} {folder.name} {one.text.name:>3}"
            sys.stdout.write(f"{place} {one.what:9} {1e3 * one.seconds:6.1f} ms  {one.why}\n")
        askable = [one for one in found if one.text.refused is None]
        answered = sum(one.what == "answered" for one in askable)
        wrong = sum(one.what == "wrong" for one in found)
        slowest = max(one.seconds for one in found)
        sys.stdout.write(
            f"{folder.name}: {answered} of {len(askable)} askable questions answered, {wrong} wrong, "
            f"{sum(one.what == 'refused' for one in found)} of {len(found)} refused; "
            f"slowest plan and preview {1e3 * slowest:.0f} ms\n"
        )


if __name__ == "__main__":
    main([Path(one) for one in sys.argv[1:]])
