"""Profiles of a session's tables: bought once, kept with the session and its ledger, free afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from discreet.errors import BadData, BadParameter
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
    return f"profile({table}: {', '.join(map(_name, asked))})"


def _name(asked: Asked) -> str:
    return f"{asked.about.value} {asked.column}".strip()


def profile_order(session: Buyer, asked: Sequence[Asked], text: str, price: Price) -> Order:
    """The histograms with their price: no data is touched."""
    quote = session.quote([one.prepared for one in asked], price)
    return Order(quote, tuple(one.prepared.outcome for one in asked), lambda: text)


def buy_profile(
    session: Buyer, table: str, price: Price, columns: Sequence[str] | None, known: Profile | None = None
) -> Profile:
    """Pay for a profile of a table and release it; what is known already is not bought again."""
    if price.error is not None:
        raise BadParameter("error", price.error, "must be left out: a profile has a price")
    asked = questions_to_buy(session, table, columns, known)
    order = profile_order(session, asked, profile_text(table, asked), price)
    found: Profile = session.release(order, partial(Profile.of, table, asked))
    return found


def questions_to_buy(
    session: Buyer, table: str, columns: Sequence[str] | None, known: Profile | None
) -> tuple[Asked, ...]:
    """The histograms of a table, or of some columns, that are not known."""
    every = table_questions(table, session.schemas, columns)
    return tuple(one for one in every if known is None or not known.has(one))


def read_profile(
    session: Buyer, table: str, columns: Sequence[str] | None, stored: Sequence[Mapping[str, Any]], *, sizes: bool
) -> Profile | None:
    """A profile of these columns from its stored answers; None if it is of a table that was declared otherwise."""
    return _read(table, table_questions(table, session.schemas, columns, sizes=sizes), stored)


def stored_profile(
    session: Buyer, table: str, stored: Callable[[str], Sequence[tuple[str, Sequence[Mapping[str, Any]]]]]
) -> Profile | None:
    """All that was bought about a table before, as a ledger has it: of each histogram the newest one."""
    beginning = f"profile({table}: "
    every = {_name(one): one for one in table_questions(table, session.schemas)}
    found: Profile | None = None
    for text, answers in stored(beginning):
        names = _names(text.removeprefix(beginning).removesuffix(")"), sorted(every, key=len, reverse=True))
        one = None if names is None else _read(table, [every[name] for name in names], answers)
        if one is not None:
            found = one if found is None else found.joined(one)
    return found if found is not None and found.has(every[About.ROWS.value]) else None


def _read(table: str, asked: Sequence[Asked], stored: Sequence[Mapping[str, Any]]) -> Profile | None:
    try:
        return Profile.read(table, asked, stored)
    except BadData:
        return None


def _names(text: str, every: Sequence[str]) -> list[str] | None:
    """The names of which a text is made, with commas between them; None if there are others, which nobody asks now.

    >>> _names("a, b, c", ["b, c", "a"]), _names("a, d", ["a"])
    (['a', 'b, c'], None)
    """
    for name in every:
        if text == name:
            return [name]
        if text.startswith(f"{name}, ") and (rest := _names(text.removeprefix(f"{name}, "), every)) is not None:
            return [name, *rest]
    return None
