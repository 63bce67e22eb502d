"""What ``discreet check`` runs on our own claims: all hold, and each would be refuted if it claimed less."""

from collections.abc import Iterable
from typing import Any

import pytest

from discreet import mechanisms
from discreet.checking.exact import self_check
from discreet.checking.exact.check import check
from discreet.checking.exact.other_models import OneReport, WholeStream
from discreet.checking.exact.roles import DrawsIndependently
from discreet.checking.exact.self_check import OWN, check_own
from discreet.mechanisms.base.mechanism import Mechanism
from discreet.mechanisms.statistics.noised import Noised
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from tests.checking.sampling.test_audit_statistics import AUDITED
from tests.contracts.cases import CASES

Shared = (OneReport, WholeStream)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, (thing, _) in OWN.items() if not isinstance(thing, Shared)])
def test_no_alarm_on_what_the_command_checks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of other models are held to the same in test_other_models.py."""
    monkeypatch.setattr(self_check, "OWN", {name: OWN[name]})
    ((shown, report),) = check_own()
    assert shown == name
    assert report.ok, f"{name}\n{report}"


CHEAP = {"gaussian": ZCDP("1/50"), "bounded sum, change one": ZCDP("1/50")}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, (thing, _) in OWN.items() if isinstance(thing, Mechanism)])
def test_the_same_pairs_refute_a_fraction_of_the_price(name: str) -> None:
    """So the pairs that the command tries are able to find something."""
    thing, options = OWN[name]
    cheap: Any = CHEAP.get(name, Approx("1/100", 0) if "delta" in name else Pure("1/100"))
    assert not check(thing, **{"searches": 100, "most_pairs": 3000, **options}, claim=cheap).ok


def covered(name: str, listed: Iterable[str]) -> bool:
    """Whether a list of lines such as "noisy max, Gumbel" has one for a public name such as noisy_max."""
    words = name.replace("_", " ")
    return any(line == words or line.startswith(f"{words}, ") for line in listed)


MECHANISMS = sorted(set(mechanisms.__all__) - {"L1", "L2", "Linf", "Trunc", "distance_to_instability"})
"""All but the words for sensitivities, and a function that releases nothing."""


def test_every_public_mechanism_is_checked_in_the_contract_and_audited_with_a_twin() -> None:
    """Statistics that only add noise to sums are held to the contract by that noise, and checked as a whole."""
    assert len(MECHANISMS) > 30
    for listed in (OWN, AUDITED):
        assert [name for name in MECHANISMS if not covered(name, listed)] == []
    by_noise = {name for name, (thing, _) in OWN.items() if isinstance(thing, (Noised, DrawsIndependently))}
    named = [case.name for case in CASES]
    assert [name for name in MECHANISMS if not covered(name, named) and not covered(name, by_noise)] == []


def test_a_mechanism_that_nobody_lists_would_be_seen() -> None:
    assert not covered("stirred_median", OWN)
    assert not covered("max", OWN)
