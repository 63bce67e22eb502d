"""Events made of events are stated for one relation between neighbours."""

from typing import Any

import pytest

from discreet.errors import BadParameter
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Sampling
from discreet.privacy.promises.neighbours import Neighbours

PURE = events.Pure(1)


def test_defaults_of_sampling() -> None:
    assert events.Subsampled(PURE, 1).neighbours is Neighbours.ADD_REMOVE
    assert events.Subsampled(PURE, 1, Sampling.WITHOUT_REPLACEMENT).neighbours is Neighbours.CHANGE_ONE


def test_relations_do_not_mix() -> None:
    """A price for one relation says nothing under another, so parts that name different ones are refused."""
    added = events.Subsampled(events.Pure(1), "1/2")
    changed = events.Subsampled(events.Pure(1), "1/2", Sampling.WITHOUT_REPLACEMENT)
    parts = events.Parallel([events.Pure(1), events.Pure(1)])
    for relation, event in (
        (None, events.Pure(1)), (Neighbours.ADD_REMOVE, added), (Neighbours.CHANGE_ONE, events.Repeat(changed, 2)),
        (Neighbours.ADD_REMOVE, events.Composed([events.Pure(1), parts, added])), (None, events.Composed([])),
    ):  # fmt: skip
        assert events.stated_for(event) is relation
    bad_calls: list[Any] = [
        lambda: events.Composed([added, events.Repeat(changed, 3)]),
        lambda: events.Composed([changed, parts]),
        lambda: events.Parallel([changed]),
        lambda: events.Subsampled(added, "1/2", Sampling.WITHOUT_REPLACEMENT),
        lambda: events.Subsampled(changed, "1/2"),
        # under a change a unit may leave one part and enter the other: max(ε) would be half of the truth
        lambda: events.Subsampled(parts, "1/2", Sampling.WITHOUT_REPLACEMENT),
    ]
    for call in bad_calls:
        with pytest.raises(BadParameter, match="stated for"):
            call()
