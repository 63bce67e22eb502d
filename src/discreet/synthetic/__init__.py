"""Many questions of one table: workloads answered directly, multiplicative weights, synthetic rows.

All that is needed of the data are exact marginals over a public domain (``MarginalSource``); every look at them is paid
for first, from one filter.
"""

from discreet.synthetic.columns import bins, categories, days, whole
from discreet.synthetic.direct import Answers, Plan, answer, plans
from discreet.synthetic.domain import Domain
from discreet.synthetic.hierarchical.nested import NestedPublication, NestedTables, nest, nested
from discreet.synthetic.hierarchical.plan import HierarchicalPlan, Publication, plan, publication
from discreet.synthetic.hierarchical.released import PublishedTables, publish
from discreet.synthetic.mwem import Weighted, mwem, whole_domain
from discreet.synthetic.pmw import Stream, pmw
from discreet.synthetic.predicate import predicate
from discreet.synthetic.private_domain import private_categories
from discreet.synthetic.result import Synthetic
from discreet.synthetic.source import MarginalSource, Rows, rows_of
from discreet.synthetic.synthesize import memory_for, synthesize
from discreet.synthetic.workload import count, marginal, prefixes, ranges, workload

__all__ = [
    "Answers",
    "Domain",
    "HierarchicalPlan",
    "MarginalSource",
    "NestedPublication",
    "NestedTables",
    "Plan",
    "Publication",
    "PublishedTables",
    "Rows",
    "Stream",
    "Synthetic",
    "Weighted",
    "answer",
    "bins",
    "categories",
    "count",
    "days",
    "marginal",
    "memory_for",
    "mwem",
    "nest",
    "nested",
    "plan",
    "plans",
    "pmw",
    "predicate",
    "prefixes",
    "private_categories",
    "publication",
    "publish",
    "ranges",
    "rows_of",
    "synthesize",
    "whole",
    "whole_domain",
    "workload",
]
