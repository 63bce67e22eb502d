"""``SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(...)``, as BigQuery spells what a query may cost, taken out of a text.

  epsilon, delta             the privacy cost of the query
  privacy_unit_column        must be the unit that the table has
  max_groups_contributed     at most so many groups per unit; max_rows_contributed: at most so many rows

Promise: the clause is read once, at the outermost SELECT, and never skipped: what is not understood in it is refused.
Quotes and comments are no part of it, and the rest of the text stays where it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from discreet.errors import BadQuestion, Unsupported
from discreet.query.plan.schema import Schema, read_cap

_ASIDE = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_CLAUSE = re.compile(r"\bSELECT(\s+WITH\s+DIFFERENTIAL_PRIVACY\b(?:\s*OPTIONS\s*\(([^()]*)\))?)", re.IGNORECASE)
_OPTION = re.compile(r"\s*(\w+)\s*=\s*(?:`([^`]*)`|([\w.+\-]+))\s*(?:,|$)")
_QUOTES = "'\"`"
_NUMBERS = ("epsilon", "delta")
_CAPS = {"max_groups_contributed": "max_groups", "max_rows_contributed": "max_rows"}
_UNIT = "privacy_unit_column"
_HINTS = {
    "group_selection_strategy": "leave it out: declare a public list of groups with dp.keys, or none",
    "min_privacy_units_per_group": "leave it out: undeclared groups are selected by noise and a threshold",
}


@dataclass(frozen=True, slots=True)
class PrivacyClause:
    """What a text says of its own cost and contribution bounds."""

    epsilon: str | None = None
    delta: str | None = None
    unit: str | None = None
    caps: tuple[tuple[str, int], ...] = ()

    def bounded(self, schemas: Mapping[str, Schema]) -> Mapping[str, Schema]:
        """The tables with these contribution bounds, where smaller ones are not declared."""
        private = {name: schema for name, schema in schemas.items() if schema.table.unit is not None}
        if self.unit is not None and self.unit not in {schema.table.unit for schema in private.values()}:
            units = ", ".join(sorted({str(schema.table.unit) for schema in private.values()}))
            raise BadQuestion(f"{_UNIT} must be the declared unit: {units}")
        if not self.caps:
            return schemas
        return {**schemas, **{name: self._bounded(schema) for name, schema in private.items()}}

    def _bounded(self, schema: Schema) -> Schema:
        declared = schema.table.caps
        bounds = {name: min(most, getattr(declared, name) or most) for name, most in self.caps}
        auto = declared.auto and "max_rows" not in bounds
        return replace(schema, table=replace(schema.table, caps=replace(declared, **bounds, auto=auto)))


def take_privacy_clause(text: str) -> tuple[str, PrivacyClause | None]:
    """The text with blanks in the place of the clause; and what it says, if there is one.

    >>> text, clause = take_privacy_clause("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-9) a FROM t")
    >>> text.split(), clause.epsilon, clause.delta
    (['SELECT', 'a', 'FROM', 't'], '1', '1e-9')
    """
    if not isinstance(text, str) or "DIFFERENTIAL_PRIVACY" not in text.upper():
        return text, None
    plain = _ASIDE.sub(lambda aside: aside[0] if aside[0][0] in _QUOTES else " " * len(aside[0]), text)
    masked = _ASIDE.sub(lambda quoted: "_" * len(quoted[0]), plain)
    clauses = list(_CLAUSE.finditer(masked))
    if not clauses:
        return text, None
    clause, before = clauses[0], masked[: clauses[0].start()]
    if len(clauses) > 1 or before.count("(") != before.count(")"):
        raise BadQuestion("WITH DIFFERENTIAL_PRIVACY must stand once, after the outermost SELECT")
    first, last = clause.span(1)
    options = "" if clause[2] is None else plain[clause.start(2) : clause.end(2)]
    return text[:first] + " " * (last - first) + text[last:], _read(options)


def _read(options: str) -> PrivacyClause:
    values: dict[str, str] = {}
    place = 0
    while place < len(options.rstrip()):
        item = _OPTION.match(options, place)
        if item is None or item[1].lower() in values:
            raise BadQuestion("OPTIONS must hold name=value once each, such as OPTIONS(epsilon=1, delta=1e-9)")
        values[item[1].lower()] = item[2] if item[3] is None else item[3]
        place = item.end()
    for name in values:
        if name not in (*_NUMBERS, *_CAPS, _UNIT):
            options = ", ".join((*_NUMBERS, _UNIT, *_CAPS))
            raise Unsupported(f"the option {name}", _HINTS.get(name, f"the options are {options}"))
    caps = tuple((ours, _cap(theirs, values[theirs])) for theirs, ours in _CAPS.items()
                 if values.get(theirs, "NULL").upper() != "NULL")  # fmt: skip
    return PrivacyClause(values.get("epsilon"), values.get("delta"), values.get(_UNIT), caps)


def _cap(name: str, text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise BadQuestion(f"{name} must be a positive integer, or NULL")
    return read_cap(int(text), name)
