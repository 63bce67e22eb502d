"""Tables of PostgreSQL: what a column is, names, and rights."""

from __future__ import annotations

from datetime import date, datetime

import psycopg
import pyarrow as pa
import pytest

from discreet.engines.postgres.engine import postgres
from discreet.engines.postgres.source import PostgresTable, _stored, named, postgres_table
from discreet.errors import BadData, BadParameter, EngineFailed
from discreet.query.plan.schema import Stored, StoredKind, Table, resolve
from tests.helpers.postgres_engine import as_role, asked, count_rows, execute, values


@pytest.mark.slow
def test_stored_types_come_from_the_catalogue(fresh_database: str) -> None:
    execute(
        fresh_database,
        "CREATE TYPE mood AS ENUM ('good', 'bad')",
        "CREATE DOMAIN price AS numeric(10, 3) CHECK (VALUE > 0)",
        "CREATE DOMAIN fee AS price",
        "CREATE DOMAIN loose AS numeric",
        "CREATE TYPE text AS ENUM ('not text')",
        """CREATE TABLE t (a smallint, b integer, c bigint, d numeric(12, 2), e numeric, f real, g double precision,
           h pg_catalog.text, i varchar(5), j char(7), k boolean, l date, m timestamp(3), n timestamptz, o uuid,
           p mood, q price, r fee, s loose, t integer[], u json, v bytea, w interval, x numeric(3, -2),
           y numeric(60, 50), z public.text, "A" money)""",
    )
    kinds = {
        "a": StoredKind.INTEGER, "b": StoredKind.INTEGER, "c": StoredKind.INTEGER, "e": StoredKind.OTHER,
        "f": StoredKind.REAL, "g": StoredKind.REAL, "h": StoredKind.TEXT, "i": StoredKind.TEXT, "j": StoredKind.TEXT,
        "k": StoredKind.BOOLEAN, "l": StoredKind.DATE, "m": StoredKind.TIMESTAMP, "n": StoredKind.TIMESTAMP,
        "o": StoredKind.TEXT, "p": StoredKind.TEXT, "s": StoredKind.OTHER, "t": StoredKind.OTHER, "u": StoredKind.TEXT,
        "v": StoredKind.OTHER, "w": StoredKind.OTHER, "y": StoredKind.OTHER, "z": StoredKind.TEXT,
        "A": StoredKind.OTHER,
    }  # fmt: skip
    decimals = {"d": 2, "q": 3, "r": 3, "x": 0}
    expected = {name: Stored(kind) for name, kind in kinds.items()}
    expected |= {name: Stored(StoredKind.DECIMAL, scale) for name, scale in decimals.items()}
    expected["t"] = Stored(StoredKind.OTHER, element=StoredKind.INTEGER)
    assert postgres(fresh_database).columns("t") == expected


@pytest.mark.slow
def test_values_that_only_postgresql_has(fresh_database: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(fresh_database)["dbname"]
    execute(
        fresh_database,
        f"ALTER DATABASE {name} SET TimeZone = 'Asia/Kathmandu'",
        "CREATE TYPE mood AS ENUM ('Good', 'bad')",
        "CREATE TABLE t (id bigint, n numeric(6, 2), d date, m timestamp, z timestamptz, c char(4), e mood, u uuid)",
        """INSERT INTO t VALUES
           (1, 'NaN', 'infinity', 'infinity', 'infinity', 'a', 'Good', '12345678-ABCD-0000-0000-000000000000'),
           (2, -9999.99, '-infinity', '-infinity', '-infinity', ' b  ', 'bad', NULL),
           (3, 0.01, '0044-03-15 BC', '0044-03-15 BC', '0001-01-01 BC', '', NULL, NULL),
           (4, 12, '20000-01-01', '200000-01-01', '10000-01-01 00:30:00+02', NULL, NULL, NULL)""",
    )
    texts: dict[str, tuple[object, ...]] = dict.fromkeys(("c", "e", "u"), ("read_text",))
    found = values(postgres(fresh_database), "t", n=("read_decimal", 2, -500, 500_000), **texts)
    uuid = "12345678-abcd-0000-0000-000000000000"
    assert found == [
        (None, "a", "Good", uuid),
        (-500, " b", "bad", None),
        (1, "", None, None),
        (1200, None, None, None),
    ]
    times = values(postgres(fresh_database), "t", d=("read_date",), m=("read_timestamp",), z=("read_timestamp",))
    first, last = (date.min, datetime.min), (date.max, datetime.max)
    near = datetime(9999, 12, 31, 22, 30)
    assert times == [(*last, datetime.max), (*first, datetime.min), (*first, datetime.min), (*last, near)]


@pytest.mark.slow
def test_decimals_of_every_scale(fresh_database: str) -> None:
    execute(
        fresh_database,
        "CREATE TABLE t (id bigint, a numeric(44, 38), b numeric(3, -2), c numeric(30, 0), d numeric(18, 18))",
        "INSERT INTO t VALUES (1, 1e-38, 12345, 1e29, 0.000000000000000001), (2, -999999, -99900, -7, -0.9), "
        "(3, 0.5, NULL, 'NaN', 0)",
    )
    most = 1 << 62
    reads = {name: ("read_decimal", scale, -most, most) for name, scale in {"a": 38, "b": 0, "c": 0, "d": 18}.items()}
    assert values(postgres(fresh_database), "t", **reads) == [
        (1, 12300, most, 1),
        (-most, -99900, -7, -9 * 10**17),
        (most, None, None, 0),
    ]


ODD = 'x"; DROP TABLE "t'


@pytest.mark.slow
def test_any_name_can_be_used(fresh_database: str) -> None:
    quoted = ODD.replace('"', '""')
    execute(
        fresh_database,
        f'CREATE SCHEMA "{quoted}"',
        f'CREATE TABLE "{quoted}"."a.b" (id bigint, "{quoted}" integer, "%s" integer, "t" integer, "é{{0}}" integer)',
        f'INSERT INTO "{quoted}"."a.b" VALUES (7, 1, 2, 3, 4)',
    )
    source = postgres_table("a.b", schema=ODD)
    reads: dict[str, tuple[object, ...]] = dict.fromkeys((ODD, "%s", "t", "é{0}"), ("read_integer", 0, 9))
    assert values(postgres(fresh_database), source, **reads) == [(1, 2, 3, 4)]
    assert list(postgres(fresh_database, schema=ODD).columns(postgres_table("a.b", schema=ODD)))[1] == ODD


@pytest.mark.slow
def test_a_table_without_a_schema_is_looked_for_in_one(fresh_database: str) -> None:
    execute(fresh_database, "CREATE SCHEMA clinic", "CREATE TABLE clinic.visits (who bigint)")
    assert list(postgres(fresh_database, schema="clinic").columns("visits")) == ["who"]
    assert list(postgres(fresh_database).columns("clinic.visits")) == ["who"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        "nothing",
        "public.nothing",
        "T",
        "pg_catalog.nothing",
        "",
        ".t",
        "public.",
        "a.b.c",
        "t\0",
        7,
        None,
        pa.table({}),
    ],
)
def test_what_is_no_table_is_refused(fresh_database: str, source: object) -> None:
    execute(fresh_database, "CREATE TABLE t (id bigint)")
    with pytest.raises(BadData, match="must"):
        postgres(fresh_database).columns(source)


@pytest.mark.slow
def test_a_role_sees_the_columns_that_it_may_read(shop: str) -> None:
    execute(
        shop,
        "CREATE TABLE t (id bigint, x integer, f double precision, secret text)",
        "INSERT INTO t VALUES (1, 5, 0.5, 'no')",
        "CREATE SCHEMA other",
        "CREATE TABLE other.t (id bigint)",
        "GRANT SELECT ON other.t TO reader",
    )
    reader = postgres(as_role(shop, "reader"))
    for source in ("t", "other.t"):
        with pytest.raises(BadData, match="role may read"):
            reader.columns(source)
    execute(shop, "GRANT SELECT (id, x, f) ON t TO reader")
    assert list(reader.columns("t")) == ["id", "x", "f"]
    assert values(reader, "t", x=("read_integer", 0, 9), f=("read_real", -60, -(1 << 61), 1 << 61)) == [(5, 1 << 59)]


@pytest.mark.slow
def test_row_level_security_is_refused(shop: str) -> None:
    execute(
        shop,
        "CREATE TABLE t (id bigint)",
        "GRANT SELECT ON t TO reader",
        "CREATE POLICY few ON t TO reader USING (id < 5)",
    )
    reader, works = postgres(as_role(shop, "reader")), [count_rows()]
    assert asked(reader, "t", works) == [{}]
    execute(shop, "INSERT INTO t VALUES (1), (9)", "ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    schema = resolve("t", Table(source="t", unit=None, public=True), {"id": Stored(StoredKind.INTEGER)})
    with pytest.raises(EngineFailed):  # a policy that came later: no silent choice of rows
        reader.run(works, {"t": schema})
    with pytest.raises(BadData, match="row-level security"):
        reader.columns("t")
    assert list(postgres(shop).columns("t")) == ["id"]  # the owner sees all rows


@pytest.mark.parametrize(
    ("digits", "kind", "scale"),
    [
        (-1, StoredKind.OTHER, 0),
        ((10 << 16 | 2) + 4, StoredKind.DECIMAL, 2),
        ((44 << 16 | 38) + 4, StoredKind.DECIMAL, 38),
        ((44 << 16 | 39) + 4, StoredKind.OTHER, 0),
        ((3 << 16 | (-2 & 0x7FF)) + 4, StoredKind.DECIMAL, 0),
    ],
)
def test_the_code_of_a_decimal_is_read(digits: int, kind: StoredKind, scale: int) -> None:
    """PostgreSQL keeps precision << 16 | scale (11 bits with a sign), plus 4."""
    found = _stored("numeric", False, digits)
    assert (found.kind, found.scale) == (kind, scale)


def test_names_of_tables() -> None:
    assert named("visits") == PostgresTable("visits")
    assert named("clinic.visits") == PostgresTable("visits", "clinic")
    assert str(named(postgres_table("a.b", schema="c"))) == "c.a.b"
    for table, schema in (("", "a"), ("a", ""), ("a\0", "b"), (3, "b")):
        with pytest.raises(BadParameter, match="must be a name"):
            postgres_table(table, schema=schema)  # type: ignore[arg-type]
