"""What a workload costs: certified bounds beside dp_accounting's upper side and prv_accountant's two.

Every time is the CPU time of one call on one thread, imports done before. A peer that is not installed is left out.
"""

from __future__ import annotations

import importlib
import math
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from bench.measure import Row, cpu_once, show
from discreet.privacy.accountants.compose import compose
from discreet.privacy.accountants.optimal import Optimal
from discreet.privacy.budgets.calibrate import calibrate
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Approx

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

MESH = 1e-4
PRV_ERROR = 0.01


@dataclass(frozen=True)
class Task:
    """A workload, the width that is asked for, and how many times faster than each peer."""

    name: str
    events: list[Event]
    delta: str
    width: float
    relative: bool = False
    truth: float | None = None
    faster: float | None = None
    faster_than_prv: float | None = None
    seconds: float | None = None
    theirs: Callable[[Any], Any] | None = None
    prv: Callable[[Any], tuple[list[Any], list[int]]] | None = field(default=None)


def mixed(count: int = 200) -> list[Event]:
    """Different Laplace, Gaussian and randomized response events in turn."""
    made: list[Event] = []
    for i in range(count):
        if i % 3 == 0:
            made.append(events.Laplace(20 + Fraction(i, 7)))
        elif i % 3 == 1:
            made.append(events.Gaussian(30 + Fraction(i, 5)))
        else:
            made.append(events.RandomizedResponse(Fraction(1, 20) + Fraction(i, 5003)))
    return made


def _mixed_theirs(pld: Any) -> Any:
    total = None
    for event in mixed():
        one = _one_of_theirs(pld, event)
        total = one if total is None else total.compose(one)
    return total


def _one_of_theirs(pld: Any, event: Event) -> Any:
    match event:
        case events.Laplace(scale=b):
            return pld.from_laplace_mechanism(float(b), value_discretization_interval=MESH)
        case events.Gaussian():
            return pld.from_gaussian_mechanism(float(event.sigma), value_discretization_interval=MESH)
        case events.RandomizedResponse(epsilon=e):
            flipped = 2 / (math.exp(float(e)) + 1)
            return pld.from_randomized_response(flipped, 2, value_discretization_interval=MESH)
    raise TypeError(event)


def _mixed_prv(prv: Any) -> tuple[list[Any], list[int]]:
    made: list[Any] = []
    for event in mixed():
        match event:
            case events.Laplace(scale=b):
                made.append(prv.LaplaceMechanism(mu=1 / float(b)))
            case events.Gaussian():
                made.append(prv.GaussianMechanism(noise_multiplier=float(event.sigma)))
            case events.RandomizedResponse(epsilon=e):
                made.append(prv.PureDPMechanism(eps=float(e)))
    return made, [1] * len(made)


def _gaussian(times: int, truth: float) -> Task:
    return Task(
        f"Gaussian sigma 1, {times} times",
        [events.Repeat(events.Gaussian(1), times)],
        "1e-6",
        1e-6,
        relative=True,
        truth=truth,
        faster=1.0,
        theirs=lambda pld: pld.from_gaussian_mechanism(1.0, value_discretization_interval=MESH).self_compose(times),
    )


def _laplace(scale: int) -> Task:
    return Task(
        f"Laplace scale {scale}, 1000 times",
        [events.Repeat(events.Laplace(scale), 1000)],
        "1e-6",
        1e-4,
        relative=True,
        faster=2.0,
        theirs=lambda p: p.from_laplace_mechanism(float(scale), value_discretization_interval=MESH).self_compose(1000),
    )


def _sgd(rate: Fraction, sigma: str, steps: int) -> Task:
    return Task(
        f"DP-SGD rate {float(rate):.4g}, sigma {sigma}, {steps} steps",
        [events.Repeat(events.Subsampled(events.Gaussian(sigma), rate), steps)],
        "1e-5",
        1e-3,
        faster=2.0,
        faster_than_prv=10.0,
        theirs=lambda pld: pld.from_gaussian_mechanism(
            float(sigma), value_discretization_interval=MESH, sampling_prob=float(rate)
        ).self_compose(steps),
        prv=lambda prv: (
            [prv.PoissonSubsampledGaussianMechanism(sampling_probability=float(rate), noise_multiplier=float(sigma))],
            [steps],
        ),
    )


def _pure(epsilon: int, times: int) -> Task:
    return Task(
        f"pure epsilon {epsilon}, {times} times",
        [events.Repeat(events.Pure(epsilon), times)],
        "1e-6",
        1e-6,
        truth=float(Optimal(epsilon, 0, times).epsilon_at("1e-6").upper),
        prv=lambda prv: ([prv.PureDPMechanism(eps=float(epsilon))], [times]),
    )


TASKS = [
    _gaussian(1, 4.886554117),
    _gaussian(100, 96.717272),
    _gaussian(10_000, 5474.3655),
    _laplace(1),
    _laplace(10),
    _sgd(Fraction(1, 100), "0.8", 10_000),
    _sgd(Fraction(256, 60_000), "1.1", 14_062),
    Task(
        "200 different events",
        mixed(),
        "1e-6",
        1e-3,
        faster=2.0,
        faster_than_prv=20.0,
        theirs=_mixed_theirs,
        prv=_mixed_prv,
    ),
    Task(
        "randomized response 0.1, 100 times",
        [events.RandomizedResponse("0.1")] * 100,
        "1e-6",
        1e-6,
        truth=4.774567588,
        seconds=0.05,
        theirs=lambda pld: pld.from_randomized_response(
            2 / (math.exp(0.1) + 1), 2, value_discretization_interval=MESH
        ).self_compose(100),
    ),
    _pure(5, 20),
    _pure(10, 5),
]


def run(task: Task) -> list[Row]:
    """Our bound and time, then each peer's."""
    delta = float(Fraction(task.delta))
    found: list[Any] = []
    ours = cpu_once(lambda: found.append(compose(task.events).epsilon(task.delta)))
    bound = found[0]
    said = f"[{bound.lower:.9g}, {bound.upper:.9g}] {ours * 1e3:.1f} ms"
    allowed = task.width * (bound.upper if task.relative else 1.0)
    rows = [Row(task.name, said, "width asked", f"{allowed:.2g}", allowed / max(bound.width, 1e-300), 1.0)]
    if task.truth is not None:
        digits = 10.0 ** -len(str(task.truth).split(".")[1])  # a truth is given to so many digits
        inside = bound.lower - digits <= task.truth <= bound.upper + digits
        rows.append(Row(task.name, said, "truth", f"{task.truth}", float(inside), 1.0))
    if task.seconds is not None:
        rows.append(Row(task.name, said, "time asked", f"{task.seconds * 1e3:g} ms", task.seconds / ours, 1.0))
    pld = _peer("dp_accounting.pld.privacy_loss_distribution")
    if pld is not None and task.theirs is not None:
        build, said_there = task.theirs, []
        seconds = cpu_once(lambda: said_there.append(build(pld).get_epsilon_for_delta(delta)))
        theirs = f"<= {said_there[0]:.9g} {seconds * 1e3:.0f} ms"
        rows.append(Row(task.name, said, f"dp_accounting {MESH:g}", theirs, seconds / ours, task.faster or 0.0))
    prv = _peer("prv_accountant")
    if prv is not None and task.prv is not None:
        rows.append(_beside_prv(task, said, ours, delta, prv))
    return rows


def _beside_prv(task: Task, said: str, ours: float, delta: float, prv: Any) -> Row:
    variables = importlib.import_module("prv_accountant.privacy_random_variables")
    found: list[tuple[float, float, float]] = []

    def work() -> None:
        assert task.prv is not None
        laws, times = task.prv(variables)
        accountant = prv.PRVAccountant(laws, eps_error=PRV_ERROR, delta_error=delta / 1000, max_self_compositions=times)
        found.append(accountant.compute_epsilon(delta=delta, num_self_compositions=times))

    try:
        seconds = cpu_once(work)
    except Exception as error:  # a peer may fail: that is a finding
        return Row(task.name, said, "prv_accountant", type(error).__name__, math.inf, task.faster_than_prv or 0.0)
    low, _, high = found[0]
    theirs = f"[{low:.6g}, {high:.6g}] {seconds * 1e3:.0f} ms"
    return Row(task.name, said, f"prv_accountant {PRV_ERROR:g}", theirs, seconds / ours, task.faster_than_prv or 0.0)


def _peer(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError:
            return None


def calibration() -> list[Row]:
    """The least noise for 1000 Gaussian releases at (1, 1e-6): sigma 133.596077 in closed form."""
    truth = 133.596077
    found: list[Any] = []
    ours = cpu_once(
        lambda: found.append(calibrate(lambda s: events.Repeat(events.Gaussian(s), 1000), Approx(1, "1e-6")))
    )
    sigma = float(found[0].event.sigma)
    name = "calibrate 1000 Gaussians to (1, 1e-6)"
    told = f"sigma {sigma:.6f} {1e3 * ours:.1f} ms"
    return [
        Row(name, told, "sigma, within 1e-6", f"{truth}", 1e-6 / max(abs(sigma - truth), 1e-12), 1),
        Row(name, told, "time asked", "50 ms", 0.05 / ours, 1),
    ]


def main() -> None:
    compose([events.Laplace(1), events.Gaussian(1)]).epsilon("1e-3")  # imports what is imported late
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        show("Accounting", [*(row for task in TASKS for row in run(task)), *calibration()])


if __name__ == "__main__":
    main()
