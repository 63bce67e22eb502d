"""One step, many times."""

from collections.abc import Callable
from typing import Any


def repeated(start: Any, step: Callable[[Any], Any], times: int) -> Any:
    """What a step makes of the start, so many times over."""
    for _ in range(times):
        start = step(start)
    return start
