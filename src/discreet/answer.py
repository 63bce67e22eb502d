"""Answer: a released value with its error bar, what was spent on it, and how it was made.

Promise: an answer is a value, not a plan: reading it twice draws nothing and costs nothing.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from discreet.errors import BadParameter
from discreet.exact import Number, significant
from discreet.exact import number as exact_number
from discreet.messages import Message, message
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.receipt import Receipt

CONFIDENCE = Fraction(95, 100)
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value that was released first and stands in the query as a constant.

    >>> GivenValue("mean_cost", 1.5, 0.25, "epsilon 0.2").note.text()
    'mean_cost = 1.5 ± 0.25 was released first, for epsilon 0.2. ± is for the query with it.'
    """

    name: str
    value: Any
    error: float | None
    """Its own 95% confidence interval is ± this, which ± of the answer leaves out; None where it has none."""
    cost: str

    @property
    def note(self) -> Message:
        """The same as a note on the answer."""
        return message("given_value", name=self.name, value=self.value, error=self.error, cost=self.cost)

    @staticmethod
    def of(notes: Iterable[Message]) -> tuple[GivenValue, ...]:
        """The values that some notes are about."""
        return tuple(GivenValue(**note.fields) for note in notes if note.code == "given_value")


class Accuracy(Protocol):
    """How far a released number may lie from the exact one. For a vector the error holds for all entries at once."""

    @property
    def expected_error(self) -> float:
        """E|error| of one number, never too small."""
        ...

    def error_at(self, confidence: Number) -> float:
        """The least e with P[|error| <= e] >= confidence, for all entries together; never too small."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """What came out, how far off it may be, what it cost, and how it was made.

    >>> from discreet.privacy.promises import events
    >>> answer = Answer(value=42, event=events.Pure(1), cost="epsilon 1", story=("counted", "added noise"))
    >>> print(answer)
    42, spent epsilon 1
    >>> answer.then(lambda x: max(x, 0), "not below 0").story
    ('counted', 'added noise', 'not below 0')
    """

    value: Any
    event: Event
    cost: str
    """The price of the event, as text."""
    story: tuple[str, ...] = ()
    accuracy: Accuracy | None = None
    receipt: Receipt | None = None

    def error_at(self, confidence: Number = CONFIDENCE) -> float:
        """The error bar: |value - truth| is at most this, with the given confidence."""
        if self.accuracy is None:
            raise BadParameter(
                "accuracy", None, "must be known for a confidence interval; explain() says what is known here"
            )
        return self.accuracy.error_at(confidence)

    def within(self, confidence: Number = CONFIDENCE) -> tuple[Any, Any]:
        """An interval that holds the exact value with the given confidence; for a vector, all entries at once."""
        error = self.error_at(confidence)
        if isinstance(self.value, tuple):
            return tuple(v - error for v in self.value), tuple(v + error for v in self.value)
        return self.value - error, self.value + error

    def then(self, f: Callable[[Any], Any], line: str | None = None, accuracy: Accuracy | None = None) -> Answer:
        """Post-processing: any function of the value costs nothing more."""
        name = line if line is not None else str(getattr(f, "__name__", "post-processed"))
        return replace(self, value=f(self.value), story=(*self.story, name), accuracy=accuracy)

    def explain(self) -> str:
        """How it was made, step by step."""
        steps = [f"{i}. {step}" for i, step in enumerate((*self.story, f"spent {self.cost}"), 1)]
        return "\n".join(steps)

    def __str__(self) -> str:
        return f"{_show_value(self.value)}{self._bar()}, spent {self.cost}"

    def _bar(self) -> str:
        if self.accuracy is None:
            return ""
        return f" ± {significant(self.accuracy.error_at(CONFIDENCE), 6)} (95%)"

    def _repr_html_(self) -> str:
        steps = "".join(f"<li>{html.escape(step)}</li>" for step in self.story)
        return (
            f"<div><b>{html.escape(_show_value(self.value))}</b>{html.escape(self._bar())}"
            f"<br><small>spent {html.escape(self.cost)}</small><ol>{steps}</ol></div>"
        )


def _show_value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        shown = ", ".join(_show_value(x) for x in value.ravel()[:_SHOWN].tolist())
        more = ", ..." if value.size > _SHOWN else ""
        return f"[{shown}{more}]" if value.ndim == 1 else f"[{shown}{more}] of shape {value.shape}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return significant(value, 6) if isinstance(value, float) else str(value)


def how_many(number: int, things: str) -> str:
    """A number of things, in words.

    >>> how_many(1, "rows"), how_many(2500, "groups")
    ('1 row', '2,500 groups')
    """
    return f"{number:,} {things.removesuffix('s') if number == 1 else things}"


def confidence_level(confidence: Number) -> Fraction:
    """A confidence in [0, 1)."""
    level = exact_number(confidence, "confidence")
    if not 0 <= level < 1:
        raise BadParameter("confidence", confidence, "must be at least 0 and below 1")
    return level
