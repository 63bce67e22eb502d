"""At most so many rows of each unit: the exact stability, which rows stay, and planted bugs that the check finds."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from discreet import stable
from discreet.errors import BadParameter
from discreet.privacy.promises.neighbours import Neighbours
from discreet.stable import ADD_REMOVE, EDIT, IN_PLACE, units
from discreet.stable.core.canonical import code, shuffled_place
from discreet.stable.core.domains import Groups, Rows, Whole
from discreet.stable.maps.capping import check_salt, first_by_hash
from tests.helpers.stability import attained, claim_of, refute
from tests.stable.cases import OWNED, STRANGERS

CHANGE_ONE = Neighbours.CHANGE_ONE


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("d", [1, 2])
def test_the_stability_is_attained(neighbours: Neighbours, d: int) -> None:
    capped = stable.cap_rows(2, unit="id", neighbours=neighbours)
    assert attained(claim_of(capped), OWNED, most=4, d=d) == capped.stability(d) == 2 * d


def test_units_become_rows() -> None:
    chain = stable.cap_rows(3, unit="id", neighbours=CHANGE_ONE) >> stable.count_by(["a", "b"], by="x")
    assert chain.input_metric == units("id", CHANGE_ONE)
    assert chain.maps[0].output_metric == EDIT
    assert (chain.stability(2).l1, chain.stability(2).l2_squared, chain.stability(2).linf) == (12, 72, 6)
    assert stable.cap_rows(1, unit="id").output_metric == ADD_REMOVE


def test_the_number_of_rows_is_private_behind_a_cap() -> None:
    capped = stable.cap_rows(1, unit="id")
    assert capped.after(Rows(Whole(0, 1), 5), units("id")).output_domain == Rows(Whole(0, 1))
    with pytest.raises(BadParameter, match="takes rows, not groups"):
        capped.after(Groups(("a",)), units("id"))


def test_every_unit_keeps_as_many_rows_as_the_cap_allows() -> None:
    rows = [(unit, n) for unit in range(5) for n in range(unit)]
    kept = stable.cap_rows(2, unit=0)(rows)
    assert Counter(row[0] for row in kept) == {1: 1, 2: 2, 3: 2, 4: 2}
    assert set(kept) <= set(rows)


def test_the_rows_that_stay_follow_from_the_unit_alone() -> None:
    own = [("me", n) for n in range(20)]
    others = [(f"other {n}", n) for n in range(20)]
    capped = stable.cap_rows(3, unit=0, salt=b"s")
    alone = sorted(capped(own))
    shuffler = random.Random(5)
    for _ in range(5):
        mixed = own + others
        shuffler.shuffle(mixed)
        assert sorted(row for row in capped(mixed) if row[0] == "me") == alone
    by_hash = sorted(own, key=lambda row: shuffled_place(code(row) or b"", b"s"))
    assert alone == sorted(by_hash[:3])
    salted = [sorted(stable.cap_rows(3, unit=0, salt=bytes([n]))(own)) for n in range(10)]
    assert len({tuple(kept) for kept in salted}) > 1


def test_whole_numbers_are_one_unit_whatever_their_type() -> None:
    kept = stable.cap_rows(1, unit="id")(STRANGERS)
    assert [row["id"] for row in kept] in ([7, "7"], [7.0, "7"])  # None, NaN, True and rows without an id name nobody


def test_equal_rows_are_kept_with_repetition() -> None:
    coded = [(b"b", "b"), (b"a", "a"), (b"b", "b")]
    assert sorted(first_by_hash(coded, 3, b"")) == ["a", "b", "b"]
    assert len(first_by_hash(coded, 2, b"")) == 2
    assert first_by_hash([], 2, b"") == []


# --- planted bugs -------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("planted", "most"), [(capped_before_a_merge, 4), (capped_in_row_order, 3)]
)  # C6 and E5 of the attack catalogue
def test_a_planted_bug_is_refuted(planted: Callable[[list[Any]], list[Any]], most: int) -> None:
    assert refute(claim_of(stable.cap_rows(1, unit="id"), planted), OWNED[:4], most=most)


# --- refusals -----------------------------------------------------------------------------------------------------

REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: stable.cap_rows(0, unit="id"), "at least 1"),
    (lambda: stable.cap_rows(1.0, unit="id"), "must be an integer"),  # type: ignore[arg-type]
    (lambda: stable.cap_rows(1, unit=1.5), "must be a name"),  # type: ignore[arg-type]
    (lambda: stable.cap_rows(1, unit="id", salt="x"), "bytes"),  # type: ignore[arg-type]
    (lambda: stable.cap_rows(1, unit="id", salt=b"x" * 65), "bytes"),
    (lambda: stable.filter(bool) >> stable.cap_rows(3, unit="id"), "must come first"),
    (lambda: stable.filter(bool) >> stable.cap_rows(3), "must come first"),
    (lambda: stable.filter(bool, neighbours=units("id")) >> stable.cap_rows(3, unit="name"), "units by 'id'"),
    (lambda: stable.cap_rows(3) >> stable.count(), "must say where a row names its unit"),
    (lambda: stable.cap_rows(3, neighbours=CHANGE_ONE), "unit="),
    (lambda: stable.cap_rows(3, unit="id", neighbours=units("id")), "must not name units"),
    (lambda: stable.cap_rows(3, unit="id", neighbours=IN_PLACE), "must be units"),
]


@pytest.mark.parametrize(("build", "message"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_what_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        build()


def test_the_longest_salt() -> None:
    assert check_salt(b"x" * 64) == b"x" * 64
