"""``audit``: attack a black box by samples, and certify how private it can be at most.

Guarantee: with probability at least ``confidence`` over the audit's own samples, the certified lower bound of ε holds.
So a mechanism that keeps its claim is refuted with probability at most 1 - confidence.

A quarter of the samples is searched for the events that tell the two inputs apart best: three at most, one for each of
three degrees of caution. How often these happen is then counted on the other three quarters, which the search never
saw, and all probabilities are bounded by Clopper and Pearson's intervals; the allowed error is split evenly among them.
(Ding et al. 2018, Bichsel et al. 2021, Tramèr et al. 2022.)
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.answer import confidence_level
from discreet.checking.exact.calling import never_answered
from discreet.checking.exact.stability_claims import name_of
from discreet.checking.sampling.binomial import lower, upper
from discreet.checking.sampling.distinguishers import CAUTIONS, Choice, best_questions, epsilon_from
from discreet.checking.sampling.observed import Raised, runner
from discreet.checking.sampling.rate_band import TradeOff, trade_off
from discreet.checking.sampling.samples import Samples, draw
from discreet.errors import BadParameter
from discreet.exact import Number, integer
from discreet.privacy.accountants.conversions import gdp_delta, renyi_to_approx, zcdp_to_approx
from discreet.privacy.accountants.tradeoff import power_up
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Pure, Renyi

SEARCHED = 4
"""One part in so many is searched; the rest certifies."""
_LEAST_SAMPLES = 200
_DELTAS = tuple(Fraction(1, 10**k) for k in range(1, 6))
_EPSILONS = tuple(Fraction(k, 4) for k in range(0, 33, 2))


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an audit found: the event, how often it was seen on each side, and what that proves."""

    subject: str
    claim: Measure
    event: str
    """The event, as text; x is the output."""
    seen: tuple[int, int]
    """How often it was seen: on the side where it is likely, and on the other."""
    of: int
    """In so many runs each."""
    likely_on: str
    delta: float
    """The δ at which ``epsilon_lower`` is certified."""
    epsilon_lower: float
    failure: float
    refuted: bool
    samples: Samples = field(repr=False, compare=False)
    choice: Choice = field(repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether the claim stands, as far as this audit can tell."""
        return not self.refuted

    @property
    def confidence(self) -> str:
        """The confidence as text, as in 1−1e-8."""
        return f"1−{_power(self.failure)}"

    @property
    def verdict(self) -> str:
        """The outcome in one line."""
        at = f" at δ = {self.delta:.6g}" if self.delta else ""
        bound = "∞" if math.isinf(self.epsilon_lower) else f"{_down(self.epsilon_lower)}"
        if self.refuted:
            return (
                f"claimed {_claimed(self.claim)}; refuted: ε ≥ {bound}{at} with confidence {self.confidence}, "
                f"by the event {self.event}"
            )
        return f"not refuted; certified ≥ {bound}{at}"

    def trade_off(self, points: int = 40) -> TradeOff:
        """The certified trade-off band of the attack, beside that of the claim; ``.plot()`` draws it."""
        fresh = len(self.samples.first) // SEARCHED
        sides = (self.samples.first, self.samples.second)
        return trade_off(
            [side[:fresh] for side in sides], [side[fresh:] for side in sides], self.claim, self.failure, points
        )

    def __str__(self) -> str:
        p, q = self.seen
        return (
            f"{self.subject}: {self.verdict}\n"
            f"  the event was seen {p:,} times in {self.of:,} runs on the {self.likely_on} input, "
            f"{q:,} times on the other"
        )

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "subject": self.subject,
            "claim": str(self.claim),
            "refuted": self.refuted,
            "verdict": self.verdict,
            "event": self.event,
            "epsilon_lower": self.epsilon_lower if math.isfinite(self.epsilon_lower) else "inf",
            "delta": self.delta,
            "failure": self.failure,
            "seen": list(self.seen),
            "of": self.of,
            "likely_on": self.likely_on,
        }

    def to_json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_html(self) -> str:
        """The report as a piece of HTML."""
        kind = "refuted" if self.refuted else "ok"
        first, second = (html.escape(line) for line in str(self).split("\n"))
        return f'<section class="audit {kind}"><b>{first}</b><p>{second}</p></section>'

    def _repr_html_(self) -> str:
        return self.to_html()


def audit(
    mechanism: Any,
    *,
    pair: tuple[Any, Any] | None = None,
    pairs: Iterable[tuple[Any, Any]] | None = None,
    claim: Measure,
    samples: int = 20_000,
    confidence: Number = 1 - 1e-8,
    processes: int = 1,
    progress: bool = False,
    state: Samples | None = None,
) -> AuditReport:
    """Attack ``mechanism(data)`` on a pair of neighbours with ``samples`` runs on each side.

    ``mechanism`` is any function of data, of any library, or one of our mechanisms and releases; exceptions are
    outcomes. Of several ``pairs`` the most promising is certified. ``state`` holds runs that were drawn already and is
    added to in place, so that an audit that was interrupted can go on; ``samples`` must not be chosen after looking at
    them. With ``processes`` the mechanism must be picklable.

    >>> from discreet.mechanisms.additive.laplace import laplace
    >>> report = audit(laplace(sensitivity=1, epsilon=3), pair=(0, 1), claim=Pure(1), samples=4000)
    >>> report.refuted, report.epsilon_lower > 1
    (True, True)
    """
    wanted = integer(samples, "samples", at_least=_LEAST_SAMPLES)
    failure = float(1 - confidence_level(confidence))
    targets = consequences(claim)
    run = runner(mechanism)
    if state is not None and max(len(state.first), len(state.second)) > wanted:
        raise BadParameter("samples", samples, "must be at least what the state holds already")
    searched = wanted // SEARCHED
    subject = name_of(mechanism)
    chosen = _chosen_pair(pair, pairs)
    if len(chosen) > 1:
        if state is not None:
            raise BadParameter("state", "given", "must be left out with several pairs")
        chosen = [_most_promising(run, chosen, targets, searched, wanted - searched, failure)]
    drawn = draw(run, chosen[0], wanted, samples=state, processes=processes, progress=progress)
    _answered(subject, drawn)
    choices = best_questions(
        drawn.first[:searched], drawn.second[:searched], targets, fresh=wanted - searched, failure=_each(failure)
    )
    reports = [
        _certified(subject, claim, each, drawn, delta=targets[each.target][1], failure=failure) for each in choices
    ]
    return max(reports, key=lambda r: (r.refuted, r.epsilon_lower - targets[r.choice.target][0]))


def _answered(subject: str, drawn: Samples) -> None:
    """A black box that raises on every run has not been audited at all."""
    outcomes = (*drawn.first, *drawn.second)
    if all(isinstance(outcome, Raised) for outcome in outcomes):
        never_answered(subject, {str(outcome) for outcome in outcomes})


def _each(failure: float) -> float:
    """The share of one bound: two for each event."""
    return failure / (2 * len(CAUTIONS))


def _certified(
    subject: str, claim: Measure, choice: Choice, drawn: Samples, *, delta: float, failure: float
) -> AuditReport:
    searched = len(drawn.first) // SEARCHED
    fresh = [side[searched:] for side in (drawn.first, drawn.second)]
    first_held, second_held = (sum(map(choice.question.holds, side)) for side in fresh)
    likely, other = (second_held, first_held) if choice.swapped else (first_held, second_held)
    of = len(fresh[0])
    p_low = float(lower(likely, of, _each(failure)))
    q_up = float(upper(other, of, _each(failure)))
    bound = max(0.0, epsilon_at(p_low, q_up, delta) - 1e-9)  # for the rounding of the logarithm
    return AuditReport(
        subject=subject,
        claim=claim,
        event=choice.question.words,
        seen=(likely, other),
        of=of,
        likely_on="second" if choice.swapped else "first",
        delta=delta,
        epsilon_lower=bound,
        failure=failure,
        refuted=Fraction(p_low) > power_up(claim, Fraction(min(q_up, 1.0))),
        samples=drawn,
        choice=choice,
    )


def epsilon_at(p_low: float, q_up: float, delta: float) -> float:
    """The least ε with p <= e^ε q + δ and 1 - q <= e^ε (1 - p) + δ: the event, and its opposite.

    >>> round(epsilon_at(0.5, 0.1, 0.0), 3), round(epsilon_at(0.9, 0.5, 0.0), 3)
    (1.609, 1.609)
    """
    inside = epsilon_from(np.array(p_low), np.array(q_up), delta)
    outside = epsilon_from(np.array(1 - q_up), np.array(1 - p_low), delta)
    return float(max(inside, outside))


def consequences(claim: Measure) -> list[tuple[float, float]]:
    """The (ε, δ) that a promise implies, among which the audit looks for one that fails.

    >>> consequences(Approx(1, "1e-6"))
    [(1.0, 1e-06)]
    """
    match claim:
        case Pure(epsilon=e):
            return [(float(e), 0.0)]
        case Approx(epsilon=e, delta=d):
            return [(float(e), float(d))]
        case ZCDP(delta=d0):
            deltas = [d for d in _DELTAS if d > d0] or [(1 + d0) / 2]
            return [_floats(zcdp_to_approx(claim, delta=d)) for d in deltas]
        case Renyi():
            return [_floats(renyi_to_approx(claim, delta=d)) for d in _DELTAS]
        case GDP():
            return [(float(e), float(gdp_delta(claim, e).upper)) for e in _EPSILONS]
    raise BadParameter("claim", claim, "must be a promise, such as Pure(1) or Approx(1, 1e-6)")


def _floats(promise: Approx) -> tuple[float, float]:
    return float(promise.epsilon), float(promise.delta)


def _chosen_pair(pair: tuple[Any, Any] | None, pairs: Iterable[tuple[Any, Any]] | None) -> list[tuple[Any, Any]]:
    if (pair is None) == (pairs is None):
        raise BadParameter("pair", pair, "must be given, or pairs, and not both")
    chosen = [pair] if pair is not None else list(pairs or ())
    if not chosen or any(not isinstance(each, tuple) or len(each) != 2 for each in chosen):
        raise BadParameter("pair", pair, "must be two neighbouring inputs, as in (D, E)")
    return chosen


def _most_promising(  # noqa: PLR0917 - one inner step of ``audit``
    run: Any,
    pairs: list[tuple[Any, Any]],
    targets: list[tuple[float, float]],
    searched: int,
    fresh: int,
    failure: float,
) -> tuple[Any, Any]:
    """The pair whose best event looks best; its own runs are drawn anew afterwards."""
    each = max(_LEAST_SAMPLES // 2, searched // 2)

    def margin(pair: tuple[Any, Any]) -> float:
        drawn = draw(run, pair, each)
        choices = best_questions(drawn.first, drawn.second, targets, fresh=fresh, failure=_each(failure))
        return max(choice.margin for choice in choices)

    return max(pairs, key=margin)


def _claimed(claim: Measure) -> str:
    match claim:
        case Pure(epsilon=e):
            return f"ε ≤ {_exactly(e)}"
        case Approx(epsilon=e, delta=d):
            return f"ε ≤ {_exactly(e)} at δ = {float(d):.6g}"
        case _:
            return str(claim)


def _exactly(x: Fraction) -> str:
    return str(x) if x.denominator < 1000 else f"{float(x):.6g}"


def _down(x: float) -> str:
    """Two digits behind the point, rounded down."""
    return f"{math.floor(x * 100) / 100:.2f}"


def _power(x: float) -> str:
    """1e-8 and the like, as one writes it."""
    mantissa, exponent = f"{x:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"
