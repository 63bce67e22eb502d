"""``discreet ask`` and ``discreet preview``: one file, one question, perhaps a ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet as dp
from discreet.ledger import open_ledger
from tests.helpers.commands import OPTIONS, SQL, run
from tests.helpers.curator.land import CANARY


@pytest.mark.slow
def test_ask_prints_values_with_error_bars_and_what_was_spent(visits: Path) -> None:
    done = run("ask", visits, SQL, *OPTIONS, "--epsilon", "1", "--max-rows", 1)
    assert done.exit_code == 0, done.output
    assert "North" in done.output
    assert "±" in done.output
    assert "spent epsilon 1" in done.output


@pytest.mark.slow
def test_ask_as_json(visits: Path) -> None:
    done = run("ask", visits, SQL, *OPTIONS, "--epsilon", "1000", "--max-rows", 1, "--json")
    shown = json.loads(done.stdout)
    assert shown["columns"] == ["clinic", "n", "mean"]
    assert [row[0] for row in shown["rows"]] == ["North", "South"]
    assert [round(row[1], -2) for row in shown["rows"]] == [1000, 1000]
    assert shown["cost"] == "epsilon 1000"


@pytest.mark.slow
def test_a_preview_as_json_holds_no_infinity(visits: Path) -> None:
    """The error of a sum whose bounds are chosen when it is released is null."""
    asked = ("SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits", "--unit", "person", "--epsilon", "1")
    shown = json.loads(run("preview", visits, *asked, "--json").stdout, parse_constant=pytest.fail)
    assert [column["error"] is None for column in shown["columns"]] == [False, True]


@pytest.mark.slow
def test_the_budget_in_a_ledger_outlives_the_process(visits: Path, tmp_path: Path) -> None:
    kept = ("--ledger", tmp_path / "kept.ledger")
    count = ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "0.5")
    assert run("ask", visits, *count, *kept).exit_code == 1  # a new ledger needs a budget
    assert "left: epsilon 0.5" in run("ask", visits, *count, *kept, "--budget", "1").output
    preview = json.loads(run("preview", visits, *count, *kept, "--json").stdout)
    assert preview["affordable"]
    assert "left: epsilon 0" in run("ask", visits, *count, *kept).output
    over = run("ask", visits, *count, *kept)
    assert over.exit_code == 1
    assert "epsilon 0 is left" in over.output
    assert not json.loads(run("preview", visits, *count, *kept, "--json").stdout)["affordable"]
    assert run("ask", visits, *count, *kept, "--budget", "2").exit_code == 1  # no second budget
    renamed = run("ask", visits, count[0].replace("visits", "v"), *count[1:], *kept, "--budget", "9", "--table", "v")
    assert renamed.exit_code == 1
    assert "holds the same data" in renamed.output


@pytest.mark.slow
def test_a_budget_in_a_ledger_protects_the_unit_that_it_was_opened_for(visits: Path, tmp_path: Path) -> None:
    kept = ("--ledger", tmp_path / "kept.ledger", "--epsilon", "0.1")
    count = ("ask", visits, "SELECT COUNT(*) AS n FROM visits")
    assert run(*count, *kept, "--unit", "nobody", "--budget", "1").exit_code == 1
    assert not (tmp_path / "kept.ledger").exists()  # what does not fit the file opens no budget
    assert run(*count, *kept, "--unit", "person", "--budget", "1").exit_code == 0
    other = run(*count, *kept, "--unit", "code")
    assert other.exit_code == 1
    assert "must be 'person'" in other.output
    renamed = run("ask", visits, "SELECT COUNT(*) AS n FROM v", *kept, "--unit", "code", "--table", "v", "--budget", 9)
    assert "holds the same data" in renamed.output
    with open_ledger(tmp_path / "kept.ledger") as ledger:
        assert list(ledger.populations) == ["visits"]


@pytest.mark.slow
def test_an_error_instead_of_a_price(visits: Path) -> None:
    asked = ("--error", "25", "--budget", "10", "--json", "--max-rows", 1)
    done = run("preview", visits, "SELECT COUNT(*) AS n FROM visits", "--unit", "person", *asked)
    assert json.loads(done.stdout)["columns"][0]["error"] <= 25


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("SELECT * FROM visits", "--unit", "person", "--epsilon", "1"),
        ("SELECT COUNT(*) AS n FROM visits", "--unit", "nobody", "--epsilon", "1"),
        ("SELECT COUNT(*) AS n FROM visits", "--unit", "person"),
        ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--budget", "1"),
        ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "1", "--error", "2"),
        ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--error", "2"),
        ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "x"),
        ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "1", "--bounds", "cost"),
        ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "1", "--bounds", "cost=5"),
        ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "1", "--bounds", "cost=9:5"),
        ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "1", "--keys", "code=a,b"),
        ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "1", "--table", "a b"),
    ],
)
def test_a_refusal_is_one_line_and_status_1(visits: Path, arguments: tuple[str, ...]) -> None:
    done = run("ask", visits, *arguments)
    assert done.exit_code == 1
    assert done.output.startswith("refused")
    assert "Traceback" not in done.output
    assert CANARY not in done.output


@pytest.mark.slow
def test_without_a_ledger_it_says_that_nothing_is_remembered(visits: Path, tmp_path: Path) -> None:
    count = ("ask", visits, "SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "0.5")
    kept = ("--ledger", tmp_path / "kept.ledger", "--budget", "2")
    assert "nothing was remembered" in run(*count).output
    assert "nothing was remembered" not in run(*count, *kept).output
    assert json.loads(run(*count, "--json").stdout)["remembered"] is False
    assert json.loads(run(*count, *kept, "--json").stdout)["remembered"] is True


@pytest.mark.slow
def test_a_delta_that_the_ledger_does_not_have_is_refused(visits: Path, tmp_path: Path) -> None:
    count = ("ask", visits, "SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "0.1", "--ledger")
    assert run(*count, tmp_path / "pure", "--budget", "2").exit_code == 0
    refused = run(*count, tmp_path / "pure", "--delta", "1e-9")
    assert refused.exit_code == 1
    assert "delta is '1e-9', but it must be left out: the ledger has epsilon 2" in refused.output
    assert run(*count, tmp_path / "both", "--budget", "2", "--delta", "1e-9").exit_code == 0
    assert run(*count, tmp_path / "both", "--delta", "1e-9").exit_code == 0
    assert run(*count, tmp_path / "both", "--delta", "1e-8").exit_code == 1


@pytest.mark.slow
def test_a_folder_that_is_not_there_is_named(visits: Path, tmp_path: Path) -> None:
    count = ("ask", visits, "SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "1", "--budget", "2")
    refused = run(*count, "--ledger", tmp_path / "nowhere" / "kept.ledger")
    assert refused.exit_code == 1
    assert "must be in a folder that is there" in refused.output


@pytest.mark.slow
def test_a_session_and_ask_share_a_ledger(visits: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.ledger"
    table = dp.table(visits, unit="person")
    question = ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--max-rows", 10)
    shown = (*question, "--epsilon", "0.5", "--ledger", kept)
    session = dp.Session(visits=table, budget=dp.Approx(2, "1e-6"), ledger=kept)
    session["visits"].agg(n=dp.agg.count()).release(epsilon="0.5")
    assert "left: epsilon 1, delta 5e-07" in run("ask", visits, *shown).output
    assert session.remaining == dp.Approx(1, "5e-7")
    assert run("ledger", "show", kept).output.count("COUNT(*)") == 2  # what the verbs asked, too
    assert "charges: 2, answered: 2" in run("ledger", "verify", kept).output
    refused = run("ask", visits, *shown, "--rule", "zcdp")
    assert refused.exit_code == 1
    assert "rule" in refused.output
    assert run("budget", kept, "visits", "--epsilon", "3", "--delta", "1e-6", "--reason", "more").exit_code == 0
    assert dp.Session(visits=table, ledger=kept).remaining == dp.Approx(2, "5e-7")


def test_groups_that_are_not_declared_need_no_flag(tmp_path: Path) -> None:
    """`discreet ask visits.csv "SELECT clinic, SUM(cost) ..." --unit id` just works: delta is 1e-9 unless given."""
    file = tmp_path / "visits.csv"
    lines = [f"{i},{'North' if i % 2 else 'South'},{i % 90}.5" for i in range(3000)]
    file.write_text("\n".join(["id,clinic,cost", *lines]) + "\n")
    text = "SELECT clinic, SUM(cost) AS total, COUNT(*) AS n FROM visits GROUP BY clinic"
    done = run("ask", file, text, "--unit", "id", "--epsilon", "8", "--json")
    answer = json.loads(done.stdout)
    assert {row[0] for row in answer["rows"]} == {"North", "South"}
    assert "delta" in answer["cost"]


@pytest.mark.slow
def test_a_question_in_another_dialect(visits: Path) -> None:
    text = "SELECT TOP (1) COUNT_BIG(*) AS n FROM [visits]"
    asked = run("ask", visits, text, *OPTIONS, "--epsilon", "1000", "--max-rows", 1, "--dialect", "tsql")
    assert asked.exit_code == 0, asked.output
    wrong = run("ask", visits, text, *OPTIONS, "--epsilon", "1000", "--max-rows", 1, "--dialect", "klingon")
    assert wrong.exit_code == 1
    assert "must be one of duckdb" in wrong.output


def test_a_script_is_written_before_the_query_is_run(visits: Path, tmp_path: Path) -> None:
    script = tmp_path / "query.py"
    for command in ("preview", "ask"):
        script.unlink(missing_ok=True)
        done = run(command, visits, SQL, *OPTIONS, "--epsilon", "1", "--max-rows", 1, "--script", script)
        assert done.exit_code == 0, done.output
        assert f"dp.table(\n            {str(visits)!r}" in script.read_text()
        assert CANARY not in script.read_text()
    refused = run("ask", visits, SQL, *OPTIONS, "--epsilon", "1", "--script", script)
    assert refused.exit_code == 1
    assert "must not be there yet" in " ".join(refused.output.split())


def test_the_text_of_a_query_may_state_its_cost(visits: Path) -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) COUNT(*) AS n FROM visits"
    done = run("ask", visits, text, "--unit", "person")
    assert done.exit_code == 0, done.output
    assert "spent epsilon 0.5" in done.output
    twice = run("ask", visits, text, "--unit", "person", "--epsilon", "1")
    assert twice.exit_code == 1
    assert "states the cost" in " ".join(twice.output.split())
