"""Work that is done again every few seconds while a service runs, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Repeat:
    """Calls ``work`` at once, then every so many seconds, and once more when it is closed."""

    def __init__(self, seconds: float, work: Callable[[], None]) -> None:
        self._seconds = seconds
        self._call = work
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Call once more, and end."""
        self._stop.set()
        self._thread.join()

    def _work(self) -> None:
        self._call()
        while not self._stop.wait(self._seconds):
            self._call()
        self._call()
