"""A data set of which nothing is declared but the unit, asked over HTTP: one charge, and an answer."""

from __future__ import annotations

import pytest

from discreet.curator.client.client import connect
from tests.helpers.curator.land import CITIES
from tests.helpers.curator.town import Town, charges, on_a_socket

CHOSEN_CAPS = True
SQL = "SELECT city, COUNT(*) AS n, SUM(length) AS s, AVG(length) AS m FROM trips GROUP BY city"


@pytest.mark.slow
def test_a_first_question_is_one_charge_and_has_counts_sums_and_means_of_groups(new_town: Town) -> None:
    town = new_town
    body = {
        "name": "open",
        "budget": {"epsilon": "100000", "delta": "1e-6"},
        "tables": {"trips": {"source": "trips.parquet", "unit": "person_id"}},
        "decision": "a copy of a town",
    }
    assert town.post("/api/datasets", body, town.owner).status_code == 201
    town.curator.ledger.owner.grant("ann", "open")
    with on_a_socket(town) as url:
        session = connect(url, town.ann, "open")
        query = session.sql(SQL)
        assert "of the cost chooses" in str(query.preview(epsilon=2000).notes)
        assert charges(town) == 0
        answer = query.release(epsilon=2000, key="first")
        assert charges(town) == 1
        assert answer["city"] == list(CITIES)
        assert answer["n"] == pytest.approx([120] * 3, abs=5)
        assert answer["s"] == pytest.approx([120 * 37.25] * 3, rel=0.05)
        assert answer["m"] == pytest.approx([37.25] * 3, rel=0.05)
        assert all(error is not None for bars in answer.errors().values() for error in bars)
        assert "were scaled down to that" in str(answer.notes)
        again = query.release(epsilon=2000, key="first")
        assert (again.rows, again.paid_before, charges(town)) == (answer.rows, True, 1)
        plan = session.plan([SQL, "SELECT COUNT(*) AS n FROM trips"], epsilon=2000)
        assert [one["n"][0] for one in plan.release()] == pytest.approx([120, 360], abs=20)
        assert charges(town) == 2
