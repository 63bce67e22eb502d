"""SELECT over a grouped subquery or CTE whose groups are released: post-processing of its rows, which is free.

The two become one question: the outer SELECT is written over what the inner one selects, its WHERE joins the HAVING (or
follows the window functions), and its ORDER BY and LIMIT come last. What that cannot say is ``NotFlat``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.clauses import SELECT, checked, condition_of, is_distinct, limit_of, offset_of, order_of
from discreet.query.front.sql.expressions import output
from discreet.query.front.sql.refusals import only
from discreet.query.resolve.build import Rows, match
from discreet.query.resolve.resolve import Scope, Source, output_names
from discreet.query.resolve.unresolved import Apply, Name, Output, Said, Total, Windowed, apply, over_parts, parts_of


class NotFlat(Exception):
    """A SELECT over released rows that is not one question: ``nested_select.py`` computes it from their rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one question says, before its names are looked up."""

    rows: Rows
    scope: Scope
    outputs: tuple[Output, ...]
    keys: tuple[Said, ...]
    sets: list[list[int]] | None = None
    having: Said | None = None
    qualify: Said | None = None
    order: tuple[tuple[Said, bool], ...] = ()
    limit: int | None = None
    offset: int = 0


def outer_select(node: exp.Expr, inner: Asked, name: str | None, columns: Sequence[str]) -> Asked:
    """The question that a SELECT over the released rows of another one is."""
    checked(node, *SELECT, "qualify")
    names = output_names(inner.outputs, inner.scope)
    if columns and len(columns) != len(names):
        raise BadQuestion(f"{len(columns)} names are given for {len(names)} columns")
    spelled = list(columns or names)
    scope = Scope((Source(name, {column: column for column in spelled}),))
    said = [_pinned(one.said, inner.scope) for one in inner.outputs]
    over = _Over(scope, dict(zip(spelled, said, strict=True)))
    outputs = _outputs(node, spelled)
    totals = any(isinstance(part, Total) for one in outputs for part in _outside_windows(one.said))
    if totals or condition_of(node, "having") is not None or node.args.get("group") is not None:
        raise NotFlat
    if is_distinct(node):
        raise NotFlat
    return _merged(node, inner, outputs, over)


def _merged(node: exp.Expr, inner: Asked, outputs: list[Output], over: _Over) -> Asked:
    where, passed = condition_of(node, "where"), condition_of(node, "qualify")
    aliases = {one.name: one.said for one in outputs if one.name is not None}
    order = tuple((over.said(by, aliases), down) for by, down in order_of(node, outputs))
    limit, offset = limit_of(node), offset_of(node)
    windows = any(isinstance(part, Windowed) for one in outputs for part in parts_of(one.said)) or passed is not None
    cut = inner.limit is not None or inner.offset > 0
    if cut and (where is not None or order or limit is not None or offset or windows):
        raise NotFlat
    before = any(isinstance(part, Windowed) for one in inner.outputs for part in parts_of(one.said))
    staged = before or inner.qualify is not None
    if staged and windows and (where is not None or inner.qualify is not None):
        raise NotFlat
    kept = None if where is None else over.said(where)
    chosen = None if passed is None else over.said(passed, aliases)
    names = output_names(outputs, over.scope)
    return replace(
        inner,
        outputs=tuple(Output(over.said(one.said), called) for one, called in zip(outputs, names, strict=True)),
        having=_both(_settled(inner.having, inner, keys_first=True), None if staged else kept),
        qualify=_both(_both(_settled(inner.qualify, inner), kept if staged else None), chosen),
        order=order or tuple((_whole(by, inner), down) for by, down in inner.order),
        limit=inner.limit if cut else limit,
        offset=inner.offset if cut else offset,
    )


def _both(first: Said | None, second: Said | None) -> Said | None:
    if first is None or second is None:
        return first if second is None else second
    return apply("and", first, second)


def _outputs(node: exp.Expr, columns: Sequence[str]) -> list[Output]:
    found: list[Output] = []
    for one in node.expressions:
        if type(one) is exp.Star:
            only(one)
            found += [Output(Name(column)) for column in columns]
        else:
            found.append(output(one))
    return found


def _outside_windows(said: Said) -> list[Said]:
    match said:
        case Apply(arguments=arguments):
            return [part for one in arguments for part in _outside_windows(one)]
        case _:
            return [said]


def _settled(said: Said | None, inner: Asked, *, keys_first: bool = False) -> Said | None:
    return None if said is None else _whole(said, inner, keys_first=keys_first)


def _whole(said: Said, inner: Asked, *, keys_first: bool = False) -> Said:
    """A clause of the inner SELECT with what the names of its outputs stand for: these names are gone outside."""
    match said:
        case Name(column=column, table=None):
            aliases = {one.name: one.said for one in inner.outputs if one.name is not None}
            known = match(column, aliases)
            pinned = _pinned(said, inner.scope)
            is_key = any(_pinned(key, inner.scope) == pinned for key in inner.keys)
            return pinned if not known or (keys_first and is_key) else _pinned(aliases[known[0]], inner.scope)
        case _:
            first = keys_first and not isinstance(said, Windowed)
            return over_parts(said, lambda part: _whole(part, inner, keys_first=first))


def _pinned(said: Said, scope: Scope) -> Said:
    """The same with the name of its table before each column, so that no alias of an output is taken for it."""
    match said:
        case Name(column=column, table=None):
            try:
                place = scope.find(said)
            except BadQuestion:  # an alias of an output
                return said
            tables = [s.name for s in scope.sources if place in s.columns.values()]
            return Name(column, tables[0])
        case _:
            return over_parts(said, lambda part: _pinned(part, scope))


@dataclass(frozen=True, slots=True)
class _Over:
    """Writes what the outer SELECT says over what the inner one selects."""

    scope: Scope
    columns: Mapping[str, Said]

    def said(self, said: Said, aliases: Mapping[str, Said] | None = None) -> Said:
        """With the columns replaced; a name of an output comes first where ``aliases`` are given."""
        match said:
            case Name(column=column, table=table):
                known = match(column, aliases) if aliases and table is None else []
                if len(known) == 1 and aliases is not None and aliases[known[0]] != said:
                    return self.said(aliases[known[0]])
                return self.columns[self.scope.find(said)]
            case Apply(function="grouping"):
                raise Unsupported("GROUPING of released groups", "use it in the SELECT that groups")
            case Total():
                raise NotFlat
            case Windowed(arguments=arguments) if any(
                isinstance(x, Total) for part in arguments for x in parts_of(part)
            ):
                raise NotFlat
            case _:
                return over_parts(said, lambda part: self.said(part, aliases))
