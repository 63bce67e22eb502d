"""Profiles of a curator's tables, found in its ledger: what synthetic rows are planned with where bounds are open.

Promise: what was released and stored is read; nothing is spent by reading it. No question is answered with them: each
chooses what is open in its own charge. Of several profiles the one that cost most is used, so that nobody can spoil
what another has bought with a cheap one.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from typing import Any

from discreet.errors import BadData, BadParameter
from discreet.ledger.records import ChargeRecord
from discreet.ledger.store import Ledger
from discreet.query.plan.schema import Schema
from discreet.query.profile.questions import table_questions
from discreet.session.session import Session


def needs_profile(schema: Schema) -> bool:
    """Whether the contribution bound of a table or bounds of a column are to be chosen."""
    return schema.table.caps.auto or any(one.auto for one in schema.table.columns.values())


class StoredProfiles:
    """The profiles of a data set that its ledger has. Any number of threads may use it."""

    def __init__(self) -> None:
        self._after = 0
        self._pending: set[int] = set()
        self._stored: list[tuple[ChargeRecord, list[dict[str, Any]]]] = []
        self._lock = threading.Lock()

    def read(self, ledger: Ledger, dataset: str, session: Session) -> None:
        """Let a session use the profiles that have stored answers, whichever server sold them. Nothing is spent."""
        with self._lock:
            many = len(self._stored)
            while lines := ledger.entries(after=self._after, kind=ChargeRecord.KIND):
                self._after = lines[-1].entry.sequence
                records = ((line.entry.sequence, ChargeRecord.read(line.entry)) for line in lines)
                self._pending |= {
                    number for number, one in records if one.dataset == dataset and "profile" in one.parameters
                }
            for number in sorted(self._pending):
                charge = ledger.charge(number)
                if not charge.pending:
                    self._pending.remove(number)
                    stored = {} if charge.answer is None else json.loads(charge.answer)
                    self._stored += [(charge.record, stored["answers"])] if "answers" in stored else []
            if len(self._stored) > many:
                for record, answers in sorted(self._stored, key=lambda one: one[0].price):
                    _learn(session, record.parameters, answers)


def _learn(session: Session, parameters: Any, stored: list[dict[str, Any]]) -> None:
    table, columns, sizes = str(parameters["profile"]), parameters["columns"], bool(parameters.get("sizes", True))
    with suppress(BadData, BadParameter, ValueError):  # it is of a table as it was declared before
        asked = {one.about.of(one.column) for one in table_questions(table, session.schemas, columns)}
        if {one["about"] for one in stored if "about" in one} <= asked:
            session.learn_profile(table, columns, stored, sizes=sizes)
