"""The command line, as a user types it."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path


def test_demo_shows_the_law_beside_the_draws() -> None:
    command = Path(sys.executable).with_name("discreet")
    wide = os.environ | {"COLUMNS": "200"}
    done = subprocess.run([command, "demo"], capture_output=True, text=True, check=True, env=wide)
    assert "drawn" in done.stdout
    assert "exact" in done.stdout
    assert "refused" in done.stdout
    assert "mean_cost" in done.stdout
    assert "delta" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("0 ")]
    drawn, law = (float(x) for x in rows[0][-2:])
    assert abs(drawn - law) < 0.003  # 1e6 draws at p = 0.24: seven standard deviations, false alarm below 1e-11


def test_without_a_command_it_helps() -> None:
    command = Path(sys.executable).with_name("discreet")
    done = subprocess.run([command], capture_output=True, text=True, check=False)
    assert "demo" in done.stdout + done.stderr


def test_it_tells_its_version() -> None:
    command = Path(sys.executable).with_name("discreet")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"discreet {version('discreet')}\n"
