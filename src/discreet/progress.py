"""What a long release is doing, for the one who waits at the terminal: a spinner, the step, the time so far.

Promise: it says nothing of the data but how long reading takes, shows only where somebody sits (a terminal or a
notebook) and only after two seconds, and cleans up after itself. A curator, which answers strangers, has none.
"""

from __future__ import annotations

import sys
from threading import Lock, Timer
from types import TracebackType
from typing import Any

QUIET = 2.0
"""Seconds before anything is shown."""


class Progress:
    """``with Progress(None) as progress: progress.step("reading")``.

    ``wanted``: True also where nobody seems to sit, False never, None where somebody does.
    ``console`` is a console of rich, standard error unless said.
    """

    def __init__(self, wanted: bool | None, *, after: float = QUIET, console: Any = None) -> None:
        self._wanted = _somebody_sits_there() if wanted is None else wanted
        self._after = after
        self._console = console
        self._lock = Lock()
        self._doing = "starting"
        self._over = False
        self._shown: Any = None
        self._timer: Timer | None = None

    def __enter__(self) -> Progress:
        if self._wanted:
            self._timer = Timer(self._after, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def step(self, doing: str) -> None:
        """What is being done from now on."""
        with self._lock:
            self._doing = doing
            if self._shown is not None:
                self._shown.update(self._shown.task_ids[0], description=doing)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._over = True
            if self._shown is not None:
                self._shown.stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._over:
                return
            self._shown = Bar(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                TimeElapsedColumn(),
                console=self._console or Console(stderr=True),
                transient=True,
            )
            self._shown.add_task(self._doing, total=None)
            self._shown.start()


def _somebody_sits_there() -> bool:
    stream = sys.stderr
    return (stream is not None and stream.isatty()) or _is_notebook()


def _is_notebook() -> bool:
    """Whether this process runs the cells of a notebook; that a library of notebooks was imported is not enough."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return getattr(shell, "kernel", None) is not None
