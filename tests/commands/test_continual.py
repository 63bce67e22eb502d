"""``discreet continual``: a dashboard from the command line, kept in a ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from discreet.commands.app import app
from tests.helpers.boards import MANY, SQL, table_of

RUN = CliRunner()


@pytest.fixture
def given(tmp_path: Path) -> list[str]:
    file = tmp_path / "visits.parquet"
    pyarrow.parquet.write_table(table_of(MANY), file)
    return [str(file), SQL, "--unit", "patient", "--by", "day", "--horizon", "30", "--epsilon", "1", "--max-rows", "3",
            "--bounds", "cost=0:100", "--keys", "clinic=North,South,West", "--budget", "2", "--delta", "1e-6",
            "--ledger", str(tmp_path / "budget.db")]  # fmt: skip


@pytest.mark.slow
def test_days_are_read_shown_and_paid_once(given: list[str]) -> None:
    preview = RUN.invoke(app, ["continual", "preview", *given, "--json"])
    assert preview.exit_code == 0, preview.output
    assert json.loads(preview.output)["horizon"] == 30
    left = set()
    for i in (1, 2, 3):
        found = RUN.invoke(app, ["continual", "advance", *given, "--day", f"2026-11-0{i}", "--json"])
        assert found.exit_code == 0, found.output
        reply = json.loads(found.output)
        assert (reply["position"], reply["columns"]) == (i, ["clinic", "n", "s", "mean"])
        left.add(reply["remaining"])
    assert len(left) == 1
    assert left.pop().startswith("epsilon 1, delta")
    shown = RUN.invoke(app, ["continual", "show", *given, "--window", "2", "--json"])
    assert [(day["day"], day["width"]) for day in json.loads(shown.output)] == [("2026-11-02", 2), ("2026-11-03", 2)]
    words = RUN.invoke(app, ["continual", "show", *given, "--window", "0"])
    assert "2026-11-03, 3 days" in words.output
    assert "±" in words.output


def test_the_method_decides_what_gets_noise(given: list[str]) -> None:
    errors = []
    for method in ("best", "values"):
        found = RUN.invoke(app, ["continual", "preview", *given, "--days", "2", "--method", method, "--json"])
        assert found.exit_code == 0, found.output
        errors.append(json.loads(found.output)["day_errors"]["n"])
    assert errors[1] < errors[0]
    wrong = RUN.invoke(app, ["continual", "preview", *given, "--method", "magic"])
    assert wrong.exit_code != 0
    assert "must be one of values" in wrong.output.replace("\n", " ")


@pytest.mark.slow
def test_a_day_twice_is_refused_in_words(given: list[str]) -> None:
    first = RUN.invoke(app, ["continual", "advance", *given, "--day", "2026-11-02"])
    assert "day 1 of 30" in first.output
    again = RUN.invoke(app, ["continual", "advance", *given, "--day", "2026-11-02"])
    assert again.exit_code != 0
    assert "released already" in again.output
    assert "Traceback" not in again.output
    wrong = RUN.invoke(app, ["continual", "show", *given, "--window", "-1"])
    assert wrong.exit_code != 0
