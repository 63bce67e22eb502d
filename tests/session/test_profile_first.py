"""What a profile costs before synthetic rows is a tenth, and the rest is left."""

import pytest

from discreet.errors import BadParameter
from discreet.session.price import Price
from discreet.session.profile_first import note_of_first_payment, split


def test_the_parts_add_up_to_the_price() -> None:
    first, left = split(Price.of(rho="1/2"), 2)
    assert (first.texts()["rho"], left.texts()["rho"]) == ("1/40", "9/20")
    assert "rho 1/20 of it" in note_of_first_payment(Price.of(rho="1/2"), left)[0]
    assert note_of_first_payment(left, left) == ()


def test_an_error_has_no_tenth() -> None:
    with pytest.raises(BadParameter, match="error"):
        split(Price.of(error=3))
