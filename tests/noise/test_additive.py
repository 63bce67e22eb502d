"""Which way additive noise is drawn: one by one, through a table, in Python integers; same bits, same draws."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.noise import additive, cache
from discreet.noise.blocks import Blocks
from discreet.noise.gaussian import GaussianLaw, draw_gaussian
from discreet.noise.laplace import LaplaceLaw, draw_geometric, draw_laplace
from tests.helpers.tapes import Tape

WAYS: dict[str, tuple[Callable[..., Any], Callable[..., int], Callable[[Fraction], Any], str, Fraction]] = {
    "laplace": (additive.laplace, draw_laplace, LaplaceLaw, "laplace", Fraction(additive.LARGEST)),
    "geometric": (
        additive.geometric,
        draw_geometric,
        lambda scale: LaplaceLaw(scale, one_sided=True),
        "geometric",
        Fraction(additive.LARGEST),
    ),
    "gaussian": (additive.gaussian, draw_gaussian, GaussianLaw, "gaussian squared", Fraction(additive.LARGEST) ** 2),
}
SCALE = Fraction(7, 2)


def tape() -> Tape:
    return Tape(random.Random(3).randbytes(1 << 16))


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_samplers", {})


@pytest.mark.parametrize("way", WAYS)
def test_few_draws_are_made_one_by_one(way: str) -> None:
    noise, draw, _, _, _ = WAYS[way]
    bits = tape()
    assert noise(SCALE, None, tape()) == draw(SCALE, bits)
    bits, count = tape(), additive.TABLE_FROM - 1
    drawn = noise(SCALE, count, tape())
    assert drawn.dtype == np.int64
    assert drawn.tolist() == [draw(SCALE, bits) for _ in range(count)]
    assert cache._samplers == {}


@pytest.mark.parametrize("way", WAYS)
def test_many_draws_build_a_table_that_later_draws_use(way: str) -> None:
    noise, _, law, name, _ = WAYS[way]
    table = Blocks(law(SCALE))
    drawn = noise(SCALE, additive.TABLE_FROM, tape())
    assert drawn.tolist() == table.sample(additive.TABLE_FROM, tape()).tolist()
    assert list(cache._samplers) == [(name, SCALE)]
    assert noise(SCALE, None, tape()) == table.draw(tape())
    assert noise(SCALE, 3, tape()).tolist() == table.sample(3, tape()).tolist()


@pytest.mark.parametrize("way", WAYS)
def test_the_table_is_found_under_the_key_of_the_caller(way: str) -> None:
    noise = WAYS[way][0]
    noise(SCALE, additive.TABLE_FROM, tape(), ("mine", "3.5"))
    assert list(cache._samplers) == [("mine", "3.5")]


@pytest.mark.parametrize("way", WAYS)
def test_beyond_64_bits_come_python_integers(way: str) -> None:
    noise, draw, _, _, largest = WAYS[way]
    assert noise(largest, 2, tape()).dtype == np.int64
    bits = tape()
    drawn = noise(largest + 1, 3, tape())
    assert drawn.dtype == object
    assert drawn.tolist() == [draw(largest + 1, bits) for _ in range(3)]
    assert {type(x) for x in drawn} == {int}


def test_objects_keep_every_digit() -> None:
    held = additive.objects([2**200, -1, 0])
    assert held.shape == (3,)
    assert held.tolist() == [2**200, -1, 0]
    assert additive.objects([]).shape == (0,)
