"""The public grid: total for every record, exact, order-free, with the stated sensitivity; and the precision attack."""

import math
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from discreet.errors import BadData, BadParameter
from discreet.noise import Grid, discrete_gaussian, discrete_laplace, public_grid

# --- any grid, any record -----------------------------------------------------------------------------------------

bounds = st.one_of(
    st.floats(-1e250, 1e250),
    st.integers(-(10**9), 10**9),
    st.fractions(max_denominator=10**6),
    st.sampled_from([0, 1, -1, 100, 2**53, 5e-324, 1e-300]),
)
scales = st.one_of(st.floats(1e-300, 1e300), st.fractions(Fraction(1, 10**6), 10**6), st.sampled_from([1, "0.1", 1e-9]))


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    a, b = draw(bounds), draw(bounds)
    low, high = (a, b) if Fraction(a) <= Fraction(b) else (b, a)
    centre = draw(st.sampled_from([0, float(low), 0.5]))
    scale: Any = draw(scales)
    return public_grid(low, high, scale=scale, centre=centre)


records = st.one_of(
    st.floats(),  # NaN, infinities, -0.0 and subnormals among them
    st.integers(),
    st.sampled_from([10**400, -(10**400), 1 << 1024, 1e308, -1e308, 5e-324, -0.0, True, 2**53 + 1]),
    st.sampled_from(
        [None, "", "12", b"1", [1.0], (), {}, 1j, object(), Decimal("1.5"), Decimal("sNaN"), Decimal("1e999")]
    ),
    st.sampled_from(
        [np.int64(7), np.float32(1.5), np.uint8(3), np.bool_(True), np.float64("nan"), np.datetime64("2020")]
    ),
    st.fractions(),
)


def oracle(grid: Grid, record: object) -> int:
    """One record's cell, by rationals alone."""
    if isinstance(record, np.generic):
        record = record.item()
    if isinstance(record, Decimal):
        record = math.nan if record.is_nan() else Fraction(record) if record.is_finite() else float(record)
    if isinstance(record, str):
        try:
            record = float(record)
        except ValueError:
            return grid.missing
    if not isinstance(record, (int, float, Fraction)):
        return grid.missing
    if isinstance(record, float) and math.isnan(record):
        return grid.missing
    if isinstance(record, float) and math.isinf(record):
        return grid.high if record > 0 else grid.low
    try:
        near = float(record)
    except OverflowError:
        return grid.high if record > 0 else grid.low
    if math.isinf(near - float(grid.centre)):
        return grid.high if near > 0 else grid.low
    cells = round(Fraction(near - float(grid.centre)) / Fraction(2) ** grid.exponent)
    return min(max(cells, grid.low), grid.high)


@pytest.mark.slow
@given(grids(), st.lists(records, max_size=8))
@settings(max_examples=500, deadline=None)
def test_every_record_has_a_cell_within_the_bounds(grid: Grid, values: list[Any]) -> None:
    """Never an error, never outside, and where the record is an ordinary number the nearest cell."""
    cells = grid.quantise(values)
    assert cells.dtype == np.int64
    assert all(grid.low <= cell <= grid.high for cell in cells.tolist())
    assert cells.tolist() == [oracle(grid, value) for value in values]
    assert grid.total(values) == sum(oracle(grid, value) for value in values)


@pytest.mark.slow
@given(grids(), st.lists(st.floats(), max_size=20))
@settings(max_examples=200, deadline=None)
def test_lists_arrays_and_single_records_agree(grid: Grid, values: list[float]) -> None:
    """A record's cell is a function of the record alone: not of its neighbours, and not of what holds it."""
    alone = [int(grid.quantise([value])[0]) for value in values]
    for held in (
        values,
        tuple(values),
        np.array(values, dtype=np.float64),
        np.array([*values, None], dtype=object)[:-1],
    ):
        assert grid.quantise(held).tolist() == alone
        assert grid.total(held) == sum(alone)
    mixed: list[Any] = [*values, "text"]
    assert grid.quantise(mixed).tolist() == [*alone, grid.missing]


@pytest.mark.slow
@given(grids(), st.lists(records, max_size=6), records, records, st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_sensitivity_and_order(grid: Grid, values: list[Any], one: Any, other: Any, chance: random.Random) -> None:
    total = grid.total(values)
    assert abs(grid.total([*values, one]) - total) <= grid.largest
    assert abs(grid.total([*values, one]) - grid.total([*values, other])) <= grid.width
    shuffled = list(values)
    chance.shuffle(shuffled)
    assert grid.total(shuffled) == total


@pytest.mark.slow
@given(grids(), st.integers(-(10**30), 10**30))
@settings(max_examples=200)
def test_a_total_stands_for_one_number(grid: Grid, cells: int) -> None:
    exact = grid.exact(cells)
    assert exact == grid.centre + cells * Fraction(2) ** grid.exponent
    value = grid.value(cells)
    if math.isfinite(value):
        error = abs(Fraction(value) - exact)
        for step in (math.inf, -math.inf):
            beside = math.nextafter(value, step)
            assert math.isinf(beside) or error <= abs(Fraction(beside) - exact)
    else:
        assert abs(exact) > Fraction(2) ** 1023


@pytest.mark.slow
@given(bounds, bounds, scales)
@example(0, 100, 1)
@example(2**53, 2**53 + 1000, 1)
@example(0.1, 0.1, 1e6)
@settings(max_examples=300)
def test_the_grid_is_fine_and_fits(a: Any, b: Any, scale: Any) -> None:
    low, high = (a, b) if Fraction(a) <= Fraction(b) else (b, a)
    grid = public_grid(low, high, scale=scale)
    cell = Fraction(2) ** grid.exponent
    reach = max(abs(Fraction(low)), abs(Fraction(high)))
    assert max(abs(grid.low), abs(grid.high)) <= 1 << 62
    assert grid.low <= grid.missing <= grid.high
    fine = cell <= Fraction(scale) / (1 << 39)
    assert fine or grid.exponent == -1022 or cell <= reach / (1 << 60)
    if grid.low < grid.high:
        assert Fraction(low) <= grid.low * cell < Fraction(low) + cell
        assert Fraction(high) - cell < grid.high * cell <= Fraction(high)


def test_numpy_numbers_in_a_list_are_numbers() -> None:
    grid = public_grid(0, 100, scale=1)
    held: list[Any] = [np.int64(3), np.float32(1.5), np.uint8(2), 1.0, np.bool_(True)]
    assert grid.value(grid.total(held)) == 8.5
    assert grid.value(grid.total(list(np.arange(4)))) == 6.0
    rational: list[Any] = [Decimal("1.25"), Fraction(1, 4)]
    assert grid.value(grid.total(rational)) == 1.5


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float32, np.float64, np.bool_])
def test_arrays_of_every_kind(kind: Any) -> None:
    grid = public_grid(0, 100, scale=1)
    assert grid.value(grid.total(np.array([0, 1, 1], dtype=kind))) == 2.0


def test_masked_and_long_doubles() -> None:
    grid = public_grid(0, 100, scale=1, missing=7)
    assert grid.value(grid.total(np.ma.array([1.0, 50.0], mask=[False, True]))) == 8.0
    assert grid.value(grid.total(np.ma.array([1.0], mask=[True]))) == 7.0
    assert grid.value(grid.total(np.array([2.0, np.inf, -np.inf], dtype=np.longdouble) * 10)) == 120.0
    assert grid.value(grid.total(np.array([np.finfo(np.longdouble).max]))) == 100.0


def test_a_read_only_array_is_left_alone() -> None:
    values = np.array([1.0, np.nan, 1e300])
    values.flags.writeable = False
    before = values.copy()
    public_grid(0, 10, scale=1, centre=5).total(values)
    assert np.array_equal(values, before, equal_nan=True)


@pytest.mark.parametrize("bad", [5.0, None, "123", b"123", np.zeros((2, 2)), np.float64(1), 7])
def test_what_is_not_a_list_is_refused_without_its_value(bad: Any) -> None:
    with pytest.raises(BadData) as caught:
        public_grid(0, 100, scale=1).total(bad)
    assert "123" not in str(caught.value)


def test_more_records_than_a_part() -> None:
    """The widest cells, where a 64-bit sum of four would wrap: 2^61 in each of 200,000 records."""
    grid = public_grid(-1, 1, scale=Fraction(1, 1 << 40))
    assert grid.largest == 1 << 61
    n = 200_000
    assert grid.total(np.ones(n)) == n << 61
    assert grid.total(-np.ones(n)) == -(n << 61)
    assert grid.total(np.tile([1.0, -1.0], n // 2)) == 0


# --- what the literature broke ------------------------------------------------------------------------------------


def test_wraparound() -> None:
    """A5: the largest integer and one more; a 32-bit or 64-bit sum would turn negative."""
    for top in (2**31 - 1, 2**61):
        grid = public_grid(0, top, scale=1)
        a, b = grid.total([top, 0]), grid.total([top, 1])
        assert 0 <= b - a <= grid.largest
        assert grid.total([top] * 100) == 100 * grid.total([top])


def test_order() -> None:
    """A6: 2^53, a thousand ones and -2^53 sum to 0 or 1000 in floats, depending on the order."""
    values: list[float] = [2.0**53, *[1.0] * 1000, -(2.0**53)]
    assert np.cumsum(values)[-1] != np.cumsum([values[0], values[-1], *values[1:-1]])[-1]
    grid = public_grid(-(2**53), 2**53, scale=1)
    totals = {grid.total(random.sample(values, len(values))) for _ in range(20)}
    assert [grid.value(total) for total in totals] == [1000.0]


def test_timestamps() -> None:
    """A7: narrow bounds far from zero; the mean is L + 500, where float sums give L + 0 or L + 52."""
    low = 2**53
    values = np.array([low] * 5000 + [low + 1000] * 5000, dtype=np.float64)
    grid = public_grid(low, low + 1000, scale=1, centre=low)
    for order in (values, values[::-1], np.random.default_rng(0).permutation(values)):
        assert grid.exact(grid.total(order)) - grid.centre == 5000 * 1000
    assert grid.width == grid.largest == 1000 << 40
    assert abs(grid.total(values[:-1]) - grid.total(values)) <= grid.largest


@pytest.mark.slow
def test_singles_do_not_stop_counting() -> None:
    """A8: 2^24 + 1000 ones in 32-bit floats sum to 2^24."""
    ones = np.ones((1 << 24) + 1000, dtype=np.float32)
    assert public_grid(0, 1, scale=1).value(public_grid(0, 1, scale=1).total(ones)) == (1 << 24) + 1000


def outcomes(release: Any, value: float, n: int) -> set[tuple[bool, ...]]:
    """Which of the attack's events are seen: whether x 2^k is an integer, for several k (A2)."""
    found = set()
    for _ in range(n):
        x = Fraction(release(value))
        found.add(tuple((x * 2**k).denominator == 1 for k in (30, 38, 39, 40, 41, 48, 53, 60)))
    return found


@pytest.mark.slow
def test_precision_attack() -> None:
    """A2: no event about the last bits tells v = 0 from v = 1, or from any other value.

    Outputs below 2^53 cells are multiples of the grid, whatever the value was: each event has one answer at or above
    the grid, and both answers (after 400 tries, missed with probability 2 2^-400) below it.
    """
    grid = public_grid(0, 10, scale=1)
    for noise in (lambda: discrete_laplace(1 << 40), lambda: discrete_gaussian(1 << 40)):
        for value in (0.0, 1.0, 0.1, 1 / 3, 5e-324, 9.999999):

            def release(v: float, noise: Any = noise) -> float:
                return grid.value(grid.total([v]) + noise())

            seen = outcomes(release, value, 400)
            assert all(event[3:] == (True,) * 5 for event in seen)  # multiples of 2^-40
            for k in range(3):
                assert {event[k] for event in seen} == {False, True} or k == 0


def test_precision_attack_on_floats() -> None:
    """The planted twin: a float plus a float fails the same test, with infinite epsilon."""
    generator = np.random.default_rng()

    def release(v: float) -> float:
        return v + float(generator.laplace())

    zero, one = outcomes(release, 0.0, 400), outcomes(release, 1.0, 400)
    assert any(not event[6] for event in zero)  # P(none) = 0.728^400
    assert all(event[6] for event in one)  # x 2^53 is always an integer if v = 1
    assert zero != one


@pytest.mark.slow
@given(st.floats(allow_nan=True), st.floats(allow_nan=True), st.integers(-(1 << 50), 1 << 50))
def test_the_same_noise_gives_neighbouring_outputs_on_one_grid(v: float, w: float, noise: int) -> None:
    grid = public_grid(-5, 5, scale=1)
    cell = Fraction(2) ** grid.exponent
    a, b = (Fraction(grid.value(grid.total([x]) + noise)) for x in (v, w))
    assert (a / cell).denominator == (b / cell).denominator == 1
    assert abs(a - b) <= grid.width * cell


# --- making a grid ------------------------------------------------------------------------------------------------

BAD: list[Any] = [math.nan, math.inf, -math.inf, "nan", "x", None, [], 10**5000, True, 1j]


@pytest.mark.parametrize("bad", BAD, ids=lambda b: repr(b)[:12] if not isinstance(b, int) else "int")
@pytest.mark.parametrize("name", ["low", "high", "scale", "centre"])
def test_bad_parameters_are_refused_by_name(bad: Any, name: str) -> None:
    given_ones: dict[str, Any] = {"low": 0, "high": 10, "scale": 1, "centre": 0}
    given_ones[name] = bad
    low, high = given_ones.pop("low"), given_ones.pop("high")
    with pytest.raises(BadParameter, match=f"^{name} is "):
        public_grid(low, high, **given_ones)


def test_more_bad_parameters() -> None:
    refused: list[tuple[str, dict[str, Any]]] = [
        ("low", {"low": 2, "high": 1, "scale": 1}),
        ("low", {"low": 1 << 901, "high": 1 << 902, "scale": 1}),
        ("high", {"low": 0, "high": 1 << 902, "scale": 1}),
        ("scale", {"low": 0, "high": 1, "scale": 0}),
        ("scale", {"low": 0, "high": 1, "scale": -1}),
        ("centre", {"low": 0, "high": 1, "scale": 1, "centre": "0.1"}),
        ("centre", {"low": 0, "high": 1, "scale": 1, "centre": 10**400}),
        ("missing", {"low": 0, "high": 1, "scale": 1, "missing": 2}),
        ("missing", {"low": 0, "high": 1, "scale": 1, "missing": math.nan}),
        ("low", {"low": Fraction(1 << 890, 3**500), "high": -Fraction(1 << 890, 3**500), "scale": 1}),
    ]
    for name, named in refused:
        with pytest.raises(BadParameter, match=f"^{name} is ") as caught:
            public_grid(**named)
        assert len(str(caught.value)) < 300


def test_missing_may_be_a_bound_beside_the_grid() -> None:
    for missing in ("0.1", "0.3"):
        grid = public_grid("0.1", "0.3", scale=1, missing=missing)
        assert abs(grid.exact(grid.total([math.nan])) - Fraction(missing)) < Fraction(1, 1 << 39)


@pytest.mark.slow
@given(grids())
@settings(max_examples=50)
def test_missing_is_public_and_counts_as_said(grid: Grid) -> None:
    assume(grid.low < grid.high)
    held: list[Any] = [math.nan, None, "x"]
    assert grid.total(held) == 3 * grid.missing
    assert grid.missing == min(max(0, grid.low), grid.high)


@pytest.mark.parametrize(("low", "high", "missing"), [(0, 1 << 63, 0), (5, 1, 3), (0, 1, 2), (0, 1, -1)])
def test_a_grid_made_by_hand_must_keep_its_promise(low: int, high: int, missing: int) -> None:
    with pytest.raises(BadParameter):
        Grid(exponent=0, low=low, high=high, centre=Fraction(0), missing=missing)
