"""Where people read it, a total of ROLLUP is labelled "all" for each key that it is over, and NULL is NULL."""

from __future__ import annotations

import discreet as dp


def test_only_the_keys_that_a_total_is_over_are_shown_as_all() -> None:
    rows = {"u": range(200), "a": ["x", None] * 100, "b": ["p", "p", "q", "q"] * 50}
    columns = {"a": dp.keys(["x", None]), "b": dp.keys(["p", "q"], nullable=False)}
    session = dp.Session(t=dp.table(rows, unit="u", max_rows=1, columns=columns), budget=dp.Pure(1000))
    answer = session.sql("SELECT a, b, COUNT(*) AS n FROM t GROUP BY ROLLUP (a, b) ORDER BY n DESC").release(
        epsilon=900
    )
    labels = [", ".join(answer._label(row, key) for key in ("a", "b")) for row in answer._kept]
    assert labels[0] == "all, all"
    assert sorted(labels[1:3]) == ["NULL, all", "x, all"]
    assert sorted(labels[3:]) == ["NULL, p", "NULL, q", "x, p", "x, q"]


def test_totals_are_printed_as_all_and_stay_none_in_data() -> None:
    rows = {"u": range(200), "a": ["x", None] * 100}
    session = dp.Session(
        t=dp.table(rows, unit="u", max_rows=1, columns={"a": dp.keys(["x", None])}), budget=dp.Pure(1000)
    )
    answer = session.sql("SELECT a, COUNT(*) AS n FROM t GROUP BY ROLLUP (a)").release(epsilon=900)
    assert [line.split()[0] for line in str(answer).splitlines()[1:4]] == ["x", "NULL", "all"]
    assert answer.totals == [frozenset(), frozenset(), frozenset({"a"})]
    assert answer["a"] == ["x", None, None]


def test_values_that_were_clamped_to_chosen_bounds_are_named() -> None:
    """A hundredth of the values is negative; the bounds do not reach them, and the answer says so."""
    rows = {"u": range(3000), "x": [-50.0 if i % 100 == 0 else 20.0 + i % 7 for i in range(3000)]}
    session = dp.Session(t=dp.table(rows, unit="u", max_rows=1), budget=dp.Pure(1))
    answer = session.sql("SELECT AVG(x) AS m, COUNT(*) AS n FROM t").release(epsilon=1)
    (note,) = (note for note in answer.notes if note.code == "values_clamped")
    assert note.fields["columns"] == ("m",)
    assert note.fields["low"] < 20
    assert note.fields["high"] > 26
    assert str(note) in "\n".join(answer.footer())
