"""The command line, as a user types it."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path


def test_without_a_command_it_helps() -> None:
    command = Path(sys.executable).with_name("discreet")
    done = subprocess.run([command], capture_output=True, text=True, check=False)
    assert "demo" in done.stdout + done.stderr


def test_it_prints_its_version() -> None:
    command = Path(sys.executable).with_name("discreet")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"discreet {version('discreet')}\n"
