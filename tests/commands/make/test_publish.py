"""``discreet publish``: a plan in, a folder of tables that add up out."""

from __future__ import annotations

import json
from pathlib import Path

import openpyxl
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.helpers.commands import run

PLAN = """
source = "people.csv"
unit = "person"
max_rows = 1
epsilon = 2
delta = "1e-9"
tables = [["state", "sex"], ["county"]]
rows = true

[places]
levels = ["state", "county"]
file = "places.csv"

[columns.sex]
keys = ["f", "m"]
nullable = false
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    counties = [f"0{i}" for i in range(6)]
    people = [f"p{i},{counties[i % 6]},{'fm'[i % 2]}" for i in range(600)]
    (tmp_path / "people.csv").write_text("person,county,sex\n" + "\n".join(people) + "\n")
    (tmp_path / "places.csv").write_text("state,county\n" + "\n".join(f"{'AB'[i // 3]},0{i}" for i in range(6)) + "\n")
    (tmp_path / "tables.toml").write_text(PLAN)
    return tmp_path


def test_tables_add_up_and_rows_have_them(folder: Path) -> None:
    done = run("publish", folder / "tables.toml", folder / "out")
    assert done.exit_code == 0, done.output
    text = pyarrow.csv.ConvertOptions(column_types={"county": "string"})
    by_state = pyarrow.csv.read_csv(folder / "out" / "state_sex.csv").to_pylist()
    by_county = pyarrow.csv.read_csv(folder / "out" / "county.csv", convert_options=text).to_pylist()
    assert [row["county"] for row in by_county] == [f"0{i}" for i in range(6)]
    for state in "AB":
        assert sum(r["count"] for r in by_state if r["state"] == state) == sum(
            r["count"] for r in by_county if r["state"] == state
        )
    rows = pq.read_table(folder / "out" / "rows.parquet").to_pylist()
    assert {r["county"]: r["count"] for r in by_county} == {
        county: sum(row["county"] == county for row in rows) for county in [f"0{i}" for i in range(6)]
    }
    card = json.loads((folder / "out" / "card.json").read_text())
    assert card["places"]["levels"] == ["state", "county"]
    assert "Counts are whole" in done.output


def test_public_totals_are_met(folder: Path) -> None:
    (folder / "totals.csv").write_text("county,count\n" + "\n".join(f"0{i},{50 + i}" for i in range(6)) + "\n")
    totals = [
        '[[public_totals]]\ncolumns = ["county"]\nfile = "totals.csv"',
        '[[public_totals]]\ncolumns = ["state"]\nrows = [["A", 153], ["B", 162]]\nfrom_data = "by law"',
    ]
    (folder / "tables.toml").write_text("\n".join([PLAN, *totals]))
    done = run("publish", folder / "tables.toml", folder / "out")
    assert done.exit_code == 0, done.output
    assert "without noise (by law)" in done.output
    assert pyarrow.csv.read_csv(folder / "out" / "county.csv").column("count").to_pylist() == [50, 51, 52, 53, 54, 55]
    (folder / "tables.toml").write_text("\n".join([PLAN, totals[0], totals[1].replace("153", "154")]))
    refused = run("publish", folder / "tables.toml", folder / "again")
    assert refused.exit_code != 0
    assert "must agree" in refused.output
    assert not (folder / "again").exists()


def test_it_prints_json(folder: Path) -> None:
    done = run("publish", folder / "tables.toml", folder / "out", "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert {"state_sex.csv", "county.csv", "rows.parquet"} <= {Path(name).name for name in found["files"]}
    assert set(found) == {"files", "card", "remaining"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("epsilon = 2", 'invariants = ["state"]'), "no differential privacy guarantee"),
        (("epsilon = 2", "epsilom = 2"), "must have only"),
        (('levels = ["state", "county"]', 'levels = ["county", "county"]'), "cycle"),
        (('tables = [["state", "sex"], ["county"]]', 'tables = [["state", "county"]]'), "at most one level"),
        (('unit = "person"', ""), "must be given"),
    ],
)
def test_refusals_write_nothing(folder: Path, change: tuple[str, str], words: str) -> None:
    (folder / "tables.toml").write_text(PLAN.replace(*change))
    done = run("publish", folder / "tables.toml", folder / "out")
    assert done.exit_code == 1
    assert words in " ".join(done.output.split())
    assert not (folder / "out").exists()


def test_persons_live_in_households(folder: Path) -> None:
    homes = [f"h{i},0{i % 6},{1 + i % 3}" for i in range(300)]
    (folder / "homes.csv").write_text("home,county,size\n" + "\n".join(homes) + "\n")
    people = [f"h{i},0{i % 6},{'fm'[j % 2]}" for i in range(300) for j in range(1 + i % 3)]
    (folder / "people.csv").write_text("home,county,sex\n" + "\n".join(people) + "\n")
    plan = PLAN.replace('unit = "person"\nmax_rows = 1', 'unit = "home"\nmax_rows = 3')
    section = """
[households]
source = "homes.csv"
tables = [["county", "size"]]
size = "size"

[households.columns.size]
keys = [1, 2, 3]
nullable = false
"""
    (folder / "tables.toml").write_text(plan + section.replace('size = "size"\n', ""))
    refused = run("publish", folder / "tables.toml", folder / "out")
    assert "size" in refused.output
    assert not (folder / "out").exists()
    (folder / "tables.toml").write_text(plan + section)
    done = run("publish", folder / "tables.toml", folder / "out")
    assert done.exit_code == 0, done.output
    persons, households = (
        pq.read_table(folder / "out" / f"{n}.parquet").to_pylist() for n in ("persons", "households")
    )
    assert sum(row["size"] for row in households) == len(persons)
    counts = pyarrow.csv.read_csv(folder / "out" / "households_county_size.csv").column("count").to_pylist()
    assert sum(counts) == len(households)
    assert set(json.loads((folder / "out" / "card.json").read_text())) == {"households", "persons", "nested", "receipt"}
    (folder / "tables.toml").write_text(plan + section.replace("size = ", "people = 1\nsize = "))
    assert "must have only" in run("publish", folder / "tables.toml", folder / "again").output


def test_excel_files_hold_the_card(folder: Path) -> None:
    (folder / "tables.toml").write_text('format = "xlsx"\n' + PLAN)
    done = run("publish", folder / "tables.toml", folder / "out")
    assert done.exit_code == 0, done.output
    book = openpyxl.load_workbook(folder / "out" / "county.xlsx")
    rows = list(book["rows"].values)
    assert rows[0][:3] == ("state", "county", "count")
    assert [row[1] for row in rows[1:]] == [f"0{i}" for i in range(6)]
    about = dict(book["about"].values)
    assert about["confidence"] == "0.95"
    assert "Every number that depends on the data has noise" in about["consequence"]
