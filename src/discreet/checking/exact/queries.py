"""Whole queries on a real engine: does one unit move the exact aggregates by no more than the noise was made for?

Small adversarial tables are made up from the public schema alone: bounds and what lies beyond them, NULL, NaN,
infinities, integers at the ends of 64 bits, keys that are listed and keys that are not, rows without a unit, one unit
that owns everything. For each of them and each of its units, the same works run with and without that unit, with the
same salt, on the session's own engine, and the exact integers are compared with the noise that was planned. No noise
is drawn, nothing is spent, and the session's data is never read.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from math import isqrt
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.checking.exact.report import Counterexample, Report
from discreet.engines.memory.source import arrow_of
from discreet.errors import BadData, EngineFailed
from discreet.exact import Number
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.selection.exponential import Exponential
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.measures import ZCDP
from discreet.progress import Progress
from discreet.query.choose.clips import longer_units
from discreet.query.choose.open_parts import usual, with_chosen
from discreet.query.engine import Engine
from discreet.query.estimate.noise_plan import Noised, Selection, tree_of
from discreet.query.estimate.prepare import Job, Part, jobs
from discreet.query.estimate.quantile_search import Search
from discreet.query.estimate.statistics import Bins, QuantileCells, Statistic, Units, paid_with
from discreet.query.lower.bounding import groups
from discreet.query.plan.schema import EACH_ROW, Declared, Schema, Stored, StoredKind
from discreet.query.plan.work import AnyWork, Exact, UnitClasses
from discreet.query.run import Quote, closed_quote
from discreet.session.query import Query

SALT = "0123456789abcdef0123456789abcdef"
_EDGE = (1 << 63) - 1
_WHOLE = 1 << 53
_NOBODY = (None, float("nan"), float("inf"), -float("inf"), 0.5, float(_WHOLE), -1e300)
"""What a unit of floats may hold in a row that belongs to nobody."""
_CHOICES = 3
"""Of a query that chooses, how many choices are tried."""
Row = dict[str, Any]
Bundle = dict[str, list[Row]]
"""The rows of one unit (or of nobody), by table."""
Load = Callable[[str, pa.Table], Any]
Vector = dict[tuple[Any, ...], int]


@dataclass(frozen=True, slots=True)
class Tables:
    """Made-up data: public tables, and a bundle of rows for each unit."""

    public: Bundle
    units: tuple[Bundle, ...]

    def rows(self, name: str, without: int | None = None) -> list[Row]:
        """All rows of a table, with or without a unit."""
        rows = list(self.public.get(name, []))
        for i, bundle in enumerate(self.units):
            if i != without:
                rows += bundle.get(name, [])
        return rows

    def show(self, without: int | None = None) -> dict[str, list[Row]]:
        """For a report."""
        names = {name for bundle in (self.public, *self.units) for name in bundle}
        return {name: self.rows(name, without) for name in sorted(names)}


def check_query(
    query: Query,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    tables: int = 200,
    seconds: float | None = None,
    most_rows: int = 6,
    load: Load | None = None,
    engine: Engine | None = None,
    seed: int = 0,
) -> Report:
    """Hold a query of a session against made-up neighbouring tables on the session's engine (or another one).

    ``load`` turns a made-up Arrow table into a source of the engine; DuckDB and memory take it as it is. ``seconds``:
    stop looking after so long; the report says how many tables were tried.
    """
    backend = query.backend
    if rho is None and epsilon is None:
        rho, epsilon = (1, None) if isinstance(backend.terms.budget, ZCDP) else (None, 1)
    quote = query.quote(epsilon, rho=rho)
    chance = random.Random(seed)  # noqa: S311 - which tables to try, not noise
    trials = [
        Trial(quoted, engine or backend.engine, backend.schemas, load or (lambda _, table: table))
        for quoted in (quote, *_with_some_choices(quote, chance))
    ]
    claim = (
        f"one unit moves the exact numbers by no more than {quote.plan.noise.value} noise for {quote.allowance} allows"
    )

    def method(many: int) -> str:
        each = f"of up to {3 * most_rows} rows per unit, each without each of its units, on {trials[0].engine.name}"
        return f"{many} made-up tables {each}"

    tried, until = 0, None if seconds is None else monotonic() + seconds
    with Progress(None) as progress:
        for many in range(1, tables + 1):
            progress.step(f"checking made-up table {many:,} of at most {tables:,}")
            made, trial = make_tables(backend.schemas, chance, most_rows), trials[many % len(trials)]
            for unit in range(len(made.units)):
                tried += 1
                wrong = trial.compare(made, unit)
                if wrong is not None:
                    small, left_out, why = shrink(made, unit, wrong, trial.compare)
                    counterexample = Counterexample(small.show(), small.show(left_out), "1 unit", claim, why)
                    return Report("query", claim, method(many), tried, counterexample)
            if until is not None and monotonic() > until:
                return Report("query", claim, method(many), tried)
    return Report("query", claim, method(tables), tried)


def _with_some_choices(quote: Quote, chance: random.Random) -> list[Quote]:
    """The answer of a query that chooses, with some of the contribution bounds and clips that it may choose."""
    steps, quotes = quote.choosing, list[Quote]()
    for _ in range(_CHOICES if steps is not None else 0):
        assert steps is not None  # noqa: S101
        chosen = []
        for opened in steps.parts:
            stood_in = usual(opened)
            rows = chance.choice((1, 2, 3, 7)) if opened.rows else stood_in.caps.max_rows
            clips = {measure: chance.choice((1, 2, 5, 64, 1 << 20, 1 << 40)) for measure in stood_in.clips}
            centres = {measure: chance.choice((0, 3, -40)) for measure in stood_in.bounds if measure in clips}
            caps = replace(stood_in.caps, max_rows=rows)
            chosen.append((opened, replace(stood_in, caps=caps, clips=clips, centres=centres)))
        questions = [with_chosen(question, tuple(chosen)) for question in steps.questions]
        quotes.append(closed_quote(questions, steps.answering, steps.neighbours))
    return quotes


# --- comparing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Trial:
    """One quoted question on one engine, to be run on made-up tables."""

    quote: Quote
    engine: Engine
    schemas: Mapping[str, Schema]
    load: Load
    _last: list[tuple[Tables, tuple[Exact, ...] | None]] = field(default_factory=list)
    """The tables of the last comparison, and what they gave with all units: the next is often about another unit."""

    def compare(self, made: Tables, unit: int) -> str | None:
        """What is wrong between the tables and the tables without that unit, as text; None if nothing is."""
        plan = self.quote.plan
        sets = list(zip(self.quote.parts, plan.sets, plan.selections, strict=True))
        todo = [jobs(part, noised, selection, SALT) for part, noised, selection in sets]
        before = [] if self.quote.choosing is None else self.quote.choosing.works()
        works = [*before, *(job.work for some in todo for job in some)]
        if not self._last or self._last[0][0] is not made:
            self._last[:] = [(made, self._run(works, made, None))]
        first, second = self._last[0][1], self._run(works, made, unit)
        if first is None and second is None:
            raise BadData(
                f"the engine {self.engine.name} could not run the made-up tables, so nothing was checked; "
                "pass load=, which turns an Arrow table into a source of that engine"
            )
        if first is None or second is None:
            return "the engine fails on one side only"
        pairs = iter(zip(first, second, strict=True))
        for work in before:
            if (wrong := _moves_of_classes(work, *next(pairs))) is not None:
                return wrong
        for (part, noised, selection), some in zip(sets, todo, strict=True):
            judge = Judge(part, noised, selection)
            for job in some:
                wrong = judge.wrong(job, *next(pairs))
                if wrong is not None:
                    return wrong
        return None

    def _run(self, works: Sequence[AnyWork], made: Tables, without: int | None) -> tuple[Exact, ...] | None:
        here = {
            name: replace(schema, table=replace(schema.table, source=self._source(name, schema, made, without)))
            for name, schema in self.schemas.items()
        }
        try:
            return self.engine.run(works, here)
        except EngineFailed:
            return None

    def _source(self, name: str, schema: Schema, made: Tables, without: int | None) -> Any:
        return self.load(name, as_arrow(schema, made.rows(name, without)))


@dataclass(frozen=True, slots=True)
class Judge:
    """What a grouping set promised, held against two exact results."""

    part: Part
    noised: Mapping[Statistic, Noised]
    selection: Selection | None

    def wrong(self, job: Job, first: Exact, second: Exact) -> str | None:
        """What is wrong with a job's numbers, if anything."""
        if any(len(e.numbers) != len(job.statistics) for e in (first, second)):
            return "the engine returns another number of columns"
        domain = self.part.domain()
        for exact in (first, second):
            named = {key[: len(self.part.keys)] for key in exact.keys}
            if domain is not None and not named <= set(domain):
                return "an undeclared key came back"
        moved: dict[Hashable, int] = {}
        for i, statistic in enumerate(job.statistics):
            a, b = _vector(first, i), _vector(second, i)
            if self.selection is not None:
                wrong = self._lonely(statistic, self.selection, a, b)
                if wrong is not None:
                    return wrong
                common = a.keys() & b.keys()
                a, b = ({k: v for k, v in side.items() if k in common} for side in (a, b))
            noise, moves = self.noised[statistic].noise, _moves(self.noised[statistic], a, b)
            rooted = isinstance(noise, Gaussian)
            paid = paid_with(statistic)
            moved[paid] = moved.get(paid, 0) + sum(m * m if rooted else abs(m) for m in moves)
            allowed = noise.moves_squared if isinstance(noise, Gaussian) else noise.moves
            if moved[paid] > allowed:
                return f"{statistic} moves by {moved[paid]}, the noise allows {allowed}"
            for search in self.noised[statistic].searches:
                if (cost := _choice_cost(search, a, b)) > 1:
                    return f"a choice for the quantile {search.level} costs {float(cost)} times what is paid for it"
        return None

    def _lonely(self, statistic: Statistic, selection: Selection, a: Vector, b: Vector) -> str | None:
        """Lonely keys: those that one side alone has. There are few, and each weighs what the threshold allows."""
        if not isinstance(statistic, Units):
            return None
        if not b.keys() <= a.keys():
            return "a key appears when a unit leaves"
        lonely = a.keys() - b.keys()
        if len(lonely) > selection.most_keys:
            return f"a unit alone names {len(lonely)} keys, at most {selection.most_keys} are allowed"
        noised = self.noised[statistic]
        t, cap, scale = max(1, len(lonely)), groups(self.part.caps), noised.scale
        rooted = isinstance(noised.noise, Gaussian)
        weight = scale if t <= cap else (isqrt(scale * scale * cap // t) if rooted else scale * cap // t)
        if any(a[k] > weight for k in lonely):
            return f"a key that one unit alone has weighs {max(a[k] for k in lonely)}, {weight} is allowed"
        return None


def _moves_of_classes(work: AnyWork, first: Exact, second: Exact) -> str | None:
    """A unit that leaves is in one class of each total: so no number of longer units grows, and none falls by two."""
    assert isinstance(work, UnitClasses)  # noqa: S101
    for place in range(len(work.totals)):
        (many, longer), (fewer, left) = (longer_units(exact, place, len(work.edges)) for exact in (first, second))
        if any(not 0 <= a - b <= 1 for a, b in zip((many, *longer), (fewer, *left), strict=True)):
            return f"a unit moves the numbers of units with longer totals by more than one, or both ways: {work}"
    return None


def _vector(exact: Exact, i: int) -> Vector:
    return {key: int(n) for key, n in zip(exact.keys, exact.numbers[i].tolist(), strict=True)}


def _moves(noised: Noised, a: Vector, b: Vector) -> list[int]:
    keys, statistic = {*a, *b}, noised.statistic
    if isinstance(statistic, QuantileCells):  # whatever cells: a group's rows move them by no more
        moved: dict[Any, int] = {}
        for key in keys:
            moved[key[:-1]] = moved.get(key[:-1], 0) + abs(a.get(key, 0) - b.get(key, 0))
        return list(moved.values())
    if not isinstance(statistic, Bins):
        return [a.get(k, 0) - b.get(k, 0) for k in keys]
    tree = tree_of(statistic, noised.noise)
    leaves: dict[Any, Any] = {}
    for key in keys:
        if key[-1] is None or not 0 <= key[-1] < statistic.bins:
            continue
        group = leaves.setdefault(key[:-1], np.zeros(statistic.bins, dtype=np.int64))
        group[key[-1]] = a.get(key, 0) - b.get(key, 0)
    return [int(n) for group in leaves.values() for n in tree.nodes(group)]


def _choice_cost(search: Search, a: Vector, b: Vector) -> Fraction:
    """What one of two choices costs over all groups, as a multiple of its price: Σ 2rΔ, or Σ (rΔ)² / 2, where the
    scores of a group move by Δ at most and r is the rate (quantile_search.md).
    """
    rooted, worst = isinstance(search.choice, Exponential), Fraction(0)
    pairs = [tuple(_with_gaps(side, group, (*a, *b)) for side in (a, b)) for group in {key[:-1] for key in (*a, *b)}]
    for shift in (-search.shift, search.shift):
        steps = [
            search.choice.rate * max(abs(int(x) - int(y)) for x, y in zip(before, after, strict=True))
            for before, after in ([search.scores(counts, shift) for counts in pair] for pair in pairs)
        ]
        worst = max(worst, sum((s * s / 2 if rooted else 2 * s for s in steps), Fraction(0)))
    return worst / (price_zcdp(search.event).rho if rooted else price_basic(search.event).epsilon)


def _with_gaps(side: Vector, group: tuple[Any, ...], keys: Sequence[tuple[Any, ...]]) -> Any:
    """The counts of a group in the bins that somebody is in, with an empty bin on either side of each."""
    bins = sorted({key[-1] for key in keys if key[:-1] == group and key[-1] is not None})
    return np.array([n for i in bins for n in (0, side.get((*group, i), 0))] + [0], dtype=np.int64)


# --- making tables up -----------------------------------------------------------------------------------------------


def make_tables(schemas: Mapping[str, Schema], chance: random.Random, most_rows: int) -> Tables:
    """Public tables, and a few units with rows in every private table."""
    public = {
        name: [_row(schema, chance, {}) for _ in range(chance.randrange(4))]
        for name, schema in schemas.items()
        if schema.table.public
    }
    floats = any(schema.is_whole(str(schema.table.unit)) for schema in schemas.values())
    ends = (_WHOLE - 3, -1) if floats else (_EDGE - 9, -_EDGE)  # ids may be any: hashes of 64 bits, say
    first = chance.choice((1, 1, *ends))
    units = tuple(_bundle(schemas, chance, most_rows, first + u) for u in range(chance.choice((1, 1, 2, 3))))
    nobody = _bundle(schemas, chance, 2, None) if chance.random() < 0.3 else {}
    return Tables({**public, **{name: rows for name, rows in nobody.items() if name not in public}}, units)


def _bundle(schemas: Mapping[str, Schema], chance: random.Random, most_rows: int, unit: int | None) -> Bundle:
    """The rows of one unit; a foreign key leads to a row of the same unit, or nowhere."""
    bundle: Bundle = {}
    many = chance.choice((1, 2, most_rows, 3 * most_rows))
    for name, schema in schemas.items():
        if not schema.table.public:
            rows = chance.randint(0, 1 if schema.table.unit == EACH_ROW else many)
            bundle[name] = [_row(schema, chance, _links(schemas, name, unit, chance)) for _ in range(rows)]
    return bundle


def _links(schemas: Mapping[str, Schema], name: str, unit: int | None, chance: random.Random) -> Row:
    """The columns that say whose row it is: the unit, and the ids that foreign keys of others lead to."""
    fixed: Row = {}
    table = schemas[name].table
    if table.unit is not None and table.unit != EACH_ROW:
        fixed[table.unit] = _id(schemas[name].stored[table.unit], unit, chance)
    for schema in schemas.values():
        if schema.table.through is not None and schema.table.through[0] == name:
            column = schema.table.through[1]
            if column != table.unit:
                fixed[column] = _id(schemas[name].stored[column], unit, chance)
    return fixed


def _id(stored: Stored, unit: int | None, chance: random.Random) -> Any:
    if stored.kind is StoredKind.REAL:  # any of these is nobody, and 0 has two forms
        return chance.choice(_NOBODY) if unit is None else float(unit) * (chance.choice((1, -1)) if unit == 0 else 1)
    if unit is None:
        return None
    return unit if stored.kind is StoredKind.INTEGER else str(unit)


def _row(schema: Schema, chance: random.Random, fixed: Row) -> Row:
    row = {}
    for name, stored in schema.stored.items():
        if stored.element is not None:
            many, declared = chance.choice((None, 0, 1, 1, 2, 3)), schema.table.columns.get(name, Declared())
            row[name] = (
                None if many is None else [_value(Stored(stored.element), declared, chance) for _ in range(many)]
            )
        if stored.kind is StoredKind.OTHER:
            continue
        row[name] = fixed[name] if name in fixed else _value(stored, schema.table.columns.get(name, Declared()), chance)
    return row


def _value(stored: Stored, declared: Declared, chance: random.Random) -> Any:
    if chance.random() < 0.1:
        return None
    pool: list[Any]
    match stored.kind:
        case StoredKind.INTEGER:
            pool = [0, 1, 2, 3, -1, _EDGE, -_EDGE - 1, (1 << 53) + 1, *_near(declared, 1)]
            pool = [int(v) for v in pool if -_EDGE - 1 <= v <= _EDGE]
        case StoredKind.DECIMAL:
            cell = Fraction(1, 10**stored.scale)
            pool = [
                Decimal(int(v / cell)).scaleb(-stored.scale)
                for v in (Fraction(0), Fraction(1), Fraction(7), *_near(declared, cell))
                if abs(v) < 10**17
            ]
        case StoredKind.REAL:
            pool = [
                0.0,
                -0.0,
                1.5,
                float("nan"),
                float("inf"),
                -float("inf"),
                1e308,
                5e-324,
                *map(float, _near(declared, 1)),
            ]
        case StoredKind.TEXT:
            pool = ["", "a", "b", "7", " 7", "zz", "é"]
        case StoredKind.BOOLEAN:
            pool = [True, False]
        case StoredKind.DATE:
            pool = [date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]
            pool += [d for d in (declared.low, declared.high) if isinstance(d, date)]
        case StoredKind.TIME:
            pool = [time(0), time(23, 59, 59, 999999), time(9, 30)]
        case _:
            pool = [datetime(1970, 1, 1), datetime(2024, 2, 29, 23, 59, 59, 999999)]
            ends = [d for d in (declared.low, declared.high) if isinstance(d, date)]
            pool += [d if isinstance(d, datetime) else datetime.combine(d, time(12)) for d in ends]
    if declared.keys:
        pool = [*(k for k in declared.keys[:6]), pool[0]]
    return chance.choice(pool)


def _near(declared: Declared, cell: Number) -> list[Fraction]:
    if not isinstance(declared.low, Fraction) or not isinstance(declared.high, Fraction):
        return []
    step = Fraction(cell)
    return [declared.low, declared.high, declared.low - step, declared.high + step, (declared.low + declared.high) / 2]


def as_arrow(schema: Schema, rows: Sequence[Row]) -> pa.Table:
    """Made-up rows as an Arrow table of the stored types."""
    kinds = {name: arrow_of(stored) for name, stored in schema.stored.items()}
    return pa.table(
        {
            name: pa.array([row[name] for row in rows], type=kind, from_pandas=False)
            for name, kind in kinds.items()
            if kind is not None
        }
    )


# --- a smaller counterexample ---------------------------------------------------------------------------------------


def shrink(made: Tables, unit: int, wrong: str, again: Callable[[Tables, int], str | None]) -> tuple[Tables, int, str]:
    """Leave out all other units, then units and rows one by one, as long as something is still wrong."""
    smaller = _smaller(made, unit)
    place = failed = 0  # it goes on where something was left out: what was needed before is needed after, nearly always
    while failed < len(smaller):
        candidate = smaller[place % len(smaller)]
        still_wrong = again(*candidate)
        if still_wrong is None:
            place, failed = place + 1, failed + 1
        else:
            (made, unit), wrong, failed = candidate, still_wrong, 0
            smaller = _smaller(made, unit)
    return made, unit, wrong


def _smaller(made: Tables, unit: int) -> list[tuple[Tables, int]]:
    smaller = [(Tables(made.public, (made.units[unit],)), 0)] if len(made.units) > 2 else []
    smaller += [
        (Tables(made.public, made.units[:i] + made.units[i + 1 :]), unit - (i < unit))
        for i in range(len(made.units))
        if i != unit
    ]
    for i, bundle in enumerate(made.units):
        for less in _less(bundle):
            smaller.append((Tables(made.public, (*made.units[:i], less, *made.units[i + 1 :])), unit))
    smaller += [(Tables(less, made.units), unit) for less in _less(made.public)]
    return smaller


def _less(bundle: Bundle) -> list[Bundle]:
    """The bundle without one of its rows."""
    return [{**bundle, name: rows[:j] + rows[j + 1 :]} for name, rows in bundle.items() for j in range(len(rows))]
