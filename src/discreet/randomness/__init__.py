"""Where bits come from. What we assume of them is in docs/explanation/randomness.md."""

from discreet.randomness import health
from discreet.randomness.replay import Recorder, Replay, exact_law
from discreet.randomness.source import Bits, SystemBits, for_release, words

__all__ = ["Bits", "Recorder", "Replay", "SystemBits", "exact_law", "for_release", "health", "words"]
