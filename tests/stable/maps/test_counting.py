"""Counts of rows: the stability is attained, cheaper prices and planted bugs are refuted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from discreet import stable
from discreet.errors import BadParameter
from discreet.mechanisms.additive.laplace import laplace
from discreet.privacy.promises.neighbours import Neighbours
from discreet.stable import ADD_REMOVE, CHANGE, EDIT, IN_PLACE, Moves, RowMetric, StableMap
from discreet.stable.core.domains import Number, Vector
from discreet.stable.core.metrics import NORMS
from tests.helpers.stability import Claim, attained, claim_of, refute
from tests.stable.cases import LETTERS, NASTY


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize(
    "tested",
    [
        stable.count(),
        stable.count(neighbours=EDIT),
        stable.count(neighbours=CHANGE),
        stable.count_by(["a", "b"]),
        stable.count_by(["a", "b"], neighbours=CHANGE),
        stable.count_by(["a"], neighbours=CHANGE),
    ],
)
def test_the_stability_is_attained(tested: StableMap, d: int) -> None:
    assert attained(claim_of(tested), LETTERS[:3], most=3, d=d) == tested.stability(d)


@pytest.mark.parametrize(
    ("metric", "alone", "one_key", "two_keys"),
    [
        (ADD_REMOVE, 3, (3, 9, 3), (3, 9, 3)),
        (CHANGE, 0, (3, 9, 3), (6, 18, 3)),
        (EDIT, 3, (3, 9, 3), (6, 18, 3)),
        (IN_PLACE, 0, (3, 9, 3), (6, 18, 3)),
    ],
    ids=str,
)
def test_three_steps(
    metric: RowMetric, alone: int, one_key: tuple[int, int, int], two_keys: tuple[int, int, int]
) -> None:
    assert stable.count(neighbours=metric).stability(3) == alone
    for keys, (l1, l2_squared, linf) in ((["a"], one_key), (["a", "b"], two_keys)):
        moves = Moves(l1=l1, l2_squared=l2_squared, linf=linf)
        assert stable.count_by(keys, neighbours=metric).stability(3) == moves


def test_what_is_counted() -> None:
    assert stable.count()(NASTY) == len(NASTY)
    assert stable.count()([]) == 0
    assert stable.count_by([2, "a"], by=0)([("a", 1), (2, 0), (2.0, 0), ("b", 2), None]) == [2, 1]
    assert stable.count().output_domain == Number()
    assert stable.count_by(["a", "b"]).output_domain == Vector(2, ("a", "b"))
    assert stable.count().story() == ("counted rows",)


def keys_from_the_data(rows: list[Any]) -> list[int]:
    return [n for _, n in sorted(Counter(rows).items())]


def test_a_histogram_with_keys_from_the_data_is_refuted() -> None:  # C3 of the attack catalogue
    assert refute(claim_of(stable.count_by(["a", "b"]), keys_from_the_data), ["a", "b", "c"], most=3)


@pytest.mark.parametrize(
    ("metric", "stability"),
    [
        (CHANGE, lambda d: Moves(l1=d, l2_squared=d * d, linf=d)),
        (CHANGE, lambda d: Moves(l1=2 * d, l2_squared=d * d, linf=d)),
        (ADD_REMOVE, lambda d: Moves(l1=d, l2_squared=d, linf=d)),
    ],
)
def test_a_price_for_another_relation_is_refuted(metric: RowMetric, stability: Callable[[int], Moves]) -> None:
    histogram = stable.count_by(["a", "b"])
    assert refute(Claim(histogram, stability, metric, NORMS, histogram.output_domain), ["a", "b", "c"])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: stable.count(neighbours="add"), "Neighbours"),  # type: ignore[arg-type]
        (lambda: stable.count().stability(-1), "at least 0"),
        (lambda: stable.count(neighbours=stable.units("id")), "insert cap_rows"),
        (lambda: stable.count_by(["a"]) >> stable.count(), "behind an exact answer comes a mechanism"),
        (lambda: stable.count(neighbours=Neighbours.CHANGE_ONE) >> laplace(epsilon=1), "public between neighbours"),
    ],
)
def test_what_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        build()
