"""Which charges may be added up: one relation, and at most one release from biased bits."""

from itertools import product

import pytest

from discreet.errors import NotATheorem
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.budgets.odometers import Odometer, PureOdometer
from discreet.privacy.budgets.together import Together
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.neighbours import Neighbours, RelationName

NAMES: list[RelationName | None] = [None, *Neighbours, "one row changed in place"]


@pytest.mark.parametrize(("held", "named"), list(product(NAMES, NAMES)))
def test_what_names_no_relation_goes_with_every_one_and_two_never_meet(
    held: RelationName | None, named: RelationName | None
) -> None:
    event = events.Pure(1).about(named)
    if held is None or named is None or held == named:
        assert Together(held).plus(event) == Together(held or named)
        return
    for wrapped in (event, events.Repeat(event, 2), events.Stated(event, 1, 0), events.Composed([event])):
        with pytest.raises(NotATheorem, match="neighbours"):
            Together(held).plus(wrapped)


def test_a_promise_is_about_the_relation_of_the_budget() -> None:
    assert Together(Neighbours.CHANGE_ONE).plus(Pure(1)) == Together(Neighbours.CHANGE_ONE)


def test_one_release_from_biased_bits_and_no_second() -> None:
    one = Together().plus(events.Biased(1))
    assert one.plus(events.Pure(1)) == one == Together().plus(events.Pure(1)).plus(events.Composed([events.Biased(1)]))
    for second in (events.Biased(1), events.Composed([events.Pure(1), events.Biased("1/2")])):
        with pytest.raises(NotATheorem, match="biased bits"):
            one.plus(second)


@pytest.mark.parametrize("make", [lambda: Odometer("1e-6").record, lambda: PureOdometer().record])
def test_odometers_add_up_no_more_than_filters_do(make: object) -> None:
    for first, second in (
        (events.Pure("0.1").about(Neighbours.CHANGE_ONE), events.Parallel([events.Pure("0.1")])),
        (events.Biased("0.1"), events.Biased("0.1")),
    ):
        record = make()  # type: ignore[operator]
        reading = record(first)
        with pytest.raises(NotATheorem):
            record(second)
        assert record(events.Pure(0)) == reading


def test_a_filter_is_held_for_one_relation() -> None:
    spending = Filter(Pure(1), neighbours=Neighbours.CHANGE_ONE)
    spending.hold_for(Neighbours.CHANGE_ONE)
    with pytest.raises(NotATheorem, match="neighbours"):
        spending.hold_for(Neighbours.ADD_REMOVE)
    with pytest.raises(NotATheorem, match="neighbours"):
        spending.spend(events.Parallel([events.Pure("0.1")]))
    assert (spending.charged, spending.neighbours) == (Pure(0), Neighbours.CHANGE_ONE)
