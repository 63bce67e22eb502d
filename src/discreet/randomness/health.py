"""Health tests of a source of bits: is it stuck, or far from uniform?

The two continuous tests and the start-up test of NIST SP 800-90B, section 4.4, on bytes. They catch a broken
source, not a clever one: a generator with a known seed passes them all. A long-lived service runs ``start_up``
once before it serves.

Guarantee: a source of independent uniform bytes fails one window with probability at most ``false_alarm``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BadParameter, UnhealthySource
from discreet.exact import Number, integer, log_up, non_negative, probability
from discreet.randomness.source import Bits

WINDOW = 512  # SP 800-90B 4.4.2: the window for samples that are not binary
START_UP = 1 << 20  # bytes
FEWEST = 1024  # what the standard asks for at least
FALSE_ALARM = Fraction(1, 1 << 40)


@dataclass(frozen=True, slots=True)
class Health:
    """What the tests saw: the longest run and the largest count in a window, beside the cutoffs that they keep."""

    samples: int
    longest_run: int
    run_cutoff: int
    largest_count: int
    count_cutoff: int

    @property
    def healthy(self) -> bool:
        """Whether both tests pass."""
        return self.longest_run < self.run_cutoff and self.largest_count < self.count_cutoff


def run_cutoff(min_entropy: Number = 8, false_alarm: Number = FALSE_ALARM) -> int:
    """Repetition count test (4.4.1): this many equal samples in a row are a failure.

    >>> run_cutoff()
    6
    """
    entropy, alarm = _checked(min_entropy, false_alarm)
    return 1 + math.ceil(log_up(1 / alarm) / log_up(Fraction(2)) / entropy)


def count_cutoff(min_entropy: Number = 8, false_alarm: Number = FALSE_ALARM, window: int = WINDOW) -> int:
    """Adaptive proportion test (4.4.2): a window whose first sample appears this often is a failure.

    The least c with P[1 + Bin(window - 1, 2^-entropy) >= c] <= false_alarm, by exact summation.

    >>> count_cutoff()
    20
    """
    entropy, alarm = _checked(min_entropy, false_alarm)
    if entropy.denominator != 1:
        raise BadParameter("min_entropy", min_entropy, "must be an integer of bits per byte here")
    p = Fraction(1, 1 << entropy.numerator)
    n = window - 1
    tail = Fraction(0)
    for k in range(n, -1, -1):
        tail += math.comb(n, k) * p**k * (1 - p) ** (n - k)
        if tail > alarm:
            return k + 2
    return 1


def _checked(min_entropy: Number, false_alarm: Number) -> tuple[Fraction, Fraction]:
    entropy, alarm = non_negative(min_entropy, "min_entropy"), probability(false_alarm, "false_alarm")
    if not 0 < entropy <= 8:
        raise BadParameter("min_entropy", min_entropy, "must be above 0 and at most 8 bits per byte")
    if alarm == 0:
        raise BadParameter("false_alarm", false_alarm, "must be above 0")
    return entropy, alarm


def examine(samples: Iterable[int], *, false_alarm: Number = FALSE_ALARM, min_entropy: Number = 8) -> Health:
    """Run both tests over bytes that were drawn already.

    >>> examine(bytes(1000)).healthy, examine(bytes(range(256)) * 4).healthy
    (False, True)
    """
    data = bytes(samples)
    longest = run = 0
    previous = -1
    for byte in data:
        run = run + 1 if byte == previous else 1
        previous = byte
        longest = max(longest, run)
    largest = max(
        (data.count(data[start], start, start + WINDOW) for start in range(0, len(data), WINDOW)),
        default=0,
    )
    return Health(
        samples=len(data),
        longest_run=longest,
        run_cutoff=run_cutoff(min_entropy, false_alarm),
        largest_count=largest,
        count_cutoff=count_cutoff(min_entropy, false_alarm),
    )


def start_up(source: Bits, *, samples: int = START_UP) -> Health:
    """Test a source before it is trusted; raises ``UnhealthySource`` when it fails.

    A healthy source is refused with probability below 2^-18: 2^20 runs that may begin and 2^11 windows, at 2^-40
    each.

    >>> from discreet.randomness.source import SystemBits
    >>> start_up(SystemBits(), samples=4096).healthy
    True
    """
    health = examine(source.bytes(integer(samples, "samples", at_least=FEWEST)))
    if not health.healthy:
        raise UnhealthySource(
            f"the source of randomness failed its start-up test over {health.samples} bytes; "
            "do not serve from this machine until its random number generator is repaired"
        )
    return health
