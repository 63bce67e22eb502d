"""Tables that add up over HTTP: their errors are free, they are paid once, and their files are kept."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from discreet.errors import EngineFailed
from tests.helpers.curator.land import PLACES, holds_canary
from tests.helpers.curator.town import Town, broken, charges, open_town
from tests.helpers.processes import until

pytestmark = pytest.mark.slow

PATH = "/api/datasets/town/publication"
BODY = {"table": "people", "epsilon": "2", "delta": "1e-20", "tables": [["region"], ["city"]]}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with open_town(tmp_path_factory.mktemp("town"), more=PLACES) as opened:
        yield opened


@pytest.fixture
def new_town(tmp_path: Path) -> Iterator[Town]:
    with open_town(tmp_path, more=PLACES) as opened:
        yield opened


def ended(town: Town, number: int) -> Any:
    until(lambda: town.get(f"/api/published/{number}", town.ann).json()["state"] != "running", what="ended")
    return town.get(f"/api/published/{number}", town.ann).json()


def test_tables_are_paid_once_and_their_files_are_stored(new_town: Town) -> None:
    town = new_town
    begun = town.post(PATH, {**BODY, "key": "mine", "rows": True}, town.ann)
    assert begun.status_code == 200, begun.text
    number = begun.json()["number"]
    done = ended(town, number)
    assert (done["state"], done["result"]["mismatches"]) == ("done", 0)
    assert [table["table"] for table in done["result"]["card"]["tables"]] == ["region", "city"]
    files = town.get(f"/api/published/{number}/files", town.ann).content
    assert not holds_canary(files)
    archive = zipfile.ZipFile(io.BytesIO(files))
    about = {"city.csv-metadata.json", "region.csv-metadata.json"}
    assert {*archive.namelist()} == {"card.json", "city.csv", "region.csv", "rows.parquet", *about}
    tables = {name: pyarrow.csv.read_csv(io.BytesIO(archive.read(f"{name}.csv"))) for name in ("region", "city")}
    assert sum(tables["region"]["count"].to_pylist()) == sum(tables["city"]["count"].to_pylist())
    assert pq.read_table(io.BytesIO(archive.read("rows.parquet"))).num_rows == sum(tables["city"]["count"].to_pylist())
    assert json.loads(archive.read("card.json")) == done["result"]["card"]
    assert town.post(PATH, {**BODY, "key": "mine", "rows": True}, town.ann).json() == done
    assert town.get(f"/api/published/{number}/files", town.ann).content == files
    assert charges(town) == 1
    assert town.post(PATH, {**BODY, "key": "mine"}, town.ann).status_code == 409
    assert "/api/published" in town.get(f"/api/answers/{number}", town.ann).text
    assert town.curator.verified()["ok"]


def test_a_preview_says_the_errors_by_table_and_level_and_is_free(town: Town) -> None:
    before = charges(town)
    found = town.post(f"{PATH}/preview", BODY, town.ann)
    assert found.status_code == 200, found.text
    shown = found.json()
    assert [(one["table"], one["cells"]) for one in shown["tables"]] == [("region", 2), ("city", 3)]
    dearer = town.post(f"{PATH}/preview", BODY | {"epsilon": "4"}, town.ann).json()
    assert all(b["error"] < a["error"] for a, b in zip(shown["tables"], dearer["tables"], strict=True))
    assert abs(sum(one["share"] for one in shown["shares"]) - 1) < 1e-6
    assert "Every number that depends on the data has noise" in shown["consequences"][0]
    assert shown["price"]["epsilon"] == "2"
    split = town.post(f"{PATH}/preview", BODY | {"split": {"region": 9, "city": 1}}, town.ann).json()
    assert split["tables"][0]["error"] < shown["tables"][0]["error"]
    assert charges(town) == before


def test_others_see_nothing_of_it(new_town: Town) -> None:
    town = new_town
    number = town.post(PATH, BODY, town.ann).json()["number"]
    ended(town, number)
    for path in (f"/api/published/{number}", f"/api/published/{number}/files", "/api/published/999999"):
        assert town.get(path, town.bob).status_code == 404
    assert town.get(f"/api/synthetic/{number}", town.ann).status_code == 404  # another kind of job
    assert town.post(PATH, BODY, town.owner).status_code == 403
    assert town.post(f"{PATH}/preview", BODY, town.owner).status_code == 403


def test_a_failure_after_the_payment_is_stored_like_an_answer(new_town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(new_town, monkeypatch, EngineFailed())
    number = new_town.post(PATH, BODY, new_town.ann).json()["number"]
    assert ended(new_town, number)["state"] == "failed"
    assert new_town.get(f"/api/published/{number}/files", new_town.ann).status_code == 404
    assert charges(new_town) == 1


@pytest.mark.parametrize(
    "change", [{"tables": []}, {"tables": [["region", "city"]]}, {"tables": [["nothing"]]}, {"table": "nobody"},
               {"weights": ["1"]}, {"split": {"nowhere": "1"}}, {"format": "exe"}, {"more": 1}, {"epsilon": None},
               {"tables": [["city"], ["city"]]}],
)  # fmt: skip
@pytest.mark.parametrize("path", [PATH, f"{PATH}/preview"])
def test_bad_input_costs_nothing(town: Town, change: dict[str, Any], path: str) -> None:
    before = charges(town)
    assert town.post(path, BODY | change, town.ann).status_code == 422
    assert charges(town) == before
