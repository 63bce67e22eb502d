"""Bounding: how much one unit weighs in the sums, from the owner's caps. Only here is said how far a unit reaches.

Guarantee: with ``Reach(weights, l1, l2_squared)``, adding or removing one unit moves a vector of sums over all groups
of W · value, |value| <= bound, by at most S·l1·bound in L1 and S·√l2_squared·bound in L2, S = ``weights.scale``.
Changing one unit moves it by at most twice that. Proof: bounding.md.

Two noises, two forms. Laplace noise pays for L1 length, so the weights of a unit are scaled to L1 length; Gaussian
noise pays for L2 length, and a unit in g groups keeps √(cap/g) of each instead of cap/g. Where the caps make both
lengths equal, each row of a unit weighs the same, which needs no grouping by unit and key.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from discreet.messages import Message, message
from discreet.query.plan.schema import MAX_ROWS, Caps
from discreet.query.plan.work import Form, Weights

SCALE = 1 << 20
_EXACT_ROOT = 1 << 52
KEYS_PER_UNIT = 256
"""Of keys that nobody listed, a unit may name this many (and never fewer than max_groups) when noise is Gaussian."""


class Noise(Enum):
    """Which noise is added."""

    LAPLACE = "Laplace"
    GAUSSIAN = "Gaussian"


@dataclass(frozen=True, slots=True)
class Reach:
    """How the rows of a unit are weighed, and how far the unit reaches then, in units of full weight."""

    weights: Weights
    l1: int
    l2_squared: int


def groups(caps: Caps) -> int:
    """In how many groups a unit counts fully."""
    return caps.max_groups if caps.max_groups is not None else rows(caps)


def rows(caps: Caps) -> int:
    """How many rows of a unit count in all.

    >>> rows(Caps()), rows(Caps(max_groups=5, max_rows_per_group=3))
    (10, 15)
    """
    if caps.max_rows is not None:
        return caps.max_rows
    if caps.max_groups is not None and caps.max_rows_per_group is not None:
        return caps.max_groups * caps.max_rows_per_group
    return MAX_ROWS


def values_kept(caps: Caps, *, own: bool, grouped: bool) -> int:
    """How many pairs (group, value) of a unit count; ``own``: the value is its id, of which it has one in each group.

    >>> caps = Caps(max_rows=10, max_groups=3)
    >>> values_kept(caps, own=False, grouped=False), values_kept(caps, own=True, grouped=True)
    (10, 3)
    >>> values_kept(caps, own=True, grouped=False)
    1
    """
    if not own:
        return rows(caps)
    return min(rows(caps), groups(caps)) if grouped else 1


def each_counts_once(caps: Caps) -> bool:
    """Whether a unit weighs no more than one row in any group, so that there its rows count as one."""
    return caps.max_rows_per_group == 1 or rows(caps) == 1


def limit_note(caps: Caps, *, grouped: bool) -> Message:
    """The contribution bound of one unit, for people.

    >>> print(limit_note(Caps(), grouped=False))
    Rows are limited to 10 per unit (scaled down); ± leaves out the bias of this limit.
    """
    if caps.auto:
        return message("bound_open")
    if grouped and each_counts_once(caps):
        return message("groups_limited", groups=groups(caps))
    if grouped and caps.max_groups is not None:
        return message("rows_limited_in_groups", rows=rows(caps), groups=groups(caps))
    return message("rows_limited", rows=rows(caps))


def row_reach(caps: Caps, noise: Noise, *, grouped: bool) -> Reach:
    """The weights of rows.

    >>> row_reach(Caps(max_groups=10, max_rows_per_group=1), Noise.GAUSSIAN, grouped=True).l2_squared
    10
    """
    most = rows(caps)
    each = min(caps.max_rows_per_group or most, most)
    if not grouped:
        return _by_rows(most)
    if noise is Noise.LAPLACE:
        l1 = min(most, groups(caps) * each)
        return _by_rows(l1) if each >= l1 else _by_groups(Form.L1, l1, each, l1, min(l1 * l1, l1 * each))
    l2_squared = min(groups(caps) * each * each, most * each)
    if l2_squared >= most * most:
        return _by_rows(most)
    return _by_groups(Form.L2, l2_squared, each, 0, l2_squared)


def unit_reach(caps: Caps, noise: Noise, *, grouped: bool) -> Reach:
    """The weights when each unit counts once in each of its groups; without groups, once."""
    most = groups(caps) if grouped else 1
    form = Form.L1 if noise is Noise.LAPLACE else Form.L2
    return _by_groups(form, most, 1, most if form is Form.L1 else 0, most)


def total_reach(clip: int) -> Reach:
    """The weights of units that are scaled down to a length of ``clip`` cells: their own sums, over all groups."""
    return Reach(Weights(form=Form.TOTALS, cap=clip, scale=SCALE), clip, clip * clip)


def most_keys(caps: Caps, noise: Noise) -> int:
    """How many keys that nobody listed a unit may touch at all."""
    return groups(caps) if noise is Noise.LAPLACE else max(groups(caps), KEYS_PER_UNIT)


def _by_rows(cap: int) -> Reach:
    return Reach(Weights(form=Form.ROWS, cap=cap, scale=SCALE), cap, cap * cap)


def _by_groups(form: Form, cap: int, each: int, l1: int, l2_squared: int) -> Reach:
    scale = SCALE
    while form is Form.L2 and scale * scale * cap >= _EXACT_ROOT:
        scale //= 2
    return Reach(Weights(form=form, cap=cap, scale=scale, per_group=each), l1, l2_squared)
