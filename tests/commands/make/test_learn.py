"""``discreet learn``: a file in, a model out."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.learning import from_json
from discreet.ledger import verify_ledger
from tests.helpers.commands import run

PRICE = ("--epsilon", "4", "--delta", "1e-9")
OPTIONS = ("--unit", "id", "--max-rows", 1, "--bounds", "age=0:100", "--bounds", "pay=0:1000", "--keys", "job=a,b")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rows = [(i, i % 100, 10 * (i % 100), "ab"[i % 100 > 49]) for i in range(4000)]
    listed = dict(zip(("id", "age", "pay", "job"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(listed), tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


@pytest.mark.parametrize(("model", "target", "words"), [
    ("regression", "pay", "age:"), ("bayes", "job", "b: about"), ("tree", "job", "age: bins"),
])  # fmt: skip
def test_a_model_is_written_and_predicts(people: Path, tmp_path: Path, model: str, target: str, words: str) -> None:
    asked = ("learn", people, tmp_path / "model.json", *OPTIONS, "--model", model, "--features", "age",
             "--target", target)  # fmt: skip
    done = run(*asked, *PRICE)
    assert done.exit_code == 0, done.output
    assert words in done.output
    assert "nothing was remembered" in done.output
    low, high = from_json((tmp_path / "model.json").read_text()).predict([[10], [90]]).tolist()
    assert low < high
    again = run(*asked, *PRICE)
    assert again.exit_code == 1
    assert "must be a new file" in again.output


def test_as_json_with_a_budget_in_a_ledger(people: Path, tmp_path: Path) -> None:
    done = run("learn", people, tmp_path / "model.json", *OPTIONS, "--model", "tree", "--features", "age, pay",
               "--target", "job", *PRICE, "--budget", 5, "--ledger", tmp_path / "kept.ledger", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert (shown["model"], shown["remembered"]) == ("tree", True)
    assert shown["remaining"].startswith("epsilon 1")
    assert verify_ledger(tmp_path / "kept.ledger").good


@pytest.mark.parametrize(("changed", "words"), [
    (("--model", "forest"), "regression, bayes, tree"), (("--features", "nothing"), "must be a column"),
    (("--target", "age", "--features", "pay"), "declared keys"), (("--features", "job"), "none of them the target"),
])  # fmt: skip
def test_what_cannot_be_learned_is_said_plainly(
    people: Path, tmp_path: Path, changed: tuple[str, ...], words: str
) -> None:
    given = {"--model": "tree", "--features": "age", "--target": "job"} | dict(
        zip(changed[::2], changed[1::2], strict=True)
    )
    flags = [word for pair in given.items() for word in pair]
    done = run("learn", people, tmp_path / "model.json", *OPTIONS, *PRICE, *flags)
    assert done.exit_code == 1
    assert words in " ".join(done.output.split())
    assert not (tmp_path / "model.json").exists()


def test_a_delta_is_needed(people: Path, tmp_path: Path) -> None:
    done = run("learn", people, tmp_path / "model.json", *OPTIONS, "--model", "tree", "--features", "age",
               "--target", "job", "--epsilon", 1)  # fmt: skip
    assert done.exit_code == 1
    assert "delta" in done.output
