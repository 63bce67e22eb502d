"""The tables of a ledger, and the steps that build them.

Promise: a ledger that any earlier version wrote is opened by this one: the version of its tables is the number of steps
that were taken, and the missing ones are taken, once, in one transaction. A step that was ever published never changes.
What counts are the entries' own lines; every other column only helps to find them.
"""

from __future__ import annotations

from discreet.errors import LedgerUnsafe, MissingExtra

try:
    import sqlalchemy as sa
except ImportError as missing:
    raise MissingExtra("durable ledgers", extra="server") from missing

__all__ = [
    "GUARDS_OF_ANSWERS",
    "STEPS",
    "VERSION",
    "answers",
    "entries",
    "head",
    "sa",
    "schema",
    "take_steps",
    "version_of",
]

entries = sa.table(
    "discreet_entries",
    sa.column("sequence", sa.BigInteger),
    *(sa.column(name, sa.Text) for name in ("kind", "population", "analyst", "token", "hash", "text")),
)
answers = sa.table(
    "discreet_answers",
    sa.column("charge", sa.BigInteger),
    sa.column("answer", sa.LargeBinary),
    sa.column("card", sa.Text),
)
head = sa.table(
    "discreet_head", sa.column("one", sa.Integer), sa.column("sequence", sa.BigInteger), sa.column("hash", sa.Text)
)
schema = sa.table("discreet_schema", sa.column("version", sa.Integer))

_TABLES = (
    "CREATE TABLE discreet_schema (version INTEGER NOT NULL)",
    "INSERT INTO discreet_schema (version) VALUES (0)",
    "CREATE TABLE discreet_head (one INTEGER PRIMARY KEY CHECK (one = 1), sequence {number} NOT NULL, "
    "hash TEXT NOT NULL)",
    "CREATE TABLE discreet_entries (sequence {number} PRIMARY KEY, kind TEXT NOT NULL, population TEXT, analyst TEXT, "
    "token TEXT UNIQUE, hash TEXT NOT NULL UNIQUE, text TEXT NOT NULL)",
    "CREATE TABLE discreet_answers (charge {number} PRIMARY KEY REFERENCES discreet_entries (sequence), "
    "answer {bytes} NOT NULL, card TEXT NOT NULL)",
)
_INDEXES = (
    "CREATE INDEX discreet_by_analyst ON discreet_entries (analyst, sequence)",
    "CREATE INDEX discreet_by_kind ON discreet_entries (kind, sequence)",
)
# Against mistakes, not against a hostile owner of the database: the chain detects those.
_SQLITE_GUARDS = tuple(
    f"CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END"
    for table in ("discreet_entries", "discreet_answers")
    for verb in ("update", "delete")
)
_POSTGRES_GUARDS = (
    "CREATE FUNCTION discreet_only_grows() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'a ledger only grows'; END $$",
    *(
        f"CREATE TRIGGER {table}_only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION discreet_only_grows()"
        for table in ("discreet_entries", "discreet_answers")
    ),
)
GUARDS_OF_ANSWERS = {
    "sqlite": (
        "DROP TRIGGER IF EXISTS discreet_answers_no_update",
        next(guard for guard in _SQLITE_GUARDS if "discreet_answers_no_update" in guard),
    ),
    "postgresql": (
        "ALTER TABLE discreet_answers DISABLE TRIGGER discreet_answers_only_grows",
        "ALTER TABLE discreet_answers ENABLE TRIGGER discreet_answers_only_grows",
    ),
}
"""How the guard of the answers is taken off and put back, inside one transaction."""
STEPS: tuple[dict[str, tuple[str, ...]], ...] = (
    {"sqlite": _TABLES, "postgresql": _TABLES},
    {"sqlite": _SQLITE_GUARDS, "postgresql": _POSTGRES_GUARDS},
    {"sqlite": _INDEXES, "postgresql": _INDEXES},
)
VERSION = len(STEPS)
_TYPES = {"sqlite": {"number": "INTEGER", "bytes": "BLOB"}, "postgresql": {"number": "BIGINT", "bytes": "BYTEA"}}


def version_of(connection: sa.Connection) -> int:
    """How many steps were taken: 0 where there is no ledger."""
    if not sa.inspect(connection).has_table(schema.name):
        return 0
    version = connection.execute(sa.select(schema.c.version)).scalar_one()
    if version > VERSION:
        raise LedgerUnsafe("this ledger was written by a newer version of discreet: update before you open it")
    if version < 1:
        raise LedgerUnsafe("the tables of this ledger were not finished, or were changed: restore a copy that verifies")
    return int(version)


def take_steps(connection: sa.Connection, *, up_to: int = VERSION) -> None:
    """Take the steps that are missing, inside the transaction of the caller."""
    dialect = connection.dialect.name
    for number in range(version_of(connection), up_to):
        for statement in STEPS[number][dialect]:
            connection.exec_driver_sql(statement.format(**_TYPES[dialect]) if "{" in statement else statement)
        connection.execute(schema.update().values(version=number + 1))
