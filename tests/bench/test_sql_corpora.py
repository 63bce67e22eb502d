"""Questions like those of TPC-H, ClickBench, dashboards, surveys, hospitals: answers are right, refusals are known."""

import os
from functools import cache

import pytest

from bench.sql_corpora import DELTA, OURS, PRICE, Result, Text, results, rows, texts
from discreet import Approx, Session
from discreet.errors import BadQuestion

pytestmark = pytest.mark.slow

DASHBOARDS = {"102", "107", "129"}
NOT_YET: dict[str, set[str]] = {"tpch_like": set(), "clickbench_like": {"36"}, "surveys_like": set(),
                                "dashboards_like": DASHBOARDS, "hospital_like": {"census"},
                                "telco_like": {"tenure tsql"}, "analysts_like": set(),
                                "regions_like": set()}  # fmt: skip
"""Askable, and refused: keys that are functions of another key; forms that have another one here, which the refusal
names (regular expressions, capital letters, dates of their parts)."""
NAMES_NOTHING = {"tpch_like": {"3"}}
"""Groups of one person each, which nobody listed: they are planned like others, and none is ever named."""
FOLDERS = sorted(NOT_YET)


@cache
def session(folder: str) -> Session:
    _, declared = rows(OURS / folder)
    return Session(declared, budget=Approx(10**15, "0.5"), progress=False)


@pytest.mark.parametrize(("folder", "text"), [(f, t) for f in FOLDERS for t in texts(OURS / f)],
                         ids=lambda given: given if isinstance(given, str) else given.name)  # fmt: skip
def test_planned_or_refused_for_nothing(folder: str, text: Text) -> None:
    asking = session(folder)
    planned = text.refused is None or text.name in NAMES_NOTHING.get(folder, ())
    if planned and text.name not in NOT_YET[folder]:
        assert asking.sql(text.sql, dialect=text.dialect).preview(epsilon=PRICE, delta=DELTA).columns is not None
        return
    with pytest.raises(BadQuestion):
        asking.sql(text.sql)
    assert asking.remaining == asking.budget


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_answer_is_wrong(folder: str) -> None:
    """Every fourth question; all of them with DISCREET_AUDIT=1."""
    every = 1 if os.environ.get("DISCREET_AUDIT") else 4
    found: list[Result] = list(results(OURS / folder, every=every))
    assert [(one.text.name, one.why) for one in found if one.what == "wrong"] == []
    assert sum(one.what == "answered" for one in found) >= 3
