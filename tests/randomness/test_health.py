"""Health tests: cutoffs against an independent computation; planted faults are found, the system passes."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.errors import BadParameter, UnhealthySource, UnsafeRandomness
from discreet.randomness import SystemBits, health
from discreet.randomness.health import FALSE_ALARM, START_UP, WINDOW, count_cutoff, examine, run_cutoff, start_up

ALARMS = [Fraction(1, 1 << k) for k in (1, 8, 20, 30, 39, 40, 41, 64, 100)]


@pytest.mark.parametrize("entropy", [1, 2, 3, 5, 7, 8])
@pytest.mark.parametrize("alarm", ALARMS, ids=str)
def test_run_cutoff_is_the_least_that_keeps_the_alarm(entropy: int, alarm: Fraction) -> None:
    """A run of c equal samples goes on c - 1 times, each with probability 2^-entropy."""
    c = run_cutoff(entropy, alarm)
    assert Fraction(1, 1 << entropy * (c - 1)) <= alarm
    assert c == 1 or Fraction(1, 1 << entropy * (c - 2)) > alarm


@pytest.mark.parametrize("alarm", [Fraction(3, 10**7), Fraction(1, 3), Fraction(1, 10**12)], ids=str)
@pytest.mark.parametrize("entropy", ["7/2", "0.3", "8"])
def test_run_cutoff_at_other_rates(alarm: Fraction, entropy: str) -> None:
    assert run_cutoff(entropy, alarm) == 1 + math.ceil(math.log2(1 / alarm) / Fraction(entropy))


def tail(n: int, p: float, c: int) -> Any:
    """P[1 + Bin(n, p) >= c] to 40 digits, by recurrence from the front."""
    with mp.workdps(60):
        q, chance = mpf(p), (1 - mpf(p)) ** n
        below = mpf(0)
        for k in range(c - 1):
            below += chance
            chance = chance * (n - k) / (k + 1) * q / (1 - q)
        return 1 - below


@pytest.mark.parametrize("entropy", [1, 2, 4, 6, 8])
@pytest.mark.parametrize("alarm", [ALARMS[i] for i in (2, 3, 5)], ids=str)
@pytest.mark.parametrize("window", [64, 512])
def test_count_cutoff_is_the_least_that_keeps_the_alarm(entropy: int, alarm: Fraction, window: int) -> None:
    c = count_cutoff(entropy, alarm, window)
    p = 2.0**-entropy
    assert tail(window - 1, p, c) <= mpf(alarm.numerator) / alarm.denominator
    assert tail(window - 1, p, c - 1) > mpf(alarm.numerator) / alarm.denominator


def test_the_cutoffs_in_use() -> None:
    assert (run_cutoff(), count_cutoff()) == (6, 20)
    assert WINDOW == 512
    assert 1 / FALSE_ALARM == 1 << 40


# --- sources ------------------------------------------------------------------------------------------------------


class Source:
    """Bytes made by a rule."""

    def __init__(self, spoil: Callable[[bytes], bytes]) -> None:
        self._spoil = spoil

    def bytes(self, count: int) -> bytes:
        return self._spoil(SystemBits().bytes(count))

    def bits(self, count: int) -> int:
        raise AssertionError("not asked for here")

    def below(self, n: int) -> int:
        raise AssertionError("not asked for here")


def late(data: bytes) -> bytes:
    """Good until the last 2000 bytes."""
    return data[:-2000] + bytes(2000)


def biased(data: bytes) -> bytes:
    """Each bit is 1 with probability 7/8."""
    more = SystemBits().bytes(2 * len(data))
    return bytes(a | b | c for a, b, c in zip(data, more[::2], more[1::2], strict=True))


FAULTS: dict[str, Callable[[bytes], bytes]] = {
    "stuck at zero": lambda data: bytes(len(data)),
    "stuck at one": lambda data: b"\xff" * len(data),
    "stuck at a value": lambda data: b"\x5a" * len(data),
    "alternating": lambda data: (b"\x00\xff" * len(data))[: len(data)],
    "period of 16": lambda data: (bytes(range(16)) * len(data))[: len(data)],
    "stuck late": late,
    "short run": lambda data: data[:700] + b"\x07" * 6 + data[706:],
    "biased bits": biased,
    "three bits": lambda data: bytes(b & 7 for b in data),
    "half stuck": lambda data: bytes(b if i % 2 else 0 for i, b in enumerate(data)),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_broken_sources_are_refused(fault: str) -> None:
    with pytest.raises(UnhealthySource, match="do not serve") as caught:
        start_up(Source(FAULTS[fault]), samples=1 << 16)
    assert isinstance(caught.value, UnsafeRandomness)


def test_the_systems_source_passes() -> None:
    """At the smallest size, where the false alarm is small enough for a test; the full size has 2^-18."""
    found = start_up(SystemBits(), samples=1 << 10)  # false alarm: (1024 + 2) 2^-40 < 1e-9
    assert found.healthy
    assert found.samples == 1 << 10
    assert START_UP == 1 << 20


@pytest.mark.parametrize("bad", [0, -1, 1023, 1.5, "4096", None, True])
def test_too_small_a_test_is_refused(bad: Any) -> None:
    with pytest.raises(BadParameter, match="samples"):
        start_up(SystemBits(), samples=bad)


@pytest.mark.slow
@given(st.lists(st.integers(0, 3), max_size=1200))
@settings(max_examples=25, deadline=None)
def test_longest_run_and_largest_count(samples: list[int]) -> None:
    """Against a plain reading of the definitions."""
    found = examine(samples)
    longest = 0
    for i in range(len(samples)):
        j = i
        while j < len(samples) and samples[j] == samples[i]:
            j += 1
        longest = max(longest, j - i)
        if longest > len(samples) - i:
            break
    windows = [samples[i : i + WINDOW] for i in range(0, len(samples), WINDOW)]
    assert found.longest_run == longest
    assert found.largest_count == max((window.count(window[0]) for window in windows), default=0)
    assert found.samples == len(samples)
    assert found.healthy == (longest < 6 and found.largest_count < 20)


@pytest.mark.slow
def test_just_below_and_at_the_cutoffs() -> None:
    spread = [i % 256 for i in range(WINDOW)]
    assert examine([9] * 5 + spread[5:]).longest_run == 5
    assert examine([*spread[:100], *[9] * 5, *spread[105:]]).healthy
    assert not examine([*spread[:100], *[9] * 6, *spread[106:]]).healthy
    for times, healthy in ((19, True), (20, False)):
        window = [0 if i % 20 == 0 and i < 20 * times else 1 + i % 255 for i in range(WINDOW)]
        assert window.count(0) == times
        assert examine(window).healthy is healthy


@pytest.mark.parametrize("named", [{"min_entropy": 0}, {"min_entropy": 9}, {"min_entropy": "x"}, {"false_alarm": 0},
                                   {"false_alarm": 2}, {"false_alarm": math.nan}])  # fmt: skip
def test_bad_parameters(named: dict[str, Any]) -> None:
    for function in (run_cutoff, count_cutoff):
        with pytest.raises(BadParameter):
            function(**named)
    with pytest.raises(BadParameter):
        examine(b"abc", **named)


def test_fractional_entropy_is_refused_where_it_is_not_exact() -> None:
    with pytest.raises(BadParameter, match="integer"):
        health.count_cutoff("7/2")
