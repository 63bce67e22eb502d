"""Coverage, widths, sizes, power and survival error of what counts sampling and noise: ``python -m bench inference``.

Everything is simulated from known populations; what is not known ("nothing known") is counted apart.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from discreet.learning import LinearRegression, Logit, inference
from discreet.privacy.promises.measures import Approx

Floats = NDArray[np.float64]
RNG = np.random.default_rng(20)
DELTA = "1e-6"
TRUTH = np.array([0.1, 0.5, 0.2, -0.4])
EDGES = np.arange(1.0, 11.0)


def alike(rows: int) -> Floats:
    """Uniform, independent columns."""
    return RNG.uniform(-1, 1, (rows, 3))


def correlated(rows: int) -> Floats:
    """Normal columns with correlations of 0.64, cut at three deviations."""
    return np.clip((0.8 * RNG.normal(size=(rows, 1)) + 0.6 * RNG.normal(size=(rows, 3))) / 3, -1, 1)


def skewed(rows: int) -> Floats:
    """Lognormal columns, bounds at ten times the median."""
    return np.clip(RNG.lognormal(0, 1, (rows, 3)) / 5 - 1, -1, 1)


def regressions(columns: Callable[[int], Floats], rows: int, epsilon: float, runs: int) -> str:
    """Coverage, bias and width of regressions."""
    held, errors, widths = [], [], []
    for _ in range(runs):
        x = columns(rows)
        y = TRUTH[0] + x @ TRUTH[1:] + RNG.normal(0, 0.3, rows)
        model = LinearRegression(bounds=(-1, 1), target_bounds=(-2, 2), budget=Approx(epsilon, DELTA)).fit(x, y)
        low, high = model.intervals().T
        if np.isinf(low).any():
            continue
        held.append((low <= TRUTH) & (high >= TRUTH))
        errors.append((model.table_.estimates - TRUTH) / model.standard_errors_)
        design = np.hstack([np.ones((rows, 1)), x])
        widths.append(model.standard_errors_ / (0.3 * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))))
    if len(held) < runs / 10:
        return f"nothing known in {runs - len(held)} of {runs}"
    bias = np.abs(np.mean(errors, axis=0)).max()
    return (
        f"coverage {np.mean(held):.3f}, largest bias {bias:.2f} standard errors, width {np.median(widths):.2f} times "
        f"that without privacy, nothing known in {runs - len(held)} of {runs}"
    )


def logits(rows: int, epsilon: float, runs: int) -> str:
    """Coverage of logistic regressions."""
    held = []
    for _ in range(runs):
        x = correlated(rows)
        y = RNG.random(rows) < 1 / (1 + np.exp(-TRUTH[0] - 2 * (x @ TRUTH[1:])))
        model = Logit(bounds=(-1, 1), classes=[False, True], budget=Approx(epsilon, DELTA)).fit(x, y)
        low, high = model.intervals().T
        if np.isfinite(low).all():
            truth = np.append(TRUTH[0], 2 * TRUTH[1:])
            held.append((low <= truth) & (high >= truth))
    if not held:
        return f"nothing known in {runs} of {runs}"
    return f"coverage {np.mean(held):.3f} where known, nothing known in {runs - len(held)} of {runs}"


def sizes(rows: int, epsilon: float, runs: int) -> None:
    """How often tests without an effect reject at 5 %."""
    budget = Approx(epsilon, DELTA)

    def arms(many: int) -> NDArray[np.int64]:
        return RNG.integers(0, many, rows)

    def heights() -> Floats:
        return np.clip(RNG.normal(0, 1, rows), -4, 4)

    tests: dict[str, Callable[[], inference.TestResult]] = {
        "means": lambda: inference.difference_of_means(heights(), arms(2), keys=[0, 1], bounds=(-4, 4), budget=budget),
        "ANOVA": lambda: inference.anova(heights(), arms(4), keys=range(4), bounds=(-4, 4), budget=budget),
        "proportions": lambda: inference.difference_of_proportions(
            RNG.random(rows) < 0.2, arms(2), keys=[0, 1], budget=budget
        ),
        "independence": lambda: inference.chi_square(
            arms(3), arms(4), row_keys=range(3), column_keys=range(4), budget=budget
        ),
        "fit": lambda: inference.goodness_of_fit(arms(5), keys=range(5), budget=budget),
        "correlation": lambda: inference.correlation(
            heights(), heights(), x_bounds=(-4, 4), y_bounds=(-4, 4), budget=budget
        ),
        "ranks": lambda: inference.rank_test(
            RNG.exponential(1, rows), arms(2), keys=[0, 1], bounds=(0, 6), budget=budget
        ),
    }
    for name, test in tests.items():
        p_values = [test().p_value for _ in range(runs)]
        print(f"size, {name}, {rows} rows, epsilon {epsilon}: {np.mean(np.array(p_values) < 0.05):.3f} of {runs}")


def power(people: int, runs: int) -> None:
    """A difference of 0.2 deviations: with so many people without privacy, with four times as many at epsilon 1."""

    def found(rows: int, *, private: bool) -> float:
        hits = 0
        for _ in range(runs):
            arm = RNG.integers(0, 2, rows)
            x = np.clip(RNG.normal(0.2 * arm, 1), -4, 4)
            p = (
                inference.difference_of_means(x, arm, keys=[0, 1], bounds=(-4, 4), budget=Approx(1, DELTA)).p_value
                if private
                else stats.ttest_ind(x[arm == 1], x[arm == 0]).pvalue
            )
            hits += p < 0.05
        return hits / runs

    private, needed = (
        2 * each for each in inference.rows_for_difference(0.2, 1.0, bounds=(-4, 4), budget=Approx(1, DELTA))
    )
    plain, ours = found(people, private=False), found(4 * people, private=True)
    print(f"power: t-test, {people} people {plain:.2f}; ours, {4 * people} people {ours:.2f}; "
          f"ours for power 0.8 needs {private} against {needed}")  # fmt: skip


def survival(epsilon: float, runs: int) -> str:
    """Root mean squared error of the curve of 228 made-up patients, two thirds of them with the event."""
    errors = []
    for _ in range(runs):
        time, lost = RNG.exponential(1 / 0.15, 228), RNG.uniform(2, 14, 228)
        times, happened = np.minimum(time, lost), time <= lost
        left, curve = 1.0, []
        for edge in EDGES:
            risk = np.sum(np.ceil(times) >= edge)
            left *= 1 - np.sum((np.ceil(times) == edge) & happened) / max(risk, 1)
            curve.append(left)
        noisy = inference.kaplan_meier(times, happened, edges=EDGES, budget=Approx(epsilon, DELTA)).survival
        errors.append(np.sqrt(np.nanmean((noisy - np.array(curve)) ** 2)))
    return f"{np.mean(errors):.4f}"


def main() -> None:
    """Print all of it."""
    for columns in (alike, correlated, skewed):
        for rows, runs in ((500, 300), (2_000, 300), (20_000, 200), (100_000, 60)):
            for epsilon in (0.5, 1, 5):
                print(f"regression, {columns.__name__}, {rows} rows, epsilon {epsilon}: "
                      f"{regressions(columns, rows, epsilon, runs)}", flush=True)  # fmt: skip
    for rows, epsilon in ((2_000, 1), (20_000, 0.5), (20_000, 5)):
        print(f"logistic, {rows} rows, epsilon {epsilon}: {logits(rows, epsilon, 150)}", flush=True)
    for rows in (300, 1_000, 5_000):
        sizes(rows, 1, 1_000)
    power(786, 300)
    for epsilon in (1, 2, 10):
        print(f"survival of 228, epsilon {epsilon}: root mean squared error {survival(epsilon, 200)}")


if __name__ == "__main__":
    main()
