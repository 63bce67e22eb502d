"""Many questions of one table, at one price: synthetic rows, tables that agree, a stream of questions, comparisons.

Promise: one charge for everything that follows, paid at the first look at the data. What was paid for and could not be
read may be asked for again under the same payment. Proofs: synthetic/spending.md, synthetic/pmw.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

from discreet.answer import CONFIDENCE, Answer, confidence_level
from discreet.errors import BadParameter, NoEstimate, NotATheorem
from discreet.exact import Number
from discreet.privacy.budgets.filters import Filter, currency_of
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.privacy.promises.receipt import Receipt
from discreet.query.answer.suggest import find_column
from discreet.query.front.verbs import count
from discreet.query.plan.key_sets import Hierarchy
from discreet.query.plan.names import quoted
from discreet.query.plan.schema import Declared, keys
from discreet.session.backend import Backend
from discreet.session.counts_program import CountsJob, CountsStep, counts_program, price_of_counts
from discreet.session.payment import HeldOpen, Payment
from discreet.session.price import Price
from discreet.session.program import Program, run
from discreet.session.query import frame_of, release_query
from discreet.synthetic.direct import Answers, answer
from discreet.synthetic.domain import Domain
from discreet.synthetic.hierarchical.nested import NestedPublication, NestedTables, check_nested, nest
from discreet.synthetic.hierarchical.plan import HierarchicalPlan, Publication
from discreet.synthetic.hierarchical.plan import plan as hierarchical_plan
from discreet.synthetic.hierarchical.released import PublishedTables, consequences, level_shares, publish
from discreet.synthetic.pmw import Stream, pmw
from discreet.synthetic.result import Synthetic
from discreet.synthetic.source import then
from discreet.synthetic.spending import read_budget
from discreet.synthetic.synthesize import synthesize
from discreet.synthetic.tables.schema_domain import domain_of
from discreet.synthetic.workload import Asked

ColumnNames = Sequence[str] | None
Declarations = Mapping[str, Any] | Domain | None


def synthetic_rows(  # noqa: PLR0917
    backend: Backend, table: str, price: Price, columns: ColumnNames, domain: Declarations, options: Mapping[str, Any]
) -> Synthetic:
    """Synthetic rows of a private table, and the model behind them."""

    def work(source: Any, budget: Mapping[str, Any]) -> Synthetic:
        return then(
            lambda: synthesize(source, **budget, **{"progress": backend.progress, **options}),
            lambda made: replace(made, receipt=source.receipt, notes=source.notes, max_rows=source.source.max_rows),
        )

    more = f"; {_workload_words(options.get('workload'))}"
    job = CountsJob("synthesize", "synthetic rows", more, work, Synthetic.to_json)
    made: Synthetic = run(counts_program(backend, job, table, price, columns=columns, domain=domain), backend)
    return made


def tables_of_counts(  # noqa: PLR0917
    backend: Backend,
    table: str,
    workload: Asked,
    price: Price,
    columns: ColumnNames,
    domain: Declarations,
    plan: str | None,
) -> Answers:
    """Many counts of one table, with the least error that can be planned; all of them agree."""

    def work(source: Any, budget: Mapping[str, Any]) -> Answers:
        answers = answer(source, workload, plan=plan, **budget)
        return replace(answers, receipt=source.receipt, notes=source.notes)

    job = CountsJob("tabulate", "tables", f"; {_workload_words(workload)}", work, Answers.to_json)
    made: Answers = run(counts_program(backend, job, table, price, columns=columns, domain=domain), backend)
    return made


def published_tables(
    backend: Backend, table: str, publication: Publication, price: Price, given: Declarations
) -> PublishedTables:
    """Tables over a hierarchy that add up; the plan is made, and refused, before anything is paid."""
    planned = plan_publication(backend, table, publication, given)
    made: PublishedTables = run(_publishing(backend, table, planned, price), backend)
    return made


def nested_tables(
    backend: Backend, table: str, wanted: NestedPublication, price: Price, given: Declarations
) -> NestedTables:
    """Tables of persons and of their households that fit to each other, for one charge."""
    homes = plan_publication(backend, wanted.table, wanted.households)
    people = plan_publication(backend, table, wanted.persons, given)
    check_nested(homes, people, wanted.size)
    first = _publishing(backend, wanted.table, homes, price.times(wanted.share))
    second = _publishing(backend, table, people, price.times(1 - wanted.share))

    def fitted(released: Sequence[Any], receipt: Receipt) -> NestedTables:
        return nest(released[len(first.steps) - 1], released[-1], wanted.size, receipt)

    together = Program(
        (*first.steps, *second.steps),
        lambda: f"{first.text()}; {second.text()}",
        join=fitted,
        write=lambda made, _: b'{"nested":[%s,%s]}' % (made.households.to_json(), made.persons.to_json()),
    )
    made: NestedTables = run(together, backend)
    return made


def _publishing(backend: Backend, table: str, planned: HierarchicalPlan, price: Price) -> Program:
    """The program of one publication."""

    def work(source: Any, budget: Mapping[str, Any]) -> PublishedTables:
        made = publish(source, planned, **budget)
        return replace(made, receipt=source.receipt, notes=source.notes)

    names = "; ".join(" x ".join(columns) for columns in planned.publication.tables)
    declared = consequences(planned) if planned.fixed else []
    more = "".join(f"; {text}" for text in (names, *declared))
    job = CountsJob("publish", "tables", more, work, PublishedTables.to_json)
    return counts_program(backend, job, table, price, columns=planned.domain.columns, domain=planned.domain)


def plan_publication(
    backend: Backend, table: str, publication: Publication, given: Declarations = None
) -> HierarchicalPlan:
    """How tables over a declared hierarchy are measured. Free; no data is touched."""
    if table not in backend.schemas:
        raise BadParameter("table", table, f"must be one of {', '.join(backend.schemas)}")
    schema = backend.schemas[table]
    key_sets = schema.table.key_sets
    names = list(dict.fromkeys(name for columns in publication.tables for name in columns))
    places = [key_set for key_set in key_sets if isinstance(key_set, Hierarchy) and set(key_set.levels) & set(names)]
    hierarchy = places[0] if places else None
    others = [name for name in names if hierarchy is None or name not in hierarchy.levels]
    domain = domain_of(table, schema, others, given) if others else Domain({"none": [0]})
    return hierarchical_plan(publication, domain, hierarchy, key_sets, schema.table.public_totals)


@dataclass(frozen=True, slots=True)
class PublicationPreview:
    """What a publication would cost, and how far off its tables would be. Free; no data is touched."""

    program: Program
    tables: tuple[tuple[str, int, float], ...]
    """Of each table: its name, its cells, and the mean error of its estimates: ± this holds in about 95%."""
    shares: Mapping[str, float]
    """Of the cost, by level."""
    consequences: tuple[str, ...]


def preview_publication(
    backend: Backend, table: str, publication: Publication, price: Price, given: Declarations = None
) -> PublicationPreview:
    """The errors of published tables, level by level, before anything is paid."""
    planned = plan_publication(backend, table, publication, given)
    program = _publishing(backend, table, planned, price)
    counted: CountsStep[PublishedTables] = program.answer
    rho = read_budget(**{"epsilon": None, "delta": None, "rho": None, **counted.budget})[0]
    errors = planned.errors(rho, moves=counted.source.moves(()), scale=counted.source.scale)
    times = NormalDist().inv_cdf(float(1 - (1 - confidence_level(price.confidence)) / 2))
    with_errors = list(zip(planned.tables, errors, strict=True))
    return PublicationPreview(
        program,
        tuple(
            (planned.name_of(published), planned.cells_of(published), times * error) for published, error in with_errors
        ),
        level_shares(planned),
        tuple(consequences(planned)),
    )


def comparison(backend: Backend, made: Synthetic, table: str, columns: Sequence[Sequence[str]], price: Price) -> Answer:
    """How far the model of synthetic rows is from the data in some marginals, as shares."""
    if not isinstance(made, Synthetic):
        raise BadParameter("made", type(made).__name__, "must be what session.synthesize returned")
    marginals = made.marginals_named(columns)

    def work(source: Any, budget: Mapping[str, Any]) -> Answer:
        given = {"epsilon": None, "delta": None, "rho": None} | dict(budget)
        return replace(made.compare(source, marginals, rho=read_budget(**given)[0]), receipt=source.receipt)

    job = CountsJob("compare", "comparisons", "", work, _compared)
    program = counts_program(
        backend, job, table, price, columns=made.domain.columns, domain=made.domain, max_rows=made.max_rows
    )
    distances: Answer = run(program, backend)
    return distances


def stream_of_counts(  # noqa: PLR0917
    backend: Backend, table: str, price: Price, columns: ColumnNames, domain: Declarations, options: Mapping[str, Any]
) -> Stream:
    """A stream of counts of one table under one charge."""
    price_of_counts(backend.terms, price, "a stream")
    alone = not currency_of(backend.terms.budget, backend.terms.rule).concurrent
    if alone and (backend.ledger is not None or not isinstance(backend.budget_store, Filter)):
        raise NotATheorem(
            "a stream stays open between other queries, and no theorem lets approximate zCDP interleave them: "
            "use a budget of dp.Approx without a rule, or dp.ZCDP(rho) without delta"
        )

    def work(source: Any, budget: Mapping[str, Any]) -> Stream:
        return pmw(source, **options, **budget)

    hard = options["hard"] or "as the number of rows allows"
    job = CountsJob("pmw", "a stream", f"; hard {hard}", work)
    program = counts_program(backend, job, table, price, columns=columns, domain=domain, keep=True)
    payment: Payment | None = HeldOpen(backend.budget_store) if alone else None

    def opened(released: Sequence[Any], receipt: Receipt) -> Stream:
        stream: Stream = released[-1]
        held = payment.held if isinstance(payment, HeldOpen) else None
        stream.receipt, stream.closing = receipt, [] if held is None else [held.close]
        return stream

    opened_stream: Stream = run(replace(program, join=opened), backend, payment=payment)
    return opened_stream


def suggest_keys(backend: Backend, column: str, price: Price) -> Declared:
    """The keys of a column of ``dp.unknown_keys`` that enough units have."""
    name, column = find_column(column, backend.schemas)
    if not backend.schemas[name].fields[column].unknown:
        raise BadParameter("column", f"{name}.{column}", "must be declared with dp.unknown_keys()")
    released = release_query(frame_of(backend, name).group_by(quoted(column)).agg(n=count()), price)
    named = [value for value in released[column] if value is not None]
    if not named:
        raise NoEstimate
    return keys(named)


def _compared(answer: Answer) -> bytes:
    body = {"distances": [float(d) for d in answer.value], "error": answer.error_at(CONFIDENCE), "spent": answer.cost}
    return json.dumps({"compared": body}, separators=(",", ":")).encode()


def _workload_words(workload: Asked | None) -> str:
    return workload if isinstance(workload, str) else "its default workload" if workload is None else "its workload"


def price_or_budget(budget: Measure | None, epsilon: Number | None, delta: Number | None, rho: Number | None) -> Price:
    """The price of a promise, or of numbers; not of both."""
    if budget is None:
        return Price(epsilon, delta, rho)
    if (epsilon, delta, rho) != (None, None, None):
        raise BadParameter("budget", str(budget), "must stand alone: give it, or epsilon, delta and rho")
    match budget:
        case Pure(epsilon=amount):
            return Price(amount)
        case Approx(epsilon=amount, delta=chance):
            return Price(amount, chance)
        case ZCDP(rho=amount, delta=chance):
            return Price(None, chance or None, amount)
    raise BadParameter("budget", budget, "must be dp.Pure, dp.Approx or dp.ZCDP")
