"""The law of an output: certified bounds of the probability of each, as a dictionary that prints as a short table."""

from __future__ import annotations

import html
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from typing import Any

_SHOWN = 12


class Law(dict[Any, tuple[Fraction, Fraction]]):
    """From each output to exact bounds of its probability, (lower, upper).

    >>> Law({0: (Fraction(2, 3), Fraction(2, 3)), 1: (Fraction(1, 3), Fraction(1, 3))})
    0  0.666667
    1  0.333333
    >>> Law({Fraction(-3): (Fraction(1), Fraction(1))})
    -3  1
    """

    __slots__ = ()

    def __repr__(self) -> str:
        lines = self._lines()
        wide = max((len(output) for output, _ in lines), default=0)
        more = [f"... {len(self) - _SHOWN:,} more outputs"] if len(self) > _SHOWN else []
        return "\n".join([*(f"{output.ljust(wide)}  {p}" for output, p in lines), *more]) or "{}"

    __str__ = __repr__

    def _lines(self) -> list[tuple[str, str]]:
        """The likeliest outputs, in order if they have one; a probability to six digits."""
        outputs = sorted(self, key=lambda x: -self[x][1])[:_SHOWN]
        try:
            outputs.sort()
        except TypeError:  # outputs of several kinds, such as a number and None
            outputs.sort(key=repr)
        return [(str(x) if isinstance(x, Fraction) else repr(x), f"{float(sum(self[x]) / 2):.6g}") for x in outputs]

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(x)}</td><td>{p}</td></tr>" for x, p in self._lines())
        return f"<table><thead><tr><th>output</th><th>probability</th></tr></thead><tbody>{rows}</tbody></table>"


def readable(law: Callable[..., Any]) -> Callable[..., Any]:
    """A method ``law`` whose answer prints as a table."""

    @wraps(law)
    def method(*arguments: Any) -> Any:
        made = law(*arguments)
        return Law(made) if type(made) is dict else made

    return method
