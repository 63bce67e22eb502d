"""What a run of a black box showed: a number, a vector, a mapping, a text, or that it failed; as plain, storable data.

Promise: reading an output never changes it in a way that could separate two equal ones, and every kind of output has a
place: an exception is an outcome like any other.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from discreet.answer import Answer
from discreet.checking.exact.calling import takes
from discreet.checking.exact.roles import ReadsAndDraws
from discreet.errors import BadData, BadParameter
from discreet.randomness import Bits, SystemBits

Outcome: TypeAlias = Any
"""bool, int, float, Fraction, str, None, a tuple of such, a ``dict`` with text keys, or ``Raised``."""


class Raised(str):
    """The name of the exception that came out."""

    __slots__ = ()


def runner(mechanism: Any) -> Callable[[Any], Any]:
    """The black box: a callable as it is; of a mechanism or a release, one draw from the system's bits."""
    if isinstance(mechanism, ReadsAndDraws):
        return _Draw(mechanism)
    if callable(mechanism):
        if not takes(mechanism, 1) and takes(mechanism, 2):
            return _WithBits(mechanism)
        if not takes(mechanism, 1):
            raise BadParameter("mechanism", mechanism, "must take (data), or (data, bits)")
        box: Callable[[Any], Any] = mechanism
        return box
    raise BadData("a mechanism must be a function of data, or have read and draw")


class _WithBits:
    """A function of data and bits, as a function of data."""

    def __init__(self, function: Callable[[Any, Bits], Any]) -> None:
        self._function = function

    def __call__(self, data: Any) -> Any:
        return self._function(data, SystemBits())


class _Draw:
    """One draw of a mechanism, as a function of data."""

    def __init__(self, mechanism: Any) -> None:
        self._mechanism = mechanism

    def __call__(self, data: Any) -> Any:
        return self._mechanism.draw(self._mechanism.read(data), SystemBits())


def observe(run: Callable[[Any], Any], data: Any) -> Outcome:
    """One run, as an outcome; only the operator's own interruption passes through."""
    try:
        return plain(run(data))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a refusal is an answer too
        return Raised(type(error).__name__)


def plain(output: Any) -> Outcome:
    """An output as plain data.

    >>> plain(np.array([1, 2])), plain({"a": np.float64(0.5)}), plain(np.int64(3))
    ((1, 2), {'a': 0.5}, 3)
    """
    if isinstance(output, Answer):
        return plain(output.value)
    if output is None or isinstance(output, (bool, str)):
        return output
    if isinstance(output, np.bool_):
        return bool(output)
    if isinstance(output, numbers.Integral):
        return int(output)
    if isinstance(output, Fraction):
        return output
    if isinstance(output, numbers.Real):
        return float(output)
    if isinstance(output, np.ndarray):
        return plain(output.tolist())
    if isinstance(output, Mapping):
        return {k if isinstance(k, str) else repr(k): plain(v) for k, v in output.items()}
    if isinstance(output, (list, tuple)):
        return tuple(plain(x) for x in output)
    if isinstance(output, (set, frozenset)):
        return tuple(sorted((plain(x) for x in output), key=repr))
    return repr(output)


def as_json(outcome: Outcome) -> Any:
    """The outcome as JSON data, exactly: floats by their bits."""
    match outcome:
        case Raised():
            return {"raised": str(outcome)}
        case float():
            return {"float": outcome.hex() if math.isfinite(outcome) else repr(outcome)}
        case Fraction():
            return {"fraction": str(outcome)}
        case tuple():
            return [as_json(x) for x in outcome]
        case dict():
            return {"dict": [[k, as_json(v)] for k, v in outcome.items()]}
        case _:
            return outcome


def from_json(data: Any) -> Outcome:
    """The inverse of ``as_json``.

    >>> from_json(as_json((1, 0.1, None, {"a": float("inf")}))) == (1, 0.1, None, {"a": float("inf")})
    True
    """
    if isinstance(data, list):
        return tuple(from_json(x) for x in data)
    if isinstance(data, dict):
        ((kind, value),) = data.items()
        match kind:
            case "raised":
                return Raised(value)
            case "float":
                return float.fromhex(value) if value not in {"nan", "inf", "-inf"} else float(value)
            case "fraction":
                return Fraction(value)
            case "dict":
                return {k: from_json(v) for k, v in value}
        raise BadData("a stored outcome must be of a known kind")
    return data
