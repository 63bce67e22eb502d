"""Synthetic: rows that look like the data, the model they came from, and how good both are.

Promise: everything here follows from what was released, so it is free, as often as one likes; except ``compare``,
which looks at the data again and pays for it.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.answer import Answer
from discreet.errors import BadParameter
from discreet.exact import Number, positive, significant
from discreet.mechanisms.statistics.budget import Moves
from discreet.mechanisms.statistics.error_bounds import Scaled, Sums
from discreet.messages import Message
from discreet.picture import new_figure
from discreet.privacy.promises.events import Composed, Event
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.receipt import Receipt
from discreet.synthetic.aim import Run
from discreet.synthetic.domain import Domain
from discreet.synthetic.model.rows import draw_rows
from discreet.synthetic.predicate import Predicate, predicate
from discreet.synthetic.public_rows import PublicRows
from discreet.synthetic.source import MarginalSource
from discreet.synthetic.spending import Spending, gaussian_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STORED = 1 << 22
"""Rows of at most so many values are kept in a ledger."""


@dataclass(frozen=True, slots=True)
class Quality:
    """One measured marginal: how far the model is from what was measured, and how far noise alone would put it."""

    columns: tuple[str, ...]
    cells: int
    sigma: float
    distance: float
    """The L1 distance of the model from the noisy table, as a share of all rows."""
    noise: float
    """What the noise alone is expected to make it; a model that fits is not far above it."""


@dataclass(frozen=True, eq=False)
class Synthetic(PublicRows):
    """Made by ``synthesize``."""

    domain: Domain
    run: Run
    codes: NDArray[np.int32]
    promise: Approx | ZCDP | Pure
    """What all of it together keeps: the budget, also of a run that stopped early."""
    memory: int
    """The bound on memory, in bytes, that was stated before starting."""
    receipt: Receipt | None = None
    """What it was paid with, if a session paid for it."""
    notes: tuple[Message, ...] = ()
    """What a session chose for it: caps, bounds; and what it paid for that."""
    max_rows: int | None = None
    """How many rows of a unit counted in a session's table: what it is compared with counts as many."""

    # --- rows -------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.codes)

    def to_arrow(self) -> Any:
        """The rows as an Arrow table. Values are drawn evenly inside bins and stretches of days; inside bins that were
        chosen, as what was measured is spread.
        """
        return self.domain.decode(self.codes)

    def draw(self, rows: int) -> Any:
        """More rows of the same model, as an Arrow table. Free."""
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
            raise BadParameter("rows", rows, "must be an integer, at least 1")
        return self.domain.decode(draw_rows(self.run.fit.model, rows, np.random.default_rng()))

    # --- questions --------------------------------------------------------------------------------------------------

    @property
    def total(self) -> float:
        """About how many rows the data has."""
        return self.run.fit.total

    @property
    def event(self) -> Event:
        """All that was paid for, in order."""
        return Composed([event for _, event in self.run.spending.events])

    def marginal(self, *columns: str) -> NDArray[np.float64]:
        """The model's counts for each combination of these columns' codes, in the order that was asked."""
        clique = self.domain.places(columns)
        table = self.run.fit.model.marginal(clique) * self.total
        return table.transpose([clique.index(self.domain.places([name])[0]) for name in columns])

    def count(self, where: str | Predicate) -> Answer:
        """How many rows satisfy a condition, by the model. No error bar is known; ``report`` says how well it fits."""
        condition = predicate(self.domain, where)
        value = float(condition.count(self.run.fit.model.marginal(condition.clique))) * self.total
        return Answer(value=value, event=Composed([]), cost="nothing", story=("asked the model, not the data",))

    # --- quality ----------------------------------------------------------------------------------------------------

    def report(self) -> list[Quality]:
        """How well the model fits what was measured, marginal by marginal, the worst first. Free."""
        qualities = []
        for m in self.run.measured:
            if not m.variance:
                continue
            off = float(np.abs(self.run.fit.model.marginal(m.clique) * self.total - m.noisy).sum())
            noise = sqrt(2 / pi * m.variance) * m.noisy.size
            names = tuple(self.domain.columns[c] for c in m.clique)
            qualities.append(Quality(names, m.noisy.size, sqrt(m.variance), off / self.total, noise / self.total))
        return sorted(qualities, key=lambda q: q.noise - q.distance)

    def marginals_named(self, columns: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
        """Marginals by their columns, checked."""
        if isinstance(columns, str) or not columns or any(isinstance(names, str) or not names for names in columns):
            raise BadParameter("columns", columns, 'must be a list of marginals, such as [("clinic", "smoker")]')
        marginals = [tuple(names) for names in columns]
        for names in marginals:
            self.domain.places(names)
        return marginals

    def compare(self, source: MarginalSource, columns: Sequence[Sequence[str]], *, rho: Number) -> Answer:
        """The L1 distance between data and model for some marginals, as shares: looks at the data and costs ``rho``.

        Guarantee: ρ-zCDP by itself, on top of what the model has cost. A unit moves a distance no further than it
        moves the marginal in L1, so k distances move by at most √k times that in L2.
        """
        price = positive(rho, "rho")
        cliques = [self.domain.places(names) for names in self.marginals_named(columns)]
        most = max(source.moves(c).l1 for c in cliques)
        spending = Spending.of(price, source.scale)
        exact = source.marginals(cliques)
        total = self.total * source.scale
        expected = [np.rint(self.run.fit.model.marginal(c) * total).astype(np.int64) for c in cliques]
        distances = np.array([np.abs(a - b).sum() for a, b in zip(exact, expected, strict=True)], dtype=np.int64)
        moves = Moves(l1=most * len(cliques), l2_squared=most**2 * len(cliques))
        noise = gaussian_for(price, moves, len(cliques))
        noisy = spending.measure((), distances, moves, price, "distances from the model")
        each = Sums(noise, Fraction(1), len(cliques))
        return Answer(
            accuracy=Scaled(each, 1 / (Fraction(self.total) * source.scale)),
            value=np.maximum(noisy.noisy, 0) / self.total,
            event=spending.events[0][1],
            cost=str(spending.charged),
            story=(
                "counted how far data and model are apart",
                f"discrete Gaussian noise of sigma {significant(sqrt(noisy.variance), 4)}",
            ),
        )

    def plot(self) -> Figure:
        """Distance from what was measured, marginal by marginal, beside what noise alone would make it."""
        rows = sorted(self.report(), key=lambda q: q.noise)
        figure = new_figure(8, 0.25 * len(rows) + 1.5)
        axes = figure.subplots()
        place = range(len(rows))
        axes.plot([q.distance for q in rows], place, "o", label="model from the noisy table")
        axes.plot([q.noise for q in rows], place, "|", markersize=12, label="expected of noise alone")
        axes.set_yticks(list(place), [" × ".join(q.columns) for q in rows])
        axes.set_xlabel("L1 distance, share of rows")
        axes.legend()
        return figure

    def to_json(self) -> bytes:
        """What a ledger keeps: columns, rows, what was spent and how; and the rows, as Parquet, where they are few."""
        few = len(self.codes) * len(self.domain) <= STORED
        kept = {
            "synthetic": {
                "columns": list(self.domain.columns),
                "rows": len(self.codes),
                "spent": str(self.promise),
                "complete": self.run.complete,
                "story": self.explain().splitlines(),
                "report": [[list(q.columns), q.cells, q.sigma, q.distance, q.noise] for q in self.report()],
                "parquet": b64encode(self.to_parquet()).decode() if few else None,
            }
        }
        return json.dumps(kept, separators=(",", ":")).encode()

    def to_parquet(self) -> bytes:
        """The rows as the bytes of a Parquet file; each call draws inside bins anew."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        out = pa.BufferOutputStream()
        pq.write_table(self.to_arrow(), out, compression="zstd")
        return bytes(out.getvalue())

    def explain(self) -> str:
        """What was done and paid, step by step."""
        done = [f"{i}. {step}: {event}" for i, (step, event) in enumerate(self.run.spending.events, 1)]
        end = "" if self.run.complete else " (cancelled: the rest of the budget was not spent)"
        return "\n".join([*map(str, self.notes), *done, f"spent {self.promise}{end}"])

    def __repr__(self) -> str:
        return f"Synthetic({len(self.codes)} rows of {len(self.domain)} columns, spent {self.promise})"
