"""The weights of ``query/plan/work.py`` in SQL: integers only, rounded down."""

from __future__ import annotations

from discreet.engines.sql.dialects import Dialect, Sort
from discreet.query.plan.work import Form, Weights


def size_of_unit(weights: Weights, d: Dialect) -> str:
    """What is compared with the cap: an aggregate over the groups of a unit, n being their numbers of rows."""
    if weights.form is Form.ROWS or weights.per_group is None:
        return d.cast("sum(n)", Sort.INTEGER)
    if weights.per_group == 1:
        return f"{d.count}(*)"
    return d.cast(f"sum({size_of_group(weights, d)})", Sort.INTEGER)


def size_of_group(weights: Weights, d: Dialect) -> str:
    """What one group of n rows adds to that."""
    if weights.form is Form.ROWS or weights.per_group is None:
        return "n"
    most = d.literal(weights.per_group)
    capped = f"CASE WHEN n <= {most} THEN n ELSE {most} END"
    return capped if weights.form is Form.L1 else f"({capped}) * ({capped})"


def unit_weight(weights: Weights, d: Dialect, size: str) -> str:
    """w_u, from the size of the unit. The root is of an integer below 2^52, so the double is exact enough to floor."""
    full, cap = d.literal(weights.scale), d.literal(weights.cap)
    if weights.form is Form.L2:
        if weights.scale**2 * weights.cap >= 1 << 52:
            raise ValueError("the root would not be exact")
        square = d.call("quotient", d.literal(weights.scale**2 * weights.cap), size)
        less = d.cast(d.call("root", square), Sort.INTEGER)
    else:
        less = d.call("quotient", d.literal(weights.scale * weights.cap), size)
    return f"CASE WHEN {size} <= {cap} THEN {full} ELSE {less} END"


def beyond(weights: Weights, d: Dialect, total: str) -> str:
    """What the rows of a unit add together when each of them weighs 0; ``total`` is the sum of their values.

    m*X / z as m*(X / z) + m*(X mod z) / z, towards zero: every step fits into a wide number.
    """
    by_rows = weights.form is Form.ROWS or weights.per_group is None
    mass = d.literal(weights.scale * weights.cap) if by_rows else f"(w * {d.literal(weights.per_group)})"
    size = "q" if by_rows else "n"
    wide = f"CAST({total} AS {d.wide})"
    rest = f"CAST({mass} AS {d.wide}) * {d.call('wide_remainder', wide, size)}"
    whole = f"CAST({mass} AS {d.wide}) * {d.call('wide_quotient', wide, size)}"
    return f"({whole} + {d.call('wide_quotient', f'({rest})', size)})"


_MANY = 1024


def may_weigh_nothing(weights: Weights, d: Dialect) -> str:
    """A condition on n and q that holds wherever a row weighs 0, and rarely elsewhere; quicker than the weight itself.

    L1, L2: a row weighs 0 if n > w * per_group. If n is at most T = per_group * t, with t <= S, then w < t, and so q is
    beyond the largest q that gives w >= t.
    """
    most = weights.scale * weights.cap
    if weights.form is Form.ROWS or weights.per_group is None:
        return f"q > {d.literal(most)}"
    t = min(_MANY, weights.scale)
    largest = most * weights.scale // t**2 if weights.form is Form.L2 else most // t
    return f"(n > {d.literal(weights.per_group * t)} OR q > {d.literal(largest)})"


def row_weight(weights: Weights, d: Dialect) -> str:
    """W_uk, from w and n."""
    if weights.form is Form.ROWS or weights.per_group is None:
        return "w"
    most = d.literal(weights.per_group)
    return f"CASE WHEN n <= {most} THEN w ELSE {d.call('quotient', f'(w * {most})', 'n')} END"
