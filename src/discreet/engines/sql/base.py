"""The rows of a work before they are bounded: columns u, k0, k1, ..., s and v0, v1, ...; and which of them count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from discreet.engines.sql.dialects import Dialect, Sort
from discreet.engines.sql.kept import count_name, key_name, passing, rows_of, unit_name, value_name
from discreet.engines.sql.primitives import is_one_of, write
from discreet.engines.sql.relations import Origin, Relations
from discreet.engines.sql.scope import UNBOUNDED, Piece, Scope, typed
from discreet.query.plan.expressions import Column, Expression
from discreet.query.plan.types import Value
from discreet.query.plan.work import AnyWork, GroupingSets, WorkKey

_MOST_CODES = 10_000
_AS_TEXT = {
    Sort.INTEGER: "integer_to_text",
    Sort.BOOLEAN: "boolean_to_text",
    Sort.DATE: "date_to_text",
    Sort.TIMESTAMP: "timestamp_to_text",
}


@dataclass(frozen=True, slots=True)
class Key:
    """A key column: its name, what it holds, and which values of it count (None: all)."""

    name: str
    sort: Sort
    allowed: tuple[Value, ...] | None = None
    coded: bool = False
    """Whether it is NULL for all values but those that are allowed."""


class Base:
    """The source of a work with its unit, its keys and what is summed, each under a short name.

    ``numbered``: units are only compared, so that a prepared copy may give their numbers. A number depends on which
    other units there are: where a hash of the unit chooses among its keys, it must see the unit's own name.
    """

    def __init__(
        self,
        work: AnyWork | GroupingSets,
        dialect: Dialect,
        tables: Mapping[str, Origin],
        *,
        numbered: bool = False,
    ) -> None:
        self.dialect, self._work = dialect, work
        self.rows_of = rows_of(work.source)
        self._prepared_columns = {} if self.rows_of is None else tables[self.rows_of.table].kept
        self._source = Relations(dialect, tables).rows(passing(work.source, self._prepared_columns.values()))
        self._scope = Scope(dialect, self._source.columns)
        unit = self._source.columns[work.unit]
        number = self._prepared(unit_name(self.over_table(Column(work.unit)))) if numbered else None
        self._numbered = numbered
        self.unit = Key("u", unit.sort if number is None else Sort.INTEGER)
        self.unit_reach = unit.reach if number is None else UNBOUNDED
        self._columns = [("u", number or self._kept(unit))]
        self.keys = [self.key(f"k{i}", key) for i, key in enumerate(work.keys)]

    def over_table(self, expression: Expression) -> Expression:
        """The expression over the stored columns, where each row of the source is made of one row of a table."""
        return expression if self.rows_of is None else self.rows_of.over_table(expression)

    def _prepared(self, name: str | None) -> str | None:
        """The column of a prepared copy that holds this, if there is one."""
        column = None if name is None else self._prepared_columns.get(name)
        return None if column is None else self._source.columns[column].sql

    def add_counts(self, counts: Mapping[str, str]) -> bool:
        """Further columns for counts that the table keeps of its units, by name; none, unless all of them are there.

        Only of all rows of a table: after a filter, there are others to be counted.
        """
        if self.rows_of is None or self.rows_of.filtered or not self._prepared_columns:
            return False
        unit = self.over_table(Column(self._work.unit))
        keys = [(self.over_table(key.expression), key.allowed) for key in self._work.keys]
        prepared = {name: self._prepared(count_name(what, unit, keys)) for name, what in counts.items()}
        self._columns += [
            (name, sql) for name, sql in prepared.items() if sql is not None and None not in prepared.values()
        ]
        return None not in prepared.values()

    def key(self, name: str, key: WorkKey) -> Key:
        """A further column for a key, in few bits where that is quicker."""
        piece, allowed = write(key.expression, self._scope), key.allowed
        sql, coded = self._kept(piece), False
        if self.dialect.codes and piece.sort is Sort.TEXT and allowed is not None:
            if 0 < len(allowed) <= _MOST_CODES and None not in allowed:
                sql, coded = f"TRY_CAST({sql} AS ENUM({', '.join(map(self.dialect.literal, allowed))}))", True
        elif self.dialect.codes and piece.sort is Sort.INTEGER:
            sql, coded = self._narrow(piece, allowed)
        prepared = (
            self._prepared(key_name(self.over_table(key.expression), allowed)) if self._prepared_columns else None
        )
        self._columns.append((name, prepared or sql))
        return Key(name, piece.sort, allowed, coded)

    def _narrow(self, piece: Piece, allowed: tuple[Value, ...] | None) -> tuple[str, bool]:
        """An integer in as few bits as what is known of it allows; and whether it is NULL unless it is allowed."""
        listed = [value for value in allowed or () if isinstance(value, int)]
        if listed and len(listed) == len(allowed or ()):
            low, high = min(listed), max(listed)
            x, a, b = self._scope.named(piece).sql, self.dialect.literal(low), self.dialect.literal(high)
            inside = _in_few_bits(x, max(abs(low), abs(high)))
            return f"CASE WHEN {x} >= {a} AND {x} <= {b} THEN {inside} END", high - low + 1 == len(set(listed))
        return _in_few_bits(piece.sql, piece.reach), False

    def value(self, expression: Expression) -> Piece:
        """A further column for a value, under its new name."""
        piece = write(expression, self._scope)
        name = f"v{len(self._columns)}"
        prepared = self._prepared(value_name(self.over_table(expression))) if self._prepared_columns else None
        sql = self._kept(piece) if prepared is None else self.dialect.cast(prepared, piece.sort)
        self._columns.append((name, sql))
        return Piece(name, piece.sort, piece.reach, simple=True)

    def _kept(self, piece: Piece) -> str:
        """A column by which rows are grouped."""
        return self.dialect.marked(piece.sql) if piece.sort is Sort.TEXT else typed(piece, self.dialect)

    def select(self, stored: Mapping[str, str] = MappingProxyType({})) -> str:
        """All rows; call it when all columns are there. ``stored`` are columns of a bare table, by new names."""
        columns = [*self._columns, *((name, self._scope.columns[of].sql) for name, of in stored.items())]
        listed = ", ".join(f"{sql} AS {name}" for name, sql in columns)
        return f"SELECT {listed} FROM {self._scope.around(self._source.sql)} AS t"

    def counts(self, keys: Sequence[Key]) -> str:
        """The condition for a row to count: it has a unit, and each key is one of those listed."""
        return " AND ".join(["u IS NOT NULL", *(self._listed(key) for key in keys if key.allowed is not None)])

    def _listed(self, key: Key) -> str:
        if key.coded:
            return f"{key.name} IS NOT NULL"
        allowed = key.allowed or ()
        allowed_sql = is_one_of(
            self._scope, Piece(key.name, key.sort, simple=True), *(v for v in allowed if v is not None)
        ).sql
        return f"({key.name} IS NULL OR {allowed_sql})" if None in allowed else allowed_sql

    def order(self, salt: str, keys: Sequence[Key], when: str | None = None) -> str:
        """In which order a unit's keys are kept: by their salted hash; where hashes are equal, by the keys.

        ``when``: only then is anything computed; otherwise all keys have the same place.
        """
        d = self.dialect
        terms = [self.hashed(salt, keys), *map(self._compared, keys)]
        if when is not None:
            terms = [f"CASE WHEN {when} THEN {term} END" for term in terms]
        return ", ".join([terms[0], *(d.call("nulls_last", term) for term in terms[1:])])

    def hashed(self, salt: str, keys: Sequence[Key]) -> str:
        """The salted hash of the unit and these keys."""
        if self._numbered:
            raise ValueError("a hash must see the unit's own name")
        d = self.dialect
        parts = [d.text(salt)]
        for key in (self.unit, *keys):
            parts += [d.text("|"), self._hashed(key)]
        return d.call("binary", d.call("md5", d.texts(*parts)))

    def _hashed(self, key: Key) -> str:
        d = self.dialect
        how = _AS_TEXT.get(key.sort)
        text = d.call(how, key.name) if how else d.cast(d.unmarked(key.name), Sort.TEXT)
        return f"coalesce({text}, {d.text('')})"

    def _compared(self, key: Key) -> str:
        d = self.dialect
        return d.call("binary", d.cast(key.name, Sort.TEXT)) if key.sort is Sort.TEXT else key.name

    def shown(self, select: str, keys: Sequence[Key], cells: int) -> str:
        """The statement with codes turned back into text."""
        texts = [key for key in keys if key.coded and key.sort is Sort.TEXT]
        if not texts:
            return select
        columns = [f"{self.dialect.cast(k.name, Sort.TEXT)} AS {k.name}" if k in texts else k.name for k in keys]
        columns += [f"n{i}" for i in range(cells)]
        return f"SELECT {', '.join(columns)} FROM (\n{select}) AS t"


def _in_few_bits(sql: str, reach: int) -> str:
    """An integer that is known to be at most ``reach`` away from 0, in the smallest type that holds it."""
    small = next(
        (kind for bits, kind in ((7, "TINYINT"), (15, "SMALLINT"), (31, "INTEGER")) if reach < 1 << bits), None
    )
    return f"CAST({sql} AS {small})" if small else sql
