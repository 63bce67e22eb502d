"""``discreet synthesize``: a file in, a file of synthetic rows out."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from discreet.ledger import verify_ledger
from tests.helpers.commands import OPTIONS, run
from tests.helpers.curator.land import CANARY

PRICE = ("--epsilon", "1", "--delta", "1e-9", "--quick")


def test_rows_of_the_declared_columns_are_written(visits: Path, tmp_path: Path) -> None:
    done = run("synthesize", visits, tmp_path / "made.parquet", *OPTIONS, *PRICE, "--rows", 300, "--max-rows", 1)
    assert done.exit_code == 0, done.output
    rows = pq.read_table(tmp_path / "made.parquet")
    assert (rows.num_rows, rows.column_names) == (300, ["clinic", "cost"])
    assert set(rows.column("clinic").to_pylist()) <= {"North", "South", None}
    assert "wrote 300 rows" in done.output
    assert "nothing was remembered" in done.output
    assert CANARY not in done.output


def test_as_json_with_a_budget_in_a_ledger(visits: Path, tmp_path: Path) -> None:
    kept = ("--ledger", tmp_path / "kept.ledger")
    asked = ("synthesize", visits, tmp_path / "made.csv", *OPTIONS, "--max-rows", 3, "--columns", "clinic, cost",
             "--workload", "all 1-way", "--rows", 50, "--json", *kept)  # fmt: skip
    done = run(*asked, *PRICE, "--budget", "2")
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert (shown["rows"], shown["columns"], shown["complete"]) == (50, ["clinic", "cost"], True)
    assert shown["remaining"] == "epsilon 1, delta 2.5e-10"
    assert pyarrow.csv.read_csv(tmp_path / "made.csv").num_rows == 50
    assert verify_ledger(tmp_path / "kept.ledger").good
    again = run(*asked, "--epsilon", "1")
    assert again.exit_code == 1  # nothing is written over
    assert "must be a new file" in again.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("made.txt", *PRICE), ".parquet or .csv"),
        (("nowhere/made.csv", *PRICE), "folder that is there"),
        (("made.csv", "--epsilon", "1"), "Gaussian noise"),
        (("made.csv", *PRICE, "--rows", "-1"), "at least 1"),
        (("made.csv", *PRICE, "--columns", "note"), "declare it with --keys"),
        (("made.csv", *PRICE, "--workload", "everything"), "all k-way"),
        (("made.csv", *PRICE, "--columns", "nothing"), "must be a column"),
    ],
)
def test_bad_input_writes_nothing_and_spends_nothing(
    visits: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    out, *rest = options
    done = run("synthesize", visits, tmp_path / out, *OPTIONS, "--max-rows", 3, *rest)
    assert done.exit_code == 1
    assert words in done.output.replace("\n", " ")
    assert not (tmp_path / out).exists()


def test_a_cap_is_chosen_out_of_the_price_and_told(visits: Path, tmp_path: Path) -> None:
    asked = (*OPTIONS, *PRICE, "--rows", 20, "--max-rows", "auto")
    done = run("synthesize", visits, tmp_path / "made.csv", *asked)
    assert done.exit_code == 0, done.output
    words = " ".join(done.output.split())
    assert "were scaled down to that. This takes" in words
    assert "epsilon 0.1 of the cost was spent on a profile" in words
    assert "left: epsilon 0," in words
    shown = run("synthesize", visits, tmp_path / "more.csv", *asked, "--json")
    assert len(json.loads(shown.stdout)["notes"]) == 2
