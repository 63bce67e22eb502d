"""A stream with noise: exact rows, fresh noise on each, estimates; nothing leaves before its state is recorded.

Guarantee: all answers together, over the whole horizon, are ρ-zCDP (discrete Gaussian noise) or ε-differentially
private (discrete Laplace noise), also when later values depend on earlier answers. Proof: release.md.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from threading import RLock
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.continual.caps import Capped, Caps, Place
from discreet.continual.record import Record, check_latest, was_closed
from discreet.continual.strategies import Process, Strategy
from discreet.errors import BadData, BadParameter, NotATheorem, StaleState
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.base.mechanism import check_receipt
from discreet.mechanisms.statistics.budget import Noise
from discreet.noise import additive
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.receipt import Receipt
from discreet.progress import Progress
from discreet.randomness import Bits, SystemBits

VERSION = 2
_PIECE = 1 << 14  # steps at once
_STORE = 1 << 8  # numbers drawn ahead
_NO_COPIES = "a stream can be neither copied nor pickled: two copies would answer twice for one payment"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is fixed before the first value: the rows that get noise, and the noise."""

    strategy: Strategy
    noise: Noise
    delta: Fraction = Fraction(0)
    """For keys that nobody listed."""
    wide: bool = False
    """Whether values and noise may be larger than 64 bits: exact Python integers, nothing is cut."""

    @property
    def event(self) -> events.Event:
        """What the whole stream writes into the ledger, once: a promise that holds for adaptive streams too.

        Keys that nobody listed have noise that is not shown, so that stream is interactive; the others are not.
        """
        match self.noise.price:
            case ZCDP(rho=rho):
                kept: events.Event = events.ZCDP(rho, self.delta)
            case Pure(epsilon=epsilon):
                kept = events.Approx(epsilon, self.delta) if self.delta else events.Pure(epsilon)
        return events.Interactive(kept) if self.delta else kept

    @property
    def cost(self) -> str:
        """The price in words."""
        return self.noise.cost if not self.delta else f"{self.noise.cost}, delta {float(self.delta):.3g}"

    def start(self, keys: int) -> Process:
        """A new process of the strategy."""
        return self.strategy.start_wide(keys) if self.wide else self.strategy.start(keys)

    def fingerprint(self) -> str:
        """What two plans must agree on to go on with one state."""
        return f"{self.strategy!r}; {self.noise!r}; {self.delta}{'; wide' if self.wide else ''}"


class Stream:
    """A stream under way. It can be neither copied nor used after a fork; ``save`` and ``restore`` go by its record."""

    __slots__ = (
        "_bits", "_drawn", "_keys", "_most", "_name", "_plan", "_position", "_process", "_receipt", "_record",
        "_rows", "_unsure", "lock",
    )  # fmt: skip

    def __init__(
        self, plan: Plan, keys: int, record: Record | None = None, bits: Bits | None = None, *, name: str = ""
    ) -> None:
        self._plan = plan
        self._keys = keys
        self._record = record
        self._name = name
        self._most = 0 if plan.wide else plan.strategy.largest_value
        self._rows: Process = plan.start(keys)
        self._bits = SystemBits() if bits is None else bits
        self._drawn: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._position = 0
        self._receipt: Receipt | None = None
        self.lock = RLock()
        """Held for a whole step, by whoever prepares one too."""
        self._process = os.getpid()
        self._unsure = False
        if record is not None and (record.position() or record.closed()):
            raise BadParameter("record", "one that is in use", "must be new; go on from its latest state with restore")

    @property
    def plan(self) -> Plan:
        """What is fixed in advance."""
        return self._plan

    @property
    def position(self) -> int:
        """How many steps have been answered."""
        return self._position

    @property
    def keys(self) -> int:
        """How many columns there are."""
        return self._keys

    @property
    def record(self) -> Record | None:
        """Who keeps the position; without one the stream cannot be saved."""
        return self._record

    def pay(self, receipt: Receipt) -> None:
        """Use a receipt for the whole stream, before its first step."""
        with self.lock:
            if self._position or self._receipt is not None:
                raise BadParameter("receipt", "a second one", "must be used once, before the first step")
            check_receipt(receipt).redeem(self._plan.event)
            self._receipt = receipt
            receipt.when_ended(self._close)

    def _close(self) -> None:
        """What was paid for has ended: the record remembers it. A step under way is finished first."""
        with self.lock:
            if self._record is not None:
                self._record.close()

    def check(self, steps: int) -> None:
        """Refuse what must not be pushed, before any value is looked at."""
        if os.getpid() != self._process:
            raise NotATheorem("a stream belongs to the process that opened it; restore it here from its record")
        if (self._receipt is not None and self._receipt.ended) or (self._record is not None and self._record.closed()):
            raise was_closed()
        horizon = self._plan.strategy.horizon
        if horizon is not None and self._position + steps > horizon:
            raise NotATheorem(
                f"this stream was priced for {horizon} steps, and {self._position} are done; open another one, "
                "or leave the horizon out"
            )

    def push(self, values: Integers, extra: Callable[[Floats], dict[str, Any]] | None = None) -> Floats:
        """The estimates after each of these steps; values have one line for each step. Recorded, then handed out.

        ``extra`` makes what else is to be recorded with the state, from the estimates.
        """
        with self.lock:
            self.check(len(values))
            return self.go_on(values, extra)

    def go_on(self, values: Integers, extra: Callable[[Floats], dict[str, Any]] | None = None) -> Floats:
        """The same for whoever holds the lock, and has called ``check`` since."""
        if self._unsure:
            raise StaleState("a step failed, so this stream is over; restore it from its record, or open another")
        exact = values if self._plan.wide else self._cut(values)
        before, self._unsure = self._position, True  # until all of it is done: a step must not be half taken
        estimates = self._steps(exact)
        self._position += len(exact)
        beside = extra(estimates) if extra is not None else {}
        if self._record is not None:
            self._record.advance(self._position, self._written(beside), after=before)
        self._unsure = False
        return estimates

    def _cut(self, values: Integers) -> Integers:
        if values.size == 1 and -self._most <= values.item() <= self._most:  # quickly
            return values
        return np.clip(values, -self._most, self._most)

    def _steps(self, values: Integers) -> Floats:
        if len(values) <= _PIECE:
            return self._step(values)
        with Progress(None) as progress:
            out = []
            for start in range(0, len(values), _PIECE):
                progress.step(f"step {self._position + start} of {self._position + len(values)}")
                out.append(self._step(values[start : start + _PIECE]))
            return np.concatenate(out)

    def _step(self, values: Integers) -> Floats:
        rows = self._rows.measure(values)
        return self._rows.estimate(rows + self._noise(rows.shape), len(values))

    def _noise(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Fresh noise: each number is drawn once and used once. Few at a time come from a store of some more."""
        size = math.prod(shape)
        if size > len(self._drawn):
            self._drawn = self._draw(max(size, min(_STORE, self._position)))
        taken, self._drawn = self._drawn[:size], self._drawn[size:]
        return taken.reshape(shape)

    def _draw(self, size: int) -> NDArray[np.int64]:
        noise = self._plan.noise
        if isinstance(noise, Gaussian):
            return np.asarray(additive.gaussian(noise.sigma_squared, size, self._bits))
        return np.asarray(additive.laplace(noise.scale, size, self._bits))

    def widen(self, keys: int) -> Floats:
        """So many more columns, all zero so far: they get the noise of all past steps; their estimates now.

        For keys that appear later. Whatever is drawn here is part of the state, and recorded with the next step.
        """
        fresh = Stream(self._plan, keys, None, self._bits)
        last = np.zeros((1, keys))
        for start in range(0, self._position, _PIECE):
            last = fresh._step(np.zeros((min(_PIECE, self._position - start), keys), dtype=np.int64))
        mine, new = self._rows.state(), fresh._rows.state()
        self._keys += keys
        self._rows = self._plan.start(self._keys)
        self._rows.load(_beside(mine, new))
        return np.asarray(last[-1])

    # --- saving -----------------------------------------------------------------------------------------------------

    def save(self) -> bytes:
        """The state that was recorded with the last step: as secret as the data, since it holds exact sums."""
        latest = None if self._record is None else self._record.latest()
        if latest is None:
            raise BadParameter("record", self._record, "must be given, and hold a step, for a stream to be saved")
        return latest

    def _written(self, extra: dict[str, Any]) -> bytes:
        return json.dumps(self.state() | {"extra": extra}, separators=(",", ":")).encode()

    def state(self) -> dict[str, Any]:
        """Where the stream stands, for JSON: as secret as the data. For records that hold several streams."""
        return {
            "version": VERSION,
            "plan": self._fingerprint,
            "keys": self._keys,
            "position": self._position,
            "rows": self._rows.state(),
        }

    @property
    def _fingerprint(self) -> str:
        return f"{self._name}{self._plan.fingerprint()}"

    def load(self, body: dict[str, Any]) -> None:
        """Go on from a state. Whoever calls this has checked with its record that the state is the last one."""
        if body["plan"] != self._fingerprint:
            raise BadParameter("state", "that of another stream", "must be saved by a stream with the same parameters")
        self._keys, self._position = body["keys"], body["position"]
        self._rows = self._plan.start(self._keys)
        self._rows.load(body["rows"])

    def _restore(self, saved: bytes, record: Record) -> dict[str, Any]:
        body = _read(saved)
        if body["plan"] == self._fingerprint:
            check_latest(record, body["position"], saved)
        self.load(body)
        self._record = record
        extra: dict[str, Any] = body["extra"]
        return extra

    @classmethod
    def restored(
        cls, plan: Plan, record: Record, saved: bytes | None = None, *, name: str = ""
    ) -> tuple[Stream, dict[str, Any]]:
        """A stream that goes on where its record stands; what else was written with the state comes back too."""
        if record.closed():
            raise was_closed()
        state = record.latest() if saved is None else saved
        if state is None:
            raise BadParameter("record", "an empty one", "must hold a state to restore")
        stream = cls(plan, 1, name=name)
        return stream, stream._restore(state, record)

    def __reduce__(self) -> NoReturn:
        raise NotATheorem(_NO_COPIES)


def _read(saved: bytes) -> dict[str, Any]:
    try:
        body = json.loads(saved)
        fits = body["version"] == VERSION and {"plan", "keys", "position", "rows", "extra"} <= set(body)
    except (ValueError, TypeError, KeyError):
        fits = False
    if not fits:
        raise BadData("the state is damaged, or was written by another version")
    result: dict[str, Any] = body
    return result


def _beside(mine: Any, new: Any) -> Any:
    """Two states of equal shape side by side, key by key: innermost lists of numbers per key are joined."""
    if isinstance(mine, dict):
        return {name: _beside(mine[name], new[name]) for name in mine}
    if isinstance(mine, list) and mine and isinstance(mine[0], list):
        return [_beside(a, b) for a, b in zip(mine, new, strict=True)]
    if isinstance(mine, list):
        return mine + new
    return mine


class OverStream:
    """What everything that is answered from one stream has: its plan, its price, how far it is, and its payment."""

    __slots__ = ("_capped", "_caps", "_cell", "_cost", "_event", "_story", "_stream", "_width")

    def __init__(self, stream: Stream, caps: Caps, cell: Fraction) -> None:
        self._stream = stream
        self._caps = caps
        self._cell = cell
        self._width = float(cell)
        self._capped: Capped | None = None
        self._event, self._cost = stream.plan.event, stream.plan.cost
        self._story = f"{stream.plan.strategy.story()}; {stream.plan.noise.story()}"

    @property
    def plan(self) -> Plan:
        """The strategy and its noise."""
        return self._stream.plan

    @property
    def event(self) -> events.Event:
        """What the whole stream writes into the ledger, once."""
        return self._event

    @property
    def cost(self) -> str:
        """The price of the whole stream in words."""
        return self._cost

    @property
    def caps(self) -> Caps:
        """How much one unit may add over the whole stream: what it is priced for, and what ``push_rows`` keeps."""
        return self._caps

    @property
    def position(self) -> int:
        """How many steps have been answered."""
        return self._stream.position

    def pay(self, receipt: Receipt) -> None:
        """Use a receipt for the whole stream, before its first step."""
        self._stream.pay(receipt)

    def save(self) -> bytes:
        """The state after the last step; as secret as the data."""
        return self._stream.save()

    def _take(self, rows: Iterable[tuple[Any, Place, int]]) -> dict[Place, int]:
        """The rows of the next step as exact sums, each unit within its caps; under the lock of the stream."""
        if self._capped is None:
            if self.position:
                raise NotATheorem(
                    "earlier steps came as values, so the units in them are not known; open another stream"
                )
            self._capped = Capped(self._caps)
        return self._capped.take(rows)

    def _check_values(self, steps: int) -> None:
        """Refuse what must not be pushed, and values where rows are capped: nobody knows who is in them."""
        self._stream.check(steps)
        if self._capped is not None and self.position:
            raise NotATheorem("earlier steps came as rows, whose units are capped; go on with push_rows")

    def _beside(self) -> dict[str, Any]:
        """What is recorded with the state: what each unit has used up."""
        return {} if self._capped is None else {"units": self._capped.state()}

    def _load_units(self, extra: dict[str, Any]) -> None:
        """Go on from what was recorded by ``_beside``."""
        if "units" in extra:
            self._capped = Capped.restored(self._caps, self.position, extra["units"])

    def __reduce__(self) -> NoReturn:
        raise NotATheorem(_NO_COPIES)
