"""The same fit by the library ``mbi`` (Private-PGM), where it is installed: an estimator to compare ours with.

Promise: as in fit.py, a function of released numbers alone. mbi counts in JAX's floats: of 64 bits if JAX is loaded
here for the first time, otherwise as the program has set it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.errors import MissingExtra, Unsupported
from discreet.synthetic.model.fit import Fit, Measured, pooled, total_of
from discreet.synthetic.model.graphical import Graphical, Potentials
from discreet.synthetic.model.junction import junction_tree

ITERATIONS = 1000


def mbi_fit(
    sizes: Sequence[int],
    measured: Sequence[Measured],
    *,
    start: Potentials | None = None,
    base: Potentials | None = None,
    prior: float = 0.0,
    steps: int = ITERATIONS,
) -> Fit:
    """Mirror descent on the measured marginals, without a prior; as the ``estimator`` of ``synthesize``."""
    library = _library()
    if base:
        raise Unsupported("impossible combinations with mbi", "use our own estimator")
    del start, prior, steps
    total = total_of(measured)
    target = pooled(measured, total)
    domain = library.Domain.fromdict({str(i): size for i, size in enumerate(sizes)})
    given = [
        library.LinearMeasurement(table.ravel(), tuple(str(c) for c in clique), stddev=variance**0.5)
        for clique, (table, variance) in target.items()
    ]
    model = library.estimation.MirrorDescent().estimate(domain, given, iters=ITERATIONS, known_total=total)
    tree = junction_tree(sizes, list(target))
    beliefs = []
    for clique in tree.cliques:
        factor = model.project(tuple(str(c) for c in clique))
        table = np.asarray(factor.datavector(), dtype=np.float64).reshape([sizes[c] for c in clique])
        beliefs.append(table / table.sum())
    return Fit(Graphical(tree, tuple(beliefs), 0.0), {}, total)


def _library() -> Any:
    """The library. Floats of 32 bits would lose single rows beyond 2^24; that is set before it is loaded, or never."""
    try:
        if "jax" not in sys.modules:
            import jax

            jax.config.update("jax_enable_x64", True)
            jax.config.update("jax_enable_compilation_cache", False)  # as mbi asks: every fit is another program
        import mbi
    except ImportError:
        raise MissingExtra("models by mbi", extra="synth") from None
    return mbi
