"""The domain of a table of a session, from what its owner declared with ``dp.table``. Public; no data is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from discreet.errors import BadParameter
from discreet.messages import message
from discreet.query.plan.schema import Declared, Field, Schema
from discreet.query.plan.types import Boolean, Number, Temporal, Timestamp
from discreet.synthetic.binning.open_bins import equal_bins
from discreet.synthetic.columns import Column, categories, days, whole
from discreet.synthetic.domain import SINGLE, Domain


def domain_of(
    table: str, schema: Schema, columns: Sequence[str] | None = None, given: Mapping[str, Any] | Domain | None = None
) -> Domain:
    """The domain of some columns of a table, or of all whose values are public.

    ``given`` declares single columns otherwise, such as ``{"age": dp.synthetic.bins([0, 18, 65, 120])}``. A column
    without bounds or keys is left out, unless it is named: then it is refused.
    """
    declared = _declared(given)
    unit = schema.table.unit
    if isinstance(columns, str):
        raise BadParameter("columns", columns, "must be a list of names")
    own = [name for name in schema.fields if name != unit and name not in schema.derived]
    names = own if columns is None else list(columns)
    for name in [*names, *declared]:
        if name not in schema.fields or name == unit:
            others = ", ".join(n for n in schema.fields if n != unit)
            raise BadParameter("column", name, f"must be a column of {table} that is not its unit: {others}")
    columns_made: dict[str, Any] = {}
    for name in dict.fromkeys([*names, *declared] if columns is None else names):
        made = (
            declared[name] if name in declared else column_of(name, schema.fields[name], schema.table.columns.get(name))
        )
        if made is not None:
            columns_made[name] = made
        elif columns is not None:
            raise _not_public(table, name, schema.fields[name])
    if not columns_made:
        raise BadParameter("columns", table, "must have a column with public values: declare dp.keys or dp.bounds")
    return Domain(columns_made)


def _declared(given: object) -> dict[str, Any]:
    """Columns that are declared for this call: a mapping, or a whole domain."""
    if given is None:
        return {}
    if isinstance(given, Domain):
        return {name: given[name] for name in given}
    if not isinstance(given, Mapping):
        raise BadParameter("domain", given, 'must map columns to their values, such as {"age": range(100)}')
    return dict(given)


def column_of(name: str, field: Field, declared: Declared | None) -> Column | None:
    """What a column may hold, by its declaration and its stored type; None if nobody has said."""
    nullable = True if declared is None else declared.nullable
    if field.keys is not None:
        listed: list[Any] = [key for key in field.keys if key is not None]
        return categories(listed, nullable=nullable or None in field.keys) if listed else None
    if declared is None or declared.low is None or declared.high is None:
        return categories([False, True], nullable=nullable) if isinstance(field.kind, Boolean) else None
    match field.kind:
        case Number(step=step, low=low, high=high):
            return _numbers(step, low, high, nullable=nullable)
        case Temporal(low=low, high=high):
            width = (_day(high) - _day(low)).days // SINGLE + 1
            return days(low, high, step=width, nullable=nullable, times=isinstance(field.kind, Timestamp))
    raise BadParameter("column", name, "must have bounds that fit its type")


def _numbers(step: Fraction, low: int, high: int, *, nullable: bool) -> Column:
    """One code for each of few whole numbers; otherwise bins of equal width, with whole edges for whole numbers."""
    if step == 1 and high - low < SINGLE:
        return whole(low, high, nullable=nullable)
    decimal = step if step.denominator % 5 == 0 else None  # a float's is a power of two, which nobody wants to see
    return equal_bins(low * step, high * step, nullable=nullable, integral=step == 1, step=decimal)


def _day(at: date) -> date:
    return at.date() if isinstance(at, datetime) else at


def _not_public(table: str, name: str, field: Field) -> BadParameter:
    if field.unknown:
        return BadParameter(
            "column", name, "must have listed values", message("release_keys", column=f"{table}.{name}")
        )
    return BadParameter("column", name, "must have public values", message("declare_values", column=name))
