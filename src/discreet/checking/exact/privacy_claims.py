"""Claims of privacy against small neighbours: both output laws, exactly, against every price.

Promise: a counterexample is two inputs whose output laws are further apart than a price allows, in either direction; or
two inputs on which one fails and the other does not. Nothing is estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from discreet.checking.exact.calling import Watched
from discreet.checking.exact.laws import refutations
from discreet.checking.exact.outputs import Pair, pair_of, walked
from discreet.checking.exact.report import Counterexample, Report
from discreet.checking.exact.search import look
from discreet.checking.exact.small_data import Data, Space
from discreet.checking.exact.stability_claims import Failed, name_of, outcome
from discreet.errors import BadParameter, NoLaw
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.randomness import Bits
from discreet.stable.core.release import price
from discreet.stable.core.total import attempt

Claim = Event | Measure
Laws = Callable[[Any, Any], Pair]


def check_pairs(
    laws: Laws, pairs: Iterable[tuple[Any, Any]], claim: Claim, *, subject: str, distance: object = 1
) -> Report:
    """A claim against the given pairs of neighbours."""
    tried, counterexample = 0, None
    watched = Watched(laws)
    for first, second in pairs:
        tried += 1
        counterexample = refuted(watched, first, second, claim, distance)
        if counterexample is not None:
            break
    else:
        watched.conclude(subject)
    return Report(subject, in_words(claim), "the pairs that were given, both ways", tried, counterexample)


def check_rows(
    thing: Any, space: Space, event_at: Callable[[int], Claim | None], *, rows: int, most_pairs: int, searches: int,
    depth: int | None = None,
) -> Report:  # fmt: skip
    """The claims of a release (or of a mechanism that reads rows) against small neighbouring data."""
    watched = Watched(lambda a, b: pair_of(thing, a, b, depth=depth))
    searched = look(space, _Judge(watched, space, event_at), rows=rows, most_pairs=most_pairs, searches=searches)
    if searched.counterexample is None:
        watched.conclude(name_of(thing))
    return Report(
        subject=name_of(thing),
        claim=f"{space.metric}, one step: {_told_at_one(event_at)}",
        method=searched.method,
        tried=searched.tried,
        counterexample=searched.counterexample,
    )


class _Judge:
    """Compares the laws on two data sets with the claim at their distance; the same two laws are compared once."""

    def __init__(self, laws: Laws, space: Space, event_at: Callable[[int], Claim | None]) -> None:
        self._laws, self._space, self._event_at = laws, space, event_at
        self._fine: dict[Hashable, Pair] = {}

    def __call__(self, first: Data, second: Data) -> Counterexample | None:
        steps = self._space.distance(first, second)
        claim = None if steps == float("inf") else self._event_at(max(1, int(steps)))
        if claim is None:
            return None
        left, right = self._space.build(first), self._space.build(second)
        pair = attempt(lambda _: self._laws(left, right), None, None)
        key = None if pair is None else (int(steps), id(pair.first), id(pair.second), pair.needed)
        if key in self._fine:
            return None
        counterexample = refuted(self._laws, left, right, claim, int(steps))
        if pair is not None and key is not None and counterexample is None:
            self._fine[key] = pair  # held, so that no other law takes its place in memory
        return counterexample


def at_one_step(claim: Claim) -> Callable[[int], Claim | None]:
    """A claim that speaks of neighbours alone."""
    return lambda steps: claim if steps <= 1 else None


def refuted(laws: Laws, first: Any, second: Any, claim: Claim, distance: object) -> Counterexample | None:
    """The counterexample that two neighbours are, if they are one."""
    try:
        pair = laws(first, second)
    except NoLaw:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException:  # which of the two fails, and how, is compared
        left, right = (outcome(lambda data: laws(data, data), data) for data in (first, second))
        failed = [repr(x) if isinstance(x, Failed) else "did not fail" for x in (left, right)]
        if failed[0] == failed[1]:
            return None
        return Counterexample(
            first, second, distance, in_words(claim), f"the first {failed[0]}, the second {failed[1]}"
        )
    claimed_and_shown = dearer(pair.needed, claim) or _refuted_by(pair, claim)
    return None if claimed_and_shown is None else Counterexample(first, second, distance, *claimed_and_shown)


def dearer(needed: tuple[Event, ...] | None, claim: Claim) -> tuple[str, str] | None:
    """What additive noise costs where its inputs move so far, if that is more than was claimed.

    The noise attains its price: a Laplace pair its ε, a Gaussian pair its ρ, and independent ones the sum.
    """
    if not needed:
        return None
    total = needed[0] if len(needed) == 1 else events.Composed(needed)
    for rule in (price_basic, price_zcdp):
        true, claimed = _priced(rule, total), _priced(rule, claim) if isinstance(claim, Event) else claim
        if isinstance(true, Approx) and isinstance(claimed, Pure):
            claimed = Approx(claimed.epsilon, 0)
        if isinstance(true, Approx) and isinstance(claimed, Approx) and not (claimed.delta or true.delta):
            return None if true <= claimed else (str(claim_words(claimed)), _moved(needed, claim_words(true)))
        if isinstance(true, ZCDP) and isinstance(claimed, ZCDP) and not claimed.delta:
            return None if true <= claimed else (str(claimed), _moved(needed, str(true)))
    return None


def _priced(rule: Callable[[Event], Measure], event: Event) -> Measure | None:
    return attempt(rule, event, None)


def claim_words(promise: Approx) -> str:
    """(ε, 0) as ε."""
    return str(Pure(promise.epsilon)) if not promise.delta else str(promise)


def _moved(needed: tuple[Event, ...], price_of_it: str) -> str:
    moves = []
    for event in needed:
        match event:
            case events.DiscreteLaplace(sensitivity=by):
                moves.append(f"by {by} in L1")
            case events.DiscreteGaussian(sensitivity_squared=by):
                moves.append(f"by √{by} in L2")
    return f"the exact input of the noise moves {' and '.join(moves)}, which costs {price_of_it}"


def _refuted_by(pair: Pair, claim: Claim) -> tuple[str, str] | None:
    for p, q, way in ((pair.first, pair.second, ""), (pair.second, pair.first, " (second against first)")):
        for shown in refutations(claim, p, q, pair.missing):
            return shown.claim, f"{shown.shown}{way}"
    return None


def _told_at_one(event_at: Callable[[int], Claim | None]) -> str:
    claim = event_at(1)
    return "nothing" if claim is None else in_words(claim)


def in_words(claim: Claim) -> str:
    """A claim in words: the price of an event, or the promise itself."""
    if not isinstance(claim, Event):
        return str(claim)
    words = outcome(lambda _: str(price(claim)), None)
    if isinstance(words, Failed):
        words = outcome(lambda _: str(price_zcdp(claim)), None)
    return f"{claim} (unpriced)" if isinstance(words, Failed) else str(words)


def of_bits(draw: Callable[[Any, Bits], Any], depth: int) -> Laws:
    """The laws of a function of data and bits."""
    return lambda first, second: walked(draw, first, second, depth)


def natural_pairs(mechanism: Any) -> list[tuple[int, int]]:
    """Neighbouring inputs of additive noise on one whole number: as far apart as its event declares, and closer."""
    ran = mechanism.event
    match ran.event if isinstance(ran, events.Stated) else ran:
        case events.DiscreteLaplace(sensitivity=moved):
            reach = int(moved)
        case events.DiscreteGaussian(dimension=1) as event:
            reach = event.shift or 1
        case _:
            raise BadParameter(
                "pairs", None, "must be given for this mechanism: pairs of neighbouring inputs, or values= to make rows"
            )
    near = {reach, max(1, reach // 2), 1}
    return [pair for step in sorted(near) for pair in ((0, step), (7, 7 - step), (-3, step - 3))]
