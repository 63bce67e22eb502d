"""Noise plans keep their allowance: by an accountant of its own, and the threshold by the exact tail."""

import math
from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np
import pytest

from discreet.errors import BadParameter, NotATheorem
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.additive.laplace import Laplace
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.budgets.calibrate import covers
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.estimate.error_bounds import Share, sum_error
from discreet.query.estimate.noise_plan import (
    Need,
    Noised,
    NoisePlan,
    _lengths,
    _quantile,
    _threshold,
    check_allowance,
    plan_noise,
    tree_of,
)
from discreet.query.estimate.statistics import Bins, Distinct, Rows, Statistic, Units
from discreet.query.lower.bounding import Noise
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.schema import Caps

COUNT = Rows(Literal(1), 1, Fraction(1), one_sign=True)
TOTAL = Rows(Column("x"), 1 << 29, Fraction(1, 1 << 22))
BINS = Bins(Column("b"), 300, Fraction(0), Fraction(1, 3), False)
CAPS = Caps(max_rows=10, max_groups=10, max_rows_per_group=1)
ADD = Neighbours.ADD_REMOVE


def need(*statistics: Statistic, grouped: bool = True, selects: bool = False, caps: Caps = CAPS) -> Need:
    found = dict.fromkeys(statistics, 1.0)
    if selects:
        found[Units()] = 1.0
    return Need(caps=caps, statistics=found, grouped=grouped, selects=selects)


EVERYTHING = need(COUNT, TOTAL, BINS, Distinct(Column("x")), Units())


def test_a_pure_allowance_is_spent_exactly() -> None:
    plan = plan_noise((EVERYTHING, need(COUNT, grouped=False)), Pure("1/3"), ADD)
    assert plan.noise is Noise.LAPLACE
    assert price_basic(plan.event).epsilon == Fraction(1, 3)
    assert plan.price == plan.event


def test_a_concentrated_allowance_is_spent_exactly() -> None:
    plan = plan_noise((EVERYTHING, need(COUNT, grouped=False)), ZCDP("1/7"), ADD)
    assert plan.noise is Noise.GAUSSIAN
    assert price_zcdp(plan.event) == ZCDP("1/7")


@pytest.mark.parametrize("selects", [False, True])
@pytest.mark.parametrize("allowance", [Approx(1, "1e-8"), Approx("0.1", "1e-5"), Approx(5, "1e-12")])
@pytest.mark.parametrize("caps", [CAPS, Caps(), Caps(max_groups=40), Caps(max_groups=300, max_rows_per_group=2)])
def test_an_approximate_allowance_covers_what_runs(selects: bool, allowance: Approx, caps: Caps) -> None:
    plan = plan_noise((need(COUNT, TOTAL, selects=selects, caps=caps),), allowance, ADD)
    pure, rho, _ = spent(plan)
    assert covers(plan.event, allowance)
    assert rho or price_basic(plan.event).epsilon == allowance.epsilon
    assert not rho or plan.price == events.Stated(plan.event, allowance.epsilon, allowance.delta)
    assert pure or rho


def spent(plan: NoisePlan) -> tuple[Fraction, Fraction, Fraction]:
    """ε of Laplace noises, ρ of Gaussian ones, δ of keys."""
    drawn = [one.noise for found in plan.sets for one in found.values()]
    pure = sum((Fraction(n.moves) / n.scale for n in drawn if isinstance(n, Laplace)), Fraction(0))
    rho = sum((n.moves_squared / (2 * n.sigma_squared) for n in drawn if isinstance(n, Gaussian)), Fraction(0))
    return pure, rho, sum((s.delta for s in plan.selections if s is not None), Fraction(0))


def test_both_noises_are_chosen_where_they_are_better() -> None:
    few = plan_noise((need(COUNT, grouped=False),), Approx(1, "1e-8"), ADD)
    many = plan_noise((need(COUNT, caps=Caps(max_groups=50, max_rows_per_group=1)),), Approx(1, "1e-8"), ADD)
    assert (few.noise, many.noise) == (Noise.LAPLACE, Noise.GAUSSIAN)


SIGNED = Rows(Column("x"), 3, Fraction(1))
POSITIVE = Rows(Column("x"), 3, Fraction(1), one_sign=True)


@pytest.mark.parametrize(
    ("statistic", "grouped", "l1", "squared"),
    [(COUNT, False, 1, 1), (COUNT, True, 2, 2), (POSITIVE, False, 1, 1), (POSITIVE, True, 2, 2), (SIGNED, False, 2, 4),
     (SIGNED, True, 2, 4), (Units(), False, 1, 1), (Units(), True, 2, 2), (Distinct(Column("x")), False, 1, 1),
     (Distinct(Column("x")), True, 2, 2)],
)  # fmt: skip
def test_changing_a_unit_takes_no_more_noise_than_it_must(
    statistic: Statistic, grouped: bool, l1: int, squared: int
) -> None:
    for allowance in (Pure(1), ZCDP(1)):
        one, two = (
            plan_noise((need(statistic, grouped=grouped),), allowance, relation).sets[0][statistic].noise
            for relation in (ADD, Neighbours.CHANGE_ONE)
        )
        if isinstance(one, Laplace):
            assert isinstance(two, Laplace)
            assert two.scale == l1 * one.scale
        else:
            assert isinstance(one, Gaussian)
            assert isinstance(two, Gaussian)
            assert two.sigma_squared == squared * one.sigma_squared


def masses(numbers: int, most: int, least: int = 0) -> list[tuple[int, ...]]:
    """All vectors of so many whole numbers whose sizes add up to at most ``most``."""
    found = product(range(least * most, most + 1), repeat=numbers)
    return [x for x in found if sum(map(abs, x)) <= most]


@pytest.mark.parametrize("noise", list(Noise))
@pytest.mark.parametrize(
    ("groups", "leaves", "kind"),
    [(1, 1, "bins"), (1, 2, "bins"), (1, 5, "bins"), (2, 1, "bins"), (2, 3, "bins")]
    + [(groups, 1, kind) for groups in (1, 2) for kind in ("one sign", "signed", "parts")],
)
def test_how_far_a_changed_unit_moves_things_by_enumeration(groups: int, leaves: int, kind: str, noise: Noise) -> None:
    """All old and new contributions of a unit with two rows: the lengths that are paid for are reached, not passed."""
    kinds: dict[str, Statistic] = {
        "bins": Bins(Column("x"), leaves, Fraction(0), Fraction(1), True),
        "one sign": Rows(Column("x"), 1, Fraction(1), one_sign=True),
        "signed": Rows(Column("x"), 1, Fraction(1)),
        "parts": Rows(Column("x"), 1, Fraction(1), (Column("y"),), one_sign=True),
    }
    statistic = kinds[kind]
    wide = groups * {"bins": leaves, "parts": 2}.get(kind, 1)
    tree = tree_of(statistic, noise) if isinstance(statistic, Bins) else None

    def seen(x: tuple[int, ...]) -> np.ndarray:
        if tree is None:
            return np.array(x)
        return np.concatenate([tree.nodes(np.array(x[g * leaves : (g + 1) * leaves])) for g in range(groups)])

    vectors = [seen(x) for x in masses(wide, 2, -1 if kind == "signed" else 0)]
    moves = [a - b for a in vectors for b in vectors]
    several = groups > 1 or kind in ("bins", "parts")
    allowed = _lengths(statistic, noise, Neighbours.CHANGE_ONE, several=several)
    l1, squared = max(np.abs(m).sum() for m in moves), max((m**2).sum() for m in moves)
    assert l1 <= 2 * allowed.l1
    assert squared <= 4 * allowed.l2_squared
    if leaves > 1 or kind != "bins":
        assert l1 == 2 * allowed.l1, "more noise than the unit can move"
        assert squared == 4 * allowed.l2_squared, "more noise than the unit can move"


def test_noise_moves_with_the_bound_and_the_levels() -> None:
    plan = plan_noise((need(COUNT, TOTAL, BINS),), ZCDP(1), ADD)
    found = {s: one.noise for s, one in plan.sets[0].items()}
    scale = plan.sets[0][COUNT].scale
    assert found[COUNT].moves_squared == 10 * scale**2  # type: ignore[union-attr]
    assert found[TOTAL].moves_squared == 10 * (scale << 29) ** 2  # type: ignore[union-attr]
    assert found[BINS].moves_squared == 10 * scale**2 * len(tree_of(BINS, Noise.GAUSSIAN).levels)  # type: ignore[union-attr]


# --- keys that nobody listed ------------------------------------------------------------------------------------------

DRAWN = [Gaussian(Fraction(17**2 << 40), 10 << 40, dimension=2), Laplace(Fraction(10 << 20), 10 << 20, dimension=2)]


@pytest.mark.slow
@pytest.mark.parametrize("drawn", DRAWN, ids=["Gaussian", "Laplace"])
@pytest.mark.parametrize("most", [10, 64, 256])
def test_the_threshold_is_certified_for_every_number_of_keys(drawn: Gaussian | Laplace, most: int) -> None:
    scale, cap, delta = 1 << 20, 10, Fraction(1, 10**8)
    threshold = _threshold(drawn, scale, cap, most, delta)
    risks = []
    for t in range(1, most + 1):
        weight = scale
        if t > cap:
            weight = isqrt(scale * scale * cap // t) if isinstance(drawn, Gaussian) else scale * cap // t
        risks.append(t * drawn.tail_up(threshold - weight - 1) / 2)
    assert max(risks) <= delta
    assert max(risks) > delta * Fraction(7, 10), "the threshold is far from the least one"


@pytest.mark.parametrize("drawn", DRAWN, ids=["Gaussian", "Laplace"])
def test_a_quantile_is_near_the_least(drawn: Gaussian | Laplace) -> None:
    for miss in (Fraction(1, 10), Fraction(1, 10**9), Fraction(1, 10**40)):
        a = _quantile(drawn, miss)
        assert drawn.tail_up(a - 1) / 2 <= miss < drawn.tail_up(int(a * 0.999)) / 2


def test_keys_that_nobody_listed_need_delta() -> None:
    for allowance in (Pure(1), ZCDP(1), Approx(1, 0)):
        with pytest.raises(NotATheorem, match="cost delta"):
            plan_noise((need(COUNT, selects=True),), allowance, ADD)


def test_an_allowance_of_nothing_buys_nothing() -> None:
    with pytest.raises(BadParameter):
        check_allowance(Pure(0))


# --- two sides --------------------------------------------------------------------------------------------------------

ABOVE, BELOW = (
    Rows(Column("u"), 100, Fraction(1), (Column("v"),)),
    Rows(Column("v"), 100, Fraction(1), (Column("u"),)),
)


@pytest.mark.parametrize("allowance", [Pure("1/3"), ZCDP("1/7")])
def test_two_sides_are_paid_for_once(allowance: Pure | ZCDP) -> None:
    both = plan_noise((need(ABOVE, BELOW),), allowance, ADD)
    alone = plan_noise((need(Rows(Column("u"), 100, Fraction(1))),), allowance, ADD)
    assert both.sets[0][ABOVE].noise == both.sets[0][BELOW].noise == next(iter(alone.sets[0].values())).noise
    if isinstance(allowance, Pure):
        assert price_basic(both.event).epsilon == allowance.epsilon
    else:
        assert price_zcdp(both.event) == allowance


def test_two_sides_beside_a_count_share_with_it() -> None:
    plan = plan_noise((need(ABOVE, BELOW, COUNT, grouped=False),), Pure(1), ADD)
    assert price_basic(plan.event).epsilon == 1
    assert plan.sets[0][COUNT].noise.event != plan.sets[0][ABOVE].noise.event


@pytest.mark.slow
@pytest.mark.parametrize("allowance", [Pure(100), ZCDP(200)])
@pytest.mark.parametrize("miss", [0.3, 0.05, 1e-3])
def test_the_error_of_two_draws_by_exact_convolution(allowance: Pure | ZCDP, miss: float) -> None:
    small = Caps(max_rows=1, max_groups=1, max_rows_per_group=1)
    one = plan_noise((need(ABOVE, BELOW, caps=small, grouped=False),), allowance, ADD).sets[0][ABOVE]
    noise = one.noise
    wide = 60 if isinstance(noise, Laplace) else 12
    step = max(1, int(noise.scale if isinstance(noise, Laplace) else math.sqrt(noise.sigma_squared)) // 200)
    k = np.arange(-wide * 200, wide * 200 + 1) * step
    log = (
        -np.abs(k) / float(noise.scale) if isinstance(noise, Laplace) else -(k**2.0) / (2 * float(noise.sigma_squared))
    )
    mass = np.exp(log) / np.exp(log).sum()
    both = np.convolve(mass, mass)
    at = np.arange(2 * k[0], 2 * k[-1] + 1, step)
    cells = sum_error([Share(one, 1.0, 2)], miss) / float(one.unit)
    beyond = float(both[np.abs(at) > cells].sum())
    assert 0.9 * miss < beyond < 1.02 * miss  # a lattice of 200 points for each scale


def test_parts_of_ranges_on_different_grids_are_paid_for_each() -> None:
    """The same expression on two steps is two statistics with two noises: two events."""
    coarse = [Rows(s.value, s.bound, Fraction(1, 7), s.beside) for s in (ABOVE, BELOW)]
    plan = plan_noise((need(ABOVE, BELOW, *coarse),), Pure(1), ADD)
    assert price_basic(plan.event).epsilon == 1
    assert {float(one.noise.moves / one.noise.scale) for one in plan.sets[0].values()} == {0.5}  # type: ignore[union-attr]


def test_a_part_without_the_others_is_a_fault() -> None:
    with pytest.raises(AssertionError, match="no event counts"):
        plan_noise((need(ABOVE),), Pure(1), ADD)


def test_keys_may_have_another_noise_than_what_is_counted() -> None:
    """Rows in few groups are better counted with Laplace noise, units in many with Gaussian noise."""
    plan = plan_noise((need(COUNT, selects=True, caps=Caps()), need(COUNT, grouped=False)), Approx(1, "1e-8"), ADD)
    units, counted, total = plan.sets[0][Units()].noise, plan.sets[0][COUNT].noise, plan.sets[1][COUNT].noise
    assert isinstance(units, Gaussian)
    assert isinstance(counted, Laplace)
    assert isinstance(total, Laplace)
    assert covers(plan.event, Approx(1, "1e-8"))
    assert not covers(plan.event, Approx("0.99", "1e-8"))
    assert plan.price == events.Stated(plan.event, 1, "1e-8")
    gaussian = plan_noise((need(COUNT, selects=True, caps=Caps()),), ZCDP("1/100", "1e-8"), ADD)
    assert all(isinstance(one.noise, Gaussian) for one in gaussian.sets[0].values())


@pytest.mark.parametrize("miss", [0.3, 0.05, 1e-3])
@pytest.mark.parametrize("drawn", [Laplace(Fraction(7, 3), 1), Gaussian(Fraction(1, 2), 1), Gaussian(Fraction(9), 1)])
def test_whole_noise_has_the_smallest_whole_error(drawn: Gaussian | Laplace, miss: float) -> None:
    """By its exact law: one less would hold too seldom. With a cell added to the quantile of the continuous law, it
    was one or two more.
    """
    one = Noised(Distinct(Column("x")), None, drawn)
    error = one.error(miss)
    assert error == int(error)
    chances = {k: drawn.pmf(k) for k in range(-60, 61)}
    assert sum(low for k, (low, _) in chances.items() if abs(k) <= error) >= 1 - miss
    assert sum(high for k, (_, high) in chances.items() if abs(k) < error) < 1 - miss


def test_noise_that_is_surely_0_has_no_error_and_takes_no_time() -> None:
    """Summing up the law of Gaussian noise of this size takes minutes; its chance to differ from 0 is e^-(5·10^11)."""
    assert Noised(Distinct(Column("x")), None, Gaussian(Fraction(1, 10**12), 1)).error(0.05) == 0
    assert Noised(Distinct(Column("x")), None, Laplace(Fraction(1, 10**9), 1)).error(1e-15) == 0


def test_a_unit_has_one_id_in_each_group() -> None:
    """COUNT(DISTINCT unit) FILTER (WHERE ...): noise for one value, or for one in each group, not for every row."""
    found = {}
    for own, grouped in product((False, True), (False, True)):
        values = Distinct(Column("x"), own)
        caps = Caps(max_rows=10, max_groups=3, max_rows_per_group=10)
        (drawn,) = plan_noise((need(values, grouped=grouped, caps=caps),), Pure(1), ADD).sets
        noise = drawn[values].noise
        assert isinstance(noise, Laplace)
        found[own, grouped] = noise.scale
    assert found == {(False, False): 10, (False, True): 10, (True, False): 1, (True, True): 3}
