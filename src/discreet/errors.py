"""Every error that discreet raises on purpose.

    DiscreetError
    ├── BadParameter        a parameter cannot be used; says which and what it must be
    ├── BadData             data of the wrong shape or type; says what it must be, never what it is
    ├── BadQuestion         a question that cannot be asked; says what and what to do instead
    │   └── Unsupported     SQL or a verb that is refused by name
    ├── EngineUnreachable   the engine's server does not answer; nothing was spent
    ├── ServiceBusy         a curator works for others; the message says on what; nothing was spent
    ├── EngineFailed        the engine could not compute; the text never depends on the data
    ├── NoEstimate          an estimate that was paid, from which no bounds follow
    ├── NoPrice             an accountant has no rule for an event
    ├── NotATheorem         a use that no theorem we know of allows
    ├── NoLaw               a mechanism whose output law is not written down cannot be checked exactly
    ├── OverBudget          the budget does not cover the cost; nothing was drawn
    ├── ReceiptRefused      a receipt was used before, or was paid for something else
    ├── StaleState          a saved stream is older than what was answered since
    ├── CuratorRefused      a curator's service refuses by itself: a bad token, too many requests
    ├── BadSignature        a receipt or card was changed, or was not signed by this ledger
    ├── LedgerError         the durable ledger refuses; nothing is released
    │   ├── LedgerBusy      others held it for too long; ask again
    │   ├── LedgerUnavailable  it cannot be read or written now
    │   ├── LedgerUnsafe    a setting or file that could lose a charge, or show the key
    │   ├── LedgerMismatch  it was rolled back or edited; the owner must act
    │   ├── KeyReused       a key came back with another question
    │   ├── NotRegistered   no such data set, population or analyst, or no permission to ask
    │   └── AlreadyProtected  these data have a budget; a second one takes the owner's decision
    ├── UnsafeRandomness    this source of bits may not make a release
    │   └── UnhealthySource a health test of the source failed
    ├── BeyondRange         a draw left the 64-bit range (probability below 2^-300)
    └── MissingExtra        an optional part is not installed

Promise: a message is made of parameters, prices and names that the caller gave; never of a data value, and
never of anything that depends on one. ``error.code`` and ``error.fields`` say what happened to programs; what to do
depends on where it is read, and is a message of its own (``error.fix``): ``error.text(Interface.COMMAND)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

from discreet.messages import Interface, Message, message

_SHOWN = 60


def _show(value: object) -> str:
    """The value as text, cut short: a message must stay a sentence whatever was passed in. Of a frame, its type."""
    if getattr(value, "shape", ()) or hasattr(value, "__arrow_c_stream__"):
        return f"a {type(value).__name__}"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = repr(value)
    except Exception:  # a caller's object may fail to print (integers inside may be too long): still name its type
        return f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def code_of(kind: str) -> str:
    """The name of a class of errors as a code.

    >>> code_of("OverBudget")
    'over_budget'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower()


class DiscreetError(Exception):
    """The root of all errors raised on purpose.

    >>> error = BadQuestion(
    ...     "AVG needs a number with bounds", message("declare_bounds", column="cost", expression="cost")
    ... )
    >>> error.code, error.text(Interface.COMMAND)
    ('bad_question', 'AVG needs a number with bounds; give --bounds cost=low:high, or write CLAMP(cost, low, high)')
    """

    FIELDS: ClassVar[tuple[str, ...]] = ()
    """The attributes that say more than the class does."""
    fix: Message | None = None
    """What to do, in the words of whoever reads it."""

    def __init__(self, what: str = "", fix: Message | None = None) -> None:
        super().__init__(what)
        if fix is not None:
            self.fix = fix

    @property
    def code(self) -> str:
        """The class as a stable name for programs."""
        return code_of(type(self).__name__)

    @property
    def fields(self) -> dict[str, Any]:
        """What programs need to know of it."""
        return {name: getattr(self, name) for name in self.FIELDS}

    def text(self, interface: Interface = Interface.PYTHON) -> str:
        """What happened and what to do, in the words of an interface."""
        what = self._what(interface)
        return what if self.fix is None else f"{what}; {self.fix.text(interface)}"

    def _what(self, interface: Interface) -> str:
        """What happened."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        return self.text()


class BadParameter(DiscreetError, ValueError):
    """A parameter cannot be used.

    >>> raise BadParameter("scale", -1, "must be above 0")
    Traceback (most recent call last):
        ...
    discreet.errors.BadParameter: scale is -1, but it must be above 0
    """

    FIELDS = ("name", "must")
    _shown: str = ""
    _missing: bool = False

    def __init__(self, name: str, value: object, must: str, fix: Message | None = None) -> None:
        self.name = name
        self.must = must
        self._shown = _show(value)
        self._missing = value is None or (isinstance(value, str) and not value)
        super().__init__(f"{name} is {self._shown}, but it {must}", fix)

    def renamed(self, name: str, note: str = "") -> BadParameter:
        """The same error under another name, such as its place in a file.

        >>> BadParameter("port", "x", "must be an integer").renamed("server.port", " (in curator.toml)").args[0]
        "server.port is 'x', but it must be an integer (in curator.toml)"
        """
        renamed = BadParameter(name, None, self.must + note, self.fix)
        renamed.args = (f"{name} is {self._shown}, but it {self.must}{note}",)
        renamed._shown, renamed._missing = self._shown, self._missing
        return renamed

    def _what(self, interface: Interface) -> str:
        if interface is Interface.COMMAND and self._missing and self.name.isidentifier():
            return f"--{self.name.replace('_', '-')} is not given: it {self.must}"
        return super()._what(interface)


class BadData(DiscreetError, ValueError):
    """Data of the wrong shape or type. The message says what it must be, and never holds a value of it."""


class BadQuestion(DiscreetError, ValueError):
    """A question that cannot be asked of these tables. Raised before data is touched; nothing was spent."""

    FIELDS: ClassVar[tuple[str, ...]] = ("column",)
    column: str | None = None
    """The column that was not found, if that is why."""


class Unsupported(BadQuestion):
    """A construct that is refused by name, with a hint at what to write instead.

    >>> raise Unsupported("a window function", "aggregate with GROUP BY instead")
    Traceback (most recent call last):
        ...
    discreet.errors.Unsupported: a window function cannot be asked here; aggregate with GROUP BY instead
    """

    FIELDS = ("what", "hint", "column")

    def __init__(self, what: str, hint: str) -> None:
        self.what = what
        self.hint = hint
        super().__init__(f"{what} cannot be asked here; {hint}")


class EngineUnreachable(DiscreetError):
    """The server that holds the data does not answer, or lets nobody in. Raised before anything is spent.

    >>> raise EngineUnreachable("the PostgreSQL server")
    Traceback (most recent call last):
        ...
    discreet.errors.EngineUnreachable: the PostgreSQL server cannot be reached; nothing was spent. ...
    """

    FIELDS = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(
            f"{what} cannot be reached; nothing was spent. Check that it runs and lets this role in, then ask again; "
            "the owner's log has the reason"
        )


class ServiceBusy(DiscreetError):
    """The service works for others, or for you, and the message says on what. Nothing was spent: ask again."""


class EngineFailed(DiscreetError):
    """The engine could not compute what was paid for. The charge stands; the message is the same whatever happened.

    Where no noise was drawn yet, ``again`` is a function that asks once more under the same payment: a local session
    sets it. It gives one answer at most.
    """

    FIELDS = ("again",)
    again: Callable[[], Any] | None = None

    def __init__(self) -> None:
        super().__init__(
            "the engine could not finish; what was spent stays spent. The owner's log has the kind of failure, unless "
            "the service itself ended"
        )


class NoEstimate(DiscreetError):
    """An estimate was paid for, and no value stands out from its noise. It follows from what was released."""

    def __init__(self) -> None:
        super().__init__(
            "the estimate was charged, and what was spent stays spent, but no value stands out from its noise; "
            "ask again with a larger epsilon, which is charged, too"
        )


class NoPrice(DiscreetError):
    """An accountant has no rule for this event, so it refuses to name a price."""


class NotATheorem(DiscreetError):
    """What was asked for is not covered by any theorem that we know of, so it is refused."""


class NoLaw(DiscreetError):
    """A mechanism whose output law is not written down cannot be checked exactly; audit it by samples."""


def _decimal_just_below(amount: object) -> str | None:
    """For who computed an amount in floats: what they meant, if it is a short decimal just below."""
    for value in _numbers(amount):
        meant = f"{float(value):.12g}"
        if len(meant) < 10 and Fraction(meant) < value and value - Fraction(meant) < Fraction(1, 10**12):
            return meant
    return None


def _numbers(amount: object) -> list[Fraction]:
    """The numbers of an amount: epsilon, delta and rho."""
    names = getattr(type(amount), "__dataclass_fields__", {})
    return [value for name in names if isinstance(value := getattr(amount, name), Fraction)]


class OverBudget(DiscreetError):
    """The budget does not cover the cost. Raised before anything is drawn or spent.

    >>> from discreet.privacy.promises.measures import Pure
    >>> raise OverBudget(asked=Pure("0.5"), left=Pure("0.1"))
    Traceback (most recent call last):
        ...
    discreet.errors.OverBudget: asked for epsilon 0.5, and epsilon 0.1 is left; ask for less, or accept more error
    >>> raise OverBudget(asked=Pure(0.1 * 3), left=Pure("0.3"))
    Traceback (most recent call last):
        ...
    discreet.errors.OverBudget: asked for ...; floats such as 0.1 * 3 are not exact: write "0.3"
    """

    FIELDS = ("asked", "left")

    def __init__(self, *, asked: object, left: object) -> None:
        self.asked = asked
        self.left = left
        amounts, meant = _numbers(left)[:1], _decimal_just_below(asked)
        if amounts == [0]:
            fix = message("owner_raises")
        else:
            fix = message("smaller_epsilon") if meant is None else message("exact_decimal", meant=meant)
        super().__init__(f"asked for {asked}, and {left} is left", fix)


class ReceiptRefused(DiscreetError):
    """A receipt was used before, or was paid for something else. Nothing was drawn."""


class StaleState(DiscreetError):
    """A saved stream is older than what its record has seen: going on from it would answer the same steps twice."""


class CuratorRefused(DiscreetError):
    """A curator's service refuses before anything is asked or spent; ``kind`` says why, such as "Unauthorised".

    >>> raise CuratorRefused("Unauthorised", "a valid token is needed here")
    Traceback (most recent call last):
        ...
    discreet.errors.CuratorRefused: a valid token is needed here
    """

    FIELDS = ("kind",)

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class BadSignature(DiscreetError):
    """A signed receipt or release card was changed, or was not signed by this ledger."""


class LedgerError(DiscreetError):
    """The durable ledger refuses. Nothing is released. The message never holds the words of a database."""


class LedgerBusy(LedgerError):
    """Others held the ledger for too long, and nothing was spent; or the message says that a question was paid before.

    Ask again, with the same key if there was one.
    """


class LedgerUnavailable(LedgerError):
    """The ledger cannot be read or written now. If a charge was under way, it stands or not, once at most.

    Ask again with the same key: it is never charged twice.
    """


class LedgerUnsafe(LedgerError):
    """A setting or a file with which a charge could be lost, or the signing key seen. Nothing was opened."""


class LedgerMismatch(LedgerError):
    """The ledger is not the one that was seen before: rolled back, edited or damaged. The owner must act."""


class KeyReused(LedgerError):
    """An idempotency key came back with another question. Nothing was spent; choose a new key."""


class NotRegistered(LedgerError):
    """No such data set, population or analyst here, or no permission to ask. Nothing was spent."""


class AlreadyProtected(LedgerError):
    """These data have a budget already: a second one for the same people takes the owner's recorded decision."""


class UnsafeRandomness(DiscreetError):
    """This source of bits may not be used for a release: it can be predicted or replayed."""


class UnhealthySource(UnsafeRandomness):
    """A health test of a source of bits failed: the source repeats itself or is far from uniform."""


class BeyondRange(DiscreetError):
    """A draw left the 64-bit range. Its probability is below 2^-300: suspect the source of bits."""


def _packages_of(extra: str) -> list[str]:
    """What an extra installs, as the installed package says it: the same for a wheel and for a clone."""
    from importlib import metadata  # slow to import, and seldom needed

    try:
        needed = metadata.requires("discreet") or []
    except metadata.PackageNotFoundError:
        return []
    parts = (one.partition(";") for one in needed)
    return [name.strip() for name, _, marker in parts if re.search(f"extra == ['\"]{extra}['\"]", marker)]


class MissingExtra(DiscreetError, ImportError):
    """An optional part is not installed.

    >>> raise MissingExtra("plots", extra="plot")
    Traceback (most recent call last):
        ...
    discreet.errors.MissingExtra: plots: an optional part is missing (extra "plot"); pip install "matplotlib>=3.9"
    """

    FIELDS = ("extra",)

    def __init__(self, what: str, *, extra: str) -> None:
        self.extra = extra
        packages = " ".join(f'"{one}"' for one in _packages_of(extra)) or f'"discreet[{extra}]"'
        super().__init__(f'{what}: an optional part is missing (extra "{extra}"); pip install {packages}')
