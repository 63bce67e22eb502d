"""Every map with the small data that its stability is checked on. A new map joins by one line."""

from __future__ import annotations

import math
from typing import Any

from discreet import stable
from discreet.noise.grid import public_grid
from discreet.privacy.promises.neighbours import Neighbours
from discreet.stable import CHANGE, EDIT, IN_PLACE, StableMap, units


class Sulks:
    """A row that answers nothing, and tries to end the process when asked."""

    def __getattribute__(self, name: str) -> Any:
        raise SystemExit

    def __eq__(self, other: object) -> bool:
        raise SystemExit

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Sulks()"


NAN, INF = math.nan, math.inf
BIG = 2**63 - 1
NASTY: list[Any] = [None, Sulks(), NAN, INF, -INF, -0.0, 2**53 + 1, float(2**53), BIG, -BIG - 1, True, "7", 2.5, 3]
NUMBERS: list[Any] = [-3, 0, 2, 9, None, NAN, INF, BIG, Sulks()]
LETTERS: list[Any] = ["a", "b", "c", None, NAN, ["a"], Sulks(), 1, True]
OWNED: list[Any] = [{"id": i, "x": x} for i in (1, 2) for x in (0, 5)] + [{"id": 1, "x": NAN}, {"id": 3, "x": 0}]
STRANGERS: list[Any] = [{"id": i, "x": 0} for i in (None, NAN, 7, 7.0, "7", True)] + [{"x": 0}, 5, Sulks()]
PLACED: list[Any] = [(k, v) for k in ("a", "b") for v in (-3, 5)] + [("c", 5), ("a", None), ("a", BIG), None]
CHANGE_ONE = Neighbours.CHANGE_ONE
GRID = public_grid(-2, 3, scale=1, missing=1)


def inverse(x: Any) -> Any:
    return 6 // x


def fussy(x: Any) -> bool:
    if x is None:
        raise SystemExit
    return bool(1 // x > 0)


def size_of(x: Any) -> str:
    return "big" if x > 2 else "small"


def owner(row: Any) -> Any:
    return row["id"]


def odd(row: Any) -> bool:
    return bool(row["x"] % 2)


MAPS: list[tuple[str, StableMap, list[Any], int]] = []
for how in (None, CHANGE_ONE, EDIT, IN_PLACE):
    tag = how.name.lower() if isinstance(how, Neighbours) else str(how and how.how.name).lower()
    n = 2 if how is IN_PLACE else 3
    MAPS += [
        (f"filter-{tag}", stable.filter(fussy, neighbours=how), NASTY[:9], n),
        (f"map to numbers-{tag}", stable.map(inverse, bounds=(-2, 4), missing=3, neighbours=how), NASTY, n - 1),
        (f"map to values-{tag}",
         stable.map(size_of, values=["small", "big"], otherwise="big", neighbours=how), NASTY, n - 1),
        (f"clip-{tag}", stable.clip(-1, 5, neighbours=how), NASTY, n - 1),
        (f"quantise-{tag}", stable.quantise(GRID, neighbours=how), NASTY, n - 1),
        (f"cast to int-{tag}", stable.cast(int, otherwise=4, neighbours=how), [*NASTY, "x", "1e400", "9" * 5000], 2),
        (f"cast to str-{tag}", stable.cast(str, neighbours=how), [*NASTY, "x", 10**5000], 2),
        (f"cast to bool-{tag}", stable.cast(bool, neighbours=how), [*NASTY, "Yes", "no"], 2),
        (f"group_by-{tag}", stable.group_by(["a", "b", None], neighbours=how), LETTERS, n),
        (f"count-{tag}", stable.count(neighbours=how), LETTERS[:4], n),
        (f"count_by-{tag}", stable.count_by(["a", "b", 1], neighbours=how), LETTERS, n),
        (f"count_by one key-{tag}", stable.count_by(["a"], neighbours=how), LETTERS[:4], n + 1),
        (f"sum-{tag}", stable.sum(bounds=(-2, 5), missing=1, neighbours=how), NUMBERS, n),
        (f"sum far from 0-{tag}", stable.sum(bounds=(3, 5), neighbours=how), NUMBERS, n),
        (f"sum both sides-{tag}", stable.sum(bounds=(-BIG - 1, BIG), neighbours=how), NUMBERS, n),
        (f"sum_by-{tag}", stable.sum_by(["a", "b"], by=0, of=1, bounds=(-3, 5), neighbours=how), PLACED, n),
        (f"sum_by one key-{tag}", stable.sum_by(["a"], by=0, of=1, bounds=(-3, 5), neighbours=how), PLACED, n),
        (f"filter, count-{tag}", stable.filter(fussy, neighbours=how) >> stable.count(), NASTY[:9], n),
        (f"clip, sum-{tag}", stable.clip(-1, 5, neighbours=how) >> stable.sum(), NUMBERS, n),
        (f"quantise, group, sum-{tag}",
         stable.quantise(GRID, neighbours=how) >> stable.group_by([GRID.low, GRID.high]) >> stable.sum(), NUMBERS, n),
    ]  # fmt: skip
    if how is not IN_PLACE:
        MAPS += [
            (f"resize-{tag}", stable.resize(2, fill=0, neighbours=how), [*NASTY[:7], object()], 4),
            (f"resize up-{tag}", stable.resize(5, fill=None, neighbours=how), NASTY[:6], 3),
            (f"resize, sum-{tag}",
             stable.clip(-1, 5, neighbours=how) >> stable.resize(2, fill=3) >> stable.sum(), NUMBERS[:6], 4),
        ]  # fmt: skip
for how in (Neighbours.ADD_REMOVE, CHANGE_ONE):
    tag = how.name.lower()
    MAPS += [
        (f"cap 1-{tag}", stable.cap_rows(1, unit="id", neighbours=how), OWNED, 4),
        (f"cap 2-{tag}", stable.cap_rows(2, unit="id", neighbours=how, salt=b"salt"), OWNED, 4),
        (f"cap strangers-{tag}", stable.cap_rows(1, unit=owner, neighbours=how), STRANGERS, 3),
        (f"cap, count-{tag}", stable.cap_rows(2, unit="id", neighbours=how) >> stable.count(), OWNED, 4),
        (f"cap, sum_by-{tag}",
         stable.cap_rows(2, unit="id", neighbours=how)
         >> stable.group_by([0, 5], by="x") >> stable.sum(of="x", bounds=(-1, 4)), OWNED, 4),
        (f"filter, cap-{tag}",
         stable.filter(odd, neighbours=units("id", how)) >> stable.cap_rows(1), OWNED, 4),
    ]  # fmt: skip
MAPS += [
    ("first", stable.first(2, fill=0), NASTY[:6], 3),
    ("first, sum", stable.first(2) >> stable.sum(bounds=(0, 4)), NUMBERS[:5], 4),
    ("as_vector", stable.as_vector(2, bounds=(-2, 4), missing=1), NUMBERS[:6], 3),
    (
        "resize then change",
        stable.resize(3, fill="a") >> stable.count_by(["a", "b"], neighbours=CHANGE),
        LETTERS[:6],
        4,
    ),
]
