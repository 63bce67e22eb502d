"""What is public about a lowered relation: caps and names."""

import pytest

from discreet.errors import BadQuestion, Unsupported
from discreet.query.lower.lower import lower_relation
from discreet.query.lower.relation_facts import check_names, is_reserved, joint_caps
from discreet.query.plan.nodes import (
    Join,
    Scan,
)
from discreet.query.plan.schema import Caps
from tests.helpers.lowering import CATALOG


def test_caps_are_the_largest_that_is_declared() -> None:
    joined = Join(Join(Scan("visits"), Scan("people"), (("pid", "id"),)), Scan("cities"), (("city", "city"),))
    assert lower_relation(joined, CATALOG).caps == Caps(max_rows=10, max_groups=3)
    assert lower_relation(Scan("cities"), CATALOG).caps is None


def test_rows_that_follow_from_other_caps_are_compared_as_rows() -> None:
    by_groups = Caps(max_groups=4, max_rows_per_group=5)
    assert joint_caps(by_groups, Caps(max_rows=7)) == Caps(max_rows=20, max_groups=4, max_rows_per_group=5)
    assert joint_caps(by_groups, None) == by_groups
    assert joint_caps(None, None) is None


def test_a_declared_cap_does_not_hold_for_rows_whose_caps_are_to_be_chosen() -> None:
    """One row per person in one table says nothing of the rows that it is joined with."""
    assert joint_caps(Caps(max_rows=1), Caps(auto=True)) == Caps(auto=True)
    assert joint_caps(Caps(max_groups=2), Caps(auto=True), Caps(max_rows=3)) == Caps(max_groups=2, auto=True)


@pytest.mark.parametrize("name", ["__unit", "__UNIT", "__Unit_from_0"])
def test_names_of_the_unit_are_reserved_in_any_spelling(name: str) -> None:
    assert is_reserved(name)
    with pytest.raises(Unsupported, match="kept for the unit"):
        check_names(["cost", name])


@pytest.mark.parametrize(("given", "words"), [(["a", "a"], "two columns a"), ([""], "needs a name"), (["a\0"], "name")])
def test_bad_names(given: list[str], words: str) -> None:
    with pytest.raises(BadQuestion, match=words):
        check_names(given)
    check_names(["a", "A", "unit"])
