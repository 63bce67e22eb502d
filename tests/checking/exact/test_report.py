"""Reports: the same text twice, the parts within, plain data, and HTML without surprises."""

import json

import pytest

from discreet.checking.exact.check import check, check_all
from discreet.checking.exact.report import Counterexample, Report, joined, written
from discreet.mechanisms.additive.laplace import laplace
from discreet.privacy.promises.measures import Pure

FOUND = Counterexample([1], [1, 2], 1, "outputs at most 1 apart", "the outputs are 2 apart")
FINE = Report("count", "at most 1", "all small data", tried=1234)
BAD = Report("<sum>", "at most 1", "all small data", tried=5, counterexample=FOUND)


@pytest.mark.slow
def test_reports_print_and_travel() -> None:
    report = check_all(
        {"fine": laplace(sensitivity=1, epsilon=1), "not": laplace(sensitivity=1, scale="1/2")}, claim=Pure(1)
    )
    assert not report.ok
    data = json.loads(report.to_json())
    assert [part["ok"] for part in data["parts"]] == [True, False]
    assert data["parts"][1]["counterexample"]["first"] == "0"
    assert "refuted" in report.to_html()
    assert "<script>" not in check(laplace(sensitivity=1, epsilon=1), claim=Pure(2)).to_html()


def test_as_text() -> None:
    assert str(FINE) == "ok: count\n  claimed: at most 1\n  tried:   1,234 pairs; all small data"
    assert str(BAD).splitlines()[3:] == [
        "  counterexample: [1]",
        "    and [1, 2]",
        "    are 1 apart; claimed outputs at most 1 apart; refuted: the outputs are 2 apart",
    ]


def test_a_part_that_is_refuted_refutes_the_whole() -> None:
    whole = joined("all", [FINE, joined("some", [FINE, BAD])])
    assert not whole.ok
    assert whole.tried == 1234 + 1234 + 5
    assert whole.smallest is FOUND
    assert str(whole).startswith("refuted: all\n  claimed: 2 claims")
    fine = joined("all", [FINE, FINE])
    assert fine.ok
    assert fine.smallest is None


def test_as_data() -> None:
    data = json.loads(joined("all", [FINE, BAD]).to_json())
    assert [part["counterexample"] is None for part in data["parts"]] == [True, False]
    assert data["parts"][1]["counterexample"] == {
        "first": "[1]", "second": "[1, 2]", "distance": "1", "claimed": FOUND.claimed, "shown": FOUND.shown,
    }  # fmt: skip


def test_html_is_escaped() -> None:
    page = BAD.to_html()
    assert "&lt;sum&gt;" in page
    assert "<sum>" not in page
    assert BAD._repr_html_() == page


def test_long_data_are_cut_and_broken_ones_are_named() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("a secret")

    assert written(Broken()) == "a Broken"
    assert written("x" * 1000) == repr("x" * 1000)[:400] + "..."
    assert written([1, 2]) == "[1, 2]"
