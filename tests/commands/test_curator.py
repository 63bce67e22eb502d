"""The command line: ask, preview, init, serve's neighbours."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner, Result

import discreet as dp
from discreet.commands.curator import add_commands
from discreet.commands.init import propose_unit
from discreet.commands.table_options import read_ends, read_keys
from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.errors import BadParameter
from discreet.ledger import open_ledger
from discreet.query.plan.schema import Stored, StoredKind, bounds
from tests.helpers.curator.land import CANARY, write_town

app = typer.Typer()
add_commands(app)
SQL = "SELECT clinic, COUNT(*) AS n, AVG(cost) AS mean FROM visits GROUP BY clinic"
OPTIONS = ("--unit", "person", "--bounds", "cost=0:100", "--keys", "clinic=North,South")


def run(*arguments: object, **options: Any) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"}, **options)


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    path = tmp_path / "visits.parquet"
    many = 2000
    pq.write_table(
        pa.table(
            {
                "person": list(range(many)),
                "clinic": ["North" if i % 2 else "South" for i in range(many)],
                "cost": [float(i % 100) for i in range(many)],
                "code": [i % 3 for i in range(many)],
                "note": [CANARY] * many,
            }
        ),
        path,
    )
    return path


def test_ask_prints_values_with_error_bars_and_what_was_spent(visits: Path) -> None:
    done = run("ask", visits, SQL, *OPTIONS, "--epsilon", "1", "--max-rows", 1)
    assert done.exit_code == 0, done.output
    assert "North" in done.output
    assert "±" in done.output
    assert "spent epsilon 1" in done.output


def test_ask_as_json(visits: Path) -> None:
    done = run("ask", visits, SQL, *OPTIONS, "--epsilon", "1000", "--max-rows", 1, "--json")
    said = json.loads(done.stdout)
    assert said["columns"] == ["clinic", "n", "mean"]
    assert [row[0] for row in said["rows"]] == ["North", "South"]
    assert [round(row[1], -2) for row in said["rows"]] == [1000, 1000]
    assert said["cost"] == "epsilon 1000"


def test_the_budget_in_a_ledger_outlives_the_process(visits: Path, tmp_path: Path) -> None:
    kept = ("--ledger", tmp_path / "kept.ledger")
    count = ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "0.5")
    assert run("ask", visits, *count, *kept).exit_code == 1  # a new ledger needs a budget
    assert "left: epsilon 1/2" in run("ask", visits, *count, *kept, "--budget", "1").output
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


def test_an_error_instead_of_a_price(visits: Path) -> None:
    asked = ("--error", "25", "--budget", "10", "--json", "--max-rows", 1)
    done = run("preview", visits, "SELECT COUNT(*) AS n FROM visits", "--unit", "person", *asked)
    assert json.loads(done.stdout)["columns"][0]["error"] <= 25


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


def test_keys_are_read_as_the_column_is_stored(visits: Path) -> None:
    by = "SELECT code, COUNT(*) AS n FROM visits GROUP BY code"
    done = run("ask", visits, by, "--unit", "person", "--epsilon", "1", "--keys", "code=0,1,2", "--json")
    assert [row[0] for row in json.loads(done.stdout)["rows"]] == [0, 1, 2]


def test_without_a_ledger_it_says_that_nothing_is_remembered(visits: Path, tmp_path: Path) -> None:
    count = ("ask", visits, "SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "0.5")
    kept = ("--ledger", tmp_path / "kept.ledger", "--budget", "2")
    assert "nothing was remembered" in run(*count).output
    assert "nothing was remembered" not in run(*count, *kept).output
    assert json.loads(run(*count, "--json").stdout)["remembered"] is False
    assert json.loads(run(*count, *kept, "--json").stdout)["remembered"] is True


def test_a_delta_that_the_ledger_does_not_have_is_refused(visits: Path, tmp_path: Path) -> None:
    count = ("ask", visits, "SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "0.1", "--ledger")
    assert run(*count, tmp_path / "pure", "--budget", "2").exit_code == 0
    refused = run(*count, tmp_path / "pure", "--delta", "1e-9")
    assert refused.exit_code == 1
    assert "delta is '1e-9', but it must be left out: the ledger has epsilon 2" in refused.output
    assert run(*count, tmp_path / "both", "--budget", "2", "--delta", "1e-9").exit_code == 0
    assert run(*count, tmp_path / "both", "--delta", "1e-9").exit_code == 0
    assert run(*count, tmp_path / "both", "--delta", "1e-8").exit_code == 1


def test_a_folder_that_is_not_there_is_named(visits: Path, tmp_path: Path) -> None:
    count = ("ask", visits, "SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "1", "--budget", "2")
    refused = run(*count, "--ledger", tmp_path / "nowhere" / "kept.ledger")
    assert refused.exit_code == 1
    assert "must be in a folder that is there" in refused.output


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("0:5000", ("0", "5000")),
        ("-1 .. 1/2", ("-1", "1/2")),
        ("2024-01-01:2024-12-31", ("2024-01-01", "2024-12-31")),
        ("2024-01-01:2024-12-31 23:59:59", ("2024-01-01", "2024-12-31 23:59:59")),
        ("2024-01-01 08:00:2024-12-31", ("2024-01-01 08:00", "2024-12-31")),
        ("2024-01-01 00:00:00:2024-12-31 23:59:59", ("2024-01-01 00:00:00", "2024-12-31 23:59:59")),
        ("2024-01-01 08:00..2024-12-31 09:30", ("2024-01-01 08:00", "2024-12-31 09:30")),
    ],
)
def test_bounds_have_a_colon_or_dots_between(text: str, ends: tuple[str, str]) -> None:
    assert read_ends("x", text) == ends
    bounds(*ends)


def test_bounds_of_times_are_asked_with(tmp_path: Path) -> None:
    times = [datetime(2024, 3, 1) + timedelta(hours=i) for i in range(200)]
    pq.write_table(pa.table({"person": list(range(200)), "arrived": times}), tmp_path / "t.parquet")
    for between in (":", ".."):
        done = run(
            *("ask", tmp_path / "t.parquet", "SELECT MIN(arrived) AS first FROM t", "--unit", "person"),
            *("--epsilon", "9", "--bounds", f"arrived=2024-01-01 00:00:00{between}2024-12-31 23:59:59", "--json"),
        )
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["rows"][0][0].startswith("2024-")


def test_blanks_around_keys_do_not_count_unless_quoted(visits: Path) -> None:
    assert read_keys(' North ,South,"a, ""b""", " c "') == ["North", "South", 'a, "b"', " c "]
    assert read_keys('""') == [""]
    for bad in ("", "a,,b", "a,", 'a "b"', '"a', '"a" b'):
        with pytest.raises(BadParameter):
            read_keys(bad)
    done = run("ask", visits, SQL, *OPTIONS[:-1], "clinic=North, South", "--epsilon", "1000", "--json")
    assert [round(row[1], -2) for row in json.loads(done.stdout)["rows"]] == [1000, 1000]


# --- init -----------------------------------------------------------------------------------------------------------


def test_init_writes_a_file_that_serves_and_holds_nothing_of_the_data(visits: Path, tmp_path: Path) -> None:
    out = tmp_path / "curator.toml"
    done = run("init", visits, "--output", out, "--unit", "person", "--epsilon", "3")
    assert done.exit_code == 0, done.output
    text = out.read_text()
    assert CANARY not in text
    assert "North" not in text
    columns = [line for line in text.splitlines() if "columns." in line]
    assert len(columns) == 4
    assert not [line for line in columns if "99" in line]  # no bound comes from the data
    config = read_config(out)
    assert config.datasets[tmp_path.name].dataset.tables["visits"].unit == "person"
    filled = text.replace('# columns.clinic = {keys = ["...", "..."]}', 'columns.clinic = {keys = ["North", "South"]}')
    out.write_text(filled)
    open_curator(read_config(out), create=True).close()
    assert run("init", visits, "--output", out).exit_code == 1  # never writes over a file


def test_init_has_a_line_for_times(tmp_path: Path) -> None:
    pq.write_table(pa.table({"person": [1], "arrived": [datetime(2024, 3, 1)]}), tmp_path / "t.parquet")
    assert run("init", tmp_path / "t.parquet", "--output", tmp_path / "c.toml").exit_code == 0
    text = (tmp_path / "c.toml").read_text()
    assert '# columns.arrived = {bounds = ["2025-01-01", "2025-12-31"]}    # times' in text
    (tmp_path / "c.toml").write_text(text.replace("# columns.arrived", "columns.arrived"))
    open_curator(read_config(tmp_path / "c.toml"), create=True).close()


def test_names_in_a_file_cannot_write_lines_of_the_configuration(tmp_path: Path) -> None:
    evil = 'x\n[server]\nhost = "0.0.0.0"\n"\x7f\u2028'
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table({"person": [1], evil: [1], evil + "b": [True], evil + "t": ["a"]}), path)
    out = tmp_path / "curator.toml"
    assert run("init", path, "--output", out, "--unit", "person").exit_code == 0
    assert read_config(out).host == "127.0.0.1"
    assert not [line for line in out.read_text().splitlines() if line.startswith("host")]
    out.write_text(out.read_text().replace("# columns.", "columns.", 1))  # and the line can be used
    (column,) = read_config(out).datasets[tmp_path.name].dataset.tables["visits"].columns
    assert column == evil


def test_the_unit_is_proposed_by_names_and_types_alone() -> None:
    whole, real = Stored(StoredKind.INTEGER), Stored(StoredKind.REAL)
    assert propose_unit({"a": {"order_id": whole, "customer": whole, "x": real}}) == "customer"
    assert propose_unit({"a": {"id": whole, "user_id": whole}, "b": {"user_id": whole, "z": real}}) == "user_id"
    assert propose_unit({"a": {"x": real, "y": real}}) == ""
    assert propose_unit({"a": {"patient": real, "count": whole}}) == ""


# --- a curator ------------------------------------------------------------------------------------------------------


@pytest.fixture
def config(tmp_path: Path) -> Iterator[Path]:
    path = write_town(tmp_path / "town", epsilon="10")
    open_curator(read_config(path), create=True).close()
    return path  # type: ignore[return-value]


def test_analysts_tokens_budgets_and_the_ledger(config: Path, tmp_path: Path) -> None:
    added = run("analyst", "add", config, "zoe", "--population", "town", "--epsilon", "1", "--delta", "1e-20", "--json")
    assert added.exit_code == 0, added.output
    token = json.loads(added.stdout)["token"]
    curator = open_curator(read_config(config))
    assert curator.access.who(f"Bearer {token}").name == "zoe"
    curator.close()
    assert run("analyst", "add", config, "zoe").exit_code == 1
    assert run("analyst", "add", config, "yan", "--epsilon", "1").exit_code == 1  # another kind than the budget of town
    assert run("token", config).stdout.startswith("discreet_")
    assert "zoe" in run("budget", config).output
    household = run("budget", config, "--household", "4")
    assert "a household of 4" in household.output
    standing = json.loads(run("budget", config, "--json").stdout)
    assert {one["population"] for one in standing} == {"town", "other"}
    changed = run("budget", config, "other", "--epsilon", "2", "--reason", "a wider study")
    assert changed.exit_code == 0, changed.output
    assert run("budget", config, "other", "--epsilon", "3").exit_code == 1  # no reason
    assert "zoe" in run("ledger", "show", config).output
    assert json.loads(run("ledger", "verify", config, "--json").stdout)["ok"]
    copy = tmp_path / "copy"
    assert run("ledger", "export", config, copy).exit_code == 0
    assert len(copy.read_text().splitlines()) == len(run("ledger", "export", config).stdout.splitlines())
    assert run("analyst", "revoke", config, "zoe", "--reason", "left").exit_code == 0
    before = run("ledger", "export", config).stdout
    refused = run("token", config, "zoe")
    assert refused.exit_code == 1
    assert "was not revoked" in refused.output
    assert run("ledger", "export", config).stdout == before
    assert run("ledger", "acknowledge", config, "--reason", "nothing").exit_code == 1
    assert run("budget", tmp_path / "nowhere.toml").exit_code == 1


def test_a_ledger_of_ask_can_be_looked_at_and_checked(visits: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.ledger"
    count = ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "0.5")
    assert run("ask", visits, *count, "--ledger", kept, "--budget", "2").exit_code == 0
    assert "COUNT(*)" in run("ledger", "show", kept).output
    assert "the chain is whole" in run("ledger", "verify", kept).output
    (one,) = json.loads(run("budget", kept, "--household", "3", "--json").stdout)
    assert one["remaining"]["epsilon"] == "3/2"
    assert one["household"] == {"people": 3, "spent": {"kind": "Pure", "epsilon": "3/2", "text": "epsilon 3/2"}}


def test_a_session_and_ask_share_a_ledger(visits: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.ledger"
    table = dp.table(visits, unit="person")
    said = ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "0.5", "--ledger", kept)
    session = dp.Session(visits=table, budget=dp.Approx(2, "1e-6"), ledger=kept)
    session["visits"].agg(n=dp.count()).release(epsilon="0.5")
    assert "left: epsilon 1, delta 1e-06" in run("ask", visits, *said).output
    assert session.remaining == dp.Approx(1, "1e-6")
    assert run("ledger", "show", kept).output.count("COUNT(*)") == 2  # what the verbs asked, too
    assert "charges: 2, answered: 2" in run("ledger", "verify", kept).output
    refused = run("ask", visits, *said, "--rule", "zcdp")
    assert refused.exit_code == 1
    assert "rule" in refused.output
    assert run("budget", kept, "visits", "--epsilon", "3", "--delta", "1e-6", "--reason", "more").exit_code == 0
    assert dp.Session(visits=table, ledger=kept).remaining == dp.Approx(2, "1e-6")


@pytest.mark.parametrize("rule", [dp.Rule.ZCDP, dp.Rule.ADVANCED, dp.Rule.BASIC])
def test_what_an_analyst_spent_is_told_against_their_own_cap(
    tmp_path: Path, rule: dp.Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The budget of all leaves less than a cap: that is not what the analyst spent."""
    place = tmp_path / "kept.ledger"
    with open_ledger(place, create=True) as ledger:
        ledger.owner.protect("town", dp.Approx(1, "1e-6"), unit="one person", rule=rule)
        ledger.owner.register("town", "town", marks=())
        for name, cap in (("ann", dp.Approx(100, "1e-4")), ("bob", None)):
            ledger.owner.add_analyst(name)
            ledger.owner.grant(name, "town", cap)
        ledger.spend("town", "bob", dp.Pure("1/16"), key="k", query="q")
    (whole,) = json.loads(run("budget", place, "--json").stdout)
    ann, bob = whole["analysts"]
    assert ann["share"] == 0
    assert ann["gone"] > 0.5
    assert ann["remaining"] == bob["remaining"] == whole["remaining"]
    assert 0 < whole["share"] == bob["share"] == whole["gone"] < 0.5
    monkeypatch.setenv("COLUMNS", "200")
    lines = [line.split() for line in run("budget", place).output.splitlines()]
    shown = {line[1]: line for line in lines if line[:1] == ["town"]}
    assert "0.0%" in shown["ann"]
    assert f"{bob['share']:.1%}" in shown["bob"]


def test_budgets_are_told_in_epsilon_and_changed_by_name(config: Path) -> None:
    assert "epsilon 10" in run("budget", config).output
    only = run("budget", config, "other").output
    assert "other" in only
    assert "town" not in only
    unnamed = run("budget", config, "--epsilon", "3", "--reason", "more")
    assert unnamed.exit_code == 1
    assert "must be named" in unnamed.output
    assert "must be one of" in run("budget", config, "nobody").output


@pytest.mark.parametrize(
    "arguments",
    [
        ("receipt", "verify", "nowhere", "--key", "00"),
        ("ledger", "verify", "{config}", "--receipt", "nowhere"),
        ("ledger", "export", "{config}", "{config}"),
        ("ledger", "show", "nowhere"),
        ("serve", "nowhere"),
        ("ask", "nowhere.csv", "SELECT COUNT(*) FROM nowhere", "--unit", "x", "--epsilon", "1"),
        ("analyst", "add", "{config}", "owner"),
        ("analyst", "revoke", "{config}", "nobody"),
        ("token", "{config}", "nobody"),
        ("init", "nowhere.csv", "--output", "nowhere.toml"),
    ],
)
def test_a_wrong_file_or_name_is_one_line_too_and_json_with_json(config: Path, arguments: tuple[str, ...]) -> None:
    given = [one.format(config=config) for one in arguments]
    done = run(*given)
    assert done.exit_code == 1
    assert done.stderr.startswith("refused ")
    assert done.stderr.count("\n") == 1
    if arguments[:2] != ("ledger", "export") and arguments[0] != "serve":
        said = json.loads(run(*given, "--json").stderr)
        assert set(said["error"]) == {"kind", "message", "hint"}


def test_a_taken_address_is_refused_before_a_token_is_made(config: Path) -> None:
    before = run("ledger", "export", config).stdout
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("serve", config, "--port", taken.getsockname()[1])
    assert done.exit_code == 1
    assert "must be free to listen at" in done.stderr
    assert done.stdout == ""
    assert run("ledger", "export", config).stdout == before


def test_a_fault_of_ours_tells_no_value(visits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(CANARY)

    monkeypatch.setattr("discreet.commands.ask._print_answer", fail)
    done = run("ask", visits, "SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "1")
    assert done.exit_code == 1
    assert "RuntimeError at fail" in done.stderr
    assert CANARY not in done.output


def test_acts_say_their_number_in_json(config: Path) -> None:
    assert run("analyst", "add", config, "yan", "--population", "other").exit_code == 0
    assert json.loads(run("token", config, "yan", "--json").stdout)["name"] == "yan"
    assert json.loads(run("analyst", "revoke", config, "yan", "--json").stdout)["sequence"] > 1


def test_receipts_are_checked_without_a_ledger(config: Path, tmp_path: Path) -> None:
    curator = open_curator(read_config(config))
    curator.ledger.owner.add_analyst("zoe")
    curator.ledger.owner.grant("zoe", "other")
    charge = curator.ledger.spend("other", "zoe", curator.ledger.populations["other"].budget, key="k", query="q")
    charge = curator.ledger.store_answer(charge, b"{}")
    key = curator.ledger.public_key
    curator.close()
    for name, text, words in (
        ("receipt", charge.proof, "1, as the ledger counts; its release card says it in words"),
        ("card", charge.card, "epsilon 1"),
    ):
        file = tmp_path / f"{name}.json"
        file.write_text(str(text))
        done = run("receipt", "verify", file, "--key", key)
        assert done.exit_code == 0, done.output
        assert "genuine" in done.output
        (price,) = [line.split(None, 1)[1] for line in done.output.splitlines() if line.split()[0] == "price"]
        assert price == words
        assert json.loads(run("receipt", "verify", file, "--key", key, "--json").stdout)["ok"]
        changed = str(text).replace('"q"', '"p"').replace('\\"q\\"', '\\"p\\"')
        assert changed != text
        file.write_text(changed)
        assert run("receipt", "verify", file, "--key", key).exit_code == 1
        assert run("receipt", "verify", file, "--key", "00").exit_code == 1
    receipt = tmp_path / "good.json"
    receipt.write_text(charge.proof)
    assert run("ledger", "verify", config, "--receipt", receipt).exit_code == 0
    (tmp_path / "noise").write_text("not json")
    assert run("receipt", "verify", tmp_path / "noise", "--key", key).exit_code == 1
