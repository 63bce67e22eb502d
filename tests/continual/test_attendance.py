"""attendance.py: no unit is counted on more days than it may be, and others do not notice."""

import json
from itertools import product

from discreet.continual.attendance import Attendance


def test_every_way_to_appear_on_four_days_is_capped_and_others_do_not_notice() -> None:
    """Also when it is kept and goes on from its state, after any of the days."""
    ways = list(product((0, 1), repeat=4))
    for most, ann, bob, kept in product((1, 2, 3), ways, ways, range(5)):
        together, alone = Attendance(most), Attendance(most)
        counted = 0
        for place, (here, there) in enumerate(zip(ann, bob, strict=True)):
            if place == kept:
                state, together = together.state(), Attendance(most)
                together.load(json.loads(json.dumps(state)))
            others = {"bob"} if there else set()
            with_ann = together.count(others | ({"ann"} if here else set()))
            counted += "ann" in with_ann
            assert with_ann - {"ann"} == alone.count(others)
        assert counted == min(most, sum(ann))


def test_the_state_goes_on_exactly() -> None:
    first = Attendance(2)
    first.count([1, 2])
    first.count([2])
    again = Attendance(2)
    again.load(json.loads(json.dumps(first.state())))
    assert again.count([1, 2, 3]) == {1, 3}
