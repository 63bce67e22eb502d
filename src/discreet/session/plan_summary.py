"""What each question of a plan gets, and what all cost together: as it is printed, sent by a curator and read again.

Promise: a function of public metadata and released numbers alone; no error bar rests on a prediction.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from discreet.query.answer.serialize import plain
from discreet.query.profile.predict import Predicted


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """One question of a plan."""

    text: str
    tables: tuple[str, ...]
    predicted: Predicted
    """Its relative error in a group of ``rows`` rows, one deviation; of a target, shares of the error asked for."""
    corrected: bool
    """Whether its groups are made to agree with a total."""
    rows: int
    alone: float
    """Its error, were it asked by itself for an equal part of the price; of a target, 1."""


@dataclass(frozen=True, slots=True, repr=False)
class PlanSummary:
    """Questions with the relative error that each will have.

    >>> one = PlannedQuestion("SELECT COUNT(*) AS n FROM v", ("v",), Predicted(3, 0.02, 0.02, 0), False, 50, 0.03)
    >>> print(PlanSummary("epsilon 1", "Laplace", (one,), 0.67))
    costs epsilon 1, Laplace noise; predicted relative errors:
      error  noise alone  caps cut  asked alone  rows in a group  question
      2.00%        2.00%      0.0%        3.00%               50  SELECT COUNT(*) AS n FROM v
    on average 0.67 times the error of asking one by one
    """

    cost: str
    noise: str
    questions: tuple[PlannedQuestion, ...]
    saving: float
    """The mean error beside that of asking one by one: 0.7 is 30 % less."""
    notes: tuple[str, ...] = ()
    """What else there is to know before it is paid."""

    def __str__(self) -> str:
        return "\n".join([*self._lines(), *self.notes, self._saved()])

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        yield f"costs {self.cost}, {self.noise} noise; predicted relative errors:"
        head = ("error", "noise alone", "caps cut", "asked alone", "rows in a group")
        cells = [
            (f"{p.error:.2%}", f"{p.noise:.2%}", _cut_shown(one), f"{one.alone:.2%}", f"{one.rows:,}")
            for one, p in ((one, one.predicted) for one in self.questions)
        ]
        widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
        texts = ("question", *(one.text for one in self.questions))
        for line, text in zip((head, *cells), texts, strict=True):
            yield "  ".join(["", *(cell.rjust(width) for cell, width in zip(line, widths, strict=True)), text])
        yield from self._remarks()

    def _remarks(self) -> Iterator[str]:
        unknown = dict.fromkeys(table for one in self.questions if one.predicted.cut is None for table in one.tables)
        if unknown:
            yield (
                f"what caps cut of {', '.join(unknown)} is unknown and not in these errors: a profile would tell, with "
                "session.profile(table, epsilon=...)"
            )
        if any(one.predicted.cut for one in self.questions):
            yield "what caps cut is predicted as if units too rare for the profile grow rarer as the others do"

    def _saved(self) -> str:
        return f"on average {self.saving:.2f} times the error of asking one by one"

    def noting(self, words: tuple[str, ...]) -> Self:
        """The same with more to know."""
        return replace(self, notes=(*self.notes, *words))

    def as_dict(self) -> dict[str, Any]:
        """As JSON; ``read_summary`` reads it. What is not finite is null."""
        questions = [
            {name: plain(value) for name, value in asdict(one.predicted).items()}
            | {"question": one.text, "tables": list(one.tables), "corrected": one.corrected, "rows": one.rows,
               "alone": plain(one.alone)}
            for one in self.questions
        ]  # fmt: skip
        return {
            "targets": isinstance(self, TargetSummary),
            "cost": self.cost,
            "noise": self.noise,
            "questions": questions,
            "saving": plain(self.saving),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, repr=False)
class TargetSummary(PlanSummary):
    """Questions that each keep an error; ``saving`` is the price beside that of asking one by one."""

    def _lines(self) -> Iterator[str]:
        yield f"costs {self.cost}, {self.noise} noise; errors by their targets:"
        for one in self.questions:
            taken = one.predicted
            cut = (
                "what caps cut is not in it"
                if taken.cut is None
                else f"noise {taken.noise:.0%}, what caps cut {taken.cut:.0%}"
            )
            yield f"  {taken.error:8.0%} of the error asked for ({cut}): {one.text}"

    def _saved(self) -> str:
        return f"{self.saving:.2f} times what asking one by one would cost"


def read_summary(sent: Mapping[str, Any]) -> PlanSummary:
    """What ``as_dict`` has written."""
    kind = TargetSummary if sent["targets"] else PlanSummary
    questions = tuple(
        PlannedQuestion(
            one["question"],
            tuple(one["tables"]),
            Predicted(one["cap"], _number(one["error"]), _number(one["noise"]), one["cut"]),
            one["corrected"],
            one["rows"],
            _number(one["alone"]),
        )
        for one in sent["questions"]
    )
    return kind(sent["cost"], sent["noise"], questions, _number(sent["saving"]), tuple(sent["notes"]))


def _number(sent: float | None) -> float:
    return math.inf if sent is None else float(sent)


def _cut_shown(one: PlannedQuestion) -> str:
    if one.predicted.cut is None:
        return "unknown"
    return f"{one.predicted.cut:.1%}{', corrected' if one.corrected else ''}"


class Planned:
    """What plans have in common, here and of a curator: all is read from the summary."""

    __slots__ = ()
    summary: PlanSummary
    """What each question gets."""

    @property
    def predicted(self) -> tuple[Predicted, ...]:
        """The relative error of each in a group of ``rows`` rows, one deviation: noise and what caps cut.

        Where errors were asked for, what noise and caps take of them.
        """
        return tuple(one.predicted for one in self.summary.questions)

    @property
    def errors(self) -> tuple[float, ...]:
        """The same as one number for each, noise and cut together; noise alone where the cut is unknown."""
        return tuple(one.error for one in self.predicted)

    @property
    def rows(self) -> tuple[int, ...]:
        """How many rows a group has, about."""
        return tuple(one.rows for one in self.summary.questions)

    @property
    def alone(self) -> tuple[float, ...]:
        """The errors, were each question asked by itself for an equal part of the price."""
        return tuple(one.alone for one in self.summary.questions)

    @property
    def saving(self) -> float:
        """The mean error beside that of asking one by one: 0.7 is 30 % less; of targets, the price beside that."""
        return self.summary.saving

    def __str__(self) -> str:
        return str(self.summary)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"
