"""All functions that a question may use, by name. What is not here is refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from discreet.errors import Unsupported
from discreet.query.functions.cast_functions import CASTS
from discreet.query.functions.date_functions import DATE_READINGS, DATES
from discreet.query.functions.logic_functions import LOGIC, LOGIC_READINGS
from discreet.query.functions.number_functions import NUMBER_READINGS, NUMBERS
from discreet.query.functions.record import Function, Reading, check_count
from discreet.query.functions.text_functions import TEXT, TEXT_READINGS
from discreet.query.functions.typed_values import Typed

FAMILIES: dict[str, tuple[Function, ...]] = {
    "Numbers": NUMBERS,
    "Conditions and choices": LOGIC,
    "Text": TEXT,
    "Dates and times": DATES,
    "Casts": CASTS,
}
FUNCTIONS: dict[str, Function] = {one.name: one for family in FAMILIES.values() for one in family}
BY_SQL_NAME: dict[str, Function] = {name: one for one in FUNCTIONS.values() for name in one.names}
READINGS: dict[str, Reading] = {**NUMBER_READINGS, **LOGIC_READINGS, **TEXT_READINGS, **DATE_READINGS}
PARTS: dict[str, str] = {word: one.name for one in FUNCTIONS.values() for word in one.parts}
"""What EXTRACT and DATE_PART know, besides DOW."""
OF_RELEASED = frozenset(one.name for one in FUNCTIONS.values() if one.meaning is not None) | {"grouping"}
"""What may be computed from released values; ``grouping`` is of their keys."""


def apply(name: str, arguments: Sequence[Typed]) -> Typed:
    """The typed result of a function; refuses unknown names and wrong numbers of arguments."""
    found = FUNCTIONS.get(name)
    if found is None:
        near = get_close_matches(name, FUNCTIONS, n=1)
        raise Unsupported(
            f"the function {name}", f"did you mean {near[0]}?" if near else "the SQL page lists those that can"
        )
    check_count(name, len(arguments), found.arguments)
    return found.rule(*arguments)
