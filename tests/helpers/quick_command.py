"""``discreet`` as a command that starts at once: one process has imported the command line, and forks for each call.

A page of documentation has many commands, and each would import the package anew, which takes two seconds.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from tests.helpers.processes import tied, until
from tests.helpers.seeded_bytes import noise_from

LATE = ("discreet.curator.service.opening", "discreet.ledger.verify", "discreet.session.local_ledger", "pandas")
"""What commands import when they need it, with all that it brings."""
COMMAND = """#!/bin/sh
exec '{python}' -SE '{call}' "$@"
"""
CALL = """import json, os, socket, sys
if sys.argv[1:2] == ["serve"]:  # stays, and is killed: a process of its own
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
line = socket.socket(socket.AF_UNIX)
line.connect({address!r})
call = json.dumps([["discreet", *sys.argv[1:]], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(line, [len(call).to_bytes(8, "big")], [0, 1, 2])
line.sendall(call)
sys.exit(int(line.recv(8) or 70))
"""


@contextmanager
def quick_command(folder: Path) -> Iterator[Path]:
    """A folder for the PATH, in which ``discreet`` is."""
    address, call, command = folder / "line", folder / "call.py", folder / "bin" / "discreet"
    command.parent.mkdir(parents=True)
    call.write_text(CALL.format(real=str(Path(sys.executable).with_name("discreet")), address=str(address)))
    command.write_text(COMMAND.format(python=sys.executable, call=call))
    command.chmod(0o755)
    here = [sys.executable, "-m", "tests.helpers.quick_command", str(address)]
    server = subprocess.Popen(tied(*here), cwd=Path(__file__).resolve().parents[2])
    try:
        until(address.exists, process=server, what="listening")
        yield command.parent
    finally:
        server.kill()
        server.wait()


def _answer(address: str) -> None:
    from discreet.commands.app import COMMANDS, app, load_command

    for name in COMMANDS:
        load_command(name)
    for name in LATE:
        import_module(name)

    with socket.socket(socket.AF_UNIX) as line:
        line.bind(address)
        line.listen()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
        while True:
            call, _ = line.accept()
            with call:
                if os.fork() == 0:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    _child(call, app)


def _child(call: socket.socket, app: object) -> None:
    code = 1
    try:
        size, places, *_ = socket.recv_fds(call, 8, 3)
        with call.makefile("rb") as sent:
            sys.argv, folder, environment = json.loads(sent.read(int.from_bytes(size, "big")))
        for number, place in enumerate(places):
            os.dup2(place, number)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        with noise_from(repr(sys.argv)):  # a page shows one run
            app()  # type: ignore[operator]
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        call.sendall(b"%d" % code)
        os._exit(code)


if __name__ == "__main__":
    _answer(sys.argv[1])
