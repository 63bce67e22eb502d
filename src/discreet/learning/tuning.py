"""Choosing among settings by their scores, paid for: repeat a private run a random number of times, keep the best.

Guarantee: if each run of the base (training *and* scoring) is ρ-zCDP, the best of K runs with K geometric or
logarithmic keeps the (ε, δ) of ``tuning_price``: about two or three times the price of one run however many settings
there are (Papernot and Steinke 2022, theorem 2; Liu and Talwar 2019). Proof: tuning.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.errors import BadParameter
from discreet.exact import Number, log_up, number, sqrt_up
from discreet.learning.budget import mu_squared
from discreet.mechanisms.base.mechanism import check_receipt
from discreet.noise import bernoulli
from discreet.privacy.accountants.conversions import renyi_to_approx
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Renyi
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import SystemBits

_ORDERS = tuple(Fraction(k) for k in (*range(2, 33), 36, 40, 48, 64, 96, 128, 256, 512))


@dataclass(frozen=True, slots=True)
class Tuned:
    """The best run that was seen, and what all of it cost."""

    setting: Any
    model: Any
    score: float
    event: events.Approx


def tuning_price(run: ZCDP | GDP, *, stop: Number = "1/10", delta: Number = "1e-5") -> Approx:
    """What choosing costs when one run costs ``run`` and each run is the last with probability ``stop``.

    >>> from discreet.privacy.promises.measures import ZCDP
    >>> price = tuning_price(ZCDP("1/200"), stop="1/10")
    >>> 0.5 < price.epsilon < 1.5
    True
    """
    given: object = run
    if isinstance(given, Approx):  # which bounds no Rényi divergence
        raise BadParameter(
            "run", run, "must be dp.GDP or dp.ZCDP: (epsilon, delta) of a run says too little for tuning"
        )
    return _price(mu_squared(run) / 2, _stop(stop), number(delta, "delta"))


@lru_cache(maxsize=64)
def _price(rho: Fraction, gamma: Fraction, delta: Fraction) -> Approx:
    bounds = {}
    for order in _ORDERS:
        own = rho * order
        # theorem 2 with η = 1 (geometric): ε'(λ) = ε(λ) + 2 (1 - 1/λ') ε(λ') + 2 log(1/γ)/λ' + log E[K]/(λ - 1);
        # E[K] = 1/γ, and any λ' may be chosen: near sqrt(log(1/γ)/ρ)
        other = max(Fraction(1), sqrt_up(log_up(1 / gamma) / rho))
        other = Fraction(round(other * 16), 16)
        middle = 2 * (1 - 1 / other) * rho * other + 2 * log_up(1 / gamma) / other
        bounds[order] = own + middle + log_up(1 / gamma) / (order - 1)
    return renyi_to_approx(Renyi(bounds), delta=delta)


def tuning_event(run: ZCDP | GDP, *, stop: Number = "1/10", delta: Number = "1e-5") -> events.Approx:
    """What a call of ``tune`` writes into a ledger.

    >>> from discreet.privacy.promises.measures import GDP
    >>> tuning_event(GDP("1/10"), stop="1/3").delta
    Fraction(1, 100000)
    """
    price = tuning_price(run, stop=stop, delta=delta)
    return events.Approx(price.epsilon, price.delta)


def tune(
    base: Callable[[Any], tuple[Any, float]],
    settings: Sequence[Any],
    *,
    run: ZCDP | GDP,
    stop: Number = "1/10",
    delta: Number = "1e-5",
    receipt: Receipt | None = None,
) -> Tuned:
    """The best of a random number of runs, each with a setting drawn at random.

    ``base(setting)`` trains and scores: it returns a model and a score, and both together must keep ``run``. Score by
    held-out rows with noise (``oracle.mean``), or by rows that are public. How many runs there are is drawn first: each
    is the last with probability ``stop``, 1/stop on average; all are made and the best is returned, nothing else.

    >>> from discreet.privacy.promises.measures import ZCDP
    >>> tuned = tune(lambda s: (f"model {s}", float(s)), [3], run=ZCDP("1/200"))
    >>> tuned.model, tuned.score
    ('model 3', 3.0)
    """
    event = tuning_event(run, stop=stop, delta=delta)
    gamma = _stop(stop)
    listed = list(settings)
    if not listed:
        raise BadParameter("settings", settings, "must hold at least one setting")
    if receipt is not None:
        check_receipt(receipt).redeem(event)
    runs = 1
    while not bernoulli(gamma):
        runs += 1
    best: Tuned | None = None
    for _ in range(runs):
        setting = listed[SystemBits().below(len(listed))]
        model, score = base(setting)
        value = float(score)
        if np.isnan(value):
            value = -np.inf
        if best is None or value > best.score:
            best = Tuned(setting, model, value, event)
    if best is None:
        raise BadParameter("settings", settings, "must hold at least one setting")
    return best


def _stop(stop: Number) -> Fraction:
    gamma = number(stop, "stop")
    if not 0 < gamma < 1:
        raise BadParameter("stop", stop, "must lie between 0 and 1: the chance that a run is the last")
    return gamma
