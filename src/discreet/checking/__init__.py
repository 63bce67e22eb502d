"""Every claim against small neighbours (exactly), and attacks by samples."""

from discreet.checking import attacks
from discreet.checking.exact.check import check, check_all
from discreet.checking.exact.interactive import Interactive
from discreet.checking.exact.queries import check_query
from discreet.checking.exact.replay import Tape, publish, replay
from discreet.checking.exact.report import Counterexample, Report
from discreet.checking.sampling.audit import AuditReport, audit
from discreet.checking.sampling.one_run import OneRunReport, audit_one_run
from discreet.checking.sampling.samples import Samples

__all__ = [
    "AuditReport",
    "Counterexample",
    "Interactive",
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
