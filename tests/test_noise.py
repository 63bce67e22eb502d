"""The public functions: bad input before any bit is drawn, shapes, freshness, no seed, memory."""

import inspect
import math
import os
import random
import traceback
import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.errors import BadData, BadParameter
from discreet.randomness import SystemBits

SIZED: dict[str, Callable[..., Any]] = {
    "discrete_laplace": lambda size: noise.discrete_laplace(3, size),
    "geometric": lambda size: noise.geometric(3, size),
    "discrete_gaussian": lambda size: noise.discrete_gaussian(3, size),
    "discrete_gaussian squared": lambda size: noise.discrete_gaussian(sigma_squared=3, size=size),
    "bernoulli": lambda size: noise.bernoulli("1/3", size),
    "bernoulli_exp": lambda size: noise.bernoulli_exp(1, size),
    "uniform_below": lambda size: noise.uniform_below(6, size),
    "uniform_below, far": lambda size: noise.uniform_below(10**40, size),
    "choice": lambda size: noise.choice([1, 2], size),
    "discrete_laplace, far": lambda size: noise.discrete_laplace(10**30, size),
}

NOT_NUMBERS: list[Any] = [
    math.nan, math.inf, -math.inf, "nan", "inf", "", "one", "1/0", "1e999999999", "9" * 1000, 10**5000,
    Fraction(1, 10**5000), Decimal("NaN"), None, True, False, [], (), {}, b"1", 1j, object(), np.float64("nan"),
    np.array([1.0, 2.0]), np.bool_(True), "0x10", "1e", "--1", Decimal("Infinity"),
]  # fmt: skip
NOT_POSITIVE: list[Any] = [0, -1, "0", "-0.5", -1e-300, 0.0, -0.0, Fraction(-1, 3), np.int64(-1)]
NOT_SIZES: list[Any] = [-1, 1.0, 2.5, "3", True, math.nan, [3], (2, -1), (2, 1.0), 10**30, (10**15, 10**15),
                        (0, 10**30), (1,) * 40, np.float64(3), None.__class__, b"3"]  # fmt: skip


def short(value: object) -> str:
    """A name that is the same in every process."""
    plain = isinstance(value, (str, float, tuple, list)) or (isinstance(value, int) and abs(value) < 10**9)
    return repr(value)[:20] if plain else type(value).__name__


@pytest.fixture
def no_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(count: int) -> bytes:
        raise AssertionError("bits were drawn before the parameters were checked")

    monkeypatch.setattr(os, "urandom", refuse)


POSITIVE: dict[str, Callable[[Any], Any]] = {
    "scale": noise.discrete_laplace,
    "scale ": noise.geometric,
    "scale, sized": lambda bad: noise.discrete_laplace(bad, 10),
    "scale, many": lambda bad: noise.geometric(bad, 1000),
    "sigma": noise.discrete_gaussian,
    "sigma, sized": lambda bad: noise.discrete_gaussian(bad, 1000),
    "sigma_squared": lambda bad: noise.discrete_gaussian(sigma_squared=bad),
    "rate": lambda bad: noise.permute_and_flip([1, 2], bad),
    "rate ": lambda bad: noise.exponential([1, 2], bad),
}


@pytest.mark.slow
@pytest.mark.parametrize("bad", [*NOT_NUMBERS, *NOT_POSITIVE], ids=short)
@pytest.mark.parametrize("name", POSITIVE)
@pytest.mark.usefixtures("no_bits")
def test_what_must_be_above_zero(name: str, bad: Any) -> None:
    with pytest.raises(BadParameter) as caught:
        POSITIVE[name](bad)
    given_none = bad is None and name == "sigma_squared"
    assert caught.value.name == ("sigma" if given_none else name.partition(",")[0].strip())
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("bad", [*NOT_NUMBERS, -1, "-1/2", -1e-300], ids=short)
@pytest.mark.usefixtures("no_bits")
def test_what_must_not_be_below_zero(bad: Any) -> None:
    for call in (
        lambda: noise.bernoulli_exp(bad),
        lambda: noise.bernoulli_exp(bad, 9),
        lambda: noise.bernoulli(bad),
        lambda: noise.bernoulli(bad, 9),
        lambda: noise.choice([1, bad]),
        lambda: noise.choice([1, bad], 9),
    ):
        with pytest.raises(BadParameter) as caught:
            call()
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("bad", [2, "1.0000001", 1e300])
@pytest.mark.usefixtures("no_bits")
def test_probabilities_end_at_one(bad: Any) -> None:
    with pytest.raises(BadParameter, match="between 0 and 1"):
        noise.bernoulli(bad)


@pytest.mark.parametrize("bad", [0, -1, -(10**30), 1.0, 6.5, "6", None, True, math.nan, math.inf, Fraction(6), [], 1j])
@pytest.mark.usefixtures("no_bits")
def test_n_is_an_integer_above_zero(bad: Any) -> None:
    for size in (None, 5):
        with pytest.raises(BadParameter, match=r"^n is "):
            noise.uniform_below(bad, size)


@pytest.mark.parametrize("bad", [None, 5, [], [0, 0], {1: 2}, {1, 2}, "", iter([1]), 1.5, object()], ids=short)
@pytest.mark.usefixtures("no_bits")
def test_weights(bad: Any) -> None:
    for size in (None, 5):
        with pytest.raises(BadParameter, match=r"^weights"):
            noise.choice(bad, size)


@pytest.mark.parametrize("bad", NOT_SIZES, ids=short)
@pytest.mark.parametrize("name", SIZED)
@pytest.mark.usefixtures("no_bits")
def test_sizes(name: str, bad: Any) -> None:
    with pytest.raises(BadParameter, match=r"^size is ") as caught:
        SIZED[name](bad)
    assert len(str(caught.value)) < 300


@pytest.mark.usefixtures("no_bits")
def test_sigma_is_given_once() -> None:
    for named in ({}, {"sigma": 1, "sigma_squared": 1}):
        for size in (None, 3):
            with pytest.raises(BadParameter, match="not both"):
                noise.discrete_gaussian(**named, size=size)


SECRET = 31415926535
SECRET_SCORES: list[Any] = [
    [SECRET, None],
    [SECRET, math.nan],
    [f"{SECRET}x"],
    [float(SECRET), math.inf],
    [[SECRET], [SECRET]],
    np.array([[SECRET, SECRET]]),
    np.array([float(SECRET), np.nan]),
    np.array([SECRET, "x"], dtype=object),
    np.array([f"a{SECRET}"]),
    SECRET,
    [SECRET + 1j],
    [10**2000 * SECRET],
    [True, SECRET],
    [],
    np.array([], dtype=np.int64),
    None,
    np.array(SECRET),
]


@pytest.mark.parametrize("scores", SECRET_SCORES, ids=lambda s: str(type(s).__name__))
@pytest.mark.parametrize("choose", [noise.permute_and_flip, noise.exponential])
@pytest.mark.usefixtures("no_bits")
def test_bad_scores_are_refused_without_being_named(choose: Callable[..., int], scores: Any) -> None:
    """Scores are made from data: no message, and no printed traceback, may hold one."""
    with pytest.raises(BadData) as caught:
        choose(scores, 1)
    shown = "".join(traceback.format_exception_only(caught.value))
    assert str(SECRET) not in shown
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


# --- shapes and types ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SIZED)
def test_shapes_and_types(name: str) -> None:
    draw = SIZED[name]
    assert type(draw(None)) is int
    for size, shape in ((0, (0,)), (5, (5,)), (300, (300,)), ((2, 3), (2, 3)), ((), ()), ((4, 0, 2), (4, 0, 2)),
                        (np.int64(7), (7,)), ((np.int32(2), 150), (2, 150))):  # fmt: skip
        drawn = draw(size)
        assert drawn.shape == shape
        assert drawn.dtype == (object if "far" in name else np.int64)


@pytest.mark.parametrize(
    "same", [["1/2", 0.5, Fraction(1, 2), Decimal("0.5"), np.float64(0.5), "0.5", "5e-1", np.float32(0.5)]]
)
def test_ways_of_writing_a_number(same: list[Any]) -> None:
    for written in same:
        for size in (None, 3, 1000):
            drawn = noise.discrete_laplace(written, size)
            assert np.abs(drawn).max() < 30  # P(beyond) < 1000 exp(-58)


# --- no seed ------------------------------------------------------------------------------------------------------

FORBIDDEN = ("seed", "random_state", "rng", "generator", "state", "bits", "source", "tape")


def public_callables() -> list[tuple[str, Any]]:
    found = []
    for name in noise.__all__:
        thing = getattr(noise, name)
        found.append((name, thing))
        if inspect.isclass(thing):
            found += [(f"{name}.{m}", f) for m, f in inspect.getmembers(thing, callable) if not m.startswith("_")]
    return found


@pytest.mark.parametrize(("name", "function"), public_callables(), ids=lambda f: f if isinstance(f, str) else "")
def test_nothing_public_takes_a_seed(name: str, function: Any) -> None:
    for parameter in inspect.signature(function).parameters.values():
        assert parameter.kind not in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}
        assert not any(word in parameter.name.lower() for word in FORBIDDEN)


@pytest.mark.parametrize("name", SIZED)
def test_setting_every_seed_changes_nothing(name: str) -> None:
    """The same seeds twice, different draws. 4000 draws agree by chance with probability below 1e-500."""
    runs = []
    for _ in range(2):
        random.seed(7)
        np.random.seed(7)
        runs.append(SIZED[name](4000).tolist())
    assert runs[0] != runs[1]


# --- memory -------------------------------------------------------------------------------------------------------


def peak_beyond(draw: Callable[[], Any]) -> int:
    """Peak bytes beyond what the result itself holds."""
    tracemalloc.start()
    try:
        result = draw()
        return tracemalloc.get_traced_memory()[1] - int(result.nbytes)
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    "draw",
    [lambda: noise.discrete_laplace(10**6, size=10**7), lambda: noise.discrete_gaussian(10**6, size=10**7),
     lambda: noise.discrete_laplace(10, size=10**7)],
    ids=["laplace 1e6", "gaussian 1e6", "laplace 10"],
)  # fmt: skip
def test_the_peak_of_1e7_draws_is_the_output_and_little_more(draw: Callable[[], Any]) -> None:
    assert peak_beyond(draw) < 20 * 2**20


def test_the_memory_gate_sees_a_copy() -> None:
    """The planted twin: one copy of a tenth of that output is already too much."""
    assert peak_beyond(lambda: np.frombuffer(SystemBits().bytes(24 * 10**6), dtype=np.int64) + 1) > 20 * 2**20
