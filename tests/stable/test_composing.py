"""Releases of releases: the price of the whole, exactly; and by brute force that it is enough."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from discreet import stable
from discreet.errors import BadParameter
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.stable import ADD_REMOVE, CHANGE, EDIT, Release, parallel, sequential, units
from discreet.stable.composing import Parallel
from tests.helpers.stability import distance

CHANGE_ONE = Neighbours.CHANGE_ONE
COUNT = stable.count() >> laplace(epsilon="1/2")
TOTAL = stable.sum(bounds=(0, 9)) >> laplace(epsilon="1/4")
ROUND = stable.count() >> gaussian(rho="1/8")


def test_one_after_the_other_adds_up() -> None:
    both = sequential([COUNT, TOTAL])
    assert both.event() == events.Composed([COUNT._event(1), TOTAL._event(1)]).about(Neighbours.ADD_REMOVE)
    assert [both.cost(d) for d in (1, 3)] == [Pure("3/4"), Pure("9/4")]
    assert sequential([ROUND, ROUND]).cost(2) == ZCDP(1)
    assert isinstance(sequential([COUNT, ROUND]).cost(), ZCDP)
    assert sequential([both, COUNT]).cost() == Pure("5/4")
    alone = sequential([COUNT])
    assert (alone.input_metric, alone.input_domain) == (COUNT.input_metric, COUNT.input_domain)


@pytest.mark.slow
@pytest.mark.parametrize("metric", [ADD_REMOVE, EDIT])
@pytest.mark.parametrize("d", [1, 2])
def test_the_price_of_a_sequence_is_enough(metric: Any, d: int) -> None:
    """All neighbours on small data: the log of the likelihood ratio of all answers, which Laplace noise attains."""
    count = stable.count(neighbours=metric) >> laplace(scale=2)
    total = stable.sum(bounds=(0, 3), neighbours=metric) >> laplace(scale=12)
    each = stable.count_by([0, 3], neighbours=metric) >> laplace(scale=8)
    data = [list(x) for n in range(4) for x in combinations_with_replacement([0, 1, 3], n)]
    worst = max(
        Fraction(abs(len(x) - len(y)), 2) + Fraction(abs(sum(x) - sum(y)), 12)
        + sum(Fraction(abs(x.count(k) - y.count(k)), 8) for k in (0, 3))
        for x in data for y in data if distance(metric, x, y) == d
    )  # fmt: skip
    price = sequential([count, total, each]).cost(d)
    assert isinstance(price, Pure)
    assert worst <= price.epsilon
    assert worst == price.epsilon or metric is EDIT
    dearest = max(part.cost(d).epsilon for part in (count, total, each))  # type: ignore[union-attr]
    assert worst > dearest  # the twin: side by side, parts of the rows would cost the dearest alone


def test_what_comes_out_of_a_sequence() -> None:
    answer = sequential([COUNT, TOTAL])([1, 2, 3])
    assert answer.value.shape == (2,)
    low, high = answer.within("0.9")
    assert (low < high).all()
    mixed = sequential([COUNT, stable.count_by([1, 2]) >> laplace(epsilon=1)])([1])
    assert isinstance(mixed.value, tuple)
    assert sequential([COUNT.then(str), TOTAL])([1]).accuracy is None
    huge = sequential([COUNT, stable.sum(bounds=(0, 2**80)) >> laplace(epsilon=1)])([2**80])
    assert huge.value.dtype in (np.dtype(np.int64), np.dtype(object))
    assert sequential([COUNT]).story()[0].startswith("1: ")


def test_the_error_bar_of_several_answers_holds_for_all() -> None:
    both = sequential([COUNT, TOTAL])
    assert both.error_at("0.9") == max(COUNT.error_at("0.95"), TOTAL.error_at("0.95"))
    assert both.accuracy is not None
    assert TOTAL.accuracy is not None
    assert both.accuracy.expected_error == TOTAL.accuracy.expected_error


def test_side_by_side_costs_the_dearest() -> None:
    parts = parallel({"a": COUNT, "b": TOTAL}, by=0)
    assert parts.event() == events.Parallel([COUNT._event(1), TOTAL._event(1)]).about(Neighbours.ADD_REMOVE)
    assert [parts.cost(d) for d in (1, 3)] == [Pure("1/2"), Pure("3/2")]
    assert parallel({"a": ROUND, "b": ROUND}).cost(3) == ZCDP("9/8")


def test_side_by_side_takes_the_largest_epsilon_and_the_largest_delta() -> None:
    one, other = (stable.count() >> gaussian(epsilon=e, delta=d) for e, d in (("1/2", "1e-7"), ("1/4", "1e-6")))
    parts = parallel({"a": one, "b": other}, by=0)
    assert parts.cost() == Approx("1/2", "1e-6")
    assert price_zcdp(parts.event()) == max(price_zcdp(one.event()), price_zcdp(other.event()), key=lambda p: p.rho)


def test_a_change_may_touch_two_parts() -> None:
    changed = parallel({"a": COUNT, "b": TOTAL}, by=0, neighbours=CHANGE_ONE)
    assert [changed.cost(d) for d in (1, 3)] == [Pure(1), Pure(3)]
    assert parallel({"a": ROUND, "b": ROUND}, neighbours=CHANGE_ONE).cost() == ZCDP("1/2")
    assert parallel({"a": COUNT}, neighbours=EDIT).cost() == Pure(1)


def test_each_part_sees_its_own_rows_alone() -> None:
    quiet = stable.count() >> laplace(epsilon=60)  # noise beyond 0 has probability below 2^-80
    parts = parallel({"b": quiet, "a": quiet, "z": quiet}, by=0)
    assert parts([("a", 1), ("b", 1), ("a", 5), ("c", 1), None, "a", ["a"]]).value.tolist() == [1, 3, 0]
    assert parts.story()[0] == "split by 0 into 3 public parts"
    assert parts.story()[1] == "b: counted rows"


def test_behind_a_cap_parts_are_for_people() -> None:
    people = stable.cap_rows(2, unit="id") >> parallel({"N": COUNT, "S": COUNT}, by="x")
    assert people.cost() == Pure(1)


@pytest.mark.parametrize("metric", [ADD_REMOVE, CHANGE, EDIT], ids=str)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_price_of_parts_is_enough(metric: Any, d: int) -> None:
    """All neighbours on small data: the log of the likelihood ratio of exact answers through each part's noise."""
    rates = {"a": Fraction(1, 2), "b": Fraction(1, 3), "c": Fraction(1, 7)}
    parts = parallel({k: stable.count() >> laplace(epsilon=e) for k, e in rates.items()}, neighbours=metric)
    data = [list(x) for n in range(4) for x in combinations_with_replacement(["a", "b", "c", "z"], n)]
    worst = max(
        sum(rate * abs(x.count(k) - y.count(k)) for k, rate in rates.items())
        for x in data
        for y in data
        if distance(metric, x, y) == d
    )
    price = parts.cost(d)
    assert isinstance(price, Pure)
    assert worst <= price.epsilon
    if d == 1 and metric == ADD_REMOVE:
        assert worst == price.epsilon


def narrow() -> Parallel:
    """A part whose price does not grow with distance: two rows in two parts still cost twice."""
    capped = stable.resize(1, fill=0) >> stable.count_by([1]) >> laplace(epsilon=1)
    return parallel({"a": capped, "b": capped})


def test_a_group_is_never_cheaper_than_its_members_apart() -> None:
    assert narrow().cost(2) == Pure(2)


REFUSED: list[tuple[Callable[[], Release], str]] = [
    (lambda: sequential([]), "at least one"),
    (lambda: sequential([COUNT, 5]), "map >> a mechanism"),  # type: ignore[list-item]
    (lambda: sequential(COUNT), "list of releases"),  # type: ignore[arg-type]
    (lambda: sequential([COUNT, stable.count(neighbours=EDIT) >> laplace(epsilon=1)]), "same neighbours="),
    (lambda: sequential([COUNT, stable.count().after(stable.group_by(["a"]).output_domain, ADD_REMOVE)
                         >> laplace(epsilon=1)]), "must all take"),
    (lambda: parallel({}), "at least one"),
    (lambda: parallel([COUNT]), "must map public keys"),  # type: ignore[arg-type]
    (lambda: parallel({"a": stable.count()}), "map >> a mechanism"),  # type: ignore[dict-item]
    (lambda: parallel({"a": COUNT}, neighbours=units("id")), "cap_rows"),
    (lambda: parallel({"a": stable.sum(bounds=(0, 9), neighbours=CHANGE_ONE) >> laplace(epsilon=1)},
                      neighbours=CHANGE_ONE), "in their own part"),
    (lambda: parallel({"a": stable.count().after(stable.group_by(["a"]).output_domain, ADD_REMOVE)
                       >> laplace(epsilon=1)}), "must take rows"),
    (lambda: parallel({float("nan"): COUNT}), "looked up"),
    (lambda: parallel({"a": COUNT}, by=1.5), "must be a name"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize(("build", "words"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_what_does_not_compose_is_refused(build: Callable[[], Release], words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        build()


def test_the_two_partial_sum_programs() -> None:
    n, epsilon = 12, Fraction(1, 10)
    each = [stable.first(t) >> stable.sum(bounds=(0, 1)) >> laplace(epsilon=epsilon) for t in range(1, n + 1)]
    on_each_sum = sequential(each)
    of_noisy_values = (stable.as_vector(n, bounds=(0, 1)) >> laplace(epsilon=epsilon)).then(np.cumsum)
    assert on_each_sum.cost() == Pure(n * epsilon)
    assert of_noisy_values.cost() == Pure(epsilon)
    stream = [1, 0, 1] * 4
    assert on_each_sum(stream).value.shape == of_noisy_values(stream).value.shape == (n,)
