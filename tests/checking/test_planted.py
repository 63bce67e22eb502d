"""Every planted fault is caught, and its honest twin is not.

False alarms: ``check`` and ``replay`` compute, they have none. An audit has at most 1e-8 for each honest twin.
"""

import pytest

from tests.checking.planted import FAULTS, Fault

each_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@pytest.mark.slow
@each_fault
def test_the_fault_is_caught(fault: Fault) -> None:
    report = fault.planted()
    assert not report.ok, str(report)
    assert "refuted" in str(report)


@pytest.mark.slow
@each_fault
def test_the_honest_twin_is_not(fault: Fault) -> None:
    report = fault.honest()
    assert report.ok, str(report)


def test_there_are_many() -> None:
    assert len(FAULTS) >= 25
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
