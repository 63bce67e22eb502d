"""How a function that is checked or audited is called, and what to do with one that never answers.

``check`` calls ``f(data, bits)``: it walks every path of the bits. ``audit`` calls ``f(data)``, or ``f(data, bits)``
with the system's bits if that is what the function takes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from discreet.errors import BadParameter, NoLaw


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with so many arguments; what does not show its parameters is believed.

    >>> takes(lambda rows: 0, 1), takes(lambda rows: 0, 2), takes(lambda rows, bits: 0, 2)
    (True, False, True)
    """
    try:
        parameters = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        parameters.bind(*range(count))
    except TypeError:
        return False
    return True


def needs_bits(function: Callable[..., Any]) -> None:
    """Refuse a function that ``check`` cannot call."""
    if not takes(function, 2):
        raise BadParameter(
            "thing",
            function,
            "must take (data, bits): check walks every path of the bits that it draws; a function of data alone, which "
            "draws its own randomness, can be audited: dp.audit(f, pair=..., claim=...)",
        )


class Watched:
    """A function, and whether it ever answered: one that raises on all inputs has not been checked at all."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._answered = False
        self._failures: set[str] = set()

    def __call__(self, *arguments: Any) -> Any:
        """The same as the function."""
        try:
            answer = self._function(*arguments)
        except NoLaw:
            self._answered = True  # it runs; its law is another matter
            raise
        except BaseException as error:
            self._failures.add(type(error).__name__)
            raise
        self._answered = True
        return answer

    def conclude(self, subject: str) -> None:
        """Refuse a report about a function that raised on every input."""
        if self._failures and not self._answered:
            never_answered(subject, self._failures)


def never_answered(subject: str, failures: set[str]) -> None:
    """The refusal; it names types of errors, never what they say."""
    raise BadParameter(
        "thing",
        subject,
        f"must answer somewhere: it raised {', '.join(sorted(failures))} on every input that was tried",
    )
