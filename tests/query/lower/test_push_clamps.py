"""Clamps move into the reading where nobody sees the difference."""

from discreet.query.lower.push_clamps import push_clamps
from discreet.query.plan.nodes import Filter, Join, Project, Scan
from tests.helpers.lowering import call, col

READ = Project(Scan("t"), (("x", call("read_integer", col("x"), -100, 100)), ("y", call("read_text", col("y")))))
CLAMPED = call("read_integer", col("x"), 0, 9)


def test_a_column_that_is_only_used_within_its_bounds_is_read_so() -> None:
    source, moved = push_clamps(Filter(READ, call("eq", col("y"), "a")), [call("add", CLAMPED, 1)])
    narrow = Project(Scan("t"), (("x", call("read_integer", col("x"), 0, 9)), ("y", call("read_text", col("y")))))
    assert source == Filter(narrow, call("eq", col("y"), "a"))
    assert moved(call("add", CLAMPED, 1)) == call("add", col("x"), 1)


def test_a_column_that_a_condition_sees_is_left_alone() -> None:
    for used in ([CLAMPED, call("eq", col("x"), 99)], [CLAMPED, call("read_integer", col("x"), 0, 8)],
                 [call("read_integer", col("x"), 0, 200)]):  # fmt: skip
        source, moved = push_clamps(READ, used)
        assert source == READ
        assert moved(CLAMPED) == CLAMPED
    assert push_clamps(Filter(READ, call("eq", col("x"), 99)), [CLAMPED])[0] == Filter(READ, call("eq", col("x"), 99))
    join = Join(READ, READ, (("x", "x"),))
    assert push_clamps(join, [CLAMPED])[0] == join


def test_a_value_that_stands_in_for_null_stays_what_it_is() -> None:
    def read(instead: int, low: int = -100, high: int = 100) -> Project:
        return Project(Scan("t"), (("x", call("coalesce", call("read_integer", col("x"), low, high), instead)),))

    for inside in (0, 9):
        source, moved = push_clamps(read(inside), [CLAMPED])
        assert source == read(inside, 0, 9)
        assert moved(CLAMPED) == col("x")
    for outside in (-1, 10):
        assert push_clamps(read(outside), [CLAMPED])[0] == read(outside)
    assert push_clamps(read(0, 1, 100), [CLAMPED])[0] == read(0, 1, 100)  # reads less than the clamp
