"""Biased coins (Dodis, López-Alt, Mironov and Vadhan 2012): what an adversary who leans on every bit can see.

Each bit of the source may be pushed by γ, after looking at all earlier ones. Pushed towards the strings on which the
noise is even, ordinary noise shows the parity of the exact answer: neighbours 0 and 1 differ by a ratio of about
(1+γ)/(1-γ), however small ε is. Noise that was made for such sources keeps its price.
"""

from __future__ import annotations

from typing import Any

from discreet.biased.laplace import biased_laplace
from discreet.biased.sources import SanthaVazirani, tilted
from discreet.checking.attacks.table import AttackTable, Row
from discreet.checking.sampling.audit import audit
from discreet.exact import Number, positive
from discreet.mechanisms.additive.laplace import laplace
from discreet.privacy.promises.measures import Pure
from discreet.randomness import Bits, Replay, SystemBits
from discreet.randomness.source import uniform_below


def biased_coins(*, epsilon: Number = "0.4", gamma: Number = "0.25", samples: int = 20_000) -> AttackTable:
    """Tell 0 from 1 by one release, when every bit of the source is biased by up to γ.

    >>> table = biased_coins(samples=4000)
    >>> table.row("ordinary noise, fair").success <= 0.4, table.row("noise made").success <= 0.4
    (True, True)
    """
    e, model = positive(epsilon, "epsilon"), SanthaVazirani(gamma)
    ordinary = laplace(sensitivity=1, epsilon=e)
    robust = biased_laplace(sensitivity=1, epsilon=e, gamma=gamma)

    def certified(mechanism: Any, leaning: bool) -> float:
        run = _Leaning(mechanism, model if leaning else None)
        return audit(run, pair=(0, 1), claim=Pure(e), samples=samples).epsilon_lower

    return AttackTable(
        "biased coins",
        f"certified lower bound of epsilon, with bits that may lean by {float(model.gamma):g}",
        (
            Row("ordinary noise, fair bits", certified(ordinary, False), float(e)),
            Row("ordinary noise, biased bits", certified(ordinary, True)),
            Row("noise made for biased bits", certified(robust, True), float(e)),
        ),
        "The promise of ordinary noise assumes fair bits (docs/explanation/randomness.md).",
    )


class _Leaning:
    """A mechanism whose bits favour even noise around 0; with no model, fair ones."""

    def __init__(self, mechanism: Any, model: SanthaVazirani | None) -> None:
        self._mechanism, self._model = mechanism, model
        self._zero = mechanism.read(0)

    def __call__(self, value: int) -> Any:
        bits: Bits = SystemBits()
        if self._model is not None:
            bits = _Longer(tilted(lambda b: self._mechanism.draw(self._zero, b), self._even, self._model))
        return self._mechanism.draw(self._mechanism.read(value), bits)

    def _even(self, noise: Any) -> bool:
        return int(noise / getattr(self._mechanism, "grid", 1)) % 2 == 0


class _Longer:
    """A tape, then fair bits: another input may read more than the tape holds, and a fair bit leans by nothing."""

    def __init__(self, tape: Replay) -> None:
        self._tape, self._fair = tape, SystemBits()

    def bits(self, count: int) -> int:
        held = min(count, self._tape.left)
        return self._tape.bits(held) << (count - held) | self._fair.bits(count - held)

    def bytes(self, count: int) -> bytes:
        return self.bits(8 * count).to_bytes(count, "big")

    def below(self, n: int) -> int:
        return uniform_below(self, n)
