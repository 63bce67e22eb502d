"""Planning that may be stopped: whoever plans for somebody else sets a check, and long planning calls it now and then.

Promise: the check is called before data is touched and before anything is paid, never after; without one, nothing
happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


@contextmanager
def interruptible(check: Callable[[], None]) -> Iterator[None]:
    """Call ``check`` now and then while questions are planned in this context; what it raises ends the planning.

    >>> seen = []
    >>> with interruptible(lambda: seen.append("asked")):
    ...     check_interrupted()
    >>> check_interrupted()
    >>> seen
    ['asked']
    """
    before = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(before)


def check_interrupted() -> None:
    """A place where planning may end."""
    check = _CHECK.get()
    if check is not None:
        check()
