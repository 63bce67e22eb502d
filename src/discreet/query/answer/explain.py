"""The story of an answer: what was done to the rows, how far one unit reaches, which noise, what it costs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import sqrt

from discreet.exact import significant
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.record import show
from discreet.query.estimate.noise_plan import Noised
from discreet.query.estimate.prepare import Part, Prepared
from discreet.query.estimate.quantile_search import most_cells, share
from discreet.query.estimate.statistics import Bins, Distinct, QuantileCells, Rows, Units, paid_with
from discreet.query.lower.bounding import Noise
from discreet.query.plan.expressions import Call
from discreet.query.plan.names import is_ours
from discreet.query.plan.nodes import Filter, Join, PerUnit, Project, Relation, Scan, UnionAll, UnitWindows
from discreet.query.plan.work import Form
from discreet.query.run import Quote


def story(quote: Quote, prepared: Prepared) -> tuple[str, ...]:
    """One line per step, for an answer."""
    return tuple(line.strip() for line in tell(prepared, quote).splitlines())


def tell(prepared: Prepared, quote: Quote | None) -> str:
    """The plan from the rows to the answer; with a quote, also sensitivities and noise."""
    lines = _relation(prepared.asked.source)
    for part in prepared.parts:
        lines += _part(part, quote, some=part.whole != prepared.asked.whole)
    outcome = prepared.outcome
    if outcome.having is not None:
        lines.append("keep released rows that pass HAVING (post-processing, free)")
    if outcome.order:
        lines.append("order released rows (post-processing, free)")
    if outcome.limit is not None:
        lines.append(f"keep {outcome.limit:,} released rows (post-processing, free)")
    if quote is not None and quote.choosing is not None:
        share = float(sum(split.together for split in quote.choosing.shares))
        lines.append(
            f"{share:.0%} of the cost chooses contribution bounds, value bounds and groups that are not declared"
        )
    if quote is not None:
        lines.append(f"all together: {quote.price}")
    return "\n".join(lines)


def _relation(relation: Relation) -> list[str]:
    match relation:
        case Scan(table=table):
            return [f"read {table}"]
        case Filter(source=source):
            return [*_relation(source), "keep rows that pass WHERE (row by row: a unit keeps its own rows)"]
        case Project(source=Scan(table=table, lists=lists), columns=columns):
            names = [name for name, _ in columns if not is_ours(name)]
            lines = [f"read {table}: {', '.join(names) or 'rows only'}, as they are stored"]
            if any(isinstance(e, Call) and e.function == "read_whole" for _, e in columns):
                lines.append(f"leave out rows of {table} whose unit, stored as a float, is no integer below 2^53")
            lines += [f"a row for each element of {elements.column} (bounded afterwards)" for elements in lists]
            return lines
        case Project(source=source):
            return _relation(source)
        case Join(left=left, right=right):
            return [*_relation(left), *_relation(right), "join (bounded afterwards, so any fan-out is harmless)"]
        case UnionAll(parts=parts):
            return [line for part in parts for line in _relation(part)] + ["put the rows together"]
        case PerUnit(source=source):
            return [*_relation(source), "summarise the rows of each unit (exact, a function of that unit alone)"]
        case UnitWindows(source=source):
            return [*_relation(source), "look at the rows of each unit in order (exact, a function of that unit alone)"]


def _part(part: Part, quote: Quote | None, *, some: bool) -> list[str]:
    lines = []
    keys = ", ".join(key.name for key in part.keys)
    lines.append(f"group by {keys}" if keys else "all rows are one group")
    if part.selects:
        lines.append("undeclared keys: named only if enough units have them")
    elif part.named is not None:
        lines.append("groups that are not declared: those that enough units have are named first")
    elif keys:
        lines.append(f"{sum(part.shown(part.domain() or ())):,} groups, all listed in advance: each is answered")
    if some:
        lines.append("rows that are in none of the finer groups are in no total of them")
    if quote is None:
        return lines
    lines += [_noised(noised) for noised in {paid_with(s): noised for s, noised in quote.noised(part).items()}.values()]
    selection = quote.selection(part)
    if selection is not None:
        units = quote.noised(part)[Units()]
        lines.append(
            f"a key is named if its noisy number of units is at least {selection.threshold / units.scale:,.1f} "
            f"(a unit touches at most {selection.most_keys:,} keys; delta {show(selection.delta)})"
        )
    return lines


def shares(quote: Quote, part: Part) -> tuple[tuple[str, float], ...]:
    """What is released for a grouping set, and which share of the whole price each of it is; none of common noise.

    Shares of ε for Laplace noise and of ρ for Gaussian noise; numbers of units with a noise of their own are left out.
    """
    gaussian = quote.plan.noise is Noise.GAUSSIAN
    if any(drawn.common for drawn in quote.noised(part).values()):
        return ()

    def price(drawn: Noised) -> float:
        if drawn.searches:
            return float(price_zcdp(drawn.event).rho if gaussian else price_basic(drawn.event).epsilon)
        return float(drawn.noise.rho if isinstance(drawn.noise, Gaussian) else drawn.noise.epsilon)

    paid = [
        {paid_with(s): drawn for s, drawn in noised_set.items() if isinstance(drawn.noise, Gaussian) == gaussian}
        for noised_set in quote.plan.sets
    ]
    total = sum(price(drawn) for noised_set in paid for drawn in noised_set.values())
    here, used_by = paid[quote.place(part)], _columns(part)
    return tuple(
        (f"{_what(drawn)}{_for(used_by.get(key, ()), len(here))}", price(drawn) / total) for key, drawn in here.items()
    )


def _columns(part: Part) -> Mapping[Hashable, Sequence[str]]:
    """The columns that each released thing is for."""
    used_by: dict[Hashable, list[str]] = {}
    for name, recipe in zip(part.names, part.recipes, strict=True):
        for key in {paid_with(s) for s in recipe.needs}:
            used_by.setdefault(key, []).append(name)
    return used_by


def _for(names: Sequence[str], among: int) -> str:
    """For which columns something is released, where several things are."""
    return f" (for {', '.join(names)})" if names and among > 1 else ""


def _noised(noised: Noised) -> str:
    return f"{_what(noised)}; {_weights(noised)}; {_noise(noised)}"


def _what(noised: Noised) -> str:
    match noised.statistic:
        case Rows(beside=others) as rows if others:
            width = significant(float(rows.bound * rows.step), 6)
            return (
                f"sum how far values lie above and below the ends of their range of {width} "
                f"({'two' if len(others) == 1 else 'with the rows that have none: three'} sums that together move like "
                "one: they give count, sum and mean)"
            )
        case Rows(bound=1, step=step) if step == 1:
            return "count rows"
        case Rows(clip=int()):
            return "sum values"
        case Rows(bound=bound, step=step):
            most = significant(float(bound * step), 6)
            return f"sum values clamped to at most {most} in size (from the middle of their range)"
        case Units():
            return "count units"
        case Distinct():
            return "count distinct values"
        case QuantileCells(bins=bins, levels=levels):
            several, paid = len(levels) > 1, share(levels, gaussian=isinstance(noised.noise, Gaussian))
            return (
                f"look for the quantile{'s' * several} {', '.join(map(show, levels))} in {bins.bins:,} bins, by "
                f"{2 * len(levels)} choices ({show(paid)} of the cost), and count rows in {most_cells(len(levels))} "
                f"cells around {'them' if several else 'it'}"
            )
        case Bins(bins=bins):
            return f"count rows in {bins:,} bins, as a tree"


def _noise(noised: Noised) -> str:
    """The noise in the statistic's own units; the grid that it is drawn on is finer."""
    cells = sqrt(noised.noise.sigma_squared) if isinstance(noised.noise, Gaussian) else float(noised.noise.scale)
    kind = "discrete Gaussian noise, sigma" if isinstance(noised.noise, Gaussian) else "discrete Laplace noise, scale"
    if noised.common:
        kind = "what the tables have in common is measured once, by discrete Gaussian noise; of one number here, sigma"
    return f"{kind} {significant(cells * float(noised.unit), 4)} on a grid of {significant(float(noised.unit), 2)}"


def _weights(noised: Noised) -> str:
    if noised.reach is None:
        return "a unit keeps at most its cap of values, chosen by a secret hash"
    weights = noised.reach.weights
    match weights.form:
        case Form.ROWS:
            return f"a unit weighs at most {weights.cap:,} rows in all (scaled down, not sampled)"
        case Form.TOTALS:
            most = significant(float(weights.cap * noised.unit * noised.scale), 6)
            return f"a unit whose own sums are longer than {most} in all is scaled down to that"
        case Form.L1:
            return f"a unit weighs at most {weights.per_group:,} in a group and {weights.cap:,} in all (scaled, L1)"
        case Form.L2:
            return f"a unit weighs at most {weights.per_group:,} in a group, √{weights.cap:,} in length (scaled, L2)"
