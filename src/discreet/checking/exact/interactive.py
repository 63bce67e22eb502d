"""Interactive mechanisms against every strategy: the adversary chooses its next move after each answer.

Promise: what is refuted is false. All runs over a few moves are tried, on both of two neighbours, with copies and saved
states among the moves; the probability of each transcript is a certified lower bound, exact where no noise is cut off.
The figures are those of the best strategy: at each point the adversary takes the move that is worth most. For a value
that adds up over transcripts (the hockey-stick divergence, the power sums behind Rényi divergences) that is the maximum
over moves of the sum over answers, from the last move back to the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, NoReturn

from discreet.answer import Answer
from discreet.checking.exact.laws import EPSILONS, NEGLIGIBLE, ORDERS, prices
from discreet.checking.exact.outputs import frozen
from discreet.checking.exact.privacy_claims import Claim, in_words
from discreet.checking.exact.report import Counterexample, Report
from discreet.errors import BadParameter, NoLaw, NoPrice, NotATheorem
from discreet.exact import Number, exp_up, integer, log_down, probability
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.additive.laplace import Laplace
from discreet.mechanisms.base.inputs import least_whole
from discreet.mechanisms.base.laplace_law import exp_bounds
from discreet.privacy.accountants.conversions import gdp_delta, zcdp_to_approx
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Pure, Renyi
from discreet.privacy.promises.record import show
from discreet.randomness import Bits
from discreet.randomness.replay import WholeDraws

Step = tuple[str, Hashable]
"""A move, and what was answered."""

Reading = Callable[[tuple[Step, ...]], Fraction]

MOST_RUNS = 1_000_000
_COPY, _SAVE, _RESTORE = "copy", "save", "restore"
_DONE = "done"
_ADDRESS = re.compile(r"0x[0-9a-f]+")  # where an object lies differs from run to run


@dataclass(frozen=True, slots=True)
class Refused:
    """What was answered was an error; that it came, and what it says, tells something too."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Interactive:
    """A mechanism that keeps a state and answers many times, as ``check`` takes it.

    ``open(data, bits)`` makes it, afresh; it must draw all its randomness from these bits. ``moves`` are what the
    adversary can do: functions of what was opened, whose results it sees. An error is an answer like any other.
    ``allowed(before, move)`` says which moves may follow others, by name: where a promise is about one unit, say how
    often that unit may come.

    With ``copy`` (such as ``copy.deepcopy``), with ``save``, and with ``restore(opened, saved)`` the adversary may also
    do that, at any time: it then talks to all objects that it has. ``state`` makes runs that stand at the same point
    count as one: a function of the object to all on which its later answers depend.

    >>> import copy
    >>> from discreet.checking import Interactive, check
    >>> from discreet.privacy.promises.measures import Pure
    >>> class Once:
    ...     '''Answers one question about a bit, by randomized response.'''
    ...
    ...     def __init__(self, answer, bits):
    ...         self.answer, self.bits, self.left = answer, bits, 1
    ...
    ...     def ask(self):
    ...         if not self.left:
    ...             return "nothing left"
    ...         self.left -= 1
    ...         return self.answer if self.bits.below(4) else 1 - self.answer
    >>> once = Interactive(open=Once, moves={"ask": Once.ask})
    >>> check(once, pairs=[(0, 1)], claim=Pure("1.1")).ok  # log 3 = 1.0986...
    True
    >>> twice = Interactive(open=Once, moves={"ask": Once.ask}, copy=copy.copy)
    >>> print(check(twice, pairs=[(0, 1)], claim=Pure("1.1")).smallest.shown)
    privacy loss at least 2.197225, after: copy: done; ask: 0; ask @1: 0
    """

    open: Callable[[Any, Bits], Any]
    moves: Mapping[str, Callable[[Any], Any]]
    steps: int = 3
    allowed: Callable[[tuple[str, ...], str], bool] | None = None
    copy: Callable[[Any], Any] | None = None
    save: Callable[[Any], Any] | None = None
    restore: Callable[[Any, Any], Any] | None = None
    state: Callable[[Any], Hashable] | None = None
    tail: Number = Fraction(1, 1 << 30)
    """Values of noise that are less likely than this together are not tried."""

    def __post_init__(self) -> None:
        integer(self.steps, "steps", at_least=1)
        probability(self.tail, "tail")
        if not self.moves or not all(callable(move) for move in self.moves.values()):
            raise BadParameter("moves", list(self.moves), "must be functions of what was opened, by name")
        if taken := {_COPY, _SAVE, _RESTORE} & set(self.moves):
            raise BadParameter("moves", sorted(taken), "must have other names: copy=, save= and restore= add these")
        if (self.save is None) != (self.restore is None):
            raise BadParameter("save", self.save, "must be given together with restore")


@dataclass(frozen=True, slots=True)
class Strongest:
    """What the best strategy shows: bounds from below, exact where no noise was cut off."""

    ratio: Fraction | None
    """The largest ratio of the probabilities of one transcript; None if one side never gives it."""
    transcript: tuple[Step, ...]
    """Where that is."""
    deltas: Mapping[Fraction, Fraction]
    """The hockey-stick divergence at each ε that was asked for."""
    powers: Mapping[int, Fraction]
    """Σ p^α q^(1-α) at each order that was asked for; Rényi divergence is its logarithm over α - 1."""
    stopped: Fraction
    """The hockey-stick divergence at the ε of ``reading``, if the adversary stops when it likes; 0 without one."""

    @property
    def loss(self) -> float:
        """The privacy loss of that transcript, rounded down."""
        return float("inf") if self.ratio is None else float(log_down(self.ratio))


def check_interactive(thing: Interactive, pairs: Iterable[tuple[Any, Any]], claim: Claim) -> Report:
    """A claim against every strategy on each pair of neighbours, both ways."""
    tried, counterexample = 0, None
    wanted = _conditions(claim)
    for first, second in pairs:
        tried += 1
        for left, right, way in ((first, second, ""), (second, first, " (second against first)")):
            shown = _refuted(thing, left, right, wanted)
            if shown is not None:
                counterexample = Counterexample(first, second, 1, shown[0], f"{shown[1]}{way}")
                break
        if counterexample is not None:
            break
    extra = "".join(f", {name}" for name, given in ((_COPY, thing.copy), ("save and restore", thing.save)) if given)
    return Report(
        subject=f"an interactive mechanism with the moves {', '.join(thing.moves)}{extra}",
        claim=in_words(claim),
        method=f"all strategies of {thing.steps} moves, both ways",
        tried=tried,
        counterexample=counterexample,
    )


def strongest(
    thing: Interactive,
    first: Any,
    second: Any,
    *,
    epsilons: Sequence[Fraction] = (),
    orders: Sequence[int] = (),
    reading: Reading | None = None,
    most_runs: int = MOST_RUNS,
) -> Strongest:
    """The best strategy that tells the first input from the second.

    ``reading`` is the ε that is shown after a transcript: what an odometer reads, or whatever claims to be one.

    >>> kept = Interactive(open=lambda x, bits: (x, bits), moves={"ask": lambda o: o[0] ^ (not o[1].below(4))}, steps=2)
    >>> strongest(kept, 0, 1).ratio  # two answers, each of which is three times as likely
    Fraction(9, 1)
    """
    game = _Game(thing, (first, second), most_runs)
    root = (((), Fraction(1)),), (((), Fraction(1)),)
    functionals: list[_Functional] = [_Hockey(exp_up(e) if e else Fraction(1)) for e in epsilons]
    functionals += [_Power(order) for order in orders]
    functionals += [_Stopped(reading)] if reading is not None else []
    worth, best = game.worth((), root, Fraction(0), functionals)
    deltas = {e: max(Fraction(0), value) for e, value in zip(epsilons, worth, strict=False)}
    powers = dict(zip(orders, worth[len(epsilons) :], strict=False))
    return Strongest(best.ratio, best.transcript, deltas, powers, worth[-1] if reading is not None else Fraction(0))


# --- what a transcript is worth -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Hockey:
    """max(0, p - g q): adds up over transcripts. ``lost`` is mass of q that no transcript has: g times it goes."""

    growth: Fraction

    def end(self, p: Fraction, q: Fraction, lost: Fraction, transcript: tuple[Step, ...]) -> Fraction:
        return max(Fraction(0), p - self.growth * q)

    def penalty(self, lost: Fraction) -> Fraction:
        return self.growth * lost


@dataclass(frozen=True, slots=True)
class _Power:
    """p^α q^(1-α), with q at its upper bound: adds up over transcripts."""

    order: int

    def end(self, p: Fraction, q: Fraction, lost: Fraction, transcript: tuple[Step, ...]) -> Fraction:
        if not p:
            return Fraction(0)
        if not q + lost:
            raise NoLaw("an answer that one side never gives has no Rényi divergence; claim epsilon and delta")
        return _short(p * (p / (q + lost)) ** (self.order - 1))

    def penalty(self, lost: Fraction) -> Fraction:
        return Fraction(0)


@dataclass(frozen=True, slots=True)
class _Stopped:
    """max(0, p - e^r q) with r the reading where the adversary stops."""

    reading: Reading

    def end(self, p: Fraction, q: Fraction, lost: Fraction, transcript: tuple[Step, ...]) -> Fraction:
        read = self.reading(transcript)
        return max(Fraction(0), p - (exp_up(read) if read else 1) * (q + lost))

    def penalty(self, lost: Fraction) -> Fraction:
        return Fraction(0)


_Functional = _Hockey | _Power | _Stopped


def _short(x: Fraction) -> Fraction:
    return Fraction((x.numerator << 300) // x.denominator, 1 << 300)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """The transcript whose probabilities differ most so far."""

    p: Fraction
    q: Fraction
    transcript: tuple[Step, ...]

    @property
    def ratio(self) -> Fraction | None:
        return self.p / self.q if self.q else None

    def beats(self, other: _Leaf) -> bool:
        return self.p * other.q > other.p * self.q


# --- all transcripts ------------------------------------------------------------------------------------------------

_Hidden = Sequence[tuple[tuple[int, ...], Fraction]]
"""How a side may have drawn so far, given what was answered: paths, and lower bounds of their probabilities."""


@dataclass(slots=True)
class _Game:
    thing: Interactive
    data: tuple[Any, Any]
    runs_left: int
    tail: Fraction = field(init=False)

    def __post_init__(self) -> None:
        self.tail = probability(self.thing.tail, "tail")

    def worth(
        self, before: tuple[Step, ...], hidden: tuple[_Hidden, _Hidden], lost: Fraction, wanted: Sequence[_Functional]
    ) -> tuple[list[Fraction], _Leaf]:
        """What the adversary can still make of each functional, from this transcript on."""
        p, q = (sum((weight for _, weight in side), Fraction(0)) for side in hidden)
        values = [functional.end(p, q, lost, before) for functional in wanted]
        best = _Leaf(p, q + lost, before)
        if len(before) == self.thing.steps:
            return values, best
        for move in self._moves(before):
            after, missing = self._answers(before, move, hidden)
            sums = [-functional.penalty(missing) for functional in wanted]
            for answer, sides in after.items():
                more, leaf = self.worth((*before, (move, answer)), sides, lost + missing, wanted)
                sums = [total + value for total, value in zip(sums, more, strict=True)]
                best = leaf if leaf.beats(best) else best
            values = [max(pair) for pair in zip(values, sums, strict=True)]
        return values, best

    def _moves(self, before: tuple[Step, ...]) -> list[str]:
        """What may be done next, by name: with whom, and which saved state, is part of the name."""
        thing, names = self.thing, tuple(name for name, _ in before)
        objects = 1 + sum(name.startswith((_COPY, _RESTORE)) and answer == _DONE for name, answer in before)
        saved = sum(name.startswith(_SAVE) and answer == _DONE for name, answer in before)
        each = [*thing.moves, *([_COPY] if thing.copy else []), *([_SAVE] if thing.save else [])]
        moves = [_named(name, place) for place in range(objects) for name in each]
        moves += [f"{_RESTORE} {place}" for place in range(saved)]
        return [name for name in moves if thing.allowed is None or thing.allowed(names, name)]

    def _answers(
        self, before: tuple[Step, ...], move: str, hidden: tuple[_Hidden, _Hidden]
    ) -> tuple[dict[Hashable, tuple[_Hidden, _Hidden]], Fraction]:
        """The paths of both sides by what is answered; and the mass of the second side that no path has."""
        laws = [self._law(side, data, before, move) for side, data in zip(hidden, self.data, strict=True)]
        missing = sum((w for _, w in hidden[1]), Fraction(0)) - sum((w for r in laws[1].values() for _, w in r))
        return {
            answer: (laws[0].get(answer, ()), laws[1].get(answer, ())) for answer in {**laws[0], **laws[1]}
        }, missing

    def _law(self, side: _Hidden, data: Any, before: tuple[Step, ...], move: str) -> dict[Hashable, _Hidden]:
        merged: dict[Hashable, dict[Hashable, tuple[tuple[int, ...], Fraction]]] = {}
        waiting = list(side)
        while waiting:
            path, weight = waiting.pop()
            try:
                answer, point = self._run(data, path, before, move)
            except Undecided as ended:
                waiting.extend(((*path, value), weight * chance) for value, chance in ended.outcomes if chance)
                continue
            points = merged.setdefault(answer, {})
            key = path if point is None else point
            kept, mass = points.get(key, (path, Fraction(0)))
            points[key] = (kept, mass + weight)
        return {answer: tuple(points.values()) for answer, points in merged.items()}

    def _run(
        self, data: Any, path: tuple[int, ...], before: tuple[Step, ...], move: str
    ) -> tuple[Hashable, Hashable | None]:
        """One run: what is answered to the last move, and where the objects stand then."""
        self.runs_left -= 1
        if self.runs_left < 0:
            raise NoLaw("there are too many runs to try: take fewer moves or steps, coarser noise, or give state=")
        bits = OutcomePath(path, self.tail)
        world = _World(self.thing, [self.thing.open(data, bits)])
        for name, answer in before:
            if world.do(name) != answer:
                raise BadParameter("open", self.thing.open, "must draw all its randomness from the bits it is given")
        answer = world.do(move)
        return answer, None if self.thing.state is None else world.point(self.thing.state)


@dataclass(slots=True)
class _World:
    """All objects that the adversary has, and all states that it saved."""

    thing: Interactive
    objects: list[Any]
    saved: list[Any] = field(default_factory=list)

    def do(self, move: str) -> Hashable:
        """Make a move, and see what is answered."""
        name, place = _read(move)
        try:
            return self._do(name, place)
        except NoLaw:
            raise
        except Exception as error:  # what it is, and what it says, is an answer
            return Refused(type(error).__name__, _ADDRESS.sub("0x", str(error)))

    def _do(self, name: str, place: int) -> Hashable:
        thing = self.thing
        if name == _COPY and thing.copy is not None:
            self.objects.append(thing.copy(self.objects[place]))
        elif name == _SAVE and thing.save is not None:
            self.saved.append(thing.save(self.objects[place]))
        elif name == _RESTORE and thing.restore is not None:
            self.objects.append(thing.restore(self.objects[0], self.saved[place]))
        else:
            answer = thing.moves[name](self.objects[place])
            return frozen(answer.value if isinstance(answer, Answer) else answer)
        return _DONE

    def point(self, state: Callable[[Any], Hashable]) -> Hashable:
        """Where everything stands, for runs that count as one."""
        return tuple(state(opened) for opened in self.objects), tuple(map(frozen, self.saved))


def _named(name: str, place: int) -> str:
    return f"{name} @{place}" if place else name


def _read(move: str) -> tuple[str, int]:
    """The inverse of ``_named``; restoring names a saved state."""
    if move.startswith(f"{_RESTORE} "):
        return _RESTORE, int(move.rsplit(maxsplit=1)[-1])
    name, _, place = move.rpartition(" @")
    return (name, int(place)) if name and place.isdigit() else (move, 0)


# --- claims ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Conditions:
    """What a claim says of each strategy: δ at some ε, Σ p^α q^(1-α) at some orders; each with the claim in words."""

    deltas: Mapping[Fraction, tuple[Fraction, str]]
    powers: Mapping[int, tuple[Fraction, str]]


def _conditions(claim: Claim) -> _Conditions:
    promises = prices(claim) if isinstance(claim, Event) else (claim,)
    deltas: dict[Fraction, tuple[Fraction, str]] = {}
    powers: dict[int, tuple[Fraction, str]] = {}
    for promise in promises:
        with suppress(NoPrice, NotATheorem):
            _add_conditions(promise, deltas, powers)
    if not deltas and not powers:
        raise BadParameter("claim", claim, "must be a promise such as Pure(1), or an event that an accountant prices")
    return _Conditions(deltas, powers)


def _add_conditions(
    promise: Measure, deltas: dict[Fraction, tuple[Fraction, str]], powers: dict[int, tuple[Fraction, str]]
) -> None:
    def at(epsilon: Fraction, delta: Fraction) -> None:
        if epsilon not in deltas or delta < deltas[epsilon][0]:
            deltas[epsilon] = delta, str(promise)

    def at_order(order: int, bound: Fraction) -> None:
        most = exp_up((order - 1) * bound)
        if order not in powers or most < powers[order][0]:
            powers[order] = most, str(promise)

    match promise:
        case Pure(epsilon=epsilon):
            at(epsilon, Fraction(0))
        case Approx(epsilon=epsilon, delta=delta):
            at(epsilon, delta)
        case ZCDP(rho=rho, delta=delta) if not delta:
            for order in ORDERS:
                at_order(order, rho * order)
        case ZCDP():
            for epsilon in EPSILONS:
                at(epsilon, zcdp_to_approx(promise, epsilon=epsilon).delta)
        case Renyi(bounds=bounds):
            for at_which, bound in bounds:
                if at_which.denominator == 1:
                    at_order(int(at_which), bound)
        case GDP():
            for epsilon in EPSILONS:
                at(epsilon, Fraction(gdp_delta(promise, epsilon).upper))


def _refuted(thing: Interactive, first: Any, second: Any, wanted: _Conditions) -> tuple[str, str] | None:
    shown = strongest(thing, first, second, epsilons=tuple(wanted.deltas), orders=tuple(wanted.powers))
    for epsilon, (delta, claim) in wanted.deltas.items():
        if not delta and (shown.ratio is None or shown.ratio > exp_up(epsilon) * (1 + NEGLIGIBLE)):
            return claim, f"privacy loss at least {shown.loss:.7g}, after: {written(shown.transcript)}"
        if shown.deltas[epsilon] > delta + NEGLIGIBLE:
            return claim, (
                f"delta at least {float(shown.deltas[epsilon]):.6g} at epsilon {show(epsilon)}; the privacy loss is "
                f"largest after: {written(shown.transcript)}"
            )
    for order, (most, claim) in wanted.powers.items():
        if shown.powers[order] > most + NEGLIGIBLE:
            divergence = float(log_down(shown.powers[order])) / (order - 1)
            return claim, f"Rényi divergence at least {divergence:.6g} at order {order}"
    return None


def written(transcript: Sequence[Step]) -> str:
    """A transcript in words.

    >>> written((("ask", 1), ("copy", "done"), ("ask @1", Refused("NotATheorem", "no"))))
    'ask: 1; copy: done; ask @1: NotATheorem'
    """
    return "; ".join(f"{move}: {answer.kind if isinstance(answer, Refused) else answer}" for move, answer in transcript)


# --- a source of bits that is told every outcome: the weights of one draw are lower bounds, exact for whole numbers ---

Outcome = tuple[int, Fraction]
"""A value, and a lower bound of its probability."""

_GRID = 64
_MOST_BITS = 12


class Undecided(BaseException):
    """A run has come to a draw that its path does not decide; no program may catch it, so it is no Exception."""

    def __init__(self, outcomes: tuple[Outcome, ...]) -> None:
        super().__init__()
        self.outcomes = outcomes


@dataclass(slots=True)
class OutcomePath(WholeDraws):
    """Plays a path of outcomes, one for each draw, and then asks which outcome comes next.

    >>> path = OutcomePath((2,), Fraction(1, 1000))
    >>> path.below(3), path.used
    (2, 1)
    """

    path: tuple[int, ...]
    tail: Fraction
    used: int = 0

    def bits(self, count: int) -> int:
        """So many uniform bits, as one draw."""
        if count > _MOST_BITS:
            raise NoLaw(f"{count} bits at once have too many outcomes to try; draw with bits.below, or additive noise")
        return self.below(1 << count)

    def bytes(self, count: int) -> bytes:
        """So many uniform bytes, as one draw."""
        return self.bits(8 * count).to_bytes(count, "big")

    def below(self, n: int) -> int:
        """A uniform integer in [0, n), as one draw."""
        return self._draw(lambda: _uniform(n))

    def laplace(self, scale: Fraction) -> int:
        """A value of the discrete Laplace law that is not far out."""
        return self._draw(lambda: _symmetric(Laplace(scale=scale, moves=1), self.tail))

    def gaussian(self, sigma_squared: Fraction) -> int:
        """A value of the discrete Gaussian law that is not far out."""
        return self._draw(lambda: _symmetric(Gaussian(sigma_squared=sigma_squared, moves_squared=1), self.tail))

    def geometric(self, scale: Fraction) -> int:
        """A value of the geometric law that is not far out."""
        return self._draw(lambda: _one_sided(scale, self.tail))

    def __copy__(self) -> OutcomePath:
        """Itself: copies of the system's source do not share bits either."""
        return self

    def __deepcopy__(self, memo: object) -> OutcomePath:
        return self

    def __reduce__(self) -> NoReturn:
        raise NoLaw("a path of outcomes cannot be stored; copy with copy.copy or copy.deepcopy")

    def _draw(self, outcomes: Callable[[], tuple[Outcome, ...]]) -> int:
        if self.used == len(self.path):
            raise Undecided(outcomes())
        self.used += 1
        return self.path[self.used - 1]


def _uniform(n: int) -> tuple[Outcome, ...]:
    return tuple((value, Fraction(1, n)) for value in range(n))


@lru_cache(maxsize=64)
def _symmetric(noise: Laplace | Gaussian, tail: Fraction) -> tuple[Outcome, ...]:
    reach = least_whole(lambda k: noise.tail_up(k) <= tail)
    return tuple((value, _down(noise.pmf(value)[0])) for value in range(-reach, reach + 1))


@lru_cache(maxsize=64)
def _one_sided(scale: Fraction, tail: Fraction) -> tuple[Outcome, ...]:
    reach = least_whole(lambda k: exp_bounds(-(k + 1) / scale).upper <= tail)
    stops = 1 - exp_bounds(-1 / scale).upper
    return tuple((value, _down(stops * exp_bounds(-value / scale).lower)) for value in range(reach + 1))


def _down(chance: Fraction) -> Fraction:
    """On a grid, so that products stay short."""
    return Fraction((chance.numerator << _GRID) // chance.denominator, 1 << _GRID)
