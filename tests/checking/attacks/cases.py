"""What the tests of the attacks share. Margins are five standard deviations: false alarms below 1e-6 each."""

import math


def five_sigma(p: float, trials: int) -> float:
    return 5 * math.sqrt(p * (1 - p) / trials)
