"""All functions that a question may use, by name. What is not here is refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from discreet.errors import Unsupported
from discreet.query.functions.cast_functions import CASTS
from discreet.query.functions.date_functions import DATE_READINGS, DATES
from discreet.query.functions.json_values import JSON_READINGS
from discreet.query.functions.logic_functions import LOGIC, LOGIC_READINGS
from discreet.query.functions.number_functions import NUMBER_READINGS, NUMBERS
from discreet.query.functions.record import Function, Reading, check_count
from discreet.query.functions.text_functions import TEXT, TEXT_READINGS
from discreet.query.functions.times_of_day import TIMES_OF_DAY
from discreet.query.functions.typed_values import Typed

FAMILIES: dict[str, tuple[Function, ...]] = {
    "Numbers": NUMBERS,
    "Conditions and choices": LOGIC,
    "Text": TEXT,
    "Dates and times": DATES,
    "Casts": (*CASTS, *TIMES_OF_DAY),
}
FUNCTIONS: dict[str, Function] = {each.name: each for family in FAMILIES.values() for each in family}
BY_SQL_NAME: dict[str, Function] = {name: each for each in FUNCTIONS.values() for name in each.names}
READINGS: dict[str, Reading] = {**NUMBER_READINGS, **LOGIC_READINGS, **TEXT_READINGS, **JSON_READINGS,
                                **DATE_READINGS}  # fmt: skip
PARTS: dict[str, str] = {word: each.name for each in FUNCTIONS.values() for word in each.parts}
"""What EXTRACT and DATE_PART know, besides DOW."""
OF_RELEASED = frozenset(each.name for each in FUNCTIONS.values() if each.meaning is not None) | {"grouping"}
"""What may be computed from released values; ``grouping`` is of their keys."""


def apply(name: str, arguments: Sequence[Typed]) -> Typed:
    """The typed result of a function; refuses unknown names and wrong numbers of arguments."""
    function = FUNCTIONS.get(name)
    if function is None:
        near = get_close_matches(name, FUNCTIONS, n=1)
        raise Unsupported(
            f"the function {name}", f"did you mean {near[0]}?" if near else "the SQL page lists those that can"
        )
    check_count(name, len(arguments), function.arguments)
    return function.rule(*arguments)
