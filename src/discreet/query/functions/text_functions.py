"""The functions of text, one record each. Lengths and places count code points; letters are A to Z only."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from discreet.errors import BadQuestion
from discreet.query.functions.arithmetic import call, made
from discreet.query.functions.comparison import longest
from discreet.query.functions.pattern_parts import pattern_parts
from discreet.query.functions.patterns import matched
from discreet.query.functions.record import ATOM, COMPARED, Build, Function, Reading, T, chained, pattern
from discreet.query.functions.released_values import as_text, is_number, of, primitive
from discreet.query.functions.typed_values import Typed, expect, integer_literal, refuse, text_literal
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.types import LARGEST, Boolean, Text

MOST_PERCENT = 8
MOST_NEW = 100
"""The longest new text of REGEXP_REPLACE."""
LONGEST_TEXT = 1 << 31
"""LENGTH says no more than this; no engine holds a longer text."""
_LONG = 1_000_000_000

# --- type rules -------------------------------------------------------------------------------------------------------


def _text(name: str, x: Typed) -> Typed:
    expect(x, Text, name.upper(), "text")
    return Typed(x.kind, x.nullable, lowered=call(name, x.lowered))


def _length(x: Typed) -> Typed:
    """From 0 to what is known of the text; where nothing is, claimed is what marks a number that nobody bounded."""
    expect(x, Text, "LENGTH", "text")
    most = longest([x.kind], max)
    if most is None:
        return made(Fraction(1), 0, LARGEST, call("least", call("length", x.lowered), LONGEST_TEXT), x)
    return made(Fraction(1), 0, most, call("length", x.lowered), x)


def _at_most(x: Typed, count: int) -> Text:
    most = longest([x.kind], max)
    return Text(count if most is None else min(count, most)) if count < _LONG else Text(most)


def _substring(x: Typed, start: Typed, count: Typed | None = None) -> Typed:
    expect(x, Text, "SUBSTRING", "text")
    first = integer_literal(start, "the start of SUBSTRING", 1, _LONG)
    many = _LONG if count is None else integer_literal(count, "the length of SUBSTRING", 0, _LONG)
    return Typed(_at_most(x, many), x.nullable, lowered=call("substring", x.lowered, first, many))


def _left(x: Typed, count: Typed) -> Typed:
    many = integer_literal(count, "the length of LEFT", 0, _LONG)
    expect(x, Text, "LEFT", "text")
    return Typed(_at_most(x, many), x.nullable, lowered=call("substring", x.lowered, 1, many))


def _concat(*parts: Typed) -> Typed:
    for x in parts:
        expect(x, Text, "CONCAT", "text (CAST others AS TEXT)")
    lowered = parts[0].lowered
    for x in parts[1:]:
        lowered = call("concat", lowered, x.lowered)
    return Typed(Text(longest([x.kind for x in parts], sum)), any(x.nullable for x in parts), lowered=lowered)


def _pattern(x: Typed, given: Typed, what: str) -> str:
    expect(x, Text, what, "text")
    text = text_literal(given, f"the pattern of {what}")
    if text.count("%") > MOST_PERCENT:
        refuse(f"a pattern of {what} has at most {MOST_PERCENT} percent signs")
    return text


def _like(x: Typed, given: Typed) -> Typed:
    text = _pattern(x, given, "LIKE")
    return Typed(Boolean(), x.nullable, lowered=Call("like", (x.lowered, Literal(text))))


def _ilike(x: Typed, given: Typed) -> Typed:
    text = evaluate(Call("lower", (Literal(_pattern(x, given, "ILIKE")),)), {})
    return Typed(Boolean(), x.nullable, lowered=Call("like", (call("lower", x.lowered), Literal(text))))


def _search(name: str, x: Typed, part: Typed) -> Typed:
    expect(x, Text, name.upper(), "text")
    text = text_literal(part, f"the second argument of {name.upper()}")
    return Typed(Boolean(), x.nullable, lowered=Call(name, (x.lowered, Literal(text))))


def _regexp(x: Typed, given: Typed) -> Typed:
    expect(x, Text, "REGEXP_MATCHES", "text")
    return Typed(Boolean(), x.nullable, lowered=_searched(x.lowered, text_literal(given, "a regular expression")))


def _searched(x: Expression, given: str) -> Expression:
    """Whether it is found: by LIKE and single characters, or else as a part that is not empty."""
    try:
        return matched(x, given)
    except BadQuestion:
        try:
            part = pattern_parts(given).extracting(0)
        except BadQuestion:
            part = ""
        if not part:
            raise
        return call("ne", call("regexp_extract", x, Literal(part)), Literal(""))


def _regexp_extract(x: Typed, given: Typed, group: Typed | None = None) -> Typed:
    expect(x, Text, "REGEXP_EXTRACT", "text")
    parts = pattern_parts(text_literal(given, "a regular expression"))
    number = 0 if group is None else integer_literal(group, "the group of REGEXP_EXTRACT", 0, 99)
    return Typed(x.kind, x.nullable, lowered=call("regexp_extract", x.lowered, Literal(parts.extracting(number))))


def _regexp_replace(x: Typed, given: Typed, new: Typed, flags: Typed | None = None) -> Typed:
    expect(x, Text, "REGEXP_REPLACE", "text")
    old, after = text_literal(given, "a regular expression"), text_literal(new, "the new text of REGEXP_REPLACE")
    words = "" if flags is None else text_literal(flags, "the flags of REGEXP_REPLACE")
    if len(after) > MOST_NEW or set(words) - {"g", "i"}:
        refuse(f"REGEXP_REPLACE has a new text of at most {MOST_NEW} characters, and the flags g and i")
    parts = pattern_parts(old if "i" not in words else f"(?i){old.removeprefix('(?i)')}")
    form, text = parts.replacing(after, every="g" in words)
    most = longest([x.kind], max)
    kind = Text(None if most is None else max(most, 1) * max(1, len(text)))
    return Typed(
        kind, x.nullable, lowered=call("regexp_replace", x.lowered, Literal(form), Literal(text), "g" in words)
    )


def _split_part(x: Typed, separator: Typed, place: Typed) -> Typed:
    expect(x, Text, "SPLIT_PART", "text")
    between = text_literal(separator, "the separator of SPLIT_PART")
    if not 1 <= len(between) <= 100:
        refuse("the separator of SPLIT_PART has 1 to 100 characters")
    n = integer_literal(place, "the place of SPLIT_PART", 1, 10_000)
    return Typed(x.kind, x.nullable, lowered=call("split_part", x.lowered, Literal(between), n))


def _right(x: Typed, count: Typed) -> Typed:
    expect(x, Text, "RIGHT", "text")
    many = integer_literal(count, "the length of RIGHT", 0, _LONG)
    return Typed(_at_most(x, many), x.nullable, lowered=call("right", x.lowered, many))


def _replace(x: Typed, old: Typed, new: Typed) -> Typed:
    expect(x, Text, "REPLACE", "text")
    before, after = (text_literal(typed, f"the {word} text of REPLACE") for typed, word in ((old, "old"), (new, "new")))
    if not 1 <= len(before) <= 100:
        refuse("the old text of REPLACE has 1 to 100 characters")
    most_before = longest([x.kind], max)
    most = (
        None
        if most_before is None
        else max(most_before, most_before // len(before) * len(after) + most_before % len(before))
    )
    return Typed(Text(most), x.nullable, lowered=call("replace", x.lowered, Literal(before), Literal(after)))


def _padding(name: str, length: Typed, fill: Typed | None) -> tuple[int, str]:
    many = integer_literal(length, f"the length of {name}", 0, 100)
    text = " " if fill is None else text_literal(fill, f"the fill of {name}")
    if len(text) != 1:
        refuse(f"the fill of {name} is one character")
    return many, text


def _lpad(x: Typed, length: Typed, fill: Typed | None = None) -> Typed:
    expect(x, Text, "LPAD", "text (CAST others AS TEXT)")
    many, text = _padding("LPAD", length, fill)
    long = call("ge", call("length", x.lowered), many)
    padded = call("right", call("concat", Literal(text * many), x.lowered), many)
    lowered = call("case", long, call("substring", x.lowered, 1, many), padded)
    return Typed(Text(many), x.nullable, lowered=lowered)


def _rpad(x: Typed, length: Typed, fill: Typed | None = None) -> Typed:
    expect(x, Text, "RPAD", "text (CAST others AS TEXT)")
    many, text = _padding("RPAD", length, fill)
    lowered = call("substring", call("concat", x.lowered, Literal(text * many)), 1, many)
    return Typed(Text(many), x.nullable, lowered=lowered)


# --- on plain values --------------------------------------------------------------------------------------------------


def _part(x: Any, start: Any, count: Any = _LONG) -> Any:
    if not isinstance(x, str) or not (is_number(start) and is_number(count)):
        return None
    first, many = int(start), int(count)
    if first != start or many != count or many < 0:
        return None
    return x[max(first - 1, 0) : max(first - 1 + many, 0)]


def _end(x: Any, count: Any) -> Any:
    if not isinstance(x, str) or not is_number(count) or int(count) != count or count < 0:
        return None
    return x[max(len(x) - int(count), 0) :]


def _exchanged(x: str, old: str, new: str) -> Any:
    return x.replace(old, new) if old and len(new) <= 256 * len(old) else None


def _padded(x: Any, length: Any, fill: Any, *, left: bool) -> Any:
    if not (isinstance(x, str) and isinstance(fill, str) and len(fill) == 1 and length in range(101)):
        return None
    many = int(length)
    return (x.rjust(many, fill) if left else x.ljust(many, fill))[:many]


def _joined(*parts: Any) -> Any:
    return "".join(str(as_text(part)) for part in parts)


def _of_small_letters(like: Callable[..., Any]) -> Callable[..., Any]:
    lower = primitive("lower", str)
    return of(lambda x, text: like(lower(x), lower(text)), str, str)


def _position(x: str, given: str) -> Any:
    try:
        return evaluate(_searched(Literal(x), given), {})
    except BadQuestion:  # a pattern that is none
        return None


def _extracted(x: Any, given: Any, group: Any = 0) -> Any:
    if not (isinstance(x, str) and isinstance(given, str) and group in range(100)):
        return None
    try:
        form = pattern_parts(given).extracting(int(group))
    except BadQuestion:
        return None
    return evaluate(Call("regexp_extract", (Literal(x), Literal(form))), {})


def _rewritten(x: Any, given: Any, new: Any, flags: Any = "") -> Any:
    if not all(isinstance(one, str) for one in (x, given, new, flags)) or len(new) > MOST_NEW or set(flags) - {*"gi"}:
        return None
    try:
        parts = pattern_parts(f"(?i){given.removeprefix('(?i)')}" if "i" in flags else given)
        form = parts.replacing(new, every="g" in flags)
    except BadQuestion:
        return None
    return evaluate(Call("regexp_replace", (Literal(x), *map(Literal, form), Literal("g" in flags))), {})


def _nth(x: Any, separator: Any, place: Any) -> Any:
    if not (isinstance(x, str) and isinstance(separator, str) and separator and is_number(place)):
        return None
    return (x.split(separator) + [""] * int(place))[int(place) - 1] if place in range(1, 10_001) else None


# --- records ----------------------------------------------------------------------------------------------------------


def _shape(name: str, doc: str, example: tuple[str, str]) -> Function:
    return Function(name, f"{name.upper()}(x)", doc, partial(_text, name), example, meaning=primitive(name, str),
                    method=f"{name}()")  # fmt: skip


def _searching(name: str, doc: str, example: tuple[str, bool]) -> Function:
    return Function(name, f"{name.upper()}(x, text)", doc, partial(_search, name), example, (2, 2),
                    primitive(name, str, str), method=f"{name}(text: str)")  # fmt: skip


TEXT = (
    Function("like", "x LIKE pattern", "Matches a pattern in which % is any text and _ any character.", _like,
             ("'North' LIKE 'N%'", True), (2, 2), primitive("like", str, str), sql=(),
             form=pattern("{0} LIKE {1}", COMPARED), method="like(pattern: str)"),
    Function("ilike", "x ILIKE pattern", "Matches a pattern, A to Z and a to z being the same.", _ilike,
             ("'North' ILIKE 'n%'", True), (2, 2), _of_small_letters(primitive("like", str, str)), sql=(),
             form=pattern("{0} ILIKE {1}", COMPARED), method="ilike(pattern: str)"),
    _searching("starts_with", "Begins with the text.", ("STARTS_WITH('North', 'No')", True)),
    _searching("ends_with", "Ends with the text.", ("ENDS_WITH('North', 'No')", False)),
    _searching("contains", "Holds the text.", ("CONTAINS('North', 'ort')", True)),
    Function("regexp_matches", "REGEXP_MATCHES(x, pattern)",
             "A regular expression of a small language is found in it (see below).", _regexp,
             ("REGEXP_MATCHES('AB-123', '^[A-Z]{2}-\\d')", True), (2, 2), of(_position, str, str),
             sql=("regexp_matches", "regexp_like", "regexp_contains"), method="matches(pattern: str)",
             more=(("REGEXP_MATCHES('x@gmail.com', '@(gmail|yahoo)\\.com$')", True),
                   ("REGEXP_MATCHES('North', '(?i)^n.*[st]H?$')", True), ("REGEXP_MATCHES('a%', '^[^b]%?$|^$')", True),
                   ("REGEXP_MATCHES('7', 'a.+b|^\\s|_')", False))),
    Function("regexp_extract", "REGEXP_EXTRACT(x, pattern, group)",
             "What a regular expression matches first, or a group of it; empty if nothing.", _regexp_extract,
             ("REGEXP_EXTRACT('AB-123', '[0-9]+')", "123"), (2, 3), _extracted,
             method="extract(pattern: str, group: int = 0)",
             more=(("REGEXP_EXTRACT('a=1&b=22', 'b=([0-9]+)', 1)", "22"), ("REGEXP_EXTRACT('x', '[0-9]+')", ""),
                   ("REGEXP_EXTRACT('x-8', '^([a-z]|[0-9]+)-(8)?', 2)", "8"),
                   ("REGEXP_EXTRACT('11a22', '[0-9]+$')", "22"))),
    Function("regexp_replace", "REGEXP_REPLACE(x, pattern, new, flags)",
             "With a new text for the first match; for all of them with the flag g. A group is backslash and number.",
             _regexp_replace, ("REGEXP_REPLACE('AB-123', '[0-9]+$', '')", "AB-"), (3, 4), _rewritten,
             method='regexp_replace(pattern: str, new: str, flags: str = "")',
             more=(("REGEXP_REPLACE('b1c2', '[0-9]', '', 'g')", "bc"), ("REGEXP_REPLACE('b1c2', '[0-9]', '')", "bc2"),
                   ("REGEXP_REPLACE('Ann Lee', '^([A-Z])[a-z]* (.*)$', '\\2, \\1$', 'i')", "Lee, A$"))),
    _shape("lower", "With A to Z as a to z.", ("LOWER('North')", "north")),
    _shape("upper", "With a to z as A to Z.", ("UPPER('North')", "NORTH")),
    _shape("trim", "Without spaces at both ends.", ("TRIM(' a ')", "a")),
    _shape("ltrim", "Without spaces at the beginning.", ("LTRIM(' a ')", "a ")),
    _shape("rtrim", "Without spaces at the end.", ("RTRIM(' a ')", " a")),
    Function("length", "LENGTH(x)", "How many characters.", _length, ("LENGTH('North')", 5),
             meaning=primitive("length", str), method="length()",
             sql=("length", "len", "char_length", "character_length", "strlen", "lengthutf8")),
    Function("substring", "SUBSTRING(x, start, count)", "From a place, the first being 1, so many characters.",
             _substring, ("SUBSTRING('North', 2, 3)", "ort"), (2, 3), _part, sql=("substring", "substr"),
             method="substring(start: int, count: int | None = None)"),
    Function("left", "LEFT(x, count)", "So many characters from the beginning.", _left, ("LEFT('North', 2)", "No"),
             (2, 2), lambda x, count: _part(x, 1, count), method="left(count: int)"),
    Function("right", "RIGHT(x, count)", "So many characters from the end.", _right, ("RIGHT('North', 2)", "th"),
             (2, 2), _end, method="right(count: int)", more=(("RIGHT('a', 2)", "a"), ("RIGHT('a', 0)", ""))),
    Function("replace", "REPLACE(x, old, new)", "With a new text in each place of an old one, both constant.", _replace,
             ("REPLACE('a_b_c', '_', ' ')", "a b c"), (3, 3), of(_exchanged, str, str, str),
             method="replace(old: str, new: str)",
             more=(("REPLACE('aaa', 'aa', 'b')", "ba"), ("REPLACE('a-b', '-', '')", "ab"))),
    Function("lpad", "LPAD(x, length, fill)", "Of this length: filled on the left with one character, or cut.", _lpad,
             ("LPAD('7', 2, '0')", "07"), (2, 3), lambda x, n, fill=" ": _padded(x, n, fill, left=True),
             method='lpad(length: int, fill: str = " ")', more=(("LPAD('North', 2)", "No"), ("LPAD('', 1, 'x')", "x"))),
    Function("rpad", "RPAD(x, length, fill)", "Of this length: filled on the right with one character, or cut.", _rpad,
             ("RPAD('7', 2, '0')", "70"), (2, 3), lambda x, n, fill=" ": _padded(x, n, fill, left=False),
             method='rpad(length: int, fill: str = " ")', more=(("RPAD('North', 2)", "No"), ("RPAD('a', 2)", "a "))),
    Function("split_part", "SPLIT_PART(x, separator, n)", "The n-th part between separators; empty beyond the last.",
             _split_part, ("SPLIT_PART('a-b-c', '-', 2)", "b"), (3, 3), _nth,
             method="split_part(separator: str, place: int)",
             more=(("SPLIT_PART('a', '-', 2)", ""), ("SPLIT_PART('aaa', 'aa', 2)", "a"))),
    Function("concat", "x || y", "One text after the other; NULL if one of them is.", _concat, ("'a' || 'b'", "ab"),
             (1, None), _joined, sql=(), form=chained("||", COMPARED, ATOM), method="concat(*others: Self | str)"),
)  # fmt: skip


def _without_null(apply: Build[T], *parts: T) -> T:
    empty = Literal("")
    texts = (p if isinstance(p, Literal) else apply("coalesce", apply("cast_text", p), empty) for p in parts)
    return apply("concat", *texts)


def _whole(apply: Build[T], x: T, given: T) -> T:
    if isinstance(given, Literal) and isinstance(given.value, str):
        small = "(?i)" if given.value.startswith("(?i)") else ""
        return apply("regexp_matches", x, Literal(f"{small}^(?:{given.value.removeprefix(small)})$"))
    return apply("regexp_matches", x, given)


def _place(apply: Build[T], x: T, text: T) -> T:
    """Where a constant text begins in x, from 1; 0 where it does not stand."""
    before = apply("length", apply("split_part", x, text, Literal(Fraction(1))))
    place = apply("add", before, Literal(Fraction(1)))
    missing = apply("not", apply("contains", x, text))
    return apply("case", apply("is_null", x), Literal(None), missing, Literal(Fraction(0)), place)


TEXT_READINGS = {
    **{word: Reading(f"{word.upper()}(x, text)", "Where a constant text begins in it, from 1; 0 if nowhere.", (2, 2),
                     _place) for word in ("strpos", "instr")},
    **{word: Reading(f"{word.upper()}(text, x)", "The same, the text first.", (2, 2),
                     lambda apply, text, x: _place(apply, x, text)) for word in ("charindex", "locate")},

    "regexp_substr": Reading("REGEXP_SUBSTR(x, pattern)", "What a regular expression matches first; NULL if nothing.",
                             (2, 2), lambda apply, x, given: apply("nullif", apply("regexp_extract", x, given),
                                                                   Literal(""))),
    "regexp_full_match": Reading("REGEXP_FULL_MATCH(x, pattern)", "REGEXP_MATCHES of the whole text.", (2, 2), _whole),
    "concat": Reading("CONCAT(x, y, ...)", "One after the other as text, without those that are NULL.", (1, None),
                      _without_null),
}  # fmt: skip
