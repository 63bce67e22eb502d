"""other_models.py: local randomizers and streams through the check and the audit; each would be refuted with less."""

from fractions import Fraction
from typing import Any

import pytest

from discreet.checking.exact.check import check
from discreet.checking.exact.other_models import OneReport, WholeStream
from discreet.checking.exact.self_check import OWN
from discreet.checking.sampling.audit import audit
from discreet.continual.counter import counter
from discreet.local.means import mean
from discreet.local.response import response
from discreet.privacy.promises.measures import ZCDP, Pure
from tests.helpers.extent import only_in_audit

THINGS = {name: given for name, given in OWN.items() if isinstance(given[0], OneReport | WholeStream)}


def test_all_randomizers_and_strategies_are_on_the_list() -> None:
    assert len(THINGS) == 12


SLOW = {"prefixes over time", "tree over time, one person in 3 steps", "values over time, one person in 3 steps"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=only_in_audit if n in SLOW else ()) for n in THINGS])
def test_a_little_less_than_the_price_is_refuted(name: str) -> None:
    """By enumeration: each claim is nearly used up by one of the pairs."""
    thing, options = THINGS[name]
    assert check(thing, **options).ok
    event: Any = thing.event
    less = Pure(event.epsilon * Fraction(9, 10)) if hasattr(event, "epsilon") else ZCDP(event.rho * Fraction(9, 10))
    assert not check(thing, **options, claim=less).ok


@pytest.mark.slow
@pytest.mark.parametrize("oracle", [response(k=3, epsilon=1), mean(low=0, high=1, epsilon=1, places=1)], ids=repr)
def test_reports_are_audited_by_samples(oracle: Any) -> None:
    """No false alarm but for one in 1e8; and a report with twice the epsilon is caught."""
    one = OneReport(oracle)
    assert audit(one, pair=(0, 1), claim=Pure(1), samples=4000).ok
    assert not audit(OneReport(response(k=3, epsilon=2)), pair=(0, 1), claim=Pure(1), samples=4000).ok


@pytest.mark.slow
def test_streams_are_audited_by_samples() -> None:
    """The same for all answers of a stream: the noise for one step does not cover a person in three."""
    pair = (0, 0, 0), (1, 1, 1)
    right, wrong = (
        WholeStream(counter(horizon=3, budget=Pure(2), method="values", steps=steps).plan, 3) for steps in (3, 1)
    )
    assert audit(right, pair=pair, claim=Pure(2), samples=4000).ok
    assert not audit(wrong, pair=pair, claim=Pure(2), samples=4000).ok
