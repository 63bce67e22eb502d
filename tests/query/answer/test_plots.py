"""Pictures of answers: drawn once, with labelled axes; two keys are grouped bars, numbers are a histogram."""

from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pyarrow as pa
import pytest

import discreet as dp

DATA = pa.table(
    {"who": list(range(8)), "shop": ["a", "b"] * 4, "size": ["s", "s", "m", "m"] * 2, "age": [10, 20, 30, 40] * 2}
)
COLUMNS = {"shop": dp.keys(["a", "b"]), "size": dp.keys(["s", "m", "l"]), "age": dp.keys([10, 20, 30, 40])}


def axes_of(keys: str) -> Any:
    session = dp.Session(t=dp.table(DATA, unit="who", columns=COLUMNS, max_rows=1), budget=dp.Pure(1))
    return session.sql(f"SELECT {keys}, COUNT(*) AS n FROM t GROUP BY {keys}").release(epsilon="0.5").plot("n").axes[0]


def test_no_picture_is_left_for_a_notebook_to_draw_again() -> None:
    mpl.use("agg")
    before = plt.get_fignums()
    axes = axes_of("shop")
    assert plt.get_fignums() == before
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("shop", "n")


def test_two_keys_are_grouped_bars_in_one_colour_for_each_value_of_the_second() -> None:
    axes = axes_of("shop, size")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["l", "m", "s"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b"]
    assert len(axes.patches) == 6
    middles = sorted(bar.get_x() + bar.get_width() / 2 for bar in axes.patches)
    assert middles == pytest.approx([-0.8 / 3, 0, 0.8 / 3, 1 - 0.8 / 3, 1, 1 + 0.8 / 3])


def test_numbers_stand_where_they_lie() -> None:
    axes = axes_of("age")
    assert [bar.get_x() + bar.get_width() / 2 for bar in axes.patches] == pytest.approx([10, 20, 30, 40])
    assert {round(bar.get_width(), 9) for bar in axes.patches} == {10}


@pytest.mark.parametrize(
    ("key", "first", "width"),
    [
        ("FLOOR(age / 20) * 20", 0, 20),
        ("age // 20 * 20", 0, 20),
        ("FLOOR(age)", 9.5, 1),
        ("ROUND(age / 20) * 20", 10, 20),
        ("WIDTH_BUCKET(age, 0, 60, 3)", 0.5, 1),
    ],
)
def test_bins_are_drawn_from_end_to_end(key: str, first: float, width: float) -> None:
    """Rounded values are the middles of their bins; whole numbers and numbers of bins are no bins."""
    columns = {**COLUMNS, "age": dp.bounds(10, 40)}
    session = dp.Session(t=dp.table(DATA, unit="who", columns=columns, max_rows=1), budget=dp.Pure(1))
    answer = session.sql(f"SELECT {key} AS bin, COUNT(*) AS n FROM t GROUP BY bin").release(epsilon="0.5")
    bars = answer.plot("n").axes[0].patches
    assert bars[0].get_x() == pytest.approx(first)
    assert {round(bar.get_width(), 9) for bar in bars} == {width}
