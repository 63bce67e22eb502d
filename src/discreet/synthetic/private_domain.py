"""Categories that nobody lists in advance: released privately, and paid for.

Guarantee: (ε, δ)-differentially private for one unit added or removed. A unit counts once for each of at most
``keys_per_unit`` of its categories, which are chosen by a hash of their content from that unit's rows alone; a
category is named by the optimal selection (mechanisms/selection/key_selection.md).
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answer import Answer
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, integer
from discreet.mechanisms.selection.key_selection import optimal_keys
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises.measures import Approx
from discreet.synthetic.source import as_arrow, kept_rows, owners


def private_categories(
    table: Any, column: str, *, unit: str | None = None, keys_per_unit: int = 1, epsilon: Number, delta: Number
) -> Answer:
    """The categories of a column of text or whole numbers that enough units have; its ``value`` is a sorted tuple.

    >>> people = {"town": ["Ashby"] * 500 + ["Birch"] * 400 + ["Corby"]}
    >>> private_categories(people, "town", epsilon=1, delta="1e-9").value
    ('Ashby', 'Birch')
    """
    import pyarrow as pa

    many = integer(keys_per_unit, "keys_per_unit", at_least=1)
    if unit is None and many != 1:
        raise BadParameter("keys_per_unit", keys_per_unit, "must be 1 when each row is its own unit")
    mechanism = optimal_keys(epsilon=epsilon, delta=delta, keys_per_unit=many)
    arrow = as_arrow(table)
    if column not in arrow.column_names:
        raise BadParameter("column", column, "must be a column of the table")
    kind = arrow.column(column).type
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise BadData("private categories must come from a column of text or integers")
    encoded = arrow.column(column).combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_pylist()
    code = np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)
    owner, has_unit = (
        owners(arrow, unit) if unit is not None else (np.arange(len(code)), np.ones(len(code), dtype=bool))
    )
    counts = _counted(owner[has_unit & (code >= 0)], code[has_unit & (code >= 0)], values, many)
    receipt = Filter(Approx(epsilon, delta)).spend(mechanism.event)
    return mechanism.release(counts, receipt).then(lambda keys: tuple(sorted(keys)), "sorted")


def _counted(owner: NDArray[np.int64], code: NDArray[np.int64], values: list[Any], many: int) -> dict[Any, int]:
    """How many units have each value, each unit with at most so many values."""
    pairs = np.unique(np.stack([owner, code], axis=1), axis=0)
    place = np.array([_hash(value) for value in values], dtype=np.int64)
    kept = pairs[kept_rows(pairs[:, 0], place[pairs[:, 1]][:, None], many), 1]
    return {value: int(n) for value, n in zip(values, np.bincount(kept, minlength=len(values)), strict=True) if n}


def _hash(value: Any) -> int:
    """A place that follows from the value alone, not from where it stands in the table."""
    digest = hashlib.blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
