"""Messages: what there is to say beside an answer or an error, as a code with fields. Sentences are made at the edge.

Promise: fields hold parameters, prices, names and released numbers; never a value of the data. No code reads a
sentence: whoever needs to know what a message says reads its code and its fields. The texts are in one table here, for
each way that discreet is used (``Interface``), and worst first, which is the order in which an answer shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from string import Formatter
from typing import Any, Self

Field = Any
"""What JSON can hold, tuples of it, and released values."""


class Interface(Enum):
    """Where a message is read; its words are those of that place."""

    PYTHON = "Python"
    COMMAND = "command line"
    HTTP = "HTTP"
    PAGE = "page"


@dataclass(frozen=True, slots=True, repr=False)
class Message:
    """One thing to say.

    >>> note = message("rows_scaled", limit=32)
    >>> print(note)
    Units with more than 32 rows were scaled down to that; ± leaves this out.
    >>> Message.read(note.as_json()) == note
    True
    >>> message("declare_bounds", column="cost", expression="cost").text(Interface.COMMAND)
    'give --bounds cost=low:high, or write CLAMP(cost, low, high)'
    """

    code: str
    parts: tuple[tuple[str, Field], ...] = ()

    @property
    def fields(self) -> dict[str, Field]:
        """What it is about."""
        return dict(self.parts)

    def text(self, interface: Interface = Interface.PYTHON) -> str:
        """One or two sentences in the words of an interface."""
        return _WORDS.vformat(template(self.code, interface), (), self.fields)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{self.code}: {self}>"

    def as_json(self, interface: Interface = Interface.HTTP) -> dict[str, Any]:
        """As it is stored and sent."""
        return {
            "code": self.code,
            "fields": {name: _plain(value) for name, value in self.parts},
            "text": self.text(interface),
        }

    @classmethod
    def read(cls, sent: Any) -> Self:
        """From ``as_json``; of a version with other codes or plain sentences, its text."""
        if isinstance(sent, Mapping) and sent.get("code") in TEXTS:
            made = cls(sent["code"], _frozen(sent.get("fields", {})))
            try:
                made.text()
            except (KeyError, TypeError, ValueError, AttributeError, IndexError):  # other fields than today's
                return cls(PLAIN, (("text", str(sent.get("text", ""))),))
            return made
        return cls(PLAIN, (("text", str(sent.get("text", "") if isinstance(sent, Mapping) else sent)),))


PLAIN = "text"
"""The code of a message that another version wrote."""


def message(code: str, **fields: Field) -> Message:
    """A message of one of the codes below."""
    return Message(code, tuple(fields.items()))


def worst_first(notes: Iterable[Message]) -> tuple[Message, ...]:
    """Each note once, in the order of the table."""
    return tuple(sorted(dict.fromkeys(notes), key=lambda note: _RANK[note.code]))


def template(code: str, interface: Interface) -> str:
    """The text of a code, with places for its fields."""
    words = TEXTS[code]
    if isinstance(words, str):
        return words
    like = Interface.HTTP if interface is Interface.PAGE else Interface.PYTHON
    return words.get(interface) or words.get(like) or words[Interface.PYTHON]


def _frozen(fields: Any) -> tuple[tuple[str, Field], ...]:
    return tuple((str(name), tuple(value) if isinstance(value, list) else value) for name, value in fields.items())


def _plain(value: Field) -> Any:
    """As JSON can hold it: dates are texts."""
    if isinstance(value, tuple):
        return list(value)
    return value if value is None or isinstance(value, str | int | float) else str(value)


class _Words(Formatter):
    """``{n:rows}`` is "1 row" or "2 rows", ``{n:of rows}`` of (1, 3) is " in 1 of 3 rows", ``{x:4}`` has 4 digits.

    ``{x:shares}`` is an estimate with its interval: "about 1% (0.6 to 1.4%)".
    """

    _THINGS = ("groups", "rows", "units", "distinct values")

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec in self._THINGS:
            return f"{value:,} {format_spec.removesuffix('s') if value == 1 else format_spec}"
        if format_spec.startswith("of "):
            some, many = value
            return "" if many == 1 else f" in {some:,} of {many:,} {format_spec.removeprefix('of ')}"
        if format_spec == "shares":
            share, low, high = (_digits(100 * one, 2) for one in value)
            return f"about {share}% ({low} to {high}%)"
        if format_spec.isdigit():
            return _digits(value, int(format_spec)) if isinstance(value, int | float) else str(value)
        if format_spec == "value":
            return "NULL" if value is None else _digits(value, 6) if isinstance(value, float) else str(value)
        if format_spec == "±":
            return "" if value is None else f" ± {_digits(value, 3)}"
        if format_spec == "options":
            return " and ".join(f"--{name}" for name in value)
        if format_spec in {"and", "or"}:
            return f" {format_spec} ".join(map(str, value))
        return str(super().format_field(value, format_spec))


def _digits(value: float, digits: int) -> str:
    short = f"{value:.{digits}g}"
    return f"{Decimal(short):,f}" if not value or 1e-4 <= abs(value) < 1e15 else short


_WORDS = _Words()
_PY, _CLI, _HTTP, _PAGE = Interface.PYTHON, Interface.COMMAND, Interface.HTTP, Interface.PAGE
_LARGER = "A larger epsilon, larger groups or tighter bounds would help."

TEXTS: Mapping[str, str | Mapping[Interface, str]] = {
    # --- notes on an answer or a preview, worst first ---------------------------------------------------------------
    "null_too_few": "{column} is NULL: too few units to choose a contribution bound. Raise epsilon or declare one.",
    "null_no_values": "{column} is NULL: no values stand out from the noise. Raise epsilon or declare bounds.",
    "null_too_few_rows": "{column} is NULL{groups:of groups}: too few rows for this epsilon. " + _LARGER,
    "null_quotient": "{column} is NULL{rows:of rows}: its divisor may be 0 within its 95% confidence interval.",
    "says_nothing": "{column} says nothing{groups:of groups}: ± spans all that its bounds allow. " + _LARGER,
    "would_say_nothing": "{column} would say nothing: ± spans all that its bounds allow. " + _LARGER,
    "null_below": "{columns:and} would be NULL with fewer than about {units:,} units in all.",
    "no_interval": "{column} has no ±{rows:of rows}: it may be any number within the intervals it is computed from.",
    "clamped_condition": "A condition is computed from values clamped to their declared bounds, to fit 64 bits.",
    "compared_outside": "{column} is compared with a constant outside its bounds: conditions see stored values, "
    "aggregates see clamped ones.",
    "given_value": "{name} = {value:value}{error:±} was released first, for {cost}. ± is for the query with it.",
    "rows_cut": "Units with more than {limit:rows} were scaled down to that. Over all groups, counts are "
    "{too_low:shares} too low, plus what units have beyond {reach:rows}.",
    "totals_cut": "Totals of {column} above {limit:4} per unit were scaled down to that. Over all groups, {column} is "
    "{too_low:shares} too low, plus what units have above {reach:4}.",
    "totals_cut_if_positive": "Totals of {column} above {limit:4} per unit were scaled down to that. If no value is "
    "negative, {column} is {too_low:shares} too low over all groups, plus what units have above {reach:4}.",
    "table_rows_scaled": "Units with more than {limit:rows} were scaled down to that. This takes {cut:shares} of all "
    "rows, plus what at most {beyond:units} have beyond {reach:rows}.",
    "no_value_stood_out": "No value of {column} stood out from the noise of the profile. What is said of it is noise; "
    "raise epsilon or declare its bounds.",
    "profile_cost": "{amounts:and} of the cost was spent on a profile, to choose contribution bounds and value bounds.",
    "asked_at": "The current time was fixed at {moment} UTC for this query.",
    "values_clamped": "Values of {columns:and} outside {low:4} to {high:4} count as the nearer end; ± leaves this out.",
    "rows_scaled": "Units with more than {limit:rows} were scaled down to that; ± leaves this out.",
    "rows_scaled_of": "Units with more than {limit:rows} (at most {units:units}) were scaled down to that; "
    "± leaves this out.",
    "totals_scaled_of": "Totals of {column} above {limit:4} per unit (of at most {units:units}) were scaled down to "
    "that; ± leaves this out.",
    "rows_scaled_in": "In {column}, units with more than {limit:rows} were scaled down to that; ± leaves this out.",
    "totals_scaled": "Totals of {column} above {limit:4} per unit were scaled down to that; ± leaves this out.",
    "distances_scaled": "Distances of {column} from its centre above {limit:4} per unit were scaled down to that; "
    "± leaves this out.",
    "distinct_limited": "At most {limit:distinct values} per unit count in {column}; ± leaves this out.",
    "rows_limited": "Rows are limited to {rows:,} per unit (scaled down); ± leaves out the bias of this limit.",
    "rows_limited_in_groups": "Rows are limited to {rows:,} per unit, in at most {groups:groups} (scaled down); "
    "± leaves out the bias of this limit.",
    "groups_limited": "Each unit counts once in a group, in at most {groups:groups}; ± leaves out the bias of this.",
    "choosing": "{share:.0%} of the cost chooses bounds and groups that are not declared. ± of a count is for {rows:,} "
    "rows per unit and grows with the chosen bound.",
    "other_sizes": {
        _PY: "± of some columns is for groups of {rows:,} rows. For others use preview(..., rows=...).",
        _CLI: "± of some columns is for groups of {rows:,} rows.",
        _HTTP: "± of some columns is for groups of {rows:,} rows.",
    },
    "daily_limit": "This limit is for one day; a unit counts on at most {days:,} of the {horizon:,} days.",
    "named_from": "Groups are named from about {units:units} on; smaller ones are left out.",
    "left_out": "Rows whose {columns:or} is {what} are left out.",
    "empty_groups": "{aggregates:and} of groups: all {groups:,} listed groups count, also empty ones. "
    "Leave them out with HAVING.",
    "limit_empty_groups": "LIMIT takes from all {groups:,} listed groups, also empty ones. Leave them out with HAVING.",
    "not_consistent_unlisted": "Totals are left as they are: groups that are not shown are part of them.",
    "not_consistent_once": "Totals are left as they are: a unit counts once in each of several groups.",
    "not_consistent_keys": "Totals are left as they are: no grouping set has all keys.",
    "tables_agree": "Counts agree with the other tables of the plan, by least squares. This is free; no interval is "
    "shorter.",
    "tables_in_common": "What the tables have in common was measured once for all of them: intervals are shorter than "
    "those of tables measured one by one.",
    "first_value": "{name} is released first, for {cost}: ± {error:4}. ± of the answer is for the query with it.",
    "main_cost": "The answer itself costs {cost}.",
    "derived": "This follows from the numbers of answer {number}; nothing was spent now.",
    "answered_before": "Answered at {time}; nothing was spent now.",
    "each_unit_once": "Each unit counts once; no contribution is clipped.",
    "each_unit_once_per_group": "Each unit counts once in each of its groups; no contribution is clipped.",
    "bound_open": "The contribution bound of each unit is chosen when the query is released.",
    PLAIN: "{text}",
    # --- what to do, for an error -----------------------------------------------------------------------------------
    "declare_bounds": {
        _PY: "declare bounds of {column} with dp.bounds(low, high), or write CLAMP({expression}, low, high)",
        _CLI: "give --bounds {column}=low:high, or write CLAMP({expression}, low, high)",
        _HTTP: "write CLAMP({expression}, low, high), or ask the owner to declare bounds of {column}",
    },
    "declare_its_bounds": {
        _PY: "declare its bounds with dp.bounds(low, high), or write CLAMP(x, low, high)",
        _CLI: "give --bounds column=low:high, or write CLAMP(x, low, high)",
        _HTTP: "write CLAMP(x, low, high), or ask the owner to declare its bounds",
    },
    "narrow_bounds": {
        _PY: "declare narrower bounds with dp.bounds(low, high), or write CLAMP(x, low, high)",
        _CLI: "give narrower --bounds column=low:high, or write CLAMP(x, low, high)",
        _HTTP: "write CLAMP(x, low, high), or ask the owner to declare narrower bounds",
    },
    "clamp": "write CLAMP({expression}, low, high)",
    "declare_public_bounds": {
        _PY: "declare bounds of {column} with dp.bounds(low, high)",
        _CLI: "give --bounds {column}=low:high",
        _HTTP: "ask the owner to declare bounds of {column}",
    },
    "listed_groups": {
        _PY: "declare them with dp.keys([...]), or list them with WHERE ... IN (...)",
        _CLI: "give --keys column=a,b, or list them with WHERE ... IN (...)",
        _HTTP: "list them with WHERE ... IN (...), or ask the owner to declare them",
    },
    "delta_or_groups": {
        _PY: "open the session with dp.Approx(epsilon, delta), or declare the groups with dp.keys([...]) or "
        "WHERE ... IN (...)",
        _CLI: "give --delta, or the groups with --keys column=a,b or WHERE ... IN (...)",
        _HTTP: "list the groups with WHERE ... IN (...), or ask the owner for a budget with a delta",
    },
    "declare_all_open": {
        _PY: "declare max_rows of the table, dp.bounds(low, high) and dp.keys([...]) of the columns",
        _CLI: "give --max-rows, --bounds column=low:high and --keys column=a,b",
        _HTTP: "ask the owner to declare max_rows, bounds and keys",
    },
    "epsilon_or_declare": {
        _PY: "give epsilon=..., or declare max_rows of the table and dp.bounds(low, high) of the columns",
        _CLI: "give --epsilon, or --max-rows and --bounds column=low:high",
        _HTTP: "give epsilon, or ask the owner to declare max_rows and bounds",
    },
    "release_keys": {
        _PY: 'release them with session.suggest_keys("{column}", epsilon=...), then use session.with_columns',
        _CLI: "list them with --keys {column}=a,b",
        _HTTP: "ask the owner to list the values of {column}",
    },
    "declare_values": {
        _PY: "declare {column} by dp.keys or dp.bounds in dp.table, or give its values in domain={{...}}",
        _CLI: "declare it with --keys {column}=a,b or --bounds {column}=low:high",
        _HTTP: "ask the owner to declare keys or bounds of {column}",
    },
    "give_amounts": {
        _PY: "give {amounts:and}",
        _CLI: "give {amounts:options}",
    },
    "owner_raises": "only its owner can raise the budget",
    "smaller_epsilon": {
        _PY: "ask for less, or accept more error",
        _PAGE: "choose a smaller epsilon, or ask the owner for more",
    },
    "exact_decimal": 'floats such as 0.1 * 3 are not exact: write "{meant}"',
    "more_notes": {
        _PY: "{many:,} more: print(answer.explain())",
        _CLI: "{many:,} more: --json",
        _HTTP: "{many:,} more under notes",
        _PAGE: "{many:,} more under “How it was made”",
    },
}
"""Code -> the text, or one for each interface. The page is as HTTP where it has none, all others as Python."""

_RANK = {code: place for place, code in enumerate(TEXTS)}
