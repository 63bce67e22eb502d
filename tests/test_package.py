"""The package as a whole: quick to import, typed, and what it says of itself."""

import re
import shutil
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path

import pytest

import discreet

QUICK = """
import sys, discreet
print({"numpy", "discreet.exact", "discreet.privacy"} & set(sys.modules))
import discreet.curator.engine_process.worker
print({name for name in sys.modules if name.startswith(("discreet.noise", "discreet.privacy", "discreet.session"))})
print({"scipy", "matplotlib", "torch", "pandas"} & set(sys.modules))
discreet.laplace, discreet.Session
print({"scipy.stats", "matplotlib", "torch", "pandas"} & set(sys.modules))
"""


@pytest.mark.slow
def test_the_import_brings_in_nothing_heavy() -> None:
    """Import time itself is measured in bench/imports.py; here is what would make it slow. Engines know no noise."""
    done = subprocess.run([sys.executable, "-c", QUICK], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["set()"] * 4


WITHOUT_POSIX = """
import sys
sys.modules.update(fcntl=None, resource=None)
import discreet as dp
import discreet.commands.app
from discreet.errors import LedgerUnsafe
visits = dp.table({"patient": [1, 2, 2]}, unit="patient")
dp.Session(visits=visits, budget=dp.Pure(1)).sql("SELECT COUNT(*) AS n FROM visits").release(epsilon=1)
try:
    dp.Session(visits=visits, budget=dp.Pure(1), ledger=sys.argv[1])
except LedgerUnsafe as refused:
    print(refused)
"""


def test_without_posix_all_but_ledgers_works(tmp_path: Path) -> None:
    """Windows has no fcntl and no resource: questions are answered there, and a ledger is refused by name."""
    command = [sys.executable, "-c", WITHOUT_POSIX, str(tmp_path / "budget.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "needs the file locks of Linux or macOS" in done.stdout


def test_typed_and_licensed() -> None:
    assert resources.files("discreet").joinpath("py.typed").is_file()
    about = metadata.metadata("discreet")
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.11"


def test_no_exact_pins() -> None:
    for requirement in metadata.requires("discreet") or []:
        assert "==" not in requirement.split(";")[0]
        assert ">=" in requirement.split(";")[0]


def test_the_public_names_are_there() -> None:
    assert all(hasattr(discreet, name) for name in discreet.__all__)
    assert len(set(discreet.__all__)) == len(discreet.__all__)


DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK",
                "ENTRYPOINT", "CMD"}  # fmt: skip


def test_the_container_file_is_clean() -> None:
    """What a linter looks for: known instructions, no root, nothing fetched by ADD, versions named, a health check."""
    text = (DEPLOY / "Containerfile").read_text()
    steps = [
        line.split(" ", 1)
        for line in re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
        if line.strip()
    ]
    names = [name for name, _ in steps]
    assert set(names) <= INSTRUCTIONS
    assert {"USER", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT"} <= set(names)
    assert not [said for name, said in steps if name == "USER" and said.split(":")[0] in ("root", "0")]
    assert all(re.search(r":[0-9.]+", said) for name, said in steps if name == "FROM")
    assert all("--no-cache-dir" in said for name, said in steps if name == "RUN" and "pip install" in said)
    assert all(said.startswith("[") for name, said in steps if name in ("ENTRYPOINT", "CMD"))  # no shell between
    assert names.index("USER") > max(at for at, name in enumerate(names) if name == "RUN")


def test_the_systemd_unit_is_understood() -> None:
    text = (DEPLOY / "discreet.service").read_text()
    for line in ("NoNewPrivileges=yes", "ProtectSystem=strict", "LimitCORE=0", "UMask=0077", "TimeoutStopSec=70"):
        assert line in text
    tool = shutil.which("systemd-analyze")
    if tool is not None:
        command = [tool, "verify", str(DEPLOY / "discreet.service")]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        wrong = [line for line in said.stderr.splitlines() if "discreet.service" in line]
        assert all("is not executable" in line for line in wrong), wrong  # it is not installed here
