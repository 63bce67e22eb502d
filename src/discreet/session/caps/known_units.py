"""What a session has bought about the units of its tables, and the caps and bounds that follow from it.

Promise: it is paid for like any question, once, and free afterwards; nothing is bought unless the whole price of what
it is bought for fits the budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import Any, TypeAlias

from discreet.errors import BadParameter, OverBudget
from discreet.exact import Number, number
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import ZCDP, Approx
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.preview import Preview, preview
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
from discreet.query.lower.bounding import rows as most_rows
from discreet.query.plan.schema import Schema
from discreet.query.profile.choose import Chosen, choose, typical_rows
from discreet.query.profile.choose_bounds import units_to_see
from discreet.query.profile.predict import Known, share_of_the_least
from discreet.query.profile.profile import Profile
from discreet.query.profile.questions import Asked
from discreet.query.run import Quote, no_caps, quote
from discreet.session.caps.auto import (
    SHARE,
    all_rows,
    confidence_of_wide,
    corrected_preview,
    cut_of,
    finish,
    known_of,
    part_of,
    sizes_read,
    sizes_to_buy,
    split,
    unknown_yet,
    with_total,
)
from discreet.session.caps.auto_bounds import (
    Unknown,
    bounds_told,
    columns_read,
    columns_to_buy,
    with_bounds,
    without_bounds,
)
from discreet.session.caps.error_targets import choose_for_error
from discreet.session.caps.profiles import (
    Buyer,
    buy_profile,
    profile_order,
    questions_to_buy,
    read_profile,
    stored_profile,
)
from discreet.session.payment import Affords, BudgetStore, SessionLedger, fit_in_turn
from discreet.session.price import Price, Terms, wanted_errors
from discreet.session.query import Order, Query

Purchases: TypeAlias = Sequence[tuple[Sequence[Asked], Price]]
"""Histograms that are bought one after another, each for its price."""


class KnownUnits(Buyer):
    """The part of a ``Session`` that is about what is known of its units."""

    _schemas: dict[str, Schema]
    _terms: Terms
    _budget_store: BudgetStore
    _ledger: SessionLedger | None
    _profiles: dict[str, Profile]
    _sizes: dict[Any, Known]
    _in_vain: set[tuple[str, str]]
    """Columns whose values a release paid for."""

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

    def lacks(self, queries: Sequence[Query]) -> dict[str, tuple[str, ...]]:
        """The tables of which nothing was released that caps and bounds of queries are chosen from, each with the
        columns that the queries look at (only those that wait for bounds, if a profile is there): a profile of these
        is what a service buys first.
        """
        every = [one for query in queries for one in query.prepared.all]
        tables = {one.table for query in queries for one in query.waiting}
        tables |= {one.asked.tables[0] for one in every
                   if one.asked.caps.auto and len(one.asked.tables) == 1 and not self.knows(one)}  # fmt: skip
        found = {}
        for table in sorted(tables):
            read = {one.column for query in queries for one in query.waiting if one.table == table}
            if table not in self._profiles:
                read |= {column for one in every for column in columns_read(one, table)}
            schema = self._schemas[table]
            found[table] = tuple(name for name in schema.fields if name in read and name != schema.table.unit)
        return found

    def sizes_of_joined(self, query: Query) -> tuple[Asked, ...]:
        """What caps of a query about several tables are chosen from, where that is not known: no profile tells it."""
        return () if all(map(self.knows, _joined(query))) else sizes_to_buy(_joined(query)).asked

    def learn_sizes(self, query: Query, stored: Sequence[Mapping[str, Any]]) -> None:
        """Use the same as it was bought elsewhere, from its stored answers, unless tables were declared otherwise."""
        self._sizes |= sizes_read(_joined(query), stored) or {}

    def answer_anyway(self, table: str, columns: Sequence[str]) -> None:
        """Answer also if bounds of these columns cannot be chosen: whoever asks has paid for their values."""
        self._in_vain |= {(table, column) for column in columns}

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

    def _learn_first(self, columns: Sequence[str], table: str, found: Profile) -> None:
        """Use what a question has bought first."""
        self._add_profile(table, found)
        self.answer_anyway(table, columns)

    def _add_profile(self, table: str, found: Profile) -> None:
        before = self._profiles.get(table)
        self._profiles[table] = found if before is None else before.joined(found)

    # --- bounds that were left open -----------------------------------------------------------------------------------

    def _with_bounds(self) -> tuple[Mapping[str, Schema], tuple[Unknown, ...]]:
        """The schemas with bounds chosen where they are to be, and the columns for which nothing is known yet."""
        if not any(one.auto for schema in self._schemas.values() for one in schema.table.columns.values()):
            return self._schemas, ()
        return with_bounds(self._schemas, self._known_profiles(tuple(self._schemas)))

    def find_bounds(self, queries: Sequence[Query], price: Price) -> tuple[tuple[Query, ...], Price]:
        """Buy the values of columns whose bounds are to be chosen, if queries wait for that; the price that is left.

        Nothing is bought unless the whole price fits the budget.
        """
        queries = _asked_again(queries)  # something may have been bought since they were asked
        tables = sorted({one.table for query in queries for one in query.waiting})
        for table in tables:
            self._read_ledger(table)  # or by another process
        queries = _asked_again(queries)
        todo = self._columns_to_buy(queries)
        if todo:
            self._check_all_fit(queries, price, todo)
            first, price = split(price, len(todo))
            for table, columns in todo.items():
                learn = partial(self._learn_first, columns)
                buy_profile(self, table, first, columns, known=self._profiles.get(table), learn=learn)
        return _asked_again(queries), price

    def _columns_to_buy(self, queries: Sequence[Query]) -> dict[str, tuple[str, ...]]:
        """The columns, by table, whose values are bought for queries that wait for bounds."""
        keys = [key.name for query in queries for key in query.prepared.asked.keys]
        waiting = [one for query in queries for one in query.waiting]
        return {
            table: columns_to_buy([one for one in waiting if one.table == table], keys, self._schemas[table])
            for table in sorted({one.table for one in waiting})
        }

    def _check_all_fit(self, queries: Sequence[Query], price: Price, todo: Mapping[str, tuple[str, ...]]) -> None:
        """Refuses if the values of these columns, sizes of joined rows and then the answers do not fit."""
        unknown = [one for query in queries for one in _joined(query) if not self.knows(one)]
        first, left = self._purchases(price, todo, unknown)
        self.check_fits([one for query in queries for one in query.prepared.all], price, first, left)

    def _purchases(
        self, price: Price, todo: Mapping[str, tuple[str, ...]], unknown: Sequence[Prepared]
    ) -> tuple[Purchases, Price]:
        """What is bought first of columns and of the sizes of units, each for its price; and what is left then."""
        first, left = [], price
        if todo:
            each, left = split(price, len(todo))
            first = [(questions_to_buy(self, one, some, self._profiles.get(one)), each) for one, some in todo.items()]
        if sizes := sizes_to_buy(unknown).asked:
            each, left = split(left)
            first.append((sizes, each))
        return first, left

    def check_fits(self, questions: Sequence[Prepared], price: Price, first: Purchases, left: Price) -> None:
        """Refuses before a part of a price is spent, if not all of it can be: what is bought first, then the answer
        with what is left of the price.
        """
        bought = [([one.prepared for one in asked], part) for asked, part in first]
        self._check_in_turn([*bought, (_expected(questions), left)], self.quote(_expected(questions), price))

    def check_parts_fit(self, parts: Sequence[tuple[Query, Price]], whole: tuple[Query, Price]) -> None:
        """Refuses before the first of several queries is paid, if not all can be, with what each buys first.

        ``whole``: the query that they are parts of, with its price.
        """
        payments: list[tuple[Sequence[Prepared], Price]] = []
        for query, price in parts:
            every = query.prepared.all
            todo = self._columns_to_buy((query,))
            known = [
                one for one in every if not one.asked.caps.auto or self.knows(one) or {*one.asked.tables} & {*todo}
            ]
            first, left = self._purchases(price, todo, [one for one in every if one not in known])
            payments += [*(([one.prepared for one in asked], part) for asked, part in first), (_expected(every), left)]
        together = self.quote(_expected(whole[0].prepared.all), whole[1])
        if not fit_in_turn(self._budget_store, (together.plan.price,)):
            raise OverBudget(asked=together.price, left=self._budget_store.remaining)
        self._check_in_turn(payments, together)

    def _check_in_turn(self, payments: Sequence[tuple[Sequence[Prepared], Price]], whole: Quote) -> None:
        """Refuses if one of these payments, each as it will be made, would be refused when the others are paid."""
        paid: list[Any] = []
        for questions, price in payments:
            one = self._terms.quote(questions, price, lambda one: fit_in_turn(self._budget_store, (*paid, one)))
            paid.append(one.plan.price)
        # noise that is chosen later may take all of the δ that is named; one payment may take all of a budget's δ if it
        # is the first of all, of two the second has half (an analyst's share says nothing of whether it is the first)
        store, named = self._budget_store, sum(number(price.delta or 0) for _, price in payments)
        left = store.remaining
        new = isinstance(store, Affords) or left == self._terms.budget
        apart = new and self._terms.rule is Rule.EITHER and isinstance(left, Approx)
        too_much = apart and 2 * named > left.delta  # type: ignore[union-attr]
        if too_much or not fit_in_turn(store, paid):
            raise OverBudget(asked=whole.price, left=left)

    # --- caps that were left open -------------------------------------------------------------------------------------

    def known(self, question: Prepared) -> Known | None:
        """What was released about the units of a question."""
        return known_of(question, self._known_profiles(question.asked.tables), self._sizes)

    def knows(self, question: Prepared) -> bool:
        """Whether something was released about the units of a question."""
        return self.known(question) is not None

    def choose(self, question: Prepared, price: Price, *, correct: bool = True) -> Chosen:
        """The question with caps chosen from what was released about its units. No data is touched.

        If the price is an error, so that noise and cut together keep it.
        """
        known = self.known(question)
        if known is None:
            raise no_caps(question)
        if price.error is None:
            return choose(question, known, lambda questions: self.quote(questions, price), correct=correct)
        one = Price(rho="1/2") if isinstance(self._terms.budget, ZCDP) else Price(1)
        wanted = wanted_errors(question, price.error)
        plainly = partial(choose, question, known, lambda questions: self.quote(questions, one), correct=False)
        return choose_for_error(question, known, wanted, plainly)

    def find_out(self, questions: Sequence[Prepared], price: Price, text: str) -> Price:
        """Buy the sizes of the units of questions whose caps are to be chosen, where nothing is known of them.

        Returns the price that is left for the answers. Nothing is bought unless the whole price fits the budget.
        """
        unknown = [one for one in questions if one.asked.caps.auto and not self.knows(one)]
        found = sizes_to_buy(unknown)
        if not found.asked:
            return price
        text = f"sizes of units for: {text}"
        stored = None if self._ledger is None else self._ledger.stored(text)
        if stored is not None and (before := sizes_read(unknown, stored)) is not None:
            self._sizes |= before
            return price
        first, left = split(price)
        self.check_fits(questions, price, [(found.asked, first)], left)
        self.release(
            profile_order(self, found.asked, text, first), lambda answers: self._sizes.update(found.known_from(answers))
        )
        return left

    def rows_in_a_group(self, question: Prepared, chosen: Chosen | None) -> int | None:
        """How many rows a group has, about, if a profile says it of all rows of the question's table."""
        if chosen is not None or not all_rows(question):
            return None if chosen is None else chosen.rows
        known = self.known(question)
        return None if known is None else typical_rows(question, known)

    def rows_that_count(self, question: Prepared) -> int | None:
        """How many rows count in the smallest group, about, under the caps of a question; None if nobody knows."""
        known = self.known(question)
        if known is None or known.sizes.empty or not (all_rows(question) or not known.of):
            return None
        kept = known.sizes.kept(most_rows(question.asked.caps))
        return max(1, int(share_of_the_least(question.parts[0], known) * kept))

    def _preview_of(self, order: Order, answer: int, rows: int | None, *, remaining: str, affordable: bool) -> Preview:
        """Error bars of one answer of an order, as they will be after a correction; in a group of so many rows."""
        question = order.quote.questions[order.places[answer]]
        chosen = order.chosen[answer] if order.chosen else None
        notes = self._cut_known(question) if chosen is None else chosen.words
        found = preview(
            order.quote,
            question.parts[0],
            remaining=remaining,
            affordable=affordable,
            rows=self._rows_expected(question, chosen) if rows is None else rows,
            confidence=order.confidence,
            notes=notes,
        )
        words, wide = () if chosen is None else chosen.words, None
        if chosen is not None and chosen.corrected:
            asked = order.quote.questions[order.places[answer] + 2].parts[0]
            many, level = round(rows or chosen.rows or 1), confidence_of_wide(order.confidence)
            wide = preview(order.quote, asked, remaining="", affordable=True, rows=many, confidence=level)
        units = self._units_to_see(order) if order.waiting else 0
        return without_bounds(corrected_preview(found, chosen, rows, wide), question, order.waiting, words, units)

    def _units_to_see(self, order: Order) -> int:
        """How many units must have values alike for the bounds to be chosen that an order waits for."""
        tables = sorted({one.table for one in order.waiting})
        allowed = part_of(order.quote.allowance, SHARE / len(tables))
        found = []
        for table in tables:
            columns = tuple(one.column for one in order.waiting if one.table == table)
            asked = questions_to_buy(self, table, columns, self._profiles.get(table))
            found.append(units_to_see(asked, quote([one.prepared for one in asked], allowed, self._terms.neighbours)))
        return max(found)

    def _rows_expected(self, question: Prepared, chosen: Chosen | None) -> int | None:
        """How many rows count in a typical group, about."""
        rows, known = self.rows_in_a_group(question, chosen), self.known(question)
        if rows is None or known is None or known.sizes.empty:
            return rows
        return max(1, round(rows * known.sizes.kept(most_rows(question.asked.caps)) / known.sizes.rows()))

    def _cut_known(self, question: Prepared) -> tuple[str, ...]:
        """What declared caps and bounds cut, where a profile says it."""
        profiles = self._known_profiles(question.asked.tables)
        cut, words = cut_of(question, profiles)
        return () if cut is None else (*words, *bounds_told(question, self._schemas, profiles))

    # --- what an answer says of them ----------------------------------------------------------------------------------

    def _finished(self, order: Order, answers: tuple[TableAnswer, ...]) -> tuple[TableAnswer, ...]:
        """The answers with what was chosen for them, what their caps and bounds cut, or that this is unknown."""
        found = []
        for place, chosen in zip_longest(order.places, order.chosen):
            question = order.quote.questions[place]
            if chosen is None:
                one = self._with_cut(question, answers[place])
            else:
                one = finish(chosen, answers[place : place + len(chosen.questions)])
            told = bounds_told(question, self._schemas, self._profiles)
            found.append(replace(one, notes=(*one.notes, *told)))
        return tuple(found)

    def _with_cut(self, question: Prepared, answer: TableAnswer) -> TableAnswer:
        """An answer with what declared caps cut."""
        cut, notes = cut_of(question, self._known_profiles(question.asked.tables))
        told = replace(answer, cut=cut, notes=(*notes, *answer.notes))
        return with_total(told, question) if all_rows(question) else told


def _asked_again(queries: Sequence[Query]) -> tuple[Query, ...]:
    """The queries with bounds that can be chosen by now."""
    return tuple(query.again(query.plan) if query.waiting else query for query in queries)


def _expected(questions: Sequence[Prepared]) -> list[Prepared]:
    """The questions with caps that are likely, where they are to be chosen."""
    return [unknown_yet(one).questions[0] if one.asked.caps.auto else one for one in questions]


def _joined(query: Query) -> list[Prepared]:
    """The questions of a query that are about several tables and whose caps are to be chosen."""
    return [one for one in query.prepared.all if one.asked.caps.auto and len(one.asked.tables) > 1]
