"""How a budget is counted: limits, prices as amounts, and which sums of amounts are still within the limits.

Promise: ``fits`` says yes only while the sums that it is about stay within their limits; sums are exact, or rounded up.
A currency holds no state: a ``Filter`` and the ledger keep the sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.record import short_up

Amounts: TypeAlias = tuple[Fraction, ...]

BEYOND = Fraction(10**30)
"""Stands for an amount that no number is known for: above every limit, also one that is raised later."""


OFTEN = 10**9
"""More charges than anybody makes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be spent. Amounts are counted in accounts of ``together`` each, all together unless it is given.

    A charge is admitted while all amounts of one account, summed over every charge, are within limits; or if it is the
    first of all and its first account is within ``alone``, after which those of ``most`` still decide.

    >>> both = Limits((Fraction(1), Fraction(5)), together=1)
    >>> both.fits(both.nothing, (Fraction(2), Fraction(4))), both.fits(both.nothing, (Fraction(2), Fraction(6)))
    (True, False)
    """

    most: Amounts
    together: int = 0
    alone: Amounts = ()

    @property
    def nothing(self) -> Amounts:
        """What is used at first."""
        return (Fraction(0),) * len(self.most)

    @property
    def accounts(self) -> tuple[slice, ...]:
        """Which amounts are counted together."""
        if not self.together:
            return (slice(None),)
        return tuple(slice(at, at + self.together) for at in range(0, len(self.most), self.together))

    def fits(self, used: Amounts, amounts: Amounts) -> bool:
        """Whether these amounts can still be paid."""
        if not self.together:
            return fits(self.most, used, amounts)
        if self.alone and not any(used) and fits(self.alone, self.nothing[: self.together], amounts[: self.together]):
            return True
        return any(
            all(u + a <= limit for u, a, limit in zip(used[own], amounts[own], self.most[own], strict=True))
            for own in self.accounts
        )

    def times(self, used: Amounts, amounts: Amounts) -> int:
        """How often these amounts can still be paid, one time after the other; at most ``OFTEN``.

        >>> both = Limits((Fraction(1), Fraction(5)), together=1)
        >>> (
        ...     both.times(both.nothing, (Fraction(1, 3), Fraction(1))),
        ...     both.times(both.nothing, (Fraction(2), Fraction(6))),
        ... )
        (5, 0)
        """
        often = 0
        for own in self.accounts:
            sums = list(zip(used[own], amounts[own], self.most[own], strict=True))
            if all(u <= limit for u, _, limit in sums):
                often = max(often, min((math.floor((limit - u) / a) for u, a, limit in sums if a), default=OFTEN))
        return min(OFTEN, max(often, int(self.fits(used, amounts))))

    def within(self, sums: Amounts) -> bool:
        """Whether all sums of one account are within limits; in integers, since all of a long ledger is checked."""
        pairs = zip(sums, self.most, strict=True)
        fine = [u.numerator * limit.denominator <= limit.numerator * u.denominator for u, limit in pairs]
        size = self.together or len(fine)
        return any(all(fine[at : at + size]) for at in range(0, len(fine), size))

    def is_left(self, used: Amounts, account: slice) -> bool:
        """Whether an account, one of several, was left behind: one of its sums is above its limit."""
        return bool(self.together) and any(
            u > limit for u, limit in zip(used[account], self.most[account], strict=True)
        )

    def rest(self, used: Amounts) -> Amounts:
        """What is left of each limit; nothing of an account that has been left behind."""
        left = list(rest(self.most, used))
        for account in self.accounts:
            if self.is_left(used, account):
                left[account] = [Fraction(0)] * len(left[account])
        if self.alone and not any(used):
            left[: self.together] = self.alone
        return tuple(left)


@dataclass(frozen=True, slots=True)
class Currency:
    """How one rule counts: the limits, the price of an event as amounts, and amounts as a promise. It holds no state.

    >>> from discreet.privacy.budgets.filters import currency_of
    >>> from discreet.privacy.promises import events, measures
    >>> money = currency_of(measures.Pure(1))
    >>> used = add(money.limits.nothing, money.amounts(events.Laplace(scale=4)))
    >>> money.left(used), money.limits.fits(used, money.amounts(events.Pure("3/4")))
    (Pure(epsilon='3/4'), True)
    """

    name: str
    """What is counted. Amounts of one name may be added and compared."""
    limits: Limits
    amounts: Callable[[Event | Measure], Amounts]
    """The price of an event, or of anything that keeps a promise."""
    shown: Callable[[Amounts], Measure]
    """The amounts of one charge, as a promise."""
    concurrent: bool
    """Whether open interactive mechanisms may be interleaved."""
    shown_left: Callable[[Amounts], Measure] | None = None
    """What is left, as a promise, where that is written or rounded in another way."""
    shown_sum: Callable[[Amounts, Limits], Measure] | None = None
    """The sum of all charges, likewise."""
    interleaved: Callable[[Amounts], Amounts] | None = None
    """The amounts of a charge that is interleaved with an open mechanism, where that rules an account out."""
    by_account: Callable[[Amounts], tuple[Measure, ...]] | None = None
    """Amounts as one promise for each account, where there are several."""

    def left(self, used: Amounts) -> Measure:
        """What one further charge may cost."""
        return self.show_left(self.limits.rest(used))

    def show_left(self, amounts: Amounts) -> Measure:
        """What is left, as a promise."""
        return (self.shown_left or self.shown)(amounts)

    def charged(self, used: Amounts) -> Measure:
        """The sum of what was charged so far: bookkeeping, no promise about what was answered so far."""
        return self.shown(used) if self.shown_sum is None else self.shown_sum(used, self.limits)

    def left_by_account(self, amounts: Amounts) -> tuple[Measure, ...]:
        """What is left, in each account that is counted."""
        return (self.show_left(amounts),) if self.by_account is None else self.by_account(amounts)


def rest(limits: Amounts, used: Amounts) -> Amounts:
    """What is left, which rounding up may have made a hair less than nothing."""
    return tuple(max(limit - u, Fraction(0)) for limit, u in zip(limits, used, strict=True))


def fits(limits: Amounts, used: Amounts, amounts: Amounts) -> bool:
    """Whether these amounts can still be paid, each under its own limit."""
    return all(not a or u + a <= limit for u, a, limit in zip(used, amounts, limits, strict=True))


def add(used: Amounts, amounts: Amounts) -> Amounts:
    """What is used after a payment: the exact sum, or a hair more where its fraction would grow too long."""
    return tuple(short_up(u + a) for u, a in zip(used, amounts, strict=True))
