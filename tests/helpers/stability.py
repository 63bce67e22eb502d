"""Claims of stability against all small neighbours, exactly.

``refute`` tries every data set up to a few rows over a small domain, in every order, and every pair of them at
distance 1 and 2. It knows rows and distances from their definitions alone and shares no code with the maps that it
checks.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, permutations, product
from typing import Any

from discreet.stable.core.domains import Domain, Groups, Number, OneOf, Rows, Text, Vector, Whole
from discreet.stable.core.metrics import How, Metric, Moves, NumberMetric, RowMetric, VectorMetric


@dataclass(frozen=True)
class Claim:
    """What a map says of itself; a planted bug says the same and does something else."""

    f: Callable[[Any], Any]
    stability: Callable[[int], Any]
    input_metric: RowMetric
    output_metric: Metric
    output_domain: Domain


def claim_of(stable: Any, f: Callable[[Any], Any] | None = None) -> Claim:
    """The claims of a map; with another function, a twin that makes the same claims."""
    return Claim(f or stable, stable.stability, stable.input_metric, stable.output_metric, stable.output_domain)


def refute(claim: Claim, values: Sequence[Any], *, most: int = 3, distances: tuple[int, ...] = (1, 2)) -> str | None:
    """A counterexample in words, or None if the claim holds for all data of at most ``most`` rows of these values."""
    try:
        seen = _outputs(claim, values, most)
    except _FoundError as found:
        return str(found)
    worst = {d: claim.stability(d) for d in distances}
    for (x, shape_x, out_x), (y, shape_y, out_y) in combinations(seen, 2):
        d = _gap(claim.input_metric, shape_x, shape_y)
        if d in worst:
            moved = _gap(claim.output_metric, out_x, out_y)
            if not moved <= worst[int(d)]:
                return f"{x!r} and {y!r} are {d} apart, and their outputs {moved} apart, above {worst[int(d)]}"
        elif d == 0 and not _is_zero(_gap(claim.output_metric, out_x, out_y)):
            return f"{x!r} and {y!r} are the same, but their outputs are not"
    return None


def attained(claim: Claim, values: Sequence[Any], *, most: int = 3, d: int = 1) -> Any:
    """The largest distance between outputs of inputs at distance d, norm by norm for vectors."""
    found = [
        _gap(claim.output_metric, out_x, out_y)
        for (_, shape_x, out_x), (_, shape_y, out_y) in combinations(_outputs(claim, values, most), 2)
        if _gap(claim.input_metric, shape_x, shape_y) == d
    ]
    if isinstance(claim.output_metric, VectorMetric):
        return Moves(
            l1=max(m.l1 for m in found), l2_squared=max(m.l2_squared for m in found), linf=max(m.linf for m in found)
        )
    return max(found)


class _FoundError(Exception):
    pass


def _outputs(claim: Claim, values: Sequence[Any], most: int) -> list[tuple[list[Any], Any, Any]]:
    """Every data set, with the shapes of itself and of its output; each order is tried where order does not count."""
    before, behind = claim.input_metric, claim.output_metric
    seen: list[tuple[list[Any], Any, Any]] = []
    for size in range(most + 1):
        if before.how is How.IN_PLACE:
            lists = [list(x) for x in product(values, repeat=size)]
            seen += [(x, _shape(before, x), _shape(behind, _run(claim, x))) for x in lists]
            continue
        for bag in combinations_with_replacement(range(len(values)), size):
            rows = [values[i] for i in bag]
            first = _shape(behind, _run(claim, rows))
            for order in set(permutations(bag)):
                other = _shape(behind, _run(claim, [values[i] for i in order]))
                if not _is_zero(_gap(behind, first, other)):
                    raise _FoundError(f"the output for {rows!r} depends on the order of the rows")
            seen.append((rows, _shape(before, rows), first))
    return seen


def _run(claim: Claim, rows: list[Any]) -> Any:
    try:
        out = claim.f(list(rows))
    except Exception as error:
        raise _FoundError(f"it raises {type(error).__name__} for {rows!r}") from error
    if not _belongs(out, claim.output_domain):
        raise _FoundError(f"for {rows!r} it gives what is not in its domain")
    return out


def _belongs(out: Any, domain: Domain) -> bool:
    match domain:
        case Number():
            return type(out) is int
        case Vector(size=size):
            return len(out) == size and all(type(v) is int for v in out)
        case Rows(row=row, size=size):
            return (size is None or len(out) == size) and all(_is_row(r, row) for r in out)
        case Groups(keys=keys, row=row):
            return tuple(out) == keys and all(_is_row(r, row) for rows in out.values() for r in rows)


def _is_row(row: Any, kind: Any) -> bool:
    match kind:
        case Whole(low=low, high=high):
            return type(row) is int and (low is None or low <= row) and (high is None or row <= high)
        case OneOf(values=values):
            return any(row is value for value in values)
        case Text():
            return type(row) is str
        case _:
            return True


# --- distances, from their definitions ----------------------------------------------------------------------------


def distance(metric: Metric, x: Any, y: Any) -> Any:
    """The distance, without help from the package."""
    return _gap(metric, _shape(metric, x), _shape(metric, y))


def _shape(metric: Metric, x: Any) -> Any:
    """All that the metric sees of x."""
    match metric:
        case RowMetric(how=How.IN_PLACE):
            return [what(row) for row in x]
        case RowMetric(unit=unit):
            return _bag(x, unit)
        case _:
            return x


def _gap(metric: Metric, x: Any, y: Any) -> Any:
    match metric:
        case NumberMetric():
            return abs(x - y)
        case VectorMetric():
            if len(x) != len(y):
                return Moves(l1=1 << 400, l2_squared=1 << 400, linf=1 << 400)
            moved = [abs(a - b) for a, b in zip(x, y, strict=True)]
            return Moves(l1=sum(moved), l2_squared=sum(m * m for m in moved), linf=max(moved, default=0))
        case RowMetric(how=How.IN_PLACE):
            return sum(a != b for a, b in zip(x, y, strict=True)) if len(x) == len(y) else math.inf
        case RowMetric(how=how):
            gone, come = (x - y).total(), (y - x).total()
            if how is How.ADDED:
                return gone + come
            return math.inf if how is How.CHANGED and gone != come else max(gone, come)


def what(row: Any) -> Hashable:
    """What a row is, to whoever looks closely: its type and content, NaN bits and the sign of zero included."""
    kind = type(row)  # isinstance would ask the row, which may do anything
    if kind is float:
        return "float", struct.pack("d", row)
    if kind is dict:
        return "dict", tuple((what(k), what(v)) for k, v in row.items())
    if kind in (tuple, list):
        return kind.__name__, tuple(what(v) for v in row)
    return kind.__name__, row if row is None or kind in (bool, int, str, bytes) else id(row)


def _bag(data: Any, unit: Any) -> Counter[Hashable]:
    rows: Iterable[Any] = data
    if isinstance(data, dict):
        rows = [(key, row) for key, held in data.items() for row in held]
    if unit is None:
        return Counter(what(row) for row in rows)
    owned: dict[Hashable, list[Hashable]] = {}
    for row in rows:
        owned.setdefault(_owner(row, unit), []).append(what(row))
    return Counter((owner, tuple(sorted(map(repr, held)))) for owner, held in owned.items())


def _owner(row: Any, unit: Any) -> Hashable:
    """Whose the row is; None: it names nobody."""
    try:
        owner = unit(row) if callable(unit) else row[unit]
    except Exception:
        return None
    if isinstance(owner, float):
        return int(owner) if math.isfinite(owner) and owner == int(owner) else None
    return owner if isinstance(owner, (int, str)) and not isinstance(owner, bool) else None


def _is_zero(moved: Any) -> bool:
    return moved == Moves(l1=0, l2_squared=0, linf=0) if isinstance(moved, Moves) else moved == 0
