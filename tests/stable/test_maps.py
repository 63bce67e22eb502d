"""Each map's stability against all neighbours on small, nasty data; planted bugs are caught by the same check."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

from discreet import stable
from discreet.privacy.promises.neighbours import Neighbours
from discreet.stable import ADD_REMOVE, CHANGE, EDIT, Moves, StableMap
from discreet.stable.core.domains import Number, Rows
from discreet.stable.core.metrics import NORMS, NUMBER, RowMetric
from tests.helpers.stability import Claim, attained, claim_of, refute
from tests.stable.cases import INF, LETTERS, MAPS, NAN, NUMBERS, OWNED, PLACED

CHANGE_ONE = Neighbours.CHANGE_ONE


@pytest.mark.parametrize(("tested", "values", "most"), [m[1:] for m in MAPS], ids=[m[0] for m in MAPS])
def test_no_neighbours_are_torn_apart(tested: StableMap, values: list[Any], most: int) -> None:
    assert refute(claim_of(tested), values, most=most) is None


@pytest.mark.parametrize(
    ("tested", "values"),
    [
        (stable.count(), LETTERS[:3]),
        (stable.count(neighbours=EDIT), LETTERS[:3]),
        (stable.count(neighbours=CHANGE), LETTERS[:3]),
        (stable.count_by(["a", "b"]), LETTERS[:3]),
        (stable.count_by(["a", "b"], neighbours=CHANGE), LETTERS[:3]),
        (stable.count_by(["a"], neighbours=CHANGE), LETTERS[:3]),
        (stable.sum(bounds=(-2, 5)), NUMBERS),
        (stable.sum(bounds=(-2, 5), neighbours=CHANGE), NUMBERS),
        (stable.sum(bounds=(-2, 5), neighbours=EDIT), NUMBERS),
        (stable.sum(bounds=(3, 5), neighbours=CHANGE), NUMBERS),
        (stable.sum(bounds=(3, 5), neighbours=EDIT), NUMBERS),
        (stable.sum_by(["a", "b"], by=0, of=1, bounds=(-3, 5)), PLACED),
        (stable.sum_by(["a", "b"], by=0, of=1, bounds=(-3, 5), neighbours=CHANGE), PLACED),
        (stable.sum_by(["a"], by=0, of=1, bounds=(-3, 5), neighbours=CHANGE), PLACED),
        (stable.resize(2, fill=0), [0, 1, 2]),
        (stable.cap_rows(2, unit="id"), OWNED),
        (stable.cap_rows(2, unit="id", neighbours=CHANGE_ONE), OWNED),
        (stable.as_vector(3, bounds=(-2, 4)), NUMBERS[:6]),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("d", [1, 2])
def test_the_stability_is_exact(tested: StableMap, values: list[Any], d: int) -> None:
    assert attained(claim_of(tested), values, most=4 if values is OWNED else 3, d=d) == tested.stability(d)


# --- planted bugs -------------------------------------------------------------------------------------------------


def clipped_but_unused(rows: list[int]) -> int:
    [min(max(row, 0), 10) for row in rows]
    return sum(rows)


def wraps_around(rows: list[int]) -> int:
    return (sum(min(max(row, 0), 2**31 - 1) for row in rows) + 2**31) % 2**32 - 2**31


def null_is_the_widest_bound(rows: list[Any]) -> list[int]:
    return [20 if row is None else min(max(row, 0), 5) for row in rows]


def nan_passes(rows: list[Any]) -> list[Any]:
    return [row if math.isnan(row) else int(min(max(row, 0), 5)) for row in rows]


def keys_from_the_data(rows: list[Any]) -> list[int]:
    return [n for _, n in sorted(Counter(rows).items())]


def capped_before_a_merge(rows: list[Any]) -> list[Any]:
    kept: dict[Any, list[Any]] = {}
    for row in sorted(rows, key=repr):  # one row of each person in each group; then the groups are one
        kept.setdefault((row["id"], row["x"]), [row])
    return [row for held in kept.values() for row in held]


def capped_in_row_order(rows: list[Any]) -> list[Any]:
    kept: dict[Any, Any] = {}
    for row in rows:
        kept.setdefault(row["id"], row)
    return list(kept.values())


def resized_in_row_order(rows: list[Any]) -> list[Any]:
    return rows[:2] + [0] * (2 - len(rows))


def the_odd_row_dropped(rows: list[Any]) -> list[Any]:
    ordered = sorted(rows)
    return ordered[: len(ordered) // 2 * 2]


def codes_by_first_appearance(rows: list[Any]) -> list[Any]:
    codes: dict[Any, int] = {}
    return [codes.setdefault(row, len(codes)) for row in sorted(rows)]


def fails_on_a_person(rows: list[Any]) -> list[Any]:
    return [row for row in rows if 1 // row > 0]


def means_by_the_true_count(rows: list[int]) -> int:
    return sum(rows) * 12 // max(1, len(rows))


TWINS: list[tuple[str, Claim, list[Any], int]] = [
    ("C7", claim_of(stable.sum(bounds=(0, 10)), clipped_but_unused), [0, 5, 11], 2),
    ("A5", claim_of(stable.sum(bounds=(0, 2**31 - 1)), wraps_around), [0, 1, 2**31 - 1], 3),
    ("A11", claim_of(stable.clip(0, 5), null_is_the_widest_bound), [0, 3, None], 1),
    ("A10", claim_of(stable.clip(0, 5), nan_passes), [0.0, NAN, INF], 1),
    ("C3", claim_of(stable.count_by(["a", "b"]), keys_from_the_data), ["a", "b", "c"], 3),
    ("C6", claim_of(stable.cap_rows(1, unit="id"), capped_before_a_merge), OWNED[:4], 4),
    ("E5", claim_of(stable.cap_rows(1, unit="id"), capped_in_row_order), OWNED[:4], 3),
    ("E5", claim_of(stable.resize(2, fill=0), resized_in_row_order), [1, 2, 3], 3),
    ("C11", claim_of(stable.filter(bool), the_odd_row_dropped), [1, 2, 3], 3),
    ("C12", claim_of(stable.map(int, bounds=(0, 9)), codes_by_first_appearance), ["a", "b", "c"], 3),
    ("B2", claim_of(stable.filter(bool), fails_on_a_person), [0, 1, 2], 1),
    ("C10", Claim(means_by_the_true_count, lambda d: 5 * d, ADD_REMOVE, NUMBER, Number()), [0, 5], 3),
]  # the ids are those of the attack catalogue


@pytest.mark.parametrize(
    ("twin", "values", "most"), [t[1:] for t in TWINS], ids=[f"{t[0]} {t[1].f.__name__}" for t in TWINS]
)
def test_a_planted_bug_is_refuted(twin: Claim, values: list[Any], most: int) -> None:
    assert refute(twin, values, most=most)


@pytest.mark.parametrize(
    ("claimed", "metric", "stability"),
    [
        (stable.count_by(["a", "b"]), CHANGE, lambda d: Moves(l1=d, l2_squared=d * d, linf=d)),
        (stable.count_by(["a", "b"]), CHANGE, lambda d: Moves(l1=2 * d, l2_squared=d * d, linf=d)),
        (stable.count_by(["a", "b"]), ADD_REMOVE, lambda d: Moves(l1=d, l2_squared=d, linf=d)),
    ],
)
def test_a_price_for_another_relation_is_refuted(claimed: StableMap, metric: RowMetric, stability: Any) -> None:
    twin = Claim(claimed, stability, metric, NORMS, claimed.output_domain)
    assert refute(twin, ["a", "b", "c"])


@pytest.mark.parametrize(
    ("bounds", "metric", "stability"),
    [((3, 5), ADD_REMOVE, 2), ((3, 5), EDIT, 2), ((-2, 5), CHANGE, 5), ((-2, 5), EDIT, 5)],
)
def test_a_sum_charged_for_less_is_refuted(bounds: tuple[int, int], metric: RowMetric, stability: int) -> None:
    twin = Claim(stable.sum(bounds=bounds), lambda d: stability * d, metric, NUMBER, Number())
    assert refute(twin, [-9, 0, 4, 9])


def test_the_checker_knows_that_order_is_public_in_a_stream() -> None:
    assert refute(claim_of(stable.first(2)), [0, 1, 2], most=3) is None
    as_bag = Claim(stable.first(2), lambda d: d, CHANGE, CHANGE, Rows(size=2))
    assert "order" in str(refute(as_bag, [0, 1, 2], most=3))
