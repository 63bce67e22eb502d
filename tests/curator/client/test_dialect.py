"""SQLAlchemy text queries, with the price as an execution option."""

from __future__ import annotations

from urllib.parse import urlsplit

import pandas as pd
import pytest
from sqlalchemy import create_engine, exc, text

from discreet.curator.client.dialect import register
from tests.helpers.curator.town import COUNT, Town, charges

pytestmark = pytest.mark.slow

register()


def test_text_queries_pay_what_their_options_say(served: tuple[Town, str], monkeypatch: pytest.MonkeyPatch) -> None:
    town, url = served
    monkeypatch.setenv("DISCREET_TOKEN", town.ann)
    engine = create_engine(f"discreet://{urlsplit(url).netloc}/town?plain=1")
    before = charges(town)
    with engine.connect() as connection:
        priced = connection.execution_options(epsilon="100", key="sqlalchemy")
        rows = priced.execute(text(COUNT)).all()
        assert [row[:2] for row in rows] == [("Aton", 40), ("Bury", 40), ("Cold", 40)]
        assert priced.execute(text(COUNT)).all() == rows
    assert charges(town) == before + 1
    with engine.connect() as connection, pytest.raises(exc.ProgrammingError, match="needs a privacy cost"):
        connection.execute(text(COUNT))
    engine.dispose()


def test_pandas_reads_through_it_with_a_price_of_the_address(served: tuple[Town, str]) -> None:
    town, url = served
    engine = create_engine(
        f"discreet://{urlsplit(url).netloc}/town?plain=1&epsilon=100", connect_args={"token": town.ann}
    )
    with engine.connect() as connection:
        frame = pd.read_sql(
            text("SELECT COUNT(*) AS n FROM people WHERE city = :city"), connection, params={"city": "Aton"}
        )
    assert frame["n"][0] == 40
    assert frame["n_error"][0] > 0
    engine.dispose()
