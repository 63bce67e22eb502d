"""Every block of the documentation runs, and prints what the page shows; what is not run is listed, with the reason."""

from __future__ import annotations

import ast
import json
import os
import re
import socket
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.commands.sample_hospital import write_hospital
from discreet.curator.service.config import read_config
from tests.helpers.quick_command import quick_command
from tests.helpers.run_page import differs, run_cell
from tools.site.cells import BLOCK, Cell, cells

ROOT = Path(__file__).resolve().parent.parent
PAGES = {str(page.relative_to(ROOT)): page.read_text() for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]}
CHOSEN_CAPS = True
KINDS = {"python", "bash", "text", "toml", "sql", "json"}

INSTALLS = "installs the package, in which the tests run already"
STAYS = "stays in the terminal; the page docs/tutorials/curator-for-a-team.md starts a service here"
REMOTE = "tests/curator/http/test_app_docs.py::test_the_commands_to_a_service_are_answered"
RIVAL = "code of another library"
# How a command begins -> why it is not run here, or the test in which it is.
NOT_RUN = {
    "README.md": {"pip install": INSTALLS},
    "CONTRIBUTING.md": {"make ": "runs the tests themselves"},
    "docs/README.md": {"pip install": INSTALLS},
    "docs/how-to/deploy.md": {"sudo ": "needs root and systemd", "podman ": "needs podman and an image of Python"},
    "docs/how-to/operations.md": {"discreet serve": STAYS},
    "docs/reference/cheat-sheet.md": {
        "discreet demo": "tests/commands/test_demo.py::test_demo_shows_the_law_beside_the_draws",
        "discreet init visits.parquet && discreet serve": STAYS,
        "discreet check": "tests/commands/test_check.py::test_our_own_claims_are_checked_without_a_target",
    },
    "docs/reference/curator.md": {
        "pip install": INSTALLS,
        "discreet serve": STAYS,
        "curl ": "tests/curator/http/test_app_docs.py::test_the_line_of_curl_is_answered",
        "export DISCREET_TOKEN": REMOTE,
        "discreet ask https:": REMOTE,
        "discreet preview https:": REMOTE,
        "discreet budget https:": REMOTE,
        "discreet history https:": REMOTE,
        "discreet request send https:": REMOTE,
        "discreet person sign-on": "tests/commands/operate/test_people.py::test_people_are_linked_to_a_provider",
        "discreet receipt": "tests/commands/test_receipt.py::test_receipts_are_checked_without_a_ledger",
    },
}
# How a block of text that is no output begins -> what it is.
REGISTERED = "tests/curator/http/test_routes_publication.py::test_tables_are_paid_once_and_their_files_are_stored"
TEXT = {
    "CONTRIBUTING.md": {"errors.py": "the tree, which tests/test_docs.py reads", "def review": "a method of a class"},
    "docs/explanation/how-an-answer-is-made.md": {"   engine:": "a picture"},
    "docs/how-to/deploy.md": {
        "curator.example": "the configuration of Caddy",
        "server {": "the configuration of nginx",
        "[Service]": "a drop-in file of systemd",
    },
    "docs/how-to/export.md": {
        "discreet receipt registry": "tests/commands/test_receipt.py::test_receipts_are_checked_without_a_ledger"
    },
    "docs/how-to/move-from-bigquery.md": {"ALTER TABLE": "SQL of another database"},
    "docs/how-to/move-from-diffprivlib.md": {"from diffprivlib": RIVAL},
    "docs/how-to/move-from-opendp.md": {"import opendp": RIVAL, "space =": RIVAL, "count =": RIVAL},
    "docs/how-to/move-from-smartnoise.md": {"# visits.yaml": "a file for another library", "import snsql": RIVAL},
    "docs/how-to/move-from-tumult.md": {"from tmlt": RIVAL},
    "docs/how-to/notebook.md": {"%load_ext": "tests/curator/client/test_magic.py::test_the_page_works_in_ipython"},
    "docs/tutorials/census-like-table.md": {
        'source = "people.csv"': "tests/commands/make/test_publish.py::test_tables_add_up_and_rows_have_them",
        "[[public_totals]]": "tests/commands/make/test_publish.py::test_public_totals_are_met",
        "session = dp.connect": "tests/curator/client/test_remote_tables.py::test_tables_like_those_of_a_session",
        "[[datasets": REGISTERED,
        "[households]": "tests/commands/make/test_publish.py::test_persons_live_in_households",
    },
    "docs/how-to/sql-tools.md": {
        "$ psql": "tests/curator/wire/test_connection.py::test_psql_connects_lists_and_asks",
        "hospital=>": "tests/curator/wire/test_session.py::test_a_price_is_a_comment_or_a_setting",
        "from sqlalchemy": "tests/curator/wire/test_connection.py::test_sqlalchemy_reflects_and_pandas_reads",
    },
    "docs/how-to/operations.md": {
        "duckdb -c": "needs a bucket at a provider",
        '{"number": 12': "tests/curator/service/test_audit_export.py::test_every_entry_is_a_line_and_comes_once",
    },
    "docs/how-to/postgres.md": {
        "import discreet": "tests/engines/postgres/test_engine.py::test_the_page_works_as_it_is_written",
        "dp.engines.postgres(": "an address with a certificate",
    },
    "docs/how-to/spark.md": {
        "import discreet": "tests/engines/spark/test_source.py::test_the_page_works_as_it_is_written"
    },
    "docs/how-to/warehouses.md": {"import discreet": "needs an account at Snowflake"},
    "docs/lectures/coins.md": {"        zero counted": "a picture", "B₀ ": "the sampler in words"},
    "docs/lectures/lower-bound.md": {"   q(X')": "a formula"},
    "docs/lectures/partial-sums.md": {"(1) for": "two programs in words", "DummySum": "a program in words"},
    "docs/reference/curator.md": {
        "import discreet": "tests/curator/http/test_app_docs.py::test_the_lines_of_python_run",
        "from discreet": "tests/curator/http/test_app_docs.py::test_the_drivers_are_answered",
        "$ discreet preview": (
            "tests/curator/service/test_service_one_charge.py::test_the_first_question_is_one_charge_and_is_answered"
        ),
    },
}


def visits(folder: Path) -> None:
    """A file for the commands of a page that speaks of one."""
    many = range(3_000)
    columns = {
        "patient_id": [i // 3 for i in many],
        "clinic": [("North", "South")[i % 2] for i in many],
        "age": [20 + i * 7 % 60 for i in many],
        "cost": [float(i * 37 % 900) for i in many],
    }
    pq.write_table(pa.table(columns), folder / "visits.parquet")


def people(folder: Path) -> None:
    many = range(1_000)
    columns = {
        "person": list(many),
        "age": [18 + i * 7 % 70 for i in many],
        "job": [("clerk", "nurse", "farmer")[i % 3] for i in many],
        "label": [("no", "yes")[i % 2] for i in many],
    }
    pq.write_table(pa.table(columns), folder / "people.parquet")


def curator(folder: Path) -> None:
    write_hospital(folder, people=300)
    (folder / "restored").mkdir()
    (folder / "restored" / "curator.toml").write_text((folder / "curator.toml").read_text())


def hospital(folder: Path) -> None:
    write_hospital(folder / "hospital", people=300)


BEFORE = {
    "docs/README.md": [hospital],
    "docs/how-to/learning.md": [people],
    "docs/how-to/operations.md": [curator, visits],
    "docs/how-to/plan-a-budget.md": [curator],
    "docs/how-to/synthetic.md": [visits],
    "docs/how-to/tables.md": [visits],
    "docs/reference/cheat-sheet.md": [curator, visits],
    "docs/reference/curator.md": [curator, visits],
}


def left_out(page: str, line: str) -> str | None:
    return next((start for start in NOT_RUN.get(page, ()) if line.startswith(start)), None)


def cells_to_run(page: str) -> list[Cell]:
    """The cells of a page, without the commands that are left out."""

    def commands(block: re.Match[str]) -> str:
        if block["kind"] != "bash" or page not in NOT_RUN:
            return block[0]
        lines = re.sub(r"\\\n\s*", "", block["code"]).splitlines()
        return "\n".join(["```bash", *(line for line in lines if not left_out(page, line)), "```"])

    found = cells(BLOCK.sub(commands, PAGES[page]))
    return [cell for cell in found if cell.kind != "text" and cell.source.strip()]


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PATH on which ``discreet`` starts at once, and Python is the one of the tests."""
    with quick_command(tmp_path_factory.mktemp("quick")) as folder:
        yield os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])


@pytest.fixture
def port() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = str(free.getsockname()[1])
    yield number
    if Path("service.pid").exists():
        service = psutil.Process(int(Path("service.pid").read_text()))
        for process in (service, *service.children(recursive=True)):
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_block_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: str, request: pytest.FixtureRequest
) -> None:
    """Cell by cell, as in its notebook; the blocks of one page share their names and a folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", quick)
    assert {block["kind"] for block in BLOCK.finditer(PAGES[page])} <= KINDS
    for prepare in BEFORE.get(page, ()):
        prepare(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    wrong = []
    for number, cell in enumerate(cells_to_run(page)):
        source = cell.source
        if "8750" in source:
            free = request.getfixturevalue("port")
            source = re.sub(r"(discreet serve \S+)", rf"\1 --port {free}", source).replace("8750", free)
        got = run_cell(replace(cell, source=source), names, f"{page}, cell {number}")
        wrong.append(differs(cell, got))
    if any(wrong):
        pytest.fail("\n".join(filter(None, wrong)))  # whole: pytest shortens what an assert compares


def test_a_wrong_output_is_seen() -> None:
    cell = Cell("python", "print('n 7 ± 2')\n1 + 1", "n 7 ± 2\n2\n")
    got = run_cell(cell, {}, "here")
    assert not differs(cell, got)
    assert differs(Cell("python", cell.source, "n 8 ± 2\n2\n"), got)
    assert not differs(Cell("python", cell.source, "n 8 ± 3\n2\n", vary=True), got)
    assert differs(Cell("python", cell.source, "m 8 ± 3\n2\n", vary=True), got)
    fails = Cell(
        "python", "[][0]", "Traceback (most recent call last):\n    ...\nIndexError: other words\n", raises=True
    )
    assert differs(fails, run_cell(fails, {}, "here"))
    with pytest.raises(AssertionError, match="raises nothing"):
        run_cell(Cell("python", "1", raises=True), {}, "here")
    with pytest.raises(AssertionError, match="false"):
        run_cell(Cell("bash", "false\ntrue"), {}, "here")


def test_what_is_not_run_is_there_and_has_a_reason() -> None:
    """No stale line in the lists, no block of text outside of them, and the tests that reasons name exist."""
    for page, starts in NOT_RUN.items():
        code = "\n".join(block["code"] for block in BLOCK.finditer(PAGES[page]) if block["kind"] == "bash")
        lines = re.sub(r"\\\n\s*", "", code).split("\n")
        assert set(starts) == {left_out(page, line) for line in lines} - {None}, page
    for page, text in PAGES.items():
        apart = "\n".join(cell.source for cell in cells(text) if cell.kind == "text")
        found = [block["code"] for block in BLOCK.finditer(apart) if block["kind"] == "text"]
        unused = [start for start in TEXT.get(page, ()) if not any(code.startswith(start) for code in found)]
        unlisted = [code for code in found if not code.startswith(tuple(TEXT.get(page, ())))]
        assert not [*unused, *unlisted], page
    reasons = [reason for kind in (NOT_RUN, TEXT) for page in kind.values() for reason in page.values()]
    for file, name in re.findall(r"(tests/[\w/]+\.py)::(\w+)", " ".join(reasons)):
        assert f"\ndef {name}(" in (ROOT / file).read_text(), name


@pytest.mark.parametrize("page", [page for page in sorted(PAGES) if re.search("```(toml|json)", PAGES[page])])
def test_settings_and_replies_can_be_read(page: str, tmp_path: Path) -> None:
    """Blocks of TOML are parts of a curator.toml that is understood; JSON is JSON."""
    for block in BLOCK.finditer(PAGES[page]):
        if block["kind"] == "json":
            json.loads(block["code"])
        if block["kind"] == "toml":
            read = tomllib.loads(block["code"])
            rest = "" if "server" in read else '[server]\ndata = "data"\nledger = "curator.ledger"\n'
            budget = "[datasets.clinic]\nbudget = {epsilon = 1}\n" if "clinic" in read.get("datasets", {}) else ""
            (tmp_path / "curator.toml").write_text(rest + budget + block["code"])
            read_config(tmp_path / "curator.toml")


def test_code_of_other_libraries_is_python() -> None:
    parsed = 0
    for page, starts in TEXT.items():
        theirs = tuple(start for start, what in starts.items() if what == RIVAL)
        for block in BLOCK.finditer(PAGES[page]):
            if theirs and block["kind"] == "text" and block["code"].startswith(theirs):
                ast.parse(block["code"])
                parsed += 1
    assert parsed >= sum(what == RIVAL for starts in TEXT.values() for what in starts.values())
