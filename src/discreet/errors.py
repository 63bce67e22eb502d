"""Every error that discreet raises on purpose.

    DiscreetError
    ├── BadParameter        a parameter cannot be used; says which and what it must be
    ├── BadData             data of the wrong shape or type; says what it must be, never what it is
    ├── NoPrice             an accountant has no rule for an event
    ├── NotATheorem         a use that no theorem we know of allows
    ├── NoLaw               a mechanism whose output law is not written down cannot be checked exactly
    ├── OverBudget          the budget does not cover the cost; nothing was drawn
    ├── ReceiptRefused      a receipt was used before, or was paid for something else
    ├── UnsafeRandomness    this source of bits may not make a release
    │   └── UnhealthySource a health test of the source failed
    ├── BeyondRange         a draw left the 64-bit range (probability below 2^-300)
    └── MissingExtra        an optional part is not installed

Promise: a message is made of parameters, prices and names that the caller gave; never of a data value, and
never of anything that depends on one.
"""

from __future__ import annotations

_SHOWN = 60


def _show(value: object) -> str:
    """The value as text, cut short: a message must stay a sentence whatever was passed in."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = repr(value)
    except Exception:  # a caller's object may fail to print (integers inside may be too long): still name its type
        return f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


class DiscreetError(Exception):
    """The root of all errors raised on purpose."""


class BadParameter(DiscreetError, ValueError):
    """A parameter cannot be used.

    >>> raise BadParameter("scale", -1, "must be above 0")
    Traceback (most recent call last):
        ...
    discreet.errors.BadParameter: scale is -1, but it must be above 0
    """

    def __init__(self, name: str, value: object, must: str) -> None:
        self.name = name
        self.must = must
        super().__init__(f"{name} is {_show(value)}, but it {must}")


class BadData(DiscreetError, ValueError):
    """Data of the wrong shape or type. The message says what it must be, and never holds a value of it."""


class NoPrice(DiscreetError):
    """An accountant has no rule for this event, so it refuses to name a price."""


class NotATheorem(DiscreetError):
    """What was asked for is not covered by any theorem that we know of, so it is refused."""


class NoLaw(DiscreetError):
    """A mechanism whose output law is not written down cannot be checked exactly; audit it by samples."""


class OverBudget(DiscreetError):
    """The budget does not cover the cost. Raised before anything is drawn or spent.

    >>> raise OverBudget(asked="epsilon 1/2", left="epsilon 1/10")
    Traceback (most recent call last):
        ...
    discreet.errors.OverBudget: asked for epsilon 1/2, epsilon 1/10 is left; ask for less, or accept more error
    """

    def __init__(self, *, asked: object, left: object) -> None:
        self.asked = asked
        self.left = left
        super().__init__(f"asked for {asked}, {left} is left; ask for less, or accept more error")


class ReceiptRefused(DiscreetError):
    """A receipt was used before, or was paid for something else. Nothing was drawn."""


class UnsafeRandomness(DiscreetError):
    """This source of bits may not be used for a release: it can be predicted or replayed."""


class UnhealthySource(UnsafeRandomness):
    """A health test of a source of bits failed: the source repeats itself or is far from uniform."""


class BeyondRange(DiscreetError):
    """A draw left the 64-bit range. Its probability is below 2^-300: suspect the source of bits."""


class MissingExtra(DiscreetError, ImportError):
    """An optional part is not installed.

    >>> raise MissingExtra("plots", extra="plot")
    Traceback (most recent call last):
        ...
    discreet.errors.MissingExtra: plots need an optional part: pip install 'discreet[plot]'
    """

    def __init__(self, what: str, *, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} need an optional part: pip install 'discreet[{extra}]'")
