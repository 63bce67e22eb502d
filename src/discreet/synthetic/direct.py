"""Answer a workload directly: plan what to measure, by the error that is known beforehand; measure; make answers agree.

Guarantee: ρ-zCDP for all answers together, or ε-DP if epsilon is given without delta; the parts of the budget add up to
no more than it. Every answer is unbiased, and its error bar holds for all answers at once. Proof: strategies.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import log, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.answer import CONFIDENCE, confidence_level, how_many
from discreet.arrays import Floats
from discreet.errors import BadParameter
from discreet.exact import Number, integer, positive, significant
from discreet.mechanisms.statistics.budget import Moves
from discreet.messages import Message
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.receipt import Receipt
from discreet.shown import brief, visible
from discreet.synthetic.domain import Domain
from discreet.synthetic.model.fit import Measured
from discreet.synthetic.model.sampled import ATOMS, fit_sampled
from discreet.synthetic.residuals import Interactions
from discreet.synthetic.source import Clique, MarginalSource
from discreet.synthetic.spending import Spending, read_budget
from discreet.synthetic.strategies import COARSE, EXPLICIT, GRID, OPTIMISED, Strategy, identity, least_squares, trees
from discreet.synthetic.synthesize import source_of
from discreet.synthetic.workload import Asked, Question, Workload
from discreet.synthetic.workload import workload as read_workload

JOINT = 1 << 22
"""The largest table over all columns of a workload that is considered."""
RESIDUALS = "residuals"
NAMES = ("marginals", "hierarchical", "least squares", "identity", RESIDUALS, f"{RESIDUALS} and least squares")
_SHARES = 1 << 20


@dataclass(frozen=True, eq=False)
class Block:
    """One marginal, how it is measured, and which questions it answers."""

    clique: Clique
    strategy: Strategy
    questions: tuple[int, ...]
    share: Fraction


@dataclass(frozen=True, eq=False)
class Plan:
    """What to measure, and the error to expect: the root of the weighted mean of all answers' variances. Free.

    >>> best = plans(Domain({"x": range(2), "y": range(3)}), "all 2-way")[0]
    >>> best.name, best.expected_error(rho=2) < best.expected_error(rho=1)
    ('marginals', True)
    """

    name: str
    workload: Workload
    blocks: tuple[Block, ...]
    """Marginals that are measured by themselves."""
    moves: Moves
    error: float
    """For rho = 1, and they shrink with its root; with Laplace noise for epsilon = 1, and they shrink with it."""
    pure: bool = False
    """Whether the noise is Laplace noise, and the budget epsilon alone."""
    interactions: Interactions | None = None
    """What is measured of marginals together, once for all of them."""
    interactions_share: Fraction = Fraction(0)

    __repr__ = brief

    def expected_error(self, rho: Number | None = None, *, epsilon: Number | None = None) -> float:
        """The root mean square error of the answers, for this much budget: rho, or epsilon of a pure plan."""
        if (epsilon is None) is self.pure or (rho is None) is not self.pure:
            raise BadParameter("rho", rho, "must be given for Gaussian noise, and epsilon for Laplace noise")
        return self.error / (float(positive(epsilon, "epsilon")) if epsilon is not None else sqrt(float(rho or 0)))


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers, question by question, with the standard deviation of each number."""

    plan: Plan
    values: tuple[Floats, ...]
    deviations: tuple[Floats, ...]
    promise: ZCDP | Approx | Pure
    spending: Spending
    measured: tuple[Measured, ...]

    receipt: Receipt | None = None
    """What a session charged for it."""
    notes: tuple[Message, ...] = ()

    def __repr__(self) -> str:
        """Its tables by number, how many cells each has, and how far off a number is; ``table(0)`` has the numbers."""
        names = [" x ".join(self._columns(question)) or "total" for question in range(len(self.values))]
        bars = self.error_at() if self.plan.pure else self.error_of_each()
        lines = [
            f"{i}: {name}, {how_many(len(bar), 'numbers')}, up to ± {significant(float(np.max(bar)), 2)} (95%)"
            for i, (name, bar) in enumerate(zip(names, bars, strict=True))
        ]
        notes = [str(note) for note in self.notes[:1]]
        return visible("\n".join([f"{how_many(len(lines), 'tables')}, spent {self.promise}", *lines, *notes]))

    def _columns(self, question: int) -> list[str]:
        return [self.plan.workload.domain.columns[c] for c in self.plan.workload.questions[question].clique]

    def table(self, question: int = 0, confidence: Number = CONFIDENCE) -> Any:
        """One marginal as an Arrow table: its columns, ``count``, and ``error``, a bar for each number by itself.

        >>> found = answer({"x": [0, 1, 1]}, [("x",)], domain={"x": range(2)}, rho=10**6)
        >>> [round(n) for n in found.table().column("count").to_pylist()]
        [1, 2, 0]
        """
        import pyarrow as pa

        marginal, domain = self.plan.workload.questions[question], self.plan.workload.domain
        if marginal.rows is not None:
            raise BadParameter("question", question, "must be a marginal: others are plain lists of numbers")
        bars = self.error_at(confidence) if self.plan.pure else self.error_of_each(confidence)
        names = self._columns(question)
        codes = np.stack(np.unravel_index(np.arange(len(self[question])), domain.shape(marginal.clique)), axis=1)
        labels = [[*domain[name].keys, None] for name in names]  # NULL's code is the last
        keys = [pa.array([listed[c] for c in column]) for listed, column in zip(labels, codes.T, strict=True)]
        return pa.table([*keys, pa.array(self[question]), pa.array(bars[question])], names=[*names, "count", "error"])

    def to_json(self) -> bytes:
        """What a ledger keeps: the plan, the numbers and their bars."""
        columns = [self._columns(question) for question in range(len(self.plan.workload.questions))]
        kept = {
            "plan": self.plan.name,
            "spent": str(self.promise),
            "columns": columns,
            "values": [v.tolist() for v in self.values],
            "deviations": [d.tolist() for d in self.deviations],
        }
        return json.dumps({"tabulated": kept}, separators=(",", ":")).encode()

    def rows(self, count: int) -> Any:
        """Rows that agree with all answers as well as rows can, as an Arrow table. Free; however marginals overlap."""
        wanted = integer(count, "count", at_least=1)
        domain = self.plan.workload.domain
        draw = np.random.default_rng()
        model, _ = fit_sampled(domain.sizes, self.measured, atoms=min(max(ATOMS, wanted), 4 * ATOMS))
        return domain.decode(model.draw(wanted, draw), draw)

    def __getitem__(self, question: int) -> Floats:
        return self.values[question]

    def error_at(self, confidence: Number = CONFIDENCE) -> tuple[Floats, ...]:
        """Error bars that hold for all numbers at once, by a bound on the tail of sums of the noise (strategies.md)."""
        miss = float(1 - confidence_level(confidence))
        many = log(2 * sum(len(d) for d in self.deviations) / miss)
        return tuple(d * (many + 0.7 if self.plan.pure else sqrt(2 * many)) for d in self.deviations)

    def error_of_each(self, confidence: Number = CONFIDENCE) -> tuple[Floats, ...]:
        """Error bars that hold for each number by itself, by the normal law; shorter than ``error_at`` (residuals.md).

        For Gaussian noise alone.
        """
        if self.plan.pure:
            raise BadParameter("plan", self.plan.name, "must have Gaussian noise; use error_at")
        times = NormalDist().inv_cdf(float(1 - (1 - confidence_level(confidence)) / 2))
        return tuple(d * times for d in self.deviations)


def plans(domain: Domain, workload: Asked, *, max_rows: int = 1, pure: bool = False) -> list[Plan]:
    """All plans for a workload, the best first. Free: nothing here sees data. ``pure``: with Laplace noise.

    >>> from discreet.synthetic.workload import prefixes
    >>> [plan.name for plan in plans(Domain({"age": range(64)}), [prefixes("age")])][0]
    'least squares'
    """
    wanted = read_workload(domain, workload)
    return _plans(wanted, Moves(max_rows, max_rows**2), NAMES, pure=pure)


def _plans(wanted: Workload, moves: Moves, names: Sequence[str], *, grid: int = GRID, pure: bool = False) -> list[Plan]:
    apart = [name for name in NAMES if name in names and name != "identity" and not name.startswith(RESIDUALS)]
    plans = [_apart(wanted, moves, name, grid, pure=pure) for name in apart]
    if not pure:
        plans += [_interacting(wanted, moves, name, grid) for name in names if name.startswith(RESIDUALS)]
    columns = tuple(sorted({c for q in wanted.questions for c in q.clique}))
    if "identity" in names and wanted.domain.size(columns) <= JOINT and len(wanted.cliques) > 1:
        plans.append(_joint(wanted, columns, moves, pure=pure))
    return sorted((plan for plan in plans if plan is not None), key=lambda plan: float(f"{plan.error:.9g}"))


def answer(
    table: Any,
    workload: Asked,
    *,
    domain: Domain | Mapping[str, Any] | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    plan: str | None = None,
) -> Answers:
    """The answers to a workload, by the plan with the least expected error, or the one that is named.

    ``table`` is a table with its ``domain``, as in ``synthesize``, or a source. With epsilon and no delta the noise is
    Laplace noise, and the promise is pure.

    >>> from discreet.synthetic.source import Rows
    >>> rows = Rows(Domain({"x": range(4)}), np.array([[0], [1], [1], [3]]))
    >>> answer(rows, [("x",)], rho=10**6)[0].round().tolist()
    [1.0, 2.0, 0.0, 1.0, 0.0]
    """
    pure = epsilon is not None and delta is None and rho is None
    budget, slack = (positive(epsilon or 0, "epsilon"), None) if pure else read_budget(epsilon, delta, rho)
    source = source_of(table, domain, unit, max_rows)
    wanted = read_workload(source.domain, workload)
    grid = GRID if source.scale == 1 else COARSE
    possible = _plans(wanted, _most(source, wanted), NAMES if plan is None else [plan], grid=grid, pure=pure)
    if not possible:
        raise BadParameter("plan", plan, f"must be one of {', '.join(NAMES)} that this workload has a use for")
    chosen = possible[0]
    spending = (Spending.pure if pure else Spending.of)(budget, source.scale)
    measure = spending.measure_pure if pure else spending.measure
    counted = chosen.interactions.counted if chosen.interactions is not None else []
    exact = source.marginals([*counted, *(block.clique for block in chosen.blocks)])  # all before any noise
    together = None
    if chosen.interactions is not None:
        share = budget * chosen.interactions_share
        together = chosen.interactions.measure(source, exact[: len(counted)], share, spending)
    tables, variances = [], []
    for block, counts in zip(chosen.blocks, exact[len(counted) :], strict=True):
        moves = block.strategy.moves(source.moves(block.clique))
        names = ", ".join(source.domain.columns[c] for c in block.clique)
        taken = block.strategy.measured(counts.ravel())
        noisy = measure(block.clique, taken, moves, budget * block.share, f"({names}) by {block.strategy.name}")
        tables.append(block.strategy.estimate(noisy.noisy).reshape(counts.shape))
        variances.append(noisy.variance)
    _agree(source.domain, chosen.blocks, tables, variances)
    values, deviations = [], []
    for place, question in enumerate(wanted.questions):
        at = next((i for i, block in enumerate(chosen.blocks) if place in block.questions), 0)
        if together is not None and (not chosen.blocks or place not in chosen.blocks[at].questions):
            values.append(np.asarray(question.of(together.table(question.clique)), dtype=np.float64))
            deviations.append(together.deviation(question))
        else:
            values.append(_value(question, tables[at], chosen.blocks[at].clique))
            deviations.append(np.sqrt(variances[at] * _spread(source.domain, question, chosen.blocks[at])))
    measured = tuple(
        Measured(block.clique, table, variance * float(block.strategy.spread(None).mean()))
        for block, table, variance in zip(chosen.blocks, tables, variances, strict=True)
    )
    if together is not None:
        measured += together.measured([q.clique for q in wanted.questions if q.rows is None or not chosen.blocks])
    return Answers(chosen, tuple(values), tuple(deviations), spending.promise(slack), spending, measured)


def _most(source: MarginalSource, wanted: Workload) -> Moves:
    """How far a marginal moves at most, in rows, rounded up: for planning only."""
    each = [source.moves(clique) for clique in wanted.cliques]
    scale = source.scale
    return Moves(-(-max(m.l1 for m in each) // scale), -(-max(m.l2_squared for m in each) // scale**2))


# --- planning -----------------------------------------------------------------------------------------------------


def _apart(wanted: Workload, moves: Moves, name: str, grid: int, *, pure: bool) -> Plan | None:
    """Each marginal by itself; the total variance Σ v/share is least if shares are as the roots of v.

    With Laplace noise it is Σ v/share², and least if shares are as the cube roots.
    """
    groups = {clique: [i for i, q in enumerate(wanted.questions) if q.clique == clique] for clique in wanted.cliques}
    chosen: list[tuple[Clique, Strategy, float]] = []
    for clique, places in groups.items():
        options = _options(wanted, clique, places, name, grid)
        costs = [_cost(wanted, places, option, moves, pure=pure) for option in options]
        best = int(np.argmin(costs))
        chosen.append((clique, options[best], costs[best]))
    if name != "marginals" and all(strategy.matrix is None for _, strategy, _ in chosen):
        return None
    roots = [max(cost ** (1 / 3 if pure else 1 / 2), 1e-9) for _, _, cost in chosen]
    shares = [Fraction(max(1, int(root / sum(roots) * _SHARES))) for root in roots]
    blocks = tuple(
        Block(clique, strategy, tuple(groups[clique]), share / sum(shares))
        for (clique, strategy, _), share in zip(chosen, shares, strict=True)
    )
    power = 2 if pure else 1
    total = sum(cost / float(block.share) ** power for (_, _, cost), block in zip(chosen, blocks, strict=True))
    return Plan(name, wanted, blocks, moves, sqrt(total / _numbers(wanted)), pure)


def _joint(wanted: Workload, columns: Clique, moves: Moves, *, pure: bool) -> Plan:
    """One table over all columns, summed up for each question."""
    places = tuple(range(len(wanted.questions)))
    block = Block(columns, identity(wanted.domain.size(columns)), places, Fraction(1))
    each = float(moves.l1**2 * 2) if pure else moves.l2_squared / 2
    total = each * sum(float(q.weight) * float(_spread(wanted.domain, q, block).sum()) for q in wanted.questions)
    return Plan("identity", wanted, (block,), moves, sqrt(total / _numbers(wanted)), pure)


def _interacting(wanted: Workload, moves: Moves, name: str, grid: int) -> Plan | None:
    """Interactions, of all questions or of marginals alone; then other questions as "least squares" has them.

    Of two independent parts with variances C₁/s and C₂/(1 - s) the sum is least where shares are as the roots.
    """
    rest = [i for i, q in enumerate(wanted.questions) if q.rows is not None] if name != RESIDUALS else []
    together = [q for i, q in enumerate(wanted.questions) if i not in rest]
    if (name != RESIDUALS and not rest) or not together:
        return None
    interactions = Interactions.of(wanted.domain, together, moves)
    if not rest:
        error = sqrt(interactions.total_variance / _numbers(wanted))
        return Plan(name, wanted, (), moves, error, False, interactions, Fraction(1))
    other = Workload(wanted.domain, tuple(wanted.questions[i] for i in rest))
    best = _apart(other, moves, "least squares", grid, pure=False) or _apart(
        other, moves, "marginals", grid, pure=False
    )
    if best is None:
        return None
    roots = sqrt(interactions.total_variance), best.error * sqrt(_numbers(other))
    share = Fraction(max(1, int(roots[0] / sum(roots) * _SHARES)), _SHARES)
    blocks = tuple(
        replace(block, questions=tuple(rest[i] for i in block.questions), share=block.share * (1 - share))
        for block in best.blocks
    )
    error = sqrt((roots[0] ** 2 / float(share) + roots[1] ** 2 / float(1 - share)) / _numbers(wanted))
    return Plan(name, wanted, blocks, moves, error, False, interactions, share)


def _numbers(wanted: Workload) -> float:
    return sum(float(q.weight) * (q.answers or wanted.domain.size(q.clique)) for q in wanted.questions)


def _options(wanted: Workload, clique: Clique, places: Sequence[int], name: str, grid: int) -> list[Strategy]:
    cells = wanted.domain.size(clique)
    options = [identity(cells)]
    ordered = len(clique) == 1 and wanted.domain[wanted.domain.columns[clique[0]]].ordered
    if name == "hierarchical" and ordered and cells <= EXPLICIT:
        options += trees(cells)
    if name == "least squares" and cells <= OPTIMISED:
        gram = np.zeros((cells, cells))
        for place in places:
            question = wanted.questions[place]
            rows = np.eye(cells) if question.rows is None else question.rows.astype(np.float64)
            gram += float(question.weight) * rows.T @ rows
        best = least_squares(gram, grid)
        options += [] if best is None else [best]
    return options


def _cost(wanted: Workload, places: Sequence[int], strategy: Strategy, moves: Moves, *, pure: bool) -> float:
    """The weighted sum of variances at rho = 1; with Laplace noise, at epsilon = 1."""
    spread = sum(
        float(wanted.questions[p].weight) * float(strategy.spread(wanted.questions[p].rows).sum()) for p in places
    )
    moved = strategy.moves(moves)
    return spread * (2.0 * moved.l1**2 if pure else moved.l2_squared / 2)


# --- answers ------------------------------------------------------------------------------------------------------


def _value(question: Question, table: Floats, clique: Clique) -> Floats:
    dropped = tuple(i for i, c in enumerate(clique) if c not in question.clique)
    return np.asarray(question.of(table.sum(axis=dropped) if dropped else table), dtype=np.float64)


def _spread(domain: Domain, question: Question, block: Block) -> Floats:
    if question.clique == block.clique:
        return block.strategy.spread(question.rows)
    each = domain.size(block.clique) // domain.size(question.clique)  # cells that are summed for one of the marginal
    return identity(domain.size(question.clique)).spread(question.rows) * each


def _agree(domain: Domain, blocks: Sequence[Block], tables: list[Floats], variances: list[float]) -> None:
    """Make tables agree on what they share, in place: the smaller shared parts first, by inverse-variance means.

    Only tables whose cells were measured themselves take part: their noise is alike in all cells, and for such tables
    no answer's variance grows (strategies.md).
    """
    plain = [i for i, block in enumerate(blocks) if block.strategy.matrix is None]
    shared = {tuple(sorted(set(blocks[i].clique) & set(blocks[j].clique))) for i, j in combinations(plain, 2)}
    while len(shared) < len(wider := shared | {tuple(sorted(set(a) & set(b))) for a, b in combinations(shared, 2)}):
        shared = wider
    for part in sorted(shared, key=len):
        holding = [i for i in plain if set(part) <= set(blocks[i].clique)]
        many = [domain.size(blocks[i].clique) // domain.size(part) for i in holding]
        sums = [
            tables[i].sum(axis=tuple(k for k, c in enumerate(blocks[i].clique) if c not in part), keepdims=True)
            for i in holding
        ]
        weights = np.array([1 / (variances[i] * n) for i, n in zip(holding, many, strict=True)])
        flat = [s.reshape(domain.shape(part)) for s in sums]
        mean = sum(w * s for w, s in zip(weights / weights.sum(), flat, strict=True))
        for i, n, own in zip(holding, many, sums, strict=True):
            tables[i] += (np.asarray(mean).reshape(own.shape) - own) / n
