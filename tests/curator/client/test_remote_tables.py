"""Tables that add up from a curator, over a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet as dp
from discreet import connect
from discreet.errors import BadParameter, Unsupported
from tests.helpers.curator.land import PLACES
from tests.helpers.curator.town import Town, charges, on_a_socket, open_town

pytestmark = pytest.mark.slow


@pytest.fixture
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Town, str]]:
    with open_town(tmp_path_factory.mktemp("town"), more=PLACES) as town, on_a_socket(town) as url:
        yield town, url


def test_tables_like_those_of_a_session(served: tuple[Town, str], tmp_path: Path) -> None:
    town, url = served
    session, before = connect(url, town.ann), charges(town)
    wanted = dp.synthetic.publication(
        [("region",), ("city",)], weights=[2, 1], split={"region": 1, "city": 2}, rows=True
    )
    made = session.tabulate("people", wanted, epsilon=2, delta="1e-20", key="tables")
    assert len(made) == 2
    by_region, by_city = (made.table(i).to_pylist() for i in range(2))
    assert [row["city"] for row in by_city] == ["Aton", "Bury", "Cold"]
    assert by_region[0]["count"] == by_city[0]["count"] + by_city[1]["count"]
    assert made.rows().num_rows == sum(row["count"] for row in by_city)
    assert set(made.write(tmp_path)) == {path.name for path in tmp_path.iterdir()}
    again = session.tabulate("people", wanted, epsilon=2, delta="1e-20", key="tables")
    assert (again.number, again.files) == (made.number, made.files)
    assert charges(town) == before + 1
    with pytest.raises(BadParameter):
        made.table(2)
    with pytest.raises(BadParameter):
        session.tabulate("people", dp.synthetic.publication(["nothing"]), epsilon=2, delta="1e-20")
    with pytest.raises(Unsupported):
        session.tabulate("people", [("city",)], epsilon=2)  # type: ignore[arg-type]
