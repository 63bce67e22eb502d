"""What is bought before synthetic rows, streams and trees: a profile, where caps or bounds of a table are open.

Promise: nothing is bought unless the whole price fits; what is left of the price pays for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from discreet.errors import BadParameter, EngineFailed
from discreet.exact import number
from discreet.session.price import Price

SHARE = Fraction(1, 10)
"""Of the price: what a profile costs, where none was bought before."""


def split(price: Price, parts: int = 1) -> tuple[Price, Price]:
    """What each of so many parts costs that are bought first, all together a tenth, and what is left for the rest."""
    if price.error is not None:
        raise BadParameter("error", price.error, "must be left out while a contribution bound or bounds are open")
    return price.times(SHARE / parts), price.times(1 - SHARE)


def note_of_first_payment(whole: Price, left: Price) -> tuple[str, ...]:
    """That a part of the price was spent on a profile; nothing, if none was.

    >>> note_of_first_payment(Price.of(1), Price.of("9/10"))
    ('epsilon 1/10 of it was spent on a profile, to choose contribution bounds and value bounds',)
    """
    before, after = whole.texts(), left.texts()
    amounts = [f"{name} {number(before[name]) - number(after[name])}" for name in ("epsilon", "rho") if name in before]
    spent = " and ".join(amounts)
    words = f"{spent} of it was spent on a profile, to choose contribution bounds and value bounds"
    return () if before == after else (words,)


@contextmanager
def going_on(then: Callable[[], Any]) -> Iterator[None]:
    """Where the engine fails on a profile that is bought first: asking again buys it under the same payment, and goes
    on with the rest of the price.
    """
    try:
        yield
    except EngineFailed as failed:
        if (first := failed.again) is not None:

            def again() -> Any:
                with going_on(then):
                    first()
                return then()

            failed.again = again
        raise
