"""Engines with one planted fault each: the oracle with one of its functions replaced. The checks must tell them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

from discreet.engines.memory import engine as module
from discreet.engines.memory import row as memory_row
from discreet.query.plan.expressions import Call, Expression
from discreet.query.plan.schema import Schema, Stored
from discreet.query.plan.work import AnyWork, Exact, Form, TotalsWork, UnitClasses, Weights, Work

Patch = Callable[[pytest.MonkeyPatch], None]
# what is right, whatever is patched later
_unit_weight, _smallest, _contribution, _by_unit, _sums = (
    module.unit_weight, module.smallest, module._contribution, module._by_unit, module._sums
)  # fmt: skip
_clipped_weight, _length, _kept_groups = module.clipped_weight, module.length, module.kept_groups
_evaluate, _read, _round, _like = memory_row.evaluate, memory_row.read_real, memory_row.round_div, memory_row.like


@dataclass(frozen=True)
class Faulty:
    """The oracle, with a fault while it runs."""

    patch: Patch
    name: str = "faulty"

    def columns(self, source: object) -> dict[str, Stored]:
        return module.memory().columns(source)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        with pytest.MonkeyPatch.context() as patched:
            self.patch(patched)
            return module.memory().run(works, schemas)


def _up(x: int, y: int) -> int:
    return -(-x // y)


def _weights_up(weights: Weights, sizes: Sequence[int]) -> int:
    right = _unit_weight(weights, sizes)
    return right if right == weights.scale else right + 1


def _weights_in_floats(weights: Weights, sizes: Sequence[int]) -> int:
    if weights.form is Form.L2 and weights.per_group is not None:
        length = math.sqrt(sum(min(n, weights.per_group) ** 2 for n in sizes))
        return round(weights.scale * min(1.0, math.sqrt(weights.cap) / length))
    each = [n if weights.per_group is None else min(n, weights.per_group) for n in sizes]
    return round(weights.scale * min(1.0, weights.cap / sum(each)))


def _no_square(weights: Weights, sizes: Sequence[int]) -> int:
    """The length of L2 computed as if it were of L1."""
    if weights.form is not Form.L2 or weights.per_group is None:
        return _unit_weight(weights, sizes)
    total = sum(min(n, weights.per_group) for n in sizes)
    return weights.scale if total <= weights.cap else math.isqrt(weights.scale**2 * weights.cap // total)


def _only_groups(weights: Weights, sizes: Sequence[int]) -> int:
    """Groups are counted instead of rows."""
    return _unit_weight(weights, [1] * len(sizes))


def _per_group_up(weights: Weights, w: int, n: int) -> int:
    return w if weights.per_group is None or n <= weights.per_group else _up(w * weights.per_group, n)


def _popular(patched: pytest.MonkeyPatch) -> None:
    """Keys are kept by what other units did: those that anyone had first."""
    seen: dict[Any, int] = {}

    def smallest(_unit: Any, keys: Iterable[Any], _salt: str, count: int) -> list[Any]:
        listed = list(keys)
        for key in listed:
            seen.setdefault(key, len(seen))
        return sorted(listed, key=lambda key: seen[key])[:count]

    patched.setattr(module, "smallest", smallest)


def _null_to_upper(patched: pytest.MonkeyPatch) -> None:
    """As ``greatest(low, least(high, NULL))`` does in SQL."""

    def evaluate(expression: Expression, row: Mapping[str, Any]) -> Any:
        value = _evaluate(expression, row)
        if value is None and isinstance(expression, Call) and expression.function == "read_integer":
            return _evaluate(expression.arguments[-1], row)
        return value

    patched.setattr(memory_row, "evaluate", evaluate)
    patched.setattr(module, "evaluate", evaluate)


def _null_is_a_unit(patched: pytest.MonkeyPatch) -> None:
    def by_unit(work: AnyWork, rows: list[dict[str, Any]]) -> Any:
        return _by_unit(work, [row | {work.unit: "none" if row[work.unit] is None else row[work.unit]} for row in rows])

    patched.setattr(module, "_by_unit", by_unit)


def _loose_units(patched: pytest.MonkeyPatch) -> None:
    def loose(unit: Any) -> Any:
        return unit.strip().lstrip("0") if isinstance(unit, str) else unit if unit is None else abs(unit)

    def by_unit(work: AnyWork, rows: list[dict[str, Any]]) -> Any:
        return _by_unit(work, [row | {work.unit: loose(row[work.unit])} for row in rows])

    patched.setattr(module, "_by_unit", by_unit)


def _listed_later(patched: pytest.MonkeyPatch) -> None:
    """Rows in no listed group still weigh the unit's other rows down."""

    def sums(work: Work, rows: list[dict[str, Any]]) -> Exact:
        keys = tuple(replace(key, allowed=None) for key in work.keys)
        found = _sums(replace(work, keys=keys), rows)
        listed = [
            all(k.allowed is None or v in k.allowed for k, v in zip(work.keys, key, strict=False)) for key in found.keys
        ]
        kept = [key for key, keep in zip(found.keys, listed, strict=True) if keep]
        return Exact(tuple(kept), tuple(numbers[listed] for numbers in found.numbers))

    patched.setattr(module, "_sums", sums)


def _merged_later(patched: pytest.MonkeyPatch) -> None:
    """Weights for finer groups than the sums are made for."""
    patched.setattr(
        module, "unit_weight", lambda weights, sizes: _unit_weight(weights, [1 for n in sizes for _ in range(n)])
    )
    patched.setattr(module, "row_weight", lambda _weights, w, _n: w)


def _totals_by_group(patched: pytest.MonkeyPatch) -> None:
    """The length of each group's number instead of that of all groups of the unit."""

    def each(work: TotalsWork | UnitClasses, rows: list[dict[str, Any]]) -> Any:
        return ({key: members} for groups in _kept_groups(work, rows) for key, members in groups.items())

    patched.setattr(module, "kept_groups", each)


def _cut_before_lengths(patched: pytest.MonkeyPatch) -> None:
    """The length of the numbers that were cut to the cap: then no unit is longer than its number of groups times it."""

    def weight(scale: int, cap: int, t: int) -> int:
        return _clipped_weight(scale, cap, min(t, 2 * cap))

    patched.setattr(module, "clipped_weight", weight)


def _float_read(x: float, exponent: int, low: int, high: int) -> int | None:
    if math.isnan(x) or math.isinf(x) or not -1000 < exponent < 1000:
        return _read(x, exponent, low, high)
    y = x / 2.0**exponent + 0.5
    return high if math.isinf(y) and y > 0 else low if math.isinf(y) else min(max(math.floor(y), low), high)


def _set(name: str, function: Callable[..., Any]) -> Patch:
    return lambda patched: patched.setattr(module, name, function)


def primitive(name: str, function: Callable[..., Any]) -> Patch:
    """A fault in one primitive."""
    return lambda patched: patched.setitem(memory_row.STRICT, name, function)


REACHING_TOO_FAR: dict[str, Patch] = {
    "weights rounded up": _set("unit_weight", _weights_up),
    "weights in floats": _set("unit_weight", _weights_in_floats),
    "no weights": _set("unit_weight", lambda weights, _sizes: weights.scale),
    "length without squares": _set("unit_weight", _no_square),
    "groups counted, not rows": _set("unit_weight", _only_groups),
    "rows of a group rounded up": _set("row_weight", _per_group_up),
    "no cap in a group": _set("row_weight", lambda _weights, w, _n: w),
    "capped before groups are merged": _merged_later,
    "all keys are kept": _set("smallest", lambda _unit, keys, _salt, _count: list(keys)),
    "one key too many": _set("smallest", lambda u, keys, s, count: _smallest(u, keys, s, count + 1)),
    "keys chosen by what others have": _popular,
    "clipped weights rounded up": _set("clipped_weight", lambda s, cap, t: s if t <= cap else _up(s * cap, t)),
    "no clipping": _set("clipped_weight", lambda scale, _cap, _t: scale),
    "lengths after numbers were cut": _cut_before_lengths,
    "lengths by group": _totals_by_group,
    "lengths with signs": _set("length", lambda numbers: abs(sum(numbers))),
    "NULL is a unit": _null_is_a_unit,
    "units compared loosely": _loose_units,
}
"""Faults that let a unit reach farther than claimed."""

ANOTHER_MEANING: dict[str, Patch] = {
    "no salt": _set("smallest", lambda unit, keys, _salt, count: _smallest(unit, keys, "", count)),
    "sums in floats": _set("_contribution", lambda *a: int(float(_contribution(*a)))),
    "NULL is clamped to the upper bound": _null_to_upper,
    "NULL joins NULL": _set("_equal", lambda x, y: x == y),
    "keys are listed after the bounding": _listed_later,
    "lengths in floats": _set("length", lambda numbers: int(sum(float(abs(x)) for x in numbers))),
}
"""Faults that change a number without reaching too far: only the comparison with the oracle can see them."""

ANOTHER_PRIMITIVE: dict[str, tuple[str, Callable[..., Any]]] = {
    "NaN is the upper bound": ("read_real", lambda x, e, low, high: high if math.isnan(x) else _read(x, e, low, high)),
    "halves in floats": ("read_real", _float_read),
    "fractions are whole": ("read_whole", lambda x: int(x) if abs(x) < 2**53 else None),
    "2^53 is whole": ("read_whole", lambda x: int(x) if x.is_integer() and abs(x) <= 2**53 else None),
    "coarse steps rounded down": (
        "read_coarse",
        lambda x, s, p, low, high: min(max(int(Fraction(x) // Fraction(10) ** p), low), high),
    ),
    "floor division": ("div", lambda x, y: x // y if y else None),
    "rounding to even": ("round_div", lambda x, n: round(x / n) if abs(x) < 2**50 else _round(x, n)),
    "LIKE with escapes": ("like", lambda x, p: _like(x, p.replace("\\", ""))),
    "lower of all letters": ("lower", str.lower),
    "trim of all blanks": ("trim", str.strip),
    "length in bytes": ("length", lambda x: len(x.encode())),
    "seconds rounded down": ("seconds_between", lambda x, y: math.floor((y - x).total_seconds())),
    "weeks from Sunday": ("day_of_week", lambda x: x.isoweekday() % 7 + 1),
    "loose numbers in text": ("text_to_integer", lambda x: int(x) if x.strip().isdigit() else None),
}
"""The same, in one primitive."""
