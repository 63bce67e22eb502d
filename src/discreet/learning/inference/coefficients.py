"""A regression table: coefficients with standard errors, intervals of two kinds, p-values; printed and exported.

Guarantee: it holds released numbers and what follows from them, so it may be published and costs nothing more. An
interval is infinite, and a standard error too, where noise leaves a coefficient open: never a number that means
nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import Floats
from discreet.errors import BadParameter, MissingExtra
from discreet.exact import Number, number, significant
from discreet.learning.inference.noise_law import chance_beyond, quantile

if TYPE_CHECKING:
    import pandas as pd

POPULATION, TABLE = "population", "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """What a regression released, term by term, the intercept first.

    ``variances`` are those of the estimates around the population that the people were drawn from (sampling and
    noise), ``noise_variances`` those around the regression of this very table (noise alone). ``excess`` is the fourth
    cumulant of the noise in each estimate: 0 where all noise is normal.

    >>> found = Coefficients(
    ...     terms=("Intercept", "age"),
    ...     estimates=np.array([1.0, 0.5]),
    ...     variances=np.array([0.04, 0.01]),
    ...     noise_variances=np.array([0.01, 0.0]),
    ...     excess=np.zeros(2),
    ...     rows=5000.0,
    ...     kind="Linear regression of hours",
    ...     facts={"R-squared": 0.31},
    ... )
    >>> found.intervals(0.95).round(3).tolist()
    [[0.608, 1.392], [0.304, 0.696]]
    >>> print(found)
    Linear regression of hours: about 5,000 rows
    term            coef   std err   p-value  95% interval (population)
    Intercept      1.000    0.2000    <0.001  0.6080 to 1.392
    age           0.5000    0.1000    <0.001  0.3040 to 0.6960
    R-squared 0.310
    """

    terms: tuple[str, ...]
    estimates: Floats
    variances: Floats
    noise_variances: Floats
    excess: Floats
    rows: float
    """About how many rows (of people with a weight of 1) there were: a released number; NaN where it was not."""
    kind: str
    degrees: float = math.inf
    facts: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    released: tuple[Any, ...] = ()
    """The answers that the table was made of, with their cost and receipt."""

    @property
    def intercept_(self) -> float:
        """The first estimate."""
        return float(self.estimates[0])

    @property
    def coef_(self) -> Floats:
        """The others."""
        return self.estimates[1:]

    @property
    def standard_errors(self) -> Floats:
        """Around the population: sampling and noise; infinite where nothing is known."""
        return np.asarray(np.sqrt(self.variances))

    @property
    def known(self) -> Floats:
        """Which estimates have an interval."""
        return np.isfinite(self.variances)

    @property
    def p_values(self) -> Floats:
        """Two-sided, of a population in which the coefficient is 0; 1 where nothing is known."""
        return np.array([
            chance_beyond(abs(e) / math.sqrt(v), self._excess(x, v), self.degrees) if 0 < v < math.inf else 1.0
            for e, v, x in zip(self.estimates, self.variances, self.excess, strict=True)
        ])  # fmt: skip

    def intervals(self, confidence: Number = "0.95", *, of: str = POPULATION) -> Floats:
        """An array (terms, 2), intercept first.

        ``of="population"``: for what the people were drawn from, so sampling and noise count. ``of="table"``: for the
        regression that this very table gives without privacy, so noise alone counts.
        """
        level = float(number(confidence, "confidence"))
        if not 0 < level < 1:
            raise BadParameter("confidence", confidence, "must lie between 0 and 1")
        if of not in {POPULATION, TABLE}:
            raise BadParameter("of", of, 'must be "population" or "table"')
        used = self.variances if of == POPULATION else self.noise_variances
        degrees = self.degrees if of == POPULATION else math.inf
        away = np.array([
            math.sqrt(v) * quantile(level, self._excess(x, v), degrees) if math.isfinite(v) else math.inf
            for v, x in zip(used, self.excess, strict=True)
        ])  # fmt: skip
        return np.stack([self.estimates - away, self.estimates + away], axis=1)

    @staticmethod
    def _excess(fourth: float, variance: float) -> float:
        return fourth / variance**2 if variance > 0 and math.isfinite(fourth) else 0.0

    # --- shown and exported -----------------------------------------------------------------------------------------

    def to_dict(self, confidence: Number = "0.95") -> dict[str, list[Any]]:
        """One list for each column of the table; None where nothing is known."""
        ends = self.intervals(confidence)
        columns: dict[str, Any] = {
            "term": self.terms, "coef": self.estimates, "std err": self.standard_errors, "p": self.p_values,
            "low": ends[:, 0], "high": ends[:, 1],
        }  # fmt: skip
        known = self.known.tolist()
        return {
            name: [v if name == "term" else float(v) if k else None for v, k in zip(column, known, strict=True)]
            for name, column in columns.items()
        }

    def to_json(self, confidence: Number = "0.95") -> str:
        """The table as JSON."""
        rows = {
            "kind": self.kind,
            "rows": round(self.rows) if math.isfinite(self.rows) else None,
            **self.to_dict(confidence),
        }
        facts = {name: value if math.isfinite(value) else None for name, value in self.facts.items()}
        return json.dumps(rows | {"facts": facts, "notes": list(self.notes)})

    def to_pandas(self, confidence: Number = "0.95") -> pd.DataFrame:
        """The table with one row for each term."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra("tables as DataFrames", extra="frames") from None
        return pandas.DataFrame(self.to_dict(confidence)).set_index("term")

    def to_markdown(self, confidence: Number = "0.95") -> str:
        """The table for a paper in Markdown."""
        head, *rows = self._cells(confidence)
        lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def to_latex(self, confidence: Number = "0.95") -> str:
        """The table for a paper in LaTeX."""
        head, *rows = [[cell.replace("%", r"\%").replace("_", r"\_") for cell in r] for r in self._cells(confidence)]
        inside = "\n".join(" & ".join(row) + r" \\" for row in rows)
        columns = "l" + "r" * (len(head) - 1)
        lines = [f"\\begin{{tabular}}{{{columns}}}", r"\hline", " & ".join(head) + r" \\", r"\hline", inside]
        return "\n".join([*lines, r"\hline", r"\end{tabular}"])

    def summary(self, confidence: Number = "0.95") -> str:
        """The table as text, as statsmodels prints it."""
        head, *rows = self._cells(confidence)
        wide = max(len(row[0]) for row in (head, *rows))
        counted = f": about {max(self.rows, 0):,.0f} rows" if math.isfinite(self.rows) else ""
        lines = [self.kind + counted]
        for term, *numbers, ends in (head, *rows):
            lines.append(
                f"{term:<{wide}}  " + " ".join(f"{cell:>9}" for cell in numbers[:2]) + f" {numbers[2]:>9}  {ends}"
            )
        lines += [f"{name} {value:.3f}" for name, value in self.facts.items()]
        return "\n".join([*lines, *self.notes])

    def _cells(self, confidence: Number) -> list[list[str]]:
        percent = f"{significant(float(100 * number(confidence, 'confidence')), 6)}%"
        table = [["term", "coef", "std err", "p-value", f"{percent} interval (population)"]]
        ends, errors, chances = self.intervals(confidence), self.standard_errors, self.p_values
        for i, term in enumerate(self.terms):
            if not math.isfinite(errors[i]):
                table.append([term, "-", "-", "-", "nothing known: the noise is too large"])
                continue
            p = "<0.001" if chances[i] < 0.001 else f"{chances[i]:.3f}"
            low, high = (_short(end) for end in ends[i])
            table.append([term, _short(float(self.estimates[i])), _short(float(errors[i])), p, f"{low} to {high}"])
        return table

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return self.summary()


def _short(value: float) -> str:
    """Four digits.

    >>> _short(1234.5), _short(0.0012345)
    ('1234', '0.001234')
    """
    return f"{value:#.4g}".rstrip(".") if 1e-4 <= abs(value) < 1e6 else significant(value, 3)
