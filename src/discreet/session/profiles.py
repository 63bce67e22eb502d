"""Profiles of a session's tables: bought once to be looked at, kept with the session and its ledger, free afterwards.

No query is answered with them: each chooses what is open in its own charge. Synthetic rows, streams of counts and trees
of a table whose contribution bound or value bounds are open are planned with its profile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from discreet.errors import BadData, BadParameter
from discreet.exact import Number
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.suggest import (
    Suggestion,
    bounds_words,
    find_column,
    rows_question,
    sizes_question,
    suggested,
    suggested_rows,
)
from discreet.query.estimate.prepare import Prepared, prepare
from discreet.query.plan.schema import Schema
from discreet.query.profile.profile import Profile
from discreet.query.profile.questions import About, Asked, table_questions
from discreet.query.run import Quote
from discreet.session.payment import SessionLedger
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
    session: Buyer,
    table: str,
    price: Price,
    columns: Sequence[str] | None,
    *,
    known: Profile | None = None,
    learn: Callable[[str, Profile], None] = lambda *_: None,
) -> Profile:
    """Pay for a profile of a table and release it; what is known already is not bought again.

    ``learn`` is called with it, also if the engine failed and was asked again.
    """
    if price.error is not None:
        raise BadParameter("error", price.error, "must be left out: a profile has a price")
    asked = questions_to_buy(session, table, columns, known)
    order = profile_order(session, asked, profile_text(table, asked), price)

    def shown(answers: tuple[TableAnswer, ...]) -> Profile:
        found = Profile.of(table, asked, answers)
        learn(table, found)
        return found

    found: Profile = session.release(order, shown)
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


class Profiled(Buyer):
    """The part of a ``Session`` that is about its tables as they are: profiles, and suggestions for declarations."""

    _schemas: dict[str, Schema]
    _ledger: SessionLedger | None
    _profiles: dict[str, Profile]

    def suggest_bounds(
        self,
        column: str,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> Suggestion:
        """Bounds for a column ("cost", or "visits.cost") as a private estimate, paid like any question.

        ``NoEstimate`` if no value stands out from the noise of what was paid for.
        """
        name, column = find_column(column, self._schemas)
        asked, step = sizes_question(name, column, self._schemas)
        quote = self.quote((prepare(asked),), Price.of(epsilon, delta, rho))
        order = Order(quote, (asked.outcome,), partial(bounds_words, name, column))
        found: Suggestion = self.release(order, lambda answers: suggested(f"{name}.{column}", step, answers[0]))
        return found

    def suggest_max_rows(
        self,
        table: str,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        level: Number = "0.95",
        most: int = 1000,
        where: str | None = None,
    ) -> int:
        """How many rows all but a few units have, as a private estimate, paid like any question.

        ``where``: among the rows that satisfy a condition, such as those of one day.
        """
        frame = self[table] if where is None else self[table].filter(where)  # type: ignore[index]
        asked = rows_question(frame, table, self._schemas[table].table, level, most)
        return suggested_rows(asked.release(epsilon, delta=delta, rho=rho), level)

    def profile(
        self,
        table: str,
        epsilon: Number | Price | None = None,
        *,
        delta: Number | None = None,
        rho: Number | None = None,
        columns: Sequence[str] | None = None,
    ) -> Profile:
        """A private profile of a table: rows per unit, groups per unit, and how keys and values are spread.

        Paid like any question, and kept: without a price it is the one that was bought last, which costs nothing.
        ``columns``: only these; fewer histograms are less noisy.

        >>> from discreet.query.plan.schema import table
        >>> from discreet.session.session import Session
        >>> from discreet.privacy.promises.measures import Pure
        >>> session = Session(visits=table({"patient": [1, 2, 2]}, unit="patient"), budget=Pure(2))
        >>> profile = session.profile("visits", epsilon=1)
        >>> profile is session.profile("visits"), session.remaining
        (True, Pure(epsilon=1))
        """
        if epsilon is not None or rho is not None:
            keep = self._profiles.__setitem__
            buy_profile(self, table, Price.of(epsilon, delta, rho), columns, learn=keep)
        if table not in self._schemas:
            raise BadParameter("table", table, f"must be one of {', '.join(self._schemas)}")
        found = self._known_profiles((table,)).get(table)
        if found is None:
            raise BadParameter("epsilon", None, f"must say what a profile of {table} may cost: none was bought yet")
        return found

    def learn_profile(
        self, table: str, columns: Sequence[str] | None, stored: Sequence[Mapping[str, Any]], *, sizes: bool = True
    ) -> None:
        """Use a profile that was bought elsewhere, from its stored answers. Costs nothing: they were released.

        ``sizes``: whether it has rows per unit; one without them only adds to another.
        """
        found = read_profile(self, table, columns, stored, sizes=sizes)
        if found is not None and (sizes or table in self._profiles):
            self._add_profile(table, found)

    def _known_profiles(self, tables: Sequence[str]) -> Mapping[str, Profile]:
        """The profiles of these tables that were bought, also those that only the ledger has."""
        for name in tables:
            if name not in self._profiles and not self._schemas[name].table.public:
                self._read_ledger(name)
        return self._profiles

    def _read_ledger(self, table: str) -> None:
        """Use what the ledger has of a table: all that was ever bought."""
        found = None if self._ledger is None else stored_profile(self, table, self._ledger.stored_after)
        if found is not None:
            self._profiles[table] = found

    def _add_profile(self, table: str, found: Profile) -> None:
        before = self._profiles.get(table)
        self._profiles[table] = found if before is None else before.joined(found)
