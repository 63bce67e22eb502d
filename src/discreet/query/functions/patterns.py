r"""Regular expressions of a small language, as LIKE and comparisons of single characters: one meaning on every engine.

Promise: no engine sees a regular expression; what a pattern becomes is total, and its size is bounded. The language:

  a  \.         a character; one with a meaning of its own after a backslash
  .             any character, also a line break;  .*  any text;  .+  any text but none
  \d+  [a-z]*   one character any number of times, beside any text or as the whole text
  [abc] [a-z] [^a-z]  \d \w \s (of ASCII)      one of these characters, or none of these
  (x|y)  x?  x{3}  x{1,3}     alternatives and counted repeats, which are multiplied out (at most 64)
  ^ $           the beginning and the end of the whole text
  (?i)          in front of all: A to Z and a to z are the same

A character that is one of several can stand anywhere before the first .* of a text that begins with ^; after it, the
alternatives are multiplied out, too. x* and x+ of one character stand where any text may stand beside them, or alone
between ^ and $; elsewhere a repeat without end of anything but the dot is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from string import ascii_letters, digits, punctuation
from typing import TypeAlias

from discreet.errors import BadQuestion, Unsupported
from discreet.query.functions.arithmetic import call
from discreet.query.functions.typed_values import refuse
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Call, Expression, Literal

MOST_WAYS = 64
MOST_CHARACTERS = 256
MOST_GAPS = 8
LONGEST = 1_000
_COUNTED = re.compile(r"\{(\d{1,2})(,\d{0,2})?\}", re.ASCII)
_CLASSES = {"d": digits, "w": ascii_letters + digits + "_", "s": " \t\n\r\f\v"}


@dataclass(frozen=True, slots=True)
class One:
    """One character: one of these, or none of these."""

    of: frozenset[str]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class RepeatedPart:
    """A part so many times; without end if ``most`` is None."""

    part: PatternPart
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class PatternGroup:
    """Alternatives in parentheses, each a sequence of parts; ``captures`` tells (x) from (?:x)."""

    ways: tuple[tuple[PatternPart, ...], ...]
    captures: bool = False


@dataclass(frozen=True, slots=True)
class Many:
    """Any number of one character, from ``least`` on, 0 or 1."""

    of: One
    least: int


ANY = One(frozenset(), negated=True)
GAP, BEGIN, END = "any text", "the beginning", "the end"
PatternPart: TypeAlias = "One | RepeatedPart | PatternGroup | str"
Way: TypeAlias = tuple[One | Many | str, ...]
_MARKS: dict[str, One | str] = {"^": BEGIN, "$": END, ".": ANY}


def matched(x: Expression, pattern: str) -> Expression:
    """Whether a pattern is found in a text, by primitives."""
    small = pattern.startswith("(?i)")
    if small:
        x = call("lower", x)
    ways = [_lowered(x, way) for way in _ways(pattern)]
    while len(ways) > 1:  # a balanced tree stays shallow
        pairs: list[Expression] = [call("or", *ways[i : i + 2]) for i in range(0, len(ways) - 1, 2)]
        ways = pairs + ([ways[-1]] if len(ways) % 2 else [])
    return ways[0]


@lru_cache(maxsize=256)
def _ways(pattern: str) -> tuple[Way, ...]:
    ways = _multiplied_out(read_pattern(pattern))
    folded = [tuple(_small(item) if pattern.startswith("(?i)") else item for item in way) for way in ways]
    return tuple(dict.fromkeys(_closed(way) for way in folded))


def _multiplied_out(group: PatternGroup) -> list[Way]:
    ways: list[Way] = []
    for sequence in group.ways:
        parts: list[Way] = [()]
        for part in sequence:
            parts = _few([(*a, *b) for a, b in product(parts, _ways_of(part))])
        ways = _few([*ways, *parts])
    return ways


def _ways_of(part: PatternPart) -> list[Way]:
    match part:
        case PatternGroup():
            return _multiplied_out(part)
        case RepeatedPart(One() as single, least, None) if least < 2:
            if single == ANY:
                return [(GAP,) if least == 0 else (ANY, GAP)]
            return [(Many(single, least),)]
        case RepeatedPart(_, _, None):
            raise Unsupported("a regular expression that repeats more than one character without end", "write x{1,3}")
        case RepeatedPart(inner, least, int(most)):
            once, ways = _ways_of(inner), list[Way]()
            for n in range(least, most + 1):
                _few_of(len(once) ** n)
                if n * max(map(len, once)) > LONGEST:
                    refuse(f"a regular expression stands for at most {LONGEST:,} characters; repeat less often")
                ways = _few([*ways, *(tuple(i for some in parts for i in some) for parts in product(once, repeat=n))])
            return ways
        case One() | str() as single:
            return [(single,)]
    raise BadQuestion("a regular expression repeats too often")


def _small(item: One | Many | str) -> One | Many | str:
    if isinstance(item, Many):
        inner = _small(item.of)
        return Many(inner, item.least) if isinstance(inner, One) else item
    if not isinstance(item, One):
        return item
    return One(frozenset(evaluate(Call("lower", (Literal(c),)), {}) for c in item.of), item.negated)


def _closed(way: Way) -> Way:
    """With a gap at each end that has no anchor, and without anchors."""
    begins, ends = way[:1] == (BEGIN,), way[-1:] == (END,)
    inner = way[begins : len(way) - ends]
    if BEGIN in inner or END in inner:
        refuse("in a regular expression, ^ stands at the beginning and $ at the end")
    if begins and ends and len(inner) == 1 and isinstance(inner[0], Many) and not inner[0].of.negated:
        return inner  # nothing but these characters
    items = [*([] if begins else [GAP]), *inner, *([] if ends else [GAP])]
    while beside := [
        i for i, item in enumerate(items) if isinstance(item, Many) and GAP in items[max(i - 1, 0) : i + 2]
    ]:
        item = items[beside[0]]  # beside any text, as many as there must be are as good as any number
        assert isinstance(item, Many)  # noqa: S101
        items[beside[0] : beside[0] + 1] = [item.of] * item.least
    if any(isinstance(item, Many) for item in items):
        raise Unsupported("a regular expression that repeats a character without end in its middle",
                          "say how often at most, as in ^[A-Z]{1,3}-[0-9]")  # fmt: skip
    return tuple(item for i, item in enumerate(items) if item != GAP or i == 0 or items[i - 1] != GAP)


# --- reading ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def read_pattern(pattern: str) -> PatternGroup:
    """The alternatives that a pattern is; (?i) in front is for the caller.

    >>> read_pattern("a+").ways
    ((RepeatedPart(part=One(of=frozenset({'a'}), negated=False), least=1, most=None),),)
    """
    if len(pattern) > LONGEST:
        refuse(f"a regular expression has at most {LONGEST:,} characters")
    reader = _Reader(pattern.removeprefix("(?i)"))
    ways = reader.alternatives()
    if reader.rest:
        refuse("a regular expression has a parenthesis that nothing opens")
    return PatternGroup(ways)


class _Reader:
    """Reads a pattern from the left; ``rest`` is what is still to be read."""

    def __init__(self, pattern: str) -> None:
        self.rest = pattern

    def _take(self, text: str) -> bool:
        taken = self.rest.startswith(text)
        self.rest = self.rest[len(text) :] if taken else self.rest
        return taken

    def alternatives(self, depth: int = 0) -> tuple[tuple[PatternPart, ...], ...]:
        if depth > 8:
            refuse("parentheses of a regular expression are nested at most 8 deep")
        ways = [self._sequence(depth)]
        while self._take("|"):
            ways.append(self._sequence(depth))
        return tuple(ways)

    def _sequence(self, depth: int) -> tuple[PatternPart, ...]:
        parts: list[PatternPart] = []
        while self.rest and self.rest[0] not in "|)":
            parts.append(self._repeated(self._item(depth)))
        return tuple(parts)

    def _item(self, depth: int) -> PatternPart:
        if self._take("("):
            captures = not self._take("?:")
            ways = self.alternatives(depth + 1)
            if not self._take(")"):
                refuse("a parenthesis of a regular expression is not closed")
            return PatternGroup(ways, captures)
        letter, self.rest = self.rest[0], self.rest[1:]
        if letter in "*+?{":
            refuse("a regular expression repeats nothing")
        if letter in _MARKS:
            return _MARKS[letter]
        if letter == "[":
            return self._class()
        return One(self._escaped() if letter == "\\" else frozenset(letter))

    def _repeated(self, part: PatternPart) -> PatternPart:
        if self._take("?"):
            repeat = RepeatedPart(part, 0, 1)
        elif self.rest[:1] in ("*", "+"):
            repeat = RepeatedPart(part, int(self.rest[0] == "+"), None)
            self.rest = self.rest[1:]
        elif counted := _COUNTED.match(self.rest):
            low = int(counted[1])
            repeat = RepeatedPart(part, low, None if counted[2] == "," else int((counted[2] or counted[1]).lstrip(",")))
            if repeat.most is not None and repeat.most < low:
                refuse("a regular expression repeats from the smaller number to the larger, as in x{1,3}")
            self.rest = self.rest[counted.end() :]
        else:
            return part
        if self.rest[:1] in ("*", "+", "?", "{"):
            refuse("a regular expression repeats a repeat, or as little as it can: leave that out")
        return repeat

    def _class(self) -> One:
        negated, characters = self._take("^"), set[str]()
        while not self._take("]"):
            low = self._character()
            if len(low) == 1 and self.rest[:1] == "-" and self.rest[1:2] not in ("]", ""):
                self.rest = self.rest[1:]
                (first,), last = low, self._character()
                ends = ord(first), ord(min(last))
                if len(last) != 1 or not 0 <= ends[1] - ends[0] < MOST_CHARACTERS:
                    refuse("a range in a regular expression goes upwards, over at most 256 characters")
                low = frozenset(chr(n) for n in range(ends[0], ends[1] + 1) if not 0xD800 <= n <= 0xDFFF)
            characters |= low
        if not characters or len(characters) > MOST_CHARACTERS:
            refuse("a set of a regular expression has 1 to 256 characters")
        return One(frozenset(characters), negated)

    def _character(self) -> frozenset[str]:
        if not self.rest:
            refuse("a set of a regular expression is not closed")
        letter, self.rest = self.rest[0], self.rest[1:]
        if letter == "[" and self.rest[:1] in (":", ".", "="):
            refuse("a named set of a regular expression cannot be asked; write the characters")
        return self._escaped() if letter == "\\" else frozenset(letter)

    def _escaped(self) -> frozenset[str]:
        letter, self.rest = self.rest[:1], self.rest[1:]
        if letter in _CLASSES and letter:
            return frozenset(_CLASSES[letter])
        if not letter or letter not in punctuation:
            refuse("after a backslash, a regular expression has d, w, s or a mark that stands for itself")
        return frozenset(letter)


def _few_of(ways: int) -> None:
    if ways > MOST_WAYS:
        refuse(f"a regular expression has at most {MOST_WAYS} ways to match; write fewer alternatives")


def _few(ways: Sequence[Way]) -> list[Way]:
    distinct = list(dict.fromkeys(ways))
    _few_of(len(distinct))
    return distinct


# --- lowering ---------------------------------------------------------------------------------------------------------


def _lowered(x: Expression, way: Way) -> Expression:
    """One way to match. Its gaps are at its ends where it has no anchor."""
    if len(way) == 1 and isinstance(only := way[0], Many):
        return _nothing_but(x, only)
    cut = way.index(GAP) if GAP in way else len(way)
    inner = [item for item in way if item != GAP]
    plain = [next(iter(item.of)) for item in inner if isinstance(item, One) and len(item.of) == 1 and not item.negated]
    if len(plain) == len(inner) and GAP not in way[1:-1]:
        text = Literal("".join(plain))
        name = _PLAIN[way[:1] == (GAP,), way[-1:] == (GAP,)]
        return call(name, x, text)
    head, tail = way[:cut], way[cut:]
    conditions: list[Expression] = []
    like = ""
    for place, item in enumerate(head, 1):
        letter = _letter(item)
        like += letter or "_"
        if letter is None and item != ANY and isinstance(item, One):
            among = call("in", call("substring", x, place, 1), *(Literal(c) for c in sorted(item.of)))
            conditions.append(call("not", among) if item.negated else among)
    tails = [like + rest for rest in _multiplied(tail)]
    condition_so_far: Expression = call("like", x, Literal(tails[0]))
    for later in tails[1:]:
        condition_so_far = call("or", condition_so_far, call("like", x, Literal(later)))
    for condition in conditions:
        condition_so_far = call("and", condition_so_far, condition)
    return condition_so_far


def _nothing_but(x: Expression, many: Many) -> Expression:
    """A text of these characters alone: nothing is left of it without them."""
    left = x
    for letter in sorted(many.of.of):
        left = call("replace", left, Literal(letter), Literal(""))
    empty = call("eq", left, Literal(""))
    return empty if many.least == 0 else call("and", empty, call("ne", x, Literal("")))


_PLAIN = {(False, False): "eq", (False, True): "starts_with", (True, False): "ends_with", (True, True): "contains"}


def _letter(item: One | Many | str) -> str | None:
    """What stands for it in LIKE, if something does."""
    if item == ANY:
        return "_"
    if isinstance(item, One) and not item.negated and len(item.of) == 1 and not item.of & {"%", "_"}:
        return next(iter(item.of))
    return None


def _multiplied(tail: Way) -> list[str]:
    """Patterns of LIKE for what follows the first gap."""
    if tail.count(GAP) > MOST_GAPS:
        refuse(f"a regular expression has at most {MOST_GAPS} times .*, those at its open ends included")
    choices: list[Sequence[str]] = []
    for item in tail:
        if item == GAP:
            choices.append("%")
        elif (letter := _letter(item)) is not None:
            choices.append(letter)
        elif isinstance(item, One) and not item.negated and not item.of & {"%", "_"}:
            choices.append(sorted(item.of))
        else:
            refuse("a set with ^, % or _ can only stand before the first .* of a regular expression that begins with ^")
    ways = 1
    for choice in choices:
        ways *= len(choice)
        _few_of(ways)
    return ["".join(parts) for parts in product(*choices)]
