"""Synthetic rows for a table: one call that reads, pays, measures, fits and draws.

Guarantee: all that comes out is (ε, δ)-differentially private for units added or removed (ρ-zCDP if rho is given), a
unit being a row, or all rows with one value in the unit's column, of which ``max_rows`` count. Proof: spending.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.errors import BadData, BadParameter
from discreet.exact import Number, integer
from discreet.progress import Progress
from discreet.synthetic.aim import MODEL_CELLS, Estimator, Run, Settings, candidates, memory_bytes, run
from discreet.synthetic.columns import Column
from discreet.synthetic.domain import Domain
from discreet.synthetic.model.fit import Measured, fit
from discreet.synthetic.model.rows import draw_rows
from discreet.synthetic.predicate import predicate
from discreet.synthetic.result import Synthetic
from discreet.synthetic.source import MarginalSource, rows_of, then
from discreet.synthetic.spending import read_budget
from discreet.synthetic.workload import Asked
from discreet.synthetic.workload import workload as read_workload

MOST_ROWS = 100_000_000
QUICK = Settings(model_cells=1 << 17, rounds=2, steps=40)


def synthesize(
    table: Any,
    *,
    domain: Domain | Mapping[str, Any] | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    workload: Asked | None = None,
    rows: int | None = None,
    quick: bool = False,
    model_cells: int | None = None,
    impossible: Sequence[str] = (),
    public: Mapping[Sequence[str] | str, Any] | None = None,
    estimator: Estimator = fit,
    memory: int | None = None,
    cancel: Callable[[], bool] | None = None,
    progress: bool | None = None,
) -> Synthetic:
    """A private model of a table, and rows drawn from it.

    ``table`` is an Arrow table, a Polars or pandas frame, a dict of lists, or any ``MarginalSource``.
    ``workload`` says which counts shall be right: every marginal of three columns unless said. ``rows`` is as many as
    the noisy total unless said. ``impossible`` are conditions that no row satisfies; ``public`` are shares that are
    known without looking, by columns. ``memory`` in bytes refuses before anything is spent if it would not be enough.
    ``estimator`` fits the model: ours, or ``mbi_fit`` with the extra ``synth``.
    ``cancel`` is asked between rounds: what was paid by then is kept, and so is Ctrl-C.

    >>> people = {"sex": ["f", "m"] * 500, "smoker": ["no", "no", "no", "yes"] * 250}
    >>> domain = Domain({"sex": ["f", "m"], "smoker": ["no", "yes"]})
    >>> made = synthesize(people, domain=domain, epsilon=10, delta="1e-9", rows=100)
    >>> made.to_arrow().num_rows, made.promise.epsilon <= 10
    (100, True)
    """
    budget, slack = read_budget(epsilon, delta, rho)
    source = source_of(table, domain, unit, max_rows)
    wanted_marginals = read_workload(
        source.domain, workload if workload is not None else f"all {min(3, len(source.domain))}-way"
    )
    wanted = None if rows is None else _rows(rows)
    settings = replace(_settings(source.domain, quick, model_cells, impossible, public), estimator=estimator)
    need = memory_bytes(source.domain, candidates(wanted_marginals), settings, wanted or 0)
    if memory is not None and need > integer(memory, "memory", at_least=1):
        raise BadParameter(
            "memory", memory, f"must be at least {need:,} bytes for this workload and model; coarsen columns"
        )

    def finish(finished: Run) -> Synthetic:
        count = round(finished.fit.total) if wanted is None else wanted
        codes = draw_rows(finished.fit.model, min(count, MOST_ROWS), np.random.default_rng())
        return Synthetic(finished.domain, finished, codes, finished.spending.promise(slack), need)

    with Progress(progress) as shown:
        shown.step(f"counting; at most {need / 1e6:,.0f} MB of memory")
        return then(
            lambda: run(source, wanted_marginals, budget, settings=settings, cancel=cancel, progress=shown),
            finish,
        )


def memory_for(
    domain: Domain, *, workload: Asked | None = None, rows: int = 0, quick: bool = False, model_cells: int | None = None
) -> int:
    """The most bytes that ``synthesize`` needs besides the data, known before it starts. Free.

    >>> memory_for(Domain({"sex": ["f", "m"], "smoker": ["no", "yes"]}), quick=True) < 100_000_000
    True
    """
    wanted_marginals = read_workload(domain, workload if workload is not None else f"all {min(3, len(domain))}-way")
    return memory_bytes(domain, candidates(wanted_marginals), _settings(domain, quick, model_cells, (), None), rows)


def source_of(table: Any, domain: Any, unit: str | None, max_rows: int | None) -> MarginalSource:
    """Where the counts come from: the source that was given, or the rows of a table."""
    if isinstance(table, MarginalSource):
        if domain is not None or unit is not None or max_rows is not None:
            raise BadParameter("domain", "given", "must be left out with unit and max_rows: the source has them")
        return table
    if domain is None:
        raise BadParameter("domain", None, "must be given: the values of each column, never read from the data")
    return rows_of(table, as_domain(domain), unit=unit, max_rows=max_rows)


def as_domain(domain: Domain | Mapping[str, Column | Any]) -> Domain:
    """A domain, or a mapping that one is made of."""
    return domain if isinstance(domain, Domain) else Domain(domain)


def _rows(rows: int) -> int:
    count = integer(rows, "rows", at_least=1)
    if count > MOST_ROWS:
        raise BadParameter("rows", rows, f"must be at most {MOST_ROWS:,}")
    return count


def _settings(
    domain: Domain,
    quick: bool,
    model_cells: int | None,
    impossible: Sequence[str],
    public: Mapping[Sequence[str] | str, Any] | None,
) -> Settings:
    base = QUICK if quick else Settings()
    cells = base.model_cells if model_cells is None else integer(model_cells, "model_cells", at_least=1)
    if cells < sum(domain.sizes):
        raise BadParameter("model_cells", cells, f"must be at least {sum(domain.sizes)}: one number for each value")
    if cells > 64 * MODEL_CELLS:
        raise BadParameter("model_cells", cells, f"must be at most {64 * MODEL_CELLS:,}")
    return Settings(
        model_cells=cells,
        rounds=base.rounds,
        steps=base.steps,
        impossible=_impossible(domain, impossible),
        public=_public(domain, public or {}),
    )


def _impossible(domain: Domain, conditions: Sequence[str]) -> dict[tuple[int, ...], Any]:
    if isinstance(conditions, str):
        raise BadParameter("impossible", conditions, "must be a list of conditions")
    tables: dict[tuple[int, ...], Any] = {}
    for where in conditions:
        p = predicate(domain, where)
        if p.table.all():
            raise BadParameter("impossible", where, "must leave something possible")
        table = np.where(p.table, -np.inf, 0.0)
        tables[p.clique] = np.minimum(tables.get(p.clique, 0.0), table)
    return tables


def _public(domain: Domain, given: Mapping[Sequence[str] | str, Any]) -> tuple[Measured, ...]:
    """Known shares as counts of a large table with little noise: they weigh more than anything that is measured."""
    measured = []
    for names, shares in given.items():
        columns = (names,) if isinstance(names, str) else tuple(names)
        clique = domain.places(columns)
        order = [columns.index(domain.columns[c]) for c in clique]
        table = np.asarray(shares, dtype=np.float64)
        if table.shape != tuple(domain[name].size for name in columns) or not np.isfinite(table).all():
            raise BadData(
                f"public shares of {', '.join(columns)} must have one finite number for each code, NULL's last"
            )
        if (table < 0).any() or table.sum() <= 0:
            raise BadData(f"public shares of {', '.join(columns)} must be at least 0, and not all 0")
        measured.append(Measured(clique, table.transpose(order) / table.sum(), 0.0))
    return tuple(measured)
