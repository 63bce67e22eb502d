"""attendance.py: no unit is counted on more days than it may be, and others do not notice."""

import json
from itertools import product

from discreet.continual.attendance import Attendance


def test_every_way_to_appear_on_four_days_is_capped_and_others_do_not_notice() -> None:
    for most, ann, bob in product((1, 2, 3), product((0, 1), repeat=4), product((0, 1), repeat=4)):
        together, alone = Attendance(most), Attendance(most)
        counted = 0
        for here, there in zip(ann, bob, strict=True):
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
