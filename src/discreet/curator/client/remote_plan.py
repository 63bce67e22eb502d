"""A plan of a curator: what each question gets, shown before anything is paid; then all of them for one price.

Promise: a release is charged once, under its key, however often the connection breaks. It is planned there as it was
shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.curator.client.remote_answer import RemoteAnswer, RemotePreview, answers_of
from discreet.curator.client.transport import Transport, new_key
from discreet.query.answer.several import Several
from discreet.session.plan_summary import Planned, PlanSummary, read_summary


@dataclass(frozen=True, slots=True, repr=False)
class RemotePlan(Planned):
    """Questions to a curator with the error that each will have, for one price; read like a plan of a ``Session``."""

    transport: Transport
    path: str
    """Where it is paid."""
    body: Mapping[str, Any]
    """What is asked."""
    queries: tuple[Any, ...]
    summary: PlanSummary
    previews: Several[RemotePreview] = field(compare=False)
    """Error bars of each question, and what would be left; the cost is that of all together."""

    @classmethod
    def shown(cls, transport: Transport, path: str, body: Mapping[str, Any], queries: tuple[Any, ...]) -> RemotePlan:
        """The plan that a curator would make of this. Free."""
        reply = transport.post(f"{path}/preview", body)
        previews = Several(map(RemotePreview.of, reply["questions"]))
        return cls(transport, path, body, queries, read_summary(reply["plan"]), previews)

    def release(self, *, key: str | None = None, fresh: bool = False) -> tuple[RemoteAnswer, ...]:
        """Pay once, then answer all; for nothing where the same plan was paid for, unless ``fresh``."""
        return answers_of(self.transport.post(self.path, {**self.body, "key": new_key(key), "fresh": fresh}))
