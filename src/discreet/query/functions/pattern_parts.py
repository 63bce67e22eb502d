r"""Regular expressions that say *where* they match: REGEXP_EXTRACT and REGEXP_REPLACE, the same on every engine.

The language is that of ``patterns.py``. Engines differ where a text can be read in two ways (the first or the longest
alternative, greedy or not) and in how long they try. So a pattern is taken only if there is one way to read any text,
known from the next character: what repeats or is optional has no character in common with what may follow it, and
alternatives have different first characters. It must not match the empty text, and it must be found in one pass: where
it can start inside of a repetition that may end without a match, a begin is looked for outside of it.

Promise: an engine sees no character of the pattern as it was written, but the normal form that ``_written`` makes:
characters, sets, counts, groups, ^ and $, which mean the same to RE2, PostgreSQL, Java and Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from string import ascii_letters, digits

from discreet.errors import BadQuestion, Unsupported
from discreet.query.functions.patterns import (
    ANY,
    BEGIN,
    END,
    One,
    PatternGroup,
    PatternPart,
    RepeatedPart,
    read_pattern,
)
from discreet.query.functions.typed_values import refuse

MOST_REFERENCES = 9
HEAVIEST = 4_000
"""What a pattern may weigh once its counted repeats are written out: each character 8, and 1 for each range of a set.
Engines limit the memory of a pattern, the least at some 100,000 of these."""
_FIX = "what repeats must not match what follows: write [^/]+/ for .+/"


@dataclass(frozen=True, slots=True)
class PatternParts:
    """A pattern that can be read in one way, with its captures numbered from 1."""

    ways: PatternGroup
    begins: bool
    ends: bool
    captures: int

    def extracting(self, group: int) -> str:
        """The normal form that captures one group, or all of it for 0, and nothing else."""
        _check_group(group, self.captures)
        text = _written(self.ways, KeptGroups((group,)))
        lead = self._lead()
        return self._anchored(f"(?:^|{_set(_not(lead))}){text}" if lead else text)

    def replacing(self, new: str, *, every: bool) -> tuple[str, str]:
        r"""The normal form, and the new text in which \1 is its first capture and two backslashes are one."""
        if _NEW.sub("", new):
            refuse("in the new text of REGEXP_REPLACE, a backslash stands before the number of a group or another one")
        pieces = [(int(number) if number else None, text.removeprefix("\\")) for number, text in _NEW.findall(new)]
        for group, _ in pieces:
            _check_group(group or 0, self.captures)
        groups = sorted({group for group, _ in pieces if group is not None})
        if len(groups) >= MOST_REFERENCES:
            refuse(f"the new text of REGEXP_REPLACE names at most {MOST_REFERENCES - 1} groups")
        lead = self._lead()
        if lead and every and not self.ends:
            raise Unsupported("REGEXP_REPLACE of all places of a pattern that begins with a repetition",
                              "begin with ^ or a single character, end with $, or leave out what follows")  # fmt: skip
        numbers = KeptGroups(tuple(groups))
        text = _written(self.ways, numbers)
        kept = {group: place + bool(lead) for place, group in enumerate(numbers.order, 1)}
        parts = "".join(f"\\{kept[group]}" if group is not None else part.replace("\\", "\\\\")
                        for group, part in pieces)  # fmt: skip
        return self._anchored(f"(^|{_set(_not(lead))}){text}" if lead else text), f"\\1{parts}" if lead else parts

    def _anchored(self, text: str) -> str:
        return f"{'^' * self.begins}{text}{'$' * self.ends}"

    def _lead(self) -> One | None:
        """The repeated character that it begins with, where a search could begin at each of them without a match."""
        if self.begins:
            return None
        first, endless = list(_first(self.ways.ways)), list(_endless_unmatched(self.ways, self.ends))
        if not any(_meet(part, other) for part in first for other in endless):
            return None
        head: PatternPart = self.ways
        while isinstance(head, PatternGroup) and len(head.ways) == 1:
            head = head.ways[0][0]
        if isinstance(head, RepeatedPart) and isinstance(head.part, One) and head.least and head.most is None:
            lead = head.part
            if not any(_meet(lead, other) and _meet(_not(lead), other) for other in endless):
                return lead
        raise Unsupported("a regular expression that could begin anywhere in what it repeats",
                          "begin with ^, or with a character that is not repeated")  # fmt: skip


_NEW = re.compile(r"\\(\d)|(\\\\|[^\\]+)")


class KeptGroups:
    """Counts the groups of a pattern as they open, and tells which are kept: 0 is all of it."""

    def __init__(self, kept: Sequence[int]) -> None:
        self.kept, self._count = kept, 0
        self.order: list[int] = [0] if 0 in kept else []

    def next(self) -> bool:
        """Whether the capture that opens here is kept."""
        self._count += 1
        if self._count in self.kept:
            self.order.append(self._count)
        return self._count in self.kept


def _check_group(group: int, captures: int) -> None:
    if not 0 <= group <= captures:
        refuse(f"this regular expression has {captures} groups in parentheses; 0 is all that it matches")


def pattern_parts(pattern: str) -> PatternParts:
    r"""What a pattern says, if there is one way to read any text.

    >>> pattern_parts(r"^([A-Z]+)-\d").extracting(1)
    '^(?:([A-Z]{1,})\\-[0-9])'
    """
    group = _factored(_absorbed(read_pattern(pattern)))
    if pattern.startswith("(?i)"):
        group = PatternGroup(tuple(tuple(_of_both_cases(part) for part in way) for way in group.ways))
    ways = group.ways
    begins, ends = (all(way[at : at + 1 or None] == (mark,) for way in ways) for at, mark in ((0, BEGIN), (-1, END)))
    inner = PatternGroup(tuple(way[begins : len(way) - ends] for way in ways))
    _check(inner, ())
    if _weight(inner) > HEAVIEST:
        refuse("this regular expression is too long: shorten its counted repeats")
    if _can_be_empty(inner.ways):
        raise Unsupported("a regular expression that matches the empty text", "write x+ in place of x*")
    return PatternParts(inner, begins, ends, sum(_captures(inner)))


def _factored(group: PatternGroup) -> PatternGroup:
    """Alternatives without groups, with what they share at their beginning once: m(?:on|ay) for mon|may."""
    ways = [tuple(_factored(part) if isinstance(part, PatternGroup) else part for part in way) for way in group.ways]
    ways = list(dict.fromkeys(ways))
    if (
        len(ways) == 1
        or () in ways[:-1]
        or any(isinstance(part, PatternGroup) or part == BEGIN for way in ways for part in way)
    ):
        return replace(group, ways=tuple(ways))
    rest: dict[PatternPart | None, list[tuple[PatternPart, ...]]] = {}
    for way in ways:
        rest.setdefault(way[0] if way else None, []).append(way[1:])
    shared = [ends[0] if first is None else (first, *ends[0]) if len(ends) == 1
              else (first, _factored(PatternGroup(tuple(ends)))) for first, ends in rest.items()]  # fmt: skip
    return replace(group, ways=tuple(shared))


def _absorbed(group: PatternGroup) -> PatternGroup:
    """[a-z]+.* as [a-z].*, which matches the same: what may follow a repetition takes over where it can go on."""
    ways: list[tuple[PatternPart, ...]] = []
    for way in group.ways:
        parts: list[PatternPart] = []
        for part in way:
            part = _absorbed(part) if isinstance(part, PatternGroup) else part  # noqa: PLW2901
            match [*parts[-1:], part]:
                case [RepeatedPart(One() as first, least, None), RepeatedPart(One() as then, _, None)] if not _meet(
                    first, _not(then)
                ):
                    parts[-1:] = [RepeatedPart(first, least, least)] if least else []
            parts.append(part)
        ways.append(tuple(parts))
    return replace(group, ways=tuple(ways))


# --- one way to read any text -----------------------------------------------------------------------------------------


def _check(part: PatternPart, after: Sequence[One]) -> None:
    """Refuses a part that could end, or go on, before one of the characters ``after`` it."""
    match part:
        case str():
            refuse("in a regular expression, ^ stands at the beginning and $ at the end")
        case RepeatedPart(inner, least, most):
            if not isinstance(inner, One) and (most is None or (most > 1 and any(_captures(inner)))):
                raise Unsupported("a regular expression that repeats a group", "write x{1,3}, of a group (?:...)")
            if most != least and any(_meet(part, other) for part in _first(((inner,),)) for other in after):
                raise Unsupported("a regular expression that can be read in several ways", _FIX)
            again = [*_first(((inner,),)), *after] if most is None or most > 1 else after
            _check(inner, again)
        case PatternGroup(ways):
            firsts = [list(_first((way,))) for way in ways]
            for i, first in enumerate(firsts):
                others = [part for earlier in firsts[:i] for part in earlier]
                if any(_meet(part, other) for part in first for other in others):
                    raise Unsupported("alternatives of a regular expression that begin alike",
                                      "write what they share once: a(b|c) for ab|ac")  # fmt: skip
            if any(_can_be_empty((way,)) for way in ways[:-1]):
                raise Unsupported("a regular expression that prefers the shorter alternative",
                                  "put the longer one first: (north|no)")  # fmt: skip
            if _can_be_empty(ways) and any(_meet(part, other) for first in firsts for part in first for other in after):
                raise Unsupported("a regular expression that can be read in several ways", _FIX)
            for way in ways:
                follows = list(after)
                for inside in reversed(way):
                    _check(inside, follows)
                    first = list(_first(((inside,),)))
                    follows = [*first, *follows] if _can_be_empty(((inside,),)) else first


def _can_be_empty(ways: Sequence[Sequence[PatternPart]]) -> bool:
    return any(all(_part_can_be_empty(part) for part in way) for way in ways)


def _part_can_be_empty(part: PatternPart) -> bool:
    match part:
        case RepeatedPart(inner, least, _):
            return least == 0 or _part_can_be_empty(inner)
        case PatternGroup(ways):
            return _can_be_empty(ways)
        case _:
            return False


def _first(ways: Sequence[Sequence[PatternPart]]) -> Iterator[One]:
    """The characters that it can begin with."""
    for way in ways:
        for part in way:
            match part:
                case One():
                    yield part
                case RepeatedPart(inner, _, most):
                    yield from _first(((inner,),)) if most != 0 else ()
                case PatternGroup(inside):
                    yield from _first(inside)
            if not _part_can_be_empty(part):
                break


def _endless_unmatched(part: PatternPart, fails: bool) -> Iterator[One]:
    """What it repeats without end before something that may not come."""
    match part:
        case RepeatedPart(One() as inner, _, None) if fails and inner != ANY:  # the end comes after any text
            yield inner
        case RepeatedPart(PatternGroup() as inner, _, _):
            yield from _endless_unmatched(inner, fails=True)
        case PatternGroup(ways):
            for way in ways:
                fails_here = fails
                for inside in reversed(way):
                    yield from _endless_unmatched(inside, fails_here)
                    fails_here = fails_here or not _part_can_be_empty(inside)


def _meet(chars: One, other: One) -> bool:
    """Whether a character is in both."""
    if chars.negated and other.negated:
        return True
    if chars.negated:
        return bool(other.of - chars.of)
    return bool(chars.of - other.of) if other.negated else bool(chars.of & other.of)


def _not(chars: One) -> One:
    return replace(chars, negated=not chars.negated)


def _weight(part: PatternPart) -> int:
    match part:
        case One(of):
            return 8 + len(of)
        case RepeatedPart(inner, least, most):
            return _weight(inner) * max(least, most or 0, 1)
        case PatternGroup(ways):
            return 8 + sum(_weight(inside) for way in ways for inside in way)
        case _:
            return 0


def _captures(part: PatternPart) -> Iterator[int]:
    match part:
        case RepeatedPart(inner):
            yield from _captures(inner)
        case PatternGroup(ways, captures):
            yield from (1,) if captures else ()
            for way in ways:
                for inside in way:
                    yield from _captures(inside)


def _of_both_cases(part: PatternPart) -> PatternPart:
    match part:
        case One(of):
            letters = {c for c in of if c in ascii_letters}
            return replace(part, of=of | {c.swapcase() for c in letters})
        case RepeatedPart(inner):
            return replace(part, part=_of_both_cases(inner))
        case PatternGroup(ways):
            return replace(part, ways=tuple(tuple(_of_both_cases(inside) for inside in way) for way in ways))
        case _:
            return part


# --- the normal form --------------------------------------------------------------------------------------------------


def _written(ways: PatternGroup, numbers: KeptGroups) -> str:
    text = "|".join("".join(_part(inside, numbers) for inside in way) for way in ways.ways)
    return f"({text})" if 0 in numbers.kept else f"(?:{text})"


def _part(part: PatternPart, numbers: KeptGroups) -> str:
    match part:
        case One():
            return _set(part)
        case RepeatedPart(inner, least, most):
            return f"{_part(inner, numbers)}{{{least},{'' if most is None else most}}}"
        case PatternGroup(ways, captures):
            opened = "(" if captures and numbers.next() else "(?:"
            return f"{opened}{'|'.join(''.join(_part(inside, numbers) for inside in way) for way in ways)})"
    raise BadQuestion("in a regular expression, ^ stands at the beginning and $ at the end")


def _set(chars: One) -> str:
    if not chars.of:
        return "."
    letters, ranges = sorted(map(ord, chars.of)), list[tuple[int, int]]()
    for letter in letters:
        if ranges and ranges[-1][1] == letter - 1:
            ranges[-1] = ranges[-1][0], letter
        else:
            ranges.append((letter, letter))
    if len(letters) == 1 and not chars.negated:
        return _character(letters[0])
    inside = "".join(_character(a) if a == b else f"{_character(a)}-{_character(b)}" for a, b in ranges)
    return f"[{'^' * chars.negated}{inside}]"


def _character(code: int) -> str:
    letter = chr(code)
    return letter if letter in ascii_letters + digits or not " " < letter < "\x7f" else f"\\{letter}"
