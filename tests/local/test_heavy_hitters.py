"""Heavy hitters: common texts are found with their shares, rare and damaged ones are not."""

from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter
from discreet.local.heavy_hitters import heavy_hitters
from discreet.privacy.promises import events
from discreet.privacy.promises.neighbours import Neighbours


def test_common_texts_are_found() -> None:
    finder = heavy_hitters(epsilon=4, length=4, alphabet=b"abcdefgh", step=2)
    texts = [b"head"] * 6000 + [b"bad"] * 4000 + [b"g"] * 3000 + [bytes([97 + i % 8, 97 + i % 7]) for i in range(500)]
    found = {c.text: c for c in finder.find(finder.simulate(texts))}
    assert {b"head", b"bad", b"g"} <= set(found)
    assert abs(found[b"head"].share - 6000 / len(texts)) <= found[b"head"].error
    assert len(found) <= 5
    assert finder.event == events.Pure(4).about(Neighbours.CHANGE_ONE)
    assert finder.groups == 2


def test_nothing_is_found_in_noise_and_damaged_reports_are_left_out() -> None:
    finder = heavy_hitters(epsilon=1, length=2, alphabet=b"ab")
    assert finder.find(np.zeros((0, finder.width), dtype=np.uint8)) == []
    rng = np.random.default_rng(1)
    assert finder.find(rng.integers(0, 256, (200, finder.width)).astype(np.uint8)) == []
    assert len(finder.client(b"a")) == finder.width


@pytest.mark.parametrize("given", [{"alphabet": b""}, {"alphabet": b"\x00a"}, {"length": 0}, {"step": 8}, {"keep": 0}])
def test_bad_parameters(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        heavy_hitters(**{"epsilon": 1, "length": 3, "alphabet": b"abcdefgh", **given})
    with pytest.raises(BadData):
        heavy_hitters(epsilon=1, length=3, alphabet=b"abc").client("text")  # type: ignore[arg-type]
