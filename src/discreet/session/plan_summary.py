"""What each question of a plan gets, and what all cost together: as it is printed, sent by a curator and read again.

Promise: a function of public metadata and released numbers alone; no error bar rests on a prediction.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.query.answer.serialize import plain


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """One question of a plan."""

    text: str
    tables: tuple[str, ...]
    error: float
    """Its noise beside ``rows`` rows with the largest values, one deviation; of a target, the share that it takes."""
    rows: int
    alone: float
    """Its error, were it asked by itself for an equal part of the price; of a target, 1."""


@dataclass(frozen=True, slots=True, repr=False)
class PlanSummary:
    """Questions with the relative error that each will have.

    >>> one = PlannedQuestion("SELECT COUNT(*) AS n FROM v", ("v",), 0.02, 50, 0.03)
    >>> print(PlanSummary("epsilon 1", "Laplace", (one,), 0.67))
    costs epsilon 1, Laplace noise; predicted relative noise:
      noise  asked alone  rows in a group  question
      2.00%        3.00%               50  SELECT COUNT(*) AS n FROM v
    on average 0.67 times the error of asking one by one
    """

    cost: str
    noise: str
    questions: tuple[PlannedQuestion, ...]
    saving: float
    """The mean error beside that of asking one by one: 0.7 is 30 % less."""

    def __str__(self) -> str:
        return "\n".join([*self._lines(), self._saved()])

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        yield f"costs {self.cost}, {self.noise} noise; predicted relative noise:"
        head = ("noise", "asked alone", "rows in a group")
        cells = [
            (f"{question.error:.2%}", f"{question.alone:.2%}", f"{question.rows:,}") for question in self.questions
        ]
        widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
        texts = ("question", *(question.text for question in self.questions))
        for line, text in zip((head, *cells), texts, strict=True):
            yield "  ".join(["", *(cell.rjust(width) for cell, width in zip(line, widths, strict=True)), text])

    def _saved(self) -> str:
        return f"on average {self.saving:.2f} times the error of asking one by one"

    def as_dict(self) -> dict[str, Any]:
        """As JSON; ``read_summary`` reads it. What is not finite is null."""
        questions = [
            {
                "question": question.text,
                "tables": list(question.tables),
                "error": plain(question.error),
                "rows": question.rows,
                "alone": plain(question.alone),
            }
            for question in self.questions
        ]
        return {
            "targets": isinstance(self, TargetSummary),
            "cost": self.cost,
            "noise": self.noise,
            "questions": questions,
            "saving": plain(self.saving),
        }


@dataclass(frozen=True, slots=True, repr=False)
class TargetSummary(PlanSummary):
    """Questions that each keep an error; ``saving`` is the price beside that of asking one by one."""

    def _lines(self) -> Iterator[str]:
        yield f"costs {self.cost}, {self.noise} noise; errors by their targets:"
        for question in self.questions:
            yield f"  {question.error:8.0%} of the error asked for: {question.text}"

    def _saved(self) -> str:
        return f"{self.saving:.2f} times what asking one by one would cost"


def read_summary(sent: Mapping[str, Any]) -> PlanSummary:
    """What ``as_dict`` has written."""
    kind = TargetSummary if sent["targets"] else PlanSummary
    questions = tuple(
        PlannedQuestion(
            question["question"],
            tuple(question["tables"]),
            _number(question["error"]),
            question["rows"],
            _number(question["alone"]),
        )
        for question in sent["questions"]
    )
    return kind(sent["cost"], sent["noise"], questions, _number(sent["saving"]))


def _number(sent: float | None) -> float:
    return math.inf if sent is None else float(sent)


class Planned:
    """What plans have in common, here and of a curator: all is read from the summary."""

    __slots__ = ()
    summary: PlanSummary
    """What each question gets."""

    @property
    def errors(self) -> tuple[float, ...]:
        """The noise of each beside a group of ``rows`` rows, one deviation; of targets, the share that noise takes."""
        return tuple(question.error for question in self.summary.questions)

    @property
    def rows(self) -> tuple[int, ...]:
        """How many rows a group has, about."""
        return tuple(question.rows for question in self.summary.questions)

    @property
    def alone(self) -> tuple[float, ...]:
        """The errors, were each question asked by itself for an equal part of the price."""
        return tuple(question.alone for question in self.summary.questions)

    @property
    def saving(self) -> float:
        """The mean error beside that of asking one by one: 0.7 is 30 % less; of targets, the price beside that."""
        return self.summary.saving

    def __str__(self) -> str:
        return str(self.summary)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"
