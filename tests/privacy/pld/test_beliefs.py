"""The beliefs about floating point, measured against arbitrary-precision balls, each with a margin of at least 4."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from flint import arb, ctx
from scipy.special import erfcx, ndtr

from discreet.privacy.pld import beliefs
from discreet.privacy.pld.beliefs import Array
from discreet.privacy.pld.total import good_length

MARGIN = 4.0
RNG = np.random.default_rng(20)


@pytest.fixture(autouse=True)
def _precise() -> None:
    ctx.prec = 200


def relative_error(found: Array, truth: list[arb]) -> Array:
    return np.array([abs(float((arb(float(f)) - t) / t)) for f, t in zip(found, truth, strict=True)])


def points(low: float, high: float, count: int = 3000) -> Array:
    spread = RNG.uniform(low, high, count)
    small = np.sign(spread) * np.exp(RNG.uniform(-40.0, math.log(max(abs(low), abs(high))), count))
    return np.concatenate([spread, small[(small > low) & (small < high)]])


@pytest.mark.parametrize(
    ("numpy_one", "ball", "low", "high"),
    [
        (np.exp, lambda x: x.exp(), -700.0, 700.0),
        (np.expm1, lambda x: x.expm1(), -700.0, 700.0),
        (np.log, lambda x: x.log(), 0.0, 1e6),
        (np.log1p, lambda x: x.log1p(), -0.999999, 1e6),
        (math.exp, lambda x: x.exp(), -700.0, 700.0),
        (math.expm1, lambda x: x.expm1(), -700.0, 700.0),
        (math.log, lambda x: x.log(), 0.0, 1e6),
        (math.log1p, lambda x: x.log1p(), -0.999999, 1e6),
    ],
)
def test_elementary_functions(
    numpy_one: Callable[..., Array], ball: Callable[[arb], arb], low: float, high: float
) -> None:
    x = points(low, high)
    found = np.array([numpy_one(v) for v in x]) if numpy_one.__module__ == "math" else numpy_one(x)
    error = relative_error(found, [ball(arb(float(v))) for v in x])
    assert error.max() * MARGIN <= beliefs.ELEMENTARY


def test_the_normal_distribution() -> None:
    x = points(-37.0, 9.0)
    truth = [(-arb(float(v)) / arb(2).sqrt()).erfc() / 2 for v in x]
    assert (relative_error(ndtr(x), truth) * MARGIN <= beliefs.normal_error(x)).all()


def test_the_scaled_tail_of_the_normal_distribution() -> None:
    x = points(0.0, 200.0)
    # erfcx(x/√2)/2 = e^{x²/2} Φ(-x)
    truth = [(arb(float(v)) ** 2 / 2).exp() * (arb(float(v)) / arb(2).sqrt()).erfc() / 2 for v in x]
    assert (relative_error(0.5 * erfcx(x * math.sqrt(0.5)), truth) * MARGIN <= beliefs.normal_error(0.0 * x)).all()


@pytest.mark.slow
@pytest.mark.parametrize("least", [8, 60, 1000, 5000, 30000, 120000])
@pytest.mark.parametrize("kind", ["flat", "spike", "normal", "rough"])
def test_the_fft_in_l2_and_at_each_frequency(least: int, kind: str) -> None:
    """Against the same transform in extended precision, whose own error is a thousand times smaller."""
    from scipy import fft

    n = good_length(least)
    x = {
        "flat": np.full(n, 1.0 / n),
        "spike": np.eye(1, n, n // 3)[0],
        "normal": np.exp(-((np.arange(n) - n / 3) ** 2) / (n / 3.0)),
        "rough": RNG.random(n) ** 8,
    }[kind]
    if np.finfo(np.longdouble).eps > 2e-19:  # pragma: no cover - a machine without extended precision
        pytest.skip("long double is no wider than double here")
    truth = fft.rfft(x.astype(np.longdouble))
    found = np.fft.rfft(x)
    budget = beliefs.FOURIER * math.log2(n)
    assert float(np.linalg.norm((found - truth).astype(complex))) * MARGIN <= budget * float(np.linalg.norm(found))
    assert float(np.abs((found - truth).astype(complex)).max()) * MARGIN <= budget * float(np.abs(x).sum())
    back = np.fft.irfft(found, n)
    exact_back = fft.irfft(found.astype(np.clongdouble), n)
    assert float(np.linalg.norm((back - exact_back).astype(float))) * MARGIN <= budget * float(np.linalg.norm(back))


def test_good_lengths_are_long_enough_and_not_much_longer() -> None:
    for least in [1, 2, 7, 8, 9, 31, 33, 97, 1000, 1025, 99999]:
        assert least <= good_length(least) <= max(8, 1.26 * least)
