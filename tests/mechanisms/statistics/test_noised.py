"""A statistic plus noise: its price and its error bar are those of the noise, whichever noise was bought."""

from typing import Any

import pytest

from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.statistics.budget import Noise
from discreet.mechanisms.statistics.noised import Noised
from discreet.randomness import Bits


class Twice(Noised[int, int]):
    """Twice the value."""

    def __init__(self, noise: Noise) -> None:
        self.noise = noise

    def read(self, value: Any) -> int:
        return 2 * int(value)

    def draw(self, value: int, bits: Bits) -> int:
        return int(self.noise.draw(value, bits))


@pytest.mark.parametrize("noise", [laplace(sensitivity=2, epsilon="1/3"), gaussian(sensitivity=2, rho="1/8")], ids=str)
def test_price_and_error_are_those_of_the_noise(noise: Noise) -> None:
    m = Twice(noise)
    assert (m.event, m.cost) == (noise.event, noise.cost)
    assert m.accuracy.error_at("0.95") == noise.error_at("0.95")
    answer = m.release(21)
    far = noise.error_at("0.999999999999")  # missed with probability below 1e-12
    assert abs(answer.value - 42) <= far
    assert answer.error_at("0.9") == noise.error_at("0.9")
