"""A connection, with real clients: psql, psycopg, SQLAlchemy and pandas."""

from __future__ import annotations

import subprocess
from typing import Any

import pandas as pd
import psycopg
import pytest
import sqlalchemy as sa

from tests.helpers.curator.town import COUNT, Town, charges
from tests.helpers.curator.wire import about

pytestmark = pytest.mark.slow
PRICED = f"/* epsilon=100 */ {COUNT}"


def test_a_failed_batch_charges_nothing_that_follows(served: tuple[Town, str], port: int) -> None:
    before = charges(served[0])
    with psycopg.connect(**about(port, served[0].ann), autocommit=True) as client:
        with pytest.raises(psycopg.Error), client.pipeline():  # noqa: PT012 - both are sent before the first is answered
            client.execute("SELECT x FROM nowhere")
            client.execute(PRICED)
        assert charges(served[0]) == before


def test_psql_connects_lists_and_asks(served: tuple[Town, str], port: int) -> None:
    text = "\\dt\n\\d people\nSHOW discreet.remaining;\n" + PRICED.replace("epsilon=100", "epsilon=10") + ";\n"
    command = ["psql", "-X", "-q", f"host=127.0.0.1 port={port} user=ann dbname=town"]
    found = subprocess.run(command, input=text, capture_output=True, text=True, check=True,
                           env={"PGPASSWORD": served[0].ann, "PATH": "/usr/bin:/bin"}, timeout=120)  # fmt: skip
    for word in ("List of relations", "people", 'Table "public.people"', "epsilon", "n_error", "Aton"):
        assert word in found.stdout
    assert "Spent epsilon 10" in found.stderr


def test_values_come_in_binary_and_in_pieces(client: psycopg.Connection[Any]) -> None:
    with client.cursor(binary=True) as cursor:
        cursor.execute(PRICED)
        assert [round(row[1]) for row in cursor.fetchall()] == [40, 40, 40]
    with client.cursor("on_the_server") as cursor:
        cursor.execute(PRICED)
        assert [len(cursor.fetchmany(2)), len(cursor.fetchmany(2)), len(cursor.fetchmany(2))] == [2, 1, 0]


def test_sqlalchemy_reflects_and_pandas_reads(served: tuple[Town, str], port: int) -> None:
    options = {"options": "-c discreet.epsilon=100"}
    engine = sa.create_engine(f"postgresql+psycopg://ann:{served[0].ann}@127.0.0.1:{port}/town", connect_args=options)
    try:
        looked = sa.inspect(engine)
        assert "people" in looked.get_table_names()
        assert {"city", "pay"} <= {column["name"] for column in looked.get_columns("people")}
        people = sa.Table("people", sa.MetaData(), autoload_with=engine)
        asked = sa.select(people.c.city, sa.func.count().label("n")).group_by(people.c.city)
        with engine.connect() as connection:
            found = pd.read_sql(asked, connection)
        assert list(found.columns) == ["city", "n", "n_error"]
        assert list(found["n"].round()) == [40, 40, 40]
    finally:
        engine.dispose()
