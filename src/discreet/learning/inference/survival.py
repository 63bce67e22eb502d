"""Kaplan-Meier curves with bands, restricted means and the log-rank test, from noisy counts by time and outcome.

Guarantee: one release of counts for ``budget``, whatever is computed from it (grouped_sums.md). Times are cut at public
edges; a person is in one cell: the time, and whether it ended in the event or in censoring.

Believes: people are a sample of a population, and censoring says nothing about the event. At each public time the curve
is Kaplan and Meier's of times rounded up to the next edge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, number, significant
from discreet.learning.budget import Budget, event_of
from discreet.learning.estimator import numbers
from discreet.learning.inference.comparisons import TestResult
from discreet.learning.inference.grouped_sums import how_many, read_codes, release_counts, weights_of
from discreet.learning.inference.noise_law import chance_beyond, quantile
from discreet.picture import new_figure
from discreet.privacy.promises import events
from discreet.privacy.promises.receipt import Receipt

_CLEAR = 4.0  # people at risk, in standard deviations of the noise of their number: with fewer, the curve ends
_FEWEST = 5.0
MOST_TIMES = 1000
"""Covariances between all times are computed when the counts are paid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalCurve:
    """The share that has not had the event after each time, as far as people at risk stand out from the noise."""

    times: Floats
    survival: Floats
    """NaN where nothing is known."""
    at_risk: Floats
    log_covariance: Floats
    """Of the logarithms of the shares: sampling and noise."""
    noise_log_covariance: Floats
    event: events.Gaussian

    def band(self, confidence: Number = "0.95", *, of: str = "population") -> Floats:
        """An array (times, 2): a 95 % interval at each time, within 0 and 1; from 0 to 1 where nothing is known."""
        level = float(number(confidence, "confidence"))
        if not 0 < level < 1:
            raise BadParameter("confidence", confidence, "must lie between 0 and 1")
        if of not in {"population", "table"}:
            raise BadParameter("of", of, 'must be "population" or "table"')
        used = self.log_covariance if of == "population" else self.noise_log_covariance
        away = quantile(level) * np.sqrt(np.diag(used))
        share = np.clip(self.survival, 1e-9, 1 - 1e-9)
        with np.errstate(invalid="ignore", over="ignore"):
            factor = np.exp(away / -np.log(share))  # on the scale of log(-log): ends stay within 0 and 1
            ends = np.stack([share**factor, share ** (1 / factor)], axis=1)
            near = np.stack([np.exp(-away), np.ones(len(away))], axis=1)  # where nearly nobody had the event
        ends = np.where((self.survival > 1 - 1e-6)[:, None], near, ends)
        return np.asarray(np.where(np.isnan(self.survival)[:, None], [0.0, 1.0], ends))

    def median(self) -> float:
        """The first time after which at most half are left; infinite if the curve does not come so far."""
        below = np.flatnonzero(self.survival <= 0.5)
        return float(self.times[below[0]]) if len(below) else math.inf

    def restricted_mean(self, until: float | None = None, confidence: Number = "0.95") -> tuple[float, float, float]:
        """The mean time before the event up to ``until`` (by default the last known time), with its interval."""
        known = int(np.sum(~np.isnan(self.survival)))
        last = self.times[known - 1] if until is None and known else until
        if not known or last is None or last > self.times[known - 1]:
            return math.nan, 0.0, math.inf
        steps = np.diff(np.minimum(np.concatenate([[0.0], self.times[:known]]), last))
        left = np.concatenate([[1.0], self.survival[: known - 1]])
        mean = float(steps @ left)
        weight = (steps * left)[1:]
        variance = float(weight @ self.log_covariance[: known - 1, : known - 1] @ weight)
        away = quantile(float(number(confidence, "confidence"))) * variance**0.5
        return mean, max(mean - away, 0.0), min(mean + away, float(last))

    def plot(self, ax: Any = None) -> Any:
        """The curve with its band, as a Figure of matplotlib; in ``ax``, if that is given."""
        figure = new_figure(6, 4) if ax is None else None
        ax = figure.subplots() if figure is not None else ax
        ends = self.band()
        ax.step(self.times, self.survival, where="post")
        ax.fill_between(self.times, ends[:, 0], ends[:, 1], step="post", alpha=0.25)
        ax.set(xlabel="time", ylabel="share without the event", ylim=(0, 1))
        return ax if figure is None else figure

    def __repr__(self) -> str:
        lines = ["time  share  95% interval (population)"]
        for time, share, (low, high) in zip(self.times, self.survival, self.band(), strict=True):
            shown = "nothing known" if math.isnan(share) else f"{share:.3f}  {low:.3f} to {high:.3f}"
            lines.append(f"{significant(time, 6)}  {shown}")
        return "\n".join(lines)


def kaplan_meier(
    times: Any, happened: Any, *, edges: Any = None, budget: Budget, unit: Any = None,
    receipt: Receipt | None = None,
) -> SurvivalCurve:  # fmt: skip
    """The survival curve at the public times ``edges``; ``happened`` is true where the event was seen, else censored.

    >>> from discreet.privacy.promises.measures import GDP
    >>> curve = kaplan_meier(np.arange(1000) % 10 + 1, np.ones(1000), edges=range(1, 11), budget=GDP(5))
    >>> bool(0.4 < curve.survival[4] < 0.6)
    True
    """
    codes, ends = _cells(times, happened, edges)
    cells = 2 * len(ends)
    released = release_counts(codes, cells, weights_of(unit, len(codes)), budget, receipt)
    had, lost = released.values.reshape(2, -1)
    return _curve(ends, had, lost, released.deviation, event_of(budget))


def log_rank(
    times: Any, happened: Any, groups: Any, *, keys: Sequence[Any] | None = None,
    edges: Any = None, budget: Budget, unit: Any = None, receipt: Receipt | None = None,
) -> TestResult:  # fmt: skip
    """Whether two groups have the same curve: the log-rank test at public times, the noise counted.

    >>> from discreet.privacy.promises.measures import GDP
    >>> arm = np.arange(6000) % 2
    >>> times = np.arange(6000) % 9 + 1 + 2 * arm
    >>> log_rank(times, np.ones(6000), arm, keys=[0, 1], edges=range(1, 10), budget=GDP(5)).p_value < 0.001
    True
    """
    codes, ends = _cells(times, happened, edges)
    places = read_codes(groups, keys, "keys", len(codes))
    if how_many(keys) != 2:
        raise BadParameter("keys", keys, "must be two groups")
    cells = 2 * len(ends)
    both = np.where((codes >= 0) & (places >= 0), places * cells + codes, -1)
    released = release_counts(both, 2 * cells, weights_of(unit, len(codes)), budget, receipt)
    flat = released.values

    def excess(values: Floats) -> tuple[float, float, Floats]:
        had, lost = values.reshape(2, 2, -1)[:, 0], values.reshape(2, 2, -1)[:, 1]
        risk = np.cumsum((had + lost)[:, ::-1], axis=1)[:, ::-1]
        whole = np.maximum(risk.sum(axis=0), 1.0)
        share = np.clip(risk[1] / whole, 0.0, 1.0)
        all_had = had.sum(axis=0)
        ties = np.clip((whole - all_had) / np.maximum(whole - 1, 1.0), 0.0, 1.0)
        variance = float(np.sum(np.maximum(all_had, 0.0) * share * (1 - share) * ties))
        return float(np.sum(had[1] - all_had * share)), variance, risk

    observed, variance, risk = excess(flat)
    noise_of_risk = released.deviation * cells**0.5
    if not (risk[:, 0] > max(_CLEAR * noise_of_risk, _FEWEST)).all():
        return TestResult(name="Log-rank test", p_value=1.0, statistic=math.nan, is_known=False, event=event_of(budget))
    step = 1e-4 * max(released.deviation, 1e-3)
    slopes = np.array([(excess(flat + step * one)[0] - observed) / step for one in np.eye(len(flat))])
    spread = variance + released.deviation**2 * float(slopes @ slopes)
    z = observed / max(spread, 1e-300) ** 0.5
    counts = (float(risk[0, 0]), float(risk[1, 0]))
    return TestResult(
        name="Log-rank test", p_value=chance_beyond(abs(z)), statistic=z, groups=counts, event=event_of(budget)
    )


def _cells(times: Any, happened: Any, edges: Any) -> tuple[NDArray[np.int64], Floats]:
    """The cell of each person: events by time first, then those who were lost; -1 where a time is no number."""
    must = "must be public times in ascending order, at least two, the last one not below any time that matters"
    try:
        ends = numbers(list(edges))
    except (TypeError, BadData):
        raise BadParameter("edges", edges, must) from None
    if ends.ndim != 1 or len(ends) < 2 or not np.isfinite(ends).all() or not (np.diff(ends) > 0).all() or ends[0] <= 0:
        raise BadParameter("edges", edges, must)
    if len(ends) > MOST_TIMES:
        raise BadParameter("edges", len(ends), f"must be at most {MOST_TIMES:,} times")
    when, seen = numbers(times), numbers(happened)
    if when.ndim != 1 or seen.shape != when.shape:
        raise BadData("times and happened must be flat lists of one length")
    place = np.searchsorted(ends, when, side="left")
    late = place >= len(ends)  # beyond the last edge: lost at the last
    place = np.minimum(place, len(ends) - 1)
    is_event = (seen == 1) & ~late
    codes = np.where(is_event, place, len(ends) + place)
    return np.where(np.isnan(when) | np.isnan(seen), -1, codes).astype(np.int64), ends


def _curve(ends: Floats, had: Floats, lost: Floats, deviation: float, event: events.Gaussian) -> SurvivalCurve:
    many = len(ends)
    risk = np.cumsum((had + lost)[::-1])[::-1]
    spread = deviation * np.sqrt(2.0 * np.arange(many, 0, -1))
    clear = np.cumprod(risk > np.maximum(_CLEAR * spread, _FEWEST)).astype(bool)
    at_risk = np.where(clear, risk, 1.0)
    hazard = np.clip(np.where(clear, had / at_risk, 0.0), -0.5, 0.95)
    logs = np.cumsum(np.log1p(-hazard))
    kept = 1 - hazard
    later = np.triu(np.ones((many, many)))  # j >= i: counts that are in the number at risk at i
    by_lost = (had / at_risk**2 / kept)[:, None] * later
    by_had = by_lost - np.diag(1 / at_risk / kept)
    moved = np.tri(many) @ np.hstack([by_had, by_lost])
    noise = deviation**2 * moved @ moved.T
    # the noise of the number of events and of those at risk are both in Greenwood's sum, which is kept above 0
    greenwood = np.cumsum(np.maximum(hazard, 0.0) / (at_risk * kept))
    sampling = np.minimum.outer(greenwood, greenwood)
    survival = np.minimum.accumulate(np.minimum(np.exp(logs), 1.0))
    return SurvivalCurve(
        times=ends, survival=np.where(clear, survival, np.nan), at_risk=np.maximum(risk, 0.0),
        log_covariance=sampling + noise, noise_log_covariance=noise, event=event,
    )  # fmt: skip
