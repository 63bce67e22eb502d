"""The answer to a question about tables: rows of released values, each with its error bar, cost and story.

Promise: an answer is a value: reading it again draws nothing and costs nothing. An error bar speaks of the noise: the
exact clipped aggregate lies within it with the stated confidence. What clipping takes is not in it: ``notes`` say
what was clipped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import numpy as np

from discreet.answer import CONFIDENCE, confidence_level
from discreet.exact import Number
from discreet.messages import Message, worst_first
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.receipt import Receipt
from discreet.query.answer import export
from discreet.query.answer.answer_base import Answered, Row
from discreet.query.answer.consistency import agreeing
from discreet.query.answer.interval_arithmetic import EVERYTHING, enclose, may_be_null
from discreet.query.answer.postprocess import PRESENT, apply
from discreet.query.answer.stages import Chosen, Stage, stage
from discreet.query.estimate.estimators import Dated, Fitted, Recipe
from discreet.query.estimate.prepare import Clip
from discreet.query.estimate.remarks import null_quotients, remarks, says_nothing, without_bars
from discreet.query.functions.released_values import compared
from discreet.query.plan.expressions import Call, Column, Expression, Literal, walk
from discreet.query.plan.expressions import columns as columns_of
from discreet.query.plan.nodes import Outcome, outcomes_below
from discreet.query.plan.types import Number as NumberKind
from discreet.query.plan.types import Value
from discreet.query.run import Released

AT = "#"
"""The hidden column that says which released row a row came from."""


@dataclass(frozen=True, repr=False)
class TableAnswer(Answered):
    """Rows sorted by key (or as ORDER BY says), with error bars.

    ``answer["n"]`` is a column, ``answer.rows`` all rows; ``answer.errors(0.95)`` are the error bars, and with
    ``simultaneous=True`` all of them hold at once.
    """

    outcome: Outcome
    released: tuple[Released, ...]
    event: Event
    cost: str
    story: tuple[str, ...]
    receipt: Receipt | None = field(default=None, compare=False)
    own_notes: tuple[Message, ...] = ()
    """What is to be said of it that does not follow from its numbers."""
    beside: tuple[TableAnswer, ...] = ()
    """The answers to further questions whose rows the outcome uses."""

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a file holds: all but the receipt, of which there is only one."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"receipt": None}

    # --- values -----------------------------------------------------------------------------------------------------

    @cached_property
    def _kept(self) -> list[Row]:
        """The rows as they are shown: a quotient whose divisor may be 0 is NULL, for it may be any number."""
        quotients = {name for name, e in self.outcome.columns if self.outcome.is_nested or _divides(e)}
        if not any(_divides(e) for outcome in _all(self.outcome) for _, e in outcome.columns) or not quotients:
            return self._raw
        ends = {name: column for name, column in self.intervals().items() if name in quotients}
        nulls = [
            {name: None for name, column in ends.items() if column[i] == EVERYTHING} for i in range(len(self._raw))
        ]
        return [{**row, **none} for row, none in zip(self._raw, nulls, strict=True)]

    @cached_property
    def _raw(self) -> list[Row]:
        """The rows after HAVING, ORDER BY and LIMIT, each with its place among the released ones."""
        if self.outcome.is_nested:
            return self._staged(None).rows
        rows: list[Row] = []
        for s, part in enumerate(self.released):
            columns = dict(self._keys[s])
            for name, recipe in _recipes(part):
                values = recipe.value(part.estimates)
                if name in part.part.bounded:
                    values = np.where(says_nothing(recipe, part.estimates), np.nan, values)
                columns[name] = [_plain(recipe, value) for value in values.tolist()]
            columns[AT] = [(s, i) for i in range(len(part.keys))]
            columns[PRESENT] = [_names(part)] * len(part.keys)
            every = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
            rows += [row for row, shown in zip(every, part.part.shown(part.keys), strict=True) if shown]
        shown = replace(self.outcome, columns=(*self.outcome.columns, (AT, Column(AT))))
        return apply(shown, rows)

    def _staged(self, miss: float | None) -> Stage:
        """The rows of an outcome over others; with ``miss``, their intervals, which all hold but with that chance."""
        many = _leaves(self.outcome)

        def leaf(outcome: Outcome) -> Stage:
            base = self.beside[outcome.question - 1] if outcome.question else self
            answer = replace(base, outcome=replace(outcome, question=0), beside=())
            rows = [{name: row[name] for name in answer.columns} for row in answer._raw]
            ends = {} if miss is None else answer._intervals(miss / many, simultaneous=True)
            within = [{name: column[i] for name, column in ends.items()} for i in range(len(rows))]
            chosen = None if miss is None or ends else answer._chosen(miss / many)
            nullable = frozenset[str]() if miss is None else answer._nullable(miss / many)
            return Stage(answer.columns, rows, within, chosen, nullable)

        return stage(self.outcome, leaf)

    def _chosen(self, miss: float) -> Chosen | None:
        """Which rows the exact numbers would keep, surely or perhaps, where HAVING compares one with a constant."""
        outcome = self.outcome
        match outcome.having:
            case Call(function="ge" | "gt" | "le" | "lt" as function, arguments=(Column(name=name), Literal())):
                limit = outcome.having.arguments[1]
            case _:
                return None
        public = not any(part.part.selects for part in self.released)
        cut = outcome.limit is not None or outcome.offset or outcome.windows or outcome.qualify is not None
        if not self._measures(Column(name)) or not public or cut or self._dated((name,)) is not None:
            return None
        every = replace(self, outcome=Outcome((*outcome.columns, (AT, Column(name)))))
        sure, unsure = list[Row](), list[Row]()
        for row, ends in zip(every.rows, every._intervals(miss, simultaneous=True)[AT], strict=True):
            passes = [compared(function, end, limit.value) for end in ends or (None, None)]  # type: ignore[union-attr]
            row.pop(AT)
            if all(passes):
                sure.append(row)
            elif any(kept is not False for kept in passes):
                unsure.append(row)
        return Chosen(sure, unsure)

    @cached_property
    def _keys(self) -> list[dict[str, list[Any]]]:
        return [_key_columns(self.released, part) for part in self.released]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _ in self.outcome.columns)

    @property
    def rows(self) -> list[Row]:
        """All rows, as dictionaries."""
        return [{name: row[name] for name in self.columns} for row in self._kept]

    def _pieces(self) -> Iterator[TableAnswer]:
        """Some thousands of rows at a time, unless an order, a limit or a fit needs all of them at once."""
        fitted = any(isinstance(e, Fitted) for part in self.released for e in part.estimates.values())
        of_all = any(recipe.of_all_groups for part in self.released for _, recipe in _recipes(part))
        if self.outcome.needs_all_rows or fitted or of_all or self._kept_share != 1:
            yield self
            return
        size = export.PIECE
        starts = [(s, i) for s, part in enumerate(self.released) for i in range(0, len(part.keys), size)]
        for s, i in starts or [(0, 0)]:
            cuts = [slice(i, i + size) if t == s else slice(0) for t in range(len(self.released))]
            yield replace(self, released=tuple(map(_cut, self.released, cuts)))

    def _bins(self) -> dict[str, float]:
        """Keys such as FLOOR(x / 10) * 10."""
        widths = {}
        for key in (key for level in self.released for key in level.part.keys):
            match key.typed.lowered, key.typed.kind:
                case Call(function="floor_div" | "div", arguments=(x, _)), NumberKind(step=width):
                    if width != 1 or isinstance(x, Column):  # else it is the number of a bin
                        widths[key.name] = float(width)
        return widths

    def _is_total(self, row: Row, name: str) -> bool:
        key = dict(self.outcome.columns)[name]
        if self.outcome.is_nested:
            return False
        s, _ = row[AT]
        return isinstance(key, Column) and key.name in self._keys[s] and key.name not in _names(self.released[s])

    @cached_property
    def notes(self) -> tuple[Message, ...]:
        """What a reader must know of the numbers, worst first: what is NULL and why, what ± leaves out, ..."""
        limits = (note for part in self.released for note in part.part.notes_with(part.part.clips_of(part.estimates)))
        further = (note for part in self.beside for note in part.notes)
        return worst_first((*limits, *further, *self.own_notes, *self._remarks))

    @cached_property
    def _remarks(self) -> tuple[Message, ...]:
        """Columns that say nothing, and from how many units on groups are named."""
        finest = self.released[0]
        notes = remarks(self.outcome, finest.part, finest.estimates)
        if all(isinstance(e, Column) for _, e in self.outcome.columns) and not self.outcome.is_nested:
            return notes
        ends, bars = self.intervals(), self.errors()
        unbounded = [name for name, some in ends.items() if any(end is not None and _is_open(end) for end in some)]
        bare = (without_bars(name, self[name], bars[name]) for name in unbounded)
        nulls = (null_quotients(name, [end == EVERYTHING for end in ends[name]]) for name in unbounded)
        return (*notes, *(words for words in (*nulls, *bare) if words is not None))

    @property
    def clipped(self) -> tuple[Clip, ...]:
        """To what contributions of one unit were scaled down, where the query chose that; what it took is not in ±, and
        is estimated for all groups together where that tells something.
        """
        return tuple(dict.fromkeys(clip for level in self.released for clip in level.part.clips_of(level.estimates)))

    def _cost_and_story(self) -> tuple[str, tuple[str, ...]]:
        return self.cost, self.story

    # --- error bars -------------------------------------------------------------------------------------------------

    def intervals(
        self, confidence: Number = CONFIDENCE, *, simultaneous: bool = False
    ) -> dict[str, list[tuple[Any, Any] | None]]:
        """For each column of numbers (or dates), an interval per row that holds the exact value with this confidence.

        With ``simultaneous``, all intervals of the answer hold together with this confidence, whichever rows are kept.
        Otherwise: of groups that nobody listed, each interval holds given that its group is shown. Where HAVING, or
        ORDER BY with LIMIT, keeps rows by their released numbers, the expected share of intervals in a column that
        miss is at most 1 - confidence; they are longer for it. Proofs: ``estimate/selected.md``.
        """
        return self._intervals(float(1 - confidence_level(confidence)), simultaneous=simultaneous)

    def _intervals(self, miss: float, *, simultaneous: bool) -> dict[str, list[tuple[Any, Any] | None]]:
        if self.outcome.is_nested:
            within = self._staged(miss).within
            noisy = {name for ends in within for name in ends}
            return {name: [ends.get(name) for ends in within] for name in self.columns if name in noisy}
        over = self._over_windows()
        if over is not None and simultaneous:  # what windows need holds for all rows at once
            return over._intervals(miss, simultaneous=True)
        share = self._simultaneous(miss) if simultaneous else miss * self._kept_share
        intervals = {name: self._column(e, share) for name, e in self._noisy()}
        if over is None:
            return intervals
        windows = {window.name for window in self.outcome.windows}
        beyond = {name for name, e in self.outcome.columns if windows & columns_of(e)}
        theirs = over._intervals(miss, simultaneous=True)
        every = {**intervals, **{name: theirs[name] for name in beyond if name in theirs}}
        return {name: every[name] for name in self.columns if name in every}

    def _noisy(self) -> list[tuple[str, Expression]]:
        """The columns with a released number in them."""
        return [(name, e) for name, e in self.outcome.columns if self._measures(e)]

    def _simultaneous(self, miss: float) -> float:
        """The chance to miss that each interval has, so that all hold together but with this one."""
        return miss / max(1, len(self._noisy()) * len(self._all_rows()))

    def _nullable(self, miss: float) -> frozenset[str]:
        """The noisy columns whose exact number may be NULL in some row, where all intervals hold together."""
        share = self._simultaneous(miss)
        if self.outcome.windows:
            return frozenset(name for name, _ in self._noisy())
        return frozenset(name for name, e in self._noisy() if self._dated(self._measures(e)) is None
                         and any(may_be_null(e, *self._inputs(e, row, share)) for row in self._raw))  # fmt: skip

    def _over_windows(self) -> TableAnswer | None:
        """The same with window functions as an outcome over the rows that HAVING keeps; None if there are none."""
        outcome = self.outcome
        expressions = [e for _, e in outcome.columns] + [e for e in (outcome.having, outcome.qualify) if e is not None]
        grouping = any(isinstance(p, Call) and p.function == "grouping" for e in expressions for p in walk(e))
        if not outcome.windows or grouping:
            return None
        names = dict.fromkeys([*self._keys[0], *(name for name, _ in _recipes(self.released[0]))])
        below = Outcome(tuple((name, Column(name)) for name in names), having=outcome.having, question=outcome.question)
        return replace(self, outcome=replace(outcome, having=None, below=below, question=0))

    @cached_property
    def _kept_share(self) -> float:
        """The share of rows that are kept, where released numbers decide about it (else 1): misses are that rare."""
        many = len(self._all_rows())
        cuts = self.outcome.limit is not None or self.outcome.offset > 0
        by_order = cuts and any(self._measures(o.expression) for o in self.outcome.order)
        by_having = any(e is not None and self._measures(e) for e in (self.outcome.having, self.outcome.qualify))
        by_having = by_having or (self.outcome.qualify is not None and bool(self.outcome.windows))
        if not (by_order or by_having) or not self._raw or len(self._raw) == many:
            return 1.0
        fitted = any(isinstance(e, Fitted) and len(e.law) > 1 for p in self.released for e in p.estimates.values())
        return len(self._raw) / many / (sum(1 / k for k in range(1, many + 1)) if fitted else 1.0)

    def errors(self, confidence: Number | None = None, *, simultaneous: bool = False) -> dict[str, list[float | None]]:
        """For each column of numbers, how far each value may be off, with this confidence; dates and times: in days."""
        intervals = self.intervals(CONFIDENCE if confidence is None else confidence, simultaneous=simultaneous)
        return {
            name: [_error(row[name], ends) for row, ends in zip(self._kept, column, strict=True)]
            for name, column in intervals.items()
        }

    def _all_rows(self) -> list[tuple[Value, ...]]:
        return [key for part in self.released for key in part.keys]

    def _measures(self, expression: Expression) -> tuple[str, ...]:
        names = {name for name, _ in _recipes(self.released[0])}
        return tuple(p.name for p in walk(expression) if isinstance(p, Column) and p.name in names)

    def _column(self, expression: Expression, miss: float) -> list[tuple[Any, Any] | None]:
        if not isinstance(expression, Column) or self._dated((expression.name,)) is not None:
            return [self._interval(expression, row, miss) for row in self._raw]
        ends = [self._ends(s, expression.name, miss) for s in range(len(self.released))]
        pairs = [list(zip(low.tolist(), high.tolist(), strict=True)) for low, high in ends]
        return [pairs[s][i] for s, i in (row[AT] for row in self._raw)]

    def _interval(self, expression: Expression, row: Row, miss: float) -> tuple[Any, Any] | None:
        """The range of an expression when its measures move within their errors; None where no rule is known."""
        windows = {window.name for window in self.outcome.windows}
        if any(isinstance(part, Column) and part.name in windows for part in walk(expression)):
            return None
        used = set(self._measures(expression))
        dated = self._dated(tuple(used))
        if dated is not None:
            return self._moments(dated, row, next(iter(used)), miss) if isinstance(expression, Column) else None
        return enclose(expression, *self._inputs(expression, row, miss))

    def _inputs(self, expression: Expression, row: Row, miss: float) -> tuple[dict[str, Any], Row, set[str]]:
        """What is known of the columns of an expression in one row: intervals, public values, which may be NULL."""
        s, i = row[AT]
        used = set(self._measures(expression))
        ends = {name: self._ends(s, name, miss / len(used)) for name in used}
        within = {name: (float(low[i]), float(high[i])) for name, (low, high) in ends.items()}
        base = {name: column[i] for name, column in self._keys[s].items()} | {PRESENT: _names(self.released[s])}
        return within, base, {name for name in used if self._may_be_null(s, name, miss / len(used))[i]}

    def _dated(self, names: tuple[str, ...]) -> Dated | None:
        recipes = dict(_recipes(self.released[0]))
        return next((r for name in names if isinstance(r := recipes[name], Dated)), None)

    def _moments(self, recipe: Dated, row: Row, name: str, miss: float) -> tuple[Any, Any] | None:
        s, i = row[AT]
        low, high = self._ends(s, name, miss)
        ends = recipe.moment(low[i], math.floor), recipe.moment(high[i], math.ceil)
        return None if None in ends else ends

    def _ends(self, s: int, name: str, miss: float) -> tuple[Any, Any]:
        cache: dict[Any, tuple[Any, Any]] = self.__dict__.setdefault("_cached_ends", {})
        if (s, name, miss) not in cache:
            part = self.released[s]
            cache[s, name, miss] = dict(_recipes(part))[name].ends(part.estimates, miss)
        return cache[s, name, miss]

    def _may_be_null(self, s: int, name: str, miss: float) -> Any:
        """For each group of a grouping set, whether the exact number may be NULL, for lack of rows."""
        cache: dict[Any, Any] = self.__dict__.setdefault("_cached_nulls", {})
        if (s, name, miss) not in cache:
            part = self.released[s]
            recipe, ends = dict(_recipes(part))[name], self._ends(s, name, miss)
            cache[s, name, miss] = recipe.may_be_null(part.estimates, ends, miss)
        return cache[s, name, miss]

    # --- post-processing ----------------------------------------------------------------------------------------------

    def consistent(self) -> TableAnswer:
        """The same answer with values that can be true together; costs nothing.

        Counts are not below 0, sums and averages are what so many values within their bounds can make; and in a ROLLUP,
        CUBE or other grouping sets below a finest one, totals are the sums of their parts, exactly: by least squares
        over all of them, so they are less noisy on the whole; counts stay whole. The error bar of a number that had to
        be moved may be longer. Left as they are: numbers of different values or of units that may be in several
        groups, and quantiles; all totals where groups are not listed, or where a unit counts once in each of several
        groups. A note says so.
        """
        if any(isinstance(e, Fitted) for part in self.released for e in part.estimates.values()):
            return self
        released, lines, apart = agreeing(self.released)
        beside = tuple(other.consistent() for other in self.beside)
        notes = self.own_notes if apart is None else (*self.own_notes, apart)
        return replace(self, released=released, story=(*self.story, *lines), beside=beside, own_notes=notes)


def _divides(expression: Expression) -> bool:
    return any(isinstance(part, Call) and part.function in _QUOTIENTS for part in walk(expression))


_QUOTIENTS = frozenset({"div", "quotient"})


def _all(outcome: Outcome) -> list[Outcome]:
    """An outcome and all that it is computed from."""
    return [outcome, *(inner for below in outcomes_below(outcome) for inner in _all(below))]


def _leaves(outcome: Outcome) -> int:
    """How many times released rows of a question are used."""
    below = outcomes_below(outcome)
    return sum(map(_leaves, below)) if below else 1


def _recipes(part: Released) -> list[tuple[str, Recipe]]:
    return list(zip(part.part.names, part.part.recipes, strict=True))


def _cut(part: Released, rows: slice) -> Released:
    estimates = {statistic: replace(e, values=e.values[rows]) for statistic, e in part.estimates.items()}
    return Released(part.part, part.keys[rows], estimates)


def _plain(recipe: Recipe, value: float) -> int | float | date | None:
    if isinstance(recipe, Dated):
        return recipe.moment(value)
    if math.isnan(value):
        return None
    return int(value) if recipe.whole else float(value)


def _names(part: Released) -> frozenset[str]:
    """The keys of a grouping set."""
    return frozenset(key.name for key in part.part.keys)


def _key_columns(released: tuple[Released, ...], part: Released) -> dict[str, list[Any]]:
    """All keys of the question; those that this grouping set does not have are NULL."""
    columns: dict[str, list[Any]] = {k.name: [None] * len(part.keys) for r in released for k in r.part.keys}
    for typed, values in zip(part.part.keys, zip(*part.keys, strict=True), strict=False):
        kind = typed.typed.kind
        step = kind.step if isinstance(kind, NumberKind) else 1
        columns[typed.name] = [int(v * step) if step != 1 and isinstance(v, int) else v for v in values]
    return columns


def _is_open(ends: tuple[Any, Any]) -> bool:
    return any(isinstance(end, float) and math.isinf(end) for end in ends)


def _error(value: Any, ends: tuple[Any, Any] | None) -> float | None:
    if ends is None or value is None:
        return None
    if isinstance(value, date):
        return float(max(ends[1] - value, value - ends[0]) / timedelta(days=1))
    error = float(max(ends[1] - float(value), float(value) - ends[0]))
    return error if math.isfinite(error) else None  # nothing is known: no bar
