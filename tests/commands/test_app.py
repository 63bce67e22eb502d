"""The command line, as a user types it."""

import re
import subprocess
import sys
from importlib import metadata
from importlib.metadata import version
from pathlib import Path

import pytest

from discreet.commands.app import COMMANDS, load_command


@pytest.mark.slow
def test_without_a_command_it_helps() -> None:
    command = Path(sys.executable).with_name("discreet")
    done = subprocess.run([command], capture_output=True, text=True, check=False)
    assert "demo" in done.stdout + done.stderr


@pytest.mark.slow
def test_it_prints_its_version() -> None:
    command = Path(sys.executable).with_name("discreet")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"discreet {version('discreet')}\n"


def test_every_command_says_of_itself_what_the_list_says() -> None:
    for name, (_, line) in COMMANDS.items():
        assert " ".join((load_command(name).help or "").split("\n\n")[0].split()) == line


LIGHT = """
import sys
from discreet.commands.app import app
try:
    app(["--help"], prog_name="discreet")
finally:
    print({"numpy", "duckdb", "sqlglot", "discreet.session", "discreet.errors"} & set(sys.modules), file=sys.stderr)
"""


def test_the_list_of_commands_loads_none_of_them() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "set()"
    assert all(name in done.stdout for name in COMMANDS)


PLAIN = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from discreet.commands.app import app
app(sys.argv[2:], prog_name="discreet")
"""
"""A process in which nothing is installed but what ``pip install discreet`` brings."""


def not_installed() -> set[str]:
    """The top-level modules of all that stands here for extras and tests alone."""
    kept, waiting = set[str](), ["discreet"]
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in kept:
            continue
        kept.add(name)
        try:
            needed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # for another system
            continue
        waiting += [re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in needed if "extra ==" not in one]
    owners = metadata.packages_distributions()
    return {module for module, by in owners.items() if not {re.sub(r"[-_.]+", "-", one).lower() for one in by} & kept}


@pytest.mark.parametrize("words", [["--help"], ["demo"], ["ask"]], ids=" ".join)
def test_a_plain_installation_has_the_command_line(words: list[str], tmp_path: Path) -> None:
    missing = not_installed()
    assert {"sqlalchemy", "fastapi", "matplotlib", "torch", "pandas"} <= missing
    assert not {"numpy", "duckdb", "typer", "discreet"} & missing
    if words == ["ask"]:
        (tmp_path / "visits.csv").write_text("patient,ward\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(40)))
        words = ["ask", str(tmp_path / "visits.csv"), "SELECT COUNT(*) AS n FROM visits",
                 "--unit", "patient", "--max-rows", "1", "--epsilon", "1", "--budget", "1"]  # fmt: skip
    command = [sys.executable, "-c", PLAIN, ",".join(missing), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
