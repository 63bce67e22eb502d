"""Corrected groups: their error bars hold all rows wherever heavy users are, and the answer says of which columns.

Two kinds of users: many small ones in some groups, few large ones in the others. One factor is wrong for all of them.
"""

from __future__ import annotations

from functools import cache

import numpy as np

import discreet as dp
from discreet.query.answer.serialize import answer as as_json
from discreet.query.profile.rescale import Rescaled
from discreet.query.profile.shrink import CountTimesMean

GROUPS, LARGE, TIMES = 40, 10, 3
RNG = np.random.default_rng(6)
SIZES = np.concatenate([1 + RNG.poisson(2, 6000), RNG.integers(150, 250, 150)])
HOME = np.concatenate([RNG.integers(0, GROUPS - LARGE, 6000), RNG.integers(GROUPS - LARGE, GROUPS, 150)])
UNIT = np.repeat(np.arange(len(SIZES)), SIZES)
ROWS = {"unit": UNIT, "g": HOME[UNIT], "x": RNG.integers(0, 30, len(UNIT))}
EVERY = np.bincount(ROWS["g"], minlength=GROUPS)
ASKED = "SELECT g, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m, SUM(x) / COUNT(*) AS r FROM t GROUP BY g"


@cache
def answers() -> list[dp.TableAnswer]:
    columns = {"g": dp.keys(range(GROUPS)), "x": dp.bounds(0, 100, nullable=False)}
    table = dp.table(ROWS, unit="unit", max_rows="auto", columns=columns)
    own = dp.Session(t=table, budget=dp.Pure(100))
    own.profile("t", epsilon=20)
    return [own.sql(ASKED).release(epsilon="1/2") for _ in range(TIMES)]


def corrected(answer: dp.TableAnswer, name: str) -> Rescaled:
    part = answer.released[0].part
    found = part.recipes[part.names.index(name)]
    found = found.inner if isinstance(found, CountTimesMean) else found
    assert isinstance(found, Rescaled)
    return found


def held(low: object, high: object, every: object) -> int:
    return int(np.sum((np.asarray(low) <= every) & (every <= np.asarray(high))))


def test_intervals_hold_all_rows_where_heavy_users_have_groups_of_their_own() -> None:
    """120 intervals of counts, and as many of sums, that hold in 95 % each: 24 of either miss with a chance below 1e-8.

    The twin, from no correction to the square of the common factor, ends at a third of the rows of each group of large
    users: for one of the 30 to hold, the noise of its count would be 14 times its scale (a chance below 1e-6).
    """
    sums = np.bincount(ROWS["g"], weights=ROWS["x"], minlength=GROUPS)
    missed, square = {"n": 0, "s": 0}, 0
    for answer in answers():
        assert answer.cut.reach >= SIZES.max()
        for name, every in (("n", EVERY), ("s", sums)):
            low, high = np.array(answer.intervals()[name], dtype=float).T
            missed[name] += GROUPS - held(low, high, every)
        one = corrected(answer, "n")
        low, high = one.inner.ends(answer.released[0].estimates, 0.05)
        square += GROUPS - held(low, high * one.factor**2, EVERY)
    assert max(missed.values()) < 24
    assert square >= TIMES * LARGE - 1


def test_each_interface_says_which_error_bars_hold_what_is_beyond_a_cap() -> None:
    answer = answers()[0]
    words = "rows of each unit count; what is beyond is in the error bars of n and s and r, not in those of m"
    assert words in answer.counted
    for shown in (str(answer), answer._repr_html_(), str(as_json(answer, "0.95"))):
        assert words in shown
        assert "what is beyond is not in the error bars" not in shown


def test_a_preview_says_the_same_of_its_columns() -> None:
    columns = {"g": dp.keys(range(GROUPS)), "x": dp.bounds(0, 100, nullable=False)}
    own = dp.Session(t=dp.table(ROWS, unit="unit", max_rows="auto", columns=columns), budget=dp.Pure(100))
    own.profile("t", epsilon=20)
    query = own.sql("SELECT g, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t GROUP BY g")
    found = query.preview(epsilon="1/2")
    assert "what is beyond is in the error bars of n and s, not in those of m" in found.counted
    lone = own.sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g")
    assert "what is beyond is in the error bars" in lone.preview(epsilon="0.5").counted
    assert "what is beyond is not in the error bars" in own.sql("SELECT AVG(x) AS m FROM t").preview(epsilon=4).counted
