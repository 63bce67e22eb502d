"""A map of your own: any function from rows to whole numbers, with the stability that you claim for it.

Believes: the claim. Nothing here can know whether it is true; ``dp.check(map)`` holds it against all small neighbours,
and a proof is yours to give. Promise: whatever the function does, an answer comes out: where it raises, or gives
something else than whole numbers, the answer is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.errors import BadParameter
from discreet.exact import integer
from discreet.stable.core.domains import Domain, Number, Vector
from discreet.stable.core.metrics import NORMS, NUMBER, Metric, Moves, Relation, as_metric, steps
from discreet.stable.core.stable_map import StableMap
from discreet.stable.core.total import attempt

Stability = Callable[[int], int | Moves]


@dataclass(frozen=True, slots=True, kw_only=True)
class Custom(StableMap):
    """Made by ``custom(...)``."""

    name: ClassVar[str] = "custom"
    function: Callable[[list[Any]], Any]
    claimed: Stability
    size: int | None

    @property
    def output_domain(self) -> Domain:
        """One whole number, or a vector of them."""
        return Number() if self.size is None else Vector(self.size)

    @property
    def output_metric(self) -> Metric:
        """The absolute difference, or the three norms."""
        return NUMBER if self.size is None else NORMS

    def stability(self, distance: int) -> int | Moves:
        """What is claimed."""
        return self.claimed(steps(distance))

    def apply(self, data: Any) -> Any:
        """The function's answer; 0 where it has none."""
        return attempt(self._whole, data, 0 if self.size is None else [0] * self.size)

    def _whole(self, rows: list[Any]) -> int | list[int]:
        answer = self.function(list(rows))
        if self.size is None:
            return integer(answer, "answer")
        answers = [integer(x, "answer") for x in (answer.tolist() if isinstance(answer, np.ndarray) else answer)]
        return answers if len(answers) == self.size else [0] * self.size

    def story(self) -> tuple[str, ...]:
        """Its name."""
        return (
            f"applied {getattr(self.function, '__name__', 'a function')}, with the stability that its author claims",
        )


def custom(
    function: Callable[[list[Any]], Any], *, stability: int | Moves | Stability, size: int | None = None,
    neighbours: Relation = None,
) -> Custom:  # fmt: skip
    """A function of a list of rows, as a map for ``>>``.

    It gives one whole number, or ``size`` of them. ``stability`` is how far they move at most between neighbours: for
    one step, or a function of the number of steps; a number, or ``Moves(l1, l2_squared, linf)`` for several.

    >>> from discreet.mechanisms.additive.laplace import laplace
    >>> different = custom(lambda rows: len(set(rows)), stability=1)
    >>> different(["a", "b", "a"]), (different >> laplace(epsilon="1/2")).mechanism.scale
    (2, Fraction(2, 1))
    """
    if not callable(function):
        raise BadParameter("function", type(function).__name__, "must be a function of a list of rows")
    many = None if size is None else integer(size, "size", at_least=1)
    made = Custom(function=function, claimed=_claim(stability), size=many, metric=as_metric(neighbours))
    if isinstance(made.stability(1), Moves) != (many is not None):
        raise BadParameter("stability", stability, "must be a number, or Moves(l1, l2_squared, linf) if size is given")
    return made


def _claim(given: int | Moves | Stability) -> Stability:
    """For d steps, d times as far as for one: in L2 squared, d² times."""
    if isinstance(given, Moves):
        return lambda d: Moves(l1=d * given.l1, l2_squared=d * d * given.l2_squared, linf=d * given.linf)
    if callable(given):
        return given
    each = integer(given, "stability", at_least=0)
    return lambda d: d * each
