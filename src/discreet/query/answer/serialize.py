"""Answers as JSON, as a ledger stores them and a service sends them.

Promise: exact numbers and dates leave as they are or as text; floats are finite or null. Nothing leaves but what was
released.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from discreet.exact import Number
from discreet.query.answer.answer import TableAnswer


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


def answer(released: TableAnswer, confidence: Number) -> dict[str, Any]:
    """An answer with its error bars, as it is stored and sent."""
    return {
        "columns": list(released.columns),
        **answer_parts(released, confidence),
        "confidence": str(confidence),
        "cost": released.cost,
        "clipped": [asdict(clip) for clip in released.clipped],
        "bins": released._bins(),
        "notes": [note.as_json() for note in released.notes],
    }


def answer_parts(released: TableAnswer, confidence: Number) -> dict[str, Any]:
    """Rows, error bars and story."""
    bars = released.errors(confidence)
    kinds = {name: _time_kind(released[name]) for name in released.columns}
    together = released.errors(confidence, simultaneous=True)
    return {
        "kinds": {name: kind for name, kind in kinds.items() if kind is not None},
        "rows": [[plain(row[name]) for name in released.columns] for row in released.rows],
        "errors": {name: [plain(e) for e in column] for name, column in bars.items()},
        "errors_together": {name: [plain(e) for e in column] for name, column in together.items()},
        "intervals": _ends(released.intervals(confidence)),
        "intervals_together": _ends(released.intervals(confidence, simultaneous=True)),
        "story": list(released.story),
    }


def _ends(intervals: dict[str, list[tuple[Any, Any] | None]]) -> dict[str, list[list[Any] | None]]:
    return {
        name: [None if pair is None else [plain(end) for end in pair] for pair in column]
        for name, column in intervals.items()
    }


def _time_kind(values: list[Any]) -> str | None:
    """Whether a column has dates or times, which JSON cannot tell from text. Their error bars are in days."""
    kinds = {type(value) for value in values if value is not None}
    return {datetime: "timestamp", date: "date"}.get(next(iter(kinds))) if len(kinds) == 1 else None


def dump(value: Any) -> bytes:
    """JSON as bytes, without NaN."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
