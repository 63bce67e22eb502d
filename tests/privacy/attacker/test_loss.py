"""The privacy loss: laws by enumeration and integration, statements about it, refusals."""

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.errors import BadParameter, NoPrice
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.selection.randomized_response import randomized_response
from discreet.privacy.accountants.compose import compose
from discreet.privacy.attacker.loss import DiscreteGaussianLoss, FiniteLoss, PrivacyLoss, SumOfLosses, privacy_loss
from discreet.privacy.promises import events
from discreet.privacy.promises.bound import Bound

EXACT = {"yes": Fraction(3, 4), "no": Fraction(1, 4)}
OTHER = {"yes": Fraction(1, 4), "no": Fraction(3, 4)}


def near(bound: Bound, value: float, within: float = 1e-9) -> bool:
    return bound.lower - within <= value <= bound.upper + within and bound.width < within


def test_two_exact_laws() -> None:
    loss = privacy_loss(EXACT, OTHER)
    assert near(loss.mean, math.log(3) / 2)
    assert near(loss.variance, math.log(3) ** 2 * 3 / 4)
    assert near(loss.largest, math.log(3))
    assert near(loss.renyi(2), math.log(9 / 4 + 1 / 12))
    assert near(loss.delta(0), 0.5)
    assert loss.delta(2) == Bound(0.0, 0.0)
    assert [loss.tail(t).upper for t in (-2, 0, 2)] == [1, 0.75, 0]


SYMMETRIC = [
    events.RandomizedResponse(epsilon="1/2"),
    events.RandomizedResponse(epsilon=1, categories=5),
    events.Pure(2),
    events.DiscreteLaplace(scale="3/2"),
    events.DiscreteLaplace(scale=3, sensitivity=7),
    events.Laplace(scale=2, sensitivity=3),
    events.Gaussian(sigma="3/2"),
    events.DiscreteGaussian(sigma="3/2", sensitivity=2),
]


@pytest.mark.parametrize("event", SYMMETRIC, ids=str)
def test_delta_is_that_of_compose_and_below_the_tail(event: events.Event) -> None:
    """Two ways to the same number, and δ(ε) <= P[L > ε] <= δ(ε - h)/(1 - e^-h)."""
    loss, together = privacy_loss(event), compose(event)
    for epsilon in ("0", "1/3", "1", "5/2"):
        ours, theirs = loss.delta(epsilon), together.delta(epsilon=epsilon)
        assert ours.lower <= theirs.upper + 1e-12
        assert ours.upper >= theirs.lower - 1e-12
        assert ours.width < 1e-9
        assert ours.lower <= loss.tail(epsilon).upper
        half = Fraction(epsilon) - Fraction(1, 2)
        if half >= 0:
            assert loss.tail(epsilon).lower <= loss.delta(half).upper / (1 - math.exp(-0.5)) + 1e-12


def integral(f: Callable[[float], float], low: float, high: float, steps: int = 4000) -> float:
    width = (high - low) / steps
    return width * sum(f(low + (i + 0.5) * width) for i in range(steps))


@pytest.mark.parametrize(("event", "density"), [
    (events.Gaussian(sigma="3/2"), lambda x: math.exp(-x * x / 4.5) / math.sqrt(4.5 * math.pi)),
    (events.Laplace(scale="3/2"), lambda x: math.exp(-abs(x) / 1.5) / 3),
], ids=["gaussian", "laplace"])  # fmt: skip
def test_moments_by_integration(event: events.Event, density: Callable[[float], float]) -> None:
    loss = privacy_loss(event)

    def value(x: float) -> float:
        return math.log(density(x) / density(x - 1))

    def expected(f: Callable[[float], float]) -> float:
        return integral(lambda x: f(value(x)) * density(x), -18, 18)

    mean = expected(lambda y: y)
    assert near(loss.mean, mean, 1e-4)
    assert near(loss.variance, expected(lambda y: y * y) - mean**2, 1e-4)
    assert near(loss.renyi(3), math.log(expected(lambda y: math.exp(2 * y))) / 2, 1e-3)
    assert near(loss.tail("1/5"), expected(lambda y: float(y > 0.2)), 3e-3)


def test_the_law_of_a_mechanism_is_that_of_its_event() -> None:
    response = randomized_response(epsilon=1)
    by_law, by_event = privacy_loss(response.law(1), response.law(0)), privacy_loss(response.event)
    assert near(by_law.mean, float(by_event.mean.upper))
    assert near(by_law.tail(0), math.e / (1 + math.e))
    assert isinstance(by_event, FiniteLoss)
    assert [round(x, 6) for pair in by_event.law() for x in pair] == [1, 0.731059, -1, 0.268941]


@pytest.mark.parametrize("shift", [1, 3])
@pytest.mark.parametrize("sigma", ["1/10", "1/2", "7/3", 8, "81/10"])
def test_discrete_gaussian_by_sums_of_forty_digits(sigma: str | int, shift: int) -> None:
    """Moments, tail, δ and Rényi divergence of the law itself; both sides of where its sums are bounded, not added."""
    loss, width = privacy_loss(events.DiscreteGaussian(sigma=sigma, sensitivity=shift)), Fraction(sigma)
    with mpmath.workdps(40):
        v = mpmath.mpf(width.numerator) ** 2 / mpmath.mpf(width.denominator) ** 2
        reach = math.ceil(16 * width) + 8
        weights = {z: mpmath.exp(-mpmath.mpf(z * z) / (2 * v)) for z in range(-reach, reach + 1)}
        total = mpmath.fsum(weights.values())
        law = [(w / total, (shift**2 - 2 * shift * z) / (2 * v)) for z, w in weights.items()]
        mean = mpmath.fsum(p * x for p, x in law)
        spread = mpmath.fsum(p * (x - mean) ** 2 for p, x in law)
        truths = [
            (loss.mean, mean),
            (loss.variance, spread),
            (loss.tail(1), mpmath.fsum(p for p, x in law if x > 1)),
            (loss.delta(1), mpmath.fsum(p * -mpmath.expm1(1 - x) for p, x in law if x > 1)),
        ]
        for order in ("3/2", 3):
            power = mpmath.mpf(Fraction(order).numerator) / Fraction(order).denominator - 1
            truths.append(
                (loss.renyi(order), mpmath.log(mpmath.fsum(p * mpmath.exp(power * x) for p, x in law)) / power)
            )
        for bound, truth in truths:
            assert bound.lower * (1 - mpmath.mpf(2) ** -51) <= truth <= bound.upper * (1 + mpmath.mpf(2) ** -51)
            assert bound.width <= 1e-14 * max(bound.upper, 1e-12)
    if width < 1:  # the twin: the moments of the normal law would be wrong
        assert loss.variance.upper < 0.9 * shift**2 / float(width) ** 2


def test_the_law_of_discrete_gaussian_noise_is_listed_where_it_is_short() -> None:
    loss = privacy_loss(events.DiscreteGaussian(sigma=2))
    assert isinstance(loss, DiscreteGaussianLoss)
    assert sum(p for _, p in loss.law()) == pytest.approx(1, abs=1e-15)
    assert near(loss.mean, sum(x * p for x, p in loss.law()))
    wide = privacy_loss(events.DiscreteGaussian(sigma=10**9))
    assert isinstance(wide, DiscreteGaussianLoss)
    assert wide.variance.upper == pytest.approx(1e-18)
    with pytest.raises(NoPrice, match="more than 8192"):
        wide.law()
    with pytest.raises(NoPrice, match="no law"):
        privacy_loss(events.DiscreteGaussian(sigma=2, sensitivity_squared=2, dimension=2))


@pytest.mark.slow
def test_discrete_laplace_by_enumeration() -> None:
    noise = laplace(sensitivity=1, scale=2)
    law = {z: float(low + high) / 2 for z, (low, high) in noise.law(0).items()}
    loss = privacy_loss(events.DiscreteLaplace(scale=2, sensitivity=3))
    exact = sum(p * (abs(z - 3) - abs(z)) / 2 for z, p in law.items())
    assert near(loss.mean, exact)
    assert near(loss.tail(0), sum(p for z, p in law.items() if z <= 1))


def test_pure_approximate_and_concentrated_are_statements_about_the_loss() -> None:
    assert privacy_loss(events.Pure(1)).largest == Bound(1.0, 1.0)
    lost = privacy_loss(events.Approx(1, "0.01"))
    assert lost.largest.upper == math.inf == lost.mean.lower
    assert near(lost.delta(1), 0.01)
    assert near(lost.tail(1), 0.01)
    for event, rho in ((events.Gaussian(sigma=1), 0.5), (events.Pure(1), 0.5), (events.Laplace(scale=1), 0.5)):
        for order in ("1.01", 2, 8, 100):
            assert float(privacy_loss(event).renyi(order).upper) <= rho * float(Fraction(order)) * (1 + 1e-12)
    gaussian = privacy_loss(events.Gaussian(sigma=1))
    assert gaussian.variance == Bound(1.0, 1.0)
    assert gaussian.mean == Bound(0.5, 0.5)


def test_a_tail_above_delta_is_no_contradiction() -> None:
    """ "The loss is at most ε but for probability δ" is enough for (ε, δ), not needed: the twin claims it is needed."""
    loss = privacy_loss(events.Gaussian(sigma=1))
    assert loss.tail(1).lower > 2 * loss.delta(1).upper
    assert compose(events.Gaussian(sigma=1)).delta(epsilon=1).upper < loss.tail(1).lower


@pytest.mark.slow
def test_losses_of_several_events_add_up() -> None:
    loss: PrivacyLoss = privacy_loss([events.Laplace(scale=10)] * 30 + [events.Gaussian(sigma=5)])
    assert isinstance(loss, SumOfLosses)
    assert near(loss.mean, 30 * (0.1 - 1 + math.exp(-0.1)) + 0.02)
    assert near(loss.variance, 30 * (3 - math.exp(-0.1) * (2.4 + math.exp(-0.1))) + 0.04)
    tail = loss.tail(1)
    assert 0 < tail.lower <= tail.upper < 0.2
    assert loss.delta(1).upper <= tail.upper
    assert privacy_loss([events.Pure(1), events.Pure(2)]).largest == Bound(3.0, 3.0)


@pytest.mark.slow
def test_a_picture() -> None:
    pytest.importorskip("matplotlib")
    axes = privacy_loss(events.Gaussian(sigma=1)).plot().axes[0]
    assert [line.get_label() for line in axes.lines] == ["P[loss > ε]", "δ(ε)"]
    of_mechanism = (
        privacy_loss(gaussian(sensitivity=1, rho="1/2"), on=(3, 4)).plot().axes[0]
    )  # its law is cut somewhere
    places = np.asarray(of_mechanism.lines[0].get_xdata(), dtype=float)
    low, high = places[0], places[-1]
    assert low == pytest.approx(0.5 - 4, abs=0.01)
    assert high == pytest.approx(0.5 + 4, abs=0.01)


def test_what_has_no_law_is_refused() -> None:
    for event in (events.ZCDP("1/2"), events.Exponential(1)):
        with pytest.raises(NoPrice):
            privacy_loss(event)
    with pytest.raises(BadParameter, match="second"):
        privacy_loss(EXACT)
    with pytest.raises(BadParameter):
        privacy_loss(3)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="add up"):
        privacy_loss({1: 1, 2: 1}, {1: 1})
    cut = privacy_loss({1: "0.5", 2: "0.4"}, {1: "0.6", 2: "0.4"})
    assert cut.tail(5).upper == pytest.approx(0.1)
    with pytest.raises(NoPrice, match="not listed"):
        _ = cut.mean
    with pytest.raises(BadParameter, match="above 1"):
        privacy_loss(events.Gaussian(sigma=1)).renyi(1)
