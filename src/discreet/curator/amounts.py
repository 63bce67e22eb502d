"""Privacy amounts (a price, a budget, what is left) as JSON and back, with exact numbers as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure

_KINDS: Mapping[str, Callable[..., Measure]] = {"Pure": Pure, "Approx": Approx, "ZCDP": ZCDP}


def write_amount(measure: Measure) -> dict[str, Any]:
    """An amount: its kind, its exact numbers, and words.

    >>> write_amount(Approx("0.5", "1e-9"))["text"]
    'epsilon 0.5, delta 1e-09'
    """
    numbers = {field.name: getattr(measure, field.name) for field in fields(measure)}
    exact = {name: str(value) for name, value in numbers.items() if isinstance(value, Fraction)}
    return {"kind": type(measure).__name__, **exact, "text": str(measure)}


def read_amount(data: Mapping[str, Any]) -> Measure:
    """The amount that ``write_amount`` wrote.

    >>> read_amount(write_amount(Approx("0.5", "1e-9")))
    Approx(epsilon='1/2', delta='1/1000000000')
    """
    return _KINDS[data["kind"]](**{name: data[name] for name in ("epsilon", "delta", "rho") if name in data})
