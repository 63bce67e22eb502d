"""A session: tables, an engine and one budget, in memory or in a ledger."""

from discreet.session.price import Price
from discreet.session.query import Query
from discreet.session.session import Session
from discreet.session.workload import Workload

__all__ = ["Price", "Query", "Session", "Workload"]
