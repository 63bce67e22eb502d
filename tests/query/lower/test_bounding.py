"""How far one unit reaches: the weights are tried on every unit of a small table."""

from itertools import product

import pytest

from discreet.messages import message
from discreet.query.lower.bounding import (
    KEYS_PER_UNIT,
    Noise,
    each_counts_once,
    groups,
    limit_note,
    most_keys,
    row_reach,
    rows,
    unit_reach,
)
from discreet.query.plan.schema import MAX_ROWS, Caps
from discreet.query.plan.work import Form


def test_caps_that_follow_from_others() -> None:
    assert (rows(Caps()), groups(Caps())) == (MAX_ROWS, MAX_ROWS)
    assert rows(Caps(max_groups=3)) == MAX_ROWS
    assert rows(Caps(max_groups=3, max_rows_per_group=2)) == 6
    assert rows(Caps(max_rows=4, max_groups=3, max_rows_per_group=2)) == 4
    assert each_counts_once(Caps(max_rows=1))
    assert not each_counts_once(Caps(max_rows=2))


@pytest.mark.parametrize("noise", Noise)
@pytest.mark.parametrize(("most", "many", "each"), list(product((1, 3, 10), (1, 2, 5), (1, 2, 4))))
def test_no_unit_within_the_caps_is_longer_than_the_reach(noise: Noise, most: int, many: int, each: int) -> None:
    """Among all units within the caps, none is longer than the reach (so none of them is weighted down)."""
    reach = row_reach(Caps(max_rows=most, max_groups=many, max_rows_per_group=each), noise, grouped=True)
    kept = [
        counts
        for counts in product(range(each + 1), repeat=min(many, 3))
        if sum(counts) <= most and sum(n > 0 for n in counts) <= many
    ]
    assert max(sum(n * n for n in counts) for counts in kept) <= reach.l2_squared
    if noise is Noise.LAPLACE:
        assert max(sum(counts) for counts in kept) <= reach.l1 == min(most, many * each)
    else:
        assert reach.l2_squared <= most * most


def test_without_groups_rows_weigh_alike() -> None:
    for noise in Noise:
        reach = row_reach(Caps(max_rows=7, max_groups=2, max_rows_per_group=1), noise, grouped=False)
        assert (reach.weights.form, reach.weights.cap, reach.l1, reach.l2_squared) == (Form.ROWS, 7, 7, 49)


def test_a_unit_that_counts_once_in_each_group() -> None:
    caps = Caps(max_groups=5)
    assert unit_reach(caps, Noise.LAPLACE, grouped=True).l1 == 5
    assert unit_reach(caps, Noise.GAUSSIAN, grouped=True).l2_squared == 5
    assert unit_reach(caps, Noise.LAPLACE, grouped=False).l1 == 1


def test_roots_stay_exact_in_floats() -> None:
    reach = row_reach(Caps(max_rows=65_536, max_groups=300, max_rows_per_group=200), Noise.GAUSSIAN, grouped=True)
    assert reach.weights.form is Form.L2
    assert reach.weights.scale**2 * reach.weights.cap < 1 << 52


def test_keys_that_nobody_listed() -> None:
    assert most_keys(Caps(max_groups=3), Noise.LAPLACE) == 3
    assert most_keys(Caps(max_groups=3), Noise.GAUSSIAN) == KEYS_PER_UNIT
    assert most_keys(Caps(max_groups=1000), Noise.GAUSSIAN) == 1000


def test_words_for_people() -> None:
    assert limit_note(Caps(max_rows=1), grouped=True) == message("groups_limited", groups=1)
    assert limit_note(Caps(max_groups=2), grouped=True) == message("rows_limited_in_groups", rows=10, groups=2)
    assert limit_note(Caps(max_rows=1), grouped=False) == message("rows_limited", rows=1)
