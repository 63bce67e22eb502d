"""gaussian_vectors.py against the exact law of a moved vector; noise without the gap would be seen."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.privacy.accountants.conversions import largest_gdp, largest_zcdp
from discreet.privacy.accountants.gaussian_vectors import VectorBudget, vector_budget
from discreet.privacy.promises.measures import Approx

Moved = list[tuple[float, tuple[int, ...]]]
"""σ² of each vector, and how its coordinates move."""


def exact_delta(moved: Moved, epsilon: float) -> float:
    """δ(ε) of discrete Gaussian noise that is moved so: the loss is Σ (v² - 2vz)/2σ², a sum of independent terms.

    Σ vz/σ² takes values on a lattice when every σ² is a multiple of one number over a whole one: the σ² here are put on
    one such lattice by the caller, or there is one vector only. Losses are collected in a dictionary.
    """
    losses = {0: 1.0}
    unit = math.lcm(*(Fraction(s).limit_denominator(10**6).numerator for s, _ in moved))
    for variance, vector in moved:
        s2 = Fraction(variance).limit_denominator(10**6)
        reach = math.ceil(9 * math.sqrt(variance)) + 1
        z = np.arange(-reach, reach + 1)
        weights = np.exp(-(z**2) / (2 * variance))
        weights /= weights.sum()
        for v in vector:
            steps = [int(Fraction(v * v - 2 * v * int(one), 1) / s2 * unit / 1) for one in z]
            found: dict[int, float] = {}
            for loss, p in losses.items():
                for step, w in zip(steps, weights, strict=True):
                    found[loss + step] = found.get(loss + step, 0.0) + p * w
            losses = found
    scale = 2 * unit
    return sum(p * max(0.0, -math.expm1(epsilon - loss / scale)) for loss, p in losses.items())


CASES = [
    (Approx(1, "1e-3"), [(1, 1)]),
    (Approx(1, "1e-3"), [(1, 1, 1, 1)]),
    (Approx("1/2", "1e-2"), [(2, 1)]),
    (Approx(2, "1e-2"), [(1, 1, 1)]),
    (Approx("1/2", "1e-3"), [(3,)]),
    (Approx(1, "1e-2"), [(1, 1), (2,)]),
]


def spread(promise: Approx, vectors: list[tuple[int, ...]]) -> Moved:
    """Noise for these moves, with equal shares; σ² as whole numbers above, so that losses are on a lattice."""
    part = vector_budget(promise).part(Fraction(1, len(vectors)))
    squares = [sum(v * v for v in vector) for vector in vectors]
    return [
        (math.ceil(part.sigma_squared(square, coordinates=len(vector)) * 8) / 8, vector)
        for square, vector in zip(squares, vectors, strict=True)
    ]


@pytest.mark.parametrize(("promise", "vectors"), CASES)
def test_the_exact_law_keeps_the_promise(promise: Approx, vectors: list[tuple[int, ...]]) -> None:
    found = exact_delta(spread(promise, vectors), float(promise.epsilon))
    assert found <= float(promise.delta)
    assert found > float(promise.delta) / 5  # and it is not far from it


@pytest.mark.slow
def test_noise_of_the_continuous_formula_would_be_seen() -> None:
    """Planted: σ as if the noise were continuous. Where it is narrow, δ goes over, for some ε by much."""
    worst = 0.0
    for tenths in range(10, 60):
        promise = Approx(Fraction(tenths, 10), "1e-2")
        moved: Moved = [(float(round(1 / largest_gdp(promise).mu_squared, 3)) * 2, (1, 1))]
        worst = max(worst, exact_delta(moved, float(promise.epsilon)) / float(promise.delta))
    assert worst > 1.05


@pytest.mark.parametrize("promise", [Approx(1, "1e-6"), Approx("0.1", "1e-7"), Approx("0.01", "1e-9")])
def test_it_is_less_noise_than_by_rho(promise: Approx) -> None:
    moved = 10**4  # cells squared
    ours = vector_budget(promise).sigma_squared(moved, coordinates=moved)
    continuous = moved / largest_gdp(promise).mu_squared
    assert continuous < ours < continuous * Fraction(1002, 1000)
    assert ours < moved / (2 * largest_zcdp(promise).rho) * Fraction(90, 100)


def test_parts_add_up() -> None:
    whole = vector_budget(Approx(1, "1e-6"))
    halves = [whole.part(Fraction(1, 2))] * 2
    assert sum(part.mu_squared for part in halves) == whole.mu_squared
    assert sum(part.gap for part in halves) == whole.gap


def test_more_coordinates_need_more() -> None:
    budget = VectorBudget(Fraction(1, 100), Fraction(1, 10**5))
    few, many = (budget.sigma_squared(10**6, coordinates=n) for n in (1, 10**6))
    assert few < many < few + 2


@pytest.mark.parametrize("promise", [Approx("1e-9", "1e-30"), Approx(10**6, "1e-300"), Approx(50, "0.5")])
def test_extreme_promises_are_certified_too(promise: Approx) -> None:
    budget = vector_budget(promise)
    assert 0 < budget.mu_squared <= largest_gdp(promise).mu_squared
