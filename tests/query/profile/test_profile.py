"""A profile as a user sees it: numbers with error bars, a table, a picture."""

import numpy as np
import pytest

import discreet as dp
from discreet.errors import BadParameter


@pytest.fixture(scope="module")
def profile() -> dp.Profile:
    rng = np.random.default_rng(1)
    people = np.repeat(np.arange(3000), rng.integers(1, 30, 3000))
    cost = rng.lognormal(3, 1, len(people))
    cost[rng.random(len(people)) < 0.25] = np.nan
    table = dp.table(
        {"patient": people, "clinic": rng.choice(["N", "S"], len(people)), "cost": cost},
        unit="patient",
        columns={"clinic": dp.keys(["N", "S"])},
    )
    return dp.Session(visits=table, budget=dp.Pure(20)).profile("visits", epsilon=20)


@pytest.mark.slow
def test_its_numbers_are_near_the_truth(profile: dp.Profile) -> None:
    """Each claim is off by at most its bar, at confidence 1 - 1e-7."""
    units, error = profile.units("0.9999999")
    assert abs(units - 3000) <= error
    share, bar = profile.nulls("cost", "0.9999999")
    assert abs(share - 0.25) <= bar + 0.02  # a unit weighs one: not quite the share of the rows
    assert profile.groups("clinic") is not None
    assert profile.groups("cost") is None
    keys = profile.keys("clinic")
    assert keys is not None
    assert abs(keys.shares()[0] - 0.5) < 0.1
    assert profile.cut(30).share < 0.02 < profile.cut(4).share


@pytest.mark.slow
def test_it_prints_and_draws(profile: dp.Profile) -> None:
    text = str(profile)
    assert "rows per unit" in text
    assert "values of cost" in text
    assert "NULL" in text
    assert "spent epsilon 20" in text
    pytest.importorskip("matplotlib")
    assert len(profile.plot().axes) == len(profile.histograms)


@pytest.mark.slow
def test_nulls_are_of_columns_of_values(profile: dp.Profile) -> None:
    with pytest.raises(BadParameter, match="must be a column of numbers"):
        profile.nulls("clinic")


def test_the_number_of_different_keys_is_a_lower_bound_that_is_near_where_units_are_many() -> None:
    rows = {"u": np.arange(20_000), "k": np.arange(20_000) % 300}
    own = dp.Session(t=dp.table(rows, unit="u", columns={"k": dp.unknown_keys()}), budget=dp.Pure(10))
    profile = own.profile("t", epsilon=10)
    many, error = profile.different_keys("k", "0.999999999")
    assert abs(many - 300) <= error + 1
    assert error < 20
    assert "different keys of k" in str(profile)
    with pytest.raises(BadParameter, match="whose keys are not listed"):
        profile.different_keys("u")


def test_classes_between_that_hold_nothing_take_one_line_and_the_number_of_keys_is_no_picture() -> None:
    rng = np.random.default_rng(1)
    rows = {"u": np.arange(6000), "x": rng.choice([-900.0, 5.0, 7.0], 6000), "k": rng.integers(0, 9, 6000)}
    own = dp.Session(t=dp.table(rows, unit="u", columns={"k": dp.unknown_keys()}), budget=dp.Pure(50))
    profile = own.profile("t", epsilon=50)
    text = str(profile).splitlines()
    start = text.index(next(line for line in text if line.startswith("values of x")))
    shown = [" ".join(line.split()[:3]) for line in text[start + 1 : start + 4]]
    assert shown == ["-1,024 to -512", "… 52 classes", "4 to 8"]
    assert any(line.startswith("different keys of k: at least") for line in text)
    pytest.importorskip("matplotlib")
    axes = profile.plot().axes
    assert len(axes) == len(profile.histograms) - 1
    assert max(len(one.get_xticks()) for one in axes) < 10


def test_two_columns_of_keys_that_nobody_lists_have_a_number_each() -> None:
    """Both are one work for the engine, released together: each histogram has its own number and noise."""
    rows = {"u": range(2000), "a": [f"a{i % 50}" for i in range(2000)], "b": [f"b{i % 7}" for i in range(2000)]}
    columns = {"a": dp.unknown_keys(), "b": dp.unknown_keys()}
    for budget, price in ((dp.Pure(10**6), {"epsilon": 10**4}), (dp.ZCDP(10**6, "1e-6"), {"rho": 10**5})):
        profile = dp.Session(t=dp.table(rows, unit="u", columns=columns), budget=budget).profile("t", **price)  # type: ignore[arg-type]
        assert [round(profile.different_keys(column)[0]) for column in "ab"] == [50, 7]


def test_a_unit_weighs_one_and_sizes_matter_most_whatever_the_noise() -> None:
    """Of a budget in rho too: a unit of several values counts with a part of one in each of them, as it is proved."""
    rows = {"u": [i // 4 for i in range(4000)], "x": [4 ** (i % 4) for i in range(4000)]}
    profile = dp.Session(t=dp.table(rows, unit="u"), budget=dp.ZCDP(10**6, "1e-6")).profile("t", rho=10**5)
    values = profile.values("x")
    assert values is not None
    assert values.values.sum() == pytest.approx(1000, abs=1)
    assert profile.sizes.histogram.variance < values.variance / 2
