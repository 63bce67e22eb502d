"""The attacks succeed without protection and stay within the bound with it.

Chances of a wrong verdict are below 1e-6 each: the margins are beyond five standard deviations of what is measured,
where a margin is given; audited rows have 1e-8.
"""

import json
import math

import matplotlib as mpl
import pytest

from discreet.checking import attacks
from discreet.checking.attacks.timing import rank_correlation
from discreet.checking.sampling.rate_band import trade_off
from discreet.privacy.promises.measures import Pure

mpl.use("Agg")


def five_sigma(p: float, trials: int) -> float:
    return 5 * math.sqrt(p * (1 - p) / trials)


def test_differencing() -> None:
    table = attacks.differencing(epsilon=2, trials=2000)
    assert table.row("exact").success == 1
    protected = table.row("noise")
    assert protected.bound is not None
    assert protected.success <= protected.bound + five_sigma(protected.bound, 2000)
    assert protected.success > 0.55  # it does tell something: the true rate is 0.63


def test_averaging() -> None:
    table = attacks.averaging(repeats=1000, trials=200)
    assert table.row("each").success == 1  # the mean of 1000 draws is within half of the truth up to 1e-25
    protected = table.row("all")
    assert protected.bound is not None
    assert protected.success <= protected.bound + five_sigma(protected.bound, 200)


def test_reconstruction() -> None:
    table = attacks.reconstruction(people=96)
    assert table.row("exact").success == 1
    assert table.row("noise of scale 1").success > 0.95
    protected = table.row("noise for all")
    assert protected.bound is not None
    assert protected.success <= protected.bound + five_sigma(protected.bound, 96)


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_membership(delta: object) -> None:
    table = attacks.membership(trials=300, delta=delta)  # type: ignore[arg-type]
    assert table.row("exact").success > 0.8  # about 0.99
    protected = table.row("noise")
    assert protected.bound is not None
    assert protected.success <= protected.bound + 0.15  # the threshold is estimated too
    table.plot()


def test_precision() -> None:
    table = attacks.precision(samples=8000)
    assert table.row("float").success > 2
    assert table.row("exact").success <= 1
    assert "2^" in table.note


def test_timing_by_bits_read() -> None:
    table = attacks.timing(trials=400)
    assert table.row("coin by coin, bits").success > 0.9
    assert table.row("ours, a bulk").success == 0
    assert rank_correlation([1, 2, 3, 4], [4, 3, 2, 1]) == 1


def test_biased_coins() -> None:
    table = attacks.biased_coins(samples=12_000)
    assert table.row("ordinary noise, fair").success <= 0.4
    assert table.row("ordinary noise, biased").success > 0.4  # the true one is 0.9
    assert table.row("noise made").success <= 0.4


def test_tables_print_travel_and_draw() -> None:
    table = attacks.differencing(trials=50)
    assert "attack" in str(table)
    assert "no promise" in str(table)
    assert json.loads(json.dumps(table.to_dict()))["rows"][0]["attack"] == 1.0
    assert "<table>" in table.to_html()
    assert table.plot().get_title() == "differencing"


def test_the_trade_off_band_draws() -> None:
    first, second = [0] * 300 + [1] * 700, [0] * 700 + [1] * 300
    band = trade_off([first, second], [first, second], Pure(1), 1e-6, 10)
    assert not band.refuted
    assert band.plot() is not None
    assert trade_off([first, second], [first, second], Pure("0.1"), 1e-6, 10).refuted
    assert band.to_dict()["points"]
