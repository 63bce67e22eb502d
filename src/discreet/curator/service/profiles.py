"""Profiles that were bought from a curator: found in its ledger, so that caps can be chosen from them for everyone."""

from __future__ import annotations

import json

from discreet.ledger.records import ChargeRecord
from discreet.ledger.store import Ledger
from discreet.query.plan.schema import Schema
from discreet.session.session import Session


def needs_profile(schema: Schema) -> bool:
    """Whether caps of a table or bounds of a column are to be chosen."""
    return schema.table.caps.auto or any(one.auto for one in schema.table.columns.values())


def read_profiles(ledger: Ledger, dataset: str, session: Session) -> None:
    """Let a session use the last profile of each of its tables that has a stored answer. Nothing is spent."""
    missing = {name for name, one in session.schemas.items() if needs_profile(one) and not session.has_profile(name)}
    after = 0
    while missing and (lines := ledger.entries(after=after, kind=ChargeRecord.KIND)):
        after = lines[-1].entry.sequence
        for line in lines:
            record = ChargeRecord.read(line.entry)
            table = record.parameters.get("profile") if isinstance(record.parameters, dict) else None
            if record.dataset != dataset or table not in missing:
                continue
            answer = ledger.charge(line.entry.sequence).answer
            found = {} if answer is None else json.loads(answer)
            if "answers" in found:
                session.learn_profile(str(table), record.parameters["columns"], found["answers"])
