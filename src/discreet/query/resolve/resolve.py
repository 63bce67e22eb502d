"""From unresolved names to a plan: names looked up, aggregates collected. SQL and verbs both end here.

Promise: equal questions become equal plans, in whichever interface. Equal aggregates appear once. What is computed
after the aggregates (HAVING, ORDER BY, arithmetic between them) only ever sees released values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.errors import BadQuestion, Unsupported
from discreet.query.functions.catalogue import OF_RELEASED
from discreet.query.plan.expressions import Call, Column, Expression, Literal, replace_columns, walk
from discreet.query.plan.nodes import Key, Measure, Order, Outcome, Question, Window
from discreet.query.resolve.build import (
    Rows,
    filtered,
    fresh,
    match,
    per_unit,
    projected,
    show,
    size,
    unique,
    unknown,
    windowed,
)
from discreet.query.resolve.unresolved import Apply, Name, Output, Said, Total, Windowed, guess, parts_of

MOST_OUTPUTS = 200
MOST_KEYS = 20
MOST_SETS = 64

_NO_WINDOWS: Mapping[Windowed, str] = {}

# --- names ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """A table, subquery or side of a join: what it is called, and what its columns are called in the plan."""

    name: str | None
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that an expression may use. ``hidden`` columns of the plan need the name of their table."""

    sources: tuple[Source, ...]
    hidden: frozenset[str] = frozenset()

    @staticmethod
    def of(rows: Rows, name: str | None = None) -> Scope:
        """The columns of one relation."""
        return Scope((Source(name, {column: column for column in rows.columns}),))

    def find(self, name: Name) -> str:
        """The column of the plan that is meant; exact spelling wins over upper and lower case."""
        return self._found(name)[1]

    def spell(self, name: Name) -> str:
        """How the column is spelled where it comes from."""
        return self._found(name)[0]

    def has(self, name: Name) -> str | None:
        """The column that is meant, if there is one and only one: as ``find``, without words for what is wrong."""
        if name.table is not None and not match(name.table, [s.name for s in self.sources if s.name is not None]):
            return None
        _, found = self._places(name)
        return found[0][1] if len(found) == 1 else None

    def _places(self, name: Name) -> tuple[set[tuple[str, str]], list[tuple[str, str]]]:
        """All columns that a name could mean, and those that it means."""
        sources = self.sources if name.table is None else (self.source(name.table),)
        places = {
            (spelled, place)
            for source in sources
            for spelled, place in source.columns.items()
            if name.table is not None or place not in self.hidden
        }
        spellings = match(name.column, {spelled for spelled, _ in places})
        return places, [(spelled, place) for spelled, place in places if spelled in spellings]

    def _found(self, name: Name) -> tuple[str, str]:
        places, found = self._places(name)
        if not found:
            raise unknown("column", name.column, (spelled for spelled, _ in places))
        if len(found) > 1:
            raise BadQuestion(
                f"the column {show(name.column)} is ambiguous here; write the name of its table before it"
            )
        return found[0]

    def source(self, name: str) -> Source:
        """The table or subquery of that name."""
        names = [source.name for source in self.sources if source.name is not None]
        found = match(name, names)
        if not found:
            raise unknown("table", name, names)
        if len(found) > 1:
            raise BadQuestion(f"the table {show(name)} is ambiguous here; spell it exactly")
        return next(source for source in self.sources if source.name == found[0])


def rowwise(said: Said, scope: Scope, where: str, windows: Mapping[Windowed, str] = _NO_WINDOWS) -> Expression:
    """An expression of one row; ``where`` says in words what must not hold an aggregate.

    ``windows`` are window functions that the rows have as columns.
    """
    match said:
        case Name():
            return Column(scope.find(said))
        case Literal():
            return said
        case Apply(function="grouping"):
            raise Unsupported(f"GROUPING in {where}", "use it in SELECT, HAVING or ORDER BY, with the groups")
        case Apply(function=function, arguments=arguments):
            return called(function, [rowwise(a, scope, where, windows) for a in arguments])
        case Windowed() if said in windows:
            return Column(windows[said])
        case Windowed():
            raise Unsupported(f"a window function in {where}", "use it in SELECT or QUALIFY, or in a subquery")
        case Total():
            raise Unsupported(f"an aggregate in {where}", "aggregate in SELECT, HAVING or ORDER BY, or in a subquery")


def with_windows(rows: Rows, scope: Scope, said: Iterable[Said]) -> tuple[Rows, dict[Windowed, str]]:
    """The rows with a column for each window function in these expressions, and what the columns are called."""
    every = dict.fromkeys(part for one in said for part in parts_of(one) if isinstance(part, Windowed))
    names: dict[Windowed, str] = {}
    made: list[Window] = []
    for one in every:
        names[one] = fresh(guess(one, scope.spell), {*rows.columns, *names.values()})
        arguments, partition = (
            tuple(rowwise(e, scope, "a window function") for e in some) for some in (one.arguments, one.partition)
        )
        order = tuple(Order(rowwise(by, scope, "a window function"), down) for by, down in one.order)
        made.append(Window(names[one], one.function, arguments, partition, order, one.rows))
    return (windowed(rows, made) if made else rows), names


def called(function: str, arguments: Sequence[Expression]) -> Expression:
    """A function in one form, as ``said.apply`` makes it, also where a name stood for one of the arguments.

    >>> called("and", [called("and", [Column("a"), Column("b")]), Column("c")])
    Call(function='and', arguments=(Column(name='a'), Column(name='b'), Column(name='c')))
    """
    if function == "neg" and isinstance(arguments[0], Literal) and isinstance(arguments[0].value, Fraction):
        return Literal(-arguments[0].value)
    if function in ("and", "or"):
        parts: list[Expression] = []
        for argument in arguments:
            same = isinstance(argument, Call) and argument.function == function
            parts += argument.arguments if same and isinstance(argument, Call) else [argument]
        return Call(function, tuple(parts))
    return Call(function, tuple(arguments))


def grouping(arguments: Sequence[Expression], keys: Iterable[str]) -> Call:
    """GROUPING of keys: which of them a row is a total over."""
    known = set(keys)
    if not all(isinstance(a, Column) and a.name in known for a in arguments):
        raise BadQuestion("each argument of GROUPING must be a key of this GROUP BY, written as it is there")
    return Call("grouping", tuple(arguments))


# --- groups -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Groups:
    """Keys, aggregates, and what is computed from them; all names are final."""

    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]
    columns: tuple[tuple[str, Expression], ...]
    having: Expression | None
    order: tuple[Order, ...]
    windows: tuple[Window, ...]
    qualify: Expression | None
    places: tuple[int, ...]
    """For each key that was given, which one of ``keys`` it is: equal ones are one."""


def grouped(
    scope: Scope,
    *,
    keys: Sequence[Said],
    outputs: Sequence[Output],
    having: Said | None = None,
    order: Sequence[tuple[Said, bool]] = (),
    qualify: Said | None = None,
) -> Groups:
    """What GROUP BY asks for: outputs, HAVING and ORDER BY over the keys and aggregates of each group."""
    if not 1 <= len(outputs) <= MOST_OUTPUTS:
        raise BadQuestion(f"a query has 1 to {MOST_OUTPUTS} outputs")
    if len(keys) > MOST_KEYS:
        raise BadQuestion(f"a query has at most {MOST_KEYS} keys")
    if any(isinstance(key, Literal) for key in keys):
        raise BadQuestion("GROUP BY needs columns or expressions of them, not a constant")
    aliases = {output.name: output.said for output in outputs if output.name is not None}
    given = [rowwise(key, scope, "GROUP BY") for key in keys]
    found = _Collector(scope, given)
    columns = [found.over_groups(output.said) for output in outputs]
    kept = None if having is None else found.over_groups(having, aliases, keys_first=True)
    sorting = [(found.over_groups(said, aliases), descending) for said, descending in order]
    passed = None if qualify is None else found.over_groups(qualify, aliases)
    names = output_names(outputs, scope)
    final = found.names(names, columns, dict(zip(reversed(given), reversed(keys), strict=True)))
    unique(list(final.values()))
    return Groups(
        keys=tuple(Key(final[_key(i)], key) for i, key in enumerate(found.keys)),
        measures=tuple(replace(m, name=final[m.name]) for m in found.measures),
        columns=tuple((name, _renamed(column, final)) for name, column in zip(names, columns, strict=True)),
        having=None if kept is None else _renamed(kept, final),
        order=tuple(Order(_renamed(by, final), descending) for by, descending in sorting),
        windows=tuple(_renamed_window(window, final) for window in found.windows),
        qualify=None if passed is None else _renamed(passed, final),
        places=tuple(found.keys.index(key) for key in given),
    )


def _key(i: int) -> str:
    return f"key {i}"


class _Collector:
    """Collects the aggregates of one question. Keys and aggregates have provisional names until all are known."""

    def __init__(self, scope: Scope, keys: Iterable[Expression]) -> None:
        self._scope = scope
        self.keys = list(dict.fromkeys(keys))
        self._places = {key: _key(i) for i, key in enumerate(self.keys)}
        self._sizes = {size(key) for key in self.keys}
        self._measures: dict[Measure, str] = {}
        self._said: dict[str, Total | Windowed] = {}
        self._windows: dict[Window, str] = {}

    @property
    def measures(self) -> list[Measure]:
        return [replace(measure, name=name) for measure, name in self._measures.items()]

    @property
    def windows(self) -> list[Window]:
        return [replace(window, name=name) for window, name in self._windows.items()]

    def over_groups(
        self, said: Said, aliases: Mapping[str, Said] | None = None, *, keys_first: bool = False
    ) -> Expression:
        """An expression over keys and aggregates; in HAVING and ORDER BY also over the names of outputs."""
        found = self._visit(said, aliases or {}, keys_first)
        if found.problem is not None:
            raise found.problem
        return found.after

    def _visit(self, said: Said, aliases: Mapping[str, Said], keys_first: bool) -> _Visited:
        match said:
            case Name():
                return self._name(said, aliases, keys_first)
            case Literal():
                return _Visited(said, said, None, 1)
            case Total():
                return _Visited(None, Column(self._measure(said)), None, 1)
            case Windowed():
                return _Visited(None, Column(self._window(said, aliases)), None, 1)
            case Apply(function="grouping", arguments=arguments):
                inside = [self._visit(a, aliases, keys_first).after for a in arguments]
                return _Visited(None, grouping(inside, self._places.values()), None, 1)
            case Apply(function=function, arguments=arguments):
                parts = [self._visit(a, aliases, keys_first) for a in arguments]
                many = 1 + sum(part.size for part in parts)
                rows = [part.before for part in parts]
                before = None if None in rows else Call(function, tuple(e for e in rows if e is not None))
                if before is not None and many in self._sizes and before in self._places:
                    return _Visited(before, Column(self._places[before]), None, many)
                problem = next((part.problem for part in parts if part.problem is not None), None)
                return _Visited(before, called(function, [part.after for part in parts]), problem, many)

    def _name(self, name: Name, aliases: Mapping[str, Said], keys_first: bool) -> _Visited:
        known = match(name.column, aliases) if name.table is None else []
        if len(known) > 1:
            raise BadQuestion(f"the name {show(name.column)} is ambiguous here; spell it exactly")
        if known and not keys_first:
            return self._visit(aliases[known[0]], {}, False)
        try:
            before = Column(self._scope.find(name))
        except BadQuestion:
            if known:
                return self._visit(aliases[known[0]], {}, False)
            raise
        if before in self._places:
            return _Visited(before, Column(self._places[before]), None, 1)
        if known:
            return self._visit(aliases[known[0]], {}, False)
        problem = BadQuestion(f"the column {show(name.column)} must be in GROUP BY or inside an aggregate")
        return _Visited(before, before, problem, 1)

    def _measure(self, total: Total) -> str:
        where = "an aggregate"
        measure = Measure(
            "",
            total.aggregate,
            tuple(rowwise(a, self._scope, where) for a in total.arguments),
            None if total.where is None else rowwise(total.where, self._scope, "FILTER (WHERE ...)"),
            total.level,
        )
        if measure not in self._measures:
            self._measures[measure] = f"measure {len(self._measures)}"
            self._said[self._measures[measure]] = total
        return self._measures[measure]

    def _window(self, said: Windowed, aliases: Mapping[str, Said]) -> str:
        def inside(one: Said) -> Expression:
            if any(isinstance(part, Windowed) for part in parts_of(one)):
                raise Unsupported("a window function inside another", "compute it in a subquery first")
            return self.over_groups(one, aliases)

        window = Window(
            "",
            said.function,
            tuple(inside(a) for a in said.arguments),
            tuple(inside(p) for p in said.partition),
            tuple(Order(inside(by), descending) for by, descending in said.order),
            said.rows,
        )
        if window not in self._windows:
            self._windows[window] = f"window {len(self._windows)}"
            self._said[self._windows[window]] = said
        return self._windows[window]

    def names(
        self, outputs: Sequence[str], columns: Sequence[Expression], keys: Mapping[Expression, Said]
    ) -> dict[str, str]:
        """Final names: that of the first output that is just this key or aggregate, or one that a stranger guesses."""
        final: dict[str, str] = {}
        for name, column in zip(outputs, columns, strict=True):
            if isinstance(column, Column) and column.name not in final:
                final[column.name] = name
        taken = {*outputs, *final.values()}
        said: dict[str, Said] = {self._places[key]: keys[key] for key in self.keys}
        for place, what in {**said, **self._said}.items():
            if place not in final:
                final[place] = fresh(guess(what, self._scope.find), taken)
                taken.add(final[place])
        return final


@dataclass(frozen=True, slots=True)
class _Visited:
    """A part of an output: as an expression of one row (if it can be one), and as one of keys and aggregates."""

    before: Expression | None
    after: Expression
    problem: BadQuestion | None
    size: int


def output_names(outputs: Sequence[Output], scope: Scope) -> list[str]:
    """The names of the outputs; those without one get one that is not taken."""
    given = [output.name for output in outputs if output.name is not None]
    unique(given)
    taken = set(given)
    found = []
    for output in outputs:
        name = output.name
        if name is None:
            name = guess(output.said, scope.spell)
            if isinstance(output.said, Name) and name in given:  # a column keeps its name, unless another has it
                unique([name, name])
            name = fresh(name, taken)
            taken.add(name)
        found.append(name)
    unique(found)
    return found


def _renamed(expression: Expression, final: Mapping[str, str]) -> Expression:
    return replace_columns(expression, lambda name: Column(final[name]))


def _renamed_window(window: Window, final: Mapping[str, str]) -> Window:
    return Window(
        final[window.name],
        window.function,
        tuple(_renamed(a, final) for a in window.arguments),
        tuple(_renamed(p, final) for p in window.partition),
        tuple(Order(_renamed(o.expression, final), o.descending) for o in window.order),
        window.rows,
    )


# --- what becomes of groups -------------------------------------------------------------------------------------------


def ask(
    rows: Rows,
    groups: Groups,
    *,
    sets: Sequence[Sequence[int]] | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> Question:
    """A question about the rows. ``sets`` are grouping sets of the keys as they were given; None: one set with all."""
    for _, column in groups.columns:
        check_after(column)
    inside = [e for w in groups.windows for e in w.expressions]
    for expression in (groups.having, groups.qualify, *(order.expression for order in groups.order), *inside):
        if expression is not None:
            check_after(expression)
    names = tuple(key.name for key in groups.keys)
    found = (
        (names,)
        if sets is None
        else tuple(tuple(names[i] for i in sorted({groups.places[j] for j in one})) for one in sets)
    )
    if len(found) > MOST_SETS:
        raise BadQuestion(f"a query has at most {MOST_SETS} grouping sets")
    if len(set(found)) != len(found):
        raise BadQuestion("the same grouping set is asked for twice; leave one out")
    outcome = Outcome(groups.columns, groups.having, groups.order, limit, offset, groups.windows, groups.qualify)
    return Question(rows.relation, groups.keys, groups.measures, outcome, found)


def check_after(expression: Expression) -> None:
    """Refuses functions that cannot be applied to released values."""
    for part in walk(expression):
        if isinstance(part, Call) and part.function not in OF_RELEASED:
            raise Unsupported(
                f"{part.function.upper()} of a released value",
                "apply it to the rows, inside the aggregate or in GROUP BY",
            )


def summarised(rows: Rows, groups: Groups) -> Rows:
    """One row for each unit: what GROUP BY gives inside a subquery."""
    after = [column for _, column in groups.columns] + ([] if groups.having is None else [groups.having])
    if any(isinstance(part, Call) and part.function == "grouping" for one in after for part in walk(one)):
        raise Unsupported("GROUPING in a subquery", "use it at the end, with ROLLUP, CUBE or GROUPING SETS")
    keys = [(key.name, key.expression) for key in groups.keys]
    found = per_unit(rows, keys, groups.measures)
    if groups.having is not None:
        found = filtered(found, groups.having)
    if groups.windows:
        found = windowed(found, groups.windows)
    if groups.qualify is not None:
        found = filtered(found, groups.qualify)
    if groups.columns != tuple((name, Column(name)) for name in found.columns):
        found = projected(found, groups.columns)
    return found
