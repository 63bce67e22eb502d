"""gdp.py: prices and refusals."""

from typing import Any

import pytest

from discreet.errors import NoPrice
from discreet.privacy.accountants.gdp import price_gdp
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import GDP


def test_gdp_prices() -> None:
    assert price_gdp(events.Gaussian(2, 3)) == GDP("1.5")
    assert price_gdp(events.Composed([events.Gaussian(1, 3), events.Gaussian(1, 4)])) == GDP(5)
    assert price_gdp(events.Parallel([events.Gaussian(1), events.Gaussian(2)])) == GDP(1)
    assert GDP("1.232") < price_gdp(events.Pure(1)) < GDP("1.233")


@pytest.mark.parametrize(
    "event",
    [
        events.DiscreteGaussian(1),
        events.Approx(1, "1e-6"),
        events.ZCDP(1),
        events.Subsampled(events.Gaussian(1), "0.1"),
    ],
)
def test_gdp_refuses(event: Any) -> None:
    with pytest.raises(NoPrice):
        price_gdp(event)
