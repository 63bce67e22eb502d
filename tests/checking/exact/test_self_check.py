"""What ``discreet check`` runs on our own claims: all hold, and each would be refuted if it claimed less."""

from typing import Any

import pytest

from discreet.checking.exact.check import check
from discreet.checking.exact.self_check import OWN, check_own
from discreet.mechanisms.base.mechanism import Mechanism
from discreet.privacy.promises.measures import ZCDP, Approx, Pure


def test_no_alarm_on_what_the_command_checks() -> None:
    for name, report in check_own():
        assert report.ok, f"{name}\n{report}"
    assert len(OWN) >= 15


@pytest.mark.parametrize("name", [name for name, (thing, _) in OWN.items() if isinstance(thing, Mechanism)])
def test_the_same_pairs_refute_a_tenth_of_the_price(name: str) -> None:
    """So the pairs that the command tries are able to find something."""
    thing, options = OWN[name]
    cheap: Any = ZCDP("1/50") if name == "gaussian" else Approx("1/10", 0) if "delta" in name else Pure("1/10")
    assert not check(thing, **options, claim=cheap).ok
