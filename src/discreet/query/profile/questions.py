"""What a profile asks of the engine: histograms in which one unit weighs one, however many rows it has.

Guarantee: adding or removing a unit moves each histogram by at most 1 in L1 (and in L2). Proof: questions.md. So they
are questions like any other, priced by ``noise_plan`` and paid before the data is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from discreet.errors import BadParameter
from discreet.query.answer.suggest import FINE, signed_cells
from discreet.query.estimate import statistics as st
from discreet.query.estimate.estimators import Plain
from discreet.query.estimate.prepare import Part, Prepared
from discreet.query.functions.typed_values import Typed
from discreet.query.lower.lower import UNIT, LoweredKey, LoweredMeasure, LoweredQuestion, lower_relation
from discreet.query.lower.relation_facts import Lowered
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Aggregate, Filter, Measure, Outcome, PerUnit, Relation, Scan
from discreet.query.plan.schema import Caps, Declared, Schema, resolve
from discreet.query.plan.types import Kind, Number, Real, Temporal, Value
from discreet.query.profile.classes import size_class, value_class

ONE = Caps(max_rows=1)
"""One unit weighs one in a whole histogram."""
MOST_LISTED = 10_000
"""Listed keys of a column beyond which its histogram of keys is left out."""
KEY, COUNT = "class", "n"


class About(Enum):
    """What a histogram is about."""

    ROWS = "rows per unit"
    GROUPS = "groups per unit"
    KEYS = "keys"
    DISTINCT = "different keys"
    VALUES = "values"

    def of(self, column: str) -> str:
        """In words, with the column that it is about."""
        return f"{self.value} of {column}" if column else self.value


@dataclass(frozen=True, slots=True)
class HistogramQuery:
    """One histogram of a profile: what it is about and the question that it is."""

    about: About
    column: str
    """The key or the column; empty for rows per unit."""
    labels: tuple[Value, ...]
    """The label of each class; for sizes and numbers, its place among the public classes."""
    step: Fraction
    """Of a column of numbers: what one step is worth."""
    prepared: Prepared


def rows_per_unit(
    relation: Relation, unit_kind: Kind, tables: tuple[str, ...], *, importance: float = 4.0
) -> HistogramQuery:
    """How many units have how many rows in a relation."""
    sizes = PerUnit(relation, ((UNIT, Column(UNIT)),), (Measure("n", Aggregate.COUNT),))
    return _question(About.ROWS, "", size_class(Column("n")), sizes, unit_kind, tables, importance)


def groups_per_unit(
    relation: Relation, keys: Sequence[LoweredKey], unit_kind: Kind, tables: tuple[str, ...], *, importance: float = 4.0
) -> HistogramQuery:
    """How many units have rows in how many groups of these keys."""
    named = tuple((f"k{i}", key.typed.lowered) for i, key in enumerate(keys))
    inside = [_listed(key.typed) for key in keys]
    tests = tuple(test for test in inside if test is not None)
    kept = relation if not tests else Filter(relation, tests[0] if len(tests) == 1 else Call("and", tests))
    each = PerUnit(kept, (*named, (UNIT, Column(UNIT))), (Measure("n", Aggregate.COUNT),))
    sizes = PerUnit(each, ((UNIT, Column(UNIT)),), (Measure("n", Aggregate.COUNT),))
    names = ", ".join(key.name for key in keys)
    return _question(About.GROUPS, names, size_class(Column("n")), sizes, unit_kind, tables, importance)


def keys_of(key: LoweredKey, relation: Relation, unit_kind: Kind, tables: tuple[str, ...]) -> HistogramQuery:
    """How units are spread over the listed keys."""
    return _question(About.KEYS, key.name, key.typed, relation, unit_kind, tables, 1.0)


def distinct_keys(key: LoweredKey, relation: Relation, unit_kind: Kind, tables: tuple[str, ...]) -> HistogramQuery:
    """How many different keys there are, if each unit names one of its own: at most as many as there are."""
    measure = LoweredMeasure(Measure(COUNT, Aggregate.COUNT_DISTINCT, (key.typed.lowered,)), (key.typed,), None)
    question = LoweredQuestion(
        source=relation,
        whole=relation,
        keys=(),
        measures=(measure,),
        outcome=Outcome(((COUNT, Column(COUNT)),)),
        sets=((),),
        caps=ONE,
        unit_kind=unit_kind,
        tables=tables,
    )
    counted = _Count(st.Distinct(key.typed.lowered), is_whole=False, importance=1.0)
    part = Part(relation, ONE, (), (measure,), (counted,), given=True)
    return HistogramQuery(About.DISTINCT, key.name, ("at least",), Fraction(1), Prepared(question, (part,)))


def table_questions(
    name: str, schemas: Mapping[str, Schema], columns: Sequence[str] | None = None, *, sizes: bool = True
) -> tuple[HistogramQuery, ...]:
    """All histograms of a table: rows per unit, then each column (or those named) by what is declared of it.

    ``sizes``: whether rows per unit are among them.
    """
    source, stored = _private(name, schemas), _private(name, _without_bounds(name, schemas))
    assert source.unit_kind is not None  # noqa: S101 - it is private
    fields = {n: f for n, f in source.fields.items() if not f.is_unit}
    for column in columns or ():
        if column not in fields:
            raise BadParameter("columns", column, f"must be columns of {name}: {', '.join(fields)}")
        if fields[column].never:
            raise BadParameter("columns", column, 'must not be declared as dp.bounds("never")')
    questions = [rows_per_unit(source.relation, source.unit_kind, source.tables, importance=8.0)] if sizes else []
    for column in [name for name, field in fields.items() if not field.never] if columns is None else columns:
        field = fields[column]
        typed = Typed(field.kind, field.nullable, field.keys, field.unknown, lowered=Column(column))
        if field.keys is not None or field.unknown:
            key = LoweredKey(column, typed)
            questions.append(groups_per_unit(source.relation, [key], source.unit_kind, source.tables, importance=1.0))
        if field.unknown:
            questions.append(distinct_keys(LoweredKey(column, typed), source.relation, source.unit_kind, source.tables))
        if field.keys is not None and len(field.keys) <= MOST_LISTED:
            questions.append(keys_of(LoweredKey(column, typed), source.relation, source.unit_kind, source.tables))
        elif field.keys is None and not field.unknown and isinstance(field.kind, Number | Real | Temporal):
            questions.append(_values(column, stored.fields[column].kind, stored))
    return tuple(questions)


def _private(name: str, schemas: Mapping[str, Schema]) -> Lowered:
    if name not in schemas:
        raise BadParameter("table", name, f"must be one of {', '.join(schemas)}")
    source = lower_relation(Scan(name), schemas)
    if not source.private:
        raise BadParameter("table", name, "must be private; look at a public one yourself")
    return source


def _without_bounds(name: str, schemas: Mapping[str, Schema]) -> Mapping[str, Schema]:
    """Values are looked at as they are stored, so that what bounds cut can be told."""
    if name not in schemas:
        return schemas
    own = schemas[name]
    columns = {
        column: Declared() if declared.low is not None else declared for column, declared in own.table.columns.items()
    }
    return {**schemas, name: resolve(name, replace(own.table, columns=columns), own.stored)}


def _listed(typed: Typed) -> Expression | None:
    """The condition that a key is one of those that are listed."""
    if typed.keys is None:
        return None
    some = tuple(Literal(key) for key in typed.keys if key is not None)
    ways: list[Expression] = [Call("in", (typed.lowered, *some))] if some else []
    if None in typed.keys:
        ways.append(Call("is_null", (typed.lowered,)))
    return ways[0] if len(ways) == 1 else Call("or", tuple(ways))


def _values(column: str, kind: Kind, source: Lowered) -> HistogramQuery:
    rows, step = source.relation, Fraction(1)
    if isinstance(kind, Number | Real):
        rows = signed_cells(rows, column, kind)
        step = kind.step if isinstance(kind, Number) else Fraction(2) ** FINE
    assert source.unit_kind is not None  # noqa: S101
    return _question(About.VALUES, column, value_class(column, kind), rows, source.unit_kind, source.tables, 1.0, step)


@dataclass(frozen=True, slots=True)
class _Count(Plain):
    """A number of units that matters so much to whoever asks."""

    importance: float = 1.0

    @property
    def needs(self) -> dict[st.Statistic, float]:
        """Itself."""
        return {self.statistic: self.importance}


def _question(  # noqa: PLR0917 - the parts of one question
    about: About,
    column: str,
    key: Typed,
    relation: Relation,
    unit_kind: Kind,
    tables: tuple[str, ...],
    importance: float,
    step: Fraction = Fraction(1),
) -> HistogramQuery:
    measure = LoweredMeasure(Measure(COUNT, Aggregate.COUNT), (), None)
    keys = (LoweredKey(KEY, key),)
    question = LoweredQuestion(
        source=relation,
        whole=relation,
        keys=keys,
        measures=(measure,),
        outcome=Outcome(((KEY, Column(KEY)), (COUNT, Column(COUNT)))),
        sets=((KEY,),),
        caps=ONE,
        unit_kind=unit_kind,
        tables=tables,
    )
    counted = _Count(st.Rows(st.ONE, 1, Fraction(1), one_sign=True), is_whole=False, importance=importance)
    part = Part(relation, ONE, keys, (measure,), (counted,), given=True)
    assert key.keys is not None  # noqa: S101 - classes are public
    return HistogramQuery(about, column, key.keys, step, Prepared(question, (part,)))
