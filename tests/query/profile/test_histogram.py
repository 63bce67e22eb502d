"""A released histogram: its labels, its errors, and how it is read back from what a ledger keeps."""

from dataclasses import replace
from fractions import Fraction

import pytest

import discreet as dp
from discreet.errors import BadData
from discreet.query.answer.serialize import answer as written
from discreet.query.choose.classes import SIGNED_POWERS
from discreet.query.profile.histogram import UnitHistogram, _scale
from discreet.query.profile.questions import COUNT, KEY, About, table_questions
from discreet.session.price import Price
from discreet.session.program import Program, QueryStep, run


@pytest.mark.parametrize("budget", [dp.Pure(1), dp.ZCDP(1, "1e-6")], ids=str)
def test_what_was_stored_is_read_back(budget: dp.Pure | dp.ZCDP) -> None:
    visits = dp.table({"patient": [1, 2, 2], "paid": [True, False, None]}, unit="patient")
    session = dp.Session(visits=visits, budget=budget)
    asked = table_questions("visits", session.schemas)
    price = Price(rho="1e-4") if isinstance(budget, dp.ZCDP) else Price(1)
    quote = session._backend.quote([one.prepared for one in asked], price)
    answers = run(Program((QueryStep(quote, tuple(one.prepared.outcome for one in asked)),)), session._backend)
    for one, answer in zip(asked, answers, strict=True):
        first, second = UnitHistogram.of(one, answer), UnitHistogram.read(one, written(answer, "0.95"))
        assert first.counts == pytest.approx(second.counts)
        assert first.scale == pytest.approx(second.scale, rel=1e-2)
        assert (first.gaussian, first.labels) == (second.gaussian, second.labels)
        assert first.gaussian is isinstance(budget, dp.ZCDP)
    with pytest.raises(BadData, match="other keys"):
        UnitHistogram.read(asked[0], written(answers[0], "0.95") | {"rows": [[0, 1.0]]})


def test_labels_are_words() -> None:
    rows = UnitHistogram(About.ROWS, "", tuple(range(32)), (0.0,) * 32, 1.0, gaussian=False)
    assert [rows.label(i) for i in (0, 3, 31)] == ["1", "4 to 5", "65,536 and more"]
    keys = UnitHistogram(About.KEYS, "clinic", ("North", None), (3.0, -1.0), 1.0, gaussian=False)
    assert [keys.label(i) for i in (0, 1)] == ["North", "NULL"]
    assert keys.shares().tolist() == [1.0, 0.0]
    many = len(SIGNED_POWERS)
    values = UnitHistogram(About.VALUES, "x", (*SIGNED_POWERS, 99), (0.0,) * (many + 1), 1.0, gaussian=False)
    ends = [values.label(i) for i in (0, many // 2, many // 2 + 1, many // 2 + 3, many - 1, many)]
    assert ends == ["-1.15292e+18 and less", "0", "1", "4 to 7", "1.15292e+18 and more", "NULL"]
    assert [values.label(many // 2 - i) for i in (1, 2, 3)] == ["-1", "-3 to -2", "-7 to -4"]
    fine = replace(values, step=Fraction(1, 1 << 20))
    assert [fine.label(many // 2 + i) for i in (-21, 21)] == ["-2 to -1", "1 to 2"]
    assert (KEY, COUNT) == ("class", "n")


def test_a_bar_of_nothing_has_a_scale_that_can_be_divided_by() -> None:
    """For a very large price the error bar is 0."""
    assert _scale(0.0, "0.95", gaussian=False) > 0
