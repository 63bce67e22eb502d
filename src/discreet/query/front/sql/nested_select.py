"""SELECT over released rows that cannot be written as one question: aggregates of them, joins, UNION ALL.

All of it is post-processing: the questions below are released once, together, and what is around them is computed from
their rows for nothing. A question that is used twice is released once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.clauses import (
    SELECT,
    checked,
    condition_of,
    is_distinct,
    keys_of,
    limit_of,
    offset_of,
    order_of,
)
from discreet.query.front.sql.expressions import identifier, output, said
from discreet.query.front.sql.from_clause import conjuncts, equal_columns
from discreet.query.front.sql.refusals import only
from discreet.query.plan.expressions import Call, Column, Expression, Literal, columns, replace_columns
from discreet.query.plan.nodes import (
    Aggregate,
    How,
    Measure,
    Order,
    Outcome,
    Question,
    Regrouped,
    ReleasedJoin,
    ReleasedUnion,
    Window,
    outcomes_below,
)
from discreet.query.resolve.build import conjunction, fresh, joined_names
from discreet.query.resolve.resolve import Groups, Scope, Source, check_after, grouped, rowwise
from discreet.query.resolve.unresolved import Apply, Name, Output, Said, Total, parts_of

MOST_QUESTIONS = 16
_FUNCTIONS = {
    Aggregate.COUNT: "count", Aggregate.COUNT_DISTINCT: "count_distinct", Aggregate.SUM: "sum", Aggregate.AVG: "avg",
    Aggregate.MIN: "min", Aggregate.MAX: "max", Aggregate.VARIANCE: "variance", Aggregate.STDDEV: "stddev",
    Aggregate.QUANTILE: "quantile",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReleasedRows:
    """Released rows that FROM names: the question, and the names that its columns have here."""

    question: Question
    scope: Scope


def named_rows(question: Question, name: str | None, given: Sequence[str]) -> ReleasedRows:
    """The rows of a question under a name, as in ``AS t(a, b)``."""
    names = [column for column, _ in question.outcome.columns]
    if given and len(given) != len(names):
        raise BadQuestion(f"{len(given)} names are given for {len(names)} columns")
    spelled = dict(zip(given or names, names, strict=True))
    return ReleasedRows(question, Scope((Source(name, spelled),)))


def nested_select(node: exp.Expr, rows: ReleasedRows, where: Sequence[Said] | None = None) -> Question:
    """The question that a SELECT over released rows is; ``where``: what is left of WHERE, if some of it was a join."""
    checked(node, *SELECT, "qualify")
    scope, spelled = rows.scope, _visible(rows.scope)
    outputs: list[Output] = []
    for one in node.expressions:
        if type(one) is exp.Star:
            only(one)
            outputs += [Output(Name(column, table)) for table, column in spelled]
        else:
            outputs.append(output(one))
    having, group = condition_of(node, "having"), node.args.get("group") is not None
    keys, sets = keys_of(node, outputs, scope)
    if sets is not None:
        raise Unsupported("ROLLUP, CUBE or GROUPING SETS over released groups", "use them where rows are grouped")
    distinct = is_distinct(node)
    totals = group or having is not None or any(_aggregates(one.said) for one in outputs)
    if distinct and totals:
        raise Unsupported("SELECT DISTINCT together with aggregates", "leave DISTINCT out: each group is one row")
    if distinct:
        keys = [one.said for one in outputs]
    elif not totals:
        keys = [Name(column, table) for table, column in spelled]
    order = order_of(node, outputs)
    found = grouped(
        scope, keys=keys, outputs=outputs, having=having, order=order, qualify=condition_of(node, "qualify")
    )
    below = rows.question
    filters = where if where is not None else conjuncts_of(condition_of(node, "where"))
    if filters:
        below = _filtered(below, scope, filters)
    return over_released(found, below, regroup=totals or distinct, limit=limit_of(node), offset=offset_of(node))


def _visible(scope: Scope) -> list[tuple[str | None, str]]:
    return [(s.name, c) for s in scope.sources for c, place in s.columns.items() if place not in scope.hidden]


def conjuncts_of(part: Said | None) -> list[Said]:
    """What AND joins; nothing of nothing."""
    return [] if part is None else conjuncts(part)


def _aggregates(part: Said) -> bool:
    """Whether an aggregate stands in it that is no window function's."""
    if isinstance(part, Apply):
        return any(_aggregates(one) for one in part.arguments)
    return isinstance(part, Total)


def _filtered(below: Question, scope: Scope, filters: Sequence[Said]) -> Question:
    """The rows for which WHERE is true: a stage of its own, before they are grouped."""
    kept = conjunction(*(rowwise(one, scope, "WHERE over released groups") for one in filters))
    _check(kept)
    identity = tuple((name, Column(name)) for name, _ in below.outcome.columns)
    return replace(below, outcome=Outcome(identity, having=kept, below=below.outcome))


def over_released(
    found: Groups, below: Question, *, regroup: bool = True, limit: int | None = None, offset: int = 0
) -> Question:
    """What is computed from the rows of a question: groups of them, or with ``regroup=False`` each for itself."""
    back: Mapping[str, Expression] = {} if regroup else {key.name: key.expression for key in found.keys}

    def put(expression: Expression) -> Expression:
        made = replace_columns(expression, lambda name: back.get(name, Column(name)))
        _check(made)
        return made

    again = Regrouped(tuple((k.name, k.expression) for k in found.keys), tuple(_window(m) for m in found.measures))
    windows = tuple(replace(
        w, arguments=tuple(map(put, w.arguments)), partition=tuple(map(put, w.partition)),
        order=tuple(Order(put(o.expression), o.descending) for o in w.order),
    ) for w in found.windows)  # fmt: skip
    outcome = Outcome(
        tuple((name, put(e)) for name, e in found.columns),
        having=None if found.having is None else put(found.having),
        order=tuple(Order(put(o.expression), o.descending) for o in found.order),
        limit=limit,
        offset=offset,
        windows=windows,
        qualify=None if found.qualify is None else put(found.qualify),
        below=below.outcome,
        regroup=again if regroup else None,
    )
    for _, key in again.keys:
        _check(key)
    return _only_used(replace(below, outcome=outcome))


def _only_used(question: Question) -> Question:
    """Without columns and aggregates below that nothing above uses: nobody should pay for them."""
    used: dict[int, frozenset[str]] = {}

    def visit(outcome: Outcome, needed: frozenset[str] | None) -> Outcome:
        costs = _paid(outcome, question)
        kept = tuple((n, e) for n, e in outcome.columns if needed is None or n in needed or not costs & columns(e))
        found = replace(outcome, columns=kept or outcome.columns[:1])
        names = _names(found)
        if found.regroup is not None:
            measures = tuple(one for one in found.regroup.measures if one.name in names)
            again = Regrouped(found.regroup.keys, measures)
            found = replace(found, regroup=again)
            names = frozenset().union(*map(columns, [*(e for _, e in again.keys), *_inside(measures)]))
        match found.below:
            case None:
                used[found.question] = used.get(found.question, frozenset()) | names
                return found
            case Outcome() as below:
                return replace(found, below=visit(below, names))
            case ReleasedUnion(parts=parts):
                return replace(found, below=ReleasedUnion(tuple(visit(one, None) for one in parts)))
            case ReleasedJoin(left=left, right=right) as join:
                return replace(found, below=replace(join, left=visit(left, None), right=visit(right, None)))

    outcome = visit(question.outcome, None)
    first, *beside = (_with_measures(one, used.get(i)) for i, one in enumerate((question, *question.beside)))
    return replace(first, outcome=outcome, beside=tuple(beside))


def _paid(outcome: Outcome, question: Question) -> frozenset[str]:
    """The names of aggregates in an outcome; keys cost nothing and stay."""
    if outcome.below is None:
        return frozenset(one.name for one in (question, *question.beside)[outcome.question].measures)
    return frozenset(one.name for one in (outcome.regroup.measures if outcome.regroup else outcome.windows))


def _names(outcome: Outcome) -> frozenset[str]:
    """What the expressions of an outcome read."""
    said = [*(e for _, e in outcome.columns), *(o.expression for o in outcome.order), *_inside(outcome.windows)]
    said += [e for e in (outcome.having, outcome.qualify) if e is not None]
    return frozenset().union(*map(columns, said))


def _inside(windows: Sequence[Window]) -> list[Expression]:
    return [e for w in windows for e in w.expressions]


def _with_measures(question: Question, names: frozenset[str] | None) -> Question:
    if names is None:
        return question
    measures = tuple(one for one in question.measures if one.name in names) or question.measures[:1]
    plain = replace(question, measures=measures)
    return _plain(plain) if question.outcome.below is None and not question.beside else plain


def _check(expression: Expression | None) -> None:
    if expression is not None:
        check_after(expression)


def _window(measure: Measure) -> Window:
    """An aggregate of released rows; FILTER (WHERE ...) becomes CASE."""
    function = _FUNCTIONS.get(measure.aggregate)
    if function is None:
        raise Unsupported(f"{measure.aggregate.name} of released groups", "compute it from what is released")
    arguments: tuple[Expression, ...] = measure.arguments
    if measure.where is not None:
        value = arguments[0] if arguments else Literal(True)
        arguments = (Call("case", (measure.where, value, Literal(None))), *arguments[1:])
    if measure.level is not None:
        arguments = (*arguments, Literal(measure.level))
    for argument in arguments:
        _check(argument)
    return Window(measure.name, function, arguments)


# --- several questions ------------------------------------------------------------------------------------------------


def set_of(parts: Sequence[Question], *, in_both: bool | None, distinct: bool) -> Question:
    """UNION of whole questions, ALL or ``distinct``; INTERSECT if ``in_both``, EXCEPT if that is false."""
    first, outcomes = _together(parts)
    names = [name for name, _ in outcomes[0].columns]
    shown = tuple((name, Column(name)) for name in names)
    if len({len(one.columns) for one in outcomes}) > 1:
        raise BadQuestion("the parts of UNION, INTERSECT or EXCEPT need as many columns each")
    if not distinct:
        return replace(first, outcome=Outcome(shown, below=ReleasedUnion(tuple(outcomes))))
    if in_both is None:
        again = Regrouped(shown, ())
        return replace(first, outcome=Outcome(shown, below=ReleasedUnion(tuple(outcomes)), regroup=again))
    side, least, greatest = (fresh(name, names) for name in ("side", "least", "greatest"))
    marked = [
        replace(one, columns=(*one.columns, (side, Literal(Fraction(place))))) for place, one in enumerate(outcomes)
    ]
    again = Regrouped(shown, (Window(least, "min", (Column(side),)), Window(greatest, "max", (Column(side),))))
    tests = (Call("eq", (Column(name), Literal(Fraction(end)))) for name, end in ((least, 0), (greatest, int(in_both))))
    return replace(
        first, outcome=Outcome(shown, conjunction(*tests), below=ReleasedUnion(tuple(marked)), regroup=again)
    )


def join_of(left: ReleasedRows, right: ReleasedRows, on: Sequence[tuple[str, str]], how: How) -> ReleasedRows:
    """Released rows of two questions with equal columns."""
    if not on and _rows_many(left.question) and _rows_many(right.question):
        raise Unsupported("a join of released groups without a pair of equal columns", "join on equal columns")
    taken = {source.name for source in left.scope.sources}
    if any(source.name in taken for source in right.scope.sources):
        raise BadQuestion("two tables have the same name here; give one another name with AS")
    first, (a, b) = _together([left.question, right.question])
    ours, theirs = (tuple(name for name, _ in one.columns) for one in (a, b))
    names = dict(zip(theirs, joined_names(ours, theirs), strict=True))
    shown = tuple((name, Column(name)) for name in (*ours, *names.values()))
    moved = [Source(s.name, {c: names[place] for c, place in s.columns.items()}) for s in right.scope.sources]
    joined = replace(first, outcome=Outcome(shown, below=ReleasedJoin(a, b, tuple(on), how)))
    return ReleasedRows(joined, Scope((*left.scope.sources, *moved), left.scope.hidden))


def _rows_many(question: Question) -> bool:
    """Whether there may be more than one row."""
    outcome = question.outcome
    if outcome.regroup is not None:
        return bool(outcome.regroup.keys)
    return outcome.below is not None or question.sets != ((),)


def _together(parts: Sequence[Question]) -> tuple[Question, list[Outcome]]:
    """One question with all others beside it, equal ones once; and the outcomes, which know where their rows are."""
    every: list[Question] = []
    outcomes = []
    for part in parts:
        places = []
        for one in (part, *part.beside):
            plain = _plain(one)
            if plain not in every:
                every.append(plain)
            places.append(every.index(plain))
        outcomes.append(_moved(part.outcome, places))
    if len(every) > MOST_QUESTIONS:
        raise BadQuestion(f"at most {MOST_QUESTIONS} queries can be asked in one")
    return replace(every[0], beside=tuple(every[1:])), outcomes


def _plain(question: Question) -> Question:
    """The question with its keys and measures as its columns."""
    names = [*(key.name for key in question.keys), *(measure.name for measure in question.measures)]
    return replace(question, outcome=Outcome(tuple((name, Column(name)) for name in names)), beside=())


def _moved(outcome: Outcome, places: Sequence[int]) -> Outcome:
    if outcome.below is None:
        return replace(outcome, question=places[outcome.question])
    below = tuple(_moved(one, places) for one in outcomes_below(outcome))
    match outcome.below:
        case ReleasedUnion():
            return replace(outcome, below=ReleasedUnion(below))
        case ReleasedJoin() as join:
            return replace(outcome, below=replace(join, left=below[0], right=below[1]))
        case _:
            return replace(outcome, below=below[0])


def joined_rows(
    node: exp.Expr, first: ReleasedRows, joins: Sequence[tuple[exp.Expr, ReleasedRows]]
) -> tuple[ReleasedRows, list[Said]]:
    """The released rows of FROM and its joins, and what is left of WHERE."""
    left = conjuncts_of(condition_of(node, "where"))
    rows = first
    for join, other in joins:
        only(join, "this", "on", "using", "side", "kind", "method")
        side, kind, method = (str(join.args.get(part) or "").upper() for part in ("side", "kind", "method"))
        if side not in ("", "LEFT", "RIGHT", "FULL") or kind not in ("", "INNER", "OUTER", "CROSS") or method:
            raise Unsupported(f"{' '.join(w for w in (method, side, kind) if w)} JOIN of released groups",
                              "join with JOIN, LEFT JOIN or FULL JOIN, on equal columns")  # fmt: skip
        how = {"": How.INNER, "FULL": How.FULL}.get(side, How.LEFT)
        first, second = (other, rows) if side == "RIGHT" else (rows, other)
        on, using = join.args.get("on"), join.args.get("using")
        if using:
            if how is How.FULL:
                raise Unsupported("FULL JOIN with USING", "write ON a.k = b.k, and COALESCE(a.k, b.k)")
            names = [Name(identifier(column)) for column in using]
            pairs = [(first.scope.find(name), second.scope.find(name)) for name in names]
            rows = join_of(first, second, pairs, how)
            rows = replace(rows, scope=_hidden(rows.scope, pairs))
            continue
        parts = conjuncts_of(None if on is None else said(on))
        pairs, rest = [], []
        for part in parts:
            first, second, pair = _equal(part, first, second)
            pairs += [] if pair is None else [pair]
            rest += [part] if pair is None else []
        if rest and how is not How.INNER:
            raise Unsupported("an outer join of released groups on more than equal values", "filter before the join")
        left += rest
        if on is None:
            for part in list(left):
                if (p := equal_columns(part, first.scope, second.scope)) is not None:
                    pairs.append(p)
                    left.remove(part)
        rows = join_of(first, second, pairs, how)
        if side == "RIGHT":
            many = len(first.scope.sources)
            sources = (*rows.scope.sources[many:], *rows.scope.sources[:many])
            rows = replace(rows, scope=replace(rows.scope, sources=sources))
    return rows, left


def _equal(
    part: Said, left: ReleasedRows, right: ReleasedRows
) -> tuple[ReleasedRows, ReleasedRows, tuple[str, str] | None]:
    """The columns of the two that a condition says are equal; where it compares expressions, as further columns."""
    pair = equal_columns(part, left.scope, right.scope)
    if pair is not None or not isinstance(part, Apply) or part.function != "eq":
        return left, right, pair
    for x, y in (part.arguments, part.arguments[::-1]):
        if _is_of(x, left.scope, right.scope) and _is_of(y, right.scope, left.scope):
            (left, a), (right, b) = _computed(left, x), _computed(right, y)
            return left, right, (a, b)
    return left, right, None


def _is_of(part: Said, scope: Scope, other: Scope) -> bool:
    names = [one for one in parts_of(part) if isinstance(one, Name)]
    return bool(names) and all(scope.has(n) is not None and (n.table or other.has(n) is None) for n in names)


def _computed(rows: ReleasedRows, value: Said) -> tuple[ReleasedRows, str]:
    """The rows with a further column that no name means."""
    made = rowwise(value, rows.scope, "ON")
    _check(made)
    names = [name for name, _ in rows.question.outcome.columns]
    place = fresh("joined on", names)
    shown = (*((name, Column(name)) for name in names), (place, made))
    return replace(rows, question=replace(rows.question, outcome=Outcome(shown, below=rows.question.outcome))), place


def _hidden(scope: Scope, pairs: Sequence[tuple[str, str]]) -> Scope:
    """Columns that USING names twice are shown once."""
    last = scope.sources[-1]
    used = {a for a, _ in pairs}
    spelled = {c for s in scope.sources[:-1] for c, place in s.columns.items() if place in used}
    hidden = {place for c, place in last.columns.items() if c in spelled}
    return replace(scope, hidden=scope.hidden | hidden)
