"""Releases: prices before data, exact at every distance; pay before draw; post-processing for free."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from discreet import stable
from discreet.answer import Answer
from discreet.checking import check
from discreet.errors import BadData, BadParameter, ReceiptRefused
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.base.sensitivity import L1, L2, Linf
from discreet.mechanisms.selection.exponential import exponential
from discreet.mechanisms.selection.noisy_max import noisy_max
from discreet.mechanisms.selection.permute_and_flip import permute_and_flip
from discreet.noise.grid import public_grid
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import Recorder, SystemBits
from discreet.stable import ADD_REMOVE, EDIT, Release, units
from tests.helpers.stability import distance

CHANGE_ONE = Neighbours.CHANGE_ONE
BOTH = list(Neighbours)


@pytest.mark.parametrize(("neighbours", "moves"), [(Neighbours.ADD_REMOVE, 1), (CHANGE_ONE, 2)])
def test_a_histogram_gets_the_noise_of_its_sensitivity(neighbours: Neighbours, moves: int) -> None:
    counts = stable.count_by(keys=["a", "b", "c"], neighbours=neighbours)
    pure, rho = counts >> laplace(epsilon="1/3"), counts >> gaussian(rho="1/8")
    assert pure.event() == events.DiscreteLaplace(scale=3 * moves, sensitivity=moves).about(neighbours)
    noise = events.DiscreteGaussian(sigma_squared=4 * moves, sensitivity_squared=moves, dimension=3)
    assert rho.event() == noise.about(neighbours)
    assert pure.cost() == Pure("1/3")
    assert rho.cost() == ZCDP("1/8")


@pytest.mark.parametrize("d", [1, 2, 5])
def test_group_privacy_is_exact(d: int) -> None:
    total = stable.cap_rows(3, unit="id") >> stable.sum(of="x", bounds=(-4, 7))
    assert (total >> laplace(epsilon="1/10")).cost(distance=d) == Pure(Fraction(d, 10)) == Pure("1/10").group(d)
    assert (total >> gaussian(rho="1/10")).cost(distance=d) == ZCDP(Fraction(d * d, 10)) == ZCDP("1/10").group(d)
    fixed = total >> laplace(scale=42)
    assert fixed.cost(d) == Pure(Fraction(21 * d, 42))
    one = "one unit (by 'id') added or removed"
    noise = events.DiscreteLaplace(scale=42, sensitivity=21 * d)
    assert fixed.event(d) == noise.about(one if d == 1 else f"{one}, {d} times")


def test_entries_of_a_vector_that_can_move_are_few() -> None:
    stream = stable.as_vector(4, bounds=(0, 1)) >> laplace(epsilon=1)
    assert [stream.cost(d).epsilon for d in (1, 3, 4, 9)] == [1, 3, 4, 4]  # type: ignore[union-attr]
    assert (stable.as_vector(4, bounds=(0, 1)) >> gaussian(rho=1)).cost(3) == ZCDP(3)  # not 9: other entries


def test_a_made_mechanism_is_priced_by_the_map() -> None:
    release = stable.count() >> laplace(sensitivity=3, epsilon=1)
    assert release.event() == events.DiscreteLaplace(scale=3, sensitivity=1).about(Neighbours.ADD_REMOVE)
    assert release.cost() == Pure("1/3")
    assert (stable.count() >> gaussian(sensitivity=2, sigma=4)).cost() == ZCDP("1/32")


@pytest.mark.parametrize(
    ("make", "kind"), [(exponential, events.Exponential), (permute_and_flip, events.PermuteAndFlip)]
)
def test_a_choice_is_priced_by_how_far_any_score_moves(make: Any, kind: Any) -> None:
    for neighbours in BOTH:
        counts = stable.cap_rows(3, unit=0, neighbours=neighbours) >> stable.count_by(["a", "b"], by=1)
        release = counts >> make(sensitivity=3, epsilon=1)
        assert release.event() == kind(1).about(release.input_metric.step)
        assert release.cost(2) == Pure(2)
        assert release([(i, "b") for i in range(500)]).value in ("a", "b")
        with pytest.raises(BadParameter, match="must cover"):
            counts >> make(sensitivity=2, epsilon=1)
        with pytest.raises(BadParameter, match="monotone"):
            counts >> make(sensitivity=3, epsilon=1, monotone=True)
    with pytest.raises(BadParameter, match="vector of scores"):
        stable.count() >> make(sensitivity=1, epsilon=1)


CHOICES = [exponential, permute_and_flip, noisy_max]


@pytest.mark.parametrize("make", CHOICES)
@pytest.mark.parametrize("neighbours", BOTH)
def test_a_choice_takes_its_sensitivity_from_the_map(make: Any, neighbours: Neighbours) -> None:
    """The factor 2 and the cap of 3 rows are both in the rate; a fixed rate is priced by the map."""
    counts = stable.cap_rows(3, unit=0, neighbours=neighbours) >> stable.count_by(["a", "b"], by=1)
    release = counts >> make(epsilon=1)
    assert release.mechanism == make(sensitivity=3, epsilon=1)
    assert release.mechanism.rate == Fraction(1, 6)
    assert release.cost() == Pure(1)
    noise = {"scale": 6} if make is noisy_max else {"rate": "1/6"}
    assert (counts >> make(**noise)).cost() == Pure(1)


@pytest.mark.parametrize("make", CHOICES)
def test_a_choice_names_the_candidate(make: Any) -> None:
    release = stable.count_by(["red", "green", "blue"]) >> make(epsilon=1)
    assert release.candidates == ("red", "green", "blue")
    assert release(["green"] * 1000).value == "green"  # another with probability below 1e-200
    numbers = stable.as_vector(3, bounds=(0, 1000)) >> make(epsilon=1000)
    assert numbers.candidates is None
    assert numbers([0, 1000, 0]).value == 1  # entries of a stream have no names


@pytest.mark.parametrize("make", CHOICES)
def test_a_choice_that_waits_is_refused_where_nothing_can_be_promised(make: Any) -> None:
    with pytest.raises(BadParameter, match="sensitivity"):
        make(epsilon=1).release([1, 2])
    with pytest.raises(BadParameter, match="monotone"):
        stable.count_by(["a", "b"]) >> make(epsilon=1, monotone=True)
    with pytest.raises(BadParameter, match="vector of scores"):
        stable.count() >> make(epsilon=1)
    with pytest.raises(BadParameter, match="any one score"):
        make(epsilon=1).at(L2(1))
    assert make(epsilon=1).at(Linf(2)) == make(epsilon=1).at(L1(2)) == make(sensitivity=2, epsilon=1)


def test_a_choice_behind_a_map_keeps_its_price_on_all_small_data() -> None:
    """Every pair of small neighbours, exactly; twice the rate is refuted."""
    release = stable.count_by(["a", "b"]) >> exponential(epsilon=1)
    assert check(release, values=["a", "b", "c"], rows=2, searches=0).ok
    changed = stable.count_by(["a", "b"], neighbours=CHANGE_ONE) >> exponential(rate=1)
    assert changed.cost() == Pure(2)
    assert check(changed, values=["a", "b"], rows=2, searches=0, claim=Pure(2)).ok
    assert not check(changed, values=["a", "b"], rows=2, searches=0, claim=Pure(1)).ok


@pytest.mark.slow
@pytest.mark.parametrize("metric", [ADD_REMOVE, EDIT], ids=str)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_noise_behind_a_map_keeps_its_price_on_all_small_data(metric: Any, d: int) -> None:
    """Every pair of small data at every distance: the loss of Laplace noise is how far the exact answers move.

    The twin books the distance 1 for all.
    """
    scale = Fraction(6)
    data = [list(x) for n in range(5) for x in combinations_with_replacement([0, 1, 5], n)]
    pairs = [(i, j) for i in range(len(data)) for j in range(i) if distance(metric, data[i], data[j]) == d]
    maps: list[tuple[Any, Callable[[list[int]], list[int]]]] = [
        (stable.count(neighbours=metric), lambda rows: [len(rows)]),
        (stable.sum(bounds=(0, 4), neighbours=metric), lambda rows: [sum(min(x, 4) for x in rows)]),
        (stable.count_by([0, 1, 2], neighbours=metric), lambda rows: [rows.count(k) for k in (0, 1, 2)]),
        (stable.filter(lambda x: x > 0, neighbours=metric) >> stable.count_by([1, 5]),
         lambda rows: [rows.count(k) for k in (1, 5)]),
    ]  # fmt: skip
    for made, exact in maps:
        release = made >> laplace(scale=scale)
        price = release.cost(d)
        assert isinstance(price, Pure)
        answers = [exact(rows) for rows in data]
        worst = max(sum(abs(a - b) for a, b in zip(answers[i], answers[j], strict=True)) / scale for i, j in pairs)
        assert worst <= price.epsilon
        assert worst == price.epsilon or metric is EDIT
        assert not worst or d == 1 or worst > release.cost(1).epsilon


def test_the_answer_has_all_that_an_answer_has() -> None:
    release = stable.filter(str.isupper) >> stable.count_by(["A", "B"]) >> laplace(epsilon=1)
    answer = release(["A", "b", "B", "B", None])
    assert isinstance(answer, Answer)
    assert answer.value.shape == (2,)
    assert answer.value.dtype == np.int64
    assert answer.event == release.event()
    assert answer.cost == "epsilon 1"
    assert answer.accuracy is release.accuracy
    assert answer.error_at("0.95") == release.error_at("0.95") == 4.0
    assert answer.story == release.story()
    assert release.explain().splitlines() == [
        "1. kept rows where isupper holds",
        "2. grouped by the row under 2 public keys",
        "3. counted each group",
        "4. discrete Laplace noise of scale 1",
        "5. costs epsilon 1 against one row added or removed",
    ]


def test_a_release_is_its_exact_answer_plus_its_noise() -> None:
    release = stable.sum(bounds=(0, 10)) >> laplace(scale=5)
    tape = Recorder(SystemBits())
    assert isinstance(release, stable.Release)
    drawn = release.draw([1, 2, 30], tape)
    assert drawn - 13 == release.mechanism.draw(0, tape.replay())


def test_answers_on_the_far_ends() -> None:
    big = 2**70
    release = stable.sum(bounds=(-big, big)) >> laplace(epsilon=1)
    assert isinstance(release([big, 10 * big]).value, int)
    vector = stable.sum_by(["a"], by=0, of=1, bounds=(0, big)) >> laplace(scale=1)
    assert vector([("a", big)]).value.shape == (1,)
    assert (stable.count() >> laplace(epsilon=1))([]).value is not None


# --- receipts -----------------------------------------------------------------------------------------------------


def test_a_receipt_is_good_for_one_release() -> None:
    release = stable.count() >> laplace(epsilon=1)
    receipt = Receipt(release.event(), number=1)
    assert release([1, 2], receipt).receipt is receipt
    with pytest.raises(ReceiptRefused, match="used already"):
        release([1, 2], receipt)
    with pytest.raises(ReceiptRefused, match="paid for"):
        release([1, 2], Receipt(release.event(2), number=2))


def test_the_receipt_is_used_before_the_data_are_read() -> None:
    looked: list[Any] = []
    release = stable.filter(looked.append) >> stable.count() >> laplace(epsilon=1)
    with pytest.raises(ReceiptRefused):
        release([1, 2], Receipt(events.Pure(1), number=1))
    assert looked == []


def test_the_wrong_container_costs_nothing_and_says_nothing() -> None:
    release = stable.count() >> laplace(epsilon=1)
    receipt = Receipt(release.event(), number=1)
    with pytest.raises(BadData, match="must be a list") as refused:
        release("a secret", receipt)
    assert "secret" not in str(refused.value)
    assert not receipt.used


# --- behind and before --------------------------------------------------------------------------------------------


def test_post_processing_keeps_the_price() -> None:
    grid = public_grid(0, 10, scale=10)
    release = stable.quantise(grid) >> stable.sum() >> laplace(epsilon=1)
    rounded = release.then(grid.value).then(lambda x: max(x, 0.0), "not below 0", accuracy=release.accuracy)
    assert rounded.cost(3) == release.cost(3) == Pure(3)
    assert rounded.event() == release.event()
    answer = rounded([1.5, 2.5])
    assert isinstance(answer.value, float)
    assert answer.value >= 0
    assert answer.story[-2:] == ("value", "not below 0")
    assert rounded.accuracy is release.accuracy
    with pytest.raises(BadParameter, match="no accuracy"):
        release.then(abs).error_at("0.9")
    with pytest.raises(BadParameter, match="function of the released value"):
        release.then(5)  # type: ignore[arg-type]


def test_a_map_before_a_release_multiplies_the_distance() -> None:
    release = stable.count() >> laplace(epsilon="1/5")
    people = stable.cap_rows(4, unit="id") >> release
    assert people.input_metric == units("id")
    assert [people.cost(d) for d in (1, 2)] == [Pure("4/5"), Pure("8/5")]
    assert people.accuracy is release.accuracy
    assert people.story() == ("kept at most 4 rows of each unit by 'id'", *release.story())
    assert isinstance(people([{"id": 1}]).value, int)
    with pytest.raises(BadParameter, match="must be priced for rows added, removed or changed"):
        stable.cap_rows(4, unit="id", neighbours=CHANGE_ONE) >> release
    with pytest.raises(BadParameter, match="must take what comes before it"):
        stable.group_by(["a"]) >> release
    with pytest.raises(BadParameter, match="must take what comes before it"):
        stable.count() >> release


def test_a_release_of_groups() -> None:
    grouped = stable.count().after(stable.group_by(["a", "b"]).output_domain, EDIT) >> laplace(epsilon=1)
    whole = stable.group_by(["a", "b"], neighbours=CHANGE_ONE) >> grouped
    assert whole.cost() == Pure(1)
    assert whole(["a"]).value.shape == (2,)
    with pytest.raises(BadParameter, match="keys of the groups"):
        stable.group_by(["a", "c"], neighbours=CHANGE_ONE) >> grouped
    assert grouped({"a": [1], "b": []}).value.shape == (2,)


@pytest.mark.parametrize("distance", [0, -1, 1.5, "1", True])
def test_a_price_needs_a_distance(distance: Any) -> None:
    release = stable.count() >> laplace(epsilon=1)
    with pytest.raises(BadParameter, match="distance"):
        release.cost(distance)
    with pytest.raises(BadParameter, match="distance"):
        release.event(distance)


def test_a_release_is_abstract() -> None:
    with pytest.raises(TypeError):
        Release()  # type: ignore[abstract]
