"""Statistics against their definitions, on every value of small ranges; what floats could not tell is refused."""

from fractions import Fraction

import pytest

from discreet.errors import BadQuestion
from discreet.query.estimate import statistics as st
from discreet.query.functions.typed_values import Typed
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Column, Expression, Literal
from discreet.query.plan.types import Number, Text


def bounded(low: int, high: int, step: Fraction | int = 1, *, nullable: bool = False) -> Typed:
    return Typed(Number(Fraction(step), low, high), nullable=nullable, lowered=Column("x"))


def cells(value: Expression, x: int | None) -> int:
    """What a row adds to a sum; NULL adds nothing."""
    found = evaluate(value, {"x": x})
    assert found is None or isinstance(found, int)
    return found or 0


def test_a_total_stays_within_its_bound_and_says_whether_its_values_have_one_sign() -> None:
    for low, high in ((-3, 5), (0, 4), (-7, -2), (-(1 << 33), 3 << 31)):
        rows = st.total(bounded(low, high), None, "SUM")
        assert rows.one_sign == (low >= 0 or high <= 0)
        for x in {low, high, 0, (low + high) // 2}:
            if low <= x <= high:
                assert abs(cells(rows.value, x)) <= rows.bound
                assert abs(cells(rows.value, x) * rows.step - x) <= rows.step / 2


@pytest.mark.parametrize(("low", "high"), [(-3, 5), (0, 1), (10, 13)])
@pytest.mark.parametrize("by_length", [False, True])
def test_the_parts_of_a_range_move_like_one(low: int, high: int, by_length: bool) -> None:
    """Together at most the bound, in sum or in length; the parts give the value back."""
    found = st.sides(bounded(low * 1000, high * 1000, nullable=True), None, "AVG", absent=True, by_length=by_length)
    parts = [found.above, found.below, found.absent]
    for x in (low * 1000, high * 1000, (low + high) * 500, None):
        moved = [cells(part.value, x) for part in parts if part is not None]
        bound = found.above.bound
        if x is not None:
            assert moved[0] - moved[1] == 2 * x - (low + high) * 1000
            assert sum(moved[:2]) == bound
        assert min(moved) >= 0
        assert sum(m * m for m in moved) <= bound * bound
        assert by_length or sum(moved) <= bound


def test_parts_are_paid_for_together_and_others_alone() -> None:
    found = st.sides(bounded(0, 9), None, "AVG")
    assert st.paid_with(found.above) == st.paid_with(found.below)
    assert st.paid_share(found.above) + st.paid_share(found.below) == 1
    other = st.total(bounded(0, 9), None, "SUM")
    assert st.paid_with(other) != st.paid_with(found.above)
    assert st.paid_share(other) == st.paid_share(st.Units()) == 1


def test_a_count_of_units_needs_each_row_to_count() -> None:
    assert st.count(None, None, once=True) == st.Units()
    assert isinstance(st.count(None, Column("b"), once=True), st.Rows)
    assert isinstance(st.count(bounded(0, 9, nullable=True), None, once=True), st.Rows)
    counted = st.count(bounded(0, 9, nullable=True), None)
    assert isinstance(counted, st.Rows)
    assert [cells(counted.value, x) for x in (0, 7, None)] == [1, 1, 0]


def test_products_are_centred_once_more_where_they_are_squares() -> None:
    x = st.centred(bounded(-4, 10), "VARIANCE")
    square = st.product(x, x, None)
    for value in range(-4, 11):
        right = (value - x.centre) ** 2 - square.offset
        assert cells(square.statistic.value, value) * square.statistic.step == right
        assert abs(cells(square.statistic.value, value)) <= square.statistic.bound


def test_every_value_has_a_bin_and_no_bin_is_beyond_the_last() -> None:
    for low, high in ((0, 10), (-5000, 5000), (3, 3 + 4096)):
        found = st.bins(bounded(low, high), None, "MEDIAN")
        for x in (low, low + 1, high - 1, high):
            place = cells(found.value, x)
            assert 0 <= place < found.bins <= st.MOST_BINS
            assert found.low + place * found.width <= x < found.low + (place + 1) * found.width
    assert evaluate(st.bins(bounded(0, 10), Literal(False), "MEDIAN").value, {"x": 3}) is None


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (Typed(Text(), lowered=Column("x")), "needs a number with bounds"),
        (bounded(4, 4), "of a constant says nothing"),
        (bounded(0, 10**101), "cannot be answered in floats"),
        (bounded(0, 1, Fraction(1, 10**101)), "cannot be answered in floats"),
    ],
)
def test_what_cannot_be_summed_is_refused(typed: Typed, says: str) -> None:
    with pytest.raises(BadQuestion, match=says):
        st.number(typed, "SUM")


@pytest.mark.parametrize("reach", [st.FINEST, st.FINEST + 1, 5 * st.FINEST // 2, 1000 * st.FINEST + 1])
def test_wide_ranges_are_counted_in_the_fewest_coarser_cells_that_fit(reach: int) -> None:
    times = -(-reach // st.FINEST)
    rows = st.total(bounded(-reach, 5), None, "SUM")
    assert (rows.bound, rows.step) == (-(-reach // times), Fraction(times))
    x = st.centred(bounded(-reach, reach), "AVG")
    assert (x.reach, x.step) == (-(-reach // times), Fraction(times))
    assert rows.bound <= st.FINEST


def test_a_count_is_moved_by_one() -> None:
    for rows in (st.count(None, None), *vars_of(st.count_parts(bounded(0, 9, nullable=True), None))):
        assert isinstance(rows, st.Rows)
        assert (rows.bound, rows.step, rows.one_sign) == (1, Fraction(1), True)
    parts = st.count_parts(bounded(0, 9, nullable=True), None)
    assert [[cells(part.value, x) for x in (0, 7, None)] for part in vars_of(parts)] == [[1, 1, 0], [0, 0, 1]]


def vars_of(parts: st.CountParts) -> tuple[st.Rows, st.Rows]:
    return parts.present, parts.absent


def test_sides_of_a_wide_range_are_counted_in_coarser_steps() -> None:
    """Steps are positive, just as many as are needed, and the sides meet at both ends of the range."""
    low, high = -(1 << 34), (1 << 34) + 5
    found = st.sides(bounded(low, high), None, "AVG")
    up, down = found.above, found.below
    assert up.step == down.step == 17
    assert up.bound == -(-(high - low) // 17) <= 2 * st.FINEST
    assert (cells(up.value, low), cells(down.value, low)) == (0, up.bound)
    assert (cells(up.value, high), cells(down.value, high)) == (up.bound, 0)


@pytest.mark.parametrize("size", [10**100, 10**100 + 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_numbers_and_the_nearest_that_can_be_summed(size: int, sign: int) -> None:
    """Both are taken at the limit itself, and refused one beyond it."""
    wide, near = bounded(min(0, sign * size), max(0, sign * size)), bounded(0, 1, Fraction(1, size))
    for typed in (wide, near):
        if size <= st.LARGEST_SUMMED:
            assert st.number(typed, "SUM") is typed.kind
        else:
            with pytest.raises(BadQuestion, match="cannot be answered in floats"):
                st.number(typed, "SUM")


@pytest.mark.parametrize(
    ("low", "high", "centre", "one_sign", "seen"),
    [
        (0, 100, 0, True, {-5: 0, 3: 3, 90: 7}),
        (-100, 0, 0, True, {-90: -7, -3: -3, 5: 0}),
        (-100, 100, 0, False, {-90: -7, 3: 3, 90: 7}),
        (20, 100, 20, True, {19: 0, 23: 3, 90: 7}),
        (20, 100, 100, True, {0: -7, 95: -5, 101: 0}),
        (20, 100, 60, False, {0: -7, 58: -2, 90: 7}),
    ],
)
def test_a_clipped_value_reaches_as_far_as_the_clip(
    low: int, high: int, centre: int, one_sign: bool, seen: dict[int, int]
) -> None:
    """A unit alone is scaled down to 7, so that no value of it need be farther from the centre; values between it and
    an end of the range have one sign, the end included."""
    found = st.clipped_total(bounded(low, high), None, 7, centre)
    assert (found.total.clip, found.total.bound, found.total.step) == (7, 7, Fraction(1))
    assert (found.total.one_sign, found.x.centre) == (one_sign, Fraction(centre))
    assert (found.x.low, found.x.high) == (Fraction(low), Fraction(high))
    assert {x: cells(found.total.value, x) for x in seen} == seen


@pytest.mark.parametrize(("clip", "times"), [(st.FINEST, 1), (st.FINEST + 1, 2), (5 * st.FINEST // 2, 3)])
def test_a_long_clip_is_counted_in_coarser_cells(clip: int, times: int) -> None:
    found = st.clipped_total(bounded(0, 1 << 40, Fraction(1, 4)), None, clip)
    assert (found.total.clip, found.total.step) == (-(-clip // times), Fraction(times, 4))
    assert cells(found.total.value, 100 * times) == 100


def test_a_product_is_counted_from_its_own_middle_only_as_a_square() -> None:
    """(x - cx)² lies between 0 and 49, so 24 is taken off; of xy, both signs are possible."""
    x, y = st.centred(bounded(-7, 7), "COVARIANCE"), st.centred(bounded(0, 5), "COVARIANCE")
    square, product = st.product(x, x, None), st.product(x, y, None)
    assert (square.offset, square.statistic.bound, square.statistic.step) == (Fraction(24), 25, Fraction(1))
    assert (product.offset, product.statistic.bound, product.statistic.step) == (Fraction(0), 21, Fraction(1))
    least = st.centred(bounded(0, 1), "VARIANCE")
    assert (least.reach, least.centre) == (1, Fraction(0))
    assert (st.product(least, least, None).offset, st.product(least, least, None).statistic.bound) == (Fraction(0), 1)
    wide = st.centred(bounded(-(1 << 20), 1 << 20), "VARIANCE")
    coarse = st.product(wide, wide, None)
    assert (coarse.offset, coarse.statistic.bound, coarse.statistic.step) == (
        Fraction(1 << 39),
        1 << 30,
        Fraction(1 << 9),
    )


@pytest.mark.parametrize(
    ("low", "high", "middle", "reach"), [(0, 9, 4, 5), (-9, 0, -5, 5), (-3, 3, 0, 3), (1, 2, 1, 1)]
)
def test_the_middle_of_a_range(low: int, high: int, middle: int, reach: int) -> None:
    x = st.centred(bounded(low, high), "AVG")
    assert [x.centre, x.reach, x.low, x.high] == [middle, reach, low, high]
    assert [cells(x.cells, value) for value in (low, middle, high)] == [low - middle, 0, high - middle]


@pytest.mark.parametrize("statistic", [
    st.Rows(Column("x"), 1, Fraction(1), most=3), st.Bins(Column("x"), 4, Fraction(0), Fraction(1), True, most=3),
    st.QuantileCells(st.Bins(Column("x"), 4, Fraction(0), Fraction(1), True, most=3), (Fraction(1, 2),)),
    st.Units(), st.Distinct(Column("x"), most=3),
])  # fmt: skip
def test_how_many_rows_of_a_unit_count_where_that_was_chosen(statistic: st.Statistic) -> None:
    rows = isinstance(statistic, st.Rows | st.Bins | st.QuantileCells)
    assert st.most_rows(statistic) == (3 if rows else None)


def test_a_condition_leaves_out_rows_of_every_statistic() -> None:
    """What fails it adds nothing to a sum, and is in no bin."""
    only = Column("here")
    both = bounded(-4, 10)
    centred = st.centred(both, "AVG")
    parts = st.count_parts(bounded(-4, 10, nullable=True), only)
    summed = [
        st.total(both, only, "SUM"), st.clipped_total(both, only, 7).total, st.centred_total(centred, only),
        st.product(centred, centred, only).statistic, st.sides(both, only, "AVG").above, parts.present, parts.absent,
    ]  # fmt: skip
    outside = [evaluate(rows.value, {"x": 9, "here": False}) for rows in summed]
    inside = [evaluate(rows.value, {"x": 9, "here": True}) for rows in summed]
    assert outside == [0] * len(summed)
    assert inside == [9, 7, 6, 12, 13, 1, 0]
    counted = st.count(None, only)
    assert isinstance(counted, st.Rows)
    assert [evaluate(counted.value, {"here": here}) for here in (False, True)] == [0, 1]
