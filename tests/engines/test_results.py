"""How many different rows some columns have: as sets of tuples say."""

from hypothesis import given
from hypothesis import strategies as some

from discreet.engines.results import different

VALUES = some.one_of(some.none(), some.text(max_size=2), some.integers(-3, 3))


@given(rows=some.integers(1, 4).flatmap(lambda n: some.lists(some.tuples(*[VALUES] * n), min_size=1, max_size=30)))
def test_different_rows_are_counted_as_by_a_set(rows: list[tuple[object, ...]]) -> None:
    assert different(list(zip(*rows, strict=True)), len(rows)) == len(set(rows))


def test_many_columns_with_many_values_do_not_overflow() -> None:
    many = range(3000)
    assert different([list(many)] * 9, 3000) == 3000
    assert different([], 0) == 0
    assert different([], 2) == 1
