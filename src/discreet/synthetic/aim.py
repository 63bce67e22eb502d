"""Adaptive measurements: choose the marginal that the model has most wrong, measure it, fit the model again.

Guarantee: ρ-zCDP in total for the whole run, whatever is chosen; every choice and every measurement is an event that
was paid before it was drawn. Everything else follows from released numbers. Proof: spending.md.

The scheme is that of AIM (McKenna, Mullins, Sheldon and Miklau 2022): one-way marginals first; then rounds that choose
by the exponential mechanism among all marginals that the model has room for; less noise as soon as a round has told
little. The estimate is ours: maximum entropy against least squares (model/fit.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import ceil, floor, lcm, pi, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter, EngineFailed
from discreet.mechanisms.statistics.budget import Moves
from discreet.progress import Progress
from discreet.synthetic.binning.open_bins import OpenBins, chosen
from discreet.synthetic.binning.standing_out import levels
from discreet.synthetic.domain import Domain
from discreet.synthetic.model.fit import PRIOR, STEPS, Fit, Measured, fit
from discreet.synthetic.model.graphical import Potentials
from discreet.synthetic.model.junction import tree_cells
from discreet.synthetic.source import ChangesDomain, Clique, Counts, MarginalSource
from discreet.synthetic.spending import Spending, choice_for, gaussian_for
from discreet.synthetic.workload import Workload

CHOOSING = Fraction(1, 10)
"""The share of a round's budget that pays for the choice."""
ROUNDS = 3
"""So many rounds for each column, at the first level of noise."""
MODEL_CELLS = 1 << 20
"""The largest junction tree, in numbers of 8 bytes, unless said."""
MOST_CELLS = 1 << 25
"""Exact counts of all candidates that are in memory together."""
FEWEST = 8
"""Of an ordered column of so many values or more, those that do not stand out from noise are empty."""
NO_NULLS = 3.0
"""A column has no NULL unless its noisy count of them is above so many standard deviations: without one, a column has
some with a chance of 0.14 %; with some, it loses no more than noise hides."""
_LAST_STEPS = 300
_WEIGHT = 1 << 16  # weights are whole numbers, at most about this


class Estimator(Protocol):
    """Whatever fits a model to released marginals; ``fit`` is ours, ``mbi_fit`` that of a library."""

    def __call__(
        self,
        sizes: Sequence[int],
        measured: Sequence[Measured],
        *,
        start: Potentials | None = None,
        base: Potentials | None = None,
        prior: float = PRIOR,
        steps: int = STEPS,
    ) -> Fit:
        """A model; ``start`` are the potentials of an earlier one."""
        ...


@dataclass(frozen=True, eq=False)
class Settings:
    """How a run works; all public."""

    model_cells: int = MODEL_CELLS
    rounds: int = ROUNDS
    prior: float = PRIOR
    steps: int = STEPS
    impossible: Potentials = field(default_factory=dict)
    """Tables with -inf where a combination cannot occur."""
    public: Sequence[Measured] = ()
    """Marginals that are known without looking."""
    estimator: Estimator = fit


@dataclass(frozen=True, eq=False)
class Run:
    """What a run has found: the model, what it was fitted to, and what was paid."""

    domain: Domain
    """With the bins that were chosen."""
    fit: Fit
    measured: tuple[Measured, ...]
    spending: Spending
    rounds: int
    complete: bool
    """Whether the budget was used up; False if it was cancelled."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The marginals that may be measured, with whole weights: the workload's own and all of their parts."""

    weights: Mapping[Clique, int]
    left_out: tuple[Clique, ...] = ()


def candidates(workload: Workload, limit: int = MOST_CELLS) -> Candidates:
    """All parts of the workload's cliques; a part weighs as much as the columns that it shares with each of them.

    Those that do not fit into the memory for exact counts are left out, the largest first.
    """
    wanted = workload.cliques
    parts = {part for clique in wanted for k in range(1, len(clique) + 1) for part in combinations(clique, k)}
    parts |= {(c,) for c in range(len(workload.domain))}
    exact = {part: sum((w * len(set(part) & set(c)) for c, w in wanted.items()), Fraction(0)) for part in parts}
    common = lcm(*{w.denominator for w in exact.values()})
    largest = max(exact.values())
    scale = common if largest * common <= _WEIGHT else _WEIGHT / largest
    ordered = sorted(parts, key=lambda part: (len(part) > 1, workload.domain.size(part), part))
    kept: dict[Clique, int] = {}
    left, total = [], 0
    for part in ordered:
        total += workload.domain.size(part)
        if len(part) > 1 and total > limit:
            left.append(part)
        else:
            kept[part] = max(1, round(exact[part] * scale)) if exact[part] else 0
    return Candidates(kept, tuple(left))


def memory_bytes(domain: Domain, candidates: Candidates, settings: Settings, rows: int = 0) -> int:
    """An upper bound, before starting, of the memory that a run needs besides the data: counts, tree, fit, rows."""
    counts = sum(domain.size(c) for c in candidates.weights)
    largest = max((domain.size(c) for c in candidates.weights), default=0)
    potentials = min(counts, settings.model_cells)
    return 8 * (counts + 4 * largest + 3 * settings.model_cells + 30 * potentials) + 4 * rows * (len(domain) + 8)


def score(exact: Counts, expected: NDArray[np.int64], weight: int, sigma: float) -> int:
    """How wrong the model is about one marginal, in whole numbers: weight (|exact - expected|₁ - what noise would add).

    Guarantee: adding or removing a unit moves it by at most ``weight`` times what the unit moves the marginal in L1;
    ``expected`` and ``sigma`` are public.
    """
    return weight * (int(np.abs(exact - expected).sum()) - floor(sqrt(2 / pi) * sigma * exact.size))


def run(
    source: MarginalSource,
    workload: Workload,
    rho: Fraction,
    *,
    settings: Settings | None = None,
    cancel: Callable[[], bool] | None = None,
    progress: Progress | None = None,
) -> Run:
    """A whole run. ``cancel`` is asked before each round; what was paid by then is kept, and its model comes back."""
    loop = _Loop(source, workload, rho, settings or Settings())
    return loop.run(cancel or (lambda: False), progress)


def _squared(moves: Moves) -> int:
    return moves.l2_squared


class _Loop:
    """One run, step by step."""

    def __init__(self, source: MarginalSource, workload: Workload, rho: Fraction, settings: Settings) -> None:
        self.source, self.domain, self.rho, self.settings = source, source.domain, rho, settings
        self.workload = workload
        self.progress: Progress | None = None
        self.spending = Spending.of(rho, source.scale)
        self.candidates = candidates(workload).weights
        public = {m.clique for m in settings.public}
        self.fixed = [*settings.impossible, *public]
        if tree_cells(self.domain.sizes, self.fixed) > settings.model_cells:
            raise BadParameter(
                "model_cells", settings.model_cells, "must be larger for the public and impossible combinations given"
            )
        self.measured: list[Measured] = list(settings.public)
        self.each = rho / (settings.rounds * len(self.domain))
        # what is too little is refused here, before anything is read
        most = max(w * source.moves(c).l1 for c, w in self.candidates.items())
        gaussian_for((1 - CHOOSING) * self.each, max((source.moves(c) for c in self.candidates), key=_squared), 2)
        choice_for(CHOOSING * self.each, most)
        self.base: dict[Clique, NDArray[np.float64]] = dict(settings.impossible)
        self.rounds = 0
        self.over = False
        self.started = time.monotonic()

    def run(self, cancel: Callable[[], bool], progress: Progress | None) -> Run:
        self.progress = progress
        return self._go_on(cancel, self._choose_bins())

    def _go_on(self, cancel: Callable[[], bool], done: Sequence[Clique]) -> Run:
        """Read all candidates and measure. ``done``: marginals that were measured to choose bins."""
        cliques = list(self.candidates)
        try:
            self.exact: dict[Clique, Counts] = dict(zip(cliques, self.source.marginals(cliques), strict=True))
        except EngineFailed as failed:
            if done:  # what was measured stays measured
                self.progress = None
                failed.again = partial(self._go_on, cancel, done)
            raise
        for clique in [c for c in cliques if len(c) == 1 and c not in self.fixed and c not in done]:
            self._measure(clique, (1 - CHOOSING) * self.each)
            self._find_empty(self.measured[-1])
        self.fit = self._fit()
        complete = True
        try:
            while not self.over:
                if cancel():
                    complete = False
                    break
                self._round()
            self.fit = self._fit(_LAST_STEPS)
        except KeyboardInterrupt:  # what was paid for is kept
            complete = False
        return Run(self.domain, self.fit, tuple(self.measured), self.spending, self.rounds, complete)

    def _choose_bins(self) -> list[Clique]:
        """Measure columns of open bins over their grids, and go on with the bins that are chosen from that."""
        kept = {c for clique in self.fixed for c in clique} | self.workload.conditioned
        names = {c: name for c, name in enumerate(self.domain) if c not in kept}
        opened = {c: column for c, name in names.items() if isinstance(column := self.domain[name], OpenBins)}
        grids = {c: column.grid for c, column in opened.items()}
        if not grids or not isinstance(self.source, ChangesDomain):
            return []
        fine = self.source.with_domain(self.domain.with_columns({names[c]: grid for c, grid in grids.items()}))
        columns = {}
        for c, exact in zip(grids, fine.marginals([(c,) for c in grids]), strict=True):
            price = (1 - CHOOSING) * self.each
            measured = self.spending.measure((c,), exact, fine.moves((c,)), price, f"({names[c]}), to choose its bins")
            made, noisy, variance = chosen(grids[c], measured.noisy.astype(np.float64), measured.variance)
            columns[names[c]] = replace(made, step=opened[c].step)
            self.measured.append(Measured((c,), noisy, variance))
        self.source = fine.with_domain(self.domain.with_columns(columns))
        self.domain = self.source.domain
        for measured_column in self.measured[-len(grids) :]:
            self._keep_out(measured_column, np.zeros(self.domain.sizes[measured_column.clique[0]]))
        self.candidates = candidates(replace(self.workload, domain=self.domain)).weights
        return [(c,) for c in grids]

    def _find_empty(self, measured: Measured) -> None:
        """Values of an ordered column that do not stand out from noise are empty, and so is NULL of any column."""
        column = self.domain[self.domain.columns[measured.clique[0]]]
        logs = np.zeros(column.size)
        if column.ordered and column.values >= FEWEST:
            stand_out = levels(measured.noisy[: column.values].astype(np.float64), measured.variance)
            logs[: column.values] = np.where(stand_out > 0, 0.0, -np.inf) if stand_out.any() else 0.0
        self._keep_out(measured, logs)

    def _keep_out(self, measured: Measured, logs: NDArray[np.float64]) -> None:
        """What cannot occur in a column: codes of which these are -inf; and NULL, where its count is that of noise."""
        column = self.domain[self.domain.columns[measured.clique[0]]]
        if column.nullable and measured.noisy[-1] <= NO_NULLS * sqrt(measured.variance):
            logs[-1] = -np.inf
        if np.isneginf(logs).any() and self.settings.estimator is fit:
            self.base[measured.clique] = logs

    def _round(self) -> None:
        left = self.spending.left
        last = self.over = left < 2 * self.each
        price = left if last else self.each
        sigma = sqrt(self._moves_most() ** 2 / (2 * float((1 - CHOOSING) * price)))
        clique = self._choose(price * CHOOSING, sigma * self.source.scale, full=last)
        before = self._expected(clique)
        # all that is left: rounding of earlier prices goes into the last measurement
        self._measure(clique, self.spending.left if last else (1 - CHOOSING) * price)
        self.fit = self._fit()
        self.rounds += 1
        learned = float(np.abs(self._expected(clique) - before).sum())
        if learned <= sqrt(2 / pi) * sigma * before.size:
            self.each *= 4
        self._tell_round()

    def _choose(self, rho: Fraction, sigma: float, *, full: bool) -> Clique:
        share = 1.0 if full else float(self.spending.charged.rho / self.rho)
        room = max(self.settings.model_cells * share, self.fit.model.tree.cells)
        have = [m.clique for m in self.measured] + self.fixed
        able = [
            c
            for c, weight in self.candidates.items()
            if weight and (self.fit.model.tree.home(c) is not None or tree_cells(self.domain.sizes, [*have, c]) <= room)
        ]
        scale = self.source.scale
        scores = [
            score(self.exact[c], np.rint(self._expected(c) * scale).astype(np.int64), self.candidates[c], sigma)
            for c in able
        ]
        sensitivity = max(self.candidates[c] * self.source.moves(c).l1 for c in able)
        return able[self.spending.choose(scores, sensitivity, rho, f"one of {len(able)} marginals")]

    def _measure(self, clique: Clique, rho: Fraction) -> None:
        names = ", ".join(self.domain.columns[c] for c in clique)
        self.measured.append(
            self.spending.measure(clique, self.exact[clique], self.source.moves(clique), rho, f"({names})")
        )

    def _fit(self, steps: int | None = None) -> Fit:
        start = self.fit.potentials if hasattr(self, "fit") else None
        return self.settings.estimator(
            self.domain.sizes,
            self.measured,
            start=start,
            base=self.base,
            prior=self.settings.prior,
            steps=steps or self.settings.steps,
        )

    def _expected(self, clique: Clique) -> NDArray[np.float64]:
        return self.fit.model.marginal(clique) * self.fit.total

    def _moves_most(self) -> float:
        """In rows."""
        return sqrt(max(self.source.moves(c).l2_squared for c in self.candidates)) / self.source.scale

    def _tell(self, doing: str) -> None:
        if self.progress is not None:
            self.progress.step(doing)

    def _tell_round(self) -> None:
        used = float(self.spending.charged.rho / self.rho)
        spent = time.monotonic() - self.started
        self._tell(
            f"round {self.rounds}, {used:.0%} of the budget, about {ceil(spent * (1 - used) / max(used, 0.01))} s left"
        )
