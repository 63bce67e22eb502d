"""Programs that tests start: they end with the test run, and can be killed as a whole."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


class NotReady(Exception):
    """A program that did not come up."""


def tied(*command: str) -> list[str]:
    """A command that the kernel kills if its parent dies first."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig=KILL", *command] if setpriv else [*command]


def launch(
    command: Sequence[str | Path],
    *,
    log: Path,
    folder: Path,
    user: str | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program in a folder, its words in a log. The kernel kills it if the test run dies first."""
    with log.open("ab") as words:
        return subprocess.Popen(
            tied(*map(str, command)),
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            cwd=folder,
            env={**os.environ, **(env or {})},
            user=user,
            group=user,
            extra_groups=[] if user else None,
        )


def until(
    check: Callable[[], bool],
    *,
    process: subprocess.Popen[bytes] | None = None,
    log: Path | None = None,
    what: str = "ready",
    seconds: float = 120,
) -> None:
    """Wait for a condition; if the program ends or time runs out, say what it said last."""
    limit = time.monotonic() + seconds
    while not check():
        ended = process is not None and process.poll() is not None
        if ended or time.monotonic() > limit:
            said = log.read_text(errors="replace")[-2000:] if log and log.exists() else ""
            raise NotReady(f"not {what}: {'it ended' if ended else f'{seconds} s have passed'}\n{said}")
        time.sleep(0.02)


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill -9 a program and everything that it started, at one instant, as when the power fails.

    Each is stopped before its children are listed, so that none is born in between.
    """
    family = [psutil.Process(process.pid)]
    for member in family:
        with suppress(psutil.NoSuchProcess):  # a child that ends by itself in between
            member.suspend()
            until(partial(stopped, member), what="stopped")
            family += member.children()
    for member in family:
        with suppress(psutil.NoSuchProcess):
            member.kill()
    process.wait()
    until(lambda: all(gone(member) for member in family), what="gone")


def stopped(process: psutil.Process) -> bool:
    return gone(process) or process.status() == psutil.STATUS_STOPPED


def gone(process: psutil.Process) -> bool:
    """Ended; whoever adopted it may not have buried it yet."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
