"""Profiles of a session's tables: bought once, kept with the session and its ledger, free afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from discreet.errors import BadParameter
from discreet.query.answer.answer import TableAnswer
from discreet.query.estimate.prepare import Prepared
from discreet.query.plan.schema import Schema
from discreet.query.profile.profile import Profile
from discreet.query.profile.questions import About, Asked, table_questions
from discreet.query.run import Quote
from discreet.session.price import Price
from discreet.session.query import Order


class Buyer(Protocol):
    """What is needed of a session to buy a profile."""

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """What is public about the tables."""

    def quote(self, questions: Sequence[Prepared], price: Price) -> Quote:
        """Noise and price of questions together."""

    def release(self, order: Order, shown: Callable[[tuple[TableAnswer, ...]], Any] = tuple) -> Any:
        """Pay and answer."""


def profile_text(table: str, asked: Sequence[Asked]) -> str:
    """What is asked, as a ledger keeps it: there is no SQL for it."""
    return f"profile({table}: {', '.join(f'{one.about.value} {one.column}'.strip() for one in asked)})"


def profile_order(session: Buyer, asked: Sequence[Asked], text: str, price: Price) -> Order:
    """The histograms with their price: no data is touched."""
    quote = session.quote([one.prepared for one in asked], price)
    return Order(quote, tuple(one.prepared.outcome for one in asked), lambda: text)


def buy_profile(session: Buyer, table: str, price: Price, columns: Sequence[str] | None) -> Profile:
    """Pay for a profile of a table and release it."""
    if price.error is not None:
        raise BadParameter("error", price.error, "must be left out: a profile has a price")
    asked = table_questions(table, session.schemas, columns)
    order = profile_order(session, asked, profile_text(table, asked), price)
    found: Profile = session.release(order, partial(Profile.of, table, asked))
    return found


def stored_profile(
    session: Buyer,
    table: str,
    columns: Sequence[str] | None,
    stored: Callable[[str], Sequence[Mapping[str, Any]] | None],
) -> Profile | None:
    """A profile that was bought before, as a ledger has it."""
    asked = table_questions(table, session.schemas, columns)
    found = stored(profile_text(table, asked)) or stored(
        profile_text(table, [one for one in asked if one.about is not About.DISTINCT])  # as older versions bought it
    )
    return None if found is None else Profile.read(table, asked, found)
