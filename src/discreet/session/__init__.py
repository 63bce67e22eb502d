"""A session: tables, an engine and one budget, in memory or in a ledger."""

from discreet.session.session import Query, Session, Workload

__all__ = ["Query", "Session", "Workload"]
