"""Profiles of random tables: the exact numbers are those of the oracle, and no unit moves them by more than is charged.

Columns of every kind, with the values at which types, grids and codes end; units of every kind; names that statements
use themselves; rows in small parts, so that units are read some after the others, in few and in many threads.
"""

from __future__ import annotations

import math
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import row_codes
from discreet.engines.duckdb.engine import duckdb
from discreet.engines.memory.engine import Memory
from discreet.mechanisms.additive.laplace import Laplace
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.estimate.prepare import jobs
from discreet.query.plan.work import Exact
from discreet.query.profile.questions import table_questions
from discreet.query.run import Quote, works_of
from discreet.session.price import Price

pytestmark = pytest.mark.slow

BLOCKS, TABLES = 500, 6
"""3,000 tables in all; ``tests/sampled_tests.txt`` keeps some."""

TEXTS = [
    "a", "A", "b", "", " ", "a ", "ä", "a\u0308", "İ", "i", "ß", "SS", "日本", "a\0b", "a\0", "\0", "🙂", "'", '"', "%",
    "|", "1", "01", "NULL", "null", "true", "\n", "z" * 40,
]  # fmt: skip
ENDS = [0, 7, 8, 15, 16, 31, 32, 53, 60, 62, 63, 64]
INTEGERS = sorted({sign * (1 << bits) + more for bits in ENDS for sign in (1, -1) for more in (-1, 0, 1)} | {0, 5})
FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0**-20, 2.0**-21, 2.0**-22, 3 * 2.0**-22, 5e-324, -5e-324, 1e-308, 1e300, -1e300,
    math.inf, -math.inf, math.nan, 2.0**39, 2.0**40, 2.0**41, 0.1, -3.5, 2.0**53, 1.7976931348623157e308, 1 + 2.0**-30,
]  # fmt: skip
DAYS = [0, 1, -1, 18000, -25567, -25568, -719162, -719163, 2932896, 2932897, 47846, 48212, -(2**31) + 2, 2**31 - 1]
WIDTHS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
NAMES = [
    "u", "k0", "i", "c0", "b", "g", "p", "x", "n", "class", "cells", "v1", "t", "some_pairs", "x0_0", "p0_0", "A b",
    'q"', "ü", "key_codes_0", "unit", "NULL",
]  # fmt: skip


# --- random tables ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Values:
    """Values that a column may have; those of dates and times as integers."""

    some: list[Any]
    kind: pa.DataType
    stored: pa.DataType | None = None

    def column(self, rng: random.Random, rows: int, nulls: float) -> pa.Array:
        often = rng.random() * 0.6
        one = [self.some[0] if rng.random() < often else rng.choice(self.some) for _ in range(rows)]
        found = pa.array([None if rng.random() < nulls else x for x in one], self.stored or self.kind)
        return found if self.stored is None else found.cast(self.kind)


def _integers(rng: random.Random) -> Values:
    kind = rng.choice(WIDTHS)
    signed = pa.types.is_signed_integer(kind)
    low, high = (
        (-(1 << kind.bit_width - 1), (1 << kind.bit_width - 1) - 1) if signed else (0, (1 << kind.bit_width) - 1)
    )
    there = [x for x in INTEGERS if low <= x <= high]
    near = rng.choice(there)
    few = range(max(low, near - 4), min(high, near + 4) + 1)
    return Values(rng.choice([there, list(few), list(range(max(low, -3), 12))]), kind)


def _texts(rng: random.Random) -> Values:
    some = rng.sample(TEXTS, rng.randint(1, 12))
    kind = rng.choice([pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
    return Values(some, kind, pa.string() if pa.types.is_dictionary(kind) else None)


def _floats(rng: random.Random) -> Values:
    kind = rng.choice([pa.float64(), pa.float32()])
    some = rng.sample(FLOATS, rng.randint(2, 14))
    short = [x for x in some if not math.isfinite(x) or abs(x) < 1e38]
    return Values(some if kind == pa.float64() else [float(np.float32(x)) for x in short] or [0.0], kind)


def _decimals(rng: random.Random) -> Values:
    digits, scale = rng.choice([(4, 2), (9, 0), (18, 6), (18, 18), (38, 0), (38, 10), (38, 18)])
    most = 10**digits - 1
    some = [x for x in [*INTEGERS, most, -most] if abs(x) <= most]
    return Values([Decimal(x).scaleb(-scale, Context(prec=60)) for x in some], pa.decimal128(digits, scale))


def _days(rng: random.Random) -> Values:
    return Values(rng.sample(DAYS, rng.randint(2, 12)), pa.date32(), pa.int32())


def _times(rng: random.Random) -> Values:
    unit = rng.choice(["s", "ms", "us", "ns"])
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    some = [day * 86_400 * per + rng.choice([0, 1, -1, 999, 1000]) for day in rng.sample(DAYS, rng.randint(2, 10))]
    inside = [min(max(x, -(2**63) + 2), 2**63 - 2) for x in some]
    return Values(inside, pa.timestamp(unit, tz=rng.choice([None, "UTC", "America/New_York"])), pa.int64())


def _names(rng: random.Random) -> Values:
    return Values([str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(8)], pa.string())


def _whole_floats(_: random.Random) -> Values:
    return Values(
        [*map(float, range(8)), math.nan, math.inf, -0.0, 0.5, 2.0**53, 2.0**53 - 1, -(2.0**53)], pa.float64()
    )


UNITS: list[Callable[[random.Random], Values]] = [_integers, _integers, _texts, _names, _whole_floats]
COLUMNS: list[Callable[[random.Random], Values]] = [_integers, _texts, _floats, _decimals, _days, _times]


def _declared(rng: random.Random, values: Values) -> Any:
    """Listed keys, contiguous or not, with NULL or not, few or many; keys that nobody lists; bounds; or nothing."""
    kind, how = values.stored if pa.types.is_dictionary(values.kind) else values.kind, rng.randrange(5)
    if how == 0 and not pa.types.is_floating(kind) and not pa.types.is_decimal(kind):
        return dp.unknown_keys()
    if how == 1 and (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return dp.bounds(-100, 100)
    null = [None] if rng.random() < 0.2 else []
    if how in (2, 3) and (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        many = [f"w{i}" for i in range(rng.choice([0, 0, 247, 250, 256]))]
        some = [*values.some[:2], *rng.sample(TEXTS, 4)]
        return dp.keys([*dict.fromkeys([x for x in some if "\0" not in x] + many + ["a"]), *null])
    if how == 2 and pa.types.is_integer(kind):
        low = rng.choice([-3, 0, 100, -(2**31), 2**31 - 5, -(2**62), 2**62 - 300])
        return dp.keys(range(low, low + rng.choice([1, 7, 254, 255, 256, 257])))
    if how == 3 and pa.types.is_integer(kind):
        return dp.keys([*dict.fromkeys([*[x for x in values.some if abs(x) < 2**62][:4], 5, 9]), *null])
    if how == 2 and pa.types.is_date(kind):
        return dp.keys([date(2020, 1, 1), date(1970, 1, 1), date.min, date.max])
    return None


@dataclass(frozen=True)
class Sample:
    """A table with its declarations."""

    rows: pa.Table
    unit: str
    columns: dict[str, Any]

    @classmethod
    def of(cls, rng: random.Random, rows: int) -> Sample:
        unit, *names = rng.sample(NAMES, rng.randint(2, 7))
        found = {unit: rng.choice(UNITS)(rng).column(rng, rows, rng.choice([0, 0, 0.2]))}
        declared = {}
        for name in names:
            values = Values([True, False], pa.bool_()) if rng.random() < 0.1 else rng.choice(COLUMNS)(rng)
            found[name] = values.column(rng, rows, rng.choice([0, 0.1, 0.5, 1]))
            declared[name] = _declared(rng, values)
        return cls(pa.table(found), unit, {name: one for name, one in declared.items() if one is not None})

    def session(self, engine: Any, **options: Any) -> dp.Session:
        table = dp.table(self.rows, unit=self.unit, columns=self.columns, max_rows="auto")
        return dp.Session(t=table, engine=engine, **{"budget": dp.Approx(9, "1e-6"), **options})

    def exact(self, engine: Any, quote: Quote, **options: Any) -> list[dict[Any, int]]:
        found = engine.run(works_of(quote, "salt"), self.session(engine, **options).schemas)
        return [_numbers(one) for one in found]


def _numbers(found: Exact) -> dict[Any, int]:
    """By key and its type: to Python, True is 1."""
    return {
        tuple((type(value).__name__, value) for value in key): int(number)
        for key, number in zip(found.keys, found.numbers[0], strict=True)
    }


def _quote(own: dp.Session, price: Price) -> Quote:
    return own._backend.quote([one.prepared for one in table_questions("t", own.schemas)], price)


def _small_parts(rng: random.Random, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(row_codes, "MOST_ROWS", rng.choice([1, 3, 10, 40, 1 << 24]))
    patch.setattr(row_codes, "_BLOCK", rng.choice([1, 7, 64, 1 << 17]))
    patch.setattr(row_codes, "_ROOM", rng.choice([0, 20, 1 << 14]))


# --- the oracle's numbers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_profile_counts_as_the_oracle_does(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(f"profile {block}")
    engine = duckdb(threads=rng.choice([1, 2, 4]))
    for _ in range(TABLES):
        sample = Sample.of(rng, rng.choice([0, 1, 2, 5, 20, 60]))
        _small_parts(rng, monkeypatch)
        quote = _quote(sample.session(engine), Price(1))
        assert sample.exact(engine, quote) == sample.exact(Memory(), quote), (sample.rows.schema, sample.columns)


# --- how far one unit reaches -----------------------------------------------------------------------------------------


def _reach(quote: Quote) -> list[tuple[int, bool]]:
    """By how much each work may move, as it is charged: its length, squared where the noise is Gaussian."""
    found = []
    for part, noised, selection in zip(quote.parts, quote.plan.sets, quote.plan.selections, strict=True):
        for job in jobs(part, noised, selection, "salt"):
            (statistic,) = job.statistics
            noise: Any = noised[statistic].noise
            found.append((noise.moves, False) if isinstance(noise, Laplace) else (noise.moves_squared, True))
    return found


def _moved(a: dict[Any, int], b: dict[Any, int], *, squared: bool) -> int:
    return sum(abs(a.get(key, 0) - b.get(key, 0)) ** (2 if squared else 1) for key in {*a, *b})


def _whose(sample: Sample) -> dict[Any, list[int]]:
    """The rows of each unit. Units that are no whole number are nobody."""
    found: dict[Any, list[int]] = {}
    for i, unit in enumerate(sample.rows[sample.unit].to_pylist()):
        if unit is not None and (not isinstance(unit, float) or unit.is_integer()):
            found.setdefault(unit, []).append(i)
    return found


def _rows(table: pa.Table, places: Sequence[int]) -> pa.Table:
    """Some rows. Arrow can't take them from columns of every kind, but it can put tables together."""
    return pa.concat_tables([table.slice(0, 0), *(table.slice(i, 1) for i in places)])


def _neighbours(rng: random.Random, sample: Sample, *, change: bool) -> list[Sample]:
    """Without one unit, or with one that has other rows: the largest unit, and some others."""
    whose, rows = _whose(sample), sample.rows
    chosen = sorted(whose, key=lambda unit: -len(whose[unit]))
    found = []
    for unit in [*chosen[:1], *rng.sample(chosen, min(3, len(chosen)))]:
        kept = _rows(rows, [i for i in range(len(rows)) if i not in set(whose[unit])])
        if change:
            picked = [rng.randrange(len(rows)) for _ in range(rng.choice([1, 2, 3, 4, 9]))]
            named = _rows(rows, [whose[unit][0]] * len(picked)).column(0)
            kept = pa.concat_tables([kept, _rows(rows, picked).set_column(0, rows.schema.field(0), named)])
        found.append(Sample(kept, sample.unit, sample.columns))
    return found


@pytest.mark.parametrize("change", [False, True])
@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_unit_moves_a_profile_by_more_than_is_charged(
    block: int, change: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(f"neighbours {block} {change}")
    engine, rho = duckdb(threads=1), rng.random() < 0.5
    terms: dict[str, Any] = {
        "neighbours": Neighbours.CHANGE_ONE if change else Neighbours.ADD_REMOVE,
        "budget": dp.ZCDP(9, "1e-6") if rho else dp.Approx(9, "1e-6"),
    }
    for _ in range(3):
        sample = Sample.of(rng, rng.choice([2, 5, 20, 60]))
        _small_parts(rng, monkeypatch)
        quote = _quote(sample.session(engine, **terms), Price(rho=1) if rho else Price(1))
        here, reach = sample.exact(engine, quote, **terms), _reach(quote)
        for neighbour in _neighbours(rng, sample, change=change):
            there = neighbour.exact(engine, quote, **terms)
            for a, b, (most, squared) in zip(here, there, reach, strict=True):
                assert _moved(a, b, squared=squared) <= most


def test_two_units_of_64_bits_that_one_double_holds_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers beyond 2^53 that would be one if they were read as doubles: together they would move two classes."""
    units: Sequence[int] = [(1 << 53) + 1, *[1 << 53] * 2, (1 << 64) - 1, *[(1 << 64) - 2] * 2, 1 << 63]
    rows = pa.table({"u": pa.array(units, pa.uint64()), "g": ["a"] * len(units), "x": range(len(units))})
    sample = Sample(rows, "u", {"g": dp.keys(["a"])})
    for some in (sample, Sample(rows.slice(0, 3), "u", sample.columns), Sample(rows.slice(3, 3), "u", sample.columns)):
        quote = _quote(some.session(duckdb()), Price(1))
        assert some.exact(duckdb(), quote) == some.exact(Memory(), quote)
