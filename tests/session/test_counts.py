"""Which contribution bound and value bounds are chosen for counts over many columns."""

from fractions import Fraction

import discreet as dp
from discreet.query.plan.schema import MAX_ROWS
from discreet.session.counts import OpenTable, cap_for_counts
from tests.session.test_counts_program import COLUMNS, session


def test_the_cap_is_between_noise_and_cut() -> None:
    s = session()
    sizes = s.profile("visits", rho=50).sizes
    caps = [cap_for_counts(sizes, rho, [30, 3]) for rho in (Fraction(1, 10**6), Fraction(1), Fraction(10**4))]
    assert 1 < caps[0] <= 4  # nobody has less than three rows: a lower cap has no less noise for what is left
    assert caps[0] <= caps[1] <= 4
    assert caps[2] >= 32


def test_what_is_open_is_tried_with_bounds_of_one_step() -> None:
    own = session(COLUMNS | {"cost": dp.bounds("auto")})
    schemas = own.schemas
    left_open = OpenTable.of("visits", schemas["visits"], None, None)
    assert (left_open.rows, left_open.columns) == (True, ("cost",))
    tried = left_open.tried(schemas)["visits"].table
    assert tried.caps.max_rows == MAX_ROWS
    assert tried.columns["cost"].low == 0
    assert tried.columns["cost"].high == 1
    assert not OpenTable.of("visits", left_open.tried(schemas)["visits"], None, None)
    assert OpenTable.of("visits", schemas["visits"], ["clinic"], None).columns == ()
    assert OpenTable.of("visits", schemas["visits"], None, {"cost": ()}).columns == ()


def test_values_that_do_not_stand_out_are_said_to_be_unknown() -> None:
    own = session(COLUMNS | {"cost": dp.bounds("auto")}, budget=dp.ZCDP(100))
    left_open = OpenTable.of("visits", own.schemas["visits"], None, None)
    faint, clear = (own.profile("visits", rho=rho, columns=["cost"]) for rho in ("1e-9", 50))
    (note,) = left_open.with_bounds(own.schemas, faint)[1]
    assert (note.code, note.fields) == ("no_value_stood_out", {"column": "visits.cost"})
    bounded, words = left_open.with_bounds(own.schemas, clear)
    high = bounded["visits"].table.columns["cost"].high
    assert words == ()
    assert isinstance(high, Fraction)
    assert 150 <= high <= 400
