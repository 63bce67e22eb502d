"""Forms in a shorter spelling, written out in the tree: PIVOT, MODE, WINDOW, EXISTS in an expression,
a SELECT of subqueries without FROM.

    PIVOT t ON c IN ('a') USING SUM(x) GROUP BY k     SELECT k, SUM(x) FILTER (WHERE c = 'a') AS a FROM t GROUP BY k
    SELECT g, MODE(x) AS m FROM t GROUP BY g          SELECT g, m FROM (SELECT g, x AS m, COUNT(*) AS n FROM t GROUP BY
                                                      g, x HAVING COUNT(*) > 0) QUALIFY ROW_NUMBER() OVER (...) = 1
    CASE WHEN EXISTS (SELECT ... WHERE b.k = a.k)     CASE WHEN (SELECT COUNT(*) ... WHERE b.k = a.k) > 0
    SELECT UNNEST(x) AS e FROM t                      SELECT e FROM t, UNNEST(x) AS l(e); also t LATERAL VIEW EXPLODE(x)
    SELECT (SELECT COUNT(*) FROM a) / 2               SELECT s.value / 2 FROM (SELECT COUNT(*) AS value FROM a) AS s

Promise: only the text is looked at, and what it becomes is read, checked and priced like any other question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.opaque_names import spelled
from discreet.query.front.sql.refusals import only
from discreet.query.functions.aggregates import NAMES

KeysOf = Callable[[str], Sequence[str]]
"""The listed keys of a column, by its name; nothing if there are none."""
PIVOT_HINT = "write SUM(x) FILTER (WHERE k = 'a') AS a for each value of k"


def restated(tree: exp.Expr, listed: KeysOf) -> exp.Expr:
    """The tree with such forms written out."""
    if type(tree) is exp.Pivot:
        only(tree, "this", "expressions", "using", "group", "with_")
        if not tree.args.get("group"):
            raise Unsupported("PIVOT without GROUP BY", "name the columns that stay: PIVOT ... GROUP BY k")
        made = _pivoted(tree, exp.From(this=tree.this), tree.args["group"].expressions, listed)
        made.set("with_", tree.args.get("with_"))
        tree = made
    for node in reversed(list(tree.walk())):
        match node:
            case exp.Exists():
                _count_instead(node)
            case exp.Subquery() | exp.Table() if node.args.get("pivots"):
                _pivot_in_from(node, listed)
            case exp.Window() if node.args.get("alias") is not None:
                _named_window(node)
            case exp.Select():
                node.set("windows", None)
                _lists_in_from(node)
                if node.args.get("from_") is None and node.find(exp.Subquery) is not None:
                    _with_from(node)
                _with_mode(node)
    return tree


def _named_window(window: exp.Expr) -> None:
    """``OVER w`` with what ``WINDOW w AS (...)`` says."""
    select, name = window.find_ancestor(exp.Select), spelled(window.args["alias"].name).casefold()
    windows = [] if select is None else select.args.get("windows") or []
    given = next((part for part in windows if spelled(part.name).casefold() == name), None)
    if given is None:
        raise BadQuestion("there is no window of this name in WINDOW")
    for part in ("partition_by", "order", "spec"):
        if not window.args.get(part):
            window.set(part, given.args.get(part))
    window.set("alias", None)


LISTS = ("unnest", "explode", "explode_outer", "flatten")
"""Functions that give a row for each element of a list."""


def list_in(node: exp.Expr) -> exp.Expr | None:
    """The list that UNNEST(x) and its like take apart; None if it is something else."""
    if type(node) is exp.Explode:
        exploded: exp.Expr = node.this
        return exploded
    called = type(node) is exp.Anonymous and spelled(str(node.this)).lower() in LISTS
    if type(node) is not exp.Unnest and not called:
        return None
    if node.args.get("offset") or len(node.expressions) != 1:
        raise Unsupported("UNNEST of more than one column", "write FROM visits, UNNEST(tags) AS t(tag)")
    listed: exp.Expr = node.expressions[0]
    return listed


def _lists_in_from(select: exp.Select) -> None:
    """An UNNEST among the columns, and LATERAL VIEW, as items of FROM."""
    joins = [*(select.args.get("joins") or []), *(exp.Join(this=part) for part in select.args.get("laterals") or [])]
    lists = [part for part in select.expressions if list_in(part.unalias()) is not None]
    if len(lists) > 1:
        raise Unsupported("more than one UNNEST among the columns", "write FROM visits, UNNEST(tags) AS t(tag)")
    for part in lists:
        name, item = (
            exp.to_identifier(part.alias or "unnest", quoted=True),
            exp.to_identifier("list of it", quoted=True),
        )
        alias = exp.TableAlias(this=item, columns=[name])
        joins.append(exp.Join(this=exp.Unnest(expressions=[list_in(part.unalias())], alias=alias)))
        part.replace(exp.column(name.copy(), table=item.copy()))
    if joins:
        select.set("joins", joins)
        select.set("laterals", None)


# --- PIVOT ------------------------------------------------------------------------------------------------------------


def _pivot_in_from(item: exp.Expr, listed: KeysOf) -> None:
    """``FROM (SELECT k, c, x ...) PIVOT (SUM(x) FOR c IN ('a', 'b')) AS p``: k is every column that is not named."""
    (pivot,) = item.args["pivots"][:1]
    inner = item.this
    if len(item.args["pivots"]) > 1 or pivot.args.get("unpivot") or type(inner) is not exp.Select:
        raise Unsupported("PIVOT of a table", f"give it a subquery that names its columns, or {PIVOT_HINT}")
    fields = pivot.args.get("fields") or []
    used = {column.name for part in (*pivot.expressions, *fields) for column in part.find_all(exp.Column)}
    names = [output.alias_or_name for output in inner.expressions]
    if not fields or not all(names):
        raise Unsupported("PIVOT of a table", f"give it a subquery that names its columns, or {PIVOT_HINT}")
    keys = [exp.column(exp.to_identifier(name, quoted=True)) for name in names if name not in used]
    alias = pivot.args.get("alias") or exp.TableAlias(this=exp.to_identifier("pivoted"))
    below = exp.From(this=exp.Subquery(this=inner.copy(), alias=exp.TableAlias(this=exp.to_identifier("given"))))
    shape = exp.Pivot(expressions=fields, using=pivot.expressions)
    item.replace(exp.Subquery(this=_pivoted(shape, below, keys, listed), alias=alias.copy()))


def _pivoted(pivot: exp.Expr, source: exp.From, keys: Sequence[exp.Expr], listed: KeysOf) -> exp.Select:
    using = pivot.args.get("using") or []
    if len(pivot.expressions) != 1 or not using:
        raise Unsupported("PIVOT of several columns", PIVOT_HINT)
    by = pivot.expressions[0]
    column = by.this if type(by) is exp.In else by
    if type(by) is exp.In:
        values = [part if type(part) is exp.PivotAlias else exp.PivotAlias(this=part) for part in by.expressions]
    else:
        names = listed(spelled(column.name)) if type(column) is exp.Column else ()
        values = [exp.PivotAlias(this=exp.Literal.string(name)) for name in names]
    if not values:
        raise Unsupported("PIVOT of a column whose keys are not known", "list them: PIVOT t ON c IN ('a', 'b') USING")
    outputs = []
    for value in values:
        start = value.alias or value.this.name
        for call in using:
            end = call.alias or (_plain_text(call) if len(using) > 1 else "")
            name = exp.to_identifier(f"{spelled(start)}{'_' if end else ''}{spelled(end)}", quoted=True)
            only_those = exp.Where(this=exp.EQ(this=column.copy(), expression=value.this.copy()))
            outputs.append(exp.alias_(exp.Filter(this=call.unalias().copy(), expression=only_those), name))
    made = exp.Select(expressions=[*(part.copy() for part in keys), *outputs], from_=source.copy())
    if keys:
        made.set("group", exp.Group(expressions=[part.copy() for part in keys]))
    return made


def _plain_text(call: exp.Expr) -> str:
    """A call as DuckDB writes it."""
    name = spelled(call.name).lower()
    if any(type(part) is exp.Star for part in call.expressions):
        return f"{name}_star()"
    return f"{name}({', '.join(spelled(part.name) for part in call.expressions)})"


# --- EXISTS, and no FROM ----------------------------------------------------------------------------------------------


def _count_instead(node: exp.Exists) -> None:
    """EXISTS as a number of rows above 0, where it is no condition of WHERE by itself."""
    at = node.parent
    while isinstance(at, exp.And | exp.Paren | exp.Not):
        at = at.parent
    inner = node.this
    plain = type(inner) is exp.Select and not any(inner.args.get(part) for part in ("group", "having", "offset"))
    if type(at) is exp.Where or not plain:
        return
    counted = inner.copy()
    for part in ("distinct", "order", "limit"):
        counted.set(part, None)
    counted.set("expressions", [exp.Anonymous(this="COUNT", expressions=[exp.Star()])])
    node.replace(exp.GT(this=exp.Subquery(this=counted), expression=exp.Literal.number(0)))


def _with_from(select: exp.Select) -> None:
    """Subqueries of one value, each as a table of one row."""
    tables = []
    for place, part in enumerate(_outermost(select)):
        name = exp.to_identifier(f"value {place}", quoted=True)
        inner = part.this
        if type(inner) is not exp.Select or len(inner.expressions) != 1:
            raise BadQuestion("a subquery in the place of a value has one column")
        inner.set("expressions", [exp.alias_(inner.expressions[0].unalias(), "value", quoted=True)])
        if type(part.parent) is exp.Select:  # it has a name of its own
            part.replace(exp.alias_(exp.column("value", table=name, quoted=True), f"column{place + 1}", quoted=True))
        else:
            part.replace(exp.column(exp.to_identifier("value", quoted=True), table=name))
        tables.append(exp.Subquery(this=inner, alias=exp.TableAlias(this=name.copy())))
    select.set("from_", exp.From(this=tables[0]))
    select.set("joins", [exp.Join(this=part, kind="CROSS") for part in tables[1:]])


def _outermost(select: exp.Select) -> list[exp.Subquery]:
    walk = (
        part for output in select.expressions for part in output.walk(prune=lambda part: type(part) is exp.Subquery)
    )
    return [part for part in walk if type(part) is exp.Subquery]


# --- MODE -------------------------------------------------------------------------------------------------------------


def _with_mode(select: exp.Select) -> None:
    """MODE(x), or MODE() WITHIN GROUP (ORDER BY x): the value with the largest number of rows, beside the keys."""
    modes = [part for part in select.expressions if _mode_of(part.unalias()) is not None]
    if not modes:
        return
    keys = [part for part in select.expressions if part not in modes]
    calls = [part for key in keys for part in key.find_all(exp.Anonymous) if spelled(part.this).lower() in NAMES]
    if len(modes) > 1 or calls or any(select.args.get(part) for part in ("having", "qualify", "distinct")):
        raise Unsupported("MODE beside other aggregates", "ask it as a query of its own, beside the keys alone")
    value, names = _mode_of(modes[0].unalias()), [part.alias or part.output_name for part in keys]
    count = exp.Anonymous(this="COUNT", expressions=[value])
    inner = exp.Select(**{part: select.args[part] for part in ("from_", "joins", "where") if select.args.get(part)})
    columns = [*(part.unalias() for part in keys), value, count]
    names = [*names, modes[0].alias or "mode", "rows of it"]
    inner.set("expressions", [exp.alias_(e.copy(), name, quoted=True) for e, name in zip(columns, names, strict=True)])
    inner.set("group", exp.Group(expressions=[exp.Literal.number(place) for place in range(1, len(names))]))
    inner.set("having", exp.Having(this=exp.GT(this=count.copy(), expression=exp.Literal.number(0))))
    *outer, mode, rows = (exp.column(name, quoted=True) for name in names)
    order = exp.Order(expressions=[exp.Ordered(this=rows, desc=True), exp.Ordered(this=mode.copy())])
    place = exp.Window(this=exp.Anonymous(this="ROW_NUMBER"), partition_by=[part.copy() for part in outer], order=order)
    below = exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("counted", quoted=True)))
    at = {part: i for i, part in enumerate(select.expressions)}
    shown = sorted(zip([*keys, *modes], [*outer, mode], strict=True), key=lambda pair: at[pair[0]])
    for part in ("where", "group", "joins"):
        select.set(part, None)
    select.set("expressions", [column.copy() for _, column in shown])
    select.set("from_", exp.From(this=below))
    select.set("qualify", exp.Qualify(this=exp.EQ(this=place, expression=exp.Literal.number(1))))


def _mode_of(node: exp.Expr) -> exp.Expr | None:
    """What MODE is of; None if it is something else."""
    call = node.this if type(node) is exp.WithinGroup else node
    if type(call) is not exp.Anonymous or spelled(str(call.this)).lower() != "mode":
        return None
    given = node.expression.expressions if type(node) is exp.WithinGroup else call.expressions
    if len(given) != 1 or (type(node) is exp.WithinGroup and call.expressions):
        raise BadQuestion("write MODE(x), or MODE() WITHIN GROUP (ORDER BY x)")
    (value,) = given
    ordered: exp.Expr = value.this if type(value) is exp.Ordered else value
    return ordered
