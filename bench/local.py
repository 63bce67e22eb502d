"""Local randomizers beside pure-ldp's and multi-freq-ldpy's: clients simulated, and errors at the same epsilon."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.measure import Row, cpu_once, cpu_seconds, show
from discreet.local.hadamard import hadamard
from discreet.local.hashing import local_hashing
from discreet.local.oracle import Oracle
from discreet.local.response import response
from discreet.local.subset import subset_selection
from discreet.local.unary import optimised_unary

MILLION = 1_000_000
FEW = 10_000
VALUES = 64
EPSILON = 1
RUNS, THEIR_RUNS = 40, 10  # enough for a ratio within 0.15 of the truth, but for one time in a hundred
Floats = NDArray[np.float64]


def multi_freq(kind: str, client: str, aggregate: str) -> tuple[Callable[[int], Any], Callable[[list[Any]], Floats]]:
    """A client and a server of multi-freq-ldpy."""
    module: Any = import_module(f"multi_freq_ldpy.pure_frequency_oracles.{kind}")
    send, count = getattr(module, client), getattr(module, aggregate)
    if kind == "UE":
        return lambda v: send(v, VALUES, EPSILON, True), lambda r: np.asarray(count(np.array(r), EPSILON, True))
    return lambda v: send(v, VALUES, EPSILON), lambda r: np.asarray(count(r, VALUES, EPSILON))


OPTIONS: dict[str, dict[str, Any]] = {
    "DE": {}, "UE": {"use_oue": True}, "LH": {"use_olh": True}, "HadamardMech": {"t": 1},
}  # fmt: skip


def pure_ldp(name: str) -> tuple[Callable[[int], Any], Callable[[list[Any]], Floats]]:
    """A client and a server of pure-ldp; its values start at 1."""
    module: Any = import_module("pure_ldp.frequency_oracles")
    server: Any = getattr(module, f"{name}Server")(EPSILON, VALUES, **OPTIONS[name])
    client: Any = getattr(module, f"{name}Client")(EPSILON, VALUES, **OPTIONS[name])

    def count(reports: list[Any]) -> Floats:
        server.reset()
        for report in reports:
            server.aggregate(report)
        found = [server.estimate(v + 1, suppress_warnings=True) / len(reports) for v in range(VALUES)]
        return np.array(found, dtype=np.float64)

    return lambda v: client.privatise(v + 1), count


def peers() -> list[tuple[Oracle, str, Callable[[], Any]]]:
    """Each of our oracles beside the same one of another library."""
    parameters = {"k": VALUES, "epsilon": EPSILON}
    found: list[tuple[Oracle, str, Callable[[], Any]]] = []
    makers: list[tuple[Callable[..., Oracle], str]] = [
        (response, "GRR"), (optimised_unary, "UE"), (local_hashing, "LH"), (subset_selection, "SS"),
    ]  # fmt: skip
    for made, kind in makers:
        peer = partial(multi_freq, kind, f"{kind}_Client", f"{kind}_Aggregator_MI")
        found.append((made(**parameters), f"multi-freq-ldpy {kind}", peer))
    makers = [(response, "DE"), (optimised_unary, "UE"), (local_hashing, "LH"), (hadamard, "HadamardMech")]
    for made, kind in makers:
        found.append((made(**parameters), f"pure-ldp {kind}", partial(pure_ldp, kind)))
    return found


def alike(name: str, values: Floats) -> Floats:
    """multi-freq-ldpy cuts what is negative and scales the rest to 1; pure-ldp does not: compare like with like."""
    if name.startswith("pure-ldp"):
        return values
    cut = np.clip(values, 0, None)
    return np.asarray(cut / cut.sum())


def mean_squared(estimate: Callable[[], Floats], truth: Floats, runs: int) -> float:
    return float(np.mean([np.mean((estimate() - truth) ** 2) for _ in range(runs)]))


def beside(oracle: Oracle, name: str, make: Callable[[], Any]) -> list[Row]:
    rng = np.random.default_rng(1)
    many = rng.integers(0, VALUES, MILLION)
    few = many[:FEW].tolist()
    send, count = make()
    send(0)  # compiled at the first call
    ours = cpu_seconds(lambda: oracle.simulate(many), repeats=3)
    theirs = cpu_once(lambda: [send(v) for v in few]) * MILLION / FEW
    truth = np.bincount(many[:FEW], minlength=VALUES) / FEW
    our_error = mean_squared(lambda: alike(name, oracle.estimate(oracle.simulate(many[:FEW])).values), truth, RUNS)
    their_error = mean_squared(lambda: count([send(v) for v in few]), truth, THEIR_RUNS)
    task = f"{oracle.name}, {VALUES} values"
    return [
        Row(f"{task}: 1e6 clients", f"{ours:.3f} s", f"{name} (scaled up)", f"{theirs:.1f} s", theirs / ours, 5),
        Row(
            f"{task}: mean squared error", f"{our_error:.2e}", name, f"{their_error:.2e}", their_error / our_error, 0.85
        ),
    ]


def main() -> None:
    show("Local model", [row for oracle, name, make in peers() for row in beside(oracle, name, make)])


if __name__ == "__main__":
    main()
