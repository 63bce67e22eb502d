"""Planted faults: small maps, mechanisms and pipelines that claim what they do not keep, each beside its honest twin.

Every one of them has been seen in a released system or in an attack paper. ``ok`` of the report must be False for the
fault and True for the twin.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import noise
from discreet.checking.exact.check import check
from discreet.checking.exact.replay import replay
from discreet.checking.sampling.audit import audit
from discreet.mechanisms.additive.gaussian import Gaussian, gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.base.sensitivity import L1
from discreet.mechanisms.selection.exponential import exponential
from discreet.mechanisms.selection.key_selection import threshold_keys
from discreet.mechanisms.selection.permute_and_flip import permute_and_flip
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Approx, Pure
from discreet.randomness import Bits
from discreet.stable.core.metrics import ADD_REMOVE, CHANGE, NORMS, NUMBER, Moves, RowMetric, units


@dataclass(frozen=True)
class Fault:
    """A fault, where it was seen, what catches it, and the two reports."""

    name: str
    seen: str
    by: str
    planted: Callable[[], Any]
    honest: Callable[[], Any]


@dataclass(frozen=True)
class Map:
    """A stable map as it presents itself: a function and a claim."""

    f: Callable[[Any], Any]
    stability: Callable[[int], Any]
    input_metric: RowMetric = ADD_REMOVE
    output_metric: Any = NUMBER

    def __call__(self, data: Any) -> Any:
        return self.f(data)


def by(moved: Any) -> Callable[[int], Any]:
    """Linear stability."""
    return lambda d: d * moved


def norms(l1: int, l2_squared: int, linf: int = 1) -> Callable[[int], Any]:
    """The stability of a vector: L1 and Linf grow with the distance, L2 squared with its square."""
    return lambda d: Moves(l1=d * l1, l2_squared=d * d * l2_squared, linf=d * linf)


NUMBERS = [0, 3, 7, -2, 10, 50, None, math.nan, 2**63 - 1]
LETTERS = ["a", "b", "c"]
VISITS = [{"id": i, "group": g, "x": x} for i in (1, 2) for g in ("a", "b") for x in (4, None)]


def same(planted: Any, honest: Any, **options: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The same check on both."""
    return lambda: check(planted, searches=200, **options), lambda: check(honest, searches=200, **options)


# --- maps -----------------------------------------------------------------------------------------------------------


def clean(x: Any, low: int = 0, high: int = 10) -> int:
    return min(max(x, low), high) if isinstance(x, int) else 0


def unclipped(rows: Any) -> int:
    clipped = [clean(x) for x in rows]
    assert len(clipped) == len(rows)
    return sum(x for x in rows if isinstance(x, int))


def wrapped_sum(rows: Any) -> int:
    total = sum(clean(x, -(2**31), 2**31 - 1) for x in rows)
    return (total + 2**31) % 2**32 - 2**31


def float_total(rows: Any) -> int:
    total = 0.0
    for x in rows:
        total += x
    return int(total)


def nan_total(rows: Any) -> float:
    return float(np.clip(np.array([math.nan if x is None else float(x) for x in rows]), 0, 10).sum())


def histogram(rows: Any) -> list[int]:
    return [sum(x == key for x in rows) for key in LETTERS]


def keys_from_data(rows: Any) -> dict[Any, list[Any]]:
    return {key: [x for x in rows if x == key] for key in sorted(set(rows))}


def keys_public(rows: Any) -> dict[Any, list[Any]]:
    return {key: [x for x in rows if x == key] for key in LETTERS}


def tree(rows: Any) -> list[int]:
    leaves = [sum(x == key for x in rows) for key in range(4)]
    return [*leaves, leaves[0] + leaves[1], leaves[2] + leaves[3], sum(leaves)]


def capped_then_merged(rows: Any) -> int:
    kept = {(row["id"], row["group"]): row for row in rows}  # one row for each person in each group
    return sum(row["group"] in {"a", "b"} for row in kept.values())  # and then a and b become one group


def merged_then_capped(rows: Any) -> int:
    return len({row["id"] for row in rows})


def null_to_upper(rows: Any) -> int:
    """Rows without a value are not counted against the cap, and the clamp turns each of them into the upper bound."""
    total, used = 0, Counter[Any]()
    for row in sorted(rows, key=lambda r: (r["id"], r["x"] is not None, str(r["x"]))):
        if row["x"] is not None:
            used[row["id"]] += 1
        if used[row["id"]] <= 1:
            total += 10 if row["x"] is None else clean(row["x"])
    return total


def null_dropped(rows: Any) -> int:
    best: dict[Any, int] = {}
    for row in rows:
        if row["x"] is not None:
            best[row["id"]] = max(best.get(row["id"], 0), clean(row["x"]))
    return sum(best.values())


def first_two(rows: Any) -> int:
    return sum(clean(x) for x in rows[:2])


def least_two(rows: Any) -> int:
    return sum(sorted(clean(x) for x in rows)[-2:])


def paired(rows: Any) -> list[Any]:
    """Rows in pairs by rank; an odd one is dropped."""
    ordered = sorted(rows)
    return [(ordered[i], ordered[i + 1]) for i in range(0, len(ordered) - 1, 2)]


def first_seen_codes(rows: Any) -> list[int]:
    codes: dict[Any, int] = {}
    return [codes.setdefault(x, len(codes)) for x in rows]


def public_codes(rows: Any) -> list[int]:
    return [LETTERS.index(x) for x in rows]


def fails_on_text(rows: Any) -> int:
    return sum(int(x) != 0 for x in rows)


def total_on_text(rows: Any) -> int:
    return sum(isinstance(x, int) and x != 0 for x in rows)


def self_join(rows: Any) -> int:
    return sum(a == b for a in rows for b in rows)


def distinct_of_all(rows: Any) -> int:
    return len({(row["id"], row["group"], row["x"]) for row in rows})


def cap_by_text(rows: Any) -> int:
    """One row for each person, but 7 and 7.0 are two people."""
    return len({repr(row["id"]) for row in rows})


def cap_by_value(rows: Any) -> int:
    return len({row["id"] for row in rows})


def clipped_at_its_own(rows: Any) -> int:
    numbers = [x for x in rows if isinstance(x, int)]
    return sum(clean(x, 0, max(numbers, default=0)) for x in numbers)


def total(rows: Any) -> int:
    return sum(clean(x) for x in rows)


BOUNDED = Map(total, by(10))
INT32 = [2**31 - 1, 1, 0, -(2**31)]
FLOATS = [2.0**53, 1.0, -(2.0**53)]
PEOPLE = [{"id": i} for i in (7, 7.0, 8)]


# --- mechanisms -----------------------------------------------------------------------------------------------------


class Says:
    """A mechanism under another event than its own."""

    def __init__(self, mechanism: Any, event: events.Event) -> None:
        self.mechanism, self.event = mechanism, event
        self.read, self.draw = mechanism.read, mechanism.draw

    def law(self, value: Any) -> Any:
        return self.mechanism.law(value)


HONEST = laplace(sensitivity=1, epsilon=1)
KEYS = threshold_keys(scale=1, threshold=5)
PAIRS = [([0, 0, 0], [1, 0, 0]), ([0, 0, 0], [1, -1, -1]), ([3, 2, 2], [2, 3, 3])]


def off_by_one() -> Any:
    tail = sum((KEYS.noise.pmf(k)[1] for k in range(5, 120)), Fraction(0))  # P[1 + Z > 5] where P[1 + Z >= 5] is due
    return Says(KEYS, events.Composed([KEYS.noise.event, events.Threshold(0, tail)]))


def classical_gaussian() -> Any:
    """sigma = sqrt(2 log(1.25/delta))/epsilon is a theorem for epsilon < 1 alone."""
    epsilon, delta = 10, 0.01
    return gaussian(sensitivity=20, sigma=20 * math.sqrt(2 * math.log(1.25 / delta)) / epsilon)


def skips_the_last(data: Any, bits: Bits) -> tuple[int, ...]:
    """Randomised response on two bits, of which the last comes out as it is."""
    return data[0] ^ int(bits.below(4) == 0), data[1]


def keeps_none(data: Any, bits: Bits) -> tuple[int, ...]:
    return tuple(x ^ int(bits.below(4) == 0) for x in data)


def modulo_coin(data: int, bits: Bits) -> int:
    """Keeps a value out of 0, 1, 2 with 1/2 and else draws one at random, by the remainder of four bits."""
    return data if bits.bits(1) else bits.bits(2) % 3


def fair_coin(data: int, bits: Bits) -> int:
    return data if bits.bits(1) else bits.below(3)


def leaks_length(data: Any, bits: Bits) -> Any:
    return tuple(x ^ bits.bits(1) for x in data)


def fixed_length(data: Any, bits: Bits) -> Any:
    return tuple(x ^ bits.bits(1) for x in (*data, 0, 0, 0)[:3])


def cut_off(data: int, bits: Bits) -> int:
    """A geometric draw that gives up after eight coins."""
    size = 0
    while size < 8 and bits.bits(1):
        size += 1
    return data + (size if bits.bits(1) else -size)


def full_length(data: int, bits: Bits) -> int:
    """The same without a last coin; a draw of 0 with the second sign is drawn again."""
    while True:
        size, sign = 0, bits.bits(1)
        while bits.bits(1):
            size += 1
        if size or sign:
            return data + (size if sign else -size)


# --- pipelines ------------------------------------------------------------------------------------------------------

HALF = laplace(sensitivity=1, epsilon="1/2")
TEN = laplace(sensitivity=10, epsilon=1)


def two_for_one(rows: Any, release: Any) -> Any:
    return release(HONEST, len(rows)), release(HONEST, sum(x == "a" for x in rows))


def two_halves(rows: Any, release: Any) -> Any:
    return release(HALF, len(rows)), release(HALF, sum(x == "a" for x in rows))


def mean_by_true_count(rows: Any, release: Any) -> Any:
    # a half is added so that the noisy sum is never 0, which every count divides alike
    return (release(TEN, sum(clean(x) for x in rows)) + Fraction(1, 2)) / max(1, len(rows))


def mean_by_noisy_count(rows: Any, release: Any) -> Any:
    return release(TEN, sum(clean(x) for x in rows)) / max(1, release(HONEST, len(rows)))


def asks_if_many(rows: Any, release: Any) -> Any:
    return release(HONEST, len(rows)) + (release(HONEST, len(rows)) if len(rows) > 2 else 0)


def asks_if_noisy_many(rows: Any, release: Any) -> Any:
    count = release(HONEST, len(rows))
    return count + (release(HONEST, len(rows)) if count > 2 else 0)


def clamps_then_multiplies(rows: Any, release: Any) -> Any:
    return release(TEN, sum(1000 * clean(x) for x in rows))


def multiplies_then_clamps(rows: Any, release: Any) -> Any:
    return release(TEN, sum(clean(1000 * x) for x in rows))


# --- black boxes ----------------------------------------------------------------------------------------------------

POOLS: dict[int, list[int]] = {}


def laplace_noise(scale: int) -> int:
    """One fresh draw, from draws that are made many at a time."""
    if not POOLS.get(scale):
        POOLS[scale] = noise.discrete_laplace(scale, size=50_000).tolist()
    return POOLS[scale].pop()


def sparse_without_noise(answers: Any) -> Any:
    """Noise on the threshold alone: the first answer above it says exactly how the answers lie to each other."""
    threshold = laplace_noise(2)
    return tuple(answer >= threshold for answer in answers)


def sparse(answers: Any) -> Any:
    threshold, replies = laplace_noise(2), []
    for answer in answers:
        replies.append(bool(answer + laplace_noise(4) >= threshold))
        if replies[-1]:
            break
    return tuple(replies)


def sparse_without_end(answers: Any) -> Any:
    threshold = laplace_noise(1)
    return tuple(bool(answer + laplace_noise(2) >= threshold) for answer in answers)


def one_noise_for_all(counts: Any) -> Any:
    drawn = laplace_noise(1)
    return tuple(count + drawn for count in counts)


def noise_for_each(counts: Any) -> Any:
    return tuple(count + laplace_noise(1) for count in counts)


TEXTBOOK = np.random.default_rng()


def float_laplace(value: float) -> float:
    return value + float(TEXTBOOK.laplace())


def refuses_rare(rows: Any) -> Any:
    if "rare" in rows:
        raise ValueError
    return len(rows) + laplace_noise(1)


def counts_rare(rows: Any) -> Any:
    return len(rows) + laplace_noise(1)


def listed_if_there(rows: Any) -> dict[str, int]:
    return {key: rows.count(key) + laplace_noise(1) for key in set(rows)}


def listed_always(rows: Any) -> dict[str, int]:
    return {key: rows.count(key) + laplace_noise(1) for key in LETTERS}


def audits(planted: Any, honest: Any, pair: Any, claim: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    options: dict[str, Any] = {"pair": pair, "claim": claim, "samples": 8000}
    return lambda: audit(planted, **options), lambda: audit(honest, **options)


def replays(planted: Any, honest: Any, pair: Any, claim: Any = None) -> tuple[Callable[[], Any], Callable[[], Any]]:
    return lambda: replay(planted, pair, claim=claim), lambda: replay(honest, pair, claim=claim)


FAULTS = [
    Fault("clip computed, unclipped data used", "smartnoise-sdk#622", "check",
          *same(Map(unclipped, by(10)), BOUNDED, values=NUMBERS)),
    Fault("lower bound used twice", "diffprivlib#105", "check",
          *same(Map(total, by(max(abs(0), abs(0)))), BOUNDED, values=NUMBERS)),
    Fault("sensitivity rounded down: width 7 halved in integers", "opendp#314", "check",
          *same(Map(lambda rows: sum(clean(2 * clean(x, 0, 7), 0, 14) for x in rows) // 2, by(7 // 2)),
                Map(lambda rows: sum(clean(x, 0, 7) for x in rows), by(7)), values=NUMBERS)),
    Fault("rows capped before two groups are merged", "opendp#2949", "check",
          *same(Map(capped_then_merged, by(1), units("id")), Map(merged_then_capped, by(1), units("id")),
                values=VISITS)),
    Fault("NULL clamped to the upper bound, outside of the cap", "GREATEST/LEAST", "check",
          *same(Map(null_to_upper, by(10), units("id")), Map(null_dropped, by(10), units("id")), values=VISITS)),
    Fault("integers wrap around", "opendp#2925", "check",
          *same(Map(wrapped_sum, by(2**31)), Map(sum, by(2**31)), values=INT32)),
    Fault("keys taken from the data", "smartnoise-sdk#309", "check",
          *same(Map(keys_from_data, by(1), output_metric=ADD_REMOVE), Map(keys_public, by(1), output_metric=ADD_REMOVE),
                values=LETTERS)),
    Fault("a float sum depends on the order of rows", "google-dp#126", "check",
          *same(Map(float_total, by(2**53)), Map(lambda rows: sum(map(int, rows)), by(2**53)), values=FLOATS)),
    Fault("NaN passes the clamp", "google-dp#405", "check",
          *same(Map(nan_total, by(10)), BOUNDED, values=[0, 5, math.nan])),
    Fault("change-one counts priced as add/remove", "google-dp#378", "check",
          *same(Map(histogram, norms(1, 1), CHANGE, NORMS), Map(histogram, norms(2, 2), CHANGE, NORMS),
                values=LETTERS)),
    Fault("b-ary tree: L2 of a group grows with its root", "opendp#2924", "check",
          *same(Map(tree, lambda d: Moves(l1=3 * d, l2_squared=3 * d, linf=d), output_metric=NORMS),
                Map(tree, norms(3, 3), output_metric=NORMS), values=range(4))),
    Fault("b-ary tree: the root is not counted", "off by one level", "check",
          *same(Map(tree, norms(2, 2), output_metric=NORMS), Map(tree, norms(3, 3), output_metric=NORMS),
                values=range(4))),
    Fault("the first rows are kept", "opendp#2927", "check",
          *same(Map(first_two, by(10)), Map(least_two, by(10)), values=[0, 3, 7])),
    Fault("pairs by rank, the odd row dropped: 1 claimed", "opendp#2950", "check",
          *same(Map(paired, by(1), output_metric=ADD_REMOVE),
                Map(lambda rows: [(x, x) for x in rows], by(1), output_metric=ADD_REMOVE), values=[0, 1, 2])),
    Fault("codes by first appearance", "opendp#2944", "check",
          *same(Map(first_seen_codes, by(1), output_metric=ADD_REMOVE),
                Map(public_codes, by(1), output_metric=ADD_REMOVE), values=LETTERS)),
    Fault("fails on one person's row", "Haeberlen et al. 2011", "check",
          *same(Map(fails_on_text, by(1)), Map(total_on_text, by(1)), values=[0, 1, "x"])),
    Fault("a self-join fans out", "uber-sql-dp#1", "check",
          *same(Map(self_join, by(1)), Map(len, by(1)), values=[0, 1])),
    Fault("distinct values of one person, uncapped", "google-dp#84", "check",
          *same(Map(distinct_of_all, by(1), units("id")), Map(merged_then_capped, by(1), units("id")), values=VISITS)),
    Fault("7 and 7.0 are two people", "tumult 0.7 changelog", "check",
          *same(Map(cap_by_text, by(1), units("id")), Map(cap_by_value, by(1), units("id")), values=PEOPLE)),
    Fault("bounds read from the data", "diffprivlib#20", "check",
          *same(Map(clipped_at_its_own, by(10)), BOUNDED, values=NUMBERS)),
    Fault("threshold off by one", "opendp#2922", "check",
          *same(off_by_one(), KEYS, pairs=[({}, {"a": 1}), ({"a": 4}, {"a": 5})])),
    Fault("permute-and-flip priced as of bounded range", "opendp#2911", "check",
          *same(Says(permute_and_flip(sensitivity=1, epsilon=2), events.Exponential(2)),
                permute_and_flip(sensitivity=1, epsilon=2), pairs=PAIRS)),
    Fault("exponential mechanism without the factor 2", "missing 2Δ", "check",
          *same(Says(exponential(sensitivity=1, epsilon=2), events.Exponential(1)),
                exponential(sensitivity=1, epsilon=2), pairs=PAIRS)),
    Fault("scale ε·Δ in place of Δ/ε", "pysyft#6914", "check",
          *same(replace(laplace(sensitivity=1, epsilon="1/2"), scale=Fraction(1, 2)),
                laplace(sensitivity=1, epsilon="1/2"), claim=Pure("1/2"))),
    Fault("a scale of 1.9 becomes 1", "google-dp#101", "check",
          *same(Says(laplace(sensitivity=1, scale=1), events.DiscreteLaplace("1.9")),
                laplace(sensitivity=1, scale="1.9"), pairs=[(0, 1)])),
    Fault("the classical Gaussian formula for a large ε", "Balle and Wang 2018", "check",
          *same(classical_gaussian(), gaussian(sensitivity=20, epsilon=10, delta="0.01"), claim=Approx(10, "0.01"))),
    Fault("L2 noise for a vector that moves in L1", "mbi#65", "check",
          *same(replace(gaussian(sensitivity=1, rho="1/2", dimension=1), dimension=4),
                Gaussian(sigma_squared=Fraction(4), moves_squared=4, dimension=4),
                pairs=[([0, 0, 0, 0], [1, 1, 1, 1])])),
    Fault("the last bit is never randomized", "opendp#2707", "check",
          *same(skips_the_last, keeps_none, pairs=[((0, 0), (0, 1))], claim=Pure("1.1"))),
    Fault("a remainder in place of a fair draw", "modulo bias", "check",
          *same(modulo_coin, fair_coin, pairs=[(0, 1), (1, 2)], claim=Pure("1.39"))),
    Fault("the length of the output leaks", "opendp#2930", "check",
          *same(leaks_length, fixed_length, pairs=[((0, 1), (0, 1, 1))], claim=Pure(1))),
    Fault("a sampler that gives up", "finite support", "check",
          *same(cut_off, full_length, pairs=[(0, 1)], claim=Pure("0.7"))),
    Fault("budget not split between two answers", "smartnoise-sdk#200", "replay",
          *replays(two_for_one, two_halves, (["a", "b"], ["b"]), Pure(1))),
    Fault("a mean divided by the true count", "smartnoise-sdk#202", "replay",
          *replays(mean_by_true_count, mean_by_noisy_count, ([5, 9], [5]))),
    Fault("whether to ask depends on the data", "budget attack", "replay",
          *replays(asks_if_many, asks_if_noisy_many, ([1, 1, 1], [1, 1]))),
    Fault("clamped, then multiplied", "smartnoise-sdk#201", "replay",
          *replays(clamps_then_multiplies, multiplies_then_clamps, ([5, 1], [1]))),
    Fault("sparse vector without noise on the answers", "Lyu, Su and Li 2017", "audit",
          *audits(sparse_without_noise, sparse, ((0, 1), (1, 0)), Pure(1))),
    Fault("sparse vector without an end", "Lyu, Su and Li 2017", "audit",
          *audits(sparse_without_end, sparse, ((0,) * 20 + (1,) * 20, (1,) * 20 + (0,) * 20), Pure(2))),
    Fault("one noise for all cells", "opendp#2344", "audit",
          *audits(one_noise_for_all, noise_for_each, ((0, 0), (1, 0)), Pure(1))),
    Fault("float noise on a float", "Mironov 2012", "audit",
          *audits(float_laplace, laplace(sensitivity=1, epsilon=1, real=True), (0.0, 1.0), Pure(1))),
    Fault("a refusal that depends on one person", "Boenisch et al. 2021", "audit",
          *audits(refuses_rare, counts_rare, (["a"], ["a", "rare"]), Pure(1))),
    Fault("empty groups are not listed", "key discovery", "audit",
          *audits(listed_if_there, listed_always, (["a"], ["a", "b"]), Pure(1))),
    Fault("half the noise", "a factor 2", "audit",
          *audits(laplace(sensitivity=1, scale="1/2"), laplace(sensitivity=1, scale=1), (0, 1), Pure(1))),
    Fault("a vector's noise for one entry", "L1 taken as Linf", "audit",
          *audits(laplace(sensitivity=L1(1), epsilon=1, dimension=4),
                  laplace(sensitivity=L1(4), epsilon=1, dimension=4), ([0] * 4, [1] * 4), Pure(1))),
]  # fmt: skip
