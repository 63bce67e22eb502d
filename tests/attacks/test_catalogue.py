"""Attacks that broke other systems, by their number in the catalogue (A: numerics, C: mechanisms and pipelines)."""

import inspect
import itertools
import os
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.checking.exact.laws import refutations
from discreet.errors import BadData, BadParameter, NoPrice, NotATheorem
from discreet.privacy.accountants.advanced import price_advanced
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import SystemBits

m = dp.mechanisms


def is_coarse(x: float) -> bool:
    """The event of the precision attack: x·2^53 is an integer."""
    return float(x * 2.0**53).is_integer()


def test_a1_a2_the_reachable_answers_do_not_depend_on_the_value() -> None:
    """Every answer is a multiple of the public cell, for v = 0 and v = 1 alike; numpy's are not (the planted twin)."""
    release = dp.laplace(sensitivity=1, epsilon=1, real=True)
    for value in (0.0, 1.0, 1 / 3):
        for _ in range(200):
            assert (Fraction(release.release(value).value) / release.cell).denominator == 1
    rng = np.random.default_rng(1)
    naive = [[is_coarse(v + x) for x in rng.laplace(size=1000)] for v in (0.0, 1.0)]
    assert all(naive[1])
    assert not all(naive[0])


def test_a4_gaussian_noise_is_discrete() -> None:
    release = dp.gaussian(sensitivity=1, rho=1)
    assert isinstance(release.release(5).value, int)


@pytest.mark.parametrize("extreme", [2**31 - 1, 2**63 - 1, -(2**63), 2**80])
def test_a5_sums_never_wrap(extreme: int) -> None:
    total = m.bounded_sum(low=-(2**31), high=2**31, epsilon=1)
    before, after = total.read([2**31 - 1] * 10), total.read([2**31 - 1] * 10 + [extreme])
    assert abs(after - before) <= total.grid.largest
    map_ = dp.stable.clip(-(2**62), 2**62) >> dp.stable.sum()
    assert map_([2**62] * 100) == 100 * 2**62


def test_a6_the_order_of_rows_never_matters() -> None:
    total = m.bounded_sum(low=-(2.0**53), high=2.0**53, epsilon=1)
    rows = [2.0**53, *[1.0] * 50, -(2.0**53)]
    assert len({total.read(order) for order in (rows, rows[::-1], sorted(rows))}) == 1


def test_a7_narrow_bounds_far_from_zero() -> None:
    low = 2**53
    mean = m.mean(low=low, high=low + 1000, epsilon=1)
    rows = [float(low)] * 5000 + [float(low + 1000)] * 5000
    answers = [mean.release(random.sample(rows, len(rows))).value for _ in range(3)]
    assert all(abs(answer - (low + 500)) < 50 for answer in answers)  # noise of about 1/5; 50 is beyond e^-100


def test_a8_single_precision_columns_are_summed_exactly() -> None:
    total = m.bounded_sum(low=0, high=1, epsilon=1)
    ones = np.ones(100_001, dtype=np.float32)
    assert total.grid.exact(total.read(ones)) == 100_001


def test_a9_variance_of_constant_data_is_not_negative_and_moves_within_bounds() -> None:
    variance = m.variance(low=2**50, high=2**50 + 1, epsilon=1000)
    assert -1 <= variance.release([float(2**50)] * 1024).value <= 1
    for a, b in itertools.product([2.0**50, 2.0**50 + 0.25, 2.0**50 + 1], repeat=2):
        one, other = (variance.read([2.0**50] * 20 + [x]).values for x in (a, b))
        for term, x, y in zip(variance.terms, one, other, strict=True):
            assert abs(x - y) <= term.high - term.low


@pytest.mark.parametrize("odd", [float("nan"), None, float("inf"), -float("inf"), -0.0, "text", 10**400])
def test_a10_a11_a12_one_odd_record_moves_a_sum_by_no_more_than_any_other(odd: Any) -> None:
    total = m.bounded_sum(low=0, high=20, epsilon=1)
    rows = [5.0, 7.5, 20.0]
    assert abs(total.read([*rows, odd]) - total.read(rows)) <= total.grid.largest


def test_a13_sensitivities_round_against_us() -> None:
    assert dp.laplace(sensitivity="7/2", epsilon=1).epsilon == 1
    release = dp.laplace(sensitivity="1/3", scale=1)
    assert release.moves * release.cell >= Fraction(1, 3)
    assert dp.gaussian(sensitivity=dp.mechanisms.L2(squared=2), rho=1, dimension=2).rho == 1


@pytest.mark.parametrize("zeros", [1491, 1492, 10_000])
def test_a14_selection_neither_overflows_nor_underflows(zeros: int) -> None:
    choice = dp.exponential(sensitivity=1, epsilon=1)
    assert 0 <= choice.release([0] * zeros + [1]).value <= zeros
    assert choice.release([0] * zeros + [10**6]).value == zeros


def test_a15_extreme_parameters_work_or_are_refused_before_data() -> None:
    assert isinstance(dp.laplace(sensitivity=1, epsilon="1e-300").release(5).value, int)
    for bad in (0, -1, float("inf"), float("nan"), "1e-99999"):
        with pytest.raises(BadParameter):
            dp.laplace(sensitivity=1, epsilon=bad)
    with pytest.raises(BadParameter):
        m.bounded_sum(low=1, high=0, epsilon=1)


def test_c1_the_sparse_vector_stops_and_releases_no_value() -> None:
    run = dp.mechanisms.above_threshold(threshold=0, epsilon=1, stop_after=2).start()
    replies = [run.ask(10**6), run.ask(-(10**6)), run.ask(10**6)]
    assert replies == [True, False, True]  # wrong with probability below e^-100000
    with pytest.raises(NotATheorem):
        run.ask(0)


def test_c2_the_threshold_and_its_delta_use_the_same_comparison() -> None:
    keys = dp.mechanisms.threshold_keys(scale=1, threshold=5)
    shown = sum(keys.noise.pmf(k)[0] for k in range(4, 200))  # 1 + Z >= 5
    assert keys.delta >= shown
    assert float(keys.delta) == pytest.approx(0.013390, abs=1e-6)


def test_c3_keys_are_public_or_selected() -> None:
    histogram = m.histogram(keys=["Ulm", "Bern"], epsilon=1)
    assert list(histogram.read(["Ulm", "a town with one person"])) == [1, 0]
    named = dp.mechanisms.threshold_keys(epsilon=1, delta="1e-12").release({"alone": 1}).value
    assert named == {}  # with probability at least 1 - 1e-12


def test_c4_empty_keys_get_noise_of_their_own() -> None:
    value = m.histogram(keys=list(range(595)), epsilon="1/10").release([]).value
    assert len(set(value.tolist())) > 5  # all alike: probability below 1e-100


def test_c5_bounds_are_never_read_from_the_data() -> None:
    makers: list[Any] = [m.bounded_sum, m.mean, m.variance]
    for make in makers:
        with pytest.raises(TypeError):
            make(epsilon=1)
    with pytest.raises(BadParameter):
        dp.stable.sum() >> dp.laplace(epsilon=1)


def test_c6_the_clamp_is_on_what_is_summed() -> None:
    chain = dp.stable.map(lambda row: row * 10**6, bounds=(0, 10)) >> dp.stable.sum()
    assert chain([5, 7]) == 20
    paid = dp.events.DiscreteLaplace(scale=10, sensitivity=10).about(dp.Neighbours.ADD_REMOVE)
    assert (chain >> dp.laplace(epsilon=1)).event() == paid


def test_c7_c8_c11_what_is_clipped_and_capped_is_what_is_used() -> None:
    total = m.bounded_sum(low=0, high=100, epsilon=1)
    assert total.noise.moves == total.grid.largest > 0  # type: ignore[union-attr]
    assert total.read([10**9]) == total.grid.high
    capped = dp.stable.cap_rows(3, unit="id") >> dp.stable.count()
    assert capped([{"id": 1, "x": i} for i in range(1000)]) == 3
    paid = dp.events.DiscreteLaplace(scale=3, sensitivity=3).about("one unit (by 'id') added or removed")
    assert (capped >> dp.laplace(epsilon=1)).event() == paid


def test_c10_the_denominator_is_noisy_unless_n_is_public() -> None:
    private = m.mean(low=0, high=1, epsilon=1)
    public = m.mean(low=0, high=1, epsilon=1, neighbours=dp.Neighbours.CHANGE_ONE)
    assert len(private.event.events) == 2  # type: ignore[attr-defined]
    assert not isinstance(public.event, dp.events.Composed) or len(public.event.events) == 1


def test_c12_a_row_is_judged_by_itself() -> None:
    keep = dp.stable.filter(lambda row: 1 // row > 0)
    assert keep([1, 0, 2]) == [1]
    assert keep([0]) == []


def test_c9_every_part_of_an_answer_is_paid() -> None:
    mean = m.mean(low=0, high=10, epsilon=1)
    assert isinstance(mean.event, dp.events.Composed)
    assert sum(e.sensitivity / e.scale for e in mean.event.events) == 1  # type: ignore[attr-defined]


def test_c13_permute_and_flip_is_not_of_bounded_range() -> None:
    flip = dp.mechanisms.permute_and_flip(sensitivity=1, epsilon=4)
    assert price_zcdp(flip.event).rho > price_zcdp(dp.exponential(sensitivity=1, epsilon=4).event).rho
    laws: list[Any] = [flip.law(flip.read(scores)) for scores in ([0, 0, 0, 0], [1, -1, -1, -1])]
    p, q = laws
    assert list(refutations(dp.events.Exponential(4), p, q)) or list(refutations(dp.events.Exponential(4), q, p))


def test_c14_a_tree_of_counts_moves_by_its_height() -> None:
    tree = m.hierarchy(keys=list("abcd"), branching=2, rho=1)
    assert tree.event.sensitivity_squared == 3  # type: ignore[attr-defined] # one record is in three nodes
    moved = m.hierarchy(keys=list("abcd"), branching=2, rho=1, neighbours=dp.Neighbours.CHANGE_ONE)
    assert moved.event.sensitivity_squared == 4  # type: ignore[attr-defined] # two leaves and two nodes above them


def test_c15_less_noise_never_costs_less() -> None:
    scales: list[Any] = ["1/100", "1/2", 1, 10, 1000]
    epsilons = [dp.laplace(sensitivity=1, scale=s).epsilon for s in scales]
    assert epsilons == sorted(epsilons, reverse=True)


def test_c16_c17_no_seed_and_nothing_to_fork() -> None:
    random.seed(1)
    np.random.seed(1)
    first = dp.noise.discrete_laplace(10**9, size=8).tolist()
    random.seed(1)
    np.random.seed(1)
    assert dp.noise.discrete_laplace(10**9, size=8).tolist() != first
    for name in m.__all__:
        assert "seed" not in str(inspect.signature(getattr(m, name)))
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, SystemBits().bytes(16))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 16) != SystemBits().bytes(16)


def test_c18_an_answer_is_a_value_and_not_a_plan() -> None:
    answer = dp.laplace(sensitivity=1, epsilon="1/100").release(0)
    assert len({str(answer) for _ in range(10)}) == len({answer.value for _ in range(10)}) == 1


def test_c19_noise_is_fresh_for_equal_questions() -> None:
    release = dp.laplace(sensitivity=1, epsilon="1/1000000")
    assert len({release.release(7).value for _ in range(5)}) > 1  # alike: probability below 1e-20


def test_c20_advanced_composition_has_its_logarithm() -> None:
    price = price_advanced(dp.events.Repeat(dp.events.Pure("1/10"), 100), "1e-6")
    assert float(price.epsilon) == pytest.approx(0.1 * (200 * np.log(1e6)) ** 0.5 + 10 * (np.exp(0.1) - 1), rel=1e-9)


def test_c22_cost_first_then_data() -> None:
    with pytest.raises(NoPrice):
        dp.Filter(dp.Pure(1)).spend(dp.gaussian(sensitivity=1, rho=1).event)
    receipt = Receipt(dp.laplace(sensitivity=1, epsilon=1).event, number=1)
    with pytest.raises(BadData):
        dp.laplace(sensitivity=1, epsilon=1).release(None, receipt)
    assert not receipt.used


def test_c23_no_invariant_is_free() -> None:
    """Under add/remove the number of records costs; it is public only when the caller says change-one."""
    assert m.count(epsilon=1).cost == "epsilon 1"
    with pytest.raises(BadParameter):
        dp.stable.count(neighbours=dp.Neighbours.CHANGE_ONE) >> dp.laplace(epsilon=1)
