"""The comparison with the oracle can fail: every planted fault, of reach or of meaning, is seen by it."""

import pytest

from tests.contracts.engines import forms
from tests.contracts.engines.faults import ANOTHER_MEANING, ANOTHER_PRIMITIVE, REACHING_TOO_FAR, Faulty, primitive
from tests.contracts.engines.lab import Lab, agree
from tests.contracts.engines.probes import PROBES
from tests.contracts.engines.relations import RELATIONS
from tests.contracts.engines.test_primitives import WIDE, works
from tests.contracts.engines.test_relations import TABLES, rows
from tests.helpers.tables import crowd

pytestmark = pytest.mark.slow

EVENTS = {"t": crowd(60), "p": TABLES["crowd"]["p"]}


def compare(lab: Lab) -> None:
    """The part of the suite that such a fault would meet."""
    agree(lab, [*forms.totals("text"), *forms.totals("everything"), *forms.totals("no key")], EVENTS)
    agree(lab, [*forms.known("text"), *forms.unknown("integers"), *forms.known("no key")], EVENTS)
    agree(lab, [rows(RELATIONS["join"])], TABLES["crowd"])
    agree(lab, works(PROBES["read_integer"]), {"t": WIDE})


@pytest.mark.parametrize("fault", REACHING_TOO_FAR | ANOTHER_MEANING)
def test_a_planted_fault_is_seen(fault: str) -> None:
    with pytest.raises(AssertionError):
        compare(Lab(Faulty((REACHING_TOO_FAR | ANOTHER_MEANING)[fault])))


@pytest.mark.parametrize("fault", ANOTHER_PRIMITIVE)
def test_another_meaning_of_a_primitive_is_seen(fault: str) -> None:
    name, function = ANOTHER_PRIMITIVE[fault]
    with pytest.raises(AssertionError):
        agree(Lab(Faulty(primitive(name, function))), works(PROBES[name]), {"t": WIDE})


def test_without_a_fault_nothing_is_seen() -> None:
    compare(Lab(Faulty(lambda _patched: None)))
