"""Values as JSON."""

from __future__ import annotations

import math
from datetime import date
from fractions import Fraction
from typing import Any


def plain(value: Any) -> Any:
    """A released value as JSON: dates as text, what is not finite as null."""
    if isinstance(value, Fraction):
        value = int(value) if value.denominator == 1 else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, bool | int | str):
        return value
    return plain(value.item()) if hasattr(value, "item") else str(value)
