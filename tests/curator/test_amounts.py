"""Amounts as JSON and back, exactly."""

from __future__ import annotations

import json

import pytest

from discreet.curator.amounts import read_amount, write_amount
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Pure

AMOUNTS = [Pure(0), Pure("1/3"), Approx("0.1", "1e-30"), ZCDP("2/7"), ZCDP("2/7", "1e-9")]


@pytest.mark.parametrize("amount", AMOUNTS, ids=str)
def test_an_amount_survives_json_exactly(amount: Measure) -> None:
    assert read_amount(json.loads(json.dumps(write_amount(amount)))) == amount


def test_numbers_are_text_beside_the_kind_and_the_words() -> None:
    assert write_amount(Approx("0.1", "1e-9")) == {
        "kind": "Approx", "epsilon": "1/10", "delta": "1/1000000000", "text": "epsilon 0.1, delta 1e-09",
    }  # fmt: skip


@pytest.mark.parametrize("data", [{}, {"kind": "GDP", "mu": "1"}, {"kind": "os"}])
def test_only_known_kinds_are_read(data: dict[str, str]) -> None:
    with pytest.raises(KeyError):
        read_amount(data)


def test_a_kind_that_cannot_be_read_back_is_still_written_with_its_words() -> None:
    assert write_amount(GDP(1))["kind"] == "GDP"
    assert write_amount(GDP(1))["text"] == str(GDP(1))
