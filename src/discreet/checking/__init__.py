"""Every claim against small neighbours (exactly), and attacks by samples."""

from discreet.checking import attacks
from discreet.checking.audit import AuditReport, audit
from discreet.checking.check import check, check_all
from discreet.checking.one_run import OneRunReport, audit_one_run
from discreet.checking.queries import check_query
from discreet.checking.replay import Tape, publish, replay
from discreet.checking.report import Counterexample, Report
from discreet.checking.samples import Samples

__all__ = [
    "AuditReport",
    "Counterexample",
    "OneRunReport",
    "Report",
    "Samples",
    "Tape",
    "attacks",
    "audit",
    "audit_one_run",
    "check",
    "check_all",
    "check_query",
    "publish",
    "replay",
]
